#include "nodes/plot/set.h"

#include "unstable/module.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 32 << 20 };

/* ---- opening ---- */

static const char *last_part(const char *path)
{
    const char *name = path;

    for (const char *at = path; *at; at++)
        if (at[0] == '/' && at[1] && at[1] != '/')
            name = at + 1;
    return name;
}

/* casacore's codes: I 1, RR 5, LL 8, XX 9, YY 12. */
static void find_parallel(grove_set *set)
{
    for (int k = 0; k < set->layout->correlations; k++) {
        int code = set->layout->correlation[k];
        if ((code == 1 || code == 5 || code == 8 || code == 9 || code == 12) &&
            set->parallel_count < 2)
            set->parallel[set->parallel_count++] = k;
    }
}

static int check(const grove_set *set, bool data)
{
    if (!set->layout->rows || !set->layout->times || !set->layout->baselines)
        return grove_fail(set->error, GROVE_INVALID, "%s: there are no rows to draw", set->path);
    for (int k = 0; k < set->column_count && data; k++)
        if (!set->module->has_column(set->ms, set->columns[k]))
            return grove_fail(set->error, GROVE_MISSING,
                              "%s: has no column %s; grove info lists its columns", set->path,
                              set->columns[k]);
    if (data && !set->layout->channels)
        return grove_fail(set->error, GROVE_INVALID, "%s: there are no channels", set->path);
    return 0;
}

/* "DATA,CORRECTED_DATA" */
static int choose_columns(grove_set *set, const char *list)
{
    for (const char *at = list; at;) {
        size_t n = strcspn(at, ",");
        if (set->column_count == GROVE_SET_COLUMNS)
            return grove_fail(set->error, GROVE_INVALID,
                              "--column %s: draws one column, or two side by side", list);
        set->columns[set->column_count++] = grove_format("%.*s", (int)n, at);
        at = at[n] ? at + n + 1 : NULL;
    }
    set->column = set->columns[0];
    return 0;
}

int grove_set_open(grove_set *set, const char *path, const grove_ms_part *part, const char *column,
                   bool data, grove_error *error)
{
    memset(set, 0, sizeof(*set));
    set->path = path;
    set->name = last_part(path);
    set->every = 1;
    set->error = error;
    int code = choose_columns(set, column ? column : "DATA");
    if (!code && !(set->module = grove_service_open("sets", GROVE_SETS_VERSION, error)))
        code = GROVE_MISSING;
    if (!code && !(set->ms = set->module->open(path, part, error)))
        code = grove_error_code(error);
    if (!code) {
        set->layout = set->module->layout(set->ms);
        find_parallel(set);
        code = check(set, data);
    }
    if (!code)
        code = grove_set_choose_correlations(set, NULL);
    if (code)
        grove_set_close(set);
    return code;
}

void grove_set_close(grove_set *set)
{
    if (set->ms)
        set->module->close(set->ms);
    for (int k = 0; k < set->column_count; k++)
        free(set->columns[k]);
    set->column_count = 0;
    free(set->chosen);
    set->ms = NULL;
    set->chosen = NULL;
}

char *grove_set_title(const grove_set *set, const char *what, int k)
{
    bool named = set->column_count > 1;

    return grove_format("%s: %s%s%s", set->name, what, named ? ", " : "",
                        named ? set->columns[k] : "");
}

/* ---- walking ---- */

void grove_set_limit(grove_set *set, double max, bool data)
{
    double samples = (double)set->layout->times * (double)set->chosen_count *
                     (data ? (double)set->layout->channels : 1);
    double every = samples / max;

    set->every = every > 1 ? (int64_t)every + 1 : 1;
    if (set->every > set->layout->times)
        set->every = set->layout->times;
}

static int read_block(grove_set *set, unsigned what, const grove_ms_block *block,
                      grove_set_samples *s)
{
    int code = 0;

    if (what & GROVE_SET_UVW)
        code = set->module->read_uvw(set->ms, block, s->uvw, set->error);
    if (!code && what & GROVE_SET_DATA)
        code = set->module->read_data(set->ms, set->column, block, s->data, s->flag, set->error);
    if (!code && what & GROVE_SET_WEIGHT)
        code = set->module->read_weight(set->ms, block, s->weight, set->error);
    return code;
}

