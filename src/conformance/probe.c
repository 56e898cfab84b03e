/* The observation that tests of classes use, `observe` with data and flags added; and an image. */
#include "conformance/fixture.h"

#include "base/text.h"

#include <string.h>

/* Data are multiples of 1/64 below 16 in modulus, so that sums are exact. A seventh of them is
 * flagged and has large values. Baseline 2 is flagged completely at time 1. */
static uint64_t bits_of(const int64_t at[3], int element)
{
    return grove_random_bits(17, (uint64_t)at[0], (uint64_t)at[1], (uint64_t)at[2],
                             (uint64_t)element);
}

static bool is_flagged(const int64_t at[3], int element)
{
    return (at[0] == 1 && at[1] == 2) || bits_of(at, element) % 7 == 0;
}

static void put_data(const int64_t at[3], int element, float number[2])
{
    uint64_t bits = bits_of(at, element) >> 20;
    bool flagged = is_flagged(at, element);

    number[0] = flagged ? 1e6F : (float)((double)(bits % 2048) - 1024) / 64;
    number[1] = flagged ? -1e6F : (float)((double)(bits / 2048 % 2048) - 1024) / 64;
}

static const grove_class *observe_of(const grove_node *node)
{
    return grove_classes_find(node->tree->classes, "observe", NULL);
}

static int open_probe(grove_node *node)
{
    static const grove_form data = {.shape = GROVE_MATRIX,
                                    .complex_ = true,
                                    .precision = GROVE_PRECISION_SINGLE,
                                    .unit = {.Jy = 1},
                                    .flags = true};
    static const grove_form weight = {.shape = GROVE_MATRIX, .precision = GROVE_PRECISION_SINGLE};
    int code = observe_of(node)->data->open(node);

    if (!code)
        code = grove_node_add_member(node, "data", "time baseline freq", &data, NULL, "data");
    if (!code)
        code =
            grove_node_add_member(node, "weight", "time baseline freq", &weight, NULL, "weights");
    return code;
}

static int read_probe(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    bool weight = !strcmp(member, "weight");
    float *to = out->data;

    if (!weight && strcmp(member, "data") != 0)
        return observe_of(node)->data->read(call, member, out);
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t at[3], rest = i;
        for (int d = 2; d >= 0; d--) {
            at[d] = out->range[d].first + rest % out->range[d].count;
            rest /= out->range[d].count;
        }
        if (out->flags)
            out->flags[i] = 0;
        for (int e = 0; e < 4; e++) {
            if (weight)
                to[4 * i + e] = (float)(bits_of(at, e) >> 44 & 255) / 64;
            else
                put_data(at, e, to + 8 * i + 2 * e);
            if (out->flags && is_flagged(at, e))
                out->flags[i] |= (unsigned char)(1 << e);
        }
    }
    return 0;
}

static grove_probe_change changes = {.at = -2};

grove_probe_change *grove_probe_of_parms(void)
{
    return &changes;
}

static const grove_data_functions *parm_of(const grove_node *node)
{
    return grove_classes_find(node->tree->classes, "parm", NULL)->data;
}

static int open_parm(grove_node *node)
{
    return parm_of(node)->open(node);
}

static int read_parm(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    const char *name = grove_node_property(node, "name");
    int parts = out->form->complex_ ? 2 : 1, code = parm_of(node)->read(call, member, out);
    bool meant = grove_equal(changes.parm, name) && grove_equal(changes.member, member);
    uint64_t seed = (uint64_t)(name[0] * 256 + member[0]);
    double *to = out->data;

    for (int64_t i = 0; i < out->cells; i++) {
        int64_t at = 0, step = 1, rest = i;
        for (int d = out->axes - 1; d >= 0; d--) {
            at += step * (out->range[d].first + rest % out->range[d].count);
            step *= out->range[d].axis->size;
            rest /= out->range[d].count;
        }
        for (int k = 0; k < parts; k++) {
            uint64_t bits = grove_random_bits(seed, (uint64_t)at, (uint64_t)k, 0, 0);
            to[parts * i + k] += changes.spread * (grove_random_uniform(bits) - 0.5);
            to[parts * i + k] +=
                meant && (changes.at == -1 || changes.at == at) ? changes.number[k] : 0;
        }
    }
    return code;
}

static int register_parm(grove_classes *classes, grove_error *error)
{
    static const grove_data_functions functions = {.open = open_parm, .read = read_parm};
    const grove_class *parm = grove_classes_find(classes, "parm", error);

    if (!parm)
        return grove_error_count(error) ? grove_error_code(error) : 0;
    grove_class probe = *parm;
    probe.name = "test_parm";
    probe.doc = "A parm with coefficients that change, for tests of classes.";
    probe.data = &functions;
    return grove_classes_add(classes, &probe, error);
}

/* An image of 6 x 5 pixels of 0.001 about the phase centre. */
static int open_image(grove_node *node)
{
    enum { L = 6, M = 5 };
    static const grove_form flux = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .unit = {.Jy = 1}};
    double centre[2][L], width[L], numbers[L * M];
    int code = 0;

    for (int k = 0; k < L; k++) {
        centre[0][k] = 1e-3 * (k - L / 2);
        centre[1][k] = 1e-3 * (k - M / 2);
        width[k] = 1e-3;
    }
    for (int k = 0; k < L * M; k++)
        numbers[k] = (k * 7 % 11 - 5) / 8.0;
    for (int d = 0; d < 2 && !code; d++)
        code = grove_node_add_axis(node, &(grove_axis){.name = d ? "m" : "l",
                                                       .size = d ? M : L,
                                                       .centre = centre[d],
                                                       .width = width});
    return code ? code
                : grove_node_add_member(node, "value", "l m", &flux, numbers, "flux of each pixel");
}

static int register_image(grove_classes *classes, grove_error *error)
{
    static const grove_data_functions functions = {.open = open_image};
    static const grove_class probe = {GROVE_CLASS_HEAD(test_image),
                                      .doc = "An image of the sky, for tests of classes.",
                                      .output_doc = "an object: its member is value",
                                      .group = "data",
                                      .kind = GROVE_CLASS_DATA,
                                      .object = "image",
                                      .data = &functions};

    return grove_classes_add(classes, &probe, error);
}

int grove_probe_register(grove_classes *classes, grove_error *error)
{
    static const grove_data_functions functions = {.open = open_probe, .read = read_probe};
    const grove_class *observe = grove_classes_find(classes, "observe", error);

    if (!observe)
        return grove_error_count(error)
                   ? grove_error_code(error)
                   : grove_fail(error, GROVE_MISSING,
                                "the class 'observe', which tests of classes need, was not found; "
                                "GROVE_PLUGIN_PATH or -p can name the folder that has it");
    grove_class probe = *observe;
    probe.name = "test_observation";
    probe.doc = "An observation with data and flags, for tests of classes.";
    probe.data = &functions;
    int code = grove_classes_add(classes, &probe, error);
    code = code ? code : register_parm(classes, error);
    return code ? code : register_image(classes, error);
}
