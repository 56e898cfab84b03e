/* Random trees in sessions: each is evaluated in several ways, with other tiles, threads,
 * precision, instructions, memory and devices, and compared with an evaluation that shares no code
 * with Grove, and bit by bit among ways that must agree.
 *
 * GROVE_RANDOM_TREE=SEED evaluates one tree in all ways; GROVE_RANDOM_TREES=COUNT that many fresh
 * ones. */
#include "random-tree-ways.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIXED_TREES = 1600, FRESH_TREES = 400, MAX_FAILURES = 5 };

static random_setting setting;
static uint64_t current;

/* ---- coverage ---- */

static struct {
    int trees, classes[RANDOM_OPERATIONS], predicts;
    int reduced[RANDOM_AXES], tiled[RANDOM_AXES], selected[RANDOM_AXES], empty[RANDOM_AXES];
    int flagged, cells, ways[RANDOM_WAYS];
    double worst; /* largest error as part of its bound */
} coverage;

static const char *const axis_names[RANDOM_AXES] = {"source",  "other source", "time",
                                                    "station", "baseline",     "freq"};

static void cover(const random_tree *tree)
{
    bool classes[RANDOM_OPERATIONS] = {0}, reduced[RANDOM_AXES] = {0}, selected[RANDOM_AXES] = {0};
    bool flagged = false;

    for (int i = 0; i <= tree->root; i++) {
        const random_node *node = &tree->node[i];
        if (!node->used)
            continue;
        classes[node->operation] = true;
        for (int a = 0; a < RANDOM_AXES; a++)
            if (node->over >> a & 1)
                *(node->operation == RANDOM_CELL ? &selected[a] : &reduced[a]) = true;
        for (int64_t k = 0; k < node->value.cells * node->value.elements; k++)
            flagged = flagged || node->value.flag[k];
    }
    for (int o = 0; o < RANDOM_OPERATIONS; o++)
        coverage.classes[o] += classes[o];
    for (int a = 0; a < RANDOM_AXES; a++) {
        coverage.reduced[a] += reduced[a];
        coverage.selected[a] += selected[a];
        coverage.empty[a] += !tree->world.size[a];
    }
    coverage.trees++;
    coverage.flagged += flagged;
}

static void cover_tiles(const random_tree *tree, const random_way *way)
{
    grove_session_options options = random_way_options(way, tree);
    const int64_t *size = tree->world.size;

    coverage.tiled[RANDOM_TIME] += options.tile_times && options.tile_times < size[RANDOM_TIME];
    coverage.tiled[RANDOM_FREQ] +=
        options.tile_channels && options.tile_channels < size[RANDOM_FREQ];
    coverage.tiled[RANDOM_BASELINE] +=
        options.tile_baselines && options.tile_baselines < size[RANDOM_BASELINE];
}

/* ---- comparison ---- */

static void say_cell(const random_tree *tree, int64_t i, char *f, const char *what)
{
    const random_value *truth = &tree->node[tree->root].value;
    int64_t cell = i / truth->elements;
    char place[200] = "", part[40];

    for (int a = RANDOM_AXES - 1; a >= 0; a--)
        if (truth->axes >> a & 1) {
            char rest[200];
            snprintf(part, sizeof(part), " %s %lld", axis_names[a],
                     (long long)(cell % tree->world.size[a]));
            snprintf(rest, sizeof(rest), "%s", place);
            snprintf(place, sizeof(place), "%s%.150s", part, rest);
            cell /= tree->world.size[a];
        }
    snprintf(f, RANDOM_FAULT, "%s at%s element %d", what, place, (int)(i % truth->elements));
}

