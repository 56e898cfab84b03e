/* Writing into sets, failed at every call that looks at a file or reads it (safe-attempts.h). */
#include "safe-attempts.h"
#include "safe-testing.h"

#include <check.h>
#include <stdlib.h>

/* What cannot be looked at, or read, is not absent, empty, or unlocked. */
START_TEST(a_look_that_fails)
{
    faults_kind kind = _i % 4 < 2 ? FAULTS_LOOKS : FAULTS_READS;

    safe_try_all(&safe_scenarios[_i / 4], kind, _i % 2 ? FAULTS_DEAD : FAULTS_FAIL, 7 * _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("safe-reading");
    TCase *test = tcase_create("faults");
    bool all = getenv("GROVE_ALL_FAULTS") != NULL;
    int unlocked = 0;

    tcase_add_checked_fixture(test, safe_attempts_setup, safe_teardown);
    tcase_set_timeout(test, all ? 3600 : 120);
    tcase_add_loop_test(test, a_look_that_fails, all ? 0 : 4, all ? 4 * safe_scenario_count : 8);
    /* Whether a file system has locks is a look, too. */
    while (safe_scenarios[unlocked].locks)
        unlocked++;
    if (!all)
        tcase_add_loop_test(test, a_look_that_fails, 4 * unlocked, 4 * unlocked + 2);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
