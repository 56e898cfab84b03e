/* The check of linear inputs, by scaling and adding. */
#include "conformance/invocation.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The inputs of a node that are linear together. */
typedef struct {
    int inputs[GROVE_MAX_INPUTS], count;
    grove_linearity kind; /* of all inputs of the group; NOT: they differ */
    bool complex_;        /* all inputs of the group and the result are complex */
} group;

/* In which way the class is linear in value input k (counted as in cell.h), and its group. */
static grove_linearity linearity_of(const grove_class *class_, int k, int *number)
{
    const grove_port *port = grove_port_of_value(class_, k);

    *number = port->group;
    return port->linear == GROVE_SELECTOR ? GROVE_NOT_LINEAR : port->linear;
}

/* The group of input `first`, which is linear. */
static group group_of(const grove_class *class_, const grove_invocation *call, int first)
{
    group g = {.count = 0, .complex_ = call->out.parts == 2};
    int number = 0, other;

    g.kind = linearity_of(class_, first, &number);
    for (int k = 0; k < call->args.inputs; k++) {
        grove_linearity kind = linearity_of(class_, k, &other);
        bool member = k == first || (number && kind && other == number);
        if (!member || !call->in[k].data || call->node->handing[k] == GROVE_AS_FLAGS)
            continue;
        if (kind != g.kind)
            g.kind = GROVE_NOT_LINEAR;
        g.complex_ = g.complex_ && call->in[k].parts == 2;
        g.inputs[g.count++] = k;
    }
    return g;
}

static void set(const grove_invocation_array *a, int64_t i, double number)
{
    if (a->bytes == 8)
        ((double *)a->data)[i] = number;
    else
        ((float *)a->data)[i] = (float)number;
}

static int64_t numbers_of(const grove_invocation_array *a)
{
    return a->cells * a->elements * a->parts;
}

/* Multiplies the numbers by (re + i im); im is 0 for real numbers. */
static void scale(const grove_invocation_array *a, double re, double im)
{
    for (int64_t i = 0; i < numbers_of(a); i += a->parts) {
        double x = grove_invocation_number(a, i);
        double y = a->parts == 2 ? grove_invocation_number(a, i + 1) : 0;
        set(a, i, re * x - im * y);
        if (a->parts == 2)
            set(a, i + 1, re * y + im * x);
    }
}

/* Other numbers of the same kind: half of those at the opposite end of the array. */
static void *others(const grove_invocation_array *a)
{
    void *data = grove_alloc((size_t)numbers_of(a) * (size_t)a->bytes + 1);
    grove_invocation_array b = *a;
    int64_t count = numbers_of(a);

    b.data = data;
    for (int64_t i = 0; i < count; i++)
        set(&b, i, 0.5 * grove_invocation_number(a, count - 1 - i));
    return data;
}

static void add(const grove_invocation_array *a, const void *data)
{
    grove_invocation_array b = *a;

    b.data = (void *)(uintptr_t)data;
    for (int64_t i = 0; i < numbers_of(a); i++)
        set(a, i, grove_invocation_number(a, i) + grove_invocation_number(&b, i));
}

/* ||a - b|| / ||b|| */
static double distance(const grove_invocation_array *a, const void *data)
{
    grove_invocation_array b = *a;
    long double difference = 0, size = 0;

    b.data = (void *)(uintptr_t)data;
    for (int64_t i = 0; i < numbers_of(a); i++) {
        long double x = grove_invocation_number(a, i), y = grove_invocation_number(&b, i);
        difference += (x - y) * (x - y);
        size += y * y;
    }
    return (double)sqrtl(size > 0 ? difference / size : difference);
}

static void compare(grove_conformance *c, const grove_invocation *call, const group *g,
                    const void *expected, const char *subject)
{
    double error = distance(&call->out, expected);

    if (!(error <= GROVE_CONFORMANCE_DOUBLE))
        grove_conformance_fail(c,
                               "%s: %s deviates by %.2g of the norm from its declaration for "
                               "'%s'%s; at most %g is allowed",
                               call->node->name, subject, error,
                               call->node->input_names[g->inputs[0]],
                               g->count > 1 ? " and its group" : "", GROVE_CONFORMANCE_DOUBLE);
}

