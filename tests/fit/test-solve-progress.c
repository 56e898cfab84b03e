/* What a fit says on a terminal while it goes on. */
#include "solve-world.h"

#include "run/state.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static solve_world w;

static void setup(void)
{
    solve_world_begin(&w);
}

static void teardown(void)
{
    solve_world_end(&w);
}

/* A terminal in place of stderr, and what is written there. */
static struct {
    int end, before;
    pthread_t reader;
    size_t length;
    char text[1 << 20];
} terminal;

static void *read_all(void *unused)
{
    ssize_t bytes;

    (void)unused;
    while ((bytes = read(terminal.end, terminal.text + terminal.length,
                         sizeof(terminal.text) - terminal.length - 1)) > 0)
        terminal.length += (size_t)bytes;
    return NULL;
}

static void begin_terminal(void)
{
    terminal.end = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(terminal.end >= 0 && !grantpt(terminal.end) && !unlockpt(terminal.end));
    int other = open(ptsname(terminal.end), O_RDWR | O_NOCTTY);
    ck_assert(other >= 0);
    terminal.before = dup(STDERR_FILENO);
    fflush(stderr);
    ck_assert(dup2(other, STDERR_FILENO) >= 0);
    close(other);
    ck_assert(!pthread_create(&terminal.reader, NULL, read_all, NULL));
}

static void end_terminal(void)
{
    fflush(stderr);
    dup2(terminal.before, STDERR_FILENO);
    close(terminal.before);
    pthread_join(terminal.reader, NULL); /* the terminal's other end is closed */
    close(terminal.end);
}

/* Cells that are seen again and again are done after the last look: until then nothing of the one
 * tile is, or of tiles of one domain, and there is no rate. */
LOOP_TEST(nothing_before_the_end, 0, 2)
{
    static const char text[] = "G[p] = parm(\"G\", jones=full, freq=2MHz, init=3)\n"
                               "V[p,q] = G[p] * M[p,q] * G[q]^H + 0 * N[p,q]\n"
                               "D[p,q] = M[p,q] + noise(obs, sigma=1Jy)\n"
                               "fit = solve(V, D, compress=false, tolerance=1e-14)\n";
    grove_session_options how =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = true,
                              .tile_times = 40 * _i, .progress = _i == 0);

    w.times = 120;
    begin_terminal();
    int code = solve_world_run(&w, text, &how);
    w.session->options.progress = true;
    w.session->budget = w.session->memory = 1 << 10;
    code = code || _i == 0 ? code : grove_session_run(w.session);
    end_terminal();
    ck_assert_int_eq(code, 0);
    for (char *at = strtok(terminal.text, "\r"); at; at = strtok(NULL, "\r")) {
        bool fits = strstr(at, "run [") && strstr(at, "of 6 domains");
        ck_assert_msg(!fits || strstr(at, "  0%  0 vis/s  ? left") ||
                          !strstr(at + strlen(at) + 1, "run ["),
                      "%s", at);
    }
}

SUITE(60, setup, teardown)
