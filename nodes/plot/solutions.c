#include "nodes/plot/solutions.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* ---- names ---- */

/* The number of a name, which may be given as a number; -1 after a message. */
static int find_name(const grove_solutions *s, const char *word, const char *what,
                     const char *const *names, int count)
{
    char *end;

    for (int k = 0; k < count; k++)
        if (!strcmp(names[k], word))
            return k;
    long number = strtol(word, &end, 10);
    if (*word >= '0' && *word <= '9' && !*end && number < count)
        return (int)number;
    const char *near = grove_nearest(word, names, (size_t)count);
    grove_text known = {0};
    for (int k = 0; k < count && k < 8; k++)
        grove_text_add(&known, "%s%s", k ? ", " : "", names[k]);
    grove_fail(s->error, GROVE_INVALID, "%s: %s has no %s %s; %s%s%s", s->path, s->where, what,
               word, near ? "did you mean " : "it has ",
               near       ? near
               : known.at ? known.at
                          : "none",
               near        ? "?"
               : count > 8 ? " ..."
                           : "");
    free(known.at);
    return -1;
}

/* The numbers of the names in a list with commas, in the order of the file; NULL: all. */
static int choose(const grove_solutions *s, const char *list, const char *what,
                  const char *const *names, int count, int **chosen, int *chosen_count)
{
    char *words = grove_strdup(list ? list : ""), *next = list ? words : NULL;
    unsigned char *is = grove_alloc((size_t)count + 1);
    int code = 0;

    while (next && !code) {
        char *word = next;
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        int k = find_name(s, word, what, names, count);
        if (k < 0)
            code = GROVE_INVALID;
        else
            is[k] = 1;
    }
    *chosen = grove_alloc(sizeof(int) * ((size_t)count + 1));
    *chosen_count = 0;
    for (int k = 0; k < count; k++)
        if (!list || is[k])
            (*chosen)[(*chosen_count)++] = k;
    free(is);
    free(words);
    return code;
}

/* ---- which table ---- */

static grove_solution_list *read_list(const char *path, grove_error *error)
{
    size_t length = 0;
    char *bytes = grove_file_read(path, (size_t)1 << 30, false, &length, error);
    grove_solution_list *list =
        bytes ? grove_solution_list_parse(bytes, length, path, error) : NULL;

    free(bytes);
    return list;
}

static const struct {
    const char *title, *label;
    double factor; /* 0: degrees of an angle */
} quantities[] = {{"amplitude", "amplitude", 1},      {"phase", "phase (deg)", 0},
                  {"clock", "clock delay (ns)", 1e9}, {"tec", "TEC (TECU)", 1},
                  {"rotation", "rotation (deg)", 0},  {"rotationmeasure", "RM (rad / m²)", 1}};
enum { QUANTITIES = sizeof(quantities) / sizeof(quantities[0]) };

/* Whether it is a table of that quantity; "value" is any quantity without a name of its own. */
static bool is_table_of(const grove_solution_entry *table, const char *quantity)
{
    bool other = table->kind == GROVE_SOLUTION_OTHER;

    return !strcmp(quantity, grove_solution_word(other ? GROVE_SOLUTION_VALUE : table->kind));
}

static bool has_dataset(const grove_solution_entry *table, const char *name)
{
    char *word = grove_format(" %s ", name);
    bool found = strstr(table->datasets, word) != NULL;

    free(word);
    return found;
}

int grove_solutions_read(const grove_solutions *s, const char *dataset, grove_cube *cube)
{
    char *path = grove_format("%s/%s", s->where, dataset);
    int code = grove_cube_read(cube, s->path, path, s->error);

    free(path);
    return code;
}

bool grove_solutions_has(const grove_solutions *s, const char *dataset)
{
    return has_dataset(s->table, dataset);
}

static bool suits(const grove_solution_entry *table, const char *quantity, const char *with,
                  const char *dataset)
{
    char *path = grove_format("%s/%s", table->set, table->name);
    bool named =
        !dataset || !strcmp(path, dataset + (dataset[0] == '/')) || !strcmp(table->name, dataset);

    free(path);
    return named && (quantity ? is_table_of(table, quantity) : has_dataset(table, with));
}

/* Makes it the table that is drawn. */
static void take_table(grove_solutions *s, const grove_solution_entry *table)
{
    free(s->where);
    s->table = table;
    s->where = grove_format("%s/%s", table->set, table->name);
}

