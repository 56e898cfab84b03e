#include "testing.h"

#include "base/file.h"
#include "base/text.h"
#include "conformance/invocation.h"
#include "mutant.h"
#include "run/call.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef grove_invocation_array array;

static array evaluate(testing *t, grove_node *node);

void testing_begin(testing *t)
{
    const char *parent = getenv("TMPDIR");

    memset(t, 0, sizeof(*t));
    t->classes = grove_classes_new(NULL);
    t->error = grove_error_new();
    t->arena = grove_arena_new();
    t->double_precision = true;
    snprintf(t->folder, sizeof(t->folder), "%s/grove-testing-XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(t->folder));
    if (mutant_begin(t->classes, t->error))
        ck_abort_msg("%s", grove_error_message(t->error, 0));
}

void testing_end(testing *t)
{
    grove_tree_free(t->tree);
    grove_error_free(t->error);
    grove_classes_free(t->classes);
    grove_arena_free(t->arena);
    grove_path_remove(t->folder, NULL);
}

static grove_tree *parse(testing *t, const char *text)
{
    const char *path = getenv("GROVE_DATA_PATH");
    char *arrays = suite_keep(grove_path_join(path ? path : "data", "arrays"));
    const char **data = grove_arena_alloc(t->arena, 2 * sizeof(char *));

    data[0] = grove_arena_text(t->arena, arrays);
    grove_tree_free(t->tree);
    grove_error_clear(t->error);
    t->tree = grove_lang_parse(text, "t.tree", t->classes, NULL, 0, NULL, data, t->error);
    return t->tree;
}

bool testing_try(testing *t, const char *text)
{
    return parse(t, text) != NULL;
}

void testing_tree(testing *t, const char *text)
{
    if (!parse(t, text)) {
        char *messages = grove_error_text(t->error);
        ck_abort_msg("%s\n%s", text, messages);
    }
}

const char *testing_faults(testing *t, const char *text)
{
    ck_assert_msg(!parse(t, text), "no fault is found in: %s", text);
    return suite_messages(t->error);
}

grove_node *testing_node(testing *t, const char *name)
{
    for (size_t i = t->tree->node_count; i-- > 0;)
        if (!strcmp(t->tree->nodes[i]->name, name))
            return t->tree->nodes[i];
    ck_abort_msg("no node '%s'", name);
    return NULL;
}

/* ---- arrays ---- */

static array new_array(const testing *t, const grove_node *node)
{
    array a = grove_invocation_array_of(node, t->double_precision);

    a.data = calloc((size_t)(a.cells * a.elements * a.parts) + 1, (size_t)a.bytes);
    return a;
}

static double get(const array *a, int64_t number, int part)
{
    if (part >= a->parts)
        return 0;
    number = number * a->parts + part;
    return a->bytes == 8 ? ((double *)a->data)[number] : (double)((float *)a->data)[number];
}

static void put(const array *a, int64_t number, double re, double im)
{
    for (int part = 0; part < a->parts; part++)
        if (a->bytes == 8)
            ((double *)a->data)[number * a->parts + part] = part ? im : re;
        else
            ((float *)a->data)[number * a->parts + part] = (float)(part ? im : re);
}

/* ---- nodes ---- */

/* Overrides the library's function: no threads, and pieces of all sizes. */
void grove_call_parallel(const grove_call *call, int64_t count,
                         void (*fn)(void *context, int64_t first, int64_t last), void *context)
{
    (void)call;
    for (int64_t first = 0, size = 1; first < count; first += size++)
        fn(context, first, first + size < count ? first + size : count);
}

int grove_call_threads(const grove_call *call)
{
    (void)call;
    return 40;
}

static void reduce(const grove_node *node, const grove_args *args, const array *in,
                   const array *out)
{
    int64_t cells = grove_args_cells(args), counted = cells / (out->cells ? out->cells : 1);
    grove_reduce how = node->class_->reduce;
    double *sum = calloc((size_t)(out->cells * out->elements) + 1, 2 * sizeof(double));

    for (int64_t i = 0; i < cells; i++) {
        int64_t index[GROVE_MAX_AXES], rest = i, offset = 0;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
            offset += index[d] * args->out.stride[d];
        }
        offset /= (int64_t)out->parts * out->bytes;
        int64_t from = (grove_view_at(&args->in[0], index, args->axes) - (char *)in->data) /
                       ((int64_t)in->parts * in->bytes);
        for (int e = 0; e < out->elements; e++) {
            double *to = sum + 2 * (offset + e), re = get(in, from + e, 0);
            bool less = re < to[0];
            if (how == GROVE_REDUCE_SUM || how == GROVE_REDUCE_MEAN)
                to[0] += re;
            else if (to[1] == 0 || less == (how == GROVE_REDUCE_MIN))
                to[0] = re;
            to[1] += how == GROVE_REDUCE_MIN || how == GROVE_REDUCE_MAX ? 1 : get(in, from + e, 1);
        }
    }
    double scale = how == GROVE_REDUCE_MEAN ? 1 / (double)counted : 1;
    for (int64_t i = 0; i < out->cells * out->elements; i++)
        put(out, i, sum[2 * i] * scale, sum[2 * i + 1] * scale);
    free(sum);
}

