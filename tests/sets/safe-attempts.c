#include "safe-attempts.h"
#include "safe-testing.h"
#include "tests/common/foreign-sets.h"
#include "tests/common/suite.h"

#include "base/file.h"
#include "base/text.h"
#include "unstable/record.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 4 }; /* calls per scenario and mode, unless all are tried */

static char master[80];

void safe_attempts_setup(void)
{
    safe_setup();
    snprintf(master, sizeof(master), "%s/master", safe_top);
}

static void shell(const char *command, const char *a, const char *b)
{
    ck_assert_int_eq(system(suite_text("%s '%s' '%s'", command, a, b)), 0);
}

/* What the scenarios start from is kept, and taken again before each attempt. */
static void keep(void)
{
    shell("cp -a", safe_work, master);
}

static void restore(void)
{
    grove_path_remove(safe_work, NULL);
    shell("cp -a", master, safe_work);
}

/* ---- what is there ---- */

static const char *const sets[] = {"a.ms", "b.ms", "c.ms", "some.ms"};
static const char *const versions[] = {"a.ms.flagversions/flags.grove_1",
                                       "a.ms.flagversions/flags.grove_2"};

/* Names of all files, but for locks, which casacore makes when it opens a table. */
static void list(grove_text *text, const char *path, const char *name)
{
    char **names = grove_folder_list(path);

    grove_text_add(text, "%s/\n", name);
    for (char **each = names; *each; each++) {
        char *inside = suite_keep(grove_path_join(path, *each));
        if (grove_path_is_folder(inside))
            list(text, inside, *each);
        else if (strcmp(*each, "table.lock") != 0)
            grove_text_add(text, "%s\n", *each);
        free(*each);
    }
    free(names);
}

/* Prints what is there: all names, and of each set a hash of all numbers and the rows of HISTORY.
 */
static int print_state(const void *context)
{
    grove_text text = {0};
    FILE *to = fopen(context, "w");

    list(&text, safe_work, "");
    for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]); k++)
        if (grove_path_exists(safe_path(sets[k])))
            grove_text_add(&text, "%s %lx %ld\n", sets[k], foreign_hash(safe_path(sets[k])),
                           foreign_history(safe_path(sets[k])));
    for (size_t k = 0; k < sizeof(versions) / sizeof(versions[0]); k++)
        if (grove_path_exists(safe_path(versions[k])))
            grove_text_add(&text, "%s %lx\n", versions[k], foreign_hash(safe_path(versions[k])));
    fputs(text.at, to);
    return fclose(to);
}

static char *state(void)
{
    char *path = suite_text("%s/state", safe_top), *text;

    ck_assert_int_eq(safe_in_child(print_state, path), 0);
    text = grove_file_read(path, 1 << 20, true, NULL, NULL);
    ck_assert_ptr_nonnull(text);
    return suite_keep(text);
}

static int open_all(const void *context)
{
    int failed = 0;

    (void)context;
    for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]); k++)
        if (grove_path_exists(safe_path(sets[k])) && !foreign_opens(safe_path(sets[k])))
            failed = 1;
    return failed;
}

static int recover_all(const void *context)
{
    int code = 0;
    bool done;

    (void)context;
    for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]) && !code; k++)
        code = grove_ms_recover(safe_path(sets[k]), &done, safe_error);
    if (code) {
        fputs(suite_messages(safe_error), stderr);
    }
    return code;
}

/* ---- faults ---- */

static const char *const mode_names[] = {"none", "killed", "failed", "failed from then on"};
static const char *const kind_names[] = {"change", "look", "read"};

typedef struct {
    const safe_scenario *of;
    faults_kind kind;
    faults_mode mode;
    int at;
    const char *count_to; /* a file for the number of calls, and who has called */
} attempt;

static int run_with_fault(const void *context)
{
    const attempt *of = context;

    if (freopen(suite_text("%s/said", safe_top), "w", stderr) == NULL)
        return 2;
    faults_simple_system(of->of->simple);
    faults_choose(of->kind);
    faults_protect(true);
    faults_arm(safe_work, of->mode, of->at);
    int code = of->of->run(NULL), count = faults_count();
    faults_arm("", FAULTS_NONE, 0);
    if (code)
        fputs(grove_error_message(safe_error, 0), stderr);
    fflush(stderr);
    if (of->count_to) {
        FILE *to = fopen(of->count_to, "w");
        fprintf(to, "%d\n", count);
        for (int call = 1; call <= count && of->kind == FAULTS_LOOKS; call++)
            fprintf(to, "%p\n", faults_caller(call));
        fclose(to);
    }
    return code;
}

/* Their number, and who has made looks: NULL is another library. Caller frees these. */
static int count_calls(const safe_scenario *of, faults_kind kind, void ***callers)
{
    char *path = suite_text("%s/count", safe_top);
    attempt whole = {.of = of, .kind = kind, .count_to = path};
    int count = 0;

    ck_assert_int_eq(safe_in_child(run_with_fault, &whole), 0);
    FILE *from = fopen(path, "r");
    ck_assert(from && fscanf(from, "%d", &count) == 1);
    *callers = calloc((size_t)count + 1, sizeof(**callers));
    for (int i = 0; i < count && fscanf(from, "%p", &(*callers)[i]) == 1; i++)
        ;
    fclose(from);
    return count;
}

