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
 * object. A `const` pointer that is returned is borrowed; any other is the caller's. Structures
 * begin with their size in the program, so that it may be older than the library: their macros set
 * it, as in GROVE_SESSION_OPTIONS(.threads = 2); C++ does options.size = sizeof(options). Without
 * it, or with members set that the library does not know, GROVE_INVALID. One session is
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

typedef struct grove_error grove_error;     /* errors and warnings, with places in files */
typedef struct grove_library grove_library; /* node classes and search folders */
typedef struct grove_tree grove_tree;       /* the checked graph made from a tree file */
typedef struct grove_session grove_session; /* a tree with devices, cache and counters */
typedef struct grove_value grove_value;     /* an immutable array over some axes */

/* ---- errors ---- */

grove_error *grove_error_new(void);
void grove_error_free(grove_error *error);
size_t grove_error_count(const grove_error *error);
size_t grove_error_warnings(const grove_error *error);
int grove_error_code(const grove_error *error);   /* of the first error: -1 invalid, ... */
char *grove_error_text(const grove_error *error); /* all messages as text; caller frees */
void grove_error_clear(grove_error *error);

/* ---- the library ---- */

/* `plugin_folders` are searched for node classes before GROVE_PLUGIN_PATH and the installed folder;
 * NULL-terminated, may be NULL. */
grove_library *grove_library_new(const char *const *plugin_folders);
void grove_library_free(grove_library *library); /* after all trees made with it */
/* Names of all known node classes, sorted, NULL-terminated; borrowed. */
const char *const *grove_library_classes(grove_library *library, size_t *count);
/* 0 when there are node classes; else GROVE_MISSING with the folders searched. Loading a tree
 * reports the same. */
int grove_library_ready(const grove_library *library, grove_error *error);
/* The reference page of a class as text or as Markdown, or NULL with a message. Caller frees. */
char *grove_library_describe(grove_library *library, const char *class_name, bool markdown,
                             grove_error *error);
/* One line about a class, its group, and the path of its module; borrowed; NULL with a message. */
const char *grove_library_summary(grove_library *library, const char *class_name,
                                  const char **group, const char **path, grove_error *error);
/* Checks that the class loads, that all texts are present, and that its defaults are expressions of
 * the tree language. 0 or a code with messages. */
int grove_library_check(grove_library *library, const char *class_name, grove_error *error);
/* Folders of the antenna layouts that Grove ships, NULL-terminated; borrowed. */
const char *const *grove_library_data_folders(const grove_library *library);

/* ---- trees ---- */

/* A setting from the command line: -s name=value, or from a program. */
typedef struct {
    const char *name, *value;
} grove_setting;

/* Reads a tree file (searched for in the current folder, GROVE_TREE_PATH, the installed trees) and
 * all files it includes. All errors and warnings of all files are in `error`; NULL when there was
 * an error. */
grove_tree *grove_library_load(grove_library *library, const char *path,
                               const grove_setting *settings, size_t setting_count,
                               grove_error *error);
/* The same from text; `name` is the file name in messages. */
grove_tree *grove_library_parse(grove_library *library, const char *text, const char *name,
                                const grove_setting *settings, size_t setting_count,
                                grove_error *error);
/* A tree that prints the value of an expression to standard output when it runs, and does nothing
 * else. The expression may use all names of the tree file at `path`; NULL: there is none. If it is
 * an action, the tree runs it. `name` is the file name in messages. */
grove_tree *grove_library_value(grove_library *library, const char *path, const char *expression,
                                const char *name, const grove_setting *settings,
                                size_t setting_count, grove_error *error);
void grove_tree_free(grove_tree *tree);
/* The options that a tree file declares, a line each. Caller frees. */
char *grove_library_options(grove_library *library, const char *path, grove_error *error);
char *grove_tree_show(const grove_tree *tree); /* a line per definition; caller frees */
char *grove_tree_dot(const grove_tree *tree);  /* for Graphviz; caller frees */
/* Notes of its data leaves, a line "NAME: ..." each: a phase centre taken from a sky, the number of
 * sources below a cutoff. Caller frees. */
char *grove_tree_notes(const grove_tree *tree);
/* A line for each derivative of an input of an action with respect to a parm; "" where there are
 * none. Makes nodes: before sessions are opened. Caller frees; NULL with a message. */
