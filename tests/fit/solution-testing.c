#include "solution-testing.h"

#include "base/text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

testing solution_t;
char *solution_path;

void solution_setup(void)
{
    testing_begin(&solution_t);
    probe_begin(&solution_t);
    solution_path = grove_format("%s/gains.h5", solution_t.folder);
    hdf5_begin(solution_path);
}

void solution_teardown(void)
{
    free(solution_path);
    testing_end(&solution_t);
}

char *solution_tree(const char *options, const char *more)
{
    return suite_text("obs = probe()\nG[p] = solutions(\"%s\", obs%s)\n%s", solution_path, options,
                      more);
}

testing_value solution_value(const char *options, const char *more, const char *node,
                             unsigned char **flags)
{
    testing_tree(&solution_t, solution_tree(options, more));
    return probe_session(&solution_t, node, NULL, flags);
}

void solution_refused(const char *options, const char *message)
{
    char *text = solution_tree(options, "x = 1 * G\n");
    const char *said = testing_faults(&solution_t, text);

    ck_assert_msg(strstr(said, message) != NULL, "%s, not: %s", said, message);
    ck_assert_ptr_null(strstr(strstr(said, "error:") + 1, "error:")); /* one message */
}

void solution_near(double complex found, double complex wanted, const char *what, int i, int p,
                   int k)
{
    ck_assert_msg(cabs(found - wanted) < 1e-9, "%s at %d %d %d: %.12g%+.12gi, not %.12g%+.12gi",
                  what, i, p, k, creal(found), cimag(found), creal(wanted), cimag(wanted));
}
