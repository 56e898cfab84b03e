/* The library of the public API: classes, folders and trees. */
#include "grove.h"

#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "conformance/conformance.h"
#include "device/array.h"
#include "graph/graph.h"
#include "graph/target.h"
#include "lang/lang.h"
#include "lang/reader.h"
#include "report/report.h"
#include "run/devices.h"
#include "unstable/module.h"
#include "unstable/record.h"

#include <stdlib.h>
#include <string.h>

struct grove_library {
    grove_classes *classes;
    char **tree_folders, **array_folders, **node_folders; /* NULL-terminated, owned */
};

static void add_folder(char ***list, size_t *count, char *folder)
{
    *list = grove_realloc(*list, (*count + 2) * sizeof(char *));
    (*list)[(*count)++] = folder;
    (*list)[*count] = NULL;
}

/* The given folders, the folders of an environment variable, then the installed one, each of the
 * latter two with `below` appended. */
static char **folders_of(const char *const *given, const char *variable, const char *installed,
                         const char *below)
{
    const char *at = variable ? getenv(variable) : NULL;
    char **list = NULL;
    size_t count = 0;

    for (; given && *given; given++)
        add_folder(&list, &count, grove_strdup(*given));
    while (at && *at) {
        size_t length = strcspn(at, ":");
        if (length)
            add_folder(&list, &count, grove_format("%.*s%s", (int)length, at, below));
        at += length + (at[length] == ':');
    }
    add_folder(&list, &count, grove_format("%s%s", installed, below));
    return list;
}

static void free_folders(char **list)
{
    for (char **at = list; at && *at; at++)
        free(*at);
    free(list);
}

grove_library *grove_library_new(const char *const *plugin_folders)
{
    grove_library *library = grove_alloc(sizeof(*library));

    library->classes = grove_classes_new(plugin_folders);
    library->node_folders = folders_of(plugin_folders, "GROVE_PLUGIN_PATH", GROVE_NODE_FOLDER, "");
    /* lang reads GROVE_TREE_PATH itself */
    library->tree_folders = folders_of(NULL, NULL, GROVE_TREE_FOLDER, "");
    library->array_folders = folders_of(NULL, "GROVE_DATA_PATH", GROVE_DATA_FOLDER, "/arrays");
    return library;
}

void grove_library_free(grove_library *library)
{
    if (!library)
        return;
    grove_classes_free(library->classes);
    free_folders(library->tree_folders);
    free_folders(library->array_folders);
    free_folders(library->node_folders);
    free(library);
}

const char *const *grove_library_classes(grove_library *library, size_t *count)
{
    return grove_classes_names(library->classes, count);
}

/* Without the class, a name in a tree would be reported as unknown: report the cause instead. */
int grove_library_ready(const grove_library *library, grove_error *error)
{
    const char *fault = grove_classes_fault(library->classes);
    grove_text text = {0};
    size_t count;

    if (fault)
        return grove_fail(error, GROVE_INVALID, "%s", fault);
    grove_classes_names(library->classes, &count);
    if (count)
        return 0;
    for (char **at = library->node_folders; *at; at++)
        grove_text_add(&text, "%s%s%s", at == library->node_folders ? "" : ", ", *at,
                       grove_path_is_folder(*at) ? "" : " (not there)");
    grove_fail(error, GROVE_MISSING,
               "no node classes were found in %s; GROVE_PLUGIN_PATH or -p can name the folder that "
               "has them",
               text.at);
    free(text.at);
    return GROVE_MISSING;
}

static const grove_class *find_class(grove_library *library, const char *name, grove_error *error)
{
    size_t before = grove_error_count(error), count;
    const grove_class *class_ = grove_classes_find(library->classes, name, error);

    if (!class_ && grove_error_count(error) == before && !grove_library_ready(library, error)) {
        const char *const *names = grove_classes_names(library->classes, &count);
        const char *near = grove_nearest(name, names, count);
        grove_fail(error, GROVE_MISSING, "no class '%s'%s%s%s", name,
                   near ? "; did you mean '"
                        : "; if it is a plugin, build its module and name its folder with -p",
                   near ? near : "", near ? "'?" : "");
    }
    return class_;
}

char *grove_library_describe(grove_library *library, const char *class_name, bool markdown,
                             grove_error *error)
{
    const grove_class *class_ = find_class(library, class_name, error);

    if (!class_)
        return NULL;
    return markdown ? grove_class_markdown(class_) : grove_class_describe(class_);
}

const char *grove_library_summary(grove_library *library, const char *class_name,
                                  const char **group, const char **path, grove_error *error)
{
    const grove_class *class_ = find_class(library, class_name, error);

    if (!class_)
        return NULL;
    if (group)
        *group = class_->group ? class_->group : "other";
    if (path)
        *path = grove_classes_path(library->classes, class_name);
    return class_->doc;
}

