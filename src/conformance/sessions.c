/* Checks in sessions: the same bits for any tiles, threads and cache, and as in a plain call;
 * single precision near double; a device near the cpu, running the class's own code. */
#include "conformance/invocation.h"

#include "base/file.h"
#include "base/text.h"
#include "plan/facts.h"
#include "run/session.h"
#include "run/state.h"
#include "value/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The others are compared with the first. */
static const grove_session_options variants[] = {
    GROVE_FIXTURE_OPTIONS(.threads = 1, .serial = true, .cache_off = true),
    GROVE_FIXTURE_OPTIONS(.threads = 3),
    GROVE_FIXTURE_OPTIONS(.threads = 2, .tile_times = 1),
    GROVE_FIXTURE_OPTIONS(.threads = 1, .tile_channels = 1, .cache_off = true),
    GROVE_FIXTURE_OPTIONS(.threads = 3, .tile_baselines = 1, .serial = true),
    GROVE_FIXTURE_OPTIONS(.threads = 2, .tile_times = 2, .tile_channels = 3, .tile_baselines = 4),
    GROVE_FIXTURE_OPTIONS(.threads = 1, .tile_times = 1, .tile_channels = 1, .tile_baselines = 1,
                          .cache_off = true),
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

/* "3 threads, tiles of 1 time"; caller frees. */
static char *describe(const grove_session_options *o)
{
    grove_text text = {0};

    grove_text_add(&text, "%d thread%s", o->threads, o->threads == 1 ? "" : "s");
    if (o->tile_times)
        grove_text_add(&text, ", tiles of %lld times", (long long)o->tile_times);
    if (o->tile_channels)
        grove_text_add(&text, ", tiles of %lld channels", (long long)o->tile_channels);
    if (o->tile_baselines)
        grove_text_add(&text, ", tiles of %lld baselines", (long long)o->tile_baselines);
    grove_text_add(&text, "%s%s", o->cache_off ? ", no cache" : "",
                   o->serial ? ", no reading ahead" : "");
    if (o->device && strcmp(o->device, "cpu") != 0)
        grove_text_add(&text, ", on %s", o->device);
    return text.at;
}

/* A node's whole value and its flags, from a session of its own. */
typedef struct {
    double *numbers; /* real and imaginary part of each */
    unsigned char *flags;
    int64_t count; /* count of numbers, of two parts each */
    uint64_t launches;
} result;

static void release(result *r)
{
    free(r->numbers);
    free(r->flags);
}

static bool evaluate(grove_conformance *c, grove_node *node, const grove_session_options *options,
                     result *r)
{
    grove_fixture *fixture = c->fixture;
    grove_session *session = grove_fixture_session(fixture, options);
    grove_value *value = session ? grove_fixture_value(session, node) : NULL;

    memset(r, 0, sizeof(*r));
    if (value) {
        r->numbers = grove_value_numbers(value, &r->count, fixture->error);
        r->flags = grove_value_flagged(value, fixture->error);
        r->launches = session->nodes[node->id].device.launches;
    }
    grove_value_unref(value);
    grove_session_free(session);
    bool good = r->numbers && r->flags;
    char *description = describe(options);
    grove_conformance_done(c, good ? 0 : grove_error_code(fixture->error), description);
    free(description);
    if (!good)
        release(r);
    return good;
}

/* Indices of number `i` of a node's whole value; caller frees. */
static char *place_of(const grove_node *node, int64_t i)
{
    int elements = grove_form_elements(&node->form);
    int64_t index[GROVE_MAX_AXES], cell = i / elements;
    grove_text text = {0};

    for (int d = node->axis_count - 1; d >= 0; d--) {
        index[d] = cell % node->axes[d]->size;
        cell /= node->axes[d]->size;
    }
    for (int d = 0; d < node->axis_count; d++)
        grove_text_add(&text, "%s %lld, ", node->axes[d]->name, (long long)index[d]);
    grove_text_add(&text, "element %d", (int)(i % elements));
    return text.at;
}

/* Whether the bits are the same; otherwise records the first that differs. */
static bool are_equal(grove_conformance *c, const grove_node *node, const result *a,
                      const result *b, const char *description)
{
    int64_t i = 0;

    if (a->count != b->count) {
        grove_conformance_fail(c, "%s, with %s: %lld numbers, %lld otherwise", node->name,
                               description, (long long)b->count, (long long)a->count);
        return false;
    }
    while (i < a->count && !memcmp(a->numbers + 2 * i, b->numbers + 2 * i, 2 * sizeof(double)) &&
           a->flags[i] == b->flags[i])
        i++;
    if (i == a->count)
        return true;
    char *place = place_of(node, i);
    if (a->flags[i] != b->flags[i])
        grove_conformance_fail(c, "%s, %s: with %s it is %sflagged, otherwise %s", node->name,
                               place, description, b->flags[i] ? "" : "not ",
                               a->flags[i] ? "flagged" : "not");
    else
        grove_conformance_fail(
            c, "%s, %s: with %s it is %.17g%+.17gi, with 1 thread and no tiles %.17g%+.17gi",
            node->name, place, description, b->numbers[2 * i], b->numbers[2 * i + 1],
            a->numbers[2 * i], a->numbers[2 * i + 1]);
    free(place);
    return false;
}

/* ||a - b|| / ||b|| */
static double distance(const result *a, const result *b)
{
    long double difference = 0, size = 0;

    for (int64_t i = 0; i < 2 * b->count; i++) {
        long double one = (long double)a->numbers[i] - (long double)b->numbers[i];
        difference += one * one;
        size += (long double)b->numbers[i] * (long double)b->numbers[i];
    }
    return (double)sqrtl(size > 0 ? difference / size : difference);
}

/* Whether the node is made of accumulated values. */
static bool accumulates(const grove_node *node)
{
    bool found = grove_node_accumulates(node);

    for (int k = 0; k < node->input_count && !found; k++)
        found = node->inputs[k].node && accumulates(node->inputs[k].node);
    return found;
}

/* Accumulated values may be rounded differently with other tiles, and where states of several
 * threads are merged. */
static bool are_near(grove_conformance *c, const grove_node *node, const result *a, const result *b,
                     bool single, bool merges, const char *description)
{
    double limit = single ? GROVE_CONFORMANCE_SINGLE : GROVE_CONFORMANCE_DOUBLE;
    double error = a->count == b->count ? distance(b, a) : INFINITY;
    bool same_flags = a->count == b->count && !memcmp(a->flags, b->flags, (size_t)a->count);

    if (error < limit && same_flags)
        return true;
    grove_conformance_fail(c,
                           "%s: with %s%s it deviates by %.2g of the norm from the result with 1 "
                           "thread and no tiles%s; at most %g is allowed",
                           node->name, description, merges ? ", which merges its states," : "",
                           error, same_flags ? "" : ", and flagged elsewhere", limit);
    return false;
}

static bool are_finite(grove_conformance *c, const grove_node *node, const result *r)
{
    for (int64_t i = 0; i < 2 * r->count; i++) {
        if (isfinite(r->numbers[i]))
            continue;
        char *place = place_of(node, i / 2);
        grove_conformance_fail(c, "%s, %s: is not finite", node->name, place);
        free(place);
        return false;
    }
    return true;
}

/* ---- tiles, threads, cache ---- */

/* Compares a session with a plain call of the class. */
static void check_plain(grove_conformance *c, grove_node *node, const result *x, bool single)
{
    grove_invocation call;

    if (!grove_invocation_is_possible(node))
        return;
    int code = grove_invocation_begin(c->fixture, node, !single, 1, &call);
    if (!code)
        code = grove_invocation_run(&call);
    bool good = grove_conformance_done(c, code, node->name);
    int parts = call.out.parts;
    for (int64_t i = 0; i < x->count * parts && good; i++) {
        double number = grove_invocation_number(&call.out, i);
        double other = x->numbers[2 * (i / parts) + i % parts];
        good = !memcmp(&number, &other, sizeof(number));
        if (good)
            continue;
        char *place = place_of(node, i / parts);
        grove_conformance_fail(c, "%s, %s: %.17g in a session, %.17g in a call on the same inputs",
                               node->name, place, other, number);
        free(place);
    }
    grove_invocation_end(&call);
}

static void check_variants(grove_conformance *c, grove_node *node, bool single, const char *device)
{
    grove_session_options options = variants[0];
    result first, other;

    options.device = device;
    options.double_precision = !single;
    if (!evaluate(c, node, &options, &first))
        return;
    bool good = are_finite(c, node, &first);
    if (good && !strcmp(device, "cpu"))
        check_plain(c, node, &first, single);
    for (int i = 1; i < VARIANTS && good; i++) {
        options = variants[i];
        options.device = device;
        options.double_precision = !single;
        char *description = describe(&options);
        good = evaluate(c, node, &options, &other);
        if (good) {
            bool merges = grove_node_accumulates(node) && options.threads > 1 &&
                          node->class_->accumulator->merge;
            good = accumulates(node)
                       ? are_near(c, node, &first, &other, single, merges, description)
                       : are_equal(c, node, &first, &other, description);
            release(&other);
        }
        free(description);
    }
    release(&first);
}

static bool has_value(const grove_class *class_)
{
    return !grove_class_is_data(class_) && !grove_class_is_action(class_);
}

void grove_conformance_tiles(grove_conformance *c)
{
    if (!grove_conformance_done(c, grove_fixture_take(c->fixture, c->class_, NULL), "tree"))
        return;
    for (int n = 0; n < 2 * c->fixture->node_count && has_value(c->class_); n++) {
        c->made = true;
        check_variants(c, c->fixture->nodes[n / 2], n % 2, "cpu");
    }
}

/* ---- precision ---- */

/* The sum of the errors that the node and the nodes below it may have by their option epsilon. */
static double errors_asked_for(const grove_node *node)
{
    double sum = 0;

    if (node->kind == GROVE_NODE_CLASS)
        for (const grove_port *op = node->class_->options; op && op->name; op++)
            if (op->kind == GROVE_NUMBER && !strcmp(op->name, "epsilon"))
                sum += grove_node_number(node, "epsilon");
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node)
            sum += errors_asked_for(node->inputs[k].node);
    return sum;
}

