/* Calls to nodes: binding, axes, roles, units, merging, and the fusing of sums over sources. */
#include "graph/graph.h"

#include "base/text.h"
#include "graph-classes.h"
#include "tests/common/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a tree for each test ---- */

static grove_tree *tree;
static grove_error *error;
static grove_classes *classes;
static grove_place here = {"test.tree", NULL, 3, 7, 1};

/* Default texts of the classes above: "sky.flux", "obs.data", "0.5rad", and words. */
static int expand(void *context, grove_tree *at, const char *text, const grove_node *scope,
                  const grove_place *place, grove_operand *result)
{
    grove_literal literal = {.kind = GROVE_LITERAL_TEXT, .text = text, .word = true};
    const char *dot = strchr(text, '.');

    (void)context;
    result->kind = GROVE_OPERAND_LITERAL;
    if (dot && text[0] > '9') {
        char name[16] = {0};
        memcpy(name, text, (size_t)(dot - text));
        *result = grove_tree_member(at, grove_node_object(scope, name), dot + 1, place);
        return result->kind == GROVE_OPERAND_NOTHING;
    }
    if (!strcmp(text, "0.5rad"))
        literal = (grove_literal){.kind = GROVE_LITERAL_NUMBER, .number = 0.5, .unit = {.rad = 1}};
    result->literal = grove_arena_copy(at->arena, &literal, sizeof(literal));
    return 0;
}

static const char *operator_class(grove_role role)
{
    return role == GROVE_ROLE_PRODUCT     ? class_multiply.name
           : role == GROVE_ROLE_HERMITIAN ? class_hermitian.name
           : role == GROVE_ROLE_SOURCE    ? class_point.name
                                          : NULL;
}

static void setup(void)
{
    const grove_class *all[] = {&class_observe, &class_sky_model, &class_multiply,  &class_point,
                                &class_predict, &class_sum,       &class_hermitian, &class_tilt};

    error = grove_error_new();
    classes = grove_classes_new((const char *const[]){NULL});
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ck_assert_int_eq(grove_classes_add(classes, all[i], error), 0);
    tree = grove_tree_new();
    tree->error = error;
    tree->classes = classes;
    tree->expand = expand;
    tree->operator_class = operator_class;
}

static void teardown(void)
{
    grove_tree_free(tree);
    grove_classes_free(classes);
    grove_error_free(error);
}

static const grove_class *find(const char *name)
{
    return grove_classes_find(classes, name, error);
}

static grove_operand call(const char *class_name, const char *name, grove_operand a,
                          grove_operand b)
{
    grove_argument arguments[2] = {{.operand = a, .place = here}, {.operand = b, .place = here}};
    size_t count = a.kind == GROVE_OPERAND_NOTHING ? 0 : b.kind == GROVE_OPERAND_NOTHING ? 1 : 2;

    return grove_tree_call(tree, find(class_name), name, &here, arguments, count);
}

static const grove_operand nil;

static grove_operand seen(grove_operand value, char role)
{
    value.role = role;
    return value;
}

static grove_operand number(double value, grove_unit unit)
{
    grove_literal literal = {.kind = GROVE_LITERAL_NUMBER, .number = value, .unit = unit};
    grove_operand operand = {.kind = GROVE_OPERAND_LITERAL};

    operand.literal = grove_arena_copy(tree->arena, &literal, sizeof(literal));
    return operand;
}

static grove_operand word(const char *text)
{
    grove_literal literal = {.kind = GROVE_LITERAL_TEXT, .text = text, .word = true};
    grove_operand operand = {.kind = GROVE_OPERAND_LITERAL};

    operand.literal = grove_arena_copy(tree->arena, &literal, sizeof(literal));
    return operand;
}

static grove_operand member(grove_operand object, const char *name)
{
    return grove_tree_member(tree, object.node, name, &here);
}

static const char *axes_of(const grove_node *node)
{
    static char text[200];

    text[0] = 0;
    for (int i = 0; i < node->axis_count; i++)
        sprintf(text + strlen(text), "%s ", node->axes[i]->name);
    return text;
}

static grove_operand sum_source(grove_operand x)
{
    grove_argument arguments[2] = {{.operand = x, .place = here},
                                   {.name = "over", .operand = word("source"), .place = here}};

    return grove_tree_call(tree, find("sum"), NULL, &here, arguments, 2);
}

