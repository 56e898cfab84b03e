#include "random-tree-ways.h"
#include "tests/common/real-cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LITTLE = 1 << 21 };

const random_way random_ways[RANDOM_WAYS] = {
    {"cpu", .tiles = "", .threads = 1},
    {"cpu, default", .tiles = ""},
    {"cpu, tiles", .tiles = "tfb", .threads = 1},
    {"cpu, tiles, 3 threads", .tiles = "tf", .threads = 3},
    {"cpu, tiles, no cache", .tiles = "tb", .threads = 2, .cache_off = true},
    {"cpu, serial", .tiles = "f", .threads = 2, .serial = true},
    {"cpu, little memory", .tiles = "", .threads = 2, .memory = LITTLE},
    {"cpu, run", .tiles = "", .threads = 2, .runs = true},
    {"cpu, run, tiles", .tiles = "tfb", .threads = 2, .runs = true},
    {"cpu, single", .single = true, .tiles = "", .threads = 1},
    {"cpu, single, tiles", .single = true, .tiles = "tfb", .threads = 2},
    {"cpu, single, no cache, serial", .single = true, .tiles = "t", .threads = 3, .cache_off = true,
     .serial = true},
    {"cpu, single, little memory", .single = true, .tiles = "", .threads = 1, .memory = LITTLE},
    {"cpu, single, run, tiles", .single = true, .tiles = "tb", .runs = true},
    {"portable", .tiles = "", .threads = 1, .isa = "portable"},
    {"portable, single", .single = true, .tiles = "", .threads = 1, .isa = "portable"},
    {"avx2", .tiles = "", .threads = 1, .isa = "avx2"},
    {"avx2, single", .single = true, .tiles = "", .threads = 1, .isa = "avx2"},
    {"cuda", RANDOM_CUDA, .tiles = "", .threads = 1, .devices = 1},
    {"cuda, tiles", RANDOM_CUDA, .tiles = "tfb", .threads = 1, .devices = 1},
    {"2 x cuda, tiles", RANDOM_CUDA, .tiles = "tb", .threads = 2, .devices = 2},
    {"cuda, run, tiles", RANDOM_CUDA, .tiles = "tf", .threads = 2, .runs = true, .devices = 1},
    {"cuda, single", RANDOM_CUDA, .single = true, .tiles = "", .threads = 1, .devices = 1},
    {"2 x cuda, single, tiles", RANDOM_CUDA, .single = true, .tiles = "tf", .threads = 2,
     .devices = 2},
    {"cuda, single, run, tiles", RANDOM_CUDA, .single = true, .tiles = "tb", .threads = 1,
     .runs = true, .devices = 1},
};

/* ---- paths ---- */

static void find_devices(random_setting *setting, const char *build)
{
    char path[4096];
    emulated_control *(*find)(void) = NULL;

    setting->real = real_cuda_wanted();
    snprintf(path, sizeof(path), "%s/%s", build, setting->real ? "nodes" : "tests/cuda/kernels");
    setenv("GROVE_DEVICE_KERNELS", path, 1);
    if (setting->real) {
        real_cuda_keep();
        return;
    }
    snprintf(path, sizeof(path), "%s/tests/cuda/.libs/libcuda-emulated.so", build);
    setenv("GROVE_CUDA_DRIVER", path, 1);
    void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = driver ? dlsym(driver, "grove_emulated_control") : NULL;
    memcpy(&find, &symbol, sizeof(find));
    setting->devices = find ? find() : NULL;
    if (setting->devices)
        setting->devices->memory = (uint64_t)4 << 30;
}

void random_setting_begin(random_setting *setting)
{
    const char *build = getenv("GROVE_BUILD"), *classes = getenv("GROVE_PLUGIN_PATH");
    char path[4096];

    build = build ? build : ".";
    snprintf(path, sizeof(path), "%s/tests/core/plugins/.libs:%s", build,
             classes ? classes : "nodes/.libs");
    setenv("GROVE_PLUGIN_PATH", path, 1);
    find_devices(setting, build);
    snprintf(setting->file, sizeof(setting->file), "/tmp/grove-random-%ld.bin", (long)getpid());
    setting->library = grove_library_new(NULL);
}

void random_setting_end(random_setting *setting)
{
    grove_library_free(setting->library);
    unlink(setting->file);
}

/* ---- the choice of ways ---- */

