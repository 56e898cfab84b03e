/* sink: values that it refuses to write, or warns of. */
#include "probe.h"

#include "base/text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static testing t;

static void setup(void)
{
    testing_begin(&t);
    probe_begin(&t);
}

static void teardown(void)
{
    testing_end(&t);
}

static char *all(const char *text)
{
    return grove_format("obs = probe()\nG[p] = gains(obs, jones=diagonal)\n%s", text);
}

/* That the tree is refused with this message, which is the beginning of one. */
static void refused(const char *text, const char *message)
{
    char *whole = all(text);

    testing_faults(&t, whole);
    ck_assert_msg(!strncmp(grove_error_message(t.error, 0), message, strlen(message)), "%s: %s",
                  text, grove_error_message(t.error, 0));
    free(whole);
}

/* That the tree is accepted, with so many warnings, of which one has this text. */
static void warned(const char *text, size_t count, const char *message)
{
    char *whole = all(text);

    testing_tree(&t, whole);
    char *said = grove_error_text(t.error);
    ck_assert_msg(grove_error_warnings(t.error) == count && strstr(said, message), "%s: %s", text,
                  said);
    free(said);
    free(whole);
}

START_TEST(axes_that_are_missing)
{
    refused("w = sink(mean(obs.data, over=freq), obs, to=\"null\")\n",
            "sink: the visibilities do not vary with freq any more, because of mean; all 7 would "
            "get the same number");
    refused("m = mean(obs.data, over=[time, freq])\nw = sink(m, obs, to=\"null\")\n",
            "sink: the visibilities do not vary with time any more, because of 'm'; all 5");
    refused("w = sink(G[p]*mean(obs.data, over=time)*G[q]^H, obs, to=\"null\")\n",
            "sink: the visibilities do not vary with time any more, because of mean; all 5");
    warned("w = sink(G[p]*G[q]^H*1Jy, obs, to=\"null\")\n", 2,
           "sink: the visibilities do not vary with time; all 5 get the same number");
    warned("w = sink(G[p]*select(obs.data, axis=freq, index=0), obs, to=\"null\")\n", 1,
           "sink: the visibilities do not vary with freq; all 7 get the same number");
    warned(
        "m = mean(obs.data, over=[time, freq])\nw = sink(G[p]*(obs.data - m), obs, to=\"null\")\n",
        0, "");
}
END_TEST

START_TEST(axes_of_others)
{
    refused("other = probe(scale=2)\n"
            "w = sink(G[p]*G[q]^H*other.freq*1Jy/1Hz, obs, to=\"null\")\n",
            "sink: the visibilities belong to another observation");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nodes-sinks");
    TCase *test = tcase_create("all");

    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, axes_that_are_missing);
    tcase_add_test(test, axes_of_others);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