static void call_with_scratch(const grove_node *node, const grove_args *args, bool double_precision)
{
    grove_device *host = grove_device_cpu(1);
    grove_error *error = grove_error_new();
    const uint64_t bytes = node->amounts[1].scratch +
                           node->scratch_per_cell * (uint64_t)grove_args_cells(args) +
                           GROVE_MAX_SCRATCH * GROVE_SCRATCH_ALIGN;
    void *scratch =
        aligned_alloc(GROVE_SCRATCH_ALIGN, (bytes / GROVE_SCRATCH_ALIGN + 1) * GROVE_SCRATCH_ALIGN);
    grove_call_work work;
    grove_call call = {.node = node,
                       .args = args,
                       .double_precision = double_precision,
                       .work = &work,
                       .memory = UINT64_MAX};

    grove_call_begin(&work, host, scratch, bytes, error);
    ck_assert_msg(node->class_->eval(&call) == 0, "%s: %s", node->name,
                  grove_error_message(error, 0));
    free(scratch);
    grove_error_free(error);
    grove_device_free(host);
}

static void call_eval(const grove_node *node, const grove_args *args)
{
    bool double_precision = args->out.bytes == 8;

    if (node->kernel) {
        (double_precision ? node->kernel->double_precision
                          : node->kernel->single_precision)(args, 0, grove_args_cells(args));
    } else {
        call_with_scratch(node, args, double_precision);
    }
}

static void run_class(testing *t, grove_node *node, array *out)
{
    const grove_axis *space[GROVE_MAX_AXES];
    grove_args args = {.axes = grove_invocation_space(node, space), .inputs = node->input_count};
    array in[GROVE_MAX_INPUTS] = {0};

    for (int d = 0; d < args.axes; d++) {
        args.size[d] = space[d]->size;
        args.axis[d] = space[d]->kind;
    }
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node) {
            in[k] = evaluate(t, node->inputs[k].node);
            args.in[k] = grove_invocation_view(&in[k], &args, space, node->inputs[k].side, false);
        }
    args.out = grove_invocation_view(out, &args, space, 0, false);
    memcpy(args.state.bytes, node->state, sizeof(args.state.bytes));
    args.table = node->table;
    if (node->class_->kind == GROVE_CLASS_REDUCTION)
        reduce(node, &args, &in[0], out);
    else
        call_eval(node, &args);
    for (int k = 0; k < node->input_count; k++)
        free(in[k].data);
}

