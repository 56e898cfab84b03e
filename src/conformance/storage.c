/* Checks of calls: all of the output is written and nothing else, for any initial content of
 * memory, any blocks, ranges of cells and threads. */
#include "conformance/invocation.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fill patterns: NaN in both precisions, and an ordinary number. */
enum { FILL_NAN = 0xff, FILL_NUMBER = 0x3f, THREADS = 3 };

/* Memory for a result, with guard bytes on both sides: as many as the result has, and 4 KiB. */
typedef struct {
    unsigned char *base;
    size_t bytes, guard;
    int fill;
} room;

static room room_new(size_t bytes, int fill)
{
    room r = {.bytes = bytes, .guard = (bytes + 4096) / 64 * 64 + 64, .fill = fill};
    size_t all = (2 * r.guard + bytes) / 64 * 64 + 64;

    r.base = aligned_alloc(64, all);
    if (r.base)
        memset(r.base, fill, all);
    return r;
}

static void *room_data(const room *r)
{
    return r->base + r->guard;
}

/* Distance of a changed guard byte from the end of the result (negative: from its start); 0: none
 * has changed. */
static int64_t room_overrun(const room *r)
{
    for (size_t i = 0; i < r->guard; i++) {
        if (r->base[r->guard + r->bytes + i] != r->fill)
            return (int64_t)i + 1;
        if (r->base[r->guard - 1 - i] != r->fill)
            return -(int64_t)i - 1;
    }
    return 0;
}

/* Calls the class on `args` with its output between guard bytes; records writes outside. */
static bool call_in(grove_conformance *c, const grove_invocation *call, const grove_args *args,
                    room *r)
{
    grove_args own = *args;

    if (!r->base) {
        grove_conformance_skip(c, "no memory for %zu bytes", r->bytes);
        return false;
    }
    own.out.data = room_data(r);
    if (!grove_conformance_done(c, grove_invocation_call(call, &own), call->node->name))
        return false;
    int64_t far = room_overrun(r);
    if (far)
        grove_conformance_fail(
            c,
            "%s (%s precision): writes outside its output, %lld bytes %s; a cell "
            "is %zu bytes, the output %zu",
            call->node->name, call->double_ ? "double" : "single",
            (long long)(far > 0 ? far - 1 : -far),
            far > 0 ? "after its end" : "before its beginning", grove_invocation_cell_bytes(call),
            r->bytes);
    return !far;
}

/* Records the first number in which two whole results differ. */
static bool is_same(grove_conformance *c, const grove_invocation *call, const void *got,
                    const void *expected, const char *subject)
{
    size_t one = (size_t)call->out.bytes, bytes = grove_invocation_bytes(call), at = 0;
    int64_t index[GROVE_MAX_AXES];
    int per_cell = call->out.elements * call->out.parts;

    if (!memcmp(got, expected, bytes))
        return true;
    while (!memcmp((const char *)got + at * one, (const char *)expected + at * one, one))
        at++;
    grove_invocation_array a = call->out, b = call->out;
    a.data = (void *)(uintptr_t)got;
    b.data = (void *)(uintptr_t)expected;
    grove_invocation_index(call, (int64_t)at / per_cell, index);
    char *place = grove_invocation_place(call, index);
    grove_conformance_fail(c, "%s (%s precision), %s, element %d: %.17g %s, %.17g otherwise",
                           call->node->name, call->double_ ? "double" : "single", place,
                           (int)((int64_t)at % per_cell) / call->out.parts,
                           grove_invocation_number(&a, (int64_t)at), subject,
                           grove_invocation_number(&b, (int64_t)at));
    free(place);
    return false;
}

/* A number that equals the fill pattern in both runs, filled differently, was not written. */
static bool is_written(grove_conformance *c, const grove_invocation *call, const room *r,
                       const room *s)
{
    size_t one = (size_t)call->out.bytes, count = r->bytes / one;
    const unsigned char *a = room_data(r), *b = room_data(s);
    int per_cell = call->out.elements * call->out.parts;

    for (size_t i = 0; i < count; i++) {
        bool kept = true;
        for (size_t k = 0; k < one && kept; k++)
            kept = a[i * one + k] == r->fill && b[i * one + k] == s->fill;
        grove_invocation_array out = call->out;
        out.data = (void *)(uintptr_t)a;
        bool finite = isfinite(grove_invocation_number(&out, (int64_t)i));
        if (!kept && finite)
            continue;
        int64_t index[GROVE_MAX_AXES];
        grove_invocation_index(call, (int64_t)i / per_cell, index);
        char *place = grove_invocation_place(call, index);
        grove_conformance_fail(
            c, "%s (%s precision), %s, element %d: %s", call->node->name,
            call->double_ ? "double" : "single", place,
            (int)((int64_t)i % per_cell) / call->out.parts,
            kept ? "is not written; every element of every cell must be"
                 : "is not finite where memory was NaN before; the output must not be read");
        free(place);
        return false;
    }
    return true;
}