char *grove_tree_show_derivatives(grove_tree *tree, grove_error *error);
/* Writes bytes to a file in one step: `path` has them all or is unchanged. A file that exists is
 * replaced only with `overwrite`; files that the tree reads or its actions write, and files of
 * Measurement Sets, never are. To a device, a FIFO or an open descriptor (/dev/stdout) the bytes
 * are sent. 0 or a code with a message. */
int grove_tree_write_file(const grove_tree *tree, const char *path, const void *bytes,
                          size_t length, bool overwrite, grove_error *error);
/* The number of actions in a run: without any there is nothing to run. */
size_t grove_tree_action_count(const grove_tree *tree);

/* ---- sessions ---- */

typedef struct {
    size_t size;
    bool double_precision;
    uint64_t memory; /* bytes for values; 0: half of the free memory */
    int threads;     /* 0: all */
    /* "cpu"; "cuda" or "cuda:1" (from 0): an NVIDIA GPU; "opencl" or "opencl:1": a device of an
     * OpenCL driver; "cuda:all", "opencl:all"; "auto" or NULL: the first GPU, if there is one.
     * Borrowed for the session's lifetime. */
    const char *device;
    uint64_t device_memory; /* bytes on each GPU; 0: nine tenths of the free memory */
    int64_t tile_times, tile_channels, tile_baselines; /* size of tiles, 0: chosen. For tests. */
    bool cache_off;                                    /* for tests: results do not depend on it */
    bool serial;       /* no reading ahead, no writing behind; for tests */
    const char *trace; /* path of a trace file (chrome://tracing, ui.perfetto.dev), or NULL */
    bool trace_lines;  /* a line per node and tile on standard error */
    bool profile;
    bool progress;
    bool stop_on_error; /* print the inputs of a node that fails */
    bool resume;        /* fits go on from the checkpoints of a run that did not end */
    bool energy;        /* measures the energy of runs: see grove_session_energy */
    bool overwrite;     /* of `trace`: replaces a file that exists */
} grove_session_options;
#define GROVE_SESSION_OPTIONS(...)                                                                 \
    ((grove_session_options){.size = sizeof(grove_session_options), __VA_ARGS__})

/* Sets one option by its name and text on the command line: memory, precision, threads, device, ...
 */
int grove_session_option(grove_session_options *options, const char *name, const char *text,
                         grove_error *error);
/* `options` NULL: defaults. `tree` must outlive the session. NULL with a message when the device
 * does not exist. */
grove_session *grove_session_new(grove_tree *tree, const grove_session_options *options,
                                 grove_error *error);
void grove_session_free(grove_session *session);
/* Runs all actions of the tree. After a failure or Ctrl-C, every output is as it was before. */
int grove_session_run(grove_session *session);

/* The expected cost of a run, before it runs. */
typedef struct {
    size_t size; /* set by the program: GROVE_PLAN() */
    int64_t tiles, tile_times, tile_channels,
        tile_baselines; /* of all passes; of the largest ones */
    int passes;
    int walks;  /* over the tiles, of all passes: more where planes of images are made in turn */
    int groups; /* in which planes of images are made for each tile; 1: all at once */
    uint64_t peak_bytes;    /* of values, including buffers of reading and writing */
    uint64_t process_bytes; /* values but for pages of gaps, and all else */
    double visibilities;    /* times, baselines and channels, each once; 0: no baselines */
    double operations;      /* rough estimate: cells computed, all nodes */
    int64_t section;        /* minimum number of sources that sums take at a time; 0: all */
    /* A fit whose solution domains are several tiles: its name in the tree; NULL: none. The most
     * tiles of a domain, whether data are read only once, else in each iteration; and the limit of
     * memory with which a domain would be one tile, 0: it fits, but most of its rows are missing in
     * the set. */
    const char *in_parts;
    int64_t parts;
    bool reads_once;
    uint64_t undivided_bytes;
    /* Configurations of kernels that grove tune has kept for the run's devices, a line each; of the
     * session. */
    const char *tuned;
} grove_plan;
#define GROVE_PLAN(...) ((grove_plan){.size = sizeof(grove_plan), __VA_ARGS__})
/* Fills in as many of its bytes as the program has. */
int grove_session_plan(grove_session *session, grove_plan *plan);

/* The outputs of a run: a line for each, with its size and the free space on its disk; "" where
 * there are none. Caller frees. NULL with a message where writing would fail: something of that
 * name exists already, its folder may not be written, there is no room. */
char *grove_session_outputs(grove_session *session);