static bool is_true(const random_tree *tree, const random_result *r, bool single, char *f)
{
    const random_value *truth = &tree->node[tree->root].value;
    long double unit = single ? 0x1p-24L : 0x1p-53L;
    char what[300];

    for (int64_t i = 0; i < r->numbers; i++) {
        if (r->flags[i] != truth->flag[i]) {
            say_cell(tree, i, f, r->flags[i] ? "flagged without reason" : "not flagged");
            return false;
        }
        if (r->flags[i])
            continue;
        random_complex x = CMPLXL(r->at[i][0], r->at[i][1]);
        long double off = cabsl(x - truth->at[i]), bound = truth->error[i] * unit + 1e-30L;
        if (!(off <= bound)) {
            snprintf(what, sizeof(what),
                     "%.17g %+.17gi and not %.17Lg %+.17Lgi (off by %.2Lg, at "
                     "most %.2Lg)",
                     r->at[i][0], r->at[i][1], creall(truth->at[i]), cimagl(truth->at[i]), off,
                     bound);
            say_cell(tree, i, f, what);
            return false;
        }
        coverage.worst = off / bound > coverage.worst ? (double)(off / bound) : coverage.worst;
        coverage.cells++;
    }
    return true;
}

static bool is_same(const random_tree *tree, const random_result *r, const random_result *first,
                    const char *name, char *f)
{
    char what[300];

    for (int64_t i = 0; i < r->numbers; i++)
        if (memcmp(r->at[i], first->at[i], sizeof(r->at[i])) != 0) {
            snprintf(what, sizeof(what), "%.17g %+.17gi and not %.17g %+.17gi as by '%s'",
                     r->at[i][0], r->at[i][1], first->at[i][0], first->at[i][1], name);
            say_cell(tree, i, f, what);
            return false;
        }
    return true;
}

/* ---- trees ---- */

/* Evaluates and compares in the ways taken. False: the number of the way that fails, and why. */
static bool check(const random_tree *tree, const char *text, unsigned taken, int *failed, char *f)
{
    random_result first[2][2] = {{{0}}};
    const char *names[2][2] = {{NULL}};
    bool good = true;

    for (int i = 0; i < RANDOM_WAYS && good; i++) {
        const random_way *w = &random_ways[i];
        random_result r = {0}, *kept = &first[w->device][w->single];
        if (!(taken >> i & 1))
            continue;
        *failed = i;
        good = random_way_evaluate(&setting, w, tree, text, &r, f) &&
               is_true(tree, &r, w->single, f) &&
               (w->isa || !kept->at || is_same(tree, &r, kept, names[w->device][w->single], f));
        coverage.ways[i]++;
        cover_tiles(tree, w);
        if (good && !kept->at && !w->isa) {
            *kept = r;
            names[w->device][w->single] = w->name;
        } else {
            random_result_free(&r);
        }
    }
    for (int i = 0; i < 4; i++)
        random_result_free(&first[i / 2][i % 2]);
    return good;
}

/* The smallest part of the tree that fails in that way, too: every node is a tree of its own. */
static void minimise(random_tree *tree, int number)
{
    const random_way *way = &random_ways[number];
    int root = tree->root, first = 0;
    char f[RANDOM_FAULT];

    while (random_ways[first].device != way->device || random_ways[first].single != way->single)
        first++;
    for (int i = 0; i <= root; i++) {
        int failed;
        if (!random_tree_is_root(tree, i))
            continue;
        char *text = random_tree_text(tree, i);
        bool good = check(tree, text, 1u << first | 1u << number, &failed, f);
        if (!good)
            printf("the smallest part that fails, '%s': %s\n%s\n", random_ways[failed].name, f,
                   text);
        free(text);
        if (!good)
            return;
    }
}

static bool has_point(const random_tree *tree)
{
    for (int i = 0; i <= tree->root; i++)
        if (tree->node[i].used && tree->node[i].operation == RANDOM_POINT)
            return true;
    return false;
}