/* Calls on ranges of 1, 2, 3, ... cells. */
static bool ranges_agree(grove_conformance *c, const grove_invocation *call, const room *whole)
{
    const grove_kernel *kernel = call->node->kernel;
    room r = room_new(whole->bytes, FILL_NAN);
    grove_args args = call->args;
    bool good = r.base != NULL;

    args.out.data = good ? room_data(&r) : NULL;
    int64_t cells = grove_args_cells(&args);
    for (int64_t first = 0, size = 1; good && first < cells; first += size++)
        (call->out.bytes == 8 ? kernel->double_precision : kernel->single_precision)(
            &args, first, first + size < cells ? first + size : cells);
    good = good && is_same(c, call, room_data(&r), room_data(whole), "in ranges of a few cells");
    free(r.base);
    return good;
}

static bool inputs_changed(const grove_invocation *call, void *const *before)
{
    for (int k = 0; k < call->args.inputs; k++) {
        const grove_invocation_array *a = &call->in[k];
        if (before[k] &&
            memcmp(before[k], a->data, (size_t)(a->cells * a->elements * a->parts * a->bytes)) != 0)
            return true;
    }
    return false;
}

static bool keeps_inputs(grove_conformance *c, grove_invocation *call, room *r)
{
    void *before[GROVE_MAX_INPUTS] = {0};

    for (int k = 0; k < call->args.inputs; k++) {
        const grove_invocation_array *a = &call->in[k];
        if (a->data && call->node->handing[k] != GROVE_AS_FLAGS)
            before[k] = grove_copy(a->data, (size_t)(a->cells * a->elements * a->parts * a->bytes));
    }
    bool good = call_in(c, call, &call->args, r);
    if (good && inputs_changed(call, before)) {
        grove_conformance_fail(c, "%s: changes its inputs, which must stay unchanged",
                               call->node->name);
        good = false;
    }
    for (int k = 0; k < GROVE_MAX_INPUTS; k++)
        free(before[k]);
    return good;
}

static void check_storage(grove_conformance *c, grove_node *node, bool double_precision)
{
    grove_invocation call;
    int code = grove_invocation_begin(c->fixture, node, double_precision, 1, &call);
    size_t bytes = grove_invocation_bytes(&call);
    room a = room_new(bytes, FILL_NAN), b = room_new(bytes, FILL_NUMBER),
         d = room_new(bytes, FILL_NAN);

    bool good = grove_conformance_done(c, code, node->name) && keeps_inputs(c, &call, &a) &&
                call_in(c, &call, &call.args, &b) && is_written(c, &call, &a, &b) &&
                is_same(c, &call, room_data(&b), room_data(&a),
                        "in a second call, where memory held other numbers");
    if (good && node->kernel)
        ranges_agree(c, &call, &a);
    grove_device_free(call.host);
    call.host = grove_device_cpu(THREADS);
    if (good && !node->kernel && call_in(c, &call, &call.args, &d))
        is_same(c, &call, room_data(&d), room_data(&a), "with 3 threads");
    free(a.base);
    free(b.base);
    free(d.base);
    grove_invocation_end(&call);
}

/* Checks each node of each tree of the class, in both precisions. */
static void each(grove_conformance *c, void (*check)(grove_conformance *, grove_node *, bool))
{
    for (int number = 0; grove_fixture_next(c->fixture, c->class_, &number);)
        for (int n = 0; n < 2 * c->fixture->node_count; n++) {
            grove_node *node = c->fixture->nodes[n / 2];
            if (!grove_invocation_is_possible(node))
                continue;
            c->made = true;
            check(c, node, n % 2);
        }
}

void grove_conformance_storage(grove_conformance *c)
{
    each(c, check_storage);
}

/* ---- blocks ---- */

/* The block [first, first + count) of a call. */
static grove_args cut(const grove_args *whole, const int64_t *first, const int64_t *count,
                      size_t cell, size_t *bytes)
{
    grove_args part = *whole;
    int64_t step = (int64_t)cell;

    for (int d = part.axes - 1; d >= 0; d--) {
        part.origin[d] += first[d];
        part.size[d] = count[d];
        for (int k = 0; k < part.inputs; k++) {
            grove_view *in = &part.in[k];
            if (in->data && in->gather && in->gather_axis == d)
                in->gather += first[d];
            else if (in->data)
                in->data = (char *)in->data + first[d] * in->stride[d];
        }
        if (part.out.stride[d]) {
            part.out.stride[d] = step;
            step *= count[d];
        }
    }
    *bytes = (size_t)step;
    return part;
}

