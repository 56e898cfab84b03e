/* The classes of test-graph: with axes, roles and units; no kernels run. */
#ifndef GROVE_TESTS_GRAPH_CLASSES_H
#define GROVE_TESTS_GRAPH_CLASSES_H

#include "facts.h"
#include "graph/graph.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void nothing(const grove_args *args, int64_t first, int64_t last)
{
    (void)args;
    (void)first;
    (void)last;
}
static const grove_kernel kernel = {"nothing", nothing, nothing};

/* What the next observation opened is like. */
static double second_time = 2, second_width = 1;
static int32_t last_station = 2;
static const char *last_name = "C";
static const grove_observation_facts *facts; /* NULL: none */

static int open_observation(grove_node *node)
{
    const int32_t left[] = {0, 0, 1}, right[] = {1, 2, last_station};
    const double time[] = {1, second_time}, width[] = {1, second_width}, freq[] = {1e9, 2e9};
    const char *const names[] = {"A", "B", last_name};
    grove_axis axes[] = {{.name = "time", .size = 2, .centre = time, .width = width},
                         {.name = "station", .size = 3, .labels = names},
                         {.name = "baseline", .size = 3, .left = left, .right = right},
                         {.name = "freq", .size = 2, .centre = freq, .width = width}};
    grove_form number = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .unit = {.s = -1}};
    grove_form gain = {.shape = GROVE_MATRIX, .complex_ = true}, delay = {.shape = GROVE_SCALAR};
    grove_form data = {.shape = GROVE_MATRIX, .complex_ = true, .unit = {.Jy = 1}};

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(grove_node_add_axis(node, &axes[i]), 0);
    ck_assert_int_eq(grove_node_add_member(node, "freq", "freq", &number, freq, "Hz"), 0);
    ck_assert_int_eq(grove_node_add_member(node, "gain", "freq station time", &gain, NULL, "g"), 0);
    ck_assert_int_eq(grove_node_add_member(node, "delay", "station", &delay, NULL, "d"), 0);
    ck_assert_int_eq(grove_node_add_member(node, "data", "time baseline freq", &data, NULL, "d"),
                     0);
    return facts ? grove_node_set_observation(node, facts) : 0;
}

static int open_sky(grove_node *node)
{
    grove_axis axis = {.name = "source", .size = 5};
    grove_form flux = {.shape = GROVE_SCALAR, .unit = {.Jy = 1}};
    grove_form jones = {.shape = GROVE_MATRIX, .complex_ = true};

    ck_assert_int_eq(grove_node_add_axis(node, &axis), 0);
    ck_assert_int_eq(grove_node_add_member(node, "flux", "source", &flux, NULL, "Jy"), 0);
    ck_assert_int_eq(grove_node_add_member(node, "jones", "source", &jones, NULL, "J"), 0);
    return 0;
}

static int check_multiply(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0), other = *grove_node_input_form(node, 1);

    form.shape = form.shape > other.shape ? form.shape : other.shape;
    form.complex_ = form.complex_ || other.complex_;
    form.unit.Jy = (int8_t)(form.unit.Jy + other.unit.Jy);
    grove_node_set_output(node, &form);
    return 0;
}

static int check_point(grove_node *node)
{
    grove_form form = {.shape = GROVE_MATRIX, .complex_ = true, .unit = {.Jy = 1}};

    grove_node_set_output(node, &form);
    return 0;
}

static int check_predict(grove_node *node)
{
    grove_node_consume(node, GROVE_AXIS_SOURCE);
    return check_point(node);
}

static int eval_predict(const grove_call *call)
{
    (void)call;
    return 0;
}

static int check_tilt(grove_node *node)
{
    return grove_node_number(node, "angle") > 1
               ? grove_node_fail_option(node, "angle", "%g rad is too steep; at most 1 rad",
                                        grove_node_number(node, "angle"))
               : 0;
}

static const grove_port two[] = {
    {"a", GROVE_VALUE, "left", .shapes = GROVE_JONES, .linear = GROVE_LINEAR},
    {"b", GROVE_VALUE, "right", .shapes = GROVE_JONES, .linear = GROVE_LINEAR},
    {0}};
static const grove_port sky_and_obs[] = {{"sky", GROVE_OBJECT, "sources", .object = "sky"},
                                         {"obs", GROVE_OBJECT, "frame", .object = "observation"},
                                         {0}};
static const grove_port one[] = {{"x", GROVE_VALUE, "what", .shapes = GROVE_JONES}, {0}};
static const grove_port point_options[] = {
    {"flux", GROVE_VALUE_FLUX, "Jy", .initial = "sky.flux"},
    {"data", GROVE_VALUE, "to have baselines", .initial = "obs.data", .shapes = GROVE_JONES},
    {"smear", GROVE_CHOICE, "which", .initial = "none", .choices = "none time freq both"},
    {0}};
static const grove_port predict_options[] = {
    {"flux", GROVE_VALUE_FLUX, "Jy", .initial = "sky.flux"},
    {"data", GROVE_VALUE, "to have baselines", .initial = "obs.data", .shapes = GROVE_JONES},
    {"smear", GROVE_CHOICE, "which", .initial = "none", .choices = "none time freq both"},
    {"left", GROVE_VALUE, "Jones", .initial = "none", .shapes = GROVE_JONES},
    {"right", GROVE_VALUE, "Jones", .initial = "none", .shapes = GROVE_JONES},
    {0}};
static const grove_port over[] = {{"over", GROVE_AXIS_NAMES, "axes", .initial = "none"}, {0}};
static const grove_port tilt_options[] = {
    {"angle", GROVE_ANGLE, "how far, rad", .initial = "0.5rad"},
    {"length", GROVE_VALUE_LENGTH, "m", .initial = "none"},
    {0}};

#define CLASS(class_name, ...)                                                                     \
    static const grove_class class_##class_name = {                                                \
        GROVE_CLASS_HEAD(class_name), .doc = "For tests.", .kernel = &kernel, __VA_ARGS__}

CLASS(observe, .kind = GROVE_CLASS_DATA, .object = "observation",
      .data = &(const grove_data_functions){.open = open_observation});
CLASS(sky_model, .kind = GROVE_CLASS_DATA, .object = "sky",
      .data = &(const grove_data_functions){.open = open_sky});
CLASS(multiply, .role = GROVE_ROLE_PRODUCT, .inputs = two, .check = check_multiply);
CLASS(point, .role = GROVE_ROLE_SOURCE, .fused = "predict", .inputs = sky_and_obs,
      .options = point_options, .check = check_point);
CLASS(predict, .inputs = sky_and_obs, .options = predict_options, .check = check_predict,
      .eval = eval_predict);
CLASS(sum, .inputs = one, .options = over, .kind = GROVE_CLASS_REDUCTION,
      .reduce = GROVE_REDUCE_SUM);
CLASS(hermitian, .role = GROVE_ROLE_HERMITIAN, .inputs = one, .check = NULL,
      .output = GROVE_FORM(.shape = GROVE_MATRIX, .complex_ = true));
CLASS(tilt, .inputs = one, .options = tilt_options, .check = check_tilt);

#undef CLASS

#endif
