/* The configurations of a kernel that its constraint allows, and the order in which they are tried.
 */
#ifndef GROVE_TUNE_SPACE_H
#define GROVE_TUNE_SPACE_H

#include "device/tuned.h"

typedef enum {
    TUNE_EXHAUSTIVE, /* all, in order */
    TUNE_RANDOM,     /* all, shuffled */
    TUNE_LOCAL, /* the first better neighbour, which differs in one tunable; from a local optimum on
                   at random */
    TUNE_COUNTED, /* all, those first that do the fewest operations and move the fewest bytes */
    TUNE_STRATEGIES
} tune_strategy;
/* Whether it is the name of a strategy. */
bool tune_strategy_named(const char *name, tune_strategy *strategy);
extern const char tune_strategy_list[]; /* all names, for messages */

typedef struct {
    int tunables;
    int count;
    int32_t (*value)[GROVE_TUNABLES]; /* of each configuration */
    tune_strategy strategy;
    int *order;   /* numbers of configurations: first and then, as far as no result changes it */
    bool *tried;  /* of each configuration */
    double *cost; /* of each that was tried: time or energy; INFINITY where it failed */
    int best;     /* of the local search: where it is; -1: nowhere */
} tune_space;

/* The configurations of these arguments on a device; number 0 is the default one, and comes first.
 * `seed` is of the order of the strategies random and local. Never NULL. */
tune_space *tune_space_new(const grove_tunables *tunables, const grove_device *device,
                           const grove_args *args, tune_strategy strategy, uint64_t seed);
void tune_space_free(tune_space *space);
/* The number of a configuration; -1: it is none. */
int tune_space_find(const tune_space *space, const int32_t value[GROVE_TUNABLES]);
/* Puts a configuration before all others that have not been tried. */
void tune_space_prefer(tune_space *space, int number);
/* The next configuration to try; -1: all have been. */
int tune_space_next(tune_space *space);
void tune_space_result(tune_space *space, int number, double cost);

#endif