/* Compares the result of a block, bit for bit, with that part of the whole. */
static void check_block(grove_conformance *c, const grove_invocation *call, const int64_t *first,
                        const int64_t *count)
{
    size_t bytes, cell_bytes = grove_invocation_cell_bytes(call);
    grove_args part = cut(&call->args, first, count, cell_bytes, &bytes), whole = call->args;
    room r = room_new(bytes, FILL_NAN);
    const int64_t cells = (int64_t)(bytes / cell_bytes);
    bool good = call_in(c, call, &part, &r);

    part.out.data = good ? room_data(&r) : NULL;
    whole.out.data = call->out.data;
    for (int64_t i = 0; i < cells && good; i++) {
        int64_t index[GROVE_MAX_AXES] = {0}, at[GROVE_MAX_AXES] = {0}, rest = i;
        for (int d = part.axes - 1; d >= 0; d--) {
            at[d] = first[d];
            if (!part.out.stride[d])
                continue;
            index[d] = rest % count[d];
            at[d] += index[d];
            rest /= count[d];
        }
        good = !memcmp(grove_view_at(&part.out, index, part.axes),
                       grove_view_at(&whole.out, at, part.axes), cell_bytes);
        if (good)
            continue;
        char *place = grove_invocation_place(call, at), *from = grove_invocation_place(call, first);
        grove_conformance_fail(c,
                               "%s (%s precision), %s: another number when the block begins at %s; "
                               "results may depend on absolute indices (args->origin), never on "
                               "where a block begins",
                               call->node->name, call->double_ ? "double" : "single", place, from);
        free(place);
        free(from);
    }
    free(r.base);
}

static bool is_consumed(const grove_node *node, const grove_axis *axis)
{
    for (int i = 0; i < node->consumed_count; i++)
        if (node->consumed[i] == axis)
            return true;
    return false;
}

static void check_cuts(grove_conformance *c, const grove_invocation *call)
{
    const grove_args *args = &call->args;
    int64_t first[GROVE_MAX_AXES] = {0}, count[GROVE_MAX_AXES] = {0};
    int64_t mid_first[GROVE_MAX_AXES] = {0}, mid_count[GROVE_MAX_AXES] = {0};

    memcpy(count, args->size, sizeof(count));
    memcpy(mid_count, args->size, sizeof(count));
    for (int d = 0; d < args->axes; d++) {
        int64_t size = args->size[d];
        if (is_consumed(call->node, call->space[d]))
            continue;
        count[d] = 1;
        for (first[d] = 0; first[d] < size; first[d]++)
            check_block(c, call, first, count);
        first[d] = mid_first[d] = size / 3;
        count[d] = mid_count[d] = size - size / 3 - (size > 2);
        if (count[d] > 0)
            check_block(c, call, first, count);
        first[d] = 0;
        count[d] = size;
        mid_count[d] = mid_count[d] > 0 ? mid_count[d] : 1;
    }
    check_block(c, call, mid_first, mid_count);
}

static void check_blocks(grove_conformance *c, grove_node *node, bool double_precision)
{
    grove_invocation call;
    int code = grove_invocation_begin(c->fixture, node, double_precision, 1, &call);

    if (!code)
        code = grove_invocation_run(&call);
    if (grove_conformance_done(c, code, node->name))
        check_cuts(c, &call);
    grove_invocation_end(&call);
}

void grove_conformance_blocks(grove_conformance *c)
{
    each(c, check_blocks);
}

/* ---- axes ---- */

enum { EXTENT = 3 };

/* Adds an axis of that kind, which no input has: the result must be the same everywhere along it.
 */
static void check_axis(grove_conformance *c, const grove_invocation *call, int kind)
{
    static const char *const names[] = {"source",   "time", "station",
                                        "baseline", "freq", "a plugin's own"};
    grove_args args = call->args;
    size_t all = grove_invocation_bytes(call);
    room r = room_new(EXTENT * all, FILL_NAN);
    int at = args.axes++;

    for (; at > 0 && args.axis[at - 1] > kind; at--) {
        args.axis[at] = args.axis[at - 1];
        args.size[at] = args.size[at - 1];
        args.origin[at] = args.origin[at - 1];
        args.out.stride[at] = args.out.stride[at - 1];
        for (int k = 0; k < args.inputs; k++) {
            args.in[k].stride[at] = args.in[k].stride[at - 1];
            if (args.in[k].gather && args.in[k].gather_axis == at - 1)
                args.in[k].gather_axis = at;
        }
    }
    args.axis[at] = kind;
    args.size[at] = EXTENT;
    args.origin[at] = 2;
    for (int k = 0; k < args.inputs; k++)
        args.in[k].stride[at] = 0;
    args.out.stride[at] = (int64_t)all; /* slowest in memory, wherever it is in the space */
    bool good = call_in(c, call, &args, &r);
    for (int i = 0; i < EXTENT && good; i++) {
        good = !memcmp((char *)room_data(&r) + (size_t)i * all, call->out.data, all);
        if (!good)
            grove_conformance_fail(c, "%s: changes along an axis (%s) that none of its inputs has",
                                   call->node->name, names[kind]);
    }
    free(r.base);
}

static void check_axes(grove_conformance *c, grove_node *node, bool double_precision)
{
    grove_invocation call;
    int code = grove_invocation_begin(c->fixture, node, double_precision, 1, &call);

    if (!code)
        code = grove_invocation_run(&call);
    bool good = grove_conformance_done(c, code, node->name);
    for (int kind = GROVE_AXIS_SOURCE; good && kind <= GROVE_AXIS_OTHER; kind++)
        if (grove_args_axis(&call.args, kind) < 0 && call.args.axes < GROVE_MAX_AXES)
            check_axis(c, &call, kind);
    grove_invocation_end(&call);
}

void grove_conformance_axes(grove_conformance *c)
{
    each(c, check_axes);
}