/* "sol000/phase000 (G), sol000/phase001 (B)": suitable tables, or all. */
static char *list_tables(const grove_solutions *s, const char *quantity, const char *with, bool all)
{
    grove_text list = {0};

    for (int k = 0; k < s->list->count; k++) {
        const grove_solution_entry *table = &s->list->table[k];
        if (!all && !suits(table, quantity, with, NULL))
            continue;
        grove_text_add(&list, "%s%s/%s", list.at ? ", " : "", table->set, table->name);
        if (table->parm)
            grove_text_add(&list, " (%s)", table->parm);
    }
    return list.at ? list.at : grove_strdup("no solution table");
}

static int choose_table(grove_solutions *s, const char *quantity, const char *with,
                        const char *dataset)
{
    int count = 0;

    for (int k = 0; k < s->list->count; k++) {
        const grove_solution_entry *table = &s->list->table[k];
        if (!suits(table, quantity, with, dataset))
            continue;
        /* all tables of a parm say the same of its fit */
        count += !count || quantity || !grove_equal(s->table->parm, table->parm);
        if (!s->table)
            take_table(s, table);
    }
    if (count == 1)
        return 0;
    char *list = list_tables(s, quantity, with, count == 0);
    int code = 0;
    if (count)
        grove_warn_at(s->error, NULL,
                      "%s: %d tables have this: %s; the first is drawn; --dataset names another",
                      s->path, count, list);
    else
        code = grove_fail(s->error, GROVE_INVALID, "%s: has no table %s%s%s%s; it has %s", s->path,
                          dataset ? dataset : "", dataset ? " " : "",
                          quantity ? "of " : "with the dataset ", quantity ? quantity : with, list);
    free(list);
    return code;
}

/* ---- direction, stations and elements ---- */

static int choose_direction(grove_solutions *s, const char *name)
{
    int axis = s->values.axis[GROVE_CUBE_DIRECTION];
    const grove_grid_axis *directions = axis < 0 ? NULL : &s->values.grid->axis[axis];

    if (!directions)
        return name ? grove_fail(s->error, GROVE_INVALID,
                                 "%s: %s does not vary with direction; leave out --direction",
                                 s->path, s->where)
                    : 0;
    if (name) {
        s->direction = find_name(s, name, "direction", (const char *const *)directions->label,
                                 (int)directions->size);
        return s->direction < 0 ? GROVE_INVALID : 0;
    }
    grove_text list = {0};
    for (int64_t k = 0; k < directions->size && k < 16; k++)
        grove_text_add(&list, "%s%s", k ? ", " : "", directions->label[k]);
    if (directions->size > 1)
        grove_warn_at(
            s->error, NULL,
            "%s: %s has %lld directions: %s%s; the first is drawn; --direction names another",
            s->path, s->where, (long long)directions->size, list.at,
            directions->size > 16 ? " ..." : "");
    free(list.at);
    return 0;
}

static int choose_stations(grove_solutions *s, const grove_picture *picture)
{
    static const char *const all[] = {"all stations"};
    int axis = s->values.axis[GROVE_CUBE_STATION];
    const grove_grid_axis *stations = axis < 0 ? NULL : &s->values.grid->axis[axis];
    const char *const *names = stations ? (const char *const *)stations->label : all;
    int count = stations ? (int)stations->size : 1;

    if (!stations && (picture->stations || picture->reference))
        return grove_fail(s->error, GROVE_INVALID,
                          "%s: %s does not vary with the station; leave out --%s", s->path,
                          s->where, picture->stations ? "stations" : "reference");
    int code = choose(s, picture->stations, "station", names, count, &s->station, &s->stations);
    if (code || !picture->reference || !strcmp(s->table->title, "amplitude"))
        return code; /* amplitudes are not relative */
    s->reference = find_name(s, picture->reference, "station", names, count);
    return s->reference < 0 ? GROVE_INVALID : 0;
}

static int choose_elements(grove_solutions *s, const char *list)
{
    int count = s->values.grid->column->elements;
    const char *names[GROVE_MAX_VECTOR];

    for (int k = 0; k < count; k++)
        names[k] = grove_solutions_element(s, k);
    return choose(s, list && !strcmp(list, "all") ? NULL : list, "polarisation", names, count,
                  &s->element, &s->elements);
}

