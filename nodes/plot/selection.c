/* Which baselines and correlations of a set are drawn. */
#include "nodes/plot/set.h"

#include "grove.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* ---- correlations ---- */

/* By casacore's Stokes codes. */
static const char *const correlation_names[] = {"",   "I",  "Q",  "U",  "V",  "RR", "RL",
                                                "LR", "LL", "XX", "XY", "YX", "YY"};
enum { CORRELATION_NAMES = sizeof(correlation_names) / sizeof(correlation_names[0]) };

const char *grove_set_correlation(const grove_set *set, int k)
{
    int code = set->layout->correlation[k];

    return code > 0 && code < CORRELATION_NAMES ? correlation_names[code] : "?";
}

static int choose_correlation(grove_set *set, const char *name)
{
    for (int k = 0; k < set->layout->correlations; k++)
        if (!strcmp(name, grove_set_correlation(set, k))) {
            for (int i = 0; i < set->shown_count; i++)
                if (set->shown[i] == k)
                    return 0;
            set->shown[set->shown_count++] = k;
            return 0;
        }
    grove_text known = {0};
    for (int k = 0; k < set->layout->correlations; k++)
        grove_text_add(&known, "%s%s", k ? ", " : "", grove_set_correlation(set, k));
    int code = grove_fail(set->error, GROVE_INVALID, "%s: has no correlation %s; it has %s",
                          set->path, name, known.at ? known.at : "none");
    free(known.at);
    return code;
}

/* Calls `each` with the words of a list with commas, until it returns non-zero. */
static int for_each_word(grove_set *set, const char *list, int (*each)(grove_set *, const char *))
{
    char *words = grove_strdup(list), *next = words;
    int code = 0;

    while (next && !code) {
        char *word = next;
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        code = each(set, word);
    }
    free(words);
    return code;
}

int grove_set_choose_correlations(grove_set *set, const char *list)
{
    bool all = list ? !strcmp(list, "all") : !set->parallel_count;

    set->shown_count = 0;
    if (list && !all)
        return for_each_word(set, list, choose_correlation);
    for (int k = 0; k < (all ? set->layout->correlations : set->parallel_count); k++)
        set->shown[set->shown_count++] = all ? k : set->parallel[k];
    return 0;
}

/* ---- baselines ---- */

/* The number of a station, given by name or by number; -1: none. */
static int find_station(const grove_set *set, const char *word)
{
    const grove_ms_layout *layout = set->layout;
    char *end;

    for (int k = 0; k < layout->station_count; k++)
        if (!strcmp(layout->stations[k].name, word))
            return k;
    long number = strtol(word, &end, 10);
    return *word >= '0' && *word <= '9' && !*end && number < layout->station_count ? (int)number
                                                                                   : -1;
}

static int no_station(const grove_set *set, const char *word)
{
    const grove_ms_layout *layout = set->layout;
    const char **names = grove_alloc(sizeof(*names) * (size_t)(layout->station_count + 1));

    for (int k = 0; k < layout->station_count; k++)
        names[k] = layout->stations[k].name;
    const char *near = grove_nearest(word, names, (size_t)layout->station_count);
    int code = near ? grove_fail(set->error, GROVE_INVALID,
                                 "%s: has no station %s; did you mean %s?", set->path, word, near)
                    : grove_fail(set->error, GROVE_INVALID,
                                 "%s: has no station %s; --baselines must be names or numbers of "
                                 "stations (0 to %d), such as 0-1,2",
                                 set->path, word, layout->station_count - 1);
    free(names);
    return code;
}

/* Chooses the baselines of stations p and q; q < 0: all of p but its autocorrelation. */
static int choose_pair(grove_set *set, int p, int q, const char *word)
{
    const grove_ms_layout *layout = set->layout;
    bool found = false;

    for (int64_t b = 0; b < layout->baselines; b++) {
        int one = layout->antenna1[b], two = layout->antenna2[b];
        bool taken = q < 0 ? one != two && (one == p || two == p)
                           : (one == p && two == q) || (one == q && two == p);
        if (taken && !set->chosen[b])
            set->chosen_count++;
        set->chosen[b] |= taken;
        found |= taken;
    }
    return found ? 0
                 : grove_fail(set->error, GROVE_INVALID, "%s: has no rows of the baseline%s %s",
                              set->path, q < 0 ? "s of" : "", word);
}

/* "p-q" or "p"; names may contain hyphens. */
static int choose_baseline(grove_set *set, const char *word)
{
    int p = find_station(set, word), q = -1;

    if (p >= 0)
        return choose_pair(set, p, -1, word);
    for (const char *at = strchr(word, '-'); at; at = strchr(at + 1, '-')) {
        char *left = grove_format("%.*s", (int)(at - word), word);
        p = find_station(set, left);
        q = find_station(set, at + 1);
        free(left);
        if (p >= 0 && q >= 0)
            return choose_pair(set, p, q, word);
        if (p >= 0)
            return no_station(set, at + 1);
    }
    size_t length = strcspn(word, "-");
    char *left = grove_format("%.*s", (int)length, word);
    int code = no_station(set, left);
    free(left);
    return code;
}

int grove_set_choose_baselines(grove_set *set, const char *list)
{
    const grove_ms_layout *layout = set->layout;

    set->chosen = grove_alloc((size_t)layout->baselines);
    set->chosen_count = 0;
    set->named = list != NULL;
    if (list)
        return for_each_word(set, list, choose_baseline);
    for (int64_t b = 0; b < layout->baselines; b++) {
        set->chosen[b] = layout->antenna1[b] != layout->antenna2[b];
        set->chosen_count += set->chosen[b];
    }
    return set->chosen_count ? 0
                             : grove_fail(set->error, GROVE_INVALID,
                                          "%s: has only autocorrelations, which are drawn only if "
                                          "--baselines names them: 0-0",
                                          set->path);
}

char *grove_set_baseline_name(const grove_set *set, int64_t baseline)
{
    const grove_ms_layout *layout = set->layout;

    return grove_format("%s–%s", layout->stations[layout->antenna1[baseline]].name,
                        layout->stations[layout->antenna2[baseline]].name);
}