/* One cell along an axis, one element of each cell, or both. */
static void run_select(testing *t, const grove_node *node, const array *out)
{
    array in = evaluate(t, node->inputs[0].node);
    int64_t inner = 1, size = 1;
    int d = in.axis_count;

    while (d > 0 && node->select_drop && in.axes[d - 1] != node->select_axis)
        inner *= in.axes[--d]->size;
    if (node->select_drop)
        size = node->select_axis->size;
    for (int64_t i = 0; i < out->cells; i++)
        for (int e = 0; e < out->elements; e++) {
            int64_t cell = i;
            if (node->select_drop)
                cell = (i / inner * size + node->select_first) * inner + i % inner;
            int64_t from =
                cell * in.elements + (node->select_element < 0 ? e : node->select_element);
            put(out, i * out->elements + e, get(&in, from, 0), get(&in, from, 1));
        }
    free(in.data);
}

static void read_member(grove_node *node, array *out)
{
    const grove_member *member = &node->leaf->members[node->member];
    grove_array whole = {.data = out->data,
                         .axes = node->axis_count,
                         .cells = out->cells,
                         .elements = out->elements,
                         .form = &node->form};
    size_t bytes = (size_t)(out->cells * out->elements * out->parts) * (size_t)out->bytes;

    for (int d = 0; d < node->axis_count; d++)
        whole.range[d] = (grove_range){node->axes[d], 0, node->axes[d]->size};
    if (member->data) {
        memcpy(out->data, member->data, bytes);
        return;
    }
    const grove_class *class_ = node->leaf->class_;
    void *run = NULL;
    ck_assert_int_eq(class_->start ? class_->start(node->leaf, &run) : 0, 0);
    const grove_call call = {.node = node->leaf, .run = run};
    ck_assert_int_eq(class_->data->read(&call, member->name, &whole), 0);
    if (class_->stop)
        class_->stop(node->leaf, run);
}

static array evaluate(testing *t, grove_node *node)
{
    array out = new_array(t, node);

    if (node->kind == GROVE_NODE_MEMBER) {
        read_member(node, &out);
    } else if (node->kind == GROVE_NODE_CONSTANT) {
        const grove_literal *value = node->constant;
        const grove_literal *items = value->kind == GROVE_LITERAL_LIST ? value->items : value;
        for (int e = 0; e < out.elements; e++)
            put(&out, e, items[e].number, items[e].imaginary);
    } else if (node->kind == GROVE_NODE_CAST) {
        array in = evaluate(t, node->inputs[0].node);
        for (int64_t i = 0; i < out.cells * out.elements; i++)
            put(&out, i, get(&in, i, 0), get(&in, i, 1));
        free(in.data);
    } else if (node->class_->kind == GROVE_CLASS_SELECTION) {
        run_select(t, node, &out);
    } else {
        run_class(t, node, &out);
    }
    return out;
}

testing_value testing_evaluate(testing *t, const char *name)
{
    grove_node *node = testing_node(t, name);
    array a = evaluate(t, node);
    testing_value value = {.axes = node->axis_count, .elements = a.elements, .cells = a.cells};

    memcpy(value.axis, node->axes, sizeof(value.axis));
    value.at = suite_keep(calloc((size_t)(a.cells * a.elements) + 1, sizeof(*value.at)));
    for (int64_t i = 0; i < a.cells * a.elements; i++)
        value.at[i] = CMPLX(get(&a, i, 0), get(&a, i, 1));
    free(a.data);
    return value;
}

double complex testing_number(testing *t, const char *expression)
{
    testing_tree(t, suite_text("x = %s\n", expression));
    testing_value value = testing_evaluate(t, "x");
    ck_assert_int_eq(value.cells * value.elements, 1);
    return value.at[0];
}

const char *testing_file(testing *t, const char *name, const char *text)
{
    const char *path = suite_text("%s/%s", t->folder, name);
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

double testing_distance(const testing_value *a, const testing_value *b)
{
    long double difference = 0, size = 0;

    ck_assert_int_eq(a->cells * a->elements, b->cells * b->elements);
    for (int64_t i = 0; i < a->cells * a->elements; i++) {
        long double one = cabs(a->at[i] - b->at[i]), other = cabs(b->at[i]);
        difference += one * one;
        size += other * other;
    }
    return (double)sqrtl(size > 0 ? difference / size : difference);
}
