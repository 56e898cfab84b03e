/* Grove's public API: load, check, run and evaluate a tree from a C program.
 *
 *     grove_error *error = grove_error_new();
 *     grove_library *library = grove_library_new(NULL);
 *     grove_setting settings[] = {{"sky", "3C147.lsm.html"}};
 *     grove_tree *tree = grove_library_load(library, "dde.tree", settings, 1, error);
 *     grove_session *session = tree ? grove_session_new(tree, NULL, error) : NULL;
 *     if (!session || grove_session_run(session))
 *         fputs(grove_error_text(error), stderr);
 *
 * Functions that can fail return 0 or a negative code, or NULL, with the message in the error
 * object. A `const` pointer that is returned is borrowed; any other is the caller's. One session is
 * used by one thread at a time; several may share a tree, each in a thread of its own. */
#ifndef GROVE_GROVE_H
#define GROVE_GROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GROVE_VERSION "0.1.0"

typedef struct grove_error grove_error; /* errors and warnings, with places in files */
typedef struct grove_library
    grove_library;                    /* node classes and the folders where things are found */
typedef struct grove_tree grove_tree; /* the checked graph made from a tree file */
typedef struct grove_session grove_session; /* a tree with devices, cache and counters */
typedef struct grove_value grove_value;     /* an immutable array over some axes */

/* ---- errors ---- */

grove_error *grove_error_new(void);
void grove_error_free(grove_error *error);
size_t grove_error_count(const grove_error *error);
size_t grove_error_warnings(const grove_error *error);
int grove_error_code(const grove_error *error);   /* of the first error: -1 invalid, ... */
char *grove_error_text(const grove_error *error); /* all of them, for people; caller frees */
void grove_error_clear(grove_error *error);

/* ---- the library ---- */

/* `plugin_folders`: searched for node classes before GROVE_PLUGIN_PATH and the installed folder;
 * NULL-terminated, may be NULL. */
grove_library *grove_library_new(const char *const *plugin_folders);
void grove_library_free(grove_library *library); /* after all trees made with it */
/* Names of all node classes that are found, sorted, NULL-terminated; borrowed. */
const char *const *grove_library_classes(grove_library *library, size_t *count);
/* 0 when there are node classes; else GROVE_MISSING with the folders that were searched. Loading a
 * tree says the same. */
int grove_library_ready(const grove_library *library, grove_error *error);
/* The reference page of a class as text or as Markdown, or NULL with a message. Caller frees. */
char *grove_library_describe(grove_library *library, const char *class_name, bool markdown,
                             grove_error *error);
/* One line about a class, its group, and the path of its module; borrowed; NULL with a message. */
const char *grove_library_summary(grove_library *library, const char *class_name,
                                  const char **group, const char **path, grove_error *error);
/* Does the class load, has it all texts, and are its defaults expressions of the tree language? 0
 * or a code with messages. */
int grove_library_check(grove_library *library, const char *class_name, grove_error *error);
/* Folders where shipped antenna layouts are looked for, NULL-terminated; borrowed. */
const char *const *grove_library_data_folders(const grove_library *library);

/* ---- trees ---- */

/* A setting from the command line: -s name=value, or from a program. */
typedef struct {
    const char *name, *value;
} grove_setting;

/* Reads a tree file (searched for in the current folder, GROVE_TREE_PATH, the installed trees) and
 * all it includes. All faults of all files are in `error`, warnings too; NULL when there was an
 * error. */
grove_tree *grove_library_load(grove_library *library, const char *path,
                               const grove_setting *settings, size_t setting_count,
                               grove_error *error);
/* The same from text; `name` stands for the file in messages. */
grove_tree *grove_library_parse(grove_library *library, const char *text, const char *name,
                                const grove_setting *settings, size_t setting_count,
                                grove_error *error);
void grove_tree_free(grove_tree *tree);
/* The options that a tree file declares, a line each. Caller frees. */
char *grove_library_options(grove_library *library, const char *path, grove_error *error);
char *grove_tree_show(const grove_tree *tree); /* a line per node; caller frees */
char *grove_tree_dot(const grove_tree *tree);  /* for Graphviz; caller frees */
/* How many actions a run of it has: without any there is nothing to run. */
size_t grove_tree_action_count(const grove_tree *tree);