/* Words and texts need no quotes in a default; anything else is an expression. */
static int check_default(const grove_class *class_, const grove_port *option, grove_error *error)
{
    int kind = (int)option->kind;

    if (!option->initial || kind == GROVE_TEXT || kind == GROVE_FILE || kind == GROVE_CHOICE ||
        kind == GROVE_DIRECTION)
        return 0;
    grove_arena *arena = grove_arena_new();
    grove_error *quiet = grove_error_new();
    bool good =
        grove_reader_expression(arena, grove_source_new(arena, "default", option->initial), quiet);
    grove_error_free(quiet);
    grove_arena_free(arena);
    return good ? 0
                : grove_fail(error, GROVE_INVALID,
                             "class %s: default %s of option '%s' is not an "
                             "expression",
                             class_->name, option->initial, option->name);
}

int grove_library_check(grove_library *library, const char *class_name, grove_error *error)
{
    const grove_class *class_ = find_class(library, class_name, error);
    int code = 0;

    if (!class_)
        return grove_error_code(error);
    if (!class_->group || !class_->output_doc || !class_->example)
        code = grove_fail(error, GROVE_INVALID, "class %s: its %s is missing", class_name,
                          !class_->group        ? "group"
                          : !class_->output_doc ? "output_doc"
                                                : "example");
    for (const grove_port *option = class_->options; option && option->name; option++) {
        int fault = check_default(class_, option, error);
        code = code ? code : fault;
    }
    return code;
}

int grove_library_test_class(grove_library *library, const char *class_name,
                             const grove_class_test *test, grove_error *error)
{
    grove_class_test own = GROVE_CLASS_TEST();

    if (test && grove_sized_take(&own, sizeof(own), test, "grove_class_test", error))
        return GROVE_INVALID;
    if (!grove_classes_path(library->classes, class_name) &&
        !find_class(library, class_name, error))
        return GROVE_MISSING;
    return grove_conformance_test(library, (const char *const *)library->node_folders,
                                  (const char *const *)library->array_folders, class_name, &own,
                                  error);
}

const char *const *grove_library_data_folders(const grove_library *library)
{
    return (const char *const *)library->array_folders;
}

grove_tree *grove_library_load(grove_library *library, const char *path,
                               const grove_setting *settings, size_t setting_count,
                               grove_error *error)
{
    if (grove_library_ready(library, error))
        return NULL;
    return grove_lang_load(path, library->classes, settings, setting_count,
                           (const char *const *)library->tree_folders,
                           (const char *const *)library->array_folders, error);
}

grove_tree *grove_library_parse(grove_library *library, const char *text, const char *name,
                                const grove_setting *settings, size_t setting_count,
                                grove_error *error)
{
    if (grove_library_ready(library, error))
        return NULL;
    return grove_lang_parse(text, name, library->classes, settings, setting_count,
                            (const char *const *)library->tree_folders,
                            (const char *const *)library->array_folders, error);
}

grove_tree *grove_library_value(grove_library *library, const char *path, const char *expression,
                                const char *name, const grove_setting *settings,
                                size_t setting_count, grove_error *error)
{
    if (grove_library_ready(library, error))
        return NULL;
    return grove_lang_value(path, expression, name, library->classes, settings, setting_count,
                            (const char *const *)library->tree_folders,
                            (const char *const *)library->array_folders, error);
}

char *grove_library_options(grove_library *library, const char *path, grove_error *error)
{
    return grove_lang_options(path, (const char *const *)library->tree_folders, error);
}

size_t grove_tree_action_count(const grove_tree *tree)
{
    return tree->action_count;
}

int grove_tree_write_file(const grove_tree *tree, const char *path, const void *bytes,
                          size_t length, bool overwrite, grove_error *error)
{
    int code = grove_tree_check_output(tree, path, overwrite, error);
    grove_file *file = code ? NULL : grove_file_create_output(path, overwrite, error);

    if (!file)
        return code ? code : GROVE_IO;
    (void)fwrite(bytes, 1, length, grove_file_stream(file)); /* a fault is found at the end */
    return grove_file_commit(file, error);
}

/* ---- sessions ---- */

grove_session *grove_session_new(grove_tree *tree, const grove_session_options *options,
                                 grove_error *error)
{
    grove_session *session = grove_session_open(tree, options, error);

    if (session)
        grove_report_install(session);
    return session;
}

/* ---- values ---- */

