/* Checkpoint files: whatever happened to one, what is read from it was written as it is, from the
 * first record on. */
#include "nodes/fit/checkpoint.h"

#include "base/file.h"
#include "base/text.h"
#include "tests/common/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], *path;
static grove_error *error;

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/grove-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    path = grove_format("%s/x.h5.checkpoint", folder);
    error = grove_error_new();
}

static void teardown(void)
{
    grove_path_remove(folder, NULL);
    grove_error_free(error);
    free(path);
}

static const char key[] = "the tree: 1\n\nthe data: 2\n";
enum { RECORDS = 4 };

/* The bytes of record n. */
static size_t record_of(int n, char to[64])
{
    memset(to, 'a' + n, 64);
    return (size_t)(7 * n); /* one is empty */
}

static grove_checkpoint *open_it(bool resume)
{
    return grove_checkpoint_open(path, key,
                                 resume ? GROVE_CHECKPOINT_RESUME : GROVE_CHECKPOINT_KEEP, error);
}

static void good(bool fine)
{
    ck_assert_msg(fine, "%s", suite_messages(error));
}

static void refused(const grove_checkpoint *c, const char *words)
{
    char *text = suite_messages(error);

    ck_assert_msg(!c && strstr(text, words), "not '%s' but '%s'", words, text);
    grove_error_clear(error);
}

static void append(grove_checkpoint *c, int first, int end)
{
    char record[64];

    for (int n = first; n < end; n++) {
        size_t length = record_of(n, record);
        good(!grove_checkpoint_append(c, record, length, error));
    }
}

static void make(void)
{
    grove_checkpoint *c = open_it(false);

    good(c != NULL);
    append(c, 0, RECORDS);
    grove_checkpoint_close(c, false);
}

/* The records that are there are the first ones; how many. */
static int check_records(const grove_checkpoint *c)
{
    int64_t count = grove_checkpoint_count(c);
    char record[64];
    size_t length;

    ck_assert_int_le(count, RECORDS);
    for (int n = 0; n < count; n++) {
        const char *at = grove_checkpoint_record(c, n, &length);
        ck_assert(length == record_of(n, record) && !memcmp(at, record, length));
    }
    return (int)count;
}

static char *contents(size_t *length)
{
    char *bytes = grove_file_read(path, 1 << 20, false, length, error);

    good(bytes != NULL);
    return suite_keep(bytes);
}

static void put(const char *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");

    ck_assert(file && fwrite(bytes, 1, length, file) == length && !fclose(file));
}

TEST(goes_on)
{
    grove_checkpoint *c;

    make();
    refused(open_it(false), "--resume continues from them");
    c = open_it(true);
    good(c != NULL);
    ck_assert_int_eq(check_records(c), RECORDS);
    grove_checkpoint_close(c, false);
    c = open_it(true);
    ck_assert_int_eq(check_records(c), RECORDS);
    refused(open_it(true), "another run is writing it");
    grove_checkpoint_close(c, true);
    ck_assert(!grove_path_exists(path));
    /* without records nothing stays, and nothing is in the way */
    c = open_it(true);
    ck_assert_int_eq(check_records(c), 0);
    grove_checkpoint_close(c, false);
    ck_assert(!grove_path_exists(path));
}

/* A run that replaces what is there begins anew, unless it could go on from there. */
TEST(begins_anew)
{
    make();
    refused(grove_checkpoint_open(path, key, GROVE_CHECKPOINT_REPLACE, error),
            "--resume continues from them");
    refused(grove_checkpoint_open(path, "the tree: 2\n\n", GROVE_CHECKPOINT_KEEP, error),
            "another run that did not end has left its solutions there; to start again, give "
            "overwrite=true");
    grove_checkpoint *c =
        grove_checkpoint_open(path, "the tree: 2\n\n", GROVE_CHECKPOINT_REPLACE, error);
    good(c != NULL);
    ck_assert_int_eq(grove_checkpoint_count(c), 0);
    append(c, 0, RECORDS);
    grove_checkpoint_close(c, false);
    refused(open_it(true), "differs in the tree");
    c = grove_checkpoint_open(path, "the tree: 2\n\n", GROVE_CHECKPOINT_RESUME, error);
    good(c != NULL);
    ck_assert_int_eq(check_records(c), RECORDS);
    grove_checkpoint_close(c, true);
}

static char *output_of(void)
{
    return suite_text("%.*s", (int)(strlen(path) - strlen(".checkpoint")), path);
}

