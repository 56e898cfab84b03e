/* A node class that makes data: an object with an axis of its own, and members that other nodes
 * read. Here they come from a small text file. */
#include <grove/plugin.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port options[] = {
    {"path", GROVE_FILE, "text file: lines of a frequency in MHz and a gain"},
    {0},
};

typedef struct {
    int64_t count;
    double *freq, *gain; /* [count] */
} table;

/* The class's own: freed when the tree goes, also after an open that failed. */
static void close_table(grove_node *node)
{
    table *t = grove_node_user(node);

    if (t) {
        free(t->freq);
        free(t->gain);
    }
    free(t);
    grove_node_set_user(node, NULL);
}

static int add_line(table *t, double freq, double gain)
{
    size_t bytes = (size_t)(t->count + 1) * sizeof(double);
    double *more_freq = realloc(t->freq, bytes);

    t->freq = more_freq ? more_freq : t->freq;
    double *more_gain = realloc(t->gain, bytes);
    t->gain = more_gain ? more_gain : t->gain;
    if (!more_freq || !more_gain)
        return -1;
    t->freq[t->count] = freq * 1e6; /* numbers are in base units: Hz */
    t->gain[t->count++] = gain;
    return 0;
}

static int read_file(grove_node *node, table *t)
{
    const char *path = grove_node_text(node, "path");
    FILE *file = fopen(path, "r");
    char line[256], rest;
    double freq, gain;
    int number = 0, code = 0;

    if (!file)
        return grove_node_fail_option(node, "path", "%s: cannot open: %s", path, strerror(errno));
    while (!code && fgets(line, sizeof(line), file)) {
        number++;
        if (line[strspn(line, " \t\n")] == 0 || line[0] == '#')
            continue;
        if (sscanf(line, "%lf %lf %c", &freq, &gain, &rest) != 2)
            code = grove_node_fail_option(node, "path", "%s:%d: requires a frequency and a gain",
                                          path, number);
        else if (add_line(t, freq, gain))
            code = grove_node_fail(node, -1, "no memory for %s", path);
    }
    fclose(file);
    if (!code && !t->count)
        code = grove_node_fail_option(node, "path", "%s: has no lines of a frequency and a gain",
                                      path);
    return code;
}

/* Called when the tree is built: axes and members. A member whose data are given here is kept by
 * Grove; any other is read block by block. */
static int open_table(grove_node *node)
{
    static const grove_form freq = {
        .precision = GROVE_PRECISION_DOUBLE, .unit = {.s = -1}, .shape = GROVE_SCALAR};
    static const grove_form gain = {.precision = GROVE_PRECISION_DOUBLE, .shape = GROVE_SCALAR};
    table *t = calloc(1, sizeof(*t));

    if (!t)
        return grove_node_fail(node, -1, "no memory");
    grove_node_set_user(node, t);
    int code = read_file(node, t);
    if (code)
        return code;
    grove_axis axis = {.name = "entry", .size = t->count, .centre = t->freq};
    if ((code = grove_node_add_axis(node, &axis)))
        return code;
    if ((code = grove_node_add_member(node, "freq", "entry", &freq, t->freq, "frequencies, Hz")))
        return code;
    if ((code = grove_node_add_member(node, "gain", "entry", &gain, NULL, "gains")))
        return code;
    grove_node_add_identity(node,
                            grove_node_text(node, "path")); /* the cache knows the file by it */
    return 0;
}

/* Called while a tree runs, from a background thread: the block that out->range names. */
static int read_member(const grove_call *call, const char *member, grove_array *out)
{
    const table *t = grove_node_user(call->node);

    (void)member; /* gain is the only one that is read */
    memcpy(out->data, t->gain + out->range[0].first, (size_t)out->cells * sizeof(double));
    return 0;
}

GROVE_CLASS(bandpass_table) = {
    GROVE_CLASS_HEAD(bandpass_table),
    .doc = "A table of gains by frequency, from a text file.",
    .output_doc = "an object with members freq (Hz) and gain along its axis entry",
    .group = "data",
    .kind = GROVE_CLASS_DATA,
    .object = "bandpass_table",
    .options = options,
    .data = &(const grove_data_functions){.open = open_table, .read = read_member},
    .close = close_table,
    .example = "T = bandpass_table(\"table.txt\")",
};
