/* The sky model of random trees: any number of sources, with the members of sky_model and more. */
#include "random_members.h"

#include <stdio.h>

static const grove_port options[] = {
    {"seed", GROVE_INTEGER, "of all numbers", .initial = "0"},
    {"sources", GROVE_INTEGER, "size of the axis", .initial = "3"},
    {"flagging", GROVE_INTEGER, "which samples: see random-tree-data.h", .initial = "0"},
    {0},
};

static int add_axis(grove_node *node, int64_t seed, int64_t sources)
{
    char **labels = calloc((size_t)sources + 1, sizeof(*labels));
    int code;

    for (int64_t i = 0; i < sources; i++) {
        labels[i] = calloc(48, 1);
        snprintf(labels[i], 48, "%lld.%lld", (long long)seed, (long long)i);
    }
    grove_axis axis = {.name = "source",
                       .kind = GROVE_AXIS_SOURCE,
                       .size = sources,
                       .labels = (const char *const *)labels};
    code = grove_node_add_axis(node, &axis);
    for (int64_t i = 0; i < sources; i++)
        free(labels[i]);
    free(labels);
    return code;
}

static int add_sources(grove_node *node, int64_t seed, int64_t sources)
{
    static const grove_unit none = {0}, jansky = {.Jy = 1}, hertz = {.s = -1}, radian = {.rad = 1};
    static const struct {
        const char *name;
        int vector, first; /* first: its place among the numbers of random_source */
        const grove_unit *unit;
    } all[] = {
        {"radec", 2, 0, &radian},
        {"stokes", 4, 2, &jansky},
        {"reference_frequency", 0, 6, &hertz},
        {"spectrum", 2, 7, &none},
        {"logarithmic", 0, 9, &none},
        {"rotation_measure", 0, 10, &none},
        {"shape", 3, 11, &radian},
        {"rotation_reference", 0, -1, &none},
        {"absolute_angle", 0, -1, &none},
    };
    double *x = calloc((size_t)sources * 4 + 1, sizeof(*x));
    int code = 0;

    for (size_t m = 0; m < sizeof(all) / sizeof(all[0]) && !code; m++) {
        int elements = all[m].vector ? all[m].vector : 1;
        grove_form form = {.shape = all[m].vector ? GROVE_VECTOR : GROVE_SCALAR,
                           .vector = all[m].vector,
                           .precision = GROVE_PRECISION_DOUBLE,
                           .unit = *all[m].unit};
        for (int64_t i = 0; i < sources; i++) {
            random_source s = random_source_of(seed, i);
            double numbers[14];
            memcpy(numbers, &s, sizeof(numbers));
            for (int e = 0; e < elements; e++)
                x[i * elements + e] = all[m].first < 0 ? 0 : numbers[all[m].first + e];
        }
        code = grove_node_add_member(node, all[m].name, "source", &form, x, "of sources");
    }
    free(x);
    return code;
}

static int open_sky(grove_node *node)
{
    int64_t seed = grove_node_integer(node, "seed"), sources = grove_node_integer(node, "sources");
    int code = add_axis(node, seed, sources);

    if (!code)
        code = add_sources(node, seed, sources);
    return code ? code : members_add(node, seed, random_sky_members, RANDOM_SKY_MEMBERS);
}

static int read_sky(const grove_call *call, const char *member, grove_array *out)
{
    const grove_node *node = call->node;
    members_read(grove_node_integer(node, "seed"), (int)grove_node_integer(node, "flagging"),
                 random_sky_members, member, out);
    return 0;
}

GROVE_CLASS(random_sky) = {
    GROVE_CLASS_HEAD(random_sky),
    .doc = "A sky model for tests.",
    .output_doc = "a sky model",
    .group = "tests",
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "sky",
    .data = &(const grove_data_functions){.open = open_sky, .read = read_sky},
    .example = "S = random_sky(seed=1, sources=3)",
};