/* A run that had all, and whether its output is in place. */
static char *make_complete(bool in_place)
{
    char *prepared = suite_text("%s/prepared", folder), *output = output_of();
    grove_checkpoint *c = open_it(false);

    good(c != NULL);
    append(c, 0, RECORDS);
    FILE *file = fopen(prepared, "w");
    ck_assert(file && fputs("all", file) >= 0 && !fclose(file));
    good(!grove_checkpoint_complete(c, 1, true, prepared, error));
    grove_checkpoint_close(c, false);
    ck_assert(!in_place || !rename(prepared, output));
    return suite_keep(output);
}

TEST(ended)
{
    const char *same = "the tree: 1\n\nthe data: 3\n", *other = "the tree: 2\n\nthe data: 2\n";
    grove_checkpoint *c;

    make_complete(true);
    /* the run to go on from has ended, whatever it has made of what it read */
    c = grove_checkpoint_open(path, same, GROVE_CHECKPOINT_RESUME, error);
    good(c && grove_checkpoint_has_ended(c) && !grove_checkpoint_count(c));
    ck_assert(grove_path_exists(path));
    grove_checkpoint_close(c, true);
    ck_assert(!grove_path_exists(path));
    /* another run, or one that is not to go on, begins */
    for (int i = 0; i < 2; i++) {
        make_complete(true);
        c = grove_checkpoint_open(path, i ? other : key,
                                  i ? GROVE_CHECKPOINT_RESUME : GROVE_CHECKPOINT_KEEP, error);
        good(c && !grove_checkpoint_has_ended(c) && !grove_checkpoint_count(c));
        grove_checkpoint_close(c, false);
        ck_assert(!grove_path_exists(path));
    }
    /* one whose output is another file goes on */
    char *output = make_complete(false);
    ck_assert(!system(suite_text("cp %s/prepared %s", folder, output)));
    refused(open_it(false), "--resume continues from them");
    refused(grove_checkpoint_open(path, same, GROVE_CHECKPOINT_RESUME, error),
            "differs in the data, and");
    c = open_it(true);
    good(c && !grove_checkpoint_has_ended(c));
    ck_assert_int_eq(grove_checkpoint_count(c), RECORDS + 1);
    grove_checkpoint_close(c, false);
}

/* A cycle before the last: its output is known, and why its run cannot go on where what it reads
 * has changed. */
TEST(a_cycle_ended)
{
    char *output = output_of(),
         *again = suite_text("cp %s %s.x && mv %s.x %s", output, output, output, output);
    grove_checkpoint *c = open_it(false);

    good(c != NULL);
    append(c, 0, RECORDS);
    FILE *file = fopen(output, "w");
    ck_assert(file && fputs("some", file) >= 0 && !fclose(file));
    ck_assert(!grove_checkpoint_has_output(c));
    good(!grove_checkpoint_complete(c, 7, false, output, error));
    ck_assert(grove_checkpoint_has_output(c));
    grove_checkpoint_close(c, false);
    refused(
        grove_checkpoint_open(path, "the tree: 1\n\nthe data: 3\n", GROVE_CHECKPOINT_RESUME, error),
        "has completed cycle 7, and the inputs of the run have changed since it began");
    refused(
        grove_checkpoint_open(path, "the tree: 2\n\nthe data: 2\n", GROVE_CHECKPOINT_RESUME, error),
        "differs in the tree, and");
    c = open_it(true);
    good(c && !grove_checkpoint_has_ended(c) && grove_checkpoint_has_output(c));
    ck_assert_int_eq(grove_checkpoint_count(c), RECORDS + 1);
    ck_assert(!system(again)); /* another file of that name */
    ck_assert(!grove_checkpoint_has_output(c));
    grove_checkpoint_close(c, true);
}

TEST(other_runs)
{
    make();
    refused(
        grove_checkpoint_open(path, "the tree: 2\n\nthe data: 2\n", GROVE_CHECKPOINT_RESUME, error),
        "differs in the tree, and");
    refused(grove_checkpoint_open(path, "the data: 1\n\nthe tree: 2\nmore: 1\n",
                                  GROVE_CHECKPOINT_RESUME, error),
            "differs in the data, the tree, more, and");
    grove_checkpoint *c = open_it(true);
    ck_assert_int_eq(check_records(c), RECORDS);
    grove_checkpoint_close(c, false);
}

/* Cut off anywhere: the whole records before, and what is appended then stands behind them. */
TEST(cut_off)
{
    size_t length;
    int former = 0;

    make();
    char *whole = contents(&length);
    for (size_t cut = 0; cut <= length; cut++) {
        put(whole, cut);
        grove_checkpoint *c = open_it(true);
        if (!c) { /* the header is not whole */
            ck_assert_int_eq(former, 0);
            refused(c, "its beginning is damaged");
            continue;
        }
        int count = check_records(c);
        ck_assert(count == former || count == former + 1);
        former = count;
        append(c, count, RECORDS);
        grove_checkpoint_close(c, false);
        size_t again;
        char *now = contents(&again);
        ck_assert(again == length && !memcmp(now, whole, length));
    }
    ck_assert_int_eq(former, RECORDS);
}