/* Compares f(c x) with c f(x), or conj(c) f(x). */
static int check_scaling(grove_conformance *c, grove_invocation *call, const group *g,
                         void *const *x, const void *f)
{
    bool complex_factor = g->complex_ && (g->kind == GROVE_LINEAR || g->kind == GROVE_ANTILINEAR);
    double re = -1.5, im = complex_factor ? 0.75 : 0;

    for (int n = 0; n < g->count; n++)
        scale(&call->in[g->inputs[n]], re, im);
    int code = grove_invocation_run(call);
    grove_invocation_array expected = call->out;
    expected.data = grove_copy(f, grove_invocation_bytes(call) + 1);
    scale(&expected, re, g->kind == GROVE_ANTILINEAR ? -im : im);
    if (!code)
        compare(c, call, g, expected.data, "f(c x)");
    for (int n = 0; n < g->count; n++) {
        const grove_invocation_array *in = &call->in[g->inputs[n]];
        memcpy(in->data, x[n], (size_t)numbers_of(in) * (size_t)in->bytes);
    }
    free(expected.data);
    return code;
}

/* Compares f(x + y) with f(x) + f(y). */
static int check_adding(grove_conformance *c, grove_invocation *call, const group *g,
                        void *const *x, void *const *y, const void *f)
{
    size_t bytes = grove_invocation_bytes(call);

    for (int n = 0; n < g->count; n++) {
        const grove_invocation_array *in = &call->in[g->inputs[n]];
        memcpy(in->data, y[n], (size_t)numbers_of(in) * (size_t)in->bytes);
    }
    int code = grove_invocation_run(call);
    add(&call->out, f);
    void *sum = grove_copy(call->out.data, bytes + 1);
    for (int n = 0; n < g->count; n++)
        add(&call->in[g->inputs[n]], x[n]);
    if (!code)
        code = grove_invocation_run(call);
    if (!code)
        compare(c, call, g, sum, "f(x + y)");
    free(sum);
    return code;
}

/* Compares cells with the same numbers of sources with other numbers: the sum over sources of a
 * cell function that is linear in one input becomes the function of the sum. */
static int check_sources(grove_conformance *c, grove_invocation *call, const group *g,
                         const void *f)
{
    int d = grove_args_axis(&call->args, GROVE_AXIS_SOURCE), number = 0;

    linearity_of(c->class_, g->inputs[0], &number);
    if (d < 0 || number || grove_class_takes_arrays(c->class_))
        return 0;
    call->args.origin[d] += 3;
    int code = grove_invocation_run(call);
    call->args.origin[d] -= 3;
    if (!code)
        compare(c, call, g, f, "f(x) of sources with other numbers");
    return code;
}

/* Whether there are numbers other than 0: zeros show nothing. */
static bool shows(const grove_invocation_array *a)
{
    for (int64_t i = 0; i < numbers_of(a); i++)
        if (grove_invocation_number(a, i) != 0)
            return true;
    return false;
}

/* True if the node tests the group of input `first`. */
static bool check_group(grove_conformance *c, grove_node *node, int first)
{
    void *x[GROVE_MAX_INPUTS] = {0}, *y[GROVE_MAX_INPUTS] = {0}, *f = NULL;
    grove_invocation call;
    int code = grove_invocation_begin(c->fixture, node, true, 1, &call);
    group g = group_of(c->class_, &call, first);
    bool shown = false;

    for (int n = 0; n < g.count && !code; n++) {
        const grove_invocation_array *in = &call.in[g.inputs[n]];
        x[n] = grove_copy(in->data, (size_t)numbers_of(in) * (size_t)in->bytes + 1);
        y[n] = others(in);
    }
    if (!code) {
        code = grove_invocation_run(&call);
        f = grove_copy(call.out.data, grove_invocation_bytes(&call) + 1);
        shown = shows(&call.out);
    }
    if (!code && g.count)
        code = check_sources(c, &call, &g, f);
    if (!code)
        code = check_scaling(c, &call, &g, x, f);
    if (!code)
        code = check_adding(c, &call, &g, x, y, f);
    grove_conformance_done(c, code, node->name);
    for (int n = 0; n < GROVE_MAX_INPUTS; n++) {
        free(x[n]);
        free(y[n]);
    }
    free(f);
    grove_invocation_end(&call);
    return shown;
}

