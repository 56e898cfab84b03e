#include "conformance/child.h"

#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Writes the text with its final 0, which tells the parent that it is whole. */
static void run(char *(*fn)(void *context), void *context, int seconds, int to)
{
    signal(SIGALRM, SIG_DFL);
    alarm((unsigned)seconds);
    char *text = fn(context);
    size_t left = strlen(text) + 1;
    for (const char *at = text; left;) {
        ssize_t written = write(to, at, left);
        if (written < 0 && errno != EINTR)
            _exit(1);
        at += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    fflush(NULL);
    _exit(0); /* what runs at exit is the parent's */
}

/* All that the child writes; NULL when it is not whole. */
static char *read_text(int from)
{
    grove_text text = {0};
    char piece[4096];
    bool whole = false;

    for (;;) {
        ssize_t count = read(from, piece, sizeof(piece));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        whole = !piece[count - 1];
        grove_text_add(&text, "%.*s", (int)count, piece);
    }
    if (whole)
        return text.at;
    free(text.at);
    return NULL;
}

static char *fault_of(int status, int seconds)
{
    if (!WIFSIGNALED(status))
        return grove_format("ends the process with exit status %d", WEXITSTATUS(status));
    if (WTERMSIG(status) == SIGALRM)
        return grove_format("does not return within %d second%s", seconds, seconds == 1 ? "" : "s");
    return grove_format("crashes with signal %d (%s)", WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
}

char *grove_child_run(char *(*fn)(void *context), void *context, int seconds, char **fault)
{
    int ends[2], status = 0;

    *fault = NULL;
    fflush(NULL);
    pid_t child = pipe(ends) ? -1 : fork();
    if (child < 0) {
        *fault = grove_format("cannot be run in a process of its own: %s", strerror(errno));
        return NULL;
    }
    if (!child) {
        close(ends[0]);
        run(fn, context, seconds, ends[1]);
    }
    close(ends[1]);
    char *text = read_text(ends[0]);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (text && status == 0)
        return text;
    free(text);
    *fault = fault_of(status, seconds);
    return NULL;
}