/* Of the looks that one place in Grove makes, SOME, from the first on; none of other libraries. */
static bool is_sample(void *const *callers, int calls, int at)
{
    const void *here = callers[at - 1];
    int before = 0, all = 0;

    for (int i = 0; i < calls; i++) {
        before += i < at - 1 && callers[i] == here;
        all += callers[i] == here;
    }
    return here && before * SOME % all < SOME;
}

/* What the run has said. */
static char *said(void)
{
    char *text = grove_file_read(suite_text("%s/said", safe_top), 1 << 20, false, NULL, NULL);

    return suite_keep(text ? text : grove_strdup(""));
}

/* Whether two states are the same but for rows of HISTORY, of one digit. */
static bool same_but_history(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("012", *a) && a[-1] == ' ' && a[1] == '\n'))
            return false;
    return !*a && !*b;
}

/* Whether it is so; else says what is wrong. */
static bool is_one_of(const attempt *of, const char *before, const char *after, int code)
{
    const char *what = "done";
    char *now, *words = said();
    bool lacks = strstr(words, "HISTORY has no entry of this run") != NULL;

    if (of->of->opens && safe_in_child(open_all, NULL))
        what = "does not open";
    else if (safe_in_child(recover_all, NULL))
        what = "no recovery";
    now = state();
    bool is_before = !strcmp(now, before),
         is_after = !strcmp(now, after) || (lacks && same_but_history(now, after));
    if (!is_before && !is_after)
        what = "neither as before nor as it was to be";
    else if (code == 0 && !is_after)
        what = "said to be done, but is not";
    else if (code == 1 && !is_before)
        what = "said to fail, but is done";
    const bool fine = !strcmp(what, "done");
    if (!fine)
        fprintf(stderr,
                "%s: %s, %s at call %d, code %d: %s\n"
                "it is\n%s---- before, it was\n%s---- and was to be\n%s---- it said\n%s\n",
                of->of->name, kind_names[of->kind], mode_names[of->mode], of->at, code, what, now,
                before, after, words);
    return fine;
}

/* The next call to try. Kills are closer in the last quarter, where what was made is put in place.
 */
static int next_call(int at, int calls, int step, faults_mode mode)
{
    const int last = calls - calls / 4;

    if (at > calls - SOME)
        return at + 1;
    if (mode != FAULTS_KILL)
        return at + step;
    return at >= last ? at + step / 8 + 1 : at + step > last ? last : at + step;
}

void safe_try_all(const safe_scenario *of, faults_kind kind, faults_mode mode, int shift)
{
    const char *chosen = getenv("GROVE_FAULTS_OF"), *only = getenv("GROVE_FAULTS_AT");

    if (chosen && !strstr(of->name, chosen))
        return;
    faults_lock(of->locks ? FAULTS_LOCKS : FAULTS_NO_LOCKS);
    ck_assert_int_eq(safe_in_child(of->make, NULL), 0);
    keep();
    char *before = state();
    restore();
    void **callers;
    int calls = count_calls(of, kind, &callers);
    ck_assert_int_ge(calls, 20);
    ck_assert_int_eq(safe_in_child(recover_all, NULL), 0);
    char *after = state();
    ck_assert_str_ne(before, after);
    int step = getenv("GROVE_ALL_FAULTS") || calls < SOME ? 1 : calls / SOME, tried = 0, wrong = 0;
    bool sampled = step > 1 && kind == FAULTS_LOOKS;
    for (int at = sampled ? 1 : 1 + shift % step; at <= calls;
         at = sampled ? at + 1 : next_call(at, calls, step, mode)) {
        if ((only && atoi(only) != at) || (sampled && !is_sample(callers, calls, at)))
            continue;
        tried++;
        attempt one = {.of = of, .kind = kind, .mode = mode, .at = at};
        restore();
        int code = safe_in_child(run_with_fault, &one);
        ck_assert_int_eq(code == 128 + SIGKILL, mode == FAULTS_KILL);
        ck_assert_msg(code != 128 + SIGUSR1,
                      "%s: fault %d at call %d: an old file is opened for "
                      "writing",
                      of->name, mode, at);
        /* casacore takes a failed read of a table.lock for a length (LockFile::getInfo), and ends
         * with signal 11: at 8 of 181 reads, one for each table that it opens. */
        if (code > 128 && code != 128 + SIGKILL)
            printf("%s: %s, %s: call %d ends with signal %d\n", of->name, kind_names[kind],
                   mode_names[mode], at, code - 128);
        wrong += !is_one_of(&one, before, after, code);
    }
    printf("%s: %s, %s: at %d of %d calls, %d wrong\n", of->name, kind_names[kind],
           mode_names[mode], tried, calls, wrong);
    fflush(stdout);
    ck_assert_int_eq(wrong, 0);
    free(callers);
}
