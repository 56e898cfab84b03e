/* Checks of flags: they cover the changes by a flagged element, and sessions set them by the
 * rule. */
#include "conformance/invocation.h"

#include "value/value.h"

#include <stdlib.h>
#include <string.h>

static grove_flag_cell cell_of(const grove_invocation_array *a)
{
    return (grove_flag_cell){a->shape, a->elements};
}

/* The bits of the result that flag bits `bits` of input k set in this call. */
static unsigned rule(const grove_conformance *c, const grove_invocation *call, int k, unsigned bits)
{
    const grove_invocation_array *factor = k < 2 ? &call->in[1 - k] : NULL;
    grove_flag_cell other = factor ? cell_of(factor) : (grove_flag_cell){0, 0};

    return grove_flag_rule_apply(c->class_, k, bits, cell_of(&call->in[k]), cell_of(&call->out),
                                 factor && factor->elements ? &other : NULL);
}

static void change(const grove_invocation_array *a, int element)
{
    for (int64_t i = 0; i < a->cells; i++)
        for (int part = 0; part < a->parts; part++) {
            int64_t at = (i * a->elements + element) * a->parts + part;
            if (a->bytes == 8)
                ((double *)a->data)[at] = 0.75 * ((double *)a->data)[at] + 0.0625 * (1 + part);
            else
                ((float *)a->data)[at] = 0.75F * ((float *)a->data)[at] + 0.0625F * (1 + part);
        }
}

/* Changes each element of an input: the result may change only in elements that its flag reaches.
 */
static void check_spoilt(grove_conformance *c, grove_node *node, int k, int element)
{
    grove_invocation call;
    int code = grove_invocation_begin(c->fixture, node, true, 1, &call);
    size_t one = (size_t)(call.out.parts * call.out.bytes), bytes = grove_invocation_bytes(&call);

    if (!code)
        code = grove_invocation_run(&call);
    void *before = grove_copy(call.out.data, bytes + 1);
    if (!code) {
        change(&call.in[k], element);
        code = grove_invocation_run(&call);
    }
    bool good = grove_conformance_done(c, code, node->name);
    unsigned flagged = rule(c, &call, k, 1U << (element < 7 ? element : 7));
    for (size_t i = 0; i < bytes / one && good; i++) {
        int e = (int)(i % (size_t)call.out.elements);
        good = flagged >> (e < 7 ? e : 7) & 1 ||
               !memcmp((char *)before + i * one, (char *)call.out.data + i * one, one);
        if (!good)
            grove_conformance_fail(
                c,
                "%s: element %d changes with element %d of '%s', whose flag does "
                "not reach it by the class's rule; the rule must be wider",
                node->name, e, element, node->input_names[k]);
    }
    free(before);
    grove_invocation_end(&call);
}

void grove_conformance_spoilt(grove_conformance *c)
{
    for (int number = 0, n = 0; grove_fixture_next(c->fixture, c->class_, &number); n = 0)
        for (; n < c->fixture->node_count; n++) {
            grove_node *node = c->fixture->nodes[n];
            for (int k = 0; k < node->input_count && grove_invocation_is_possible(node); k++) {
                const grove_node *in = node->inputs[k].node;
                int elements = !in || node->handing[k] == GROVE_AS_FLAGS ? 0
                               : in->form.shape == GROVE_VECTOR          ? in->form.vector
                                                                         : in->form.shape;
                for (int e = 0; e < elements; e++, c->made = true)
                    check_spoilt(c, node, k, e);
            }
        }
}

/* ---- in sessions ---- */

/* Flags of a node's value, a byte per element; NULL with a message. */
static unsigned char *flags_of(grove_conformance *c, grove_session *session, grove_node *node)
{
    grove_value *value = grove_fixture_value(session, node);
    unsigned char *flags = value ? grove_value_flagged(value, c->fixture->error) : NULL;

    grove_value_unref(value);
    return flags;
}

/* Flag bits of the input cell that belongs to a cell of the iteration space. */
static unsigned bits_at(const grove_invocation *call, int k, const unsigned char *flags,
                        const int64_t *index)
{
    const grove_invocation_array *in = &call->in[k];
    const char *at = grove_view_at(&call->args.in[k], index, call->args.axes);
    unsigned bits = 0;

    if (!at) /* the input is handed over as flags, and nothing is flagged */
        return 0;
    int64_t bytes = call->node->handing[k] == GROVE_AS_FLAGS
                        ? 1
                        : (int64_t)in->elements * in->parts * in->bytes;
    int64_t cell = (at - (char *)in->data) / bytes;
    for (int e = 0; e < in->elements; e++)
        bits |= (unsigned)flags[cell * in->elements + e] << (e < 7 ? e : 7);
    return bits;
}

