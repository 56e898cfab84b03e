/* An action that writes each number with its indices to a file, as records of random-tree-data.h.
 */
#include "plugin.h"
#include "tests/core/random-tree-data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "what is written", .shapes = GROVE_ANY_SHAPE}, {0}};
static const grove_port options[] = {{"to", GROVE_TEXT, "path of the file"}, {0}};

/* The state of a run: the open file, behind an extra pointer. */
static int start(const grove_node *node, void **run)
{
    (void)node;
    *run = calloc(1, sizeof(FILE *));
    return *run ? 0 : -5;
}

static void stop(const grove_node *node, void *run)
{
    (void)node;
    free(run);
}

static int begin(const grove_call *call)
{
    const grove_node *node = call->node;
    FILE **file = call->run;

    *file = fopen(grove_node_text(node, "to"), "wb");
    return *file ? 0 : grove_node_fail(node, -5, "cannot write");
}

/* Its index along each axis of random_axis. */
static int place_of(const grove_axis *axis)
{
    if (axis->kind == GROVE_AXIS_SOURCE)
        return strcmp(grove_node_name(axis->owner), "A") != 0;
    return 1 + axis->kind;
}

static double number_at(const grove_array *in, int64_t i)
{
    return in->form->precision == GROVE_PRECISION_DOUBLE ? ((const double *)in->data)[i]
                                                         : (double)((const float *)in->data)[i];
}

static int write_numbers(const grove_call *call, const grove_array *const *arrays, int count)
{
    const grove_array *in = arrays[0];
    FILE **file = call->run;
    int parts = in->form->complex_ ? 2 : 1;

    for (int64_t cell = 0; cell < in->cells && count; cell++) {
        random_record record = {{0}, 0, 0, 0, 0};
        int64_t rest = cell;
        for (int d = in->axes - 1; d >= 0; d--) {
            record.index[place_of(in->range[d].axis)] =
                (int32_t)(in->range[d].first + rest % in->range[d].count);
            rest /= in->range[d].count;
        }
        for (int e = 0; e < in->elements; e++) {
            int64_t at = (cell * in->elements + e) * parts;
            record.element = e;
            record.flag = in->flags ? in->flags[cell] >> e & 1 : 0;
            record.re = number_at(in, at);
            record.im = parts == 2 ? number_at(in, at + 1) : 0;
            if (fwrite(&record, sizeof(record), 1, *file) != 1)
                return grove_node_fail(call->node, -5, "cannot write");
        }
    }
    return 0;
}

static int prepare(const grove_call *call)
{
    FILE **file = call->run;
    int code = fclose(*file);

    *file = NULL;
    return code ? grove_node_fail(call->node, -5, "cannot write") : 0;
}

static void abort_writing(const grove_call *call)
{
    FILE **file = call->run;

    if (*file)
        fclose(*file);
    *file = NULL;
}

static const grove_action_functions functions = {
    .begin = begin,
    .write = write_numbers,
    .prepare = prepare,
    .abort = abort_writing,
};

GROVE_CLASS(random_keep) = {
    GROVE_CLASS_HEAD(random_keep),
    .doc = "Keeps what it is given, for tests.",
    .output_doc = "an action",
    .group = "tests",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .start = start,
    .stop = stop,
    .action = &functions,
    .example = "random_keep(x, to=\"x.bin\")",
};
