#include "graph/fuse.h"

#include "graph/call.h"
#include "graph/neutral.h"
#include "graph/phases.h"

#include <string.h>

/* The part of the result for each factor. Scalars may be anywhere. */
typedef struct {
    grove_fusion *to;
    const grove_place *place;
    const grove_node *kernel;       /* the point, or the phase of both stations */
    bool pair;                      /* ... a phase */
    bool unity;                     /* ... a point in place of no phase: 1 everywhere */
    grove_chain inner[2], outer[2]; /* matrices at both sides, in and out */
    grove_chain inner_scalars[2], outer_scalars[2]; /* of stations */
    grove_chain common;       /* scalars without source and station, outside the sum */
    grove_chain folded;       /* scalars of the source alone: part of the brightness */
    grove_chain matrices;     /* in their order, before they are sorted into parts */
    int middle;               /* number of them left of the brightness */
    grove_operand brightness; /* of the kernel */
    grove_unit unit;          /* taken out of the sum */
    bool failed;
} parts;

static void set_reason(grove_fusion *f, const grove_node *node, const char *text)
{
    if (!f->why)
        f->why =
            node ? grove_arena_format(f->tree->arena, "%s %s", grove_node_shown(node), text) : text;
}

static bool has_source(const parts *p, const grove_factor *f)
{
    return grove_node_has_axis(f->node, p->to->source);
}

static bool is_of_baselines(const grove_factor *f)
{
    return grove_node_varies(f->node, GROVE_AXIS_BASELINE);
}

/* ---- arguments of calls ---- */

typedef struct {
    grove_argument at[GROVE_MAX_INPUTS + 64];
    size_t count;
} call_arguments;

static void give(call_arguments *to, const char *name, grove_operand operand)
{
    if (operand.kind != GROVE_OPERAND_NOTHING && to->count < GROVE_MAX_INPUTS + 64)
        to->at[to->count++] = (grove_argument){.name = name, .operand = operand};
}

static grove_operand number(const parts *p, double re, double im, grove_unit unit)
{
    return grove_chain_number(p->to->tree, re, im, unit, GROVE_PRECISION_RUN, p->place);
}

#define ZERO(...)                                                                                  \
    {                                                                                              \
        .kind = GROVE_LITERAL_NUMBER, .unit = { __VA_ARGS__ }                                      \
    }

/* The vector 0 0 0, of plain numbers or of angles. */
static grove_operand zeros(bool angles)
{
    static const grove_literal numbers[2][3] = {{ZERO(0), ZERO(0), ZERO(0)},
                                                {ZERO(.rad = 1), ZERO(.rad = 1), ZERO(.rad = 1)}};
    static const grove_literal vectors[2] = {
        {.kind = GROVE_LITERAL_LIST, .count = 3, .items = numbers[0]},
        {.kind = GROVE_LITERAL_LIST, .count = 3, .items = numbers[1]}};

    return (grove_operand){.kind = GROVE_OPERAND_LITERAL, .literal = &vectors[angles]};
}

/* ---- the source, or the phase of both stations ---- */

static void take_out(grove_chain *product, int i)
{
    memmove(&product->at[i], &product->at[i + 1],
            (size_t)(product->count - i - 1) * sizeof(product->at[0]));
    product->count--;
}

/* The inverse of a phase is its conjugate. */
static bool is_phase(const parts *p, const grove_factor *f, bool adjoint, char side)
{
    const grove_class *class_ = f->node->class_;

    return class_ && class_->fused && class_->role == GROVE_ROLE_NONE && has_source(p, f) &&
           f->scalar && (f->adjoint != f->inverse) == adjoint && f->side == side;
}

/* K[s,p] and K[s,q]^H of the same phase. */
static bool take_pair(parts *p, grove_chain *product)
{
    for (int i = 0; i < product->count; i++)
        for (int k = 0; k < product->count && is_phase(p, &product->at[i], false, 'p'); k++) {
            if (product->at[k].node != product->at[i].node ||
                !is_phase(p, &product->at[k], true, 'q'))
                continue;
            p->kernel = product->at[i].node;
            p->pair = true;
            take_out(product, i > k ? i : k);
            take_out(product, i > k ? k : i);
            return true;
        }
    return false;
}