/* ---- tests ---- */

TEST(axes_are_united_in_storage_order)
{
    grove_operand obs = call("observe", "obs", nil, nil), sky = call("sky_model", "S", nil, nil);
    grove_operand gain = member(obs, "gain");

    ck_assert_str_eq(axes_of(gain.node), "time station freq ");
    grove_operand product = call("multiply", NULL, gain, member(sky, "flux"));
    ck_assert_str_eq(axes_of(product.node), "source time station freq ");
    ck_assert_int_eq(product.node->form.unit.Jy, 1);
    ck_assert_int_eq(product.role, 0);
}

TEST(stations_meet_baselines_by_their_side)
{
    grove_operand obs = call("observe", "obs", nil, nil), gain = member(obs, "gain");
    grove_operand both = call("multiply", NULL, seen(gain, 'p'), seen(gain, 'q'));
    grove_operand left = call("multiply", NULL, seen(gain, 'p'), member(obs, "data"));
    grove_operand same = call("multiply", NULL, seen(gain, 'q'), seen(gain, 'q'));

    ck_assert_str_eq(axes_of(both.node), "time baseline freq ");
    ck_assert_int_eq(both.node->inputs[0].side, 'p');
    ck_assert_int_eq(both.node->inputs[1].side, 'q');
    ck_assert_str_eq(axes_of(left.node), "time baseline freq ");
    ck_assert_int_eq(left.node->inputs[0].side, 'p');
    ck_assert_int_eq(left.node->inputs[1].side, 0);
    /* two values of one side stay at station level, and have that side */
    ck_assert_str_eq(axes_of(same.node), "time station freq ");
    ck_assert_int_eq(same.node->inputs[0].side, 0);
    ck_assert_int_eq(same.role, 'q');
    ck_assert_int_eq((int)grove_error_count(error), 0);
    /* and seen from the other side they are the same node */
    ck_assert_ptr_eq(call("multiply", NULL, seen(gain, 'p'), seen(gain, 'p')).node, same.node);
}

TEST(a_station_value_without_side_is_an_error)
{
    grove_operand obs = call("observe", "obs", nil, nil);
    grove_operand result = call("multiply", NULL, member(obs, "gain"), member(obs, "data"));

    ck_assert_int_eq(result.kind, GROVE_OPERAND_NOTHING);
    ck_assert_str_eq(
        grove_error_message(error, 0),
        "multiply: 'obs.gain' varies with station, and this value varies with baseline; write "
        "obs.gain[p] or obs.gain[q] to choose the station of the baseline");
}

TEST(equal_calls_are_one_node)
{
    grove_operand obs = call("observe", "obs", nil, nil), again = call("observe", NULL, nil, nil);
    grove_operand gain = seen(member(obs, "gain"), 'p');

    ck_assert_ptr_eq(obs.node, again.node);
    ck_assert_ptr_eq(call("multiply", NULL, gain, gain).node,
                     call("multiply", "J", gain, gain).node);
    ck_assert_str_eq(call("multiply", NULL, gain, gain).node->name, "J");
    ck_assert_ptr_ne(call("multiply", NULL, gain, member(obs, "data")).node,
                     call("multiply", NULL, member(obs, "data"), gain).node);
}

static grove_operand other_observation(void)
{
    static grove_class other;

    other = class_observe;
    other.name = "other";
    ck_assert_int_eq(grove_classes_add(classes, &other, error), 0);
    return call("other", "obs2", nil, nil);
}

/* What differs between two observations, and how that is said. */
static const struct {
    double time, width;
    int32_t station;
    const char *name, *axis, *said;
} others[] = {
    {2 - 1e-7, 1, 2, "C", NULL, NULL},
    {2, 1, 2, "C", NULL, NULL},
    {2.5, 1, 2, "C", "time", "time 1 is at 2.5 in one, at 2 in the other"},
    {2, 0.5, 2, "C", "time", "time 1 is 0.5 wide in one, 1 in the other"},
    {2, 1, 0, "C", "baseline", "baseline 2 has the stations 1 and 0 in one, 1 and 2 in the other"},
    {2, 1, 2, "D", "baseline", "their baselines have different stations"},
};

