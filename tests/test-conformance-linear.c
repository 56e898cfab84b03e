/* What every node class says of its linear inputs holds: the result scales with each group of them,
 * by the factor, by its conjugate, or by real factors only, and is the sum of those of two terms.
 */
#include "example.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 64 };
#define TOLERANCE 1e-12

static testing t;
static const grove_class *class_;

static void setup(void)
{
    example_begin(&t);
    t.double_precision = true;
}

static void teardown(void)
{
    example_end(&t);
}

/* What the class says of value input k. */
static grove_input declared(int k)
{
    for (const grove_input *in = class_->inputs; in && in->name; in++)
        if (in->kind != GROVE_OBJECT && k-- == 0)
            return *in;
    for (const grove_option *op = class_->options; op && op->name; op++)
        if (op->kind >= GROVE_VALUE && k-- == 0)
            return (grove_input){.name = op->name, .linear = op->linear, .group = op->group};
    return (grove_input){0};
}

static int count_declared(void)
{
    int count = 0;

    while (declared(count).name)
        count++;
    return count;
}

/* Inputs that scale together with k, itself among them. */
static unsigned together(const grove_node *node, int k)
{
    unsigned group = 1u << k;

    for (int i = 0; i < node->input_count && declared(k).group; i++)
        if (declared(i).group == declared(k).group && node->inputs[i].node)
            group |= 1u << i;
    return group;
}

/* ---- numbers of either precision ---- */

static double complex get(const testing_array *a, int64_t i)
{
    double re = a->bytes == 8 ? ((double *)a->data)[i * a->parts]
                              : (double)((float *)a->data)[i * a->parts];
    double im = 0;

    if (a->parts == 2)
        im = a->bytes == 8 ? ((double *)a->data)[2 * i + 1] : (double)((float *)a->data)[2 * i + 1];
    return CMPLX(re, im);
}

static void put(const testing_array *a, int64_t i, double complex x)
{
    double parts[2] = {creal(x), cimag(x)};

    for (int k = 0; k < a->parts; k++)
        if (a->bytes == 8)
            ((double *)a->data)[i * a->parts + k] = parts[k];
        else
            ((float *)a->data)[i * a->parts + k] = (float)parts[k];
}

static int64_t count_numbers(const testing_array *a)
{
    return a->cells * a->elements;
}

static double complex *all_numbers(const testing_array *a)
{
    double complex *list = calloc((size_t)count_numbers(a) + 1, sizeof(*list));

    for (int64_t i = 0; i < count_numbers(a); i++)
        list[i] = get(a, i);
    return list;
}

/* Another value of the same size. */
static double complex other_number(double complex x, int64_t i, int parts)
{
    double complex y = 0.7 * x + 0.1 * cabs(x) * cos((double)(3 * i + 1));

    return parts == 2 ? y + CMPLX(0, 0.2) * cabs(x) * sin((double)(5 * i + 2)) : y;
}

typedef enum { AS_IT_IS, SCALED, OTHER, ADDED } setting;

/* The result with the inputs of `group` changed. Caller frees. */
static double complex *result(const grove_node *node, testing_call *call, unsigned group,
                              setting set, double complex factor)
{
    double complex *before[GROVE_MAX_INPUTS] = {NULL};

    for (int k = 0; k < node->input_count; k++) {
        const testing_array *a = &call->in[k];
        if (!(group >> k & 1))
            continue;
        before[k] = all_numbers(a);
        for (int64_t i = 0; i < count_numbers(a); i++) {
            double complex x = before[k][i], y = other_number(x, i, a->parts);
            put(a, i, set == SCALED ? factor * x : set == OTHER ? y : set == ADDED ? x + y : x);
        }
    }
    testing_call_run(node, &call->args);
    for (int k = 0; k < node->input_count; k++)
        for (int64_t i = 0; before[k] && i < count_numbers(&call->in[k]); i++)
            put(&call->in[k], i, before[k][i]);
    for (int k = 0; k < node->input_count; k++)
        free(before[k]);
    return all_numbers(&call->out);
}

