/* Loadable modules of Grove itself, which link foreign libraries and are opened on demand. */
#ifndef GROVE_UNSTABLE_MODULE_H
#define GROVE_UNSTABLE_MODULE_H

#include "../base/error.h"
#include <stdbool.h>

/* The address of `symbol` in the module NAME.so, in the folder grove/ next to an installed
 * libgrove, or next to libgrove in a build tree. The module stays open. NULL with GROVE_MISSING and
 * the message `missing` when this build has no such module, or with GROVE_ABI when it cannot be
 * opened.
 */
const void *grove_module_open(const char *name, const char *symbol, const char *missing,
                              grove_error *error);

/* Whether this build has the module. */
bool grove_module_exists(const char *name);

/* ---- services of modules of subjects, besides their node classes ---- */

/* Files of data: the module exports it as grove_files_api. classes.index has a line "ENDING MODULE"
 * for each ending of their names: .fits, or / of a folder. */
typedef struct {
    int version;       /* GROVE_FILES_VERSION */
    const char *about; /* of the build: "Measurement Sets (casacore)"; NULL: nothing */
    bool absent;       /* from this build: the functions fail, and name the needed packages */
    /* Of text files, which may have any name: "a sky model", ".skymodel"; else NULL. */
    const char *what, *ending;
    /* The text that grove info prints; caller frees; NULL with a message. `folders` have antenna
     * layouts, NULL-terminated. */
    char *(*describe)(const char *path, const char *const *folders, grove_error *error);
    /* The work of grove recover; NULL: none. *done: whether there was anything. */
    int (*recover)(const char *path, bool *done, grove_error *error);
    int (*restore_flags)(const char *path, const char *version, grove_error *error);
} grove_files;
enum { GROVE_FILES_VERSION = 1 };
extern const grove_files grove_files_api; /* in a module */

/* The grove_files of the module at `path`; NULL with a message. */
const grove_files *grove_files_open(const char *path, grove_error *error);

/* A table of functions for others, which begins with its version, an int: a module exports it as
 * grove_NAME_api, a header of its subject declares it, and classes.index has a line "@NAME MODULE".
 * The index is in GROVE_PLUGIN_PATH or the installed folder of node classes. NULL with a
 * message. */
const void *grove_service_open(const char *name, int version, grove_error *error);

/* The service "pictures", for grove plot. */
struct grove_picture; /* of grove.h */
typedef struct {
    int version;       /* GROVE_PICTURES_VERSION */
    const char *about; /* "pictures (cairo)" */
    bool absent;       /* from this build: drawing fails, and names the needed packages */
    /* As grove_picture_names, grove_library_pictures and grove_library_plot, which looks for
     * antenna layouts in `folders`, NULL-terminated. */
    const char *const *(*names)(size_t *count);
    char *(*suited)(const char *path, const char *dataset, grove_error *error);
    int (*draw)(const char *path, const char *const *folders, const struct grove_picture *picture,
                const char *to, grove_error *error);
} grove_pictures;
enum { GROVE_PICTURES_VERSION = 1 };

#endif
