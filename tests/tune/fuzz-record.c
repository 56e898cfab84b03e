/* Fuzzes records of tuning: any file is read, or a message says why not; the statistics of one that
 * is read are numbers. */
#include "tests/common/fuzz.h"

#include "tune/statistics.h"

#include "grove.h"
#include <math.h>
#include <unistd.h>

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static void check_record(const tune_record *record)
{
    const tune_distribution d = tune_distribution_of(record);

    check(record->machine && record->kernel && record->sizes && record->code);
    check(record->tunables >= 0 && record->tunables <= TUNE_KEYS);
    for (int k = 0; k < record->tunables; k++) {
        check(record->name[k] && record->values[k]);
    }
    for (size_t k = 0; k < record->count; k++) {
        const tune_point *point = &record->points[k];
        check(point->failure ? isinf(point->time) : point->time > 0 && isfinite(point->time));
    }
    check(d.ran + d.failed == (int)record->count && (d.ran > 0) == !!tune_record_best(record, 0));
    check(d.least >= 0 && d.lower >= d.least && d.median >= d.lower && d.upper >= d.median);
    check(d.upper <= 1 && d.distance >= 0 && d.bound >= 0 && d.bound <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/grove-record-XXXXXX";
    const char *const paths[] = {path};
    const int file = mkstemp(path);
    grove_error *error = grove_error_new();

    check(file >= 0 && write(file, data, size) == (ssize_t)size);
    close(file);
    tune_record *record = tune_record_read(path, error);
    if (record) {
        tune_statistics *s = tune_statistics_read(paths, 1, error);
        check_record(record);
        check(s != NULL);
        free(tune_statistics_text(s));
        tune_statistics_free(s);
    }
    check(!record == !!grove_error_message(error, 0));
    tune_record_free(record);
    grove_error_free(error);
    unlink(path);
    return 0;
}
