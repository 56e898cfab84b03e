/* Flags from before a run, which a set keeps as versions: had back bit by bit. */
#include "safe-testing.h"
#include "tests/common/foreign-sets.h"
#include "tests/common/suite.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int hash_to_file(const void *context)
{
    FILE *to = fopen(context, "w");

    fprintf(to, "%lx", foreign_hash(safe_path("a.ms")));
    return fclose(to);
}

static char *hash_now(void)
{
    char *path = suite_text("%s/hash", safe_top);

    ck_assert_int_eq(safe_in_child(hash_to_file, path), 0);
    char *text = grove_file_read(path, 100, true, NULL, NULL);
    return suite_keep(text);
}

static void expect_hash(const char *wanted)
{
    ck_assert_str_eq(hash_now(), wanted);
}

/* Of which every second row is flagged, and a table that refers to the others. */
static int make_set(const void *context)
{
    (void)context;
    int code = safe_new_set(safe_path("a.ms"), 1, false);
    foreign_flag(safe_path("a.ms"), 1);
    foreign_reference(safe_path("a.ms"), safe_path("some.ms"));
    return code;
}

static int flag_other_rows(const void *context)
{
    (void)context;
    foreign_flag(safe_path("a.ms"), 0);
    return 0;
}

static void put_back(const char *version)
{
    safe_good(!grove_ms_restore_flags(safe_path("a.ms"), version, safe_error));
}

/* FLAG and FLAG_ROW, bit by bit, and to and fro; where no flag changes, none are kept. */
TEST(flags_can_be_had_back)
{
    ck_assert_int_eq(safe_in_child(make_set, NULL), 0);
    ck_assert(grove_ms_restore_flags(safe_path("a.ms"), "last", safe_error) == GROVE_MISSING);
    safe_said("has no flags that a run of Grove has changed; it has none at all");
    char *before = hash_now();
    safe_good(!safe_write_flags(safe_path("a.ms"), 0) && !safe_write_flags(safe_path("a.ms"), 0));
    safe_expect_names(safe_path("a.ms.flagversions"), "FLAG_VERSION_LIST flags.grove_1 ");
    ck_assert_int_eq(safe_in_child(flag_other_rows, NULL), 0);
    char *changed = hash_now();
    ck_assert_str_ne(before, changed);
    put_back("last");
    expect_hash(before);
    put_back("last");
    expect_hash(changed);
    put_back("grove_1");
    expect_hash(before);
    put_back("grove_1");
    safe_expect_names(safe_path("a.ms.flagversions"),
                      "FLAG_VERSION_LIST flags.grove_1 flags.grove_2 flags.grove_3 flags.grove_4 ");
    safe_expect_names(safe_work, "a.ms a.ms.flagversions some.ms ");
    ck_assert(grove_ms_restore_flags(safe_path("a.ms"), "nix", safe_error) == GROVE_MISSING);
    safe_said("has no version of flags nix; it has grove_1, grove_2, grove_3, grove_4");
    foreign_append(safe_path("a.ms"));
    ck_assert(grove_ms_restore_flags(safe_path("a.ms"), "last", safe_error) == GROVE_INVALID);
    safe_said("has flags of 9 rows, but");
}

/* Versions are of the table that the rows lie in. */
TEST(flags_of_a_part_are_of_all)
{
    ck_assert_int_eq(safe_in_child(make_set, NULL), 0);
    char *before = hash_now();
    safe_good(!safe_write_flags(safe_path("some.ms"), 0));
    char *changed = hash_now();
    ck_assert_str_ne(before, changed);
    safe_expect_names(safe_path("a.ms.flagversions"), "FLAG_VERSION_LIST flags.grove_1 ");
    safe_good(!grove_ms_restore_flags(safe_path("some.ms"), "last", safe_error));
    expect_hash(before);
    put_back("grove_2");
    expect_hash(changed);
}

SUITE(60, safe_setup, safe_teardown)
