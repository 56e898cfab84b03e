/* Antenna layouts from text files, with one station per line. */
#include "nodes/common/layout.h"

#include "nodes/common/scan.h"
#include "util.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_STATIONS = 100000, MAX_NAME = 64, MAX_BYTES = 64 << 20, COLUMNS = 6 };

static const char suffix[] = ".array";

/* A station's name with its position in the text, to find duplicates. */
typedef struct {
    const char *name;
    grove_piece where;
} named;

typedef struct {
    grove_scan scan;
    grove_layout *layout;
    named *names;
    size_t capacity, name_capacity;
} layout_reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static int split(const char *line, const char *end, grove_piece words[COLUMNS + 1])
{
    int count = 0;
    while (line < end && count <= COLUMNS) {
        if (is_blank(*line)) {
            line++;
            continue;
        }
        const char *start = line;
        while (line < end && !is_blank(*line)) {
            line++;
        }
        words[count++] = (grove_piece){start, (size_t)(line - start)};
    }
    return count;
}

static bool read_number(layout_reader *in, grove_piece from, const char *what, double *value)
{
    if (grove_piece_number(from, value)) {
        return true;
    }
    grove_scan_fault(&in->scan, from.at, from.length,
                     "%s: '%.*s' is not a number; a line is \"x y z [diameter [name [mount]]]\", "
                     "in metres",
                     what, grove_piece_shown(from), from.at);
    return false;
}

static bool read_station(layout_reader *in, const grove_piece *words, int count,
                         grove_station *station)
{
    static const char *const columns[] = {"x", "y", "z", "diameter"};
    bool good = true;
    if (count < 3 || count > COLUMNS) {
        grove_piece last = words[count - 1];
        size_t length = (size_t)(last.at + last.length - words[0].at);
        grove_scan_fault(&in->scan, words[0].at, length,
                         "station: %s columns; a line is \"x y z [diameter [name [mount]]]\"",
                         count < 3 ? "too few" : "too many");
        return false;
    }
    for (int k = 0; k < count && k < 4; k++) {
        double *value = k < 3 ? &station->position[k] : &station->diameter;
        good = read_number(in, words[k], columns[k], value) && good;
    }
    if (good && count > 3 && station->diameter < 0) {
        grove_scan_fault(&in->scan, words[3].at, words[3].length,
                         "diameter: '%.*s' is negative; metres, or 0 where it is not known",
                         grove_piece_shown(words[3]), words[3].at);
        good = false;
    }
    if (count > 4 && words[4].length > MAX_NAME) {
        grove_scan_fault(&in->scan, words[4].at, words[4].length,
                         "name: '%.*s...' is too long; at most %d bytes",
                         grove_piece_shown(words[4]), words[4].at, MAX_NAME);
        good = false;
    }
    if (count > 5 && words[5].length >= sizeof station->mount) {
        grove_scan_fault(&in->scan, words[5].at, words[5].length,
                         "mount: '%.*s' is too long; ALT-AZ, EQUATORIAL, X-Y or the like",
                         grove_piece_shown(words[5]), words[5].at);
        good = false;
    }
    return good;
}

/* Adds one station. The number of stations comes from the file, so a failed allocation is an
 * error. */
static bool make_room(layout_reader *in)
{
    grove_layout *layout = in->layout;
    if ((size_t)layout->count < in->capacity) {
        return true;
    }
    size_t capacity = in->capacity ? 2 * in->capacity : 64;
    grove_station *stations = grove_try_alloc(capacity, sizeof *stations);
    named *names = grove_try_alloc(capacity, sizeof *names);
    if (!stations || !names) {
        free(stations);
        free(names);
        grove_scan_no_memory(&in->scan);
        return false;
    }
    if (layout->count) {
        memcpy(stations, layout->stations, (size_t)layout->count * sizeof *stations);
        memcpy(names, in->names, (size_t)layout->count * sizeof *names);
    }
    free(layout->stations);
    free(in->names);
    layout->stations = stations;
    in->names = names;
    in->capacity = capacity;
    return true;
}

static void add_station(layout_reader *in, const grove_piece *words, int count)
{
    grove_station station = {.mount = "ALT-AZ"};
    grove_layout *layout = in->layout;
    if (!read_station(in, words, count, &station)) {
        return;
    }
    if (layout->count == MAX_STATIONS) {
        grove_scan_fault(&in->scan, words[0].at, 1, "layout: more than %d stations", MAX_STATIONS);
        in->scan.faults = GROVE_SCAN_FAULTS;
        return;
    }
    if (!make_room(in)) {
        return;
    }
    if (count > 4) {
        station.name = grove_piece_copy(words[4]);
    } else {
        station.name = grove_format("S%03d", layout->count);
    }
    if (count > 5) {
        memcpy(station.mount, words[5].at, words[5].length);
        station.mount[words[5].length] = 0;
    }
    in->names[layout->count] = (named){station.name, words[count > 4 ? 4 : 0]};
    layout->stations[layout->count++] = station;
}

