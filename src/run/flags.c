/* Flags of a class's value from those of its inputs, by the rules of plugin.h. */
#include "run/step.h"

#include <string.h>

/* Per input, what each byte of flags becomes in the output; bits of matrices are XX XY YX YY. */
typedef struct {
    unsigned char table[GROVE_MAX_INPUTS][256];
    unsigned char product[16][16];
    bool is_product;
    grove_view view[GROVE_MAX_INPUTS];
    int inputs;
    int axes;
    int64_t size[GROVE_MAX_AXES], step[GROVE_MAX_AXES]; /* step: of the output's flags, bytes */
    unsigned char *to;
} rules;

static unsigned all_bits(int elements)
{
    return elements >= 8 ? 255 : (1u << elements) - 1;
}

static unsigned transposed(unsigned bits, int shape)
{
    return shape == GROVE_MATRIX ? (bits & 9) | (bits & 2) << 1 | (bits & 4) >> 1 : bits;
}

static unsigned by_element(unsigned bits, const grove_value *in, const grove_value *out)
{
    if (!bits)
        return 0;
    if (in->shape == out->shape && in->elements == out->elements)
        return bits;
    if (in->shape == GROVE_DIAGONAL && out->shape == GROVE_MATRIX)
        return (bits & 1) | (bits & 2) << 2;
    if (in->shape == GROVE_MATRIX && out->shape == GROVE_DIAGONAL)
        return (bits & 1) | (bits & 8) >> 2;
    return all_bits(out->elements);
}

/* Bits of a factor as those of a full matrix; scalars and diagonals have no others. */
static unsigned as_matrix(unsigned bits, int shape)
{
    if (shape == GROVE_SCALAR)
        return bits & 1 ? 9 : 0;
    return shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 2) << 2 : bits & 15;
}

/* Which elements of a factor are not zero by its shape. */
static unsigned structure(int shape)
{
    return shape == GROVE_MATRIX ? 15 : 9;
}

/* Element ij is spoilt by ik or kj where both are there. */
static unsigned product_bits(unsigned a, int a_shape, unsigned b, int b_shape, int out_shape)
{
    unsigned bits = 0, has_a = structure(a_shape), has_b = structure(b_shape);

    a = as_matrix(a, a_shape);
    b = as_matrix(b, b_shape);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) {
                int ik = 2 * i + k, kj = 2 * k + j;
                bool both = has_a >> ik & 1 && has_b >> kj & 1;
                if (both && ((a >> ik | b >> kj) & 1))
                    bits |= 1u << (2 * i + j);
            }
    if (out_shape == GROVE_SCALAR)
        return bits != 0;
    return out_shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 8) >> 2 : bits;
}

static bool is_jones(const grove_value *value)
{
    return value && value->shape != GROVE_VECTOR;
}

static void fill_tables(rules *r, const grove_node *node, grove_value *const *inputs,
                        const grove_value *out)
{
    grove_flag_rule rule = node->class_->flag_rule;

    r->is_product = rule == GROVE_FLAGS_PRODUCT && r->inputs >= 2 && is_jones(inputs[0]) &&
                    is_jones(inputs[1]) && is_jones(out);
    for (unsigned a = 0; a < 16 && r->is_product; a++)
        for (unsigned b = 0; b < 16; b++)
            r->product[a][b] =
                (unsigned char)product_bits(a, inputs[0]->shape, b, inputs[1]->shape, out->shape);
    for (int k = 0; k < r->inputs; k++)
        for (unsigned bits = 1; bits < 256 && inputs[k]; bits++) {
            unsigned to = rule == GROVE_FLAGS_MIX || rule == GROVE_FLAGS_PRODUCT
                              ? all_bits(out->elements)
                              : by_element(bits, inputs[k], out);
            if (node->handing[k] == GROVE_AS_FLAGS)
                to = bits == all_bits(inputs[k]->elements) ? all_bits(out->elements) : 0;
            else if (rule == GROVE_FLAGS_TRANSPOSE)
                to = transposed(to, out->shape);
            r->table[k][bits] = (unsigned char)to;
        }
}

/* A row of an input's flags: its bytes at first, and the step; gathered ones are looked up. */
typedef struct {
    const unsigned char *at;
    int64_t step;
    const int32_t *gather;
} flag_row;

static flag_row row_of(const rules *r, int k, const int64_t *index)
{
    const grove_view *view = &r->view[k];
    int inner = r->axes - 1;
    bool gathers = view->gather && view->gather_axis == inner;
    flag_row row = {NULL, inner < 0 ? 0 : view->stride[inner], gathers ? view->gather : NULL};

    if (!view->data)
        return row;
    row.at = (const unsigned char *)grove_view_at(view, index, r->axes);
    if (gathers) /* back to the station with number 0 */
        row.at -= row.step * view->gather[0];
    return row;
}

