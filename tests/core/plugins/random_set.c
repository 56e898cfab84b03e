/* The observation of random trees: axes of any size, members of every shape with known numbers. */
#include "plugin.h"
#include "tests/core/random-tree-data.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t seed;
    int flagging, times, channels, stations, baselines;
    int32_t left[RANDOM_MAX_BASELINES], right[RANDOM_MAX_BASELINES];
} set;

static const grove_port options[] = {
    {"seed", GROVE_INTEGER, "of all numbers", .initial = "0"},
    {"times", GROVE_INTEGER, "size of the axis", .initial = "3"},
    {"channels", GROVE_INTEGER, "size of the axis", .initial = "3"},
    {"stations", GROVE_INTEGER, "size of the axis, at most 8", .initial = "3"},
    {"layout", GROVE_INTEGER, "which baselines: see random-tree-data.h", .initial = "0"},
    {"flagging", GROVE_INTEGER, "which samples: see random-tree-data.h", .initial = "0"},
    {0},
};

static int add_axes(grove_node *node, const set *s)
{
    int64_t size[] = {s->times, s->stations, s->baselines, s->channels};
    static const char *const names[] = {"time", "station", "baseline", "freq"};
    static const int kinds[] = {GROVE_AXIS_TIME, GROVE_AXIS_STATION, GROVE_AXIS_BASELINE,
                                GROVE_AXIS_FREQ};
    int code = 0;

    for (int d = 0; d < 4 && !code; d++) {
        double *centre = calloc((size_t)size[d] + 1, sizeof(double));
        double *width = calloc((size_t)size[d] + 1, sizeof(double));
        grove_axis axis = {.name = names[d], .kind = kinds[d], .size = size[d]};
        for (int64_t i = 0; i < size[d]; i++) {
            centre[i] = d == 0 ? random_time(i) : random_freq(s->seed, i);
            width[i] = d == 0 ? RANDOM_INTERVAL : RANDOM_WIDTH;
        }
        if (d == 0 || d == 3) {
            axis.centre = centre;
            axis.width = width;
        }
        if (d == 2) {
            axis.left = s->left;
            axis.right = s->right;
        }
        code = grove_node_add_axis(node, &axis);
        free(centre);
        free(width);
    }
    return code;
}

/* ---- coordinates ---- */

static const grove_unit none = {0}, metre = {.m = 1}, second = {.s = 1}, hertz = {.s = -1},
                        speed = {.m = 1, .s = -1}, radian = {.rad = 1};

typedef double coordinate(const set *s, const int64_t at[2], int e);

static double time_of(const set *s, const int64_t at[2], int e)
{
    (void)s;
    (void)e;
    return random_time(at[0]);
}

static double interval_of(const set *s, const int64_t at[2], int e)
{
    (void)s;
    (void)at;
    (void)e;
    return RANDOM_INTERVAL;
}

static double freq_of(const set *s, const int64_t at[2], int e)
{
    (void)s;
    (void)e;
    return random_freq(s->seed, at[0]);
}

static double width_of(const set *s, const int64_t at[2], int e)
{
    (void)s;
    (void)at;
    (void)e;
    return RANDOM_WIDTH;
}

static double uvw_of(const set *s, const int64_t at[2], int e)
{
    return random_uvw(s->seed, s->left[at[1]], at[0], e, false) -
           random_uvw(s->seed, s->right[at[1]], at[0], e, false);
}

static double rate_of(const set *s, const int64_t at[2], int e)
{
    return random_uvw(s->seed, s->left[at[1]], at[0], e, true) -
           random_uvw(s->seed, s->right[at[1]], at[0], e, true);
}

static double station_of(const set *s, const int64_t at[2], int e)
{
    return random_uvw(s->seed, at[1], at[0], e, false);
}

static double index_of(const set *s, const int64_t at[2], int e)
{
    (void)s;
    (void)e;
    return (double)at[0];
}

