/* Correct: counts its evaluations in a run, in state that start makes and stop frees. */
#include "plain.h"

#include <stdlib.h>

static int start(const grove_node *node, void **run)
{
    *run = calloc(1, sizeof(double));
    return *run ? 0 : grove_node_fail(node, -4, "no memory");
}

static void stop(const grove_node *node, void *run)
{
    const char *before = getenv("GROVE_TEST_STOPS");

    (void)node;
    setenv("GROVE_TEST_STOPS", before && before[0] == '1' ? "2" : "1", 1);
    free(run);
}

static int eval(const grove_call *call)
{
    double *count = call->run;

    *count += 1;
    memcpy(call->args->out.data, count, sizeof(*count));
    return 0;
}

GROVE_CLASS(keeps_run) = {
    GROVE_CLASS_HEAD(keeps_run),
    PLAIN_TEXTS,
    .inputs = plain_inputs,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE),
    .eval = eval,
    .start = start,
    .stop = stop,
};