/* Terms of stations alone, without a known phase: the sum of a source at the phase centre, used
 * only because its phase is 1. */
static bool make_unity(parts *p, const grove_chain *product)
{
    const grove_class *class_ = grove_tree_operator(p->to->tree, GROVE_ROLE_SOURCE);
    const grove_axis *axes[2] = {p->to->source, NULL};
    call_arguments to = {.count = 0};

    for (int i = 0; i < product->count && !axes[1]; i++)
        if (!grove_node_axes_of_kind(product->at[i].node, GROVE_AXIS_STATION, &axes[1], 1))
            grove_node_axes_of_kind(product->at[i].node, GROVE_AXIS_BASELINE, &axes[1], 1);
    give(&to, "brightness", number(p, 1, 0, GROVE_UNIT_FLUX));
    give(&to, "lmn", zeros(false));
    give(&to, "shape", zeros(true));
    p->kernel = grove_phases_call(p->to->tree, class_, axes, to.at, to.count, p->place);
    p->unity = p->kernel != NULL;
    return p->unity;
}

/* Takes the source out of the product; its place among the matrices, or -1: anywhere. */
static int take_kernel(parts *p, grove_chain *product)
{
    int found = -1, matrices = 0, middle = -1;

    for (int i = 0; i < product->count; i++) {
        const grove_factor *f = &product->at[i];
        if (grove_node_has_role(f->node, GROVE_ROLE_SOURCE) && has_source(p, f)) {
            if (found >= 0)
                set_reason(
                    p->to, NULL,
                    "the product has more than one point(...), or phase of a baseline; a sum can "
                    "have only one of them");
            if (f->adjoint || f->inverse)
                set_reason(p->to, f->node, "is conjugated or inverted; do it to the whole sum");
            found = i;
            middle = f->scalar ? -1 : matrices;
        }
        matrices += !f->scalar;
    }
    if (found >= 0) {
        p->kernel = product->at[found].node;
        p->unity = product->at[found].unity;
        take_out(product, found);
    } else if (!take_pair(p, product) && !make_unity(p, product)) {
        set_reason(p->to, NULL,
                   "there is no point(...) in the product, nor the phase(...) of both stations, "
                   "K[s,p] and K[s,q]^H");
    }
    return middle;
}

/* ---- which factor goes where ---- */

static void place_scalar(parts *p, const grove_factor *f)
{
    bool station = f->side == 'p' || f->side == 'q', source = has_source(p, f);
    int side = f->side == 'q';

    if (!source)
        grove_chain_add(station ? &p->outer_scalars[side] : &p->common, f);
    else if (is_of_baselines(f))
        set_reason(
            p->to, f->node,
            "varies with source and baseline; inside the sum write factors of stations, as "
            "c[s,p] * c[s,q] or exp(1i * (a[s,p] - a[s,q])), phases as K[s,p] = phase(S, obs), "
            "Gaussians and smearing as options of point(S, obs)");
    else if (station || grove_node_has_parm(f->node))
        grove_chain_add(&p->inner_scalars[side], f);
    else
        grove_chain_add(&p->folded, f);
}

/* Scalars and matrices that may be flagged must not be inside. */
static void check_inner(parts *p, const grove_factor *f, char side)
{
    if (is_of_baselines(f))
        set_reason(
            p->to, f->node,
            "varies with baseline and is between terms of sources; write it outside the sum, or "
            "as terms of stations");
    else if (grove_node_may_be_flagged(f->node))
        set_reason(
            p->to, f->node,
            "may have flags, and a sum leaves out flagged samples; write it outside the sum");
    else if (!f->scalar && f->side && f->side != side)
        set_reason(p->to, f->node,
                   side == 'p' ? "has index q but is left of the brightness; write [p] there"
                               : "has index p but is right of the brightness; write [q] there");
}

