/* Small classes for tests of the tree language: with axes, units and options, without computation.
 */
#ifndef GROVE_TESTS_TREE_CLASSES_H
#define GROVE_TESTS_TREE_CLASSES_H

#include "graph/graph.h"

#include <stdlib.h>

static void tree_nothing(const grove_args *args, int64_t first, int64_t last)
{
    (void)args;
    (void)first;
    (void)last;
}
static const grove_kernel tree_kernel = {"nothing", tree_nothing, tree_nothing};

static int tree_open_observation(grove_node *node)
{
    static const int32_t left[] = {0, 0, 1}, right[] = {1, 2, 2};
    static const double time[] = {1, 2}, width[] = {1, 1}, freq[] = {1e9, 2e9};
    grove_axis axes[] = {{.name = "time", .size = 2, .centre = time, .width = width},
                         {.name = "station", .size = 3},
                         {.name = "baseline", .size = 3, .left = left, .right = right},
                         {.name = "freq", .size = 2, .centre = freq, .width = width}};
    grove_form hertz = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .unit = {.s = -1}};
    grove_form metre = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .unit = {.m = 1}};
    grove_form plain = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    grove_form data = {.shape = GROVE_MATRIX, .complex_ = true, .unit = {.Jy = 1}};
    double zeros[8] = {0};
    int code = 0;

    for (int i = 0; i < 4 && !code; i++)
        code = grove_node_add_axis(node, &axes[i]);
    grove_node_add_member(node, "freq", "freq", &hertz, freq, "Hz");
    grove_node_add_member(node, "diameter", "station", &metre, zeros, "m");
    grove_node_add_member(node, "station_index", "station", &plain, zeros, "number");
    grove_node_add_member(node, "data", "time baseline freq", &data, NULL, "Jy");
    return code;
}

static int tree_open_sky(grove_node *node)
{
    grove_axis axis = {.name = "source", .size = 5};
    grove_form flux = {.shape = GROVE_SCALAR, .unit = {.Jy = 1}};
    int code = grove_node_add_axis(node, &axis);

    return code ? code : grove_node_add_member(node, "flux", "source", &flux, NULL, "Jy");
}

/* Shapes of sums and products; units are ignored. */
static int tree_check_product(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0), other = *grove_node_input_form(node, 1);

    form.shape = form.shape > other.shape ? form.shape : other.shape;
    form.complex_ = form.complex_ || other.complex_;
    form.flags = false;
    grove_node_set_output(node, &form);
    return 0;
}

static int tree_check_same(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.flags = false;
    grove_node_set_output(node, &form);
    return 0;
}

static int tree_write(const grove_call *call, const grove_array *const *inputs, int count)
{
    (void)call, (void)inputs;
    (void)count;
    return 0;
}

static const grove_port tree_two[] = {
    {"a", GROVE_VALUE, "left", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR, .group = 1},
    {"b", GROVE_VALUE, "right", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR, .group = 1},
    {0}};
static const grove_port tree_one[] = {{"x", GROVE_VALUE, "what", .shapes = GROVE_ANY_SHAPE}, {0}};
static const grove_port tree_conjugated[] = {
    {"x", GROVE_VALUE, "what", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_ANTILINEAR}, {0}};
static const grove_port tree_sky_obs[] = {{"sky", GROVE_OBJECT, "sources", .object = "sky"},
                                          {"obs", GROVE_OBJECT, "frame", .object = "observation"},
                                          {0}};
static const grove_port tree_obs[] = {{"obs", GROVE_OBJECT, "frame", .object = "observation"}, {0}};
static const grove_port tree_sink_inputs[] = {
    {"value", GROVE_VALUE, "what to write", .shapes = GROVE_ANY_SHAPE},
    {"obs", GROVE_OBJECT, "where", .object = "observation"},
    {0}};

static const grove_port tree_observe_options[] = {
    {"array", GROVE_FILE, "layout", .initial = "vla-c"},
    {"phase_centre", GROVE_DIRECTION, "direction", .initial = "0h0m0s 45d0m0s"},
    {"hour_angle", GROVE_ANGLE_RANGE, "when", .initial = "-1h..1h"},
    {"integration", GROVE_TIME, "s", .initial = "10s"},
    {"frequency", GROVE_FREQUENCY, "Hz", .initial = "1.4GHz"},
    {"channels", GROVE_INTEGER, "how many", .initial = "2"},
    {"channel_width", GROVE_FREQUENCY, "Hz", .initial = "1MHz"},
    {0}};
static const grove_port tree_path[] = {{"path", GROVE_FILE, "file"}, {0}};
static const grove_port tree_beam_options[] = {
    {"diameter", GROVE_VALUE_LENGTH, "m", .initial = "obs.diameter"},
    {"flux", GROVE_VALUE_FLUX, "for its sources", .initial = "sky.flux"},
    {0}};
static const grove_port tree_point_options[] = {
    {"flux", GROVE_VALUE_FLUX, "Jy", .initial = "sky.flux"},
    {"data", GROVE_VALUE, "for its baselines", .initial = "obs.data", .shapes = GROVE_JONES},
    {"smear", GROVE_CHOICE, "which", .initial = "none", .choices = "none time freq both"},
    {0}};
static const grove_port tree_gains_options[] = {
    {"kind", GROVE_CHOICE, "which", .initial = "constant", .choices = "constant sine random_walk"},
    {"amplitude", GROVE_NUMBER, "relative", .initial = "0.1"},
    {"phase", GROVE_ANGLE, "rad", .initial = "10deg"},
    {"seed", GROVE_INTEGER, "of random numbers", .initial = "1"},
    {"station", GROVE_VALUE, "for its stations", .initial = "obs.station_index"},
    {0}};