static double centre_of(const set *s, const int64_t at[2], int e)
{
    (void)s;
    (void)at;
    return random_centre[e];
}

static double pair_of(const set *s, const int64_t at[2], int e)
{
    return e ? s->right[at[0]] : s->left[at[0]];
}

static double feed_of(const set *s, const int64_t at[2], int e)
{
    (void)at;
    (void)e;
    return (double)(s->seed % 2);
}

static int add_coordinates(grove_node *node, const set *s)
{
    const int t = s->times, b = s->baselines, p = s->stations, f = s->channels;
    const struct {
        const char *name, *axes;
        int size[2], vector;
        grove_unit unit;
        coordinate *number;
    } all[] = {{"time", "time", {t, 1}, 0, second, time_of},
               {"interval", "time", {t, 1}, 0, second, interval_of},
               {"freq", "freq", {f, 1}, 0, hertz, freq_of},
               {"channel_width", "freq", {f, 1}, 0, hertz, width_of},
               {"uvw", "time baseline", {t, b}, 3, metre, uvw_of},
               {"uvw_rate", "time baseline", {t, b}, 3, speed, rate_of},
               {"station_uvw", "time station", {t, p}, 3, metre, station_of},
               {"station_index", "station", {p, 1}, 0, none, index_of},
               {"baseline", "baseline", {b, 1}, 2, none, pair_of},
               {"phase_centre", "", {1, 1}, 2, radian, centre_of},
               {"feed", "", {1, 1}, 0, none, feed_of}};
    int code = 0;

    for (size_t m = 0; m < sizeof(all) / sizeof(all[0]) && !code; m++) {
        int elements = all[m].vector ? all[m].vector : 1;
        double *x = calloc((size_t)(all[m].size[0] * all[m].size[1] * elements) + 1, sizeof(*x));
        grove_form form = {.shape = all[m].vector ? GROVE_VECTOR : GROVE_SCALAR,
                           .vector = all[m].vector,
                           .precision = GROVE_PRECISION_DOUBLE,
                           .unit = all[m].unit};
        int64_t n = 0;
        for (int64_t i = 0; i < all[m].size[0]; i++)
            for (int64_t j = 0; j < all[m].size[1]; j++)
                for (int e = 0; e < elements; e++)
                    x[n++] = all[m].number(s, (const int64_t[2]){i, j}, e);
        code = grove_node_add_member(node, all[m].name, all[m].axes, &form, x, "a coordinate");
        free(x);
    }
    return code;
}

#include "random_members.h"

static int open_set(grove_node *node)
{
    set *s = calloc(1, sizeof(*s));

    s->seed = grove_node_integer(node, "seed");
    s->flagging = (int)grove_node_integer(node, "flagging");
    s->times = (int)grove_node_integer(node, "times");
    s->channels = (int)grove_node_integer(node, "channels");
    s->stations = (int)grove_node_integer(node, "stations");
    if (s->stations > RANDOM_MAX_STATIONS) {
        free(s);
        return grove_node_fail_option(node, "stations", "at most 8");
    }
    s->baselines =
        random_pairs((int)grove_node_integer(node, "layout"), s->stations, s->left, s->right);
    grove_node_set_user(node, s);
    int code = add_axes(node, s);
    if (!code)
        code = add_coordinates(node, s);
    return code ? code : members_add(node, s->seed, random_set_members, RANDOM_SET_MEMBERS);
}

static int read_set(const grove_call *call, const char *member, grove_array *out)
{
    const set *s = grove_node_user(call->node);

    members_read(s->seed, s->flagging, random_set_members, member, out);
    return 0;
}

static void close_set(grove_node *node)
{
    free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(random_set) = {
    GROVE_CLASS_HEAD(random_set),
    .doc = "An observation for tests.",
    .output_doc = "an observation",
    .group = "tests",
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_set, .read = read_set},
    .close = close_set,
    .example = "obs = random_set(seed=1, times=3)",
};