static bool is_built(const random_setting *setting, const random_way *way, bool predicts)
{
#if !defined(__x86_64__)
    if (way->isa && strcmp(way->isa, "portable") != 0)
        return false;
#else
    if (way->isa && !strcmp(way->isa, "avx2") &&
        !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")))
        return false;
#endif
    return (way->devices <= (setting->real      ? 1
                             : setting->devices ? 2
                                                : 0)) &&
           (!way->isa || predicts);
}

unsigned random_ways_of(const random_setting *setting, uint64_t seed, bool predicts, bool all)
{
    uint64_t bits = random_mix(seed ^ 0x77a75);
    unsigned taken = 1u << 0 | 1u << (1 + bits % 8) | 1u << (1 + bits / 8 % 8) | 1u << 9 |
                     1u << (10 + bits / 64 % 4) | 1u << (14 + bits / 256 % 4);

    if (bits / 1024 % 8 == 0)
        taken |= 1u << 18 | 1u << (19 + bits / 8192 % 3);
    if (bits / 1024 % 8 == 1)
        taken |= 1u << 22 | 1u << (23 + bits / 8192 % 2);
    if (all)
        taken = (1u << RANDOM_WAYS) - 1;
    for (int i = 0; i < RANDOM_WAYS; i++)
        if (!is_built(setting, &random_ways[i], predicts))
            taken &= ~(1u << i);
    return taken;
}

static int64_t tile_size(const random_tree *tree, const random_way *way, char axis,
                         random_axis which)
{
    int64_t size = tree->world.size[which];

    if (!strchr(way->tiles, axis) || size < 1)
        return 0;
    return 1 + (int64_t)(random_mix(tree->seed * 8 + (uint64_t)axis) % (uint64_t)size);
}

grove_session_options random_way_options(const random_way *way, const random_tree *tree)
{
    return GROVE_SESSION_OPTIONS(.double_precision = !way->single, .memory = way->memory,
                                 .threads = way->threads,
                                 .device = way->devices == 0   ? "cpu"
                                           : way->devices == 1 ? "cuda"
                                                               : "cuda:all",
                                 .tile_times = tile_size(tree, way, 't', RANDOM_TIME),
                                 .tile_channels = tile_size(tree, way, 'f', RANDOM_FREQ),
                                 .tile_baselines = tile_size(tree, way, 'b', RANDOM_BASELINE),
                                 .cache_off = way->cache_off, .serial = way->serial, );
}

/* ---- results ---- */

static void result_new(const random_tree *tree, random_result *to)
{
    const random_value *truth = &tree->node[tree->root].value;

    to->numbers = truth->cells * truth->elements;
    to->at = calloc((size_t)to->numbers + 1, sizeof(*to->at));
    to->flags = calloc((size_t)to->numbers + 1, 1);
}

void random_result_free(random_result *result)
{
    free(result->at);
    free(result->flags);
    memset(result, 0, sizeof(*result));
}

static void say_messages(char fault[RANDOM_FAULT], const char *what, grove_error *error)
{
    char *messages = grove_error_text(error);

    snprintf(fault, RANDOM_FAULT, "%s: %s", what, messages);
    free(messages);
}

/* The cell of the result at given indices along all axes. */
static int64_t cell_of(const random_tree *tree, const int64_t index[RANDOM_AXES])
{
    const random_value *truth = &tree->node[tree->root].value;
    int64_t cell = 0;

    for (int a = 0; a < RANDOM_AXES; a++)
        if (truth->axes >> a & 1)
            cell = cell * tree->world.size[a] + index[a];
    return cell;
}

/* Which axis of random_axis is axis k of a value; -1: none. */
static int axis_of(const random_tree *tree, const grove_value *value, int k)
{
    static const char *const names[RANDOM_AXES] = {"source",  "",         "time",
                                                   "station", "baseline", "freq"};
    const char *name = grove_value_axis(value, k, NULL);
    const char *const *labels = grove_value_labels(value, k);
    char first[48];

    if (!strcmp(name, "source")) {
        snprintf(first, sizeof(first), "%lld.0", (long long)tree->world.seed + 1);
        bool other = k > 0 || !(tree->node[tree->root].value.axes >> RANDOM_SOURCE & 1);
        if (!labels || !labels[0]) /* no sources: the axes count as equal */
            return tree->world.size[RANDOM_SOURCE] ||
                           (!tree->world.size[RANDOM_OTHER_SOURCE] && other)
                       ? RANDOM_OTHER_SOURCE
                       : RANDOM_SOURCE;
        return strcmp(labels[0], first) != 0 ? RANDOM_OTHER_SOURCE : RANDOM_SOURCE;
    }
    for (int a = RANDOM_TIME; a < RANDOM_AXES; a++)
        if (!strcmp(names[a], name))
            return a;
    return -1;
}

/* The reason why a value's form is wrong; NULL: it is right. */
static const char *form_differs(const random_tree *tree, grove_value *value, int axes[RANDOM_AXES])
{
    const random_value *truth = &tree->node[tree->root].value;
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

static void reorder(const random_tree *tree, grove_value *value, const int axes[RANDOM_AXES],
                    const double *numbers, const unsigned char *flags, random_result *to)
{
    int count = grove_value_axes(value), elements = tree->node[tree->root].value.elements;

    result_new(tree, to);
    for (int64_t cell = 0; cell < to->numbers / elements; cell++) {
        int64_t index[RANDOM_AXES] = {0}, rest = cell;
        for (int k = count - 1; k >= 0; k--) {
            index[axes[k]] = rest % tree->world.size[axes[k]];
            rest /= tree->world.size[axes[k]];
        }
        for (int e = 0; e < elements; e++) {
            int64_t from = cell * elements + e, at = cell_of(tree, index) * elements + e;
            to->flags[at] = flags[from];
            for (int k = 0; k < 2 && !flags[from]; k++)
                to->at[at][k] = numbers[2 * from + k];
        }
    }
}

static bool take_value(const random_tree *tree, grove_session *session, grove_error *error,
                       random_result *to, char fault[RANDOM_FAULT])
{
    char name[16];
    int axes[RANDOM_AXES];
    int64_t count;
    grove_value *value = NULL;
    bool good = false;

    snprintf(name, sizeof(name), "x%d", tree->root);
    if (grove_session_value(session, name, &value)) {
        say_messages(fault, "it fails", error);
        return false;
    }
    double *numbers = grove_value_numbers(value, &count, error);
    unsigned char *flags = grove_value_flagged(value, error);
    const char *differs = form_differs(tree, value, axes);
    if (differs)
        snprintf(fault, RANDOM_FAULT, "%s", differs);
    else if (!numbers || !flags)
        say_messages(fault, "its numbers", error);
    else
        good = true;
    if (good)
        reorder(tree, value, axes, numbers, flags, to);
    free(numbers);
    free(flags);
    grove_value_unref(value);
    return good;
}

/* Reads what the action has written: each number once. */
static bool take_file(const random_setting *setting, const random_tree *tree, random_result *to,
                      char fault[RANDOM_FAULT])
{
    FILE *file = fopen(setting->file, "rb");
    int elements = tree->node[tree->root].value.elements;
    random_record r;
    int64_t count = 0;

    result_new(tree, to);
    memset(to->flags, 2, (size_t)to->numbers);
    for (; file && fread(&r, sizeof(r), 1, file) == 1; count++) {
        int64_t index[RANDOM_AXES], at;
        for (int a = 0; a < RANDOM_AXES; a++)
            index[a] = r.index[a];
        at = cell_of(tree, index) * elements + r.element;
        if (at >= to->numbers || to->flags[at] != 2)
            break;
        to->flags[at] = (unsigned char)r.flag;
        to->at[at][0] = r.flag ? 0 : r.re;
        to->at[at][1] = r.flag ? 0 : r.im;
    }
    if (file)
        fclose(file);
    if (count != to->numbers)
        snprintf(fault, RANDOM_FAULT, "the action is given %lld numbers of %lld, or some twice",
                 (long long)count, (long long)to->numbers);
    return count == to->numbers;
}

static char *with_line(const char *text, const char *format, int root, const char *file)
{
    size_t room = strlen(text) + 200;
    char *with = malloc(room), line[160];

    snprintf(line, sizeof(line), format, root, file);
    snprintf(with, room, "%s%s\n", text, line);
    return with;
}

bool random_way_evaluate(const random_setting *setting, const random_way *way,
                         const random_tree *tree, const char *text, random_result *result,
                         char fault[RANDOM_FAULT])
{
    grove_error *error = grove_error_new();
    grove_session_options options = random_way_options(way, tree);
    bool good = false;
    char *whole = with_line(text, "random_keep(x%d, to=\"%s\")", tree->root, setting->file);

    if (way->isa)
        setenv("GROVE_ISA", way->isa, 1);
    else
        unsetenv("GROVE_ISA");
    if (way->devices && setting->devices)
        setting->devices->devices = way->devices;
    grove_tree *parsed =
        grove_library_parse(setting->library, whole, "random.tree", NULL, 0, error);
    grove_session *session = parsed ? grove_session_new(parsed, &options, error) : NULL;
    if (!session || (way->runs && grove_session_run(session)))
        say_messages(fault, "it fails", error);
    else
        good = way->runs ? take_file(setting, tree, result, fault)
                         : take_value(tree, session, error, result, fault);
    grove_session_free(session);
    grove_tree_free(parsed);
    grove_error_free(error);
    free(whole);
    return good;
}

bool random_tree_is_fused(const random_setting *setting, const random_tree *tree, const char *text)
{
    grove_error *error = grove_error_new();
    char *whole = with_line(text, "random_keep(x%d, to=\"%s\")", tree->root, "");
    grove_tree *parsed =
        grove_library_parse(setting->library, whole, "random.tree", NULL, 0, error);
    char *shown = parsed ? grove_tree_show(parsed) : NULL;
    bool fused = shown && strstr(shown, " predict(");

    free(shown);
    grove_tree_free(parsed);
    grove_error_free(error);
    free(whole);
    return fused;
}