/* What is said of a file that is cut off anywhere: the domains of the whole records. */
TEST(described)
{
    const grove_checkpoint_head heads[] = {{1, 3}, {1, 1}, {2, 4}, {2, -7}};
    int64_t sums[] = {0, 3, 4, 8, 8};
    char record[64] = {0};
    size_t length, ends[5];
    struct stat info;
    grove_checkpoint *c = open_it(false);

    good(c && !stat(path, &info));
    ends[0] = (size_t)info.st_size;
    for (int n = 0; n < 4; n++) {
        memcpy(record, &heads[n], sizeof(heads[n]));
        good(!grove_checkpoint_append(c, record, sizeof(record), error) && !stat(path, &info));
        ends[n + 1] = (size_t)info.st_size;
    }
    grove_checkpoint_close(c, false);
    char *whole = contents(&length);
    for (size_t cut = 0; cut <= length; cut++) {
        int records = -1;
        while (records < 4 && cut >= ends[records + 1])
            records++;
        put(whole, cut);
        char *text = suite_keep(grove_checkpoint_describe(path, error));
        if (records < 0) {
            refused((const void *)text, "not a checkpoint of this Grove");
            continue;
        }
        ck_assert_str_eq(text,
                         suite_text("checkpoint of x.h5: %lld solution domain%s of a run that has "
                                    "not ended; grove run --resume continues from it\n",
                                    (long long)sums[records], sums[records] == 1 ? "" : "s"));
    }
}

/* Any bit turned: an error, or the records before it. */
TEST(turned_bits)
{
    size_t length, header = 8 + 8 + strlen(key) + 16;
    int seen[RECORDS + 1] = {0}, refusals = 0;

    make();
    char *whole = contents(&length);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        whole[bit / 8] ^= (char)(1 << bit % 8);
        put(whole, length);
        whole[bit / 8] ^= (char)(1 << bit % 8);
        grove_checkpoint *c = open_it(true);
        if (c) {
            int count = check_records(c);
            ck_assert(bit / 8 >= header && count < RECORDS);
            seen[count]++;
        } else {
            ck_assert_uint_lt(bit / 8, header);
            grove_error_clear(error);
            refusals++;
        }
        grove_checkpoint_close(c, false);
    }
    ck_assert_uint_eq(refusals, 8 * header);
    for (int n = 0; n < RECORDS; n++)
        ck_assert_int_eq(seen[n], 8 * (8 + 7 * n + 16));
}

/* What stands at its place is neither followed nor changed. */
TEST(planted)
{
    char *other = suite_text("%s/other", folder);
    struct stat info;

    ck_assert(!symlink(other, path));
    refused(open_it(true), "a symbolic link");
    ck_assert(!unlink(path) && !grove_path_exists(other));
    put("mine", 4);
    refused(open_it(true), "it is not a checkpoint");
    ck_assert(!stat(path, &info) && info.st_size == 4);
    ck_assert(!link(path, other));
    refused(open_it(true), "a second name");
    ck_assert(!unlink(path) && !unlink(other) && !mkfifo(path, 0600));
    refused(open_it(true), "not a regular file");
    ck_assert(!unlink(path) && !mkdir(path, 0700));
    refused(open_it(true), "cannot create");
}

TEST(no_right)
{
    if (!geteuid())
        return; /* who may write everywhere */
    ck_assert(!chmod(folder, 0500));
    refused(open_it(true), "cannot create: Permission denied");
    ck_assert(!chmod(folder, 0700));
}

/* A disk that is full: what was there is whole, and one can go on later. */
TEST(full_disk)
{
    struct rlimit limit, little;
    char record[64];
    size_t length;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert(!getrlimit(RLIMIT_FSIZE, &limit));
    little = limit;
    grove_checkpoint *c = open_it(false);
    append(c, 0, 2);
    struct stat info;
    ck_assert(!stat(path, &info));
    little.rlim_cur = (rlim_t)info.st_size + 20;
    ck_assert(!setrlimit(RLIMIT_FSIZE, &little));
    length = record_of(2, record);
    ck_assert_int_lt(grove_checkpoint_append(c, record, length, error), 0);
    refused(NULL, "cannot write: File too large");
    ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
    append(c, 2, RECORDS);
    grove_checkpoint_close(c, false);
    c = open_it(true);
    ck_assert_int_eq(check_records(c), RECORDS);
    grove_checkpoint_close(c, true);
    little.rlim_cur = 10;
    ck_assert(!setrlimit(RLIMIT_FSIZE, &little));
    refused(open_it(false), "cannot write: File too large");
    ck_assert(!grove_path_exists(path));
    ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
}

SUITE(60, setup, teardown)