/* A comment "# name: MeerKAT" names the array. */
static void read_comment(layout_reader *in, const char *at, const char *end)
{
    while (at < end && (*at == '#' || is_blank(*at))) {
        at++;
    }
    if (end - at < 5 || strncmp(at, "name:", 5) != 0) {
        return;
    }
    grove_piece words[COLUMNS + 1];
    if (split(at + 5, end, words) >= 1) {
        free(in->layout->name);
        in->layout->name = grove_piece_copy(words[0]);
    }
}

static int order_named(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->where.at > y->where.at) - (x->where.at < y->where.at);
}

static void check_names(layout_reader *in)
{
    size_t count = (size_t)in->layout->count;
    if (count) {
        qsort(in->names, count, sizeof *in->names, order_named);
    }
    for (size_t k = 1; k < count; k++) {
        if (grove_equal(in->names[k - 1].name, in->names[k].name)) {
            grove_piece where = in->names[k].where;
            grove_scan_fault(&in->scan, where.at, where.length,
                             "name: there is a station '%s' already; names must differ",
                             in->names[k].name);
        }
    }
}

/* The file's name without folder and extensions. */
static char *short_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *at = slash ? slash + 1 : name;
    return grove_piece_copy((grove_piece){at, strcspn(at, ".")});
}

grove_layout *grove_layout_parse(const char *text, const char *name, grove_error *error)
{
    layout_reader in = {.scan = {.text = text, .name = name, .error = error}};
    in.layout = grove_alloc(sizeof *in.layout);
    in.layout->name = short_name(name);
    for (const char *line = text; *line && !grove_scan_stopped(&in.scan);) {
        const char *end = line + strcspn(line, "\n");
        const char *comment = memchr(line, '#', (size_t)(end - line));
        grove_piece words[COLUMNS + 1];
        int count = split(line, comment ? comment : end, words);
        if (count) {
            add_station(&in, words, count);
        } else if (comment) {
            read_comment(&in, comment, end);
        }
        line = *end ? end + 1 : end;
    }
    check_names(&in);
    free(in.names);
    if (!in.layout->count && !in.scan.faults) {
        in.scan.code = grove_fail(error, GROVE_INVALID,
                                  "%s: no stations; a line is \"x y z [diameter [name "
                                  "[mount]]]\", ITRF in metres",
                                  name);
    }
    if (in.scan.code) {
        grove_layout_free(in.layout);
        return NULL;
    }
    return in.layout;
}

/* The names of the shipped arrays in `folders`, as "a, b, c"; and the one nearest to `what`. */
static char *list_arrays(const char *const *folders, const char *what, char **nearest)
{
    grove_text list = {0};
    char **names = NULL;
    size_t count = 0, capacity = 0;
    for (; folders && *folders; folders++) {
        char **files = grove_folder_list(*folders);
        for (size_t k = 0; files && files[k]; k++) {
            if (grove_ends_with(files[k], suffix)) {
                files[k][strlen(files[k]) - strlen(suffix)] = 0;
                grove_text_add(&list, "%s%s", list.length ? ", " : "", files[k]);
                grove_grow((void **)&names, &capacity, count, sizeof *names);
                names[count++] = files[k];
            } else {
                free(files[k]);
            }
        }
        free(files);
    }
    const char *near = grove_nearest(what, (const char *const *)names, count);
    *nearest = near ? grove_strdup(near) : NULL;
    for (size_t k = 0; k < count; k++) {
        free(names[k]);
    }
    free(names);
    return list.at;
}

static void fail_unknown(const char *what, const char *const *folders, grove_error *error)
{
    char *nearest = NULL, *list = list_arrays(folders, what, &nearest);
    grove_text hint = {0};
    if (nearest) {
        grove_text_add(&hint, "did you mean '%s'? ", nearest);
    }
    grove_fail(error, GROVE_MISSING, "layout: there is no file or array '%s'; %sthe arrays are %s",
               what, hint.at ? hint.at : "", list ? list : "not installed");
    free(hint.at);
    free(nearest);
    free(list);
}

/* The path of the file for `what`, or NULL. Caller frees. */
static char *find_file(const char *what, const char *const *folders)
{
    if (grove_path_exists(what) && !grove_path_is_folder(what)) {
        return grove_strdup(what);
    }
    if (strchr(what, '/')) {
        return NULL;
    }
    for (; folders && *folders; folders++) {
        char *file = grove_format("%s%s", what, suffix);
        char *path = grove_path_join(*folders, file);
        free(file);
        if (grove_path_exists(path)) {
            return path;
        }
        free(path);
    }
    return NULL;
}

grove_layout *grove_layout_read(const char *what, const char *const *folders, grove_error *error)
{
    char *path = find_file(what, folders);
    if (!path) {
        fail_unknown(what, folders, error);
        return NULL;
    }
    grove_layout *layout = NULL;
    size_t length;
    char *text = grove_file_read(path, MAX_BYTES, true, &length, error);
    if (text) {
        layout = grove_layout_parse(text, path, error);
    }
    free(text);
    free(path);
    return layout;
}

void grove_layout_free(grove_layout *layout)
{
    if (!layout) {
        return;
    }
    for (int k = 0; k < layout->count; k++) {
        free(layout->stations[k].name);
    }
    free(layout->stations);
    free(layout->name);
    free(layout);
}