static void check_precision(grove_conformance *c, grove_node *node)
{
    grove_session_options options = variants[0];
    result x, y;

    options.device = "cpu";
    if (!evaluate(c, node, &options, &x))
        return;
    options.double_precision = true;
    if (evaluate(c, node, &options, &y)) {
        double error = distance(&x, &y),
               limit = fmax(GROVE_CONFORMANCE_SINGLE, 2 * errors_asked_for(node));
        if (!(error < limit))
            grove_conformance_fail(c,
                                   "%s: single precision deviates by %.2g of the norm from double; "
                                   "at most %g is allowed",
                                   node->name, error, limit);
        release(&y);
    }
    release(&x);
}

void grove_conformance_precision(grove_conformance *c)
{
    if (!grove_conformance_done(c, grove_fixture_take(c->fixture, c->class_, NULL), "tree"))
        return;
    for (int n = 0; n < c->fixture->node_count && has_value(c->class_); n++) {
        c->made = true;
        check_precision(c, c->fixture->nodes[n]);
    }
}

/* ---- devices ---- */

/* Why the device has no code for the node; NULL: it has. Caller frees. Sets the kernel without it.
 */
static char *why_unsupported(grove_session *session, grove_node *node, bool single,
                             const grove_kernel **kernel)
{
    grove_unsupported *unsupported = &session->unsupported[node->id];
    grove_error *error = grove_error_new();
    char *reason = NULL;

    *kernel = node->kernel;
    if (node->class_->device) { /* only a run shows it */
        grove_value_unref(grove_fixture_value(session, node));
        *kernel = unsupported->kernel;
        reason = unsupported->reason ? grove_strdup(unsupported->reason) : NULL;
    } else if (!node->kernel) {
        reason = grove_format("%s has no kernel for devices", node->name);
    } else if (grove_device_prepare(session->device, node->kernel, !single, error)) {
        reason = grove_strdup(grove_error_count(error) ? grove_error_message(error, 0)
                                                       : "it has no code for the device");
    }
    if (reason && !*reason) {
        free(reason);
        reason = grove_format("%s leaves it to the cpu", node->name);
    }
    grove_error_free(error);
    return reason;
}

