#include "graph/terms.h"

#include "base/memory.h"
#include "base/text.h"
#include "graph/call.h"
#include "graph/chain.h"
#include "graph/neutral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_P = 1, AT_Q = 2, AT_NONE = 4 };

/* Of each node by its id. */
typedef struct {
    grove_tree *tree;
    unsigned char *reached;    /* as p's, as q's, or without a station */
    const grove_edge **edge;   /* where it was first gathered to baselines, ... */
    const grove_place **place; /* ... and the place of that */
    bool *seen, *reported;
} checking;

/* ---- terms of one station ---- */

/* The first input that varies with station, or NULL. */
static const grove_node *station_input(const grove_node *node)
{
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && grove_node_varies(node->inputs[k].node, GROVE_AXIS_STATION))
            return node->inputs[k].node;
    return NULL;
}

/* The nearest value that has a name in the text. */
static const grove_node *term_of(const grove_edge *edge)
{
    const grove_node *node = edge->node;

    while ((node->kind == GROVE_NODE_CAST || node->auto_named) && station_input(node))
        node = station_input(node);
    return node;
}

static void reach_inputs(checking *c, const grove_node *node)
{
    for (int k = 0; k < node->input_count; k++) {
        const grove_edge *edge = &node->inputs[k];
        const bool sided = edge->node && edge->side;
        if (!edge->node)
            continue;
        if (!c->reached[edge->node->id]) {
            c->edge[edge->node->id] = sided ? edge : c->edge[node->id];
            c->place[edge->node->id] = sided ? &node->input_places[k] : c->place[node->id];
        }
        c->reached[edge->node->id] |= !sided              ? c->reached[node->id]
                                      : edge->side == 'p' ? AT_P
                                                          : AT_Q;
    }
}

/* Every value that varies with the station must be reached as p's and as q's, in any way. */
static void check_one_sided(checking *c, const grove_node *action, int input)
{
    const grove_node *in = action->inputs[input].node;

    memset(c->reached, 0, c->tree->node_count);
    if (in)
        c->reached[in->id] = AT_NONE;
    for (int i = in ? in->id : -1; i >= 0; i--) /* inputs come before their users */
        if (c->reached[i])
            reach_inputs(c, c->tree->nodes[i]);
    for (int i = 0; in && i < in->id; i++) {
        if ((c->reached[i] != AT_P && c->reached[i] != AT_Q) ||
            !grove_node_varies(c->tree->nodes[i], GROVE_AXIS_STATION) ||
            station_input(c->tree->nodes[i]))
            continue;
        const grove_node *term = term_of(c->edge[i]);
        if (c->reported[term->id])
            continue;
        c->reported[term->id] = true;
        grove_warn_at(c->tree->error, c->place[i],
                      "%s: '%s' is used for station %s only; visibilities have terms of both "
                      "stations, as in J[p] * M[p,q] * J[q]^H",
                      action->class_->name, term->name, c->reached[i] == AT_P ? "p" : "q");
    }
}

/* ---- products ---- */

/* Whether it is no product, however that is written, of other values. */
static bool is_whole(void *context, const grove_node *node)
{
    static const grove_role roles[] = {
        GROVE_ROLE_PRODUCT,   GROVE_ROLE_NEGATIVE,  GROVE_ROLE_QUOTIENT, GROVE_ROLE_INVERSE,
        GROVE_ROLE_HERMITIAN, GROVE_ROLE_TRANSPOSE, GROVE_ROLE_CONJUGATE};

    (void)context;
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (grove_node_has_role(node, roles[i]))
            return false;
    return true;
}

