#include "conformance/child.h"

#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* An exit status of a child that cannot reach its parent. */
enum { CLOSED = 119 };

/* Writes the text with its final 0, which shows the parent that it is complete. */
static void run(char *(*fn)(void *context), void *context, int to)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the group no longer gets the terminal's signals */
    char *text = fn(context);
    size_t left = strlen(text) + 1;
    for (const char *at = text; left;) {
        ssize_t written = write(to, at, left);
        if (written < 0 && errno != EINTR)
            _exit(errno == EBADF ? CLOSED : 1);
        at += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    fflush(NULL);
    _exit(0); /* functions registered with atexit are the parent's */
}

typedef struct {
    pid_t process;
    int from, status;
    grove_text text;
    bool ended, whole, late, large;
} child;

static void read_piece(child *c)
{
    char piece[4096];
    ssize_t count = read(c->from, piece, sizeof(piece));

    if (count > 0) {
        c->whole = !piece[count - 1];
        grove_text_add(&c->text, "%.*s", (int)count, piece);
    } else if (!count || errno != EINTR) {
        close(c->from);
        c->from = -1;
    }
}

static uint64_t memory_of(pid_t process)
{
    unsigned long long pages = 0;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)process);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*s %llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Until the child ends, or is ended: the class may block signals, raise limits of its own, and
 * leave a process that keeps the pipe open. */
static void watch(child *c, grove_child_limits limits)
{
    const double end = now() + limits.seconds;
    const int often = 20, at_end = 1; /* ms */

    while (!c->ended) {
        struct pollfd ready = {c->from, POLLIN, 0};
        bool reads = poll(&ready, 1, c->from < 0 ? at_end : often) > 0;
        c->ended = waitpid(c->process, &c->status, WNOHANG) == c->process;
        c->large = !c->ended && memory_of(c->process) > limits.memory;
        c->late = !c->ended && !c->large && now() > end;
        if (c->large || c->late) {
            kill(c->process, SIGKILL);
            while (waitpid(c->process, &c->status, 0) < 0 && errno == EINTR)
                ;
            c->ended = true;
        }
        if (reads)
            read_piece(c);
    }
    kill(-c->process, SIGKILL); /* processes that it has left */
    for (struct pollfd rest = {c->from, POLLIN, 0}; poll(&rest, 1, 0) > 0; rest.fd = c->from)
        read_piece(c);
}

static char *fault_of(const child *c, grove_child_limits limits)
{
    char bytes[32];

    if (c->late)
        return grove_format("does not return within %d second%s", limits.seconds,
                            limits.seconds == 1 ? "" : "s");
    if (c->large)
        return grove_format("takes more than %s of memory",
                            grove_show_bytes(bytes, (double)limits.memory));
    if (WIFSIGNALED(c->status))
        return grove_format("crashes with signal %d (%s)", WTERMSIG(c->status),
                            strsignal(WTERMSIG(c->status)));
    if (WEXITSTATUS(c->status) == CLOSED)
        return grove_strdup("closes file descriptors that it did not open");
    return grove_format("ends the process with exit status %d", WEXITSTATUS(c->status));
}

char *grove_child_run(char *(*fn)(void *context), void *context, grove_child_limits limits,
                      char **fault)
{
    child c = {0};
    int ends[2];

    *fault = NULL;
    if (!limits.memory)
        limits.memory = grove_memory_available() / 4 * 3;
    fflush(NULL);
    c.process = pipe(ends) ? -1 : fork();
    if (c.process < 0) {
        *fault = grove_format("cannot be run in a process of its own: %s", strerror(errno));
        return NULL;
    }
    if (!c.process) {
        close(ends[0]);
        run(fn, context, ends[1]);
    }
    close(ends[1]);
    c.from = ends[0];
    watch(&c, limits);
    if (c.from >= 0)
        close(c.from);
    if (c.whole && c.status == 0)
        return c.text.at;
    free(c.text.at);
    *fault = fault_of(&c, limits);
    return NULL;
}