/* Whether a matrix next to the brightness is a part of it. */
static bool is_of_source(const grove_factor *f)
{
    return !f->side && !is_of_baselines(f) && !grove_node_has_parm(f->node) &&
           !grove_node_may_be_flagged(f->node);
}

/* The matrix before which a brightness is put if it may be anywhere. */
static int find_middle(const grove_chain *matrices)
{
    int at = 0;

    while (at < matrices->count && matrices->at[at].side != 'q')
        at++;
    return at;
}

static grove_operand multiply(parts *p, grove_operand a, grove_operand b)
{
    return grove_chain_multiply(a, b, p->place, &p->failed);
}

static grove_operand make(parts *p, const grove_chain *product, bool from_left)
{
    return grove_chain_make(product, from_left, p->place, &p->failed);
}

/* The kernel's own brightness, as it was given to it. */
static grove_operand own_brightness(const parts *p)
{
    int k = p->pair || p->unity ? -1 : grove_node_input(p->kernel, "brightness");
    grove_operand none = {0};

    if (k < 0 || !p->kernel->inputs[k].node)
        return none;
    return (grove_operand){.kind = GROVE_OPERAND_NODE,
                           .node = grove_node_behind_casts(p->kernel->inputs[k].node),
                           .role = p->kernel->inputs[k].side};
}

/* Multiplies the brightness by scalars and matrices of the source alone: matrices [low, high), some
 * of them left of it. */
static void make_brightness(parts *p, int low, int high)
{
    grove_chain left = {.count = 0}, right = {.count = 0};

    for (int i = low; i < high; i++)
        grove_chain_add(i < p->middle ? &left : &right, &p->matrices.at[i]);
    grove_chain_sort(&p->folded);
    p->brightness = own_brightness(p);
    p->brightness = multiply(p, make(p, &left, true), p->brightness);
    p->brightness = multiply(p, p->brightness, make(p, &right, true));
    p->brightness = multiply(p, make(p, &p->folded, true), p->brightness);
}

/* Sorts matrices into parts: matrices without source at both ends leave the sum, matrices next to
 * the brightness become part of it. */
static void place_matrices(parts *p)
{
    const grove_chain *m = &p->matrices;
    int first = 0, last = m->count, low = p->middle, high = p->middle;
    bool folds = p->pair || p->unity || own_brightness(p).kind == GROVE_OPERAND_NODE;

    while (first < p->middle && !has_source(p, &m->at[first]))
        grove_chain_add(&p->outer[0], &m->at[first++]);
    while (last > p->middle && !has_source(p, &m->at[last - 1]))
        last--;
    for (int i = last; i < m->count; i++)
        grove_chain_add(&p->outer[1], &m->at[i]);
    while (folds && low > first && is_of_source(&m->at[low - 1]))
        low--;
    while (folds && high < last && is_of_source(&m->at[high]))
        high++;
    for (int i = first; i < low; i++) {
        check_inner(p, &m->at[i], 'p');
        grove_chain_add(&p->inner[0], &m->at[i]);
    }
    for (int i = high; i < last; i++) {
        check_inner(p, &m->at[i], 'q');
        grove_chain_add(&p->inner[1], &m->at[i]);
    }
    if (!folds)
        for (int i = 0; i < p->folded.count; i++)
            grove_chain_add(&p->inner_scalars[0], &p->folded.at[i]);
    else if (!p->to->why)
        make_brightness(p, low, high);
}

static void swap(grove_chain *product, int i, int k)
{
    grove_factor kept = product->at[i];

    product->at[i] = product->at[k];
    product->at[k] = kept;
}

/* Joins scalars and matrices of a side, from outside to inside: scalars with parms, so that fitted
 * values are outermost, then matrices, then the other scalars. Both sides get the same order. */
static void join(grove_chain *matrices, grove_chain *scalars, bool right)
{
    grove_chain all = {.count = 0};

    grove_chain_sort(scalars);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < scalars->count; i++) {
            const grove_factor *f = &scalars->at[right ? scalars->count - 1 - i : i];
            if (grove_node_has_parm(f->node) == (right ? pass : !pass))
                grove_chain_add(&all, f);
        }
        for (int i = 0; i < matrices->count && !pass; i++)
            grove_chain_add(&all, &matrices->at[i]);
    }
    *matrices = all;
}