LOOP_TEST(two_observations, 0, sizeof(others) / sizeof(others[0]))
{
    grove_operand obs = call("observe", "obs", nil, nil);
    char wanted[200];

    second_time = others[_i].time;
    second_width = others[_i].width;
    last_station = others[_i].station;
    last_name = others[_i].name;
    grove_operand second = other_observation();
    second_time = 2;
    second_width = 1;
    last_station = 2;
    last_name = "C";
    grove_operand result = call("multiply", NULL, member(obs, "data"), member(second, "data"));
    if (!others[_i].said) {
        ck_assert_int_eq(result.kind, GROVE_OPERAND_NODE);
        ck_assert_int_eq(result.node->axis_count, 3);
        for (size_t k = 0; k < 4; k++)
            ck_assert(second.node->own_axes[k] == obs.node->own_axes[k]);
        ck_assert_str_eq(grove_tree_axis_name(tree, second.node->own_axes[0]), "time");
        return;
    }
    ck_assert_int_eq(result.kind, GROVE_OPERAND_NOTHING);
    snprintf(wanted, sizeof(wanted),
             "multiply: 'b' has the %s axis of 'obs2', the inputs before it have the axis of "
             "'obs'; both must be the same, but they differ: %s",
             others[_i].axis, others[_i].said);
    ck_assert_str_eq(grove_error_message(error, 0), wanted);
    ck_assert(second.node->own_axes[3] == obs.node->own_axes[3] || others[_i].width != 1);
}

static const struct {
    const char *option;
    double value;
    grove_unit unit;
    const char *message;
} bad_options[] = {
    {"angle", 3, {.s = 1}, "tilt: option 'angle' must be an angle, got 3 s"},
    {"angle", 2, {.rad = 1}, "tilt: angle: 2 rad is too steep; at most 1 rad"},
    {"angel", 1, {.rad = 1}, "tilt: no option 'angel'; did you mean 'angle'?"},
    {"length", 25, {.s = 1}, "tilt: option 'length' must be a length, got 25 s"},
    {"zzzzz", 1, {0}, "tilt: no option 'zzzzz'"},
};

LOOP_TEST(bad_options_say_what_is_wrong, 0, sizeof(bad_options) / sizeof(bad_options[0]))
{
    grove_operand obs = call("observe", "obs", nil, nil);
    grove_argument arguments[2] = {{.operand = member(obs, "data"), .place = here},
                                   {.name = bad_options[_i].option,
                                    .operand = number(bad_options[_i].value, bad_options[_i].unit),
                                    .place = here}};

    ck_assert_int_eq(grove_tree_call(tree, find("tilt"), NULL, &here, arguments, 2).kind,
                     GROVE_OPERAND_NOTHING);
    ck_assert_uint_eq(grove_error_count(error), 1);
    ck_assert_str_eq(grove_error_message(error, 0), bad_options[_i].message);
}

TEST(missing_and_wrong_objects_say_so)
{
    grove_operand obs = call("observe", "obs", nil, nil);

    ck_assert_int_eq(call("point", NULL, obs, obs).kind, GROVE_OPERAND_NOTHING);
    ck_assert_str_eq(grove_error_message(error, 0),
                     "point: input 'sky' must be a sky, got 'obs' (observe)");
    grove_error_clear(error);
    call("point", NULL, nil, nil);
    ck_assert_str_eq(grove_error_message(error, 0),
                     "point: its sky is missing: input 'sky' must be a sky");
    grove_error_clear(error);
    ck_assert_int_eq(member(obs, "dat").kind, GROVE_OPERAND_NOTHING);
    ck_assert_str_eq(grove_error_message(error, 0),
                     "'obs' (observe) has no member 'dat'; did you mean 'data'?");
}

TEST(a_reduction_needs_the_axis)
{
    grove_operand obs = call("observe", "obs", nil, nil);

    ck_assert_int_eq(sum_source(member(obs, "data")).kind, GROVE_OPERAND_NOTHING);
    ck_assert_str_eq(grove_error_message(error, 0),
                     "sum: 'obs.data' does not vary along 'source'; it has time, baseline, freq");
}

/* The sum over sources of `body` as an action's input, rewritten; what stands in its place. */
static grove_node *rewritten(grove_operand body)
{
    grove_operand sum = sum_source(body);
    grove_operand user = call("tilt", "user", sum, nil);

    ck_assert_msg(user.kind == GROVE_OPERAND_NODE, "%s", grove_error_message(error, 0));
    ck_assert_int_eq(grove_tree_finish(tree), 0);
    return user.node->inputs[0].node;
}

