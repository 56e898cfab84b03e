#include "nodes/sets/set_rows.h"

#include "util.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct shared {
    grove_set_rows rows; /* first: users have its address */
    struct shared *next;
    grove_hash key;
    bool listed;
    int users;
} shared;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static shared *known;

grove_set_rows *grove_set_rows_new(void)
{
    shared *all = grove_alloc(sizeof(*all));

    all->users = 1;
    return &all->rows;
}

void grove_set_rows_share(grove_set_rows *rows, grove_hash key)
{
    shared *all = (shared *)rows;

    pthread_mutex_lock(&guard);
    all->key = key;
    all->listed = true;
    all->next = known;
    known = all;
    pthread_mutex_unlock(&guard);
}

grove_set_rows *grove_set_rows_find(grove_hash key)
{
    pthread_mutex_lock(&guard);
    shared *found = known;
    while (found && !grove_hash_equal(found->key, key))
        found = found->next;
    if (found)
        found->users++;
    pthread_mutex_unlock(&guard);
    return found ? &found->rows : NULL;
}

static void free_rows(shared *all)
{
    grove_set_rows *rows = &all->rows;

    free(rows->of_time);
    free(rows->of_baseline);
    free(rows->first);
    free(rows->baseline);
    free(rows->narrow);
    free(rows->wide);
    free(rows->time);
    free(rows->interval);
    free(rows->scan);
    free(rows->left);
    free(rows->right);
    free(all);
}

void grove_set_rows_release(grove_set_rows *rows)
{
    shared *all = (shared *)rows;

    if (!all)
        return;
    pthread_mutex_lock(&guard);
    bool last = --all->users == 0;
    shared **at = &known;
    while (last && all->listed && *at != all)
        at = &(*at)->next;
    if (last && all->listed)
        *at = all->next;
    pthread_mutex_unlock(&guard);
    if (last)
        free_rows(all);
}

/* Baselines as sorted numbers, to see whether two lists have the same ones. */
static int compare_pairs(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t *sorted_pairs(int64_t count, const int *left, const int *right)
{
    int64_t *pairs = grove_alloc(((size_t)count + 1) * sizeof(*pairs));

    for (int64_t b = 0; b < count; b++)
        pairs[b] = (int64_t)left[b] << 32 | right[b];
    qsort(pairs, (size_t)count, sizeof(*pairs), compare_pairs);
    return pairs;
}

bool grove_set_rows_order(int64_t count, int *left, int *right)
{
    const size_t each = (size_t)count * sizeof(int64_t);
    int64_t *own = sorted_pairs(count, left, right);
    bool found = false;

    pthread_mutex_lock(&guard);
    for (const shared *all = known; all && !found; all = all->next) {
        if (all->rows.baselines != count)
            continue;
        int64_t *pairs = sorted_pairs(count, all->rows.left, all->rows.right);
        found = !memcmp(pairs, own, each);
        free(pairs);
        if (found) {
            memcpy(left, all->rows.left, (size_t)count * sizeof(*left));
            memcpy(right, all->rows.right, (size_t)count * sizeof(*right));
        }
    }
    pthread_mutex_unlock(&guard);
    free(own);
    return found;
}

static bool same(const void *a, const void *b, int64_t count, size_t size)
{
    return !a == !b && (!a || !memcmp(a, b, (size_t)count * size));
}

bool grove_set_rows_equal(const grove_set_rows *a, const grove_set_rows *b)
{
    return a == b ||
           (a->times == b->times && a->baselines == b->baselines && a->count == b->count &&
            same(a->of_time, b->of_time, a->times, sizeof(int64_t)) &&
            same(a->of_baseline, b->of_baseline, a->baselines, sizeof(int64_t)) &&
            same(a->first, b->first, a->times + 1, sizeof(int64_t)) &&
            same(a->baseline, b->baseline, a->count, sizeof(int32_t)) &&
            same(a->narrow, b->narrow, a->count, sizeof(uint32_t)) &&
            same(a->wide, b->wide, a->count, sizeof(int64_t)));
}

int64_t grove_set_rows_runs(const grove_set_rows *rows)
{
    int64_t runs = rows->times;

    for (int64_t t = 0; rows->first && t < rows->times; t++)
        for (int64_t k = rows->first[t] + 1; k < rows->first[t + 1]; k++)
            runs += rows->baseline[k] != rows->baseline[k - 1] + 1;
    return runs;
}

uint64_t grove_set_rows_bytes(const grove_set_rows *rows)
{
    uint64_t each = rows->narrow ? sizeof(int32_t) + sizeof(uint32_t)
                    : rows->wide ? sizeof(int32_t) + sizeof(int64_t)
                                 : 0;

    return each * (uint64_t)rows->count + 32 * (uint64_t)rows->times +
           16 * (uint64_t)rows->baselines;
}

/* The first of the numbers [first, last) that is not before a baseline. */
static int64_t find_baseline(const grove_set_rows *rows, int64_t first, int64_t last, int64_t from)
{
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (rows->baseline[middle] < from)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

int64_t grove_set_rows_list(const grove_set_rows *rows, int64_t first_time, int64_t times,
                            int64_t first_baseline, int64_t baselines, int64_t *row, int64_t *place)
{
    int64_t count = 0;

    for (int64_t t = 0; t < times; t++) {
        const int64_t time = first_time + t, end = first_baseline + baselines;
        if (rows->of_time) {
            for (int64_t b = 0; b < baselines; b++, count++) {
                row[count] = rows->of_time[time] + rows->of_baseline[first_baseline + b];
                place[count] = t * baselines + b;
            }
            continue;
        }
        const int64_t last = rows->first[time + 1];
        int64_t k = find_baseline(rows, rows->first[time], last, first_baseline);
        for (; k < last && rows->baseline[k] < end; k++, count++) {
            row[count] = rows->narrow ? (int64_t)rows->narrow[k] : rows->wide[k];
            place[count] = t * baselines + rows->baseline[k] - first_baseline;
        }
    }
    return count;
}