/* Whether factor `inner` can change places with `outer`, one step further from the brightness, so
 * that a value without the source comes to where it can leave the sum. */
static bool may_leave(const parts *p, int inner, int outer)
{
    const grove_factor *a = &p->matrices.at[inner], *b = &p->matrices.at[outer];

    return a->node->form.shape == GROVE_DIAGONAL && b->node->form.shape == GROVE_DIAGONAL &&
           !has_source(p, a) && has_source(p, b);
}

/* Diagonal matrices can be multiplied in any order: those without the source go outside. */
static void sort_diagonals(parts *p)
{
    for (int i = 1; i < p->middle; i++)
        for (int k = i; k > 0 && may_leave(p, k, k - 1); k--)
            swap(&p->matrices, k, k - 1);
    for (int i = p->matrices.count - 2; i >= p->middle; i--)
        for (int k = i; k + 1 < p->matrices.count && may_leave(p, k, k + 1); k++)
            swap(&p->matrices, k, k + 1);
}

static void split(parts *p, const grove_chain *chain)
{
    grove_chain product = *chain;
    int middle = take_kernel(p, &product);

    for (int i = 0; i < product.count && !p->to->why; i++)
        if (product.at[i].scalar)
            place_scalar(p, &product.at[i]);
        else
            grove_chain_add(&p->matrices, &product.at[i]);
    p->middle = middle < 0 ? find_middle(&p->matrices) : middle;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < p->inner_scalars[side].count; i++)
            check_inner(p, &p->inner_scalars[side].at[i], 0);
    for (int i = 0; i < p->folded.count; i++)
        check_inner(p, &p->folded.at[i], 0);
    if (!p->to->why) {
        sort_diagonals(p);
        place_matrices(p);
    }
    for (int side = 0; side < 2; side++) {
        join(&p->inner[side], &p->inner_scalars[side], side);
        join(&p->outer[side], &p->outer_scalars[side], side);
    }
}

/* ---- the call ---- */

static grove_operand operand_of(grove_edge edge)
{
    return (grove_operand){
        .kind = GROVE_OPERAND_NODE, .node = grove_node_behind_casts(edge.node), .role = edge.side};
}

/* A value in the requested unit; the factor between the units leaves the sum. */
static grove_operand in_unit(parts *p, grove_operand x, grove_unit unit)
{
    if (x.kind != GROVE_OPERAND_NODE || grove_unit_equal(x.node->form.unit, unit))
        return x;
    grove_unit change = grove_unit_divide(unit, x.node->form.unit);
    p->unit = grove_unit_divide(p->unit, change);
    return multiply(p, number(p, 1, 0, change), x);
}

/* Inputs and options of the kernel that the other class has, too. */
static void give_own(const parts *p, const grove_class *predict, call_arguments *to)
{
    const grove_node *kernel = p->kernel;
    const grove_class *class_ = kernel->class_;

    for (int i = 0; class_->inputs && class_->inputs[i].name; i++)
        if (kernel->objects[i])
            give(to, class_->inputs[i].name,
                 (grove_operand){.kind = GROVE_OPERAND_NODE, .node = kernel->objects[i]});
    for (int k = 0; k < kernel->input_count; k++)
        if (kernel->inputs[k].node && grove_port_named(predict, kernel->input_names[k]) &&
            (p->pair || strcmp(kernel->input_names[k], "brightness") != 0 ||
             p->brightness.kind == GROVE_OPERAND_NOTHING))
            give(to, kernel->input_names[k], operand_of(kernel->inputs[k]));
    for (int i = 0; class_->options && class_->options[i].name; i++)
        if (!grove_kind_is_value(class_->options[i].kind))
            give(to, class_->options[i].name,
                 (grove_operand){.kind = GROVE_OPERAND_LITERAL,
                                 .literal = kernel->options[i].value});
}

