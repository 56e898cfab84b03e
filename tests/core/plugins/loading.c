/* Does what GROVE_TEST_LOADING says while it is loaded. */
#include "plain.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int recurse(volatile int *last, long depth)
{
    volatile int room[1024] = {*last};

    return depth ? recurse(room, depth - 1) + room[1] : 0;
}

/* Deaf to what a shell would send, as a loop in a lock may be. */
static void loop(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (;;)
        pause();
}

__attribute__((constructor)) static void load(void)
{
    const char *what = getenv("GROVE_TEST_LOADING");
    volatile int start = 0;

    if (!what)
        return;
    if (!strcmp(what, "crash"))
        abort();
    if (!strcmp(what, "recurse"))
        start = recurse(&start, 1L << 40);
    if (!strcmp(what, "loop"))
        loop();
    if (!strcmp(what, "exit"))
        exit(0);
    for (int file = 3; !strcmp(what, "close") && file < 100; file++)
        close(file);
    for (int mib = 0; !strcmp(what, "allocate") && mib < 1024; mib++)
        memset(malloc(1 << 20), 1, 1 << 20);
    if (!strcmp(what, "allocate"))
        loop();
    if (!strcmp(what, "spawn") && fork() == 0)
        loop(); /* it keeps what its parent had open */
}

GROVE_CLASS(loading) = {
    GROVE_CLASS_HEAD(loading),   .doc = "For tests.",
    .output_doc = "the input",   .group = "tests",
    .inputs = plain_inputs,      .kernel = &plain_kernel,
    .example = "y = loading(1)",
};