/* The linear inputs, as bits, that the nodes of the current tree test. */
static unsigned check_nodes(grove_conformance *c)
{
    unsigned shown = 0;
    int number;

    for (int n = 0; n < c->fixture->node_count; n++) {
        grove_node *node = c->fixture->nodes[n];
        for (int k = 0; k < node->input_count && grove_invocation_is_possible(node); k++)
            if (node->inputs[k].node && linearity_of(c->class_, k, &number) &&
                check_group(c, node, k))
                shown |= 1U << k;
    }
    return shown;
}

/* Tests reductions and selections, which have no code of their own, in sessions. */
static void check_by_name(grove_conformance *c)
{
    static const char *const names[] = {"fx", "fcx", "fsum", "fy"};
    const char *name = c->class_->name;
    /* nothing in X is flagged, since sums leave out flagged samples */
    char *text =
        grove_format("X = predict(S, obs) / 1Jy\nfx = %s(X)\nfcx = %s(complex(0.75, -0.5) * X)\n"
                     "fsum = %s(X + X * X)\nfy = %s(X * X)\n",
                     name, name, name, name);
    double *results[4] = {NULL};
    int64_t count = 0;
    int code = grove_fixture_try(c->fixture, text, c->class_);
    grove_session *session = code ? NULL : grove_fixture_session(c->fixture, NULL);

    free(text);
    for (int n = 0; n < 4 && session && !code; n++) {
        grove_value *value = NULL;
        code = grove_session_value(session, names[n], &value);
        results[n] = code ? NULL : grove_value_numbers(value, &count, c->fixture->error);
        grove_value_unref(value);
    }
    bool good =
        grove_conformance_done(c, results[3] ? 0 : grove_error_code(c->fixture->error), name);
    double far = 0, size = 0;
    for (int64_t i = 0; i < count && good; i++) {
        double re = results[0][2 * i], im = results[0][2 * i + 1];
        far += fabs(results[1][2 * i] - (0.75 * re + 0.5 * im)) +
               fabs(results[1][2 * i + 1] - (0.75 * im - 0.5 * re)) +
               fabs(results[2][2 * i] - re - results[3][2 * i]) +
               fabs(results[2][2 * i + 1] - im - results[3][2 * i + 1]);
        size += fabs(re) + fabs(im);
    }
    if (good && !(far <= GROVE_CONFORMANCE_DOUBLE * size))
        grove_conformance_fail(c, "scaling and adding deviate by %.2g of the norm", far / size);
    for (int n = 0; n < 4; n++)
        free(results[n]);
    grove_session_free(session);
}

void grove_conformance_linear(grove_conformance *c)
{
    unsigned shown = 0;
    int number = 0;

    if (grove_class_is_data(c->class_) || grove_class_is_action(c->class_))
        return;
    if (!grove_class_computes(c->class_)) {
        c->made = linearity_of(c->class_, 0, &number) && !c->fixture->text;
        if (c->made)
            check_by_name(c);
        return;
    }
    for (int tree = 0; grove_fixture_next(c->fixture, c->class_, &tree);)
        shown |= check_nodes(c);
    if (grove_fixture_take_flagged(c->fixture, c->class_))
        shown |= check_nodes(c);
    for (int k = 0; k < GROVE_MAX_INPUTS; k++) {
        if (!linearity_of(c->class_, k, &number))
            continue;
        c->made = true;
        if (!(shown >> k & 1))
            grove_conformance_skip(c, "no tree shows input %d, which is declared linear", k);
    }
}