/* Whether there is a file with device code next to the module: NAME.fatbin, named after the header
 * of the cell function or after the class. */
static bool has_file(grove_conformance *c, const grove_kernel *kernel)
{
    const char *module = grove_classes_path(c->fixture->classes, c->class_->name);
    const char *source = kernel && kernel->source ? kernel->source : c->class_->name;
    const char *name = strrchr(source, '/') ? strrchr(source, '/') + 1 : source;

    if (!kernel || !module)
        return false;
    char *file = grove_format("%.*s.fatbin", (int)strcspn(name, "."), name);
    char *path = grove_path_next_to(module, file);
    bool exists = grove_path_exists(path);
    free(file);
    free(path);
    return exists;
}

/* Whether the device accepts the class's code, if there is any. */
static bool has_code(grove_conformance *c, grove_node *node, bool single)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = c->device, .double_precision = !single);
    grove_session *session = grove_fixture_session(c->fixture, &options);
    const grove_kernel *kernel;
    char *reason = NULL;
    bool has = false;

    if (grove_conformance_done(c, session ? 0 : grove_error_code(c->fixture->error), c->device)) {
        reason = why_unsupported(session, node, single, &kernel);
        grove_error_clear(
            c->fixture->error); /* failures are reported by the runs that are compared */
        has = !reason;
        if (reason && has_file(c, kernel))
            grove_conformance_fail(c, "%s (%s precision): %s", node->name,
                                   single ? "single" : "double", reason);
        else if (reason)
            grove_conformance_skip(c, "%s", reason);
    }
    grove_session_free(session);
    free(reason);
    return has;
}

