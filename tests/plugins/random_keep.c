/* An action that writes each number it is given to a file, with its place: records of
 * random-tree-data.h. */
#include "plugin.h"
#include "tests/random-tree-data.h"

#include <stdio.h>
#include <string.h>

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "what is written", .shapes = GROVE_ANY_SHAPE}, {0}};
static const grove_option options[] = {{"to", GROVE_TEXT, NULL, "path of the file"}, {0}};

static int begin(grove_node *node)
{
    FILE *file = fopen(grove_node_text(node, "to"), "wb");

    if (!file)
        return grove_node_fail(node, -5, "cannot write");
    grove_node_set_user(node, file);
    return 0;
}

/* Its place among the axes of random_axis. */
static int place_of(const grove_axis *axis)
{
    if (axis->kind == GROVE_AXIS_SOURCE)
        return strcmp(grove_node_name(axis->owner), "A") != 0;
    return 1 + axis->kind;
}

static double number_at(const grove_array *in, int64_t i)
{
    return in->form.precision == GROVE_PRECISION_DOUBLE ? ((const double *)in->data)[i]
                                                        : (double)((const float *)in->data)[i];
}

static int write_numbers(grove_node *node, const grove_array *in, int count)
{
    int parts = in->form.complex_ ? 2 : 1;

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
            if (fwrite(&record, sizeof(record), 1, grove_node_user(node)) != 1)
                return grove_node_fail(node, -5, "cannot write");
        }
    }
    return 0;
}

static int finish(grove_node *node)
{
    int code = fclose(grove_node_user(node));

    grove_node_set_user(node, NULL);
    return code ? grove_node_fail(node, -5, "cannot write") : 0;
}

static void abort_writing(grove_node *node)
{
    if (grove_node_user(node))
        fclose(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(random_keep) = {
    GROVE_CLASS_HEAD(random_keep),
    .doc = "Keeps what it is given, for tests.",
    .output_doc = "an action",
    .group = "tests",
    .inputs = inputs,
    .options = options,
    .flags = GROVE_CLASS_ACTION,
    .begin = begin,
    .write = write_numbers,
    .finish = finish,
    .abort = abort_writing,
    .example = "random_keep(x, to=\"x.bin\")",
};