static void find_unit(grove_solutions *s)
{
    s->factor = 1;
    s->label = s->table->title[0] ? s->table->title : "value";
    for (int k = 0; k < QUANTITIES; k++)
        if (!strcmp(s->table->title, quantities[k].title)) {
            s->label = quantities[k].label;
            s->angle = quantities[k].factor == 0;
            s->factor = s->angle ? 180 / pi : quantities[k].factor;
        }
}

/* Errors have the shape of the values. */
static int read_errors(grove_solutions *s)
{
    if (!grove_solutions_has(s, "error"))
        return 0;
    int code = grove_solutions_read(s, "error", &s->errors);
    bool same = !code && s->errors.grid->column->elements == s->values.grid->column->elements;
    for (int a = 0; a < GROVE_CUBE_AXES && same; a++)
        same = grove_cube_size(&s->errors, a) == grove_cube_size(&s->values, a);
    return code || same ? code
                        : grove_fail(s->error, GROVE_INVALID,
                                     "%s: %s: its errors have another shape than its values",
                                     s->path, s->where);
}

int grove_solutions_open(grove_solutions *s, const char *path, const char *quantity,
                         const char *with, const grove_picture *picture, grove_error *error)
{
    const char *slash = strrchr(path, '/');

    *s = (grove_solutions){
        .path = path, .name = slash ? slash + 1 : path, .reference = -1, .error = error};
    s->list = read_list(path, error);
    if (!s->list)
        return grove_error_code(error);
    int code = choose_table(s, quantity, with, picture->dataset);
    if (code || !quantity)
        return code;
    find_unit(s);
    code = grove_solutions_read(s, "val", &s->values);
    code = code ? code : choose_direction(s, picture->direction);
    code = code ? code : choose_stations(s, picture);
    code = code ? code : choose_elements(s, picture->correlations);
    code = code ? code : read_errors(s);
    return code;
}

void grove_solutions_close(grove_solutions *s)
{
    grove_grid_free(s->values.grid);
    grove_grid_free(s->errors.grid);
    grove_solution_list_free(s->list);
    free(s->where);
    free(s->station);
    free(s->element);
}

/* ---- the values that are drawn ---- */

double grove_solutions_value(const grove_solutions *s, int station, int64_t time, int64_t freq,
                             int element)
{
    int64_t index[GROVE_CUBE_AXES] = {time, freq, station, s->direction};
    double value = grove_cube_at(&s->values, index, element);

    if (s->reference >= 0) {
        index[GROVE_CUBE_STATION] = s->reference;
        value -= grove_cube_at(&s->values, index, element);
    }
    value *= s->factor;
    return s->angle ? value - 360 * round(value / 360) : value;
}

double grove_solutions_error(const grove_solutions *s, int station, int64_t time, int64_t freq,
                             int element)
{
    int64_t index[GROVE_CUBE_AXES] = {time, freq, station, s->direction};

    return s->factor * grove_cube_at(&s->errors, index, element);
}

/* Whether anything that is drawn has a solution. */
static bool has_values(const grove_solutions *s)
{
    int64_t times = grove_cube_size(&s->values, GROVE_CUBE_TIME);
    int64_t freqs = grove_cube_size(&s->values, GROVE_CUBE_FREQ);

    for (int64_t cell = 0; cell < times * freqs; cell++)
        for (int k = 0; k < s->stations; k++)
            for (int e = 0; e < s->elements; e++)
                if (!isnan(grove_solutions_value(s, s->station[k], cell / freqs, cell % freqs,
                                                 s->element[e])))
                    return true;
    return false;
}

int grove_solutions_fail_flagged(const grove_solutions *s)
{
    grove_solutions own = *s;

    own.reference = -1;
    if (s->reference >= 0 && has_values(&own))
        return grove_fail(s->error, GROVE_INVALID,
                          "%s: the reference %s has no solutions in %s where others have some; "
                          "--reference names another",
                          s->path, grove_solutions_station(s, s->reference), s->where);
    return grove_fail(s->error, GROVE_INVALID, "%s: all of %s is flagged", s->path, s->where);
}

const char *grove_solutions_station(const grove_solutions *s, int station)
{
    int axis = s->values.axis[GROVE_CUBE_STATION];

    return axis < 0 ? "all stations" : s->values.grid->axis[axis].label[station];
}