/* ---- sessions ---- */

typedef struct {
    bool double_precision;
    uint64_t memory; /* bytes for values; 0: a sensible part of what is free */
    int threads;     /* 0: all */
    /* "cpu"; "cuda" or "cuda:1" (from 0): an NVIDIA GPU; "cuda:all"; "auto" or NULL: the first GPU,
     * if there is one. Stays the caller's. */
    const char *device;
    uint64_t device_memory; /* bytes on each GPU; 0: nine tenths of what is free */
    int64_t tile_times, tile_channels, tile_baselines; /* force tiles, 0: chosen. For tests. */
    bool cache_off;                                    /* for tests: results must not change */
    bool serial;       /* no reading ahead, no writing behind; for tests */
    const char *trace; /* path of a trace file for browsers' viewers, or NULL */
    bool trace_lines;  /* a line per node and tile on standard error */
    bool profile;
    bool progress;
    bool stop_on_error; /* dump the failing node's inputs */
} grove_session_options;

/* Sets one of them by the name and text that the command line uses: memory, precision, threads,
 * device, ... */
int grove_session_option(grove_session_options *options, const char *name, const char *text,
                         grove_error *error);
/* `options` NULL: defaults. `tree` must outlive the session. NULL with a message when there is no
 * such device. */
grove_session *grove_session_new(grove_tree *tree, const grove_session_options *options,
                                 grove_error *error);
void grove_session_free(grove_session *session);
/* Runs all actions of the tree. On failure or Ctrl-C every output is as it was before. */
int grove_session_run(grove_session *session);

/* What a run will take, before it runs. */
typedef struct {
    int64_t tiles, tile_times, tile_channels, tile_baselines;
    int passes;
    uint64_t peak_bytes;    /* of values, buffers in flight included */
    uint64_t process_bytes; /* peak_bytes and what the process holds besides */
    double visibilities;    /* cells of all sinks */
    double operations;      /* rough: cells computed, all nodes */
    int64_t section;        /* sources that sums take at a time at least; 0: all at once */
} grove_plan;
int grove_session_plan(grove_session *session, grove_plan *plan);

typedef struct {
    uint64_t evaluations, hits, misses, evictions, cached_bytes, peak_bytes;
    double seconds;        /* of the run, first to last tile */
    double kernel_seconds; /* in kernels */
    double io_seconds;     /* reading and writing, on their thread */
    double write_seconds;  /* of those, in the classes that write */
    double wait_seconds;   /* the evaluating thread waiting for either */
    double visibilities;
    int64_t tiles,
        node_tiles; /* node evaluations: for the cost of the framework per node and tile */
    /* GPUs: bytes copied there and back, kernels launched, blocks of memory asked for and those of
     * them that the driver had to give, hits whose value was there, and the highest sum of bytes.
     */
    uint64_t bytes_up, bytes_down, launches, allocations, system_allocations, device_hits;
    uint64_t device_peak_bytes;
    /* Where profile was asked for: how long GPUs were busy with kernels, copies to them and copies
     * from them, which overlap; sums over all of them. */
    double device_kernel_seconds, device_up_seconds, device_down_seconds;
    double device_open_seconds, device_load_seconds; /* of the host: GPUs opened, code loaded */
} grove_counters;
const grove_counters *grove_session_counters(const grove_session *session);
/* Per node and per class: calls, time, hits, misses, bytes. Caller frees. */
char *grove_session_profile(const grove_session *session);

/* ---- values ---- */

/* The whole value of the node of that name. The caller drops the reference, before the session
 * goes. */
int grove_session_value(grove_session *session, const char *node, grove_value **value);
void grove_value_unref(grove_value *value);
/* Axes of a value: how many, and the name and size of each, slowest first. */
int grove_value_axes(const grove_value *value);
const char *grove_value_axis(const grove_value *value, int k, int64_t *size);
/* Coordinates of the cells along axis k (s, Hz, ...), and labels (of stations, sources); NULL where
 * it has none. Borrowed. */
