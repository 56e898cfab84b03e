/* The check of derivatives: by each input, against differences of the value itself. */
#include "conformance/conformance.h"

#include "base/text.h"
#include "graph/derivative.h"
#include "graph/neutral.h"
#include "run/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest relative difference of norms from differences. */
#define TOLERANCE 1e-6
/* ... and from 0, relative to the value: the rounding of differences over 1e-7. */
#define ROUNDING 1e-8

/* A node whose input k is x (1 + t), and its derivative with respect to t, which is 0. */
typedef struct {
    grove_node *node, *parm;
    grove_derivatives derivatives;
    grove_session *session;
    int64_t count;
    double *value;
    unsigned char *flagged; /* of each number; may be NULL */
} trial;

static grove_operand as_operand(grove_node *node, char role)
{
    return (grove_operand){.kind = GROVE_OPERAND_NODE, .node = node, .role = role};
}

static grove_operand operate(grove_tree *tree, grove_role role, grove_operand a, grove_operand b)
{
    const grove_class *class_ = grove_tree_operator(tree, role);
    grove_argument arguments[2] = {{.operand = a}, {.operand = b}};

    if (!class_ || !a.kind || !b.kind)
        return (grove_operand){0};
    return grove_tree_call(tree, class_, NULL, NULL, arguments, 2);
}

/* The parm t: a number, complex where x is, with another name then, since both may be in a tree. */
static grove_node *make_parm(grove_tree *tree, bool complex_)
{
    static const grove_literal real_name = {.kind = GROVE_LITERAL_TEXT, .text = "t"};
    static const grove_literal complex_name = {.kind = GROVE_LITERAL_TEXT, .text = "complex t"};
    static const grove_literal zero = {.kind = GROVE_LITERAL_NUMBER};
    static const grove_literal step = {.kind = GROVE_LITERAL_NUMBER, .number = 0.01};
    static const grove_literal none = {.kind = GROVE_LITERAL_LIST};
    const grove_literal truth = {.kind = GROVE_LITERAL_BOOL, .truth = complex_};
    const grove_class *class_ = grove_classes_find(tree->classes, "test_parm", NULL);
    const grove_literal *literals[] = {complex_ ? &complex_name : &real_name, &zero, &step, &none,
                                       grove_arena_copy(tree->arena, &truth, sizeof(truth))};
    static const char *const names[] = {"name", "init", "step", "axes", "complex"};
    grove_argument arguments[5] = {{0}};

    for (int i = 0; i < 5; i++) {
        arguments[i].name = names[i];
        arguments[i].operand.kind = GROVE_OPERAND_LITERAL;
        arguments[i].operand.literal = literals[i];
    }
    return class_ ? grove_tree_call(tree, class_, NULL, NULL, arguments, 5).node : NULL;
}

/* False: it cannot be made so, or there is nothing to test. */
static bool make(trial *t, grove_tree *tree, const grove_node *node, int k)
{
    grove_node *x = grove_node_behind_casts(node->inputs[k].node);
    grove_operand others[GROVE_MAX_INPUTS] = {{0}};
    bool complex_ = node->inputs[k].node->form.complex_ && node->handing[k] != GROVE_AS_REAL;

    t->parm = make_parm(tree, complex_);
    if (!t->parm)
        return false;
    grove_operand given = as_operand(x, node->inputs[k].side);
    grove_operand change = operate(tree, GROVE_ROLE_PRODUCT, as_operand(t->parm, 0), given);
    others[k] = operate(tree, GROVE_ROLE_SUM, given, change);
    t->node = others[k].kind ? grove_tree_remake(tree, node, others).node : NULL;
    return t->node && t->node->inputs[k].node;
}

/* The numbers of a value, with real and imaginary part, or NULL. Caller frees. */
static double *numbers_of(const trial *t, grove_node *node, grove_error *error, int64_t *count,
                          unsigned char **flagged)
{
    grove_value *value = grove_fixture_value(t->session, node);
    double *numbers = value ? grove_value_numbers(value, count, error) : NULL;

    if (flagged && value)
        *flagged = grove_value_flagged(value, error);
    grove_value_unref(value);
    return numbers;
}