static void warn(checking *c, const grove_node *term, const grove_node *user, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* Once of each term. */
static void warn(checking *c, const grove_node *term, const grove_node *user, const char *format,
                 ...)
{
    grove_text text = {0};
    va_list args;

    if (c->reported[term->id])
        return;
    c->reported[term->id] = true;
    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_warn_at(c->tree->error, &user->place, "%s: %s", user->class_->name, text.at);
    free(text.at);
}

static const char *shown(const checking *c, const grove_factor *factor, bool other)
{
    bool q = (factor->side == 'q') != other;

    return grove_arena_format(c->tree->arena, "%s[%c]%s%s", factor->node->name, q ? 'q' : 'p',
                              factor->inverse ? "^-1" : "", factor->adjoint != other ? "^H" : "");
}

/* The property "NAME(MEMBER)" of its leaf, or NULL. */
static const char *property_of(const grove_node *node, const char *property)
{
    char *name;
    const char *text;

    if (node->kind != GROVE_NODE_MEMBER)
        return NULL;
    name = grove_format("%s(%s)", property, node->leaf->members[node->member].name);
    text = grove_node_property(node->leaf, name);
    free(name);
    return text;
}

static bool is_complex(const grove_edge *edge)
{
    return edge->node && edge->node->form.complex_;
}

/* Whether it is known to have amplitudes, and not phases alone: a real term (but no matrix, which
 * may be a rotation), a parm that is a complex number, solutions with amplitudes. */
static bool has_amplitude(const grove_node *node)
{
    static const grove_role roles[] = {GROVE_ROLE_SCALAR, GROVE_ROLE_DIAGONAL, GROVE_ROLE_MATRIX};
    bool has = grove_node_has_role(node, GROVE_ROLE_PARM) || property_of(node, "amplitude");

    if (!node->form.complex_)
        return node->form.shape != GROVE_MATRIX;
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        for (int k = 0; grove_node_has_role(node, roles[i]) && k < node->input_count; k++)
            has = has || (is_complex(&node->inputs[k]) &&
                          has_amplitude(grove_node_behind_casts(node->inputs[k].node)));
    return has;
}

/* The phases of a term of both stations are a baseline's where one is conjugated, or, of a phase,
 * inverted: g_p M g_q^H, and not g_p M g_q. Amplitudes are in both or out of both. */
static void check_adjoints(checking *c, const grove_chain *product, const grove_node *user)
{
    bool visibilities = false;

    for (int i = 0; i < product->count; i++)
        visibilities = visibilities || grove_node_varies(product->at[i].node, GROVE_AXIS_BASELINE);
    for (int i = 0; i < product->count; i++) {
        const grove_factor *first = &product->at[i], *last = NULL;
        int signs[2] = {0, 0}, powers[2] = {0, 0};
        bool phase = grove_factor_adjoint(&(grove_factor){.node = first->node});
        if (!first->side)
            continue;
        for (int k = 0; k < product->count; k++) {
            const grove_factor *at = &product->at[k];
            if (at->node != first->node || !at->side)
                continue;
            signs[at->side == 'q'] += at->adjoint != at->inverse ? -1 : 1;
            powers[at->side == 'q'] += at->inverse ? -1 : 1;
            last = at->side != first->side ? at : last;
        }
        if (last && ((phase && signs[0] * signs[1] > 0) ||
                     (visibilities && powers[0] * powers[1] < 0 && has_amplitude(first->node))))
            warn(c, first->node, user,
                 "%s is on one side and %s on the other; the term of the other station is written "
                 "%s",
                 shown(c, first, false), shown(c, last, false), shown(c, first, true));
    }
}

static int place_of(const grove_chain *product, const grove_node *node, char side)
{
    for (int i = 0; i < product->count; i++)
        if (product->at[i].node == node && product->at[i].side == side)
            return i;
    return -1;
}

/* Terms that may change their places without changing the product. */
static bool commute(const grove_node *a, const grove_node *b)
{
    return a->form.shape == GROVE_SCALAR || b->form.shape == GROVE_SCALAR ||
           (a->form.shape == GROVE_DIAGONAL && b->form.shape == GROVE_DIAGONAL);
}

/* (A_q B_q)^H is B_q^H A_q^H. */
static void check_order(checking *c, const grove_chain *product, const grove_node *user)
{
    for (int i = 0; i < product->count; i++)
        for (int k = i + 1; k < product->count; k++) {
            const grove_factor *a = &product->at[i], *b = &product->at[k];
            int first = place_of(product, a->node, 'q'), second = place_of(product, b->node, 'q');
            if (a->side == 'p' && b->side == 'p' && first >= 0 && second > first &&
                !commute(a->node, b->node))
                warn(c, a->node, user,
                     "%s * %s are on the left, %s * %s on the right; the hermitian of a product "
                     "has its terms in reverse order",
                     shown(c, a, false), shown(c, b, false), shown(c, &product->at[first], false),
                     shown(c, &product->at[second], false));
        }
}

/* ---- parms ---- */

/* A parm that this depends on: any, or `like`; or NULL. */
static const grove_node *find_parm(checking *c, const grove_node *node, const grove_node *like)
{
    memset(c->reached, 0, c->tree->node_count);
    c->reached[node->id] = 1;
    for (int i = node->id; i >= 0; i--) { /* inputs come before their users */
        const grove_node *at = c->tree->nodes[i];
        const grove_node *parm = c->reached[i] ? grove_node_fitted_parm(at) : NULL;
        if (parm && (!like || parm == like))
            return parm;
        for (int k = 0; c->reached[i] && k < at->input_count; k++)
            if (at->inputs[k].node)
                c->reached[at->inputs[k].node->id] = 1;
    }
    return NULL;
}

/* A Jones term, or a phase or gain, that all stations share. */
static const grove_node *shared_parm(checking *c, const grove_factor *factor,
                                     const grove_node *like)
{
    const grove_node *node = factor->node;
    bool number = node->form.shape == GROVE_SCALAR && !node->form.complex_;

    if (number || grove_node_varies(node, GROVE_AXIS_STATION) ||
        grove_node_varies(node, GROVE_AXIS_BASELINE))
        return NULL;
    return find_parm(c, node, like);
}

static void check_parms(checking *c, const grove_chain *product, const grove_node *user)
{
    for (int i = 0; i < product->count; i++) {
        const grove_node *parm = shared_parm(c, &product->at[i], NULL);
        bool again = false;
        for (int k = i + 1; k < product->count && parm; k++)
            again = again || shared_parm(c, &product->at[k], parm);
        const char *name = again ? grove_node_property(parm, "name") : NULL;
        if (name)
            warn(c, parm, user,
                 "the parm '%s' is in this product twice and is the same for all stations; %s[p] = "
                 "parm(...) makes one for each station, written %s[p] and %s[q]^H",
                 name, name, name, name);
    }
}

/* A complex term at p plus, or minus, that at q changes to its adjoint with the stations in neither
 * way that baselines do. */
static void check_sum(checking *c, const grove_node *node)
{
    const grove_edge *a = &node->inputs[0], *b = &node->inputs[1];
    const bool sum = grove_node_has_role(node, GROVE_ROLE_SUM);

    if ((sum || grove_node_has_role(node, GROVE_ROLE_DIFFERENCE)) && a->side && b->side &&
        a->side != b->side && a->node == b->node && is_complex(a))
        warn(c, a->node, node,
             "%s[%c] %c %s[%c] adds complex terms of two stations; visibilities are multiplied by "
             "them, as in %s[p] * M[p,q] * %s[q]^H",
             a->node->name, a->side, sum ? '+' : '-', a->node->name, b->side, a->node->name,
             a->node->name);
}

/* ---- angles ---- */

/* A whole number of more than a turn, in radians, is one in degrees whose unit was forgotten. */
static void check_angle(checking *c, const grove_node *node)
{
    const bool phase = grove_node_has_role(node, GROVE_ROLE_EXPONENTIAL);

    if (!phase && !grove_node_has_role(node, GROVE_ROLE_COSINE) &&
        !grove_node_has_role(node, GROVE_ROLE_SINE))
        return;
    const grove_node *in = grove_node_behind_casts(node->inputs[0].node);
    if (in->kind != GROVE_NODE_CONSTANT || !grove_unit_is_none(in->constant->unit))
        return;
    const double angle = phase ? in->constant->imaginary : in->constant->number;
    if (fabs(angle) > 2 * M_PI && angle == rint(angle))
        warn(c, in, node, "the angle %g is in radians; degrees are written %gdeg", angle, angle);
}

/* ---- inputs of actions ---- */

static void check_value(checking *c, const grove_edge *edge)
{
    grove_node *node = edge->node ? grove_node_behind_casts(edge->node) : NULL;
    grove_chain product = {.constant = {1, 0}};

    if (!node || edge->side || c->seen[node->id])
        return;
    c->seen[node->id] = true;
    check_sum(c, node);
    if (is_whole(NULL, node)) {
        for (int k = 0; k < node->input_count; k++)
            check_value(c, &node->inputs[k]);
        return;
    }
    if (!grove_node_varies(node, GROVE_AXIS_BASELINE))
        return;
    grove_chain_open_but(&product, NULL, (grove_edge){.node = node}, NULL, is_whole, NULL);
    if (product.too_many)
        return;
    check_adjoints(c, &product, node);
    check_order(c, &product, node);
    check_parms(c, &product, node);
    for (int i = 0; i < product.count; i++)
        if (!product.at[i].side)
            check_value(c, &(grove_edge){.node = product.at[i].node});
}

/* A model that has the data as a factor is fitted by unity. */
static void check_model(checking *c, const grove_node *action)
{
    grove_edge *model = &action->inputs[action->fit->model];
    grove_chain product = {.constant = {1, 0}};

    grove_chain_open_but(&product, NULL, *model, NULL, is_whole, NULL);
    for (int k = 0; k < action->input_count; k++) {
        const grove_node *data = action->inputs[k].node;
        data = data ? grove_node_behind_casts(action->inputs[k].node) : NULL;
        const char *part = data && k != action->fit->model ? property_of(data, "part") : NULL;
        for (int i = 0; i < product.count && part; i++) {
            const grove_node *factor = product.at[i].node;
            if (factor->leaf == data->leaf && grove_equal(property_of(factor, "part"), part))
                warn(c, factor, action,
                     "its model contains the data that it is fitted to, %s of '%s'; use the model "
                     "of a sky, or a column with a model",
                     part, grove_node_name(data->leaf));
        }
    }
}

/* ---- images ---- */

/* A real factor that changes with frequency, but not with station or baseline. */
static bool has_spectrum(const grove_edge *edge)
{
    const grove_node *node = edge->node ? grove_node_behind_casts(edge->node) : NULL;

    if (!node || !grove_node_varies(node, GROVE_AXIS_FREQ))
        return false;
    if (grove_node_has_role(node, GROVE_ROLE_PRODUCT) ||
        grove_node_has_role(node, GROVE_ROLE_QUOTIENT))
        return has_spectrum(&node->inputs[0]) || has_spectrum(&node->inputs[1]);
    return node->form.shape == GROVE_SCALAR && !node->form.complex_ &&
           !grove_node_varies(node, GROVE_AXIS_STATION) &&
           !grove_node_varies(node, GROVE_AXIS_BASELINE);
}

/* Images whose fluxes become visibilities at other frequencies than their own, without a spectrum
 * that they are multiplied by on the way. */
static void check_images(checking *c, const grove_node *action)
{
    enum { REACHED = 1, AS_VISIBILITIES = 2 };

    memset(c->reached, 0, c->tree->node_count);
    c->reached[action->id] = REACHED;
    for (int i = action->id; i >= 0; i--) { /* inputs come before their users */
        const grove_node *node = c->tree->nodes[i];
        const bool product = grove_node_has_role(node, GROVE_ROLE_PRODUCT) ||
                             grove_node_has_role(node, GROVE_ROLE_QUOTIENT);
        const char *far = c->reached[i] & AS_VISIBILITIES ? property_of(node, "far") : NULL;
        if (c->reached[i] && grove_node_varies(node, GROVE_AXIS_BASELINE))
            c->reached[i] |= AS_VISIBILITIES;
        if (far && !c->reported[node->id]) {
            c->reported[node->id] = true;
            grove_warn_at(c->tree->error, &node->leaf->place, "%s: %s", node->leaf->class_->name,
                          far);
        }
        for (int k = 0; k < node->input_count && c->reached[i]; k++)
            if (node->inputs[k].node && !(product && has_spectrum(&node->inputs[!k])))
                c->reached[node->inputs[k].node->id] |= c->reached[i];
    }
}

void grove_tree_check_terms(grove_tree *tree)
{
    size_t count = tree->node_count + 1;
    checking c = {.tree = tree,
                  .reached = grove_alloc(count),
                  .edge = grove_alloc(count * sizeof(grove_edge *)),
                  .place = grove_alloc(count * sizeof(grove_place *)),
                  .seen = grove_alloc(count * sizeof(bool)),
                  .reported = grove_alloc(count * sizeof(bool))};

    for (size_t i = 0; i < tree->node_count; i++)
        check_angle(&c, tree->nodes[i]);
    for (size_t i = 0; i < tree->action_count; i++) {
        const grove_node *action = tree->actions[i];
        if (!action->target && !action->class_->action->commit && !grove_node_drives(action))
            continue;
        for (int k = 0; k < action->input_count; k++) {
            check_one_sided(&c, action, k);
            check_value(&c, &action->inputs[k]);
        }
        check_images(&c, action);
        if (action->fit)
            check_model(&c, action);
    }
    free(c.reached);
    free(c.edge);
    free(c.place);
    free(c.seen);
    free(c.reported);
}
