/* Runs that write into sets: what is there before, and what is done. */
#ifndef GROVE_TESTS_SAFE_SCENARIOS_H
#define GROVE_TESTS_SAFE_SCENARIOS_H

#include <stdbool.h>

typedef struct {
    const char *name;
    int (*make)(const void *context), (*run)(const void *context);
    bool opens;  /* at every moment, without Grove */
    bool simple; /* with a system that can less */
    bool locks;  /* with a file system that has some */
} safe_scenario;

extern const safe_scenario safe_scenarios[];
extern const int safe_scenario_count;

#endif