static bool is(const grove_node *node, const char *class_name)
{
    return node && node->class_ && !strcmp(node->class_->name, class_name);
}

LOOP_TEST(a_product_with_a_point_is_fused, 0, 2)
{
    grove_operand obs = call("observe", "obs", nil, nil), sky = call("sky_model", "S", nil, nil);
    grove_operand point = call("point", NULL, sky, obs), gain = member(obs, "gain");
    grove_operand jones = call("multiply", "J", member(sky, "jones"), gain);
    grove_operand other = call("multiply", "O", gain, member(sky, "jones"));
    grove_operand left = call("multiply", NULL, seen(jones, 'p'), point);
    grove_node *fused;

    /* left-bracketed or right-bracketed, it is the same */
    if (_i == 0)
        fused = rewritten(call("multiply", NULL, left, seen(other, 'q')));
    else
        fused = rewritten(call("multiply", NULL, seen(jones, 'p'),
                               call("multiply", NULL, point, seen(other, 'q'))));
    ck_assert(is(fused, "predict"));
    ck_assert_str_eq(axes_of(fused), "time baseline freq ");
    int k = grove_node_input(fused, "left"), q = grove_node_input(fused, "right");
    ck_assert_ptr_eq(fused->inputs[k].node, jones.node);
    ck_assert_int_eq(fused->inputs[k].side, 'p');
    ck_assert_ptr_eq(fused->inputs[q].node, other.node);
    ck_assert_int_eq(fused->inputs[q].side, 'q');
}

TEST(factors_without_source_leave_the_sum)
{
    grove_operand obs = call("observe", "obs", nil, nil), sky = call("sky_model", "S", nil, nil);
    grove_operand point = call("point", NULL, sky, obs), gain = member(obs, "gain");
    grove_node *outer = rewritten(call("multiply", NULL, seen(gain, 'p'),
                                       call("multiply", NULL, number(2, GROVE_UNIT_NONE), point)));

    /* G (2 predict) */
    ck_assert(is(outer, "multiply"));
    ck_assert_ptr_eq(outer->inputs[0].node, gain.node);
    ck_assert(is(outer->inputs[1].node, "multiply"));
    ck_assert(is(outer->inputs[1].node->inputs[1].node, "predict"));
    const grove_node *two_node = outer->inputs[1].node->inputs[0].node;
    while (two_node->kind == GROVE_NODE_CAST)
        two_node = two_node->inputs[0].node;
    ck_assert_double_eq(two_node->constant->number, 2);
}

