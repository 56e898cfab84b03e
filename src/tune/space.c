#include "tune/space.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char tune_strategy_list[] = "exhaustive, random, local or counted";

bool tune_strategy_named(const char *name, tune_strategy *strategy)
{
    static const char *const names[TUNE_STRATEGIES] = {"exhaustive", "random", "local", "counted"};

    for (int k = 0; k < TUNE_STRATEGIES; k++)
        if (!strcmp(name, names[k])) {
            *strategy = (tune_strategy)k;
            return true;
        }
    return false;
}

/* ---- configurations ---- */

static void add(tune_space *space, const int32_t value[GROVE_TUNABLES], size_t *capacity)
{
    grove_grow((void **)&space->value, capacity, (size_t)space->count, sizeof(*space->value));
    memcpy(space->value[space->count++], value, sizeof(*space->value));
}

/* All values of tunable k and those after it. */
static void add_all(tune_space *space, const grove_tunables *tunables, const grove_device *device,
                    grove_args *args, int k, size_t *capacity)
{
    const grove_tunable *tunable = &tunables->tunable[k];

    if (k == space->tunables) {
        if (!tunables->allows || tunables->allows(args))
            add(space, args->tuned, capacity);
        return;
    }
    for (int v = 0; v < (grove_tunables_has(tunables, k, device) ? tunable->count : 1); v++) {
        args->tuned[k] = tunable->values[v];
        add_all(space, tunables, device, args, k + 1, capacity);
    }
}

static void shuffle(int *order, int count, uint64_t seed)
{
    for (int k = count - 1; k > 0; k--) {
        const int other = (int)(grove_random_bits(seed, (uint64_t)k, 0, 0, 0) % (uint64_t)(k + 1)),
                  kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

typedef struct {
    double work;
    int number;
} counted;

static int by_work(const void *a, const void *b)
{
    const counted *x = a, *y = b;

    return x->work != y->work ? (x->work > y->work) - (x->work < y->work) : x->number - y->number;
}

/* By operations and bytes; a byte counts as ten operations, as most devices can do them in the time
 * that memory takes for it. */
static void sort_by_work(tune_space *space, const grove_tunables *tunables, const grove_args *given)
{
    enum { OPERATIONS_OF_A_BYTE = 10 };
    counted *list = grove_alloc((size_t)space->count * sizeof(*list));
    grove_args args = *given;

    for (int k = 0; k < space->count; k++) {
        double operations = 0, bytes = 0;
        memcpy(args.tuned, space->value[k], sizeof(args.tuned));
        if (tunables->work)
            tunables->work(&args, &operations, &bytes);
        list[k] = (counted){fmax(operations, OPERATIONS_OF_A_BYTE * bytes), k};
    }
    qsort(list, (size_t)space->count, sizeof(*list), by_work);
    for (int k = 0; k < space->count; k++)
        space->order[k] = list[k].number;
    free(list);
}

tune_space *tune_space_new(const grove_tunables *tunables, const grove_device *device,
                           const grove_args *given, tune_strategy strategy, uint64_t seed)
{
    tune_space *space = grove_alloc(sizeof(*space));
    grove_args args = *given;
    size_t capacity = 0;

    space->tunables = grove_tunables_count(tunables);
    space->strategy = strategy;
    space->best = -1;
    grove_tunables_default(tunables, &args);
    add_all(space, tunables, device, &args, 0, &capacity);
    space->order = grove_alloc(((size_t)space->count + 1) * sizeof(*space->order));
    space->tried = grove_alloc(((size_t)space->count + 1) * sizeof(*space->tried));
    space->cost = grove_alloc(((size_t)space->count + 1) * sizeof(*space->cost));
    for (int k = 0; k < space->count; k++)
        space->order[k] = k;
    if (strategy == TUNE_COUNTED)
        sort_by_work(space, tunables, given);
    else if (strategy != TUNE_EXHAUSTIVE)
        shuffle(space->order, space->count, seed);
    tune_space_prefer(space, 0);
    return space;
}

void tune_space_free(tune_space *space)
{
    free(space->value);
    free(space->order);
    free(space->tried);
    free(space->cost);
    free(space);
}

int tune_space_find(const tune_space *space, const int32_t value[GROVE_TUNABLES])
{
    for (int k = 0; k < space->count; k++)
        if (!memcmp(space->value[k], value, (size_t)space->tunables * sizeof(*value)))
            return k;
    return -1;
}

/* ---- order ---- */

void tune_space_prefer(tune_space *space, int number)
{
    int at = 0;

    while (at < space->count && space->order[at] != number)
        at++;
    if (at == space->count)
        return;
    for (; at > 0 && !space->tried[space->order[at - 1]]; at--)
        space->order[at] = space->order[at - 1];
    space->order[at] = number;
}

static bool are_neighbours(const tune_space *space, int a, int b)
{
    int different = 0;

    for (int k = 0; k < space->tunables; k++)
        different += space->value[a][k] != space->value[b][k];
    return different == 1;
}

int tune_space_next(tune_space *space)
{
    int first = -1;

    for (int k = 0; k < space->count; k++) {
        const int number = space->order[k];
        if (space->tried[number])
            continue;
        if (first < 0)
            first = number;
        if (space->strategy != TUNE_LOCAL || space->best < 0)
            return number;
        if (are_neighbours(space, number, space->best))
            return number;
    }
    space->best = -1; /* a local optimum: from here on at random */
    return first;
}

void tune_space_result(tune_space *space, int number, double cost)
{
    space->tried[number] = true;
    space->cost[number] = cost;
    if (!isinf(cost) && (space->best < 0 || cost < space->cost[space->best]))
        space->best = number;
}