const char *grove_solutions_element(const grove_solutions *s, int element)
{
    static const char *const names[2][4] = {{"XX", "XY", "YX", "YY"}, {"RR", "RL", "LR", "LL"}};
    static const char *const numbers[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    int count = s->values.grid->column->elements;

    if (s->values.grid->feeds)
        return names[s->values.grid->feeds == 'R'][count == 2 ? 3 * element : element];
    return count > 1 && element < 8 ? numbers[element] : "";
}

char *grove_solutions_note(const grove_solutions *s)
{
    grove_text note = {0};
    int direction = s->values.grid ? s->values.axis[GROVE_CUBE_DIRECTION] : -1;

    grove_text_add(&note, "%s", s->where);
    if (s->table->parm)
        grove_text_add(&note, ", parm %s", s->table->parm);
    if (direction >= 0)
        grove_text_add(&note, ", direction %s of %lld",
                       s->values.grid->axis[direction].label[s->direction],
                       (long long)s->values.grid->axis[direction].size);
    if (s->reference >= 0)
        grove_text_add(&note, ", relative to %s", grove_solutions_station(s, s->reference));
    return note.at;
}

/* Against time or frequency, whichever it varies with; where it has more than two of both, a
 * waterfall: points of many channels at one time would be a cloud. */
static void add_picture(grove_text *list, const grove_solutions *s, const char *quantity)
{
    enum { FEW = 2 };
    int64_t times = grove_cube_size(&s->values, GROVE_CUBE_TIME);
    int64_t freqs = grove_cube_size(&s->values, GROVE_CUBE_FREQ);
    const char *against = times > FEW && freqs > FEW    ? "waterfall"
                          : times > 1 && times >= freqs ? "time"
                          : freqs > 1                   ? "freq"
                                                        : "station";

    grove_text_add(list, "%s%s-%s", list->at ? "," : "", quantity, against);
}

/* Whether a table has the dataset, of more than one domain. */
static bool has_domains(grove_solutions *s, const char *with, const char *dataset)
{
    for (int k = 0; k < s->list->count; k++) {
        grove_cube cube = {0};
        take_table(s, &s->list->table[k]);
        bool many = suits(s->table, NULL, with, dataset) && !grove_solutions_read(s, with, &cube) &&
                    cube.grid->cells > 1;
        grove_grid_free(cube.grid);
        if (many)
            return true;
    }
    return false;
}

/* Pictures of the values of all quantities. */
static int add_values(grove_solutions *s, const char *dataset, grove_text *list)
{
    int code = 0;

    for (int q = GROVE_SOLUTION_OTHER + 1; q < GROVE_SOLUTION_KINDS && !code; q++) {
        const char *quantity = grove_solution_word((grove_solution_kind)q);
        int k = 0;
        while (k < s->list->count && !suits(&s->list->table[k], quantity, NULL, dataset))
            k++;
        if (k == s->list->count)
            continue;
        take_table(s, &s->list->table[k]);
        code = grove_solutions_read(s, "val", &s->values);
        if (!code)
            add_picture(list, s, quantity);
        grove_grid_free(s->values.grid);
        s->values.grid = NULL;
    }
    return code;
}

static int no_pictures(const grove_solutions *s, const char *dataset)
{
    char *list = list_tables(s, NULL, NULL, true);
    int code = s->list->count
                   ? grove_fail(s->error, GROVE_INVALID, "%s: has no table %s; it has %s", s->path,
                                dataset, list)
                   : grove_fail(s->error, GROVE_INVALID,
                                "%s: it has no solution tables: groups with a dataset val whose "
                                "attribute AXES names its axes",
                                s->path);

    free(list);
    return code;
}

char *grove_solutions_pictures(const char *path, const char *dataset, grove_error *error)
{
    grove_solutions s = {.path = path, .error = error, .list = read_list(path, error)};
    grove_text list = {0};
    int code = s.list ? add_values(&s, dataset, &list) : grove_error_code(error);

    if (!code && !list.at)
        code = no_pictures(&s, dataset);
    if (!code && has_domains(&s, "chi2", dataset))
        grove_text_add(&list, ",chi2-time");
    if (!code && has_domains(&s, "iterations", dataset))
        grove_text_add(&list, ",convergence");
    code = code ? code : grove_error_code(error);
    grove_solution_list_free(s.list);
    free(s.where);
    if (!code)
        return list.at;
    free(list.at);
    return NULL;
}