typedef struct {
    size_t size; /* in the library: members after it are not there */
    uint64_t evaluations, hits, misses, evictions, cached_bytes, peak_bytes;
    double seconds;        /* of the run, first to last tile */
    double kernel_seconds; /* in kernels */
    double drive_seconds;  /* in drives of actions, such as fits, without their kernels */
    double io_seconds;     /* reading and writing, on their thread */
    double write_seconds;  /* of those, in the classes that write */
    double wait_seconds;   /* that the evaluating thread waited for them */
    double visibilities;
    int64_t tiles,
        node_tiles; /* node evaluations: to measure the framework's cost per node and tile */
    /* GPUs: bytes copied to them and from them, kernels launched, blocks allocated in all and by
     * the driver, cache hits with values on a GPU, the maximum of bytes in use, and the local
     * memory of kernels among them, which stays. */
    uint64_t bytes_up, bytes_down, launches, allocations, system_allocations, device_hits;
    uint64_t device_peak_bytes, device_local_bytes;
    /* With the option profile: how long GPUs were busy with kernels, uploads and downloads, which
     * overlap; sums over all GPUs. */
    double device_kernel_seconds, device_up_seconds, device_down_seconds;
    double device_open_seconds, device_load_seconds; /* of the host: GPUs opened, code loaded */
    /* With the option energy: joules of processors, of memory, of all but GPUs, and of GPUs, in
     * runs from their beginning to their end, which took `energy_seconds`. 0 where they cannot be
     * read. */
    double processor_joules, memory_joules, host_joules, device_joules, energy_seconds;
} grove_counters;
const grove_counters *grove_session_counters(const grove_session *session);
/* Per node and per class: calls, time, hits, misses, bytes. Caller frees. */
char *grove_session_profile(const grove_session *session);
/* With the option energy: lines with the energy of runs and the counters that could not be read, an
 * empty line, and a table by class. Counters are of whole processors and GPUs: other programs
 * count, too. Energies of classes are estimates: the host's energy between two readings, at least
 * 10 ms apart, is divided in proportion to the times of nodes in between; the GPUs' energy, to the
 * times of their kernels. Caller frees; NULL without the option. */
char *grove_session_energy(const grove_session *session);

/* ---- values ---- */

/* The whole value of the node of that name. The caller drops the reference before the session is
 * freed. */
int grove_session_value(grove_session *session, const char *node, grove_value **value);
void grove_value_unref(grove_value *value);
/* Axes of a value: how many, and the name and size of each, slowest first. */
int grove_value_axes(const grove_value *value);
const char *grove_value_axis(const grove_value *value, int k, int64_t *size);
/* Coordinates of the cells along axis k (s, Hz, ...), and labels (of stations, sources); NULL if
 * the axis has none. Borrowed. */
const double *grove_value_coordinates(const grove_value *value, int k);
const char *const *grove_value_labels(const grove_value *value, int k);
/* Numbers of the stations p and q of each baseline along axis k; NULL for any other axis. */
const int32_t *grove_value_stations(const grove_value *value, int k, char side);
bool grove_value_is_complex(const grove_value *value);
/* The unit of its numbers, "" for a plain number. Caller frees. */
char *grove_value_unit(const grove_value *value);
/* Numbers of a cell: 1 scalar, 2 diagonal, 4 matrix (XX XY YX YY), n vector. */
int grove_value_elements(const grove_value *value);
/* All numbers as double, real and imaginary part of each, cells in order of the axes. The caller
 * frees. NULL with a message. */
double *grove_value_numbers(grove_value *value, int64_t *count, grove_error *error);
/* A byte per element of a cell, in the same order: 1 where it is flagged. The caller frees. NULL
 * with a message. */
unsigned char *grove_value_flagged(grove_value *value, grove_error *error);

/* ---- tests of node classes ---- */

typedef struct {
    size_t size;
    const char *tree; /* path of a tree file that uses the class; NULL: the class's example */
    const grove_setting *settings; /* of its options */
    size_t setting_count;
    const char *device; /* as for sessions; NULL: the first GPU, if there is one, and the cpu */
    void (*print)(void *context, const char *line); /* a line for each check; NULL: none */
    void *context;
    int seconds;     /* limit for each check; 0: 600 */
    uint64_t memory; /* limit for each check, in bytes; 0: three quarters of the available memory */
} grove_class_test;
#define GROVE_CLASS_TEST(...) ((grove_class_test){.size = sizeof(grove_class_test), __VA_ARGS__})
/* Runs the conformance checks on a class: the same numbers for any tiles, threads and devices,
 * flags by its rule, nothing written outside its output, and so on (docs/plugins.md). Lines are "ok
 * CHECK", "skip CHECK: reason", "FAIL CHECK: error and place". Each check, and the first, which
 * loads the class, runs in a child process: a check that crashes, does not return or takes too much
 * memory has failed, and the others run. Returns the number of checks that failed, or a negative
 * code with a message when there is no such class. Meanwhile the process's current folder is a
 * temporary one (or the tree file's), and the standard output of actions is discarded: other
 * threads must not rely on either. */
