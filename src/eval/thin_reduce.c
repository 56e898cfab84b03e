/* Reductions over axes that are whole: source (in chunks that fit the memory), station, others.
 * Every output cell adds its samples in the order of the index, in double, whatever the chunks and
 * threads. */
#include "eval/thin_state.h"
#include "eval/thin_sums.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const grove_value *in;
    const char *data;
    grove_view view, flags;            /* of the input from `space` */
    grove_range space[GROVE_MAX_AXES]; /* kept axes, then reduced ones */
    int kept, axes;
    grove_reduce how;
    grove_sum *sums; /* [kept cells][elements] */
} reduction;

static void read_element(const grove_value *in, const char *cell, int e, double *re, double *im)
{
    *im = 0;
    if (in->double_) {
        const double *x = (const double *)cell;
        *re = x[in->complex_ ? 2 * e : e];
        if (in->complex_)
            *im = x[2 * e + 1];
    } else {
        const float *x = (const float *)cell;
        *re = (double)x[in->complex_ ? 2 * e : e];
        if (in->complex_)
            *im = (double)x[2 * e + 1];
    }
}

static void add_cells(const reduction *r, int64_t *index, int64_t count, grove_sum *sums)
{
    for (int64_t i = 0; i < count; i++) {
        const char *cell = grove_view_at(&r->view, index, r->axes);
        unsigned flags =
            r->flags.data ? *(unsigned char *)grove_view_at(&r->flags, index, r->axes) : 0;
        for (int e = 0; e < r->in->elements; e++) {
            double re, im;
            read_element(r->in, cell, e, &re, &im);
            grove_sum_add(&sums[e], r->how, re, im, flags >> (e < 7 ? e : 7) & 1 ? 0 : 1);
        }
        for (int d = r->axes - 1; d >= r->kept && ++index[d] == r->space[d].count; d--)
            index[d] = 0;
    }
}

static void reduce_cells(void *context, int64_t first, int64_t last)
{
    const reduction *r = context;
    int64_t inner = 1;

    for (int d = r->kept; d < r->axes; d++)
        inner *= r->space[d].count;
    for (int64_t cell = first; cell < last; cell++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = cell;
        for (int d = r->kept - 1; d >= 0; d--) {
            index[d] = rest % r->space[d].count;
            rest /= r->space[d].count;
        }
        add_cells(r, index, inner, r->sums + cell * r->in->elements);
    }
}

/* Adds one input value (a chunk) to the sums. */
static int add_value(grove_session *session, const grove_node *node, const grove_block *block,
                     grove_value *in, grove_sum *sums)
{
    reduction r = {.in = in, .how = node->class_->reduce, .sums = sums};
    int64_t cells = 1;
    int code;

    for (int i = 0; i < node->axis_count; i++)
        r.space[r.axes++] = grove_block_range(block, node->axes[i]);
    r.kept = r.axes;
    for (int i = 0; i < r.kept; i++)
        cells *= r.space[i].count;
    for (int i = 0; i < node->consumed_count; i++)
        r.space[r.axes++] = grove_block_range(block, node->consumed[i]);
    code = grove_value_view(in, r.space, r.axes, 0, session->device, &r.view, session->error);
    if (!code)
        code = grove_value_flag_view(in, r.space, r.axes, 0, &r.flags, session->error);
    if (!code && grove_value_cells(in) > 0) {
        double began = grove_now();
        grove_parallel(session->device->threads, cells, 256, reduce_cells, &r);
        session->counters.kernel_seconds += grove_now() - began;
    }
    return code;
}

static int add_chunks(grove_session *session, grove_node *node, const grove_block *block,
                      grove_sum *sums, bool *flagged)
{
    const grove_axis *source = NULL;
    grove_block part = *block;
    int64_t chunk = 0, size = 1;
    int code = 0;

    for (int i = 0; i < node->consumed_count; i++)
        if (node->consumed[i]->kind == GROVE_AXIS_SOURCE && !source)
            source = node->consumed[i];
    if (source) {
        chunk = grove_plan_chunk(session, node, block, source);
        size = source->size;
    }
    session->chunk_depth += source && chunk < size;
    for (int64_t first = 0; first < size && !code; first += source ? chunk : 1) {
        int64_t rest = size - first;
        grove_value *in = NULL;
        if (source)
            grove_block_restrict(&part, (grove_range){source, first, rest < chunk ? rest : chunk});
        code = grove_interrupted() ? GROVE_INTERRUPTED
                                   : grove_evaluate(session, node->inputs[0].node, &part, &in);
        if (!code)
            code = add_value(session, node, &part, in, sums);
        *flagged = *flagged || (in && in->flags);
        grove_value_unref(in);
    }
    session->chunk_depth -= source && chunk < size;
    return code;
}

/* Sums to numbers; a cell without any good sample is zero and flagged. */
void grove_sums_to_value(const grove_sum *sums, grove_reduce how, grove_value *value)
{
    char *data = grove_buffer_host(value->data, NULL);
    unsigned char *flags = value->flags ? grove_buffer_host(value->flags, NULL) : NULL;
    int64_t numbers = grove_value_cells(value) * value->elements;

    for (int64_t i = 0; i < numbers; i++) {
        double re, im;
        int64_t at = value->complex_ ? 2 * i : i;
        grove_sum_result(&sums[i], how, &re, &im);
        if (value->double_) {
            ((double *)(void *)data)[at] = re;
            if (value->complex_)
                ((double *)(void *)data)[at + 1] = im;
        } else {
            ((float *)(void *)data)[at] = (float)re;
            if (value->complex_)
                ((float *)(void *)data)[at + 1] = (float)im;
        }
        int e = (int)(i % value->elements);
        if (flags && sums[i].count == 0)
            flags[i / value->elements] |= (unsigned char)(1u << (e < 7 ? e : 7));
    }
}

int grove_compute_reduction(grove_session *session, grove_node *node, const grove_block *block,
                            grove_value **value)
{
    bool flagged = false;

    *value = NULL;
    if (session->nodes[node->id].whole_run)
        return grove_fail(session->error, GROVE_INTERNAL, "'%s' is asked for before its pass",
                          node->name);
    grove_value *result = grove_value_for(session, node, block, true);
    if (!result)
        return GROVE_NO_MEMORY;
    size_t numbers = (size_t)(grove_value_cells(result) * result->elements);
    grove_buffer *buffer =
        grove_buffer_new(session->device, numbers * sizeof(grove_sum) + 1, session->error);
    if (!buffer) {
        grove_value_unref(result);
        return GROVE_NO_MEMORY;
    }
    grove_sum *sums = grove_buffer_host(buffer, session->error);
    memset(sums, 0, numbers * sizeof(*sums));
    int code = add_chunks(session, node, block, sums, &flagged);
    if (!code)
        grove_sums_to_value(sums, node->class_->reduce, result);
    grove_buffer_unref(buffer);
    if (code) {
        grove_value_unref(result);
        return code;
    }
    if (!flagged) { /* nothing can be flagged but an empty mean, least or greatest */
        bool empty = false;
        for (int i = 0; i < node->consumed_count; i++)
            empty = empty || node->consumed[i]->size == 0;
        if (!empty || node->class_->reduce == GROVE_REDUCE_SUM) {
            grove_buffer_unref(result->flags);
            result->flags = NULL;
            result->flag_axes = 0;
        }
    }
    *value = result;
    return 0;
}