static bool take(uint64_t seed, bool all)
{
    random_tree *tree = random_tree_new(seed);
    char *text = random_tree_text(tree, tree->root);
    int failed = 0;
    char f[RANDOM_FAULT] = "";

    current = seed;
    cover(tree);
    bool predicts = has_point(tree) && random_tree_is_fused(&setting, tree, text);
    coverage.predicts += predicts;
    bool good = check(tree, text, random_ways_of(&setting, seed, predicts, all), &failed, f);
    if (all)
        printf("%s\n", text);
    if (!good) {
        printf("tree %" PRIu64 ": '%s': %s\n    GROVE_RANDOM_TREE=%" PRIu64
               " tests/core/test-random-trees\n%s\n",
               seed, random_ways[failed].name, f, seed, text);
        minimise(tree, failed);
        fflush(stdout);
    }
    free(text);
    random_tree_free(tree);
    return good;
}

/* ---- the whole ---- */

static bool report(bool fixed)
{
    bool missing = false;

    printf("%d trees, %d of them with flags, %d with a sum that became predict; %d numbers "
           "compared, errors at most %.2g of their bounds\nclasses:",
           coverage.trees, coverage.flagged, coverage.predicts, coverage.cells, coverage.worst);
    for (int o = 0; o < RANDOM_OPERATIONS; o++) {
        printf(" %s %d", random_operation_class((random_operation)o), coverage.classes[o]);
        missing = missing || !coverage.classes[o];
    }
    printf("\naxes: reduced, tiled (times), selected, empty\n");
    for (int a = 0; a < RANDOM_AXES; a++) {
        printf("    %-12s %5d %5d %5d %5d\n", axis_names[a], coverage.reduced[a], coverage.tiled[a],
               coverage.selected[a], coverage.empty[a]);
        missing = missing || !coverage.reduced[a] || !coverage.selected[a];
    }
    printf("ways:\n");
    for (int i = 0; i < RANDOM_WAYS; i++)
        printf("    %-30s %5d\n", random_ways[i].name, coverage.ways[i]);
    missing = missing || !coverage.predicts || !coverage.tiled[RANDOM_TIME];
    if (missing && fixed)
        printf("something above is never covered\n");
    return !missing || !fixed;
}

static void crashed(int number)
{
    char line[100];
    int n = snprintf(line, sizeof(line), "signal %d in GROVE_RANDOM_TREE=%" PRIu64 "\n", number,
                     current);

    if (write(2, line, (size_t)n) != n)
        _exit(2);
    signal(number, SIG_DFL);
    raise(number);
}

/* LeakSanitizer does not survive threads that stand in blocks of an emulated device. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* Trees that failed once: a mean over no sources of a product of phases. */
static const uint64_t failed_once[] = {4372272720936};

int main(void)
{
    const char *one = getenv("GROVE_RANDOM_TREE"), *many = getenv("GROVE_RANDOM_TREES");
    uint64_t base = many ? random_mix((uint64_t)time(NULL) ^ (uint64_t)getpid() << 32) >> 20
                         : FIXED_TREES + 1; /* without a request, the same trees in every run */
    int failures = 0, fresh = many ? atoi(many) : FRESH_TREES;

    setvbuf(stdout, NULL, _IOLBF, 0); /* a sanitizer's end leaves the seeds in the log */
    random_setting_begin(&setting);
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    signal(SIGFPE, crashed);
    if (one) {
        failures = !take(strtoull(one, NULL, 0), true);
        report(false);
    } else {
        for (int i = 0; i < FIXED_TREES && failures < MAX_FAILURES; i++)
            failures += !take((uint64_t)i + 1, false);
        for (size_t i = 0; i < sizeof(failed_once) / sizeof(*failed_once); i++)
            failures += !take(failed_once[i], false);
        bool covered = report(true) || failures;
        printf("more trees: seeds from %" PRIu64 "\n", base);
        for (int i = 0; i < fresh && failures < MAX_FAILURES; i++)
            failures += !take(base + (uint64_t)i, false);
        if (fresh)
            report(false);
        failures += !covered;
    }
    random_setting_end(&setting);
    return failures != 0;
}
