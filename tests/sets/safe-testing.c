/* A folder with small sets, written by the library of the module sets, in this process and others.
 */
#include "safe-testing.h"

#include "base/file.h"
#include "base/text.h"
#include "tests/common/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATIONS = 3, TIMES = 3, CHANNELS = 2, CORRELATIONS = 2, BASELINES = 3 };

char safe_top[64], safe_work[80];
grove_error *safe_error;
grove_record *safe_record;
double safe_first_time = 4.5e9, safe_interval = 1, safe_width = 1e8, safe_height = 9;

void safe_setup(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(safe_top, sizeof(safe_top), "%s/grove-safe-XXXXXX",
             parent && strlen(parent) < 40 ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(safe_top));
    snprintf(safe_work, sizeof(safe_work), "%s/work", safe_top);
    ck_assert(mkdir(safe_work, 0777) == 0);
    safe_error = grove_error_new();
}

void safe_teardown(void)
{
    grove_path_remove(safe_top, NULL);
    grove_error_free(safe_error);
}

const char *safe_path(const char *name)
{
    static char path[8][128];
    static int next;

    next = (next + 1) % 8;
    snprintf(path[next], sizeof(path[next]), "%s/%s", safe_work, name);
    return path[next];
}

/* ---- sets ---- */

grove_ms *safe_create(const char *path, const char *column, bool overwrite)
{
    grove_station stations[STATIONS] = {{.name = (char *)"A", .position = {6e6, 0, 0}},
                                        {.name = (char *)"B", .position = {6e6, 9, 0}},
                                        {.name = (char *)"C", .position = {6e6, 0, safe_height}}};
    double time[TIMES] = {safe_first_time, safe_first_time + 1, safe_first_time + 2},
           interval[TIMES] = {1, 1, safe_interval};
    double frequency[CHANNELS] = {1e9, 1.1e9}, width[CHANNELS] = {1e8, safe_width};
    int left[BASELINES] = {0, 0, 1}, right[BASELINES] = {1, 2, 2};
    grove_ms_layout layout = {.stations = stations,
                              .station_count = STATIONS,
                              .telescope = (char *)"T",
                              .field_name = (char *)"F",
                              .time = time,
                              .interval = interval,
                              .times = TIMES,
                              .frequency = frequency,
                              .channel_width = width,
                              .channels = CHANNELS,
                              .correlations = CORRELATIONS,
                              .correlation = {9, 12},
                              .antenna1 = left,
                              .antenna2 = right,
                              .baselines = BASELINES};

    return grove_ms_create(path, &layout, NULL, column, overwrite, safe_record, safe_error);
}

int safe_write_all(grove_ms *ms, float scale)
{
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    grove_ms_block block = {0, layout->times, 0, layout->baselines, 0, layout->channels};
    float data[4 * SAFE_NUMBERS]; /* also for two sets as one */

    for (int i = 0; i < 4 * SAFE_NUMBERS; i++)
        data[i] = scale * (float)(i + 1);
    return grove_ms_write_data(ms, &block, data, NULL, safe_error);
}

static int end(grove_ms *ms, int code)
{
    if (!code)
        return grove_ms_finish(ms, safe_error);
    grove_ms_abort(ms);
    return code;
}

int safe_new_set(const char *path, float scale, bool overwrite)
{
    grove_ms *ms = safe_create(path, "DATA", overwrite);

    return ms ? end(ms, safe_write_all(ms, scale)) : GROVE_IO;
}

grove_ms *safe_open_column(const char *path, const char *column, grove_ms_mode mode)
{
    grove_ms *ms = grove_ms_open_writable(path, &(grove_ms_part){0}, safe_record, safe_error);

    if (ms && grove_ms_prepare(ms, column, mode, safe_error)) {
        grove_ms_abort(ms);
        ms = NULL;
    }
    if (ms) /* as every sink does: HISTORY is a table that changes, too */
        grove_ms_set_history(ms, "written by a test\nscale");
    return ms;
}

int safe_write_column(const char *path, const char *column, grove_ms_mode mode, float scale)
{
    grove_ms *ms = safe_open_column(path, column, mode);

    return ms ? end(ms, safe_write_all(ms, scale)) : GROVE_IO;
}

int safe_write_flags(const char *path, int from)
{
    grove_ms *ms = safe_open_column(path, "DATA", GROVE_MS_REPLACE);
    grove_ms_block block = {0, 3, 0, 3, 0, 2};
    float data[2 * SAFE_NUMBERS];
    unsigned char flags[SAFE_NUMBERS];

    for (int i = 0; i < 2 * SAFE_NUMBERS; i++)
        data[i] = (float)(i + 1);
    for (int i = 0; i < SAFE_NUMBERS; i++)
        flags[i] = i % 3 == from;
    int code = ms ? grove_ms_prepare_flags(ms, safe_error) : GROVE_IO;
    if (!code)
        code = grove_ms_write_data(ms, &block, data, flags, safe_error);
    if (!code)
        return grove_ms_finish(ms, safe_error);
    grove_ms_abort(ms);
    return code;
}

/* ---- in processes of their own ---- */

/* What the function returns there, or 128 + the signal. */
int safe_in_child(int (*function)(const void *), const void *context)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(function(context) ? 1 : 0);
    ck_assert(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- what is there ---- */

void safe_good(bool fine)
{
    ck_assert_msg(fine, "%s", suite_messages(safe_error));
}

void safe_said(const char *part)
{
    const char *message = grove_error_message(safe_error, 0);

    ck_assert_msg(message && strstr(message, part), "it says '%s', not '%s'",
                  message ? message : "", part);
    grove_error_clear(safe_error);
}

void safe_expect(const char *path, const char *column, float scale, int step, float other)
{
    float data[2 * SAFE_NUMBERS];
    grove_ms_block block = {0, 3, 0, 3, 0, 2};
    grove_ms *ms = grove_ms_open(path, &(grove_ms_part){0}, safe_error);

    safe_good(ms != NULL);
    safe_good(!grove_ms_read_data(ms, column, &block, data, NULL, safe_error));
    for (int i = 0; i < 2 * SAFE_NUMBERS; i++) {
        float factor = i / 8 % step ? other : scale;
        ck_assert_msg(data[i] == factor * (float)(i + 1), "%s: number %d is %g", column, i,
                      (double)data[i]);
    }
    grove_ms_close(ms);
}

char *safe_names(const char *path)
{
    char **names = grove_folder_list(path);
    grove_text text = {0};

    for (char **each = names; *each; each++) {
        grove_text_add(&text, "%s ", *each);
        free(*each);
    }
    free(names);
    return suite_keep(text.at ? text.at : grove_strdup(""));
}

void safe_expect_names(const char *path, const char *wanted)
{
    ck_assert_str_eq(safe_names(path), wanted);
}

void safe_make(const char *name)
{
    safe_good(!safe_new_set(safe_path(name), 1, false));
}