static const grove_port tree_power_options[] = {{"n", GROVE_VALUE_NUMBER, "exponent"}, {0}};
static const grove_port tree_over[] = {{"over", GROVE_AXIS_NAMES, "axes", .initial = "none"}, {0}};
static const grove_port tree_sink_options[] = {
    {"to", GROVE_TEXT, "path", .initial = "none"},
    {"column", GROVE_TEXT, "which", .initial = "\"DATA\""},
    {"mode", GROVE_CHOICE, "how", .initial = "replace", .choices = "replace add subtract"},
    {"overwrite", GROVE_BOOL, "may replace", .initial = "false"},
    {0}};
static const grove_port tree_odd_options[] = {
    {"x", GROVE_VALUE, "a default that is wrong", .initial = "obs.nothing + nowhere"}, {0}};

#define TREE_CLASS(class_name, ...)                                                                \
    {                                                                                              \
        GROVE_CLASS_HEAD(class_name), .doc = "For tests.", __VA_ARGS__                             \
    }

static const grove_class tree_classes[] = {
    TREE_CLASS(observe, .options = tree_observe_options, .kind = GROVE_CLASS_DATA,
               .object = "observation",
               .data = &(const grove_data_functions){.open = tree_open_observation}),
    TREE_CLASS(ms, .options = tree_path, .kind = GROVE_CLASS_DATA, .object = "observation",
               .data = &(const grove_data_functions){.open = tree_open_observation}),
    TREE_CLASS(sky_model, .options = tree_path, .kind = GROVE_CLASS_DATA, .object = "sky",
               .data = &(const grove_data_functions){.open = tree_open_sky}),
    TREE_CLASS(beam_airy, .inputs = tree_sky_obs, .options = tree_beam_options,
               .kernel = &tree_kernel),
    TREE_CLASS(beam_gaussian, .inputs = tree_sky_obs, .options = tree_beam_options,
               .kernel = &tree_kernel),
    TREE_CLASS(point, .inputs = tree_sky_obs, .options = tree_point_options, .kernel = &tree_kernel,
               .output = GROVE_FORM(.shape = GROVE_MATRIX, .complex_ = true, .unit = {.Jy = 1})),
    TREE_CLASS(gains, .inputs = tree_obs, .options = tree_gains_options, .kernel = &tree_kernel,
               .output = GROVE_FORM(.shape = GROVE_MATRIX, .complex_ = true)),
    TREE_CLASS(brightness, .inputs = tree_sky_obs, .options = tree_point_options,
               .kernel = &tree_kernel),
    TREE_CLASS(add, .role = GROVE_ROLE_SUM, .inputs = tree_two, .check = tree_check_product,
               .kernel = &tree_kernel),
    TREE_CLASS(subtract, .role = GROVE_ROLE_DIFFERENCE, .inputs = tree_two,
               .check = tree_check_product, .kernel = &tree_kernel),
    TREE_CLASS(multiply, .role = GROVE_ROLE_PRODUCT, .inputs = tree_two,
               .check = tree_check_product, .kernel = &tree_kernel),
    TREE_CLASS(divide, .role = GROVE_ROLE_QUOTIENT, .inputs = tree_two, .check = tree_check_product,
               .kernel = &tree_kernel),
    TREE_CLASS(negate, .role = GROVE_ROLE_NEGATIVE, .inputs = tree_one, .check = tree_check_same,
               .kernel = &tree_kernel),
    TREE_CLASS(hermitian, .role = GROVE_ROLE_HERMITIAN, .inputs = tree_conjugated,
               .check = tree_check_same, .kernel = &tree_kernel),
    TREE_CLASS(transpose, .role = GROVE_ROLE_TRANSPOSE, .inputs = tree_one,
               .check = tree_check_same, .kernel = &tree_kernel),
    TREE_CLASS(inverse, .role = GROVE_ROLE_INVERSE, .inputs = tree_one, .check = tree_check_same,
               .kernel = &tree_kernel),
    TREE_CLASS(power, .role = GROVE_ROLE_POWER, .inputs = tree_one, .options = tree_power_options,
               .check = tree_check_same, .kernel = &tree_kernel),
    TREE_CLASS(abs, .inputs = tree_one, .check = tree_check_same, .kernel = &tree_kernel),
    TREE_CLASS(sum, .inputs = tree_one, .options = tree_over, .kind = GROVE_CLASS_REDUCTION,
               .reduce = GROVE_REDUCE_SUM),
    TREE_CLASS(mean, .inputs = tree_one, .options = tree_over, .kind = GROVE_CLASS_REDUCTION,
               .reduce = GROVE_REDUCE_MEAN),
    TREE_CLASS(odd, .inputs = tree_obs, .options = tree_odd_options, .kernel = &tree_kernel),
    TREE_CLASS(sink, .inputs = tree_sink_inputs, .options = tree_sink_options,
               .kind = GROVE_CLASS_ACTION,
               .action = &(const grove_action_functions){.write = tree_write})};

/* A library of these classes only, whatever the environment. */
static inline grove_classes *tree_classes_new(void)
{
    static const char *const nowhere[] = {NULL};

    unsetenv("GROVE_PLUGIN_PATH");
    grove_classes *classes = grove_classes_new(nowhere);

    for (size_t i = 0; i < sizeof(tree_classes) / sizeof(tree_classes[0]); i++)
        if (grove_classes_add(classes, &tree_classes[i], NULL))
            abort();
    return classes;
}

#endif