/* The value with the parm at a number. */
static double *value_at(trial *t, double re, double im, grove_error *error)
{
    grove_probe_change *change = grove_probe_of_parms();
    const grove_node *leaf = grove_node_behind_casts(t->parm->inputs[0].node)->leaf;
    const char *name = grove_node_property(leaf, "name");
    int64_t count;

    *change = (grove_probe_change){.parm = name, .member = "value", .number = {re, im}, .at = -1};
    grove_session_renew(t->session, leaf);
    double *numbers = numbers_of(t, t->node, error, &count, NULL);
    *change = (grove_probe_change){.at = -2};
    grove_session_renew(t->session, leaf);
    return numbers;
}

/* ||a - b|| over good numbers, and ||b||; NaN and infinities of the value itself do not count, nor
 * do places where it is 0 and has no derivative. */
static double distance(const trial *t, const double *a, const double *b, double *norm)
{
    double far = 0, size = 0;

    for (int64_t i = 0; i < 2 * t->count; i++) {
        bool singular = t->value[i] == 0 && !isfinite(a[i]);
        if ((t->flagged && t->flagged[i / 2]) || !isfinite(b[i]) || singular)
            continue;
        far += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    *norm = sqrt(size);
    return sqrt(far);
}

/* [f(h) - f(-h)] / 2h */
static double *difference(trial *t, const double direction[2], double h, grove_error *error)
{
    double *more = value_at(t, h * direction[0], h * direction[1], error);
    double *less = value_at(t, -h * direction[0], -h * direction[1], error);

    for (int64_t i = 0; more && less && i < 2 * t->count; i++)
        more[i] = (more[i] - less[i]) / (2 * h);
    if (!less) {
        free(more);
        more = NULL;
    }
    free(less);
    return more;
}

/* Where the value jumps, or turns, there is no derivative: NaN. False where that is nearly so
 * everywhere, since the step is too wide. */
static bool drop_jumps(const trial *t, const double *wide, double *close)
{
    int64_t dropped = 0;

    for (int64_t i = 0; i < 2 * t->count; i++)
        if (fabs(wide[i] - close[i]) > 0.1 * (fabs(close[i]) + fabs(wide[i]))) {
            close[i] = NAN;
            dropped++;
        }
    return dropped <= t->count / 2;
}

/* Differences over two steps, extrapolated, at the size of steps where both agree best. NULL where
 * they agree nowhere, or with a message. */
static double *best_difference(trial *t, const double direction[2], double *agree,
                               grove_error *error)
{
    double *best = NULL, norm;

    *agree = INFINITY;
    for (double h = 1e-3; h > 1e-8 && *agree > TOLERANCE / 10; h *= 1e-2) {
        double *wide = difference(t, direction, h, error);
        double *close = wide ? difference(t, direction, h / 2, error) : NULL;
        bool smooth = close && drop_jumps(t, wide, close);
        double far = smooth ? distance(t, wide, close, &norm) : INFINITY;
        far = smooth && norm > 0 ? far / norm : far;
        for (int64_t i = 0; close && i < 2 * t->count; i++)
            close[i] += (close[i] - wide[i]) / 3;
        free(wide);
        if (!close || far >= *agree) {
            free(close);
            continue;
        }
        free(best);
        best = close;
        *agree = far;
    }
    return best;
}

/* The change of the value along a direction by the slots' derivatives. */
static double *derivative(trial *t, const double direction[2], grove_error *error)
{
    double *sum = grove_alloc((size_t)(2 * t->count) * sizeof(double) + 1);
    int elements = t->node->form.shape == GROVE_VECTOR ? t->node->form.vector : t->node->form.shape;

    for (size_t s = 0; s < t->derivatives.count; s++) {
        const grove_slot *slot = &t->derivatives.slots[s];
        double re = slot->part == GROVE_PART_IMAGINARY ? direction[1] : direction[0];
        double im = slot->part == GROVE_PART_BOTH             ? direction[1]
                    : slot->part == GROVE_PART_BOTH_CONJUGATE ? -direction[1]
                                                              : 0;
        int64_t count;
        double *d = numbers_of(t, slot->node, error, &count, NULL);
        for (int64_t i = 0; d && i < t->count; i++) {
            int64_t at = grove_slot_cell(slot, t->node, i / elements);
            const double *x = d + 2 * (at * elements + i % elements);
            sum[2 * i] += re * x[0] - im * x[1];
            sum[2 * i + 1] += re * x[1] + im * x[0];
        }
        if (!d) {
            free(sum);
            return NULL;
        }
        free(d);
    }
    return sum;
}

static void compare(grove_conformance *c, trial *t, int k, const double direction[2])
{
    grove_error *error = c->fixture->error;
    double agree, norm, size;
    double *expected = best_difference(t, direction, &agree, error);
    double *found = expected ? derivative(t, direction, error) : NULL;
    bool known = expected || grove_error_count(error);

    if (known && grove_conformance_done(c, found ? 0 : GROVE_INVALID, t->node->name)) {
        double far = distance(t, found, expected, &norm);
        c->made = true;
        distance(t, t->value, t->value, &size);
        bool good = far <= fmax(TOLERANCE, 3 * agree) * norm || far <= ROUNDING * size;
        if (!good)
            grove_conformance_fail(c,
                                   "%s: the derivative by '%s' deviates from differences by %.2g "
                                   "of the norm; at most %g is allowed",
                                   t->node->class_->name, t->node->input_names[k], far / norm,
                                   TOLERANCE);
    }
    free(expected);
    free(found);
}

static void check_input(grove_conformance *c, const grove_node *node, int k)
{
    static const double directions[2][2] = {{1, 0}, {0.6, 0.8}};
    grove_error *error = c->fixture->error;
    trial t = {.node = NULL};
    bool made = make(&t, c->fixture->tree, node, k);

    if (!made && grove_error_count(error))
        grove_conformance_fail(c, "%s: with a parm in '%s' it cannot be made: %s",
                               node->class_->name, node->input_names[k],
                               grove_error_message(error, 0));
    grove_error_clear(error);
    if (!made)
        return;
    int code = grove_tree_derive(c->fixture->tree, t.node, NULL, 0, &t.derivatives, error);
    if (!grove_conformance_done(c, code, node->name))
        return;
    t.session = grove_fixture_session(c->fixture, NULL);
    t.value = t.session ? numbers_of(&t, t.node, error, &t.count, &t.flagged) : NULL;
    if (grove_conformance_done(c, t.value ? 0 : GROVE_INVALID, node->name)) {
        compare(c, &t, k, directions[0]);
        if (t.parm->form.complex_)
            compare(c, &t, k, directions[1]);
    }
    free(t.value);
    free(t.flagged);
    grove_session_free(t.session);
}

/* Whether input k is a selector, or one that the class has added. */
static bool is_selector(const grove_class *class_, int k)
{
    const grove_port *port = grove_port_of_value(class_, k);

    return !port->name || port->linear == GROVE_SELECTOR;
}

void grove_conformance_derivatives(grove_conformance *c)
{
    grove_fixture *fixture = c->fixture;

    if (grove_class_is_data(c->class_) || grove_class_is_action(c->class_) ||
        c->class_->kind == GROVE_CLASS_ACCUMULATOR)
        return;
    grove_probe_register(fixture->classes, fixture->error);
    for (int tree = 0; grove_fixture_next(fixture, c->class_, &tree);)
        for (int n = 0; n < fixture->node_count; n++) {
            const grove_node *node = fixture->nodes[n];
            for (int k = 0; k < node->input_count; k++)
                if (node->inputs[k].node && node->handing[k] != GROVE_AS_FLAGS &&
                    !is_selector(c->class_, k))
                    check_input(c, node, k);
        }
}
