/* A node class that does something: an action, a root of the tree. It writes a value to a text
 * file, a line for each cell. The file appears when all is well, whole or not at all. */
#define _POSIX_C_SOURCE 200809L /* strdup, fsync */
#include <grove/plugin.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "a real number per cell", .handing = GROVE_AS_DOUBLE},
    {0},
};

static const grove_port options[] = {
    {"to", GROVE_TEXT, "the file"},
    {"overwrite", GROVE_BOOL, "replace an existing file with this name", .initial = "false"},
    {0},
};

/* What belongs to a run. Tiles come in any order of size, so the whole value is kept. */
typedef struct {
    const grove_axis *axes[GROVE_MAX_AXES];
    int axis_count;
    int64_t cells;
    double *values;     /* [cells] */
    char *path, *other; /* the file, and that which becomes it */
    FILE *file;
} writer;

/* Called once, when the tree is built. */
static int check(grove_node *node)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, 0, axes);
    uint64_t bytes = sizeof(double);

    if (!grove_node_text(node, "to")[0])
        return grove_node_fail_option(node, "to", "the path is empty");
    for (int d = 0; d < count; d++)
        bytes *= (uint64_t)axes[d]->size;
    grove_node_set_memory(node, bytes); /* grove check counts it */
    /* Grove sees to it that nothing is written twice, or in place of what the tree reads */
    return grove_node_set_target(node,
                                 &(grove_target){.path = grove_node_text(node, "to"),
                                                 .overwrite = grove_node_bool(node, "overwrite"),
                                                 .bytes = 4 * bytes});
}

static void stop(const grove_node *node, void *run)
{
    writer *w = run;

    (void)node;
    free(w->values);
    free(w->path);
    free(w->other);
    free(w);
}

/* Called once per run, before everything else. */
static int start(const grove_node *node, void **run)
{
    const char *path = grove_node_text(node, "to");
    writer *w = calloc(1, sizeof(*w));

    if (!w)
        return grove_node_fail(node, -1, "no memory");
    w->axis_count = grove_node_input_axes(node, 0, w->axes);
    w->cells = 1;
    for (int d = 0; d < w->axis_count; d++)
        w->cells *= w->axes[d]->size;
    w->values = calloc((size_t)w->cells + 1, sizeof(double));
    w->path = strdup(path);
    w->other = malloc(strlen(path) + sizeof(".part"));
    if (!w->values || !w->path || !w->other) {
        int code = grove_node_fail(node, -1, "no memory for %lld numbers", (long long)w->cells);
        stop(node, w);
        return code;
    }
    sprintf(w->other, "%s.part", path);
    *run = w;
    return 0;
}

/* Before the first tile: a folder that cannot be written is found out before hours of computing. */
static int begin(const grove_call *call)
{
    const grove_node *node = call->node;
    writer *w = call->run;

    if (!grove_node_bool(node, "overwrite") && access(w->path, F_OK) == 0)
        return grove_node_fail_option(
            node, "to", "%s: exists already; give overwrite=true to replace it", w->path);
    w->file = fopen(w->other, "wx"); /* never one that somebody else has made */
    return w->file ? 0
                   : grove_node_fail_option(node, "to", "%s: cannot write: %s", w->other,
                                            strerror(errno));
}

/* A tile: the block that inputs[0]->range names. */
static int write_tile(const grove_call *call, const grove_array *const *arrays, int count)
{
    const grove_array *x = arrays[0];
    const double *from = x->data;
    writer *w = call->run;

    (void)count;
    for (int64_t i = 0; i < x->cells; i++) {
        int64_t at = 0, step = 1, rest = i;
        for (int d = x->axes - 1; d >= 0; d--) {
            at += (x->range[d].first + rest % x->range[d].count) * step;
            step *= w->axes[d]->size;
            rest /= x->range[d].count;
        }
        w->values[at] = from[i];
    }
    return 0;
}

static void print_line(const writer *w, int64_t cell)
{
    int64_t index[GROVE_MAX_AXES], rest = cell;

    for (int d = w->axis_count - 1; d >= 0; d--) {
        index[d] = rest % w->axes[d]->size;
        rest /= w->axes[d]->size;
    }
    for (int d = 0; d < w->axis_count; d++)
        fprintf(w->file, "%s %lld  ", w->axes[d]->name, (long long)index[d]);
    fprintf(w->file, "%.9g\n", w->values[cell]);
}

/* After the last tile: everything that can fail. */
static int prepare(const grove_call *call)
{
    writer *w = call->run;

    for (int64_t i = 0; i < w->cells; i++)
        print_line(w, i);
    int bad = fflush(w->file) || ferror(w->file) || fsync(fileno(w->file));
    bad = fclose(w->file) || bad;
    w->file = NULL;
    return bad ? grove_node_fail_option(call->node, "to", "%s: cannot write: %s", w->other,
                                        strerror(errno))
               : 0;
}

/* When all actions of the tree have prepared: puts the file in place. */
static int commit(const grove_call *call)
{
    writer *w = call->run;

    if (!rename(w->other, w->path))
        return 0;
    return grove_node_fail_option(call->node, "to", "%s: cannot rename it to %s: %s", w->other,
                                  w->path, strerror(errno));
}

/* In place of commit, when anything has failed: all is as it was before begin. */
static void abort_write(const grove_call *call)
{
    writer *w = call->run;

    if (w->file)
        fclose(w->file);
    w->file = NULL;
    remove(w->other);
}

static const grove_action_functions functions = {
    .begin = begin,
    .write = write_tile,
    .prepare = prepare,
    .commit = commit,
    .abort = abort_write,
};

GROVE_CLASS(text_writer) = {
    GROVE_CLASS_HEAD(text_writer),
    .doc = "Writes a value to a text file: a line for each cell.",
    .output_doc = "an action: a file",
    .group = "actions",
    .kind = GROVE_CLASS_ACTION,
    .inputs = inputs,
    .options = options,
    .check = check,
    .start = start,
    .stop = stop,
    .action = &functions,
    .example = "w = text_writer(abs(select(obs.data, element=XX)), to=\"amplitude.txt\")",
};