/* Coordinates of baselines from the phase's stations; without shapes. */
static void give_geometry(parts *p, call_arguments *to)
{
    int k = grove_node_input(p->kernel, "station_uvw");
    grove_operand uvw, both[2] = {{0}};

    p->failed = p->failed || k < 0 || !p->kernel->inputs[k].node;
    for (int i = 0; i < 2 && !p->failed; i++) {
        both[i] = operand_of(p->kernel->inputs[k]);
        both[i].role = i ? 'q' : 'p';
    }
    uvw = grove_chain_call(GROVE_ROLE_DIFFERENCE, both[0], both[1], p->place, &p->failed);
    give(to, "uvw", uvw);
    give(to, "uvw_left", both[0]);
    give(to, "uvw_right", both[1]);
    give(to, "shape", zeros(true));
}

static grove_operand make_predict(parts *p, const grove_class *predict)
{
    const grove_place *place = p->place;
    grove_operand left = make(p, &p->inner[0], false);
    grove_operand right = grove_chain_make_right(&p->inner[1], false, place, &p->failed);
    call_arguments to = {.count = 0};

    if ((p->pair || p->unity) && p->brightness.kind == GROVE_OPERAND_NOTHING)
        p->brightness = number(p, 1, 0, GROVE_UNIT_NONE);
    if (p->failed)
        return (grove_operand){0};
    p->brightness = in_unit(p, p->brightness, GROVE_UNIT_FLUX);
    left = in_unit(p, left, GROVE_UNIT_NONE);
    right = in_unit(p, right, GROVE_UNIT_NONE);
    give_own(p, predict, &to);
    give(&to, "brightness", p->brightness);
    if (p->pair)
        give_geometry(p, &to);
    give(&to, "left", left);
    give(&to, "right", right);
    if (p->failed)
        return (grove_operand){0};
    return grove_tree_call(p->to->tree, predict, NULL, place, to.at, to.count);
}

/* Scalars around the sum, then the terms of both stations. */
static grove_operand apply_outer(parts *p, const grove_chain *product, grove_operand result)
{
    const double *c = product->constant;

    if (c[0] != 1 || c[1] != 0 || !grove_unit_is_none(p->unit))
        result = multiply(p, number(p, c[0], c[1], p->unit), result);
    grove_chain_sort(&p->common);
    result = multiply(p, make(p, &p->common, true), result);
    result = multiply(p, make(p, &p->outer[0], true), result);
    return multiply(p, result, grove_chain_make_right(&p->outer[1], true, p->place, &p->failed));
}

static const grove_class *find_class(grove_fusion *f, const grove_node *kernel)
{
    const char *name = kernel->class_->fused;
    const grove_class *found =
        f->tree->classes ? grove_classes_find(f->tree->classes, name, f->tree->error) : NULL;

    if (!found)
        f->why = grove_arena_format(f->tree->arena, "there is no class %s", name);
    return found;
}

grove_node *grove_fuse(grove_fusion *f, const grove_chain *product)
{
    parts p = {.to = f, .place = &f->sum->place};
    const grove_class *predict = NULL;
    grove_operand result = {0};

    if (product->too_many)
        set_reason(f, NULL, "the product has too many factors");
    if (!f->why)
        split(&p, product);
    if (!f->why)
        predict = find_class(f, p.kernel);
    if (f->why)
        return NULL;
    result = make_predict(&p, predict);
    grove_node *fused = result.node;
    if (result.kind == GROVE_OPERAND_NODE)
        result = apply_outer(&p, product, result);
    if (p.failed || result.kind != GROVE_OPERAND_NODE) {
        f->why = grove_error_count(f->tree->error) ? grove_error_message(f->tree->error, 0)
                                                   : "its factors do not fit together";
        f->why = grove_arena_text(f->tree->arena, f->why);
        return NULL;
    }
    fused->fused =
        grove_arena_format(f->tree->arena, "fused from the sum over %s", f->source->name);
    return result.node;
}