const double *grove_value_coordinates(const grove_value *value, int k);
const char *const *grove_value_labels(const grove_value *value, int k);
/* Numbers p and q of the two stations of each baseline along axis k; NULL for any other axis. */
const int32_t *grove_value_stations(const grove_value *value, int k, char side);
bool grove_value_is_complex(const grove_value *value);
/* The unit of its numbers, "" when it has none. Caller frees. */
char *grove_value_unit(const grove_value *value);
/* Numbers of a cell: 1 scalar, 2 diagonal, 4 matrix (XX XY YX YY), n vector. */
int grove_value_elements(const grove_value *value);
/* All numbers as double, real and imaginary part of each, cells in order of the axes. The caller
 * frees. NULL with a message. */
double *grove_value_numbers(grove_value *value, int64_t *count, grove_error *error);
/* A byte per number, in the same order: 1 where it is flagged. The caller frees. NULL with a
 * message. */
unsigned char *grove_value_flagged(grove_value *value, grove_error *error);

/* ---- tests of node classes ---- */

typedef struct {
    const char *tree; /* path of a tree file that uses the class; NULL: the class's example */
    const grove_setting *settings; /* of its options */
    size_t setting_count;
    const char *device; /* as for sessions; NULL: the first GPU, if there is one, beside the cpu */
    void (*print)(void *context, const char *line); /* a line for each check; NULL: none */
    void *context;
} grove_class_test;
/* Holds a class to what every class must do: the same numbers for any tiles, threads and devices,
 * flags by its rule, nothing written outside its output, and so on (docs/plugins.md). Lines are
 * "ok WHAT", "skip WHAT: why", "FAIL WHAT: what is wrong, and where". How many checks failed, or a
 * negative code with a message when there is no such class. Meanwhile the process's current folder
 * is a temporary one (that of the tree file, if there is one), and while actions run its standard
 * output goes nowhere: other threads must not rely on either. */
int grove_library_test_class(grove_library *library, const char *class_name,
                             const grove_class_test *test, grove_error *error);

/* ---- text for people ---- */

/* "12.3 MiB", "1.23M", "3 min 5 s" into buf (at least 32 bytes), returning buf. */
char *grove_show_bytes(char *buf, double bytes);
char *grove_show_count(char *buf, double count);
char *grove_show_seconds(char *buf, double seconds);
/* The name nearest to a mistyped word, or NULL. */
const char *grove_nearest(const char *word, const char *const *names, size_t count);

/* ---- data ---- */

/* What is at `path`, for people: a Measurement Set, a sky model, an antenna layout, the name of an
 * array that Grove knows, or a tree file and its options. Caller frees; NULL with a message. */
char *grove_library_info(grove_library *library, const char *path, grove_error *error);
/* For people: version, what this build has, and where it finds things; the devices that runs can
 * use. Caller frees. */
char *grove_library_about(grove_library *library);
char *grove_library_devices(grove_library *library);

/* A picture of a Measurement Set or a layout, into a .png or .svg file. */
typedef struct {
    const char *what;   /* one of grove_picture_names */
    const char *column; /* of visibilities; NULL: DATA */
    int field, spectral_window;
    int size;         /* image: pixels along each side; 0: 256 */
    double cell;      /* image: radians per pixel; 0: a third of the resolution */
    bool logarithmic; /* colours of an image, or amplitudes, by the logarithm */
    int threads;      /* 0: all */
} grove_picture;
/* "uv", "image", "amplitude-time", ...: NULL-terminated; borrowed. A layout has "layout" only. */
const char *const *grove_picture_names(size_t *count);
int grove_library_plot(grove_library *library, const char *path, const grove_picture *picture,
                       const char *to, grove_error *error);

/* Puts right what runs that died have left in a Measurement Set, or where one was to be: everything
 * that such a run was changing is again as it was before it. Opening a set does the same. *done:
 * whether there was anything; what was done is said on standard error. */
int grove_recover(const char *path, bool *done, grove_error *error);
/* Whether a set that another run has open is waited for (the default) or an error. */
void grove_wait_for_sets(bool wait);

/* Ctrl-C sets a flag that a run looks at after every tile; a second one ends the process. */
void grove_interrupt_watch(void);

#ifdef __cplusplus
}
#endif

#endif
