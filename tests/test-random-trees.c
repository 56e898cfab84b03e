/* Random trees in sessions: each is evaluated in several ways, with other tiles, threads,
 * precision, instructions, memory and devices, and compared with an evaluation that shares no code
 * with Grove, and bit by bit among ways that must agree.
 *
 * GROVE_RANDOM_TREE=SEED evaluates one tree in all ways; GROVE_RANDOM_TREES=COUNT that many fresh
 * ones; GROVE_RANDOM_DUMP=FILE writes a hash of each result of the fixed ones, for trees without
 * reductions over axes that are cut into tiles. */
#include "random-tree.h"

#include "cuda/emulation.h"
#include "grove.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIXED_TREES = 1600, FRESH_TREES = 400, MAX_FAILURES = 5, MAX_WAYS = 24 };

static grove_library *library;
static FILE *dump;
static emulated_control *devices; /* NULL: this build has no emulated ones */
static uint64_t current;

/* ---- coverage ---- */

static struct {
    int trees, classes[RANDOM_OPERATIONS], predicts;
    int reduced[RANDOM_AXES], tiled[RANDOM_AXES], selected[RANDOM_AXES], empty[RANDOM_AXES];
    int flagged, cells, ways[MAX_WAYS];
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

/* ---- results ---- */

/* A value in the order of random_value. */
typedef struct {
    int64_t numbers;
    double (*at)[2];
    unsigned char *flags;
} result;

static void result_free(result *r)
{
    free(r->at);
    free(r->flags);
    memset(r, 0, sizeof(*r));
}

/* Which axis of random_axis is axis k of a value; -1: none. */
static int axis_of(const random_tree *tree, const grove_value *value, int k)
{
    const char *name = grove_value_axis(value, k, NULL);
    const char *const *labels = grove_value_labels(value, k);
    char first[48];

    if (!strcmp(name, "source")) {
        snprintf(first, sizeof(first), "%lld.0", (long long)tree->world.seed + 1);
        if (!labels || !labels[0])
            return tree->world.size[RANDOM_SOURCE] ? RANDOM_OTHER_SOURCE : RANDOM_SOURCE;
        return strcmp(labels[0], first) != 0 ? RANDOM_OTHER_SOURCE : RANDOM_SOURCE;
    }
    for (int a = RANDOM_TIME; a < RANDOM_AXES; a++)
        if (!strcmp(axis_names[a], name))
            return a;
    return -1;
}

/* What a value's form says that the tree's does not; NULL: nothing. */
static const char *form_differs(const random_tree *tree, const random_value *truth,
                                grove_value *value, int axes[RANDOM_AXES])
{
    unsigned seen = 0;

    for (int k = 0; k < grove_value_axes(value); k++) {
        int64_t size;
        grove_value_axis(value, k, &size);
        axes[k] = axis_of(tree, value, k);
        if (axes[k] < 0 || tree->world.size[axes[k]] != size)
            return "an axis has another size";
        seen |= 1u << axes[k];
    }
    if (seen != truth->axes)
        return "it has other axes";
    if (grove_value_elements(value) != truth->elements)
        return "its cells have another shape";
    if (grove_value_is_complex(value) != truth->complex_)
        return "it is real and not complex, or the other way round";
    return NULL;
}

static void reorder(const random_tree *tree, const random_value *truth, grove_value *value,
                    const int axes[RANDOM_AXES], const double *numbers, const unsigned char *flags,
                    result *to)
{
    int count = grove_value_axes(value), elements = truth->elements;

    to->numbers = truth->cells * elements;
    to->at = calloc((size_t)to->numbers + 1, sizeof(*to->at));
    to->flags = calloc((size_t)to->numbers + 1, 1);
    for (int64_t cell = 0; cell < truth->cells; cell++) {
        int64_t index[RANDOM_AXES], rest = cell, mine = 0;
        for (int k = count - 1; k >= 0; k--) {
            index[axes[k]] = rest % tree->world.size[axes[k]];
            rest /= tree->world.size[axes[k]];
        }
        for (int a = 0; a < RANDOM_AXES; a++)
            if (truth->axes >> a & 1)
                mine = mine * tree->world.size[a] + index[a];
        for (int e = 0; e < elements; e++) {
            to->flags[mine * elements + e] = flags[cell * elements + e];
            for (int k = 0; k < 2 && !flags[cell * elements + e]; k++)
                to->at[mine * elements + e][k] = numbers[2 * (cell * elements + e) + k];
        }
    }
}

/* ---- ways ---- */

typedef enum { CPU, CUDA } kind;

/* A way to evaluate: those of one kind and precision agree bit by bit. */
typedef struct {
    const char *name;
    kind kind;
    grove_session_options options;
    const char *isa; /* NULL: the best */
    int devices;
} way;

static const way ways[] = {
    {"cpu", CPU, {.double_precision = true, .threads = 1}, NULL, 0},
    {"cpu, default", CPU, {.double_precision = true}, NULL, 0},
    {"cpu, tiles",
     CPU,
     {.double_precision = true,
      .threads = 1,
      .tile_times = -1,
      .tile_channels = -1,
      .tile_baselines = -1},
     NULL,
     0},
    {"cpu, tiles, 3 threads",
     CPU,
     {.double_precision = true, .threads = 3, .tile_times = -1, .tile_channels = -1},
     NULL,
     0},
    {"cpu, tiles, no cache",
     CPU,
     {.double_precision = true,
      .threads = 2,
      .tile_times = -1,
      .tile_baselines = -1,
      .cache_off = true},
     NULL,
     0},
    {"cpu, serial",
     CPU,
     {.double_precision = true, .threads = 2, .serial = true, .tile_channels = -1},
     NULL,
     0},
    {"cpu, little memory",
     CPU,
     {.double_precision = true, .threads = 2, .memory = 1 << 21},
     NULL,
     0},
    {"cpu, single", CPU, {.threads = 1}, NULL, 0},
    {"cpu, single, tiles",
     CPU,
     {.threads = 2, .tile_times = -1, .tile_channels = -1, .tile_baselines = -1},
     NULL,
     0},
    {"cpu, single, no cache, serial",
     CPU,
     {.threads = 3, .tile_times = -1, .cache_off = true, .serial = true},
     NULL,
     0},
    {"cpu, single, little memory", CPU, {.threads = 1, .memory = 1 << 21}, NULL, 0},
    {"portable", CPU, {.double_precision = true, .threads = 1}, "portable", 0},
    {"portable, single", CPU, {.threads = 1}, "portable", 0},
    {"avx2", CPU, {.double_precision = true, .threads = 1}, "avx2", 0},
    {"avx2, single", CPU, {.threads = 1}, "avx2", 0},
    {"cuda", CUDA, {.double_precision = true, .device = "cuda", .threads = 1}, NULL, 1},
    {"cuda, tiles",
     CUDA,
     {.double_precision = true,
      .device = "cuda",
      .threads = 1,
      .tile_times = -1,
      .tile_channels = -1,
      .tile_baselines = -1},
     NULL,
     1},
    {"2 x cuda, tiles",
     CUDA,
     {.double_precision = true,
      .device = "cuda:all",
      .threads = 2,
      .tile_times = -1,
      .tile_baselines = -1},
     NULL,
     2},
    {"cuda, single", CUDA, {.device = "cuda", .threads = 1}, NULL, 1},
    {"2 x cuda, single, tiles",
     CUDA,
     {.device = "cuda:all", .threads = 2, .tile_times = -1, .tile_channels = -1},
     NULL,
     2},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Ways that a seed takes, as bits; the first of each kind and precision is what others are compared
 * with. */
static unsigned ways_of(uint64_t seed, bool predicts, bool all)
{
    uint64_t bits = random_mix(seed ^ 0x77a75);
    unsigned taken = 1u << 0 | 1u << (1 + bits % 6) | 1u << (1 + bits / 8 % 6) | 1u << 7 |
                     1u << (8 + bits / 64 % 3);

    if (predicts)
        taken |= 1u << (11 + bits / 256 % 4);
    if (bits / 1024 % 8 == 0)
        taken |= 1u << 15 | 1u << (16 + bits / 8192 % 2);
    if (bits / 1024 % 8 == 1)
        taken |= 1u << 18 | (bits / 8192 % 2) << 19;
    if (all)
        taken = ~0u;
    for (int i = 0; i < WAYS; i++)
        if ((ways[i].kind == CUDA && !devices) || (ways[i].isa && !predicts))
            taken &= ~(1u << i);
    return taken;
}

static int64_t tile_size(uint64_t seed, int which, int64_t size)
{
    return size < 1 ? 0 : 1 + (int64_t)(random_mix(seed * 8 + (uint64_t)which) % (uint64_t)size);
}

static grove_session_options options_of(const random_tree *tree, const way *w)
{
    grove_session_options options = w->options;
    const int64_t *size = tree->world.size;

    if (!options.device)
        options.device = "cpu";
    if (options.tile_times)
        options.tile_times = tile_size(tree->seed, 0, size[RANDOM_TIME]);
    if (options.tile_channels)
        options.tile_channels = tile_size(tree->seed, 1, size[RANDOM_FREQ]);
    if (options.tile_baselines)
        options.tile_baselines = tile_size(tree->seed, 2, size[RANDOM_BASELINE]);
    coverage.tiled[RANDOM_TIME] += options.tile_times && options.tile_times < size[RANDOM_TIME];
    coverage.tiled[RANDOM_FREQ] +=
        options.tile_channels && options.tile_channels < size[RANDOM_FREQ];
    coverage.tiled[RANDOM_BASELINE] +=
        options.tile_baselines && options.tile_baselines < size[RANDOM_BASELINE];
    return options;
}

/* ---- evaluation ---- */

/* What went wrong with a tree. */
typedef struct {
    char text[2000];
} fault;

static void say_messages(fault *f, const char *what, grove_error *error)
{
    char *messages = grove_error_text(error);

    snprintf(f->text, sizeof(f->text), "%s: %s", what, messages);
    free(messages);
}

static bool take_value(const random_tree *tree, grove_value *value, grove_error *error, result *to,
                       fault *f)
{
    const random_value *truth = &tree->node[tree->root].value;
    int axes[RANDOM_AXES];
    int64_t count;
    const char *differs = form_differs(tree, truth, value, axes);

    if (differs) {
        snprintf(f->text, sizeof(f->text), "%s", differs);
        return false;
    }
    double *numbers = grove_value_numbers(value, &count, error);
    unsigned char *flags = grove_value_flagged(value, error);
    bool good = numbers && flags;
    if (good)
        reorder(tree, truth, value, axes, numbers, flags, to);
    else
        say_messages(f, "its numbers", error);
    free(numbers);
    free(flags);
    return good;
}

/* Whether a sum over sources became predict. Only what an action needs is shown. */
static bool is_fused(const random_tree *tree, const char *text)
{
    grove_error *error = grove_error_new();
    size_t room = strlen(text) + 100;
    char *with = malloc(room);

    snprintf(with, room, "%scompare(x%d, x%d, print=false)\n", text, tree->root, tree->root);
    grove_tree *parsed = grove_library_parse(library, with, "random.tree", NULL, 0, error);
    char *shown = parsed ? grove_tree_show(parsed) : NULL;
    bool fused = shown && strstr(shown, " predict(");
    free(shown);
    grove_tree_free(parsed);
    grove_error_free(error);
    free(with);
    return fused;
}

static bool evaluate(const random_tree *tree, const char *text, const way *w, result *to, fault *f)
{
    grove_error *error = grove_error_new();
    grove_session_options options = options_of(tree, w);
    grove_value *value = NULL;
    char name[16];
    bool good = false;

    if (w->isa)
        setenv("GROVE_ISA", w->isa, 1);
    else
        unsetenv("GROVE_ISA");
    if (w->devices)
        devices->devices = w->devices;
    snprintf(name, sizeof(name), "x%d", tree->root);
    grove_tree *parsed = grove_library_parse(library, text, "random.tree", NULL, 0, error);
    grove_session *session = parsed ? grove_session_new(parsed, &options, error) : NULL;
    if (!session || grove_session_value(session, name, &value))
        say_messages(f, "it fails", error);
    else
        good = take_value(tree, value, error, to, f);
    grove_value_unref(value);
    grove_session_free(session);
    grove_tree_free(parsed);
    grove_error_free(error);
    return good;
}

/* ---- comparison ---- */

static void say_cell(const random_tree *tree, int64_t i, fault *f, const char *what)
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
    snprintf(f->text, sizeof(f->text), "%s at%s element %d", what, place,
             (int)(i % truth->elements));
}

static bool is_true(const random_tree *tree, const result *r, bool single, fault *f)
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

static bool is_same(const random_tree *tree, const result *r, const result *first, const char *name,
                    fault *f)
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

/* ---- dumps ---- */

static uint64_t hash_of(const result *r)
{
    uint64_t hash = (uint64_t)r->numbers;

    for (int64_t i = 0; i < r->numbers; i++) {
        uint64_t bits[2];
        memcpy(bits, r->at[i], sizeof(bits));
        hash = random_mix(random_mix(random_mix(hash ^ bits[0]) ^ bits[1]) ^ r->flags[i]);
    }
    return hash;
}

static bool reduces_tiled(const random_tree *tree)
{
    for (int i = 0; i <= tree->root; i++)
        if (tree->node[i].used && tree->node[i].operation >= RANDOM_SUM &&
            tree->node[i].over & (1u << RANDOM_TIME | 1u << RANDOM_BASELINE | 1u << RANDOM_FREQ))
            return true;
    return false;
}

/* ---- trees ---- */

/* Evaluates and compares in the ways taken. False: the number of the way that fails, and why. */
static bool check(const random_tree *tree, const char *text, unsigned taken, int *failed, fault *f)
{
    result first[2][2] = {{{0}}};
    const char *names[2][2] = {{NULL}};
    bool good = true;

    for (int i = 0; i < WAYS && good; i++) {
        const way *w = &ways[i];
        bool single = !w->options.double_precision;
        result r = {0}, *kept = &first[w->kind][single];
        if (!(taken >> i & 1))
            continue;
        *failed = i;
        good = evaluate(tree, text, w, &r, f) && is_true(tree, &r, single, f) &&
               (w->isa || !kept->at || is_same(tree, &r, kept, names[w->kind][single], f));
        coverage.ways[i]++;
        if (good && dump && tree->seed <= FIXED_TREES && !reduces_tiled(tree))
            fprintf(dump, "%" PRIu64 " %s %016" PRIx64 "\n", tree->seed, w->name, hash_of(&r));
        if (good && !kept->at && !w->isa) {
            *kept = r;
            names[w->kind][single] = w->name;
        } else {
            result_free(&r);
        }
    }
    for (int i = 0; i < 4; i++)
        result_free(&first[i / 2][i % 2]);
    return good;
}

/* The smallest part of the tree that fails in that way, too: every node is a tree of its own. */
static void minimise(random_tree *tree, int way_number)
{
    int root = tree->root;
    unsigned taken = 1u << way_number;

    for (int i = 0; i < WAYS; i++)
        if (ways[i].kind == ways[way_number].kind &&
            ways[i].options.double_precision == ways[way_number].options.double_precision &&
            !ways[i].isa) {
            taken |= 1u << i;
            break;
        }
    for (int i = 0; i <= root; i++) {
        fault f;
        if (!random_tree_is_root(tree, i))
            continue;
        int failed;
        char *text = random_tree_text(tree, i);
        if (!check(tree, text, taken, &failed, &f)) {
            printf("the smallest part that fails, '%s': %s\n%s\n", ways[failed].name, f.text, text);
            free(text);
            return;
        }
        free(text);
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
    fault f = {""};

    current = seed;
    cover(tree);
    bool predicts = has_point(tree) && is_fused(tree, text);
    coverage.predicts += predicts;
    bool good = check(tree, text, ways_of(seed, predicts, all), &failed, &f);
    if (all)
        printf("%s\n", text);
    if (!good) {
        printf("tree %" PRIu64 ": '%s': %s\n    GROVE_RANDOM_TREE=%" PRIu64
               " tests/test-random-trees\n%s\n",
               seed, ways[failed].name, f.text, seed, text);
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
    for (int i = 0; i < WAYS; i++)
        printf("    %-30s %5d\n", ways[i].name, coverage.ways[i]);
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

static void find_devices(const char *build)
{
    char path[4096];
    emulated_control *(*find)(void) = NULL;

    snprintf(path, sizeof(path), "%s/tests/cuda/kernels", build);
    setenv("GROVE_CUDA_KERNELS", path, 1);
    snprintf(path, sizeof(path), "%s/tests/cuda/.libs/libcuda-emulated.so", build);
    setenv("GROVE_CUDA_DRIVER", path, 1);
    void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = driver ? dlsym(driver, "grove_emulated_control") : NULL;
    memcpy(&find, &symbol, sizeof(find));
    devices = find ? find() : NULL;
    if (devices) {
        devices->memory = (uint64_t)4 << 30;
        devices->devices = 1;
    }
}

static void begin(void)
{
    const char *build = getenv("GROVE_BUILD"), *classes = getenv("GROVE_PLUGIN_PATH");
    char path[4096];

    build = build ? build : ".";
    snprintf(path, sizeof(path), "%s/tests/plugins/.libs:%s", build,
             classes ? classes : "nodes/.libs");
    setenv("GROVE_PLUGIN_PATH", path, 1);
    find_devices(build);
    library = grove_library_new(NULL);
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    signal(SIGFPE, crashed);
}

int main(void)
{
    const char *one = getenv("GROVE_RANDOM_TREE"), *many = getenv("GROVE_RANDOM_TREES");
    const char *to = getenv("GROVE_RANDOM_DUMP");
    uint64_t base = random_mix((uint64_t)time(NULL) ^ (uint64_t)getpid() << 32) >> 20;
    int failures = 0, fresh = many ? atoi(many) : FRESH_TREES;

    begin();
    dump = to ? fopen(to, "w") : NULL;
    if (one) {
        failures = !take(strtoull(one, NULL, 0), true);
        report(false);
    } else {
        for (int i = 0; i < FIXED_TREES && failures < MAX_FAILURES; i++)
            failures += !take((uint64_t)i + 1, false);
        bool covered = report(true) || failures;
        printf("fresh trees: seeds from %" PRIu64 "\n", base);
        for (int i = 0; i < fresh && failures < MAX_FAILURES; i++)
            failures += !take(base + (uint64_t)i, false);
        if (fresh)
            report(false);
        failures += !covered;
    }
    if (dump)
        fclose(dump);
    grove_library_free(library);
    return failures != 0;
}
