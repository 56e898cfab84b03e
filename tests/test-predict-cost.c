/* The costs of predict: measured once on a machine and kept; the option method overrides the
 * choice. */
#include "grid.h"

#include "../kernels/simd/isa.h"
#include "base/file.h"
#include "nodes/predict_cost.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static testing t;
static char file[200];

static void setup(void)
{
    testing_begin(&t);
    grid_begin(&t);
    setenv("XDG_CACHE_HOME", t.folder, 1);
    snprintf(file, sizeof(file), "%s/grove/predict", t.folder);
}

static void teardown(void)
{
    unsetenv("XDG_CACHE_HOME");
    testing_end(&t);
}

static bool equal(grove_predict_costs a, grove_predict_costs b)
{
    return !memcmp(&a, &b, sizeof(a));
}

/* The same from the file as when it was measured, to the file's last digit. */
START_TEST(measured_once)
{
    grove_isa isa;
    char said[160];

    ck_assert(!grove_isa_choose(&isa, said));
    predict_costs((int)isa, _i);
    grove_predict_costs a = predict_costs((int)isa, _i);
    char *before = grove_file_read(file, 100000, true, NULL, t.error);
    grove_predict_costs other = predict_costs((int)isa, !_i);
    grove_predict_costs b = predict_costs((int)isa, _i);
    ck_assert(!equal(a, other));
    char *after = grove_file_read(file, 100000, true, NULL, t.error);
    ck_assert(equal(a, b));
    ck_assert(!strncmp(before, after, strlen(before)));
    ck_assert(a.panel > 0 && a.channel > 0 && a.direct > 0 && a.phase > 0 && a.pair > 0);
    free(before);
    free(after);
}
END_TEST

/* A file that says nothing, or something impossible, keeps what it says and gets a line. */
START_TEST(spoilt_files)
{
    static const char *const texts[] = {"", "nonsense\n",
                                        "1 | another processor | avx2 | 1 2 3 4 5\n", "1 |"};
    FILE *stream;

    predict_costs(GROVE_ISA_PORTABLE, 0);
    stream = fopen(file, "w");
    fputs(texts[_i], stream);
    fclose(stream);
    predict_costs(GROVE_ISA_PORTABLE, 0);
    char *text = grove_file_read(file, 100000, true, NULL, t.error);
    ck_assert(!strncmp(text, texts[_i], strlen(texts[_i])));
    ck_assert(strstr(text, "| portable |") != NULL);
    free(text);
    ck_assert(equal(predict_costs(GROVE_ISA_PORTABLE, 0), predict_costs(GROVE_ISA_PORTABLE, 0)));
}
END_TEST

/* Nothing to keep it in: what is built in, which does not differ from run to run. */
START_TEST(no_folder)
{
    grove_predict_costs usual = grove_predict_usual_costs(GROVE_ISA_PORTABLE, 4, 0);

    testing_file(&t, "plain", "a file is no folder");
    char path[200];
    snprintf(path, sizeof(path), "%s/plain", t.folder);
    setenv("XDG_CACHE_HOME", path, 1);
    ck_assert(equal(predict_costs(GROVE_ISA_PORTABLE, 0), usual));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "", 1);
    ck_assert(equal(predict_costs(GROVE_ISA_PORTABLE, 0), usual));
}
END_TEST

START_TEST(costs_grow)
{
    grove_predict_costs costs = grove_predict_usual_costs(GROVE_ISA_PORTABLE, 4, 0);

    ck_assert(grove_predict_cost_of_baselines(&costs, 100, 64, 1) <
              grove_predict_cost_of_baselines(&costs, 100, 65, 1));
    ck_assert(grove_predict_cost_of_baselines(&costs, 100, 64, 1) <
              grove_predict_cost_of_baselines(&costs, 100, 64, 0));
    ck_assert(grove_predict_cost_of_stations(&costs, 10, 4) * 2 ==
              grove_predict_cost_of_stations(&costs, 10, 8));
    ck_assert(grove_predict_cost_of_stations(&costs, 10, 1) == 10 * costs.phase + 45 * costs.pair);
}
END_TEST

START_TEST(methods)
{
    static const char *const words[] = {"baselines", "stations", "plain"};
    static const char *const notes[] = {"direct sum for baselines", "products of matrices",
                                        "source by source"};
    testing_value truth = {0};

    memset(field_now.shape, 0, sizeof(field_now.shape));
    for (int k = 0; k < 4; k++) {
        char text[200];
        snprintf(text, sizeof(text), "obs = grid()\nS = field()\nx = predict(S, obs%s%s)\n",
                 k ? ", method=" : "", k ? words[k - 1] : "");
        testing_tree(&t, text);
        t.double_precision = true;
        testing_value x = testing_evaluate(&t, "x");
        if (k) {
            ck_assert(strstr(testing_node(&t, "x")->note, notes[k - 1]) != NULL);
            ck_assert(testing_distance(&x, &truth) < 1e-12);
            testing_free(&x);
        } else {
            ck_assert(strstr(testing_node(&t, "x")->note, "times faster than by") != NULL);
            truth = x;
        }
    }
    testing_free(&truth);
    const char *said = testing_faults(&t, "obs = grid()\nS = field()\n"
                                          "x = predict(S, obs, smear=time, method=stations)\n");
    ck_assert_msg(strstr(said, "stations cannot be: smearing couples the stations") != NULL, "%s",
                  said);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predict-cost");
    TCase *test = tcase_create("all");

    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_loop_test(test, measured_once, 0, 2);
    tcase_add_loop_test(test, spoilt_files, 0, 4);
    tcase_add_test(test, no_folder);
    tcase_add_test(test, costs_grow);
    tcase_add_test(test, methods);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