/* Adds the flags that input k causes in the result, over the axes of both. */
static void add_expected_flags(grove_conformance *c, const grove_invocation *call, int k,
                               const unsigned char *input_flags, unsigned *expected)
{
    const grove_args *args = &call->args;
    const grove_view *in = &args->in[k];
    const int64_t cell_bytes = (int64_t)grove_invocation_cell_bytes(call);
    int64_t size[GROVE_MAX_AXES], cells = 1;

    for (int d = 0; d < args->axes; d++) {
        const bool varies = in->stride[d] || (in->gather && in->gather_axis == d);
        size[d] = varies || args->out.stride[d] ? args->size[d] : 1;
        cells *= size[d];
    }
    for (int64_t i = 0; i < cells; i++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = i, offset = 0;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % size[d];
            rest /= size[d];
            offset += index[d] * args->out.stride[d];
        }
        const unsigned bits = bits_at(call, k, input_flags, index);
        for (int e = 0; e < 8; e++)
            if (bits >> e & 1)
                expected[offset / cell_bytes] |= rule(c, call, k, 1U << e);
    }
}

/* The expected flag bits of each cell of the result, from the inputs' flags; free it. */
static unsigned *expected_flags(grove_conformance *c, const grove_invocation *call,
                                unsigned char *const *input_flags)
{
    unsigned *expected = grove_alloc(((size_t)call->out.cells + 1) * sizeof(*expected));

    for (int k = 0; k < call->args.inputs; k++)
        if (input_flags[k])
            add_expected_flags(c, call, k, input_flags[k], expected);
    return expected;
}

static void compare_flags(grove_conformance *c, const grove_invocation *call,
                          const unsigned char *flags, const unsigned *expected)
{
    for (int64_t i = 0; i < call->out.cells * call->out.elements; i++) {
        int e = (int)(i % call->out.elements);
        unsigned due = expected[i / call->out.elements] >> (e < 7 ? e : 7) & 1;
        if (flags[i] == due)
            continue;
        int64_t index[GROVE_MAX_AXES];
        grove_invocation_index(call, i / call->out.elements, index);
        char *place = grove_invocation_place(call, index);
        grove_conformance_fail(c, "%s, %s: element %d is %sflagged; by the class's rule it is %s",
                               call->node->name, place, e, flags[i] ? "" : "not ",
                               due ? "flagged" : "not");
        free(place);
        return;
    }
}

static void check_flags(grove_conformance *c, grove_node *node)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 3, .double_precision = true);
    unsigned char *input_flags[GROVE_MAX_INPUTS] = {0};
    grove_invocation call;
    int code = grove_invocation_begin(c->fixture, node, true, 1, &call);
    grove_session *session = code ? NULL : grove_fixture_session(c->fixture, &options);
    unsigned char *flags = session ? flags_of(c, session, node) : NULL;

    for (int k = 0; k < node->input_count && flags; k++)
        if (node->inputs[k].node)
            input_flags[k] = flags_of(c, session, node->inputs[k].node);
    if (grove_conformance_done(c, flags ? 0 : grove_error_code(c->fixture->error), node->name)) {
        unsigned *expected = expected_flags(c, &call, input_flags);
        compare_flags(c, &call, flags, expected);
        free(expected);
    }
    for (int k = 0; k < GROVE_MAX_INPUTS; k++)
        free(input_flags[k]);
    free(flags);
    grove_session_free(session);
    grove_invocation_end(&call);
}

void grove_conformance_flags(grove_conformance *c)
{
    for (int call = 0; call < 2; call++) {
        if (call ? !grove_fixture_take_flagged(c->fixture, c->class_)
                 : grove_fixture_take(c->fixture, c->class_, NULL) != 0)
            continue;
        for (int n = 0; n < c->fixture->node_count; n++)
            if (grove_class_computes(c->class_) && c->fixture->nodes[n]->kind == GROVE_NODE_CLASS) {
                c->made = true;
                check_flags(c, c->fixture->nodes[n]);
            }
    }
}
