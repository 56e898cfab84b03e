/* Writing into sets, failed at every call that looks at a file or reads it (safe-attempts.h). */
#include "safe-attempts.h"
#include "safe-testing.h"
#include "tests/common/suite.h"

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
    bool all = getenv("GROVE_ALL_FAULTS") != NULL;
    TCase *test = suite_case("faults");
    int unlocked = 0;

    tcase_add_loop_test(test, a_look_that_fails, all ? 0 : 4, all ? 4 * safe_scenario_count : 8);
    /* Whether a file system has locks is a look, too. */
    while (safe_scenarios[unlocked].locks)
        unlocked++;
    if (!all)
        tcase_add_loop_test(test, a_look_that_fails, 4 * unlocked, 4 * unlocked + 2);
    return suite_run(__FILE__, all ? 3600 : 120, safe_attempts_setup, safe_teardown);
}
