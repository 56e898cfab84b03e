/* Values of random trees: axes, views of stations, flags and reductions. */
#include "random-tree.h"

#include <stdlib.h>
#include <string.h>

static unsigned bit(random_axis axis)
{
    return 1u << axis;
}

static int64_t cells_of(const random_world *world, unsigned axes)
{
    int64_t cells = 1;

    for (int a = 0; a < RANDOM_AXES; a++)
        if (axes >> a & 1)
            cells *= world->size[a];
    return cells;
}

static void split(const random_world *world, unsigned axes, int64_t cell,
                  int64_t index[RANDOM_AXES])
{
    for (int a = RANDOM_AXES - 1; a >= 0; a--) {
        index[a] = axes >> a & 1 ? cell % world->size[a] : 0;
        cell /= axes >> a & 1 ? world->size[a] : 1;
    }
}

/* The cell of a value with these axes at given indices; the station of a baseline is chosen by
 * `role`. */
static int64_t cell_at(const random_world *world, unsigned axes, char role,
                       const int64_t index[RANDOM_AXES], bool baselines)
{
    int64_t cell = 0;

    for (int a = 0; a < RANDOM_AXES; a++) {
        int64_t i = index[a];
        if (!(axes >> a & 1))
            continue;
        if (a == RANDOM_STATION && baselines)
            i = role == 'p' ? world->left[index[RANDOM_BASELINE]]
                            : world->right[index[RANDOM_BASELINE]];
        cell = cell * world->size[a] + i;
    }
    return cell;
}

/* The union of two sets of axes: stations become baselines if there are baselines, or both sides.
 */
static unsigned meeting_axes(const random_tree *tree, const random_node *node)
{
    unsigned axes = 0;
    bool p = false, q = false;

    for (int k = 0; k < node->inputs; k++) {
        const random_value *in = &tree->node[node->input[k]].value;
        axes |= in->axes;
        p = p || (in->axes & bit(RANDOM_STATION) && node->role[k] == 'p');
        q = q || (in->axes & bit(RANDOM_STATION) && node->role[k] == 'q');
    }
    if (axes & bit(RANDOM_STATION) && (axes & bit(RANDOM_BASELINE) || (p && q)))
        axes = (axes & ~bit(RANDOM_STATION)) | bit(RANDOM_BASELINE);
    return axes;
}

static bool allocate(const random_tree *tree, random_value *value)
{
    value->cells = cells_of(&tree->world, value->axes);
    if (value->cells * value->elements > tree->max_elements)
        return false;
    size_t numbers = (size_t)(value->cells * value->elements) + 1;
    value->at = calloc(numbers, sizeof(*value->at));
    value->error = calloc(numbers, sizeof(*value->error));
    value->flag = calloc(numbers, 1);
    return true;
}

void random_value_free(random_value *value)
{
    free(value->at);
    free(value->error);
    free(value->flag);
    memset(value, 0, sizeof(*value));
}

/* ---- cells ---- */

static void get_cell(const random_value *value, int64_t cell, random_cell *to)
{
    to->shape = value->shape;
    to->elements = value->elements;
    to->complex_ = value->complex_;
    to->flags = 0;
    for (int e = 0; e < value->elements; e++) {
        int64_t i = cell * value->elements + e;
        to->at[e] = value->at[i];
        to->error[e] = value->error[i];
        to->flags |= (unsigned)value->flag[i] << e;
    }
}

/* Numbers and errors must be small enough for first-order error propagation. */
static bool put_cell(random_value *value, int64_t cell, const random_cell *from)
{
    for (int e = 0; e < value->elements; e++) {
        int64_t i = cell * value->elements + e;
        value->flag[i] = from->flags >> e & 1;
        if (value->flag[i])
            continue;
        if (!(cabsl(from->at[e]) < 1e4L) || !(from->error[e] < 2e4L))
            return false;
        value->at[i] = value->complex_ ? from->at[e] : creall(from->at[e]);
        value->error[i] = from->error[e];
    }
    return true;
}

/* ---- flags ---- */

static unsigned all_flags(int elements)
{
    return (1u << elements) - 1;
}