static unsigned bits_of(const flag_row *row, int64_t i)
{
    return row->at ? row->at[row->step * (row->gather ? (int64_t)row->gather[i] : i)] : 0;
}

static void fill_row(const rules *r, const int64_t *index, unsigned char *to)
{
    int inner = r->axes - 1, k = 0;
    int64_t cells = inner < 0 ? 1 : r->size[inner], step = inner < 0 ? 0 : r->step[inner];

    if (r->is_product) {
        flag_row a = row_of(r, 0, index), b = row_of(r, 1, index);
        for (int64_t i = 0; i < cells; i++)
            to[i * step] |= r->product[bits_of(&a, i) & 15][bits_of(&b, i) & 15];
        k = 2;
    }
    for (; k < r->inputs; k++) {
        flag_row a = row_of(r, k, index);
        for (int64_t i = 0; i < cells && a.at; i++)
            to[i * step] |= r->table[k][bits_of(&a, i)];
    }
}

static void fill_rows(void *context, int64_t first, int64_t last)
{
    const rules *r = context;

    for (int64_t row = first; row < last; row++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = row, at = 0;
        for (int d = r->axes - 2; d >= 0; d--) {
            index[d] = rest % r->size[d];
            rest /= r->size[d];
            at += index[d] * r->step[d];
        }
        fill_row(r, index, r->to + at);
    }
}

/* Flags vary along those axes of the output that the inputs' flags vary along. */
static unsigned varying(const rules *r, const grove_range *space, const grove_value *out)
{
    unsigned axes = 0;

    for (int d = 0; d < r->axes; d++)
        for (int v = 0; v < out->axes; v++)
            for (int k = 0; k < r->inputs; k++)
                if (out->range[v].axis == space[d].axis && r->view[k].data && r->view[k].stride[d])
                    axes |= 1u << v;
    return axes;
}

/* Goes only along axes that some flags vary along; steps 0 along those that the output lacks. */
static int64_t lay_out(rules *r, const grove_range *space, const grove_value *out)
{
    int64_t rows = 1, step = 1;

    for (int d = r->axes - 1; d >= 0; d--) {
        bool any = false, kept = false;
        for (int k = 0; k < r->inputs; k++)
            any = any || (r->view[k].data && r->view[k].stride[d]);
        for (int v = 0; v < out->axes; v++)
            kept = kept || (out->range[v].axis == space[d].axis && out->flag_axes >> v & 1);
        r->size[d] = any ? space[d].count : 1;
        r->step[d] = kept ? step : 0;
        step *= kept ? space[d].count : 1;
        rows *= d < r->axes - 1 ? r->size[d] : 1;
    }
    return rows;
}

int grove_flags_combine(grove_run *run, const grove_step *step, const grove_range *space, int axes,
                        grove_value *value)
{
    grove_session *session = run->session;
    grove_value *inputs[GROVE_MAX_INPUTS] = {0};
    rules r = {.inputs = step->inputs, .axes = axes};
    bool consumes = step->node->consumed_count > 0;

    for (int k = 0; k < step->inputs; k++) {
        if (step->input[k] < 0)
            continue;
        inputs[k] = run->program->steps[step->input[k]].value;
        int code = grove_value_flag_view(inputs[k], space, axes, step->side[k], &r.view[k],
                                         session->error);
        if (code)
            return code;
    }
    fill_tables(&r, step->node, inputs, value);
    int code =
        grove_value_add_flags(value, session->host, varying(&r, space, value), session->error);
    if (code)
        return code;
    int64_t rows = lay_out(&r, space, value);
    r.to = grove_buffer_host(value->flags, session->error);
    memset(r.to, 0, grove_buffer_bytes(value->flags));
    /* with consumed axes several rows may meet in one cell */
    grove_parallel(consumes ? NULL : session->host->threads, rows, 0, fill_rows, &r);
    return 0;
}

int grove_flags_merge(const grove_run *run, grove_value *from, grove_value *to)
{
    unsigned char *bits = grove_buffer_host(to->flags, run->session->error);
    int64_t cells = grove_value_cells(to);
    grove_view view;
    int code = grove_value_flag_view(from, to->range, to->axes, 0, &view, run->session->error);

    for (int64_t cell = 0; cell < cells && !code; cell++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = cell;
        for (int d = to->axes - 1; d >= 0; d--) {
            index[d] = rest % to->range[d].count;
            rest /= to->range[d].count;
        }
        bits[cell] |= *(const unsigned char *)grove_view_at(&view, index, to->axes);
    }
    return code;
}