static int allocate(const grove_set *set, unsigned what, int64_t rows, grove_set_samples *s)
{
    size_t samples =
        (size_t)rows * (size_t)set->layout->channels * (size_t)set->layout->correlations;
    bool short_ = false;

    if (what & GROVE_SET_UVW)
        short_ |= !(s->uvw = grove_try_alloc((size_t)rows, 3 * sizeof(double)));
    if (what & GROVE_SET_DATA) {
        short_ |= !(s->data = grove_try_alloc(samples, 2 * sizeof(float)));
        short_ |= !(s->flag = grove_try_alloc(samples, 1));
    }
    if (what & GROVE_SET_WEIGHT)
        short_ |= !(s->weight = grove_try_alloc(samples, sizeof(float)));
    return short_ ? grove_fail(set->error, GROVE_NO_MEMORY, "%s: no memory for %lld rows",
                               set->path, (long long)rows)
                  : 0;
}

/* The number of rows, with all channels, in a block. */
static int64_t rows_of_block(const grove_set *set, unsigned what)
{
    int64_t cell = set->layout->channels * set->layout->correlations;
    int64_t bytes = (what & GROVE_SET_UVW ? 24 : 0) + (what & GROVE_SET_DATA ? 9 * cell : 0) +
                    (what & GROVE_SET_WEIGHT ? 4 * cell : 0);
    int64_t rows = BLOCK_BYTES / (bytes ? bytes : 1);

    return rows > 1 ? rows : 1;
}

/* Baselines [first, returned end) of the next block from `*first` on, at most `max`. If few
 * baselines are chosen, those between them are not read. */
static int64_t next_baselines(const grove_set *set, int64_t *first, int64_t max)
{
    int64_t all = set->layout->baselines, end = *first;
    bool few = set->chosen_count < all / 4;

    while (few && *first < all && !set->chosen[*first])
        ++*first;
    for (end = *first; end < all && end - *first < max && (!few || set->chosen[end]);)
        end++;
    return end;
}

int grove_set_walk(grove_set *set, unsigned what,
                   int (*each)(void *context, const grove_set *set,
                               const grove_set_samples *samples),
                   void *context)
{
    const grove_ms_layout *layout = set->layout;
    int64_t rows = rows_of_block(set, what);
    int64_t baselines =
        set->chosen_count < layout->baselines / 4 ? set->chosen_count : layout->baselines;
    baselines = baselines < rows ? baselines : rows;
    int64_t times = set->every > 1 ? 1 : rows / baselines, end;
    grove_set_samples s = {0};
    int code;

    times = times < layout->times ? times : layout->times;
    code = allocate(set, what, times * baselines, &s);
    for (int64_t t = 0; t < layout->times && !code; t += set->every > 1 ? set->every : times)
        for (int64_t b = 0; b < layout->baselines && !code; b = end) {
            end = next_baselines(set, &b, baselines);
            if (end == b)
                break;
            grove_ms_block block = {.first_time = t, .first_baseline = b, .baselines = end - b};
            block.times = layout->times - t < times ? layout->times - t : times;
            block.channels = layout->channels;
            s.first_time = t;
            s.times = block.times;
            s.first_baseline = b;
            s.baselines = block.baselines;
            code = read_block(set, what, &block, &s);
            if (!code)
                code = each(context, set, &s);
        }
    free(s.uvw);
    free(s.data);
    free(s.flag);
    free(s.weight);
    return code;
}

/* ---- selection ---- */

bool grove_set_chosen(uint64_t k, double share)
{
    if (share >= 1)
        return true;
    k += 0x9e3779b97f4a7c15; /* splitmix64 */
    k = (k ^ (k >> 30)) * 0xbf58476d1ce4e5b9;
    k = (k ^ (k >> 27)) * 0x94d049bb133111eb;
    k ^= k >> 31;
    return (double)(k >> 11) * 0x1p-53 < share;
}

char *grove_set_note(const grove_set *set, double share, const char *what)
{
    grove_text text = {0};

    grove_text_append(&text, "", 0);
    if (set->named)
        grove_text_add(&text, ", %lld baseline%s", (long long)set->chosen_count,
                       set->chosen_count == 1 ? "" : "s");
    if (set->every > 1)
        grove_text_add(&text, ", every %lldth time slot", (long long)set->every);
    if (share < 1)
        grove_text_add(&text, ", %.2g %% of the %s", 100 * share, what);
    return text.at ? text.at : grove_strdup("");
}