/* Flags element by element; flags of scalars, and of cells with another number of elements, are for
 * all elements. */
static unsigned flags_by_element(const random_cell *in, int shape, int elements)
{
    if (!in->flags || (in->shape == shape && in->elements == elements))
        return in->flags;
    if (in->shape == GROVE_DIAGONAL && shape == GROVE_MATRIX)
        return (in->flags & 1) | (in->flags & 2) << 2;
    if (in->shape == GROVE_MATRIX && shape == GROVE_DIAGONAL)
        return (in->flags & 1) | (in->flags & 8) >> 2;
    return all_flags(elements);
}

/* Element ij of a Jones term: 0 unflagged, 1 flagged, -1 zero by its shape. */
static int flag_of(const random_cell *in, int i, int j)
{
    if (in->shape == GROVE_MATRIX)
        return (int)(in->flags >> (2 * i + j) & 1);
    return i != j ? -1 : (int)(in->flags >> (in->shape == GROVE_SCALAR ? 0 : i) & 1);
}

static unsigned flags_of_product(const random_cell *a, const random_cell *b, int shape)
{
    unsigned flags = 0;

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) {
                int left = flag_of(a, i, k), right = flag_of(b, k, j);
                if (left >= 0 && right >= 0 && (left || right))
                    flags |= 1u << (2 * i + j);
            }
    return shape == GROVE_MATRIX     ? flags
           : shape == GROVE_DIAGONAL ? (flags & 1) | (flags & 8) >> 2
                                     : flags != 0;
}

static unsigned flags_of(const random_node *node, const random_cell *in, const random_cell *out)
{
    unsigned flags = 0;

    switch (node->operation) {
    case RANDOM_INVERSE:
    case RANDOM_POWER:
    case RANDOM_DETERMINANT:
    case RANDOM_TRACE:
    case RANDOM_NORM:
    case RANDOM_ROTATION:
        return in[0].flags ? all_flags(out->elements) : 0;
    case RANDOM_MULTIPLY:
        if (in[0].shape != GROVE_VECTOR && in[1].shape != GROVE_VECTOR)
            return flags_of_product(&in[0], &in[1], out->shape);
        return in[0].flags || in[1].flags ? all_flags(out->elements) : 0;
    case RANDOM_ELEMENT:
        return in[0].flags >> node->choice[0] & 1;
    default:
        break;
    }
    for (int k = 0; k < node->inputs; k++)
        flags |= flags_by_element(&in[k], out->shape, out->elements);
    if ((node->operation == RANDOM_HERMITIAN || node->operation == RANDOM_TRANSPOSE) &&
        out->shape == GROVE_MATRIX)
        flags = (flags & 9) | (flags & 2) << 1 | (flags & 4) >> 1;
    return flags;
}

/* ---- nodes ---- */

static bool evaluate_cells(const random_tree *tree, random_node *node)
{
    const random_world *world = &tree->world;
    random_value *out = &node->value;

    for (int64_t cell = 0; cell < out->cells; cell++) {
        int64_t index[RANDOM_AXES];
        random_cell in[4] = {0}, result = {.shape = out->shape, .elements = out->elements};
        split(world, out->axes, cell, index);
        if (node->operation == RANDOM_CELL)
            index[node->choice[0]] = node->choice[1];
        for (int k = 0; k < node->inputs; k++) {
            const random_value *from = &tree->node[node->input[k]].value;
            get_cell(
                from,
                cell_at(world, from->axes, node->role[k], index, out->axes & bit(RANDOM_BASELINE)),
                &in[k]);
        }
        result.flags = flags_of(node, in, &result);
        if (node->operation >= RANDOM_POINT && node->operation <= RANDOM_BRIGHTNESS)
            random_sky_compute(world, node, index, &result);
        else if (!random_cell_compute(node, in, &result))
            return false;
        if (!put_cell(out, cell, &result))
            return false;
    }
    return true;
}