/* Of a class whose result is good to its option `epsilon`, the host and devices may use methods of
 * their own. */
static double device_tolerance(const grove_conformance *c, const grove_node *node, bool single)
{
    double max = single ? GROVE_CONFORMANCE_SINGLE : GROVE_CONFORMANCE_DOUBLE;

    for (const grove_port *o = c->class_->options; o && o->name; o++)
        if (!strcmp(o->name, "epsilon") && o->kind == GROVE_NUMBER)
            max = fmax(max, 0.1 * grove_node_number(node, "epsilon"));
    return max;
}

static void check_device(grove_conformance *c, grove_node *node, bool single)
{
    grove_session_options options = variants[0];
    double max = device_tolerance(c, node, single);
    result host, device;

    options.double_precision = !single;
    options.device = "cpu";
    if (!evaluate(c, node, &options, &host))
        return;
    options.device = c->device;
    if (evaluate(c, node, &options, &device)) {
        double error = distance(&device, &host);
        if (grove_class_computes(c->class_) && !device.launches)
            grove_conformance_fail(c,
                                   "%s (%s precision): %s has code for it, but the cpu computed it",
                                   node->name, single ? "single" : "double", c->device);
        else if (memcmp(device.flags, host.flags, (size_t)host.count) != 0)
            grove_conformance_fail(c, "%s: other flags on %s than on the cpu", node->name,
                                   c->device);
        else if (!(error <= max))
            grove_conformance_fail(c,
                                   "%s (%s precision): on %s it deviates by %.2g of the norm from "
                                   "the cpu; at most %g is allowed",
                                   node->name, single ? "single" : "double", c->device, error, max);
        else
            check_variants(c, node, single, c->device);
        release(&device);
    }
    release(&host);
}

void grove_conformance_device(grove_conformance *c)
{
    if (!has_value(c->class_) || (c->test->device && !c->device)) /* device=cpu was asked for */
        return;
    c->made = true;
    if (!c->device) {
        grove_conformance_skip(c, "there is no GPU");
        return;
    }
    if (!grove_conformance_done(c, grove_fixture_take(c->fixture, c->class_, NULL), "tree"))
        return;
    for (int n = 0; n < 2 * c->fixture->node_count; n++) {
        grove_node *node = c->fixture->nodes[n / 2];
        if (!grove_class_computes(c->class_) || has_code(c, node, n % 2))
            check_device(c, node, n % 2);
    }
}