static int refuse_value(grove_session *session, const grove_node *node)
{
    bool leaf = node->kind == GROVE_NODE_LEAF;
    const char *example = leaf && node->member_count ? node->members[0].name : "";

    return grove_fail(grove_session_error(session), GROVE_INVALID, "'%s' (%s) %s%s%s%s", node->name,
                      node->class_->name,
                      leaf ? "has members, but no value of its own"
                           : "is an action and has no value",
                      *example ? "; ask for one of them, such as " : "", *example ? node->name : "",
                      *example ? grove_arena_format(node->tree->arena, ".%s", example) : "");
}

/* Waits for devices and reports their failures. */
static int evaluate_now(grove_session *session, grove_node *node, grove_value **value)
{
    int code = grove_session_evaluate(session, node, NULL, 0, value);

    if (!code)
        code = grove_session_wait(session);
    if (code && *value) {
        grove_value_unref(*value);
        *value = NULL;
    }
    return code;
}

int grove_session_value(grove_session *session, const char *name, grove_value **value)
{
    grove_tree *tree = grove_session_tree(session);
    const char *names[256];
    size_t count = 0;

    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        if (strcmp(node->name, name) == 0)
            return node->kind == GROVE_NODE_LEAF ||
                           (node->class_ && node->class_->kind == GROVE_CLASS_ACTION)
                       ? refuse_value(session, node)
                       : evaluate_now(session, tree->nodes[i], value);
        if (!tree->nodes[i]->auto_named && count < 256)
            names[count++] = tree->nodes[i]->name;
    }
    const char *near = grove_nearest(name, names, count);
    return grove_fail(grove_session_error(session), GROVE_MISSING, "no node is called '%s'%s%s%s",
                      name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- data and installation ---- */

/* Describes the options of a tree file. */
static char *tree_info(grove_library *library, const char *path, grove_error *error)
{
    char *options = grove_library_options(library, path, error);
    char *text =
        options ? grove_format("tree file: %s\n%s%s", path,
                               *options ? "options, given as -s name=value:\n" : "no options\n",
                               options)
                : NULL;

    free(options);
    return text;
}

/* Describes a text file whose name does not show its kind: by the first module that accepts it. */
static char *text_info(grove_library *library, const char *path, grove_error *error)
{
    char *text = NULL, *kinds = grove_strdup(""), *endings = grove_strdup("");
    const grove_files *files;

    for (size_t k = 0; !text && grove_classes_files_at(library->classes, k, &files); k++) {
        if (!files || !files->what)
            continue;
        text = files->describe(path, (const char *const *)library->array_folders, NULL);
        char *more = grove_format("%s%s%s", files->what, *kinds ? " nor " : "", kinds);
        free(kinds);
        kinds = more;
        more = grove_format("%s%s%s", files->ending, *endings ? " or " : "", endings);
        free(endings);
        endings = more;
    }
    if (!text)
        grove_fail(error, GROVE_INVALID, "%s: neither %s; to see errors, end its name in %s", path,
                   kinds, endings);
    free(kinds);
    free(endings);
    return text;
}

char *grove_library_info(grove_library *library, const char *path, grove_error *error)
{
    if (grove_ends_with(path, ".tree"))
        return tree_info(library, path, error);
    /* a path has one of these, the name of an array does not */
    if (!grove_path_exists(path) && strpbrk(path, "/.")) {
        grove_path_fail(path, error);
        return NULL;
    }
    const size_t before = grove_error_count(error);
    const char *const *folders = (const char *const *)library->array_folders;
    char *name = grove_format("%s%s", path,
                              grove_path_is_folder(path) ? "/"
                              : grove_path_exists(path)  ? ""
                                                         : ".array");
    const grove_files *files = grove_classes_files(library->classes, name, error);
    free(name);
    if (!files && grove_error_count(error) == before)
        return grove_library_ready(library, error) ? NULL : text_info(library, path, error);
    return files ? files->describe(path, folders, error) : NULL;
}

/* The grove_files of the module of Measurement Sets; NULL with a message. */
static const grove_files *files_of_folders(grove_error *error)
{
    const size_t before = grove_error_count(error);
    grove_classes *classes = grove_classes_new(NULL);
    const grove_files *files = grove_classes_files(classes, "/", error);

    grove_classes_free(classes);
    if (!files && grove_error_count(error) == before)
        grove_fail(
            error, GROVE_MISSING,
            "there is no module for Measurement Sets; GROVE_PLUGIN_PATH can name its folder");
    return files;
}

int grove_recover(const char *path, bool *done, grove_error *error)
{
    const grove_files *files = files_of_folders(error);

    *done = false;
    return files ? files->recover(path, done, error) : GROVE_MISSING;
}

int grove_restore_flags(const char *path, const char *version, grove_error *error)
{
    const grove_files *files = files_of_folders(error);

    return files ? files->restore_flags(path, version, error) : GROVE_MISSING;
}

void grove_wait_for_sets(bool wait)
{
    grove_record_wait(wait);
}

const char *const *grove_picture_names(size_t *count)
{
    static const char *const none[] = {NULL};
    const grove_pictures *pictures = grove_service_open("pictures", GROVE_PICTURES_VERSION, NULL);

    if (pictures)
        return pictures->names(count);
    if (count)
        *count = 0;
    return none;
}

char *grove_library_pictures(grove_library *library, const char *path, const char *dataset,
                             grove_error *error)
{
    const grove_pictures *pictures = grove_service_open("pictures", GROVE_PICTURES_VERSION, error);

    (void)library;
    return pictures ? pictures->suited(path, dataset, error) : NULL;
}

int grove_library_plot(grove_library *library, const char *path, const grove_picture *picture,
                       const char *to, grove_error *error)
{
    grove_picture own;

    if (grove_sized_take(&own, sizeof(own), picture, "grove_picture", error))
        return GROVE_INVALID;
    const grove_pictures *pictures = grove_service_open("pictures", GROVE_PICTURES_VERSION, error);
    return pictures
               ? pictures->draw(path, (const char *const *)library->array_folders, &own, to, error)
               : grove_error_code(error);
}

static void add_folders(grove_text *text, const char *title, char **folders)
{
    for (char **at = folders; *at; at++)
        grove_text_add(text, "%-15s %s%s\n", at == folders ? title : "", *at,
                       grove_path_is_folder(*at) ? "" : " (not there)");
}

static void add_part(grove_text *text, const char **title, const char *part, bool has)
{
    grove_text_add(text, "%-15s %s%s\n", *title, has ? "" : "no ", part);
    *title = "";
}

char *grove_library_about(grove_library *library)
{
    const grove_pictures *pictures = grove_service_open("pictures", GROVE_PICTURES_VERSION, NULL);
    const char *title = "built with";
    const grove_files *files;
    grove_text text = {0};
    size_t count;

    grove_classes_names(library->classes, &count);
    grove_text_add(&text, "grove %s, plugin interface %d.%d\n", GROVE_VERSION, GROVE_ABI_MAJOR,
                   GROVE_ABI_MINOR);
    for (size_t k = 0; grove_classes_files_at(library->classes, k, &files); k++)
        if (files && files->about)
            add_part(&text, &title, files->about, !files->absent);
    if (pictures)
        add_part(&text, &title, pictures->about, !pictures->absent);
    add_part(&text, &title, "CUDA devices", grove_module_exists("cuda"));
    add_part(&text, &title, "OpenCL devices", grove_module_exists("opencl"));
    grove_text_add(&text, "%-15s %zu\n", "node classes", count);
    add_folders(&text, "looked for in", library->node_folders);
    char **trees = folders_of(NULL, "GROVE_TREE_PATH", GROVE_TREE_FOLDER, "");
    add_folders(&text, "trees", trees);
    free_folders(trees);
    add_folders(&text, "arrays", library->array_folders);
    return text.at;
}

static const char *instruction_sets(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return "x86-64 with AVX2, AVX-512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "x86-64 with AVX2";
    return "x86-64";
#elif defined(__aarch64__)
    return "AArch64";
#else
    return "portable";
#endif
}

static void add_devices(grove_text *text, const char *kind)
{
    grove_error *error = grove_error_new();
    int count = grove_device_count(kind, error);
    char libraries[64];

    if (!count)
        grove_text_add(text, "%-7s none%s%s\n", kind, grove_error_count(error) ? ": " : "",
                       grove_error_count(error) ? grove_error_message(error, 0) : "");
    for (int k = 0; k < count; k++) {
        grove_device *device = grove_device_open(kind, k, 0, error);
        grove_text_add(text, "%s:%d  %s\n", kind, k,
                       device ? device->description : grove_error_message(error, 0));
        if (device && grove_device_prepare(device, &grove_array_cast, false, error))
            grove_text_add(text, "        not used: %s\n", grove_error_message(error, 0));
        if (device) {
            device->algebra->describe(device, libraries, sizeof(libraries));
            grove_text_add(text, "        libraries: %s\n", libraries);
        }
        grove_device_free(device);
        grove_error_clear(error);
    }
    grove_error_free(error);
}

char *grove_library_devices(grove_library *library)
{
    grove_threads *threads = grove_threads_new(0);
    grove_text text = {0};
    char free_bytes[32];

    (void)library;
    grove_text_add(&text, "cpu     %d thread%s, %s, %s of memory free\n",
                   grove_threads_count(threads), grove_threads_count(threads) == 1 ? "" : "s",
                   instruction_sets(),
                   grove_show_bytes(free_bytes, (double)grove_memory_available()));
    grove_threads_free(threads);
    for (int k = 0; grove_device_kinds[k]; k++)
        add_devices(&text, grove_device_kinds[k]);
    return text.at;
}