/* False: all numbers are 0, which shows nothing. */
static bool is_near(const double complex *got, const double complex *wanted, int64_t count, int k,
                    const char *what)
{
    double difference = 0, norm = 0;

    for (int64_t i = 0; i < count; i++) {
        difference += pow(cabs(got[i] - wanted[i]), 2);
        norm += pow(cabs(wanted[i]), 2);
    }
    ck_assert_msg(sqrt(difference) <= TOLERANCE * sqrt(norm),
                  "%s: '%s' is not linear as it says: %s is %g off", class_->name, declared(k).name,
                  what, sqrt(difference / norm));
    return norm > 0;
}

/* False: that shows nothing. */
static bool check_input(grove_node *node, int k)
{
    testing_call call;
    unsigned group = together(node, k);
    double complex factor = CMPLX(0.75, -0.5);

    testing_call_begin(&t, node, &call);
    for (int i = 0; i < node->input_count; i++)
        if (group >> i & 1 && call.in[i].parts == 1)
            factor = -1.25; /* real numbers stay real */
    if (declared(k).linear == GROVE_REAL_LINEAR)
        factor = -1.25;
    int64_t count = count_numbers(&call.out);
    double complex *plain = result(node, &call, group, AS_IT_IS, 1);
    double complex *scaled = result(node, &call, group, SCALED, factor);
    double complex *other = result(node, &call, group, OTHER, 1);
    double complex *added = result(node, &call, group, ADDED, 1);
    if (declared(k).linear == GROVE_ANTILINEAR)
        factor = conj(factor);
    for (int64_t i = 0; i < count; i++) {
        other[i] += plain[i];
        plain[i] *= factor;
    }
    bool shows = is_near(scaled, plain, count, k, "what is scaled");
    shows = is_near(added, other, count, k, "the sum of two") && shows;
    free(plain);
    free(scaled);
    free(other);
    free(added);
    testing_call_end(&call);
    return shows;
}

/* ---- reductions and selections, which have no code of their own ---- */

static const char *const more = "a = %s(D)\n"
                                "b = %s(complex(0.75, -0.5) * D)\n"
                                "c = %s(D + D * D)\n"
                                "d = %s(D * D)\n"
                                "D = obs.data / 100Jy\n";

static void check_by_name(void)
{
    char text[512];

    snprintf(text, sizeof(text), more, class_->name, class_->name, class_->name, class_->name);
    ck_assert_msg(example_try(&t, text), "%s", grove_error_message(t.error, 0));
    testing_value a = testing_evaluate(&t, "a"), b = testing_evaluate(&t, "b");
    testing_value c = testing_evaluate(&t, "c"), d = testing_evaluate(&t, "d");
    for (int64_t i = 0; i < a.cells * a.elements; i++) {
        d.at[i] += a.at[i];
        a.at[i] *= CMPLX(0.75, -0.5);
    }
    ck_assert(is_near(b.at, a.at, a.cells * a.elements, 0, "what is scaled"));
    ck_assert(is_near(c.at, d.at, a.cells * a.elements, 0, "the sum of two"));
    testing_free(&a);
    testing_free(&b);
    testing_free(&c);
    testing_free(&d);
}

/* Whether a node of the tree shows that input k is linear. */
static bool check_nodes(int k)
{
    grove_node *nodes[MOST_NODES];
    int count = example_nodes(&t, class_, nodes, MOST_NODES);
    bool shown = false;

    for (int n = 0; n < count; n++)
        if (nodes[n]->inputs[k].node && check_input(nodes[n], k))
            shown = true;
    return shown;
}

START_TEST(linear_inputs_are_linear)
{
    class_ = example_class(&t, example_classes(&t, NULL)[_i]);
    if (class_->kind != GROVE_CLASS_VALUE) {
        if (count_declared() && declared(0).linear)
            check_by_name();
        return;
    }
    for (int k = 0; k < count_declared(); k++) {
        if (!declared(k).linear)
            continue;
        example_tree(&t, class_, NULL);
        bool shown = check_nodes(k);
        char *call = example_call(class_, "again", NULL);
        shown = (example_try(&t, call) && check_nodes(k)) || shown;
        free(call);
        ck_assert_msg(shown, "%s: no example shows its linear input '%s'", class_->name,
                      declared(k).name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conformance-linear");
    TCase *test = tcase_create("all");
    grove_classes *classes = grove_classes_new(NULL);
    size_t count;

    grove_classes_names(classes, &count);
    grove_classes_free(classes);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 120);
    tcase_add_loop_test(test, linear_inputs_are_linear, 0, (int)count);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0 || count < 2;
}