static bool evaluate_member(const random_tree *tree, random_node *node)
{
    const random_world *world = &tree->world;
    const random_member *member = node->choice[0] ? &random_sky_members[node->choice[1]]
                                                  : &random_set_members[node->choice[1]];
    random_value *out = &node->value;

    for (int64_t cell = 0; cell < out->cells; cell++) {
        int64_t index[RANDOM_AXES], at[3] = {0};
        int axes = 0;
        split(world, out->axes, cell, index);
        for (int a = 0; a < RANDOM_AXES; a++)
            if (out->axes >> a & 1)
                at[axes++] = index[a];
        for (int e = 0; e < out->elements; e++) {
            int64_t i = cell * out->elements + e;
            int64_t seed = world->seed + node->choice[0];
            if (member->flags &&
                random_flagged(seed, world->flagging, node->choice[1], at, axes, e))
                out->flag[i] = 1;
            else
                out->at[i] =
                    CMPLXL(random_number(seed, node->choice[1], at, e, 0),
                           member->complex_ ? random_number(seed, node->choice[1], at, e, 1) : 0);
        }
    }
    return true;
}

typedef struct {
    random_complex sum;
    long double error, size; /* size: sum of absolute values */
    int64_t count;
} partial;

static void add_sample(random_operation how, partial *to, random_complex x, long double error)
{
    bool less = how == RANDOM_MIN, more = how == RANDOM_MAX;

    if (less || more) {
        if (!to->count || (less ? creall(x) < creall(to->sum) : creall(x) > creall(to->sum)))
            to->sum = x;
        to->error = error > to->error ? error : to->error;
    } else {
        to->sum += x;
        to->error += error;
        to->size += cabsl(x);
    }
    to->count++;
}

/* Finishes a number: it is flagged if a mean, min or max has no sample; a sum also if the value may
 * have flags. */
static bool finish(const random_node *node, const random_value *in, const partial *p,
                   random_value *out, int64_t i)
{
    if (!p->count) {
        out->flag[i] = in->may_flag || node->operation != RANDOM_SUM;
        return true;
    }
    long double n = (long double)p->count;
    bool mean = node->operation == RANDOM_MEAN;

    out->at[i] = mean ? p->sum / n : p->sum;
    out->error[i] = (p->error + (n + 4) * p->size) / (mean ? n : 1) + cabsl(out->at[i]);
    return cabsl(out->at[i]) < 1e4L && out->error[i] < 2e4L;
}

static bool evaluate_reduction(const random_tree *tree, random_node *node)
{
    const random_world *world = &tree->world;
    const random_value *in = &tree->node[node->input[0]].value;
    random_value *out = &node->value;
    partial *parts = calloc((size_t)(out->cells * out->elements) + 1, sizeof(*parts));
    bool good = true;

    for (int64_t cell = 0; cell < in->cells; cell++) {
        int64_t index[RANDOM_AXES];
        split(world, in->axes, cell, index);
        int64_t to = cell_at(world, out->axes, 0, index, false);
        for (int e = 0; e < in->elements; e++)
            if (!in->flag[cell * in->elements + e])
                add_sample(node->operation, &parts[to * out->elements + e],
                           in->at[cell * in->elements + e], in->error[cell * in->elements + e]);
    }
    for (int64_t i = 0; i < out->cells * out->elements && good; i++)
        good = finish(node, in, &parts[i], out, i);
    free(parts);
    return good;
}

bool random_node_evaluate(const random_tree *tree, random_node *node)
{
    random_value *out = &node->value;
    bool reduces = node->operation >= RANDOM_SUM;
    bool good = false;

    if (node->inputs)
        out->axes = meeting_axes(tree, node) & ~node->over;
    for (int k = 0; k < node->inputs; k++)
        out->may_flag = out->may_flag || tree->node[node->input[k]].value.may_flag;
    if (allocate(tree, out))
        good = node->operation == RANDOM_MEMBER ? evaluate_member(tree, node)
               : reduces                        ? evaluate_reduction(tree, node)
                                                : evaluate_cells(tree, node);
    for (int a = 0; a < RANDOM_AXES; a++) /* a mean of nothing */
        if (reduces && node->operation != RANDOM_SUM && node->over >> a & 1 && !tree->world.size[a])
            out->may_flag = true;
    if (!good)
        random_value_free(out);
    return good;
}