int grove_library_test_class(grove_library *library, const char *class_name,
                             const grove_class_test *test, grove_error *error);

/* ---- text for people ---- */

/* "12.3 MiB", "1.23M", "3 min 5 s" into buf (at least 32 bytes), returning buf. */
char *grove_show_bytes(char *buf, double bytes);
char *grove_show_count(char *buf, double count);
char *grove_show_seconds(char *buf, double seconds);
/* A copy of text for a terminal: control characters other than those in `keep` ("\n\t") are written
 * as \xNN. Caller frees. */
char *grove_shown(const char *from, const char *keep);
/* The name nearest to a mistyped word, or NULL. */
const char *grove_nearest(const char *word, const char *const *names, size_t count);

/* ---- data ---- */

/* Describes the data at `path`: a Measurement Set, a sky model, an antenna layout, the name of an
 * array that Grove ships, solution tables, a checkpoint of a fit, or a tree file and its options.
 * Caller frees; NULL with a message. */
char *grove_library_info(grove_library *library, const char *path, grove_error *error);
/* Describes the version, the build and its search folders; the devices that runs can use. Caller
 * frees. */
char *grove_library_about(grove_library *library);
char *grove_library_devices(grove_library *library);

/* A picture of a Measurement Set, of solution tables in an HDF5 file, or of a layout, in a .png or
 * .svg file. */
typedef struct grove_picture {
    size_t size;
    const char *what;   /* one of grove_picture_names */
    const char *column; /* column of visibilities; NULL: DATA; "DATA,MODEL_DATA": side by side */
    int field, spectral_window;
    int polarization;      /* 1 + which one, of rows that have several; 0: the only one */
    const char *baselines; /* "m000-m001,2": pairs of stations, or all baselines of one, by names or
                              numbers; NULL: all but autocorrelations */
    const char *correlations; /* of amplitudes and phases: "XX,YX" or "all"; NULL: parallel hands */
    int pixels;               /* image: along each side; 0: 256 */
    double cell;              /* image: radians per pixel; 0: a third of the resolution */
    bool logarithmic;         /* logarithmic colours of an image, or amplitudes */
    int threads;              /* 0: all */
    const char *dataset;      /* which solution table: "phase001"; NULL: the first that suits */
    const char *stations;     /* of solutions: "m000,2"; NULL: all */
    const char *reference;    /* the station that phases, clocks, TECs, rotations are relative to */
    const char *direction;    /* of solutions: by name or number; NULL: the first */
    bool overwrite;           /* replaces a picture that exists */
} grove_picture;
#define GROVE_PICTURE(...) ((grove_picture){.size = sizeof(grove_picture), __VA_ARGS__})
/* "uv", "image", "amplitude-time", ...: NULL-terminated; borrowed. Layouts have "layout" only. */
const char *const *grove_picture_names(size_t *count);
/* The pictures that suit the data at `path`, or one solution table (NULL: all) of that file,
 * separated by commas. Caller frees; NULL with a message. */
char *grove_library_pictures(grove_library *library, const char *path, const char *dataset,
                             grove_error *error);
int grove_library_plot(grove_library *library, const char *path, const grove_picture *picture,
                       const char *to, grove_error *error);

/* Repairs a Measurement Set after a run that died, or removes an unfinished new one: everything
 * that the run was changing is again as before. Opening a set does the same. *done: whether there
 * was anything to repair; standard error reports it. */
int grove_recover(const char *path, bool *done, grove_error *error);
/* Restores the flags of a Measurement Set from SET.flagversions, where runs keep the flags that
 * they replace. `version`: a name, such as "grove_1", or "last". The present flags are kept there,
 * too. */
int grove_restore_flags(const char *path, const char *version, grove_error *error);
/* Whether a set that another run has open is waited for (the default) or an error. */
void grove_wait_for_sets(bool wait);

/* Makes Ctrl-C set a flag that a run reads after every tile; a second Ctrl-C ends the process. */
void grove_interrupt_watch(void);

#ifdef __cplusplus
}
#endif

#endif