/* V[p,q] between factors of p at the left and of q at the right. */
TEST(stations_stand_at_their_sides)
{
    grove_operand obs = call("observe", "obs", nil, nil), data = member(obs, "data");
    grove_operand jones = member(obs, "gain"), scalar = member(obs, "delay");
    const struct {
        grove_operand a, b;
        bool good;
    } cases[] = {
        {seen(jones, 'p'), data, true},
        {data, seen(jones, 'q'), true},
        {seen(jones, 'p'), seen(jones, 'q'), true},
        {seen(jones, 'q'), call("hermitian", NULL, data, nil), true},
        {call("hermitian", NULL, data, nil), seen(jones, 'p'), true},
        {call("hermitian", NULL, data, nil), data, true},
        {data, data, true},
        {seen(scalar, 'q'), data, true},
        {data, seen(scalar, 'p'), true},
        {call("multiply", NULL, seen(jones, 'p'), seen(scalar, 'q')), seen(jones, 'q'), true},
        {seen(jones, 'q'), data, false},
        {data, seen(jones, 'p'), false},
        {seen(jones, 'q'), seen(jones, 'p'), false},
        {seen(jones, 'p'), call("hermitian", NULL, data, nil), false},
        {call("multiply", NULL, seen(jones, 'p'), data), seen(jones, 'p'), false},
        {call("multiply", NULL, seen(scalar, 'p'), data), seen(jones, 'p'), false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        grove_error_clear(error);
        grove_operand product = call("multiply", NULL, cases[i].a, cases[i].b);
        ck_assert_msg((product.kind == GROVE_OPERAND_NODE) == cases[i].good, "case %zu: %s", i,
                      grove_error_count(error) ? grove_error_message(error, 0) : "accepted");
    }
}

TEST(what_cannot_be_fused_says_why)
{
    grove_operand obs = call("observe", "obs", nil, nil), sky = call("sky_model", "S", nil, nil);
    grove_node *sum = rewritten(call("multiply", NULL, member(sky, "jones"), member(obs, "data")));

    ck_assert(is(sum, "sum"));
    ck_assert_str_eq(sum->note,
                     "not fused, summed in chunks: there is no point(...) in the product, nor the "
                     "phase(...) of both stations, K[s,p] and K[s,q]^H");
}

static bool is_good(const grove_class *class_, const char *name)
{
    grove_class *copy = grove_class_new(class_, name, error);
    bool good = copy != NULL;

    free(copy);
    return good;
}

TEST(descriptors_are_checked)
{
    grove_class bad = class_tilt;

    ck_assert(is_good(&bad, "tilt"));
    bad.abi_major++;
    ck_assert(!is_good(&bad, "tilt"));
    bad = class_tilt;
    bad.abi_minor++;
    ck_assert(!is_good(&bad, "tilt"));
    bad.abi_minor -= 2; /* an older one does neither, while the major number is 0 */
    ck_assert(!is_good(&bad, "tilt"));
    bad = class_tilt;
    bad.doc = "";
    ck_assert(!is_good(&bad, "tilt"));
    bad = class_tilt;
    ck_assert(!is_good(&bad, "tilted"));
    grove_port input[] = {{"x", GROVE_VALUE, "what", .initial = "1"}, {0}};
    bad.inputs = input;
    ck_assert(!is_good(&bad, "tilt"));
    ck_assert_ptr_nonnull(strstr(grove_error_message(error, 5), "'x' has a default; make it an"));
    bad = class_tilt;
    grove_port option[] = {{"o", GROVE_BOOL, "what", .optional = true}, {0}};
    bad.options = option;
    ck_assert(!is_good(&bad, "tilt"));
    ck_assert_ptr_nonnull(strstr(grove_error_message(error, 6), "with .initial = \"none\""));
}

/* Of a plugin that was compiled with other headers of the same number: of each structure. */
LOOP_TEST(sizes_are_checked, 0, 10)
{
    const int change = _i % 2 ? 8 : -8;
    grove_class other = class_tilt;
    uint16_t *const sizes[] = {&other.port_size, &other.form_size, &other.axis_size,
                               &other.kernel_size};

    if (_i / 2 < 4)
        *sizes[_i / 2] = (uint16_t)(*sizes[_i / 2] + change);
    else
        other.struct_size += (uint32_t)change;
    ck_assert(!is_good(&other, "tilt"));
    ck_assert_ptr_nonnull(strstr(grove_error_message(error, 0), "build it again"));
}

/* An observation without facts has all unknown; facts are copied; their size is required. */
TEST(facts_of_an_observation)
{
    static grove_class unsized;
    char telescope[] = "WSRT";
    grove_observation_facts of =
        GROVE_OBSERVATION_FACTS(.telescope = telescope, .rows_share = 0.5, .field = 3);
    const grove_node *plain = call("observe", "plain", nil, nil).node;

    ck_assert(!grove_node_observation(plain)->telescope && !grove_node_observation(plain)->rows);
    ck_assert_double_eq(grove_node_observation(plain)->rows_share, 1);
    ck_assert_ptr_null(grove_node_observation(call("sky_model", "S", nil, nil).node));
    ck_assert_ptr_null(grove_node_observation(NULL));
    facts = &of;
    const grove_node *obs = other_observation().node;
    telescope[0] = 'X';
    ck_assert_str_eq(grove_node_observation(obs)->telescope, "WSRT");
    ck_assert_int_eq(grove_node_observation(obs)->field, 3);
    ck_assert_double_eq(grove_node_observation(obs)->rows_share, 0.5);
    ck_assert_double_eq(grove_node_observation(obs)->runs_share, 1);
    of.size = 0;
    unsized = class_observe;
    unsized.name = "unsized";
    ck_assert_int_eq(grove_classes_add(classes, &unsized, error), 0);
    ck_assert_int_eq(call("unsized", NULL, nil, nil).kind, GROVE_OPERAND_NOTHING);
    ck_assert_ptr_nonnull(strstr(grove_error_message(error, 0), "facts of the observation"));
}

SUITE(60, setup, teardown)
