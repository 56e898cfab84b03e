/* The order of the tuner's strategies on records: how many configurations they try until one is
 * within 5 % of the optimum. `bench/strategies.py` puts kernel_tuner's beside them. */
#include "tune/record.h"
#include "tune/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 100 };

/* The tunables of a record; false: some are no numbers, or there are too many. */
static bool tunables_of(const tune_record *record, grove_tunables *tunables)
{
    *tunables = (grove_tunables){.tolerance = {0}};
    if (record->tunables > GROVE_TUNABLES)
        return false;
    for (int k = 0; k < record->tunables; k++) {
        grove_tunable *to = &tunables->tunable[k];
        to->name = record->name[k];
        for (const char *at = record->values[k]; *at; at += *at == ',') {
            char *end;
            if (to->count == GROVE_TUNABLE_VALUES)
                return false;
            to->values[to->count++] = (int32_t)strtol(at, &end, 10);
            if (end == at)
                return false;
            at = end;
        }
    }
    return true;
}

/* INFINITY where the record has no time. */
static double time_of(const tune_record *record, const tune_space *space, int number)
{
    char key[200] = "";

    for (int k = 0, at = 0; k < space->tunables; k++)
        at += snprintf(key + at, sizeof(key) - (size_t)at, "%s%d", k ? "," : "",
                       space->value[number][k]);
    const tune_point *point = tune_record_find(record, key);
    return point && !point->failure ? point->time : point ? INFINITY : -1;
}

/* Configurations tried until one is within 5 % of the optimum; those that the record lacks are not
 * allowed, and do not count. */
static int count(const tune_record *record, const grove_tunables *tunables, grove_device *device,
                 tune_strategy strategy, uint64_t seed)
{
    const grove_args args = {0};
    const double goal = 1.05 * tune_record_best(record, false)->time;
    tune_space *space = tune_space_new(tunables, device, &args, strategy, seed);
    int tried = 0, number;
    double time = INFINITY;

    while (!(time >= 0 && time <= goal) && (number = tune_space_next(space)) >= 0) {
        time = time_of(record, space, number);
        tried += time >= 0;
        tune_space_result(space, number, time >= 0 ? time : INFINITY);
    }
    tune_space_free(space);
    return tried;
}

int main(int words, char **word)
{
    grove_error *error = grove_error_new();
    grove_device *device = grove_device_cpu(1);

    for (int k = 1; k < words; k++) {
        tune_record *record = tune_record_read(word[k], error);
        grove_tunables tunables;
        if (!record || !tune_record_best(record, false) || !tunables_of(record, &tunables)) {
            fprintf(stderr, "%s: not a record with numbers\n", word[k]);
            return 1;
        }
        printf("%s\t%zu", word[k], record->count);
        for (int s = 0; s < TUNE_COUNTED; s++) {
            double sum = 0;
            for (uint64_t seed = 1; seed <= SEEDS; seed++)
                sum += count(record, &tunables, device, (tune_strategy)s, seed);
            printf("\t%.1f", sum / SEEDS);
        }
        puts("");
        tune_record_free(record);
    }
    grove_device_free(device);
    grove_error_free(error);
    return 0;
}
