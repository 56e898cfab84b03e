/* Descriptions of solution tables and of checkpoints of fits, for grove info. */
#include "nodes/fit/checkpoint.h"

#include "nodes/common/grid.h"
#include "nodes/common/solution_list.h"
#include "unstable/module.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)
enum { MAX_NAMES = 8 };

typedef struct {
    const char *path, *bytes;
    size_t length;
    grove_text text;
} description;

/* A dataset of a table, or NULL: there is none, or it cannot be read. */
static grove_grid *part_of(const description *d, const grove_solution_entry *table,
                           const char *dataset)
{
    char *path = grove_format("%s/%s/%s", table->set, table->name, dataset);
    grove_error *quiet = grove_error_new();
    grove_grid *grid = grove_grid_parse_hdf5(d->bytes, d->length, d->path, path, "", quiet);

    grove_error_free(quiet);
    free(path);
    return grid;
}

/* ---- axes ---- */

static void add_numbers(grove_text *text, const grove_grid_axis *axis)
{
    double low = INFINITY, high = -INFINITY;
    char first[48], last[48];

    for (int64_t i = 0; i < axis->size; i++) {
        low = fmin(low, axis->number[i]);
        high = fmax(high, axis->number[i]);
    }
    if (!strcmp(axis->name, "time")) {
        grove_show_date(first, low);
        grove_show_date(last, high);
    } else {
        const char *unit = strcmp(axis->name, "freq") != 0 ? "" : " Hz";
        snprintf(first, sizeof(first), "%.10g%s", low, low < high ? "" : unit);
        snprintf(last, sizeof(last), "%.10g%s", high, unit);
    }
    grove_text_add(text, low < high ? ": %s to %s" : ": %s", first, last);
}

static void add_names(grove_text *text, const grove_grid_axis *axis)
{
    for (int64_t i = 0; i < axis->size && i < MAX_NAMES; i++)
        grove_text_add(text, "%s%s", i ? " " : ": ", axis->label[i]);
    if (axis->size > MAX_NAMES)
        grove_text_add(text, " ...");
}

static void add_axes(grove_text *text, const grove_grid *grid)
{
    static const char *const pols[2][5] = {{"", "", "XX YY", "", "XX XY YX YY"},
                                           {"", "", "RR LL", "", "RR RL LR LL"}};
    int elements = grid->column->elements;

    for (int d = 0; d < grid->axes; d++) {
        const grove_grid_axis *axis = &grid->axis[d];
        grove_text_add(text, "  %-9s %lld", axis->name, (long long)axis->size);
        if (axis->number)
            add_numbers(text, axis);
        else if (axis->label)
            add_names(text, axis);
        grove_text_add(text, "\n");
    }
    if (elements > 1)
        grove_text_add(text, "  %-9s %d%s%s\n", "pol", elements, grid->feeds ? ": " : "",
                       grid->feeds && elements < 5 ? pols[grid->feeds == 'R'][elements] : "");
}

/* ---- numbers ---- */

/* The smallest and the largest that are not flagged; false: there are none. */
static bool find_range(const grove_grid *grid, double range[2], int64_t *flagged)
{
    const grove_grid_column *column = grid->column;

    range[0] = INFINITY;
    range[1] = -INFINITY;
    *flagged = 0;
    for (int64_t n = 0; n < grid->cells * column->elements && !column->complex_; n++) {
        int e = (int)(n % column->elements);
        if (column->flags && column->flags[n / column->elements] >> (e < 7 ? e : 7) & 1) {
            ++*flagged;
            continue;
        }
        range[0] = fmin(range[0], column->numbers[n]);
        range[1] = fmax(range[1], column->numbers[n]);
    }
    return range[0] <= range[1];
}

static void add_values(grove_text *text, const grove_solution_entry *table, const grove_grid *grid)
{
    static const char *const units[GROVE_SOLUTION_KINDS] = {
        [GROVE_SOLUTION_PHASE] = " rad",
        [GROVE_SOLUTION_CLOCK] = " s",
        [GROVE_SOLUTION_TEC] = " TECU",
        [GROVE_SOLUTION_ROTATION] = " rad",
    };
    int64_t count = grid->cells * grid->column->elements, flagged;
    char unit[48] = " ";
    double range[2];
    bool any = find_range(grid, range, &flagged);

    if (!grove_unit_is_none(grid->column->unit))
        grove_unit_show(unit + 1, grid->column->unit);
    else
        snprintf(unit, sizeof(unit), "%s", units[table->kind] ? units[table->kind] : "");
    grove_text_add(text, "  %-9s %lld, %.3g %% flagged", "values", (long long)count,
                   100.0 * (double)flagged / (double)count);
    if (any)
        grove_text_add(text, ", from %.6g to %.6g%s", range[0], range[1], unit);
    grove_text_add(text, "\n");
}

/* ---- fits ---- */

enum { MAX_OUTCOMES = 64 };

static void add_outcomes(grove_text *text, const grove_solution_entry *table,
                         const grove_grid *grid)
{
    int64_t count[MAX_OUTCOMES] = {0}, others = 0;
    const char *comma = "";

    for (int64_t i = 0; i < grid->cells; i++) {
        double x = grid->column->numbers[i];
        if (x >= 0 && x < MAX_OUTCOMES)
            count[(int)x]++;
        else
            others++;
    }
    grove_text_add(text, "  %-9s ", "outcome");
    for (int k = 0; k < MAX_OUTCOMES; k++) {
        if (!count[k])
            continue;
        char *word = grove_solution_outcome(table, k);
        grove_text_add(text, "%s%lld %s", comma, (long long)count[k], word ? word : "unknown");
        comma = ", ";
        free(word);
    }
    if (others)
        grove_text_add(text, "%s%lld unknown", comma, (long long)others);
    grove_text_add(text, "\n");
}

static void add_range(grove_text *text, const char *name, const grove_grid *grid)
{
    double range[2];
    int64_t flagged;

    if (find_range(grid, range, &flagged))
        grove_text_add(text, "  %-9s %.6g to %.6g\n", name, range[0], range[1]);
}

/* Divides chi-squared by its degrees of freedom, if the table has them, of the same shape; whether
 * it has. */
static bool reduce(const description *d, const grove_solution_entry *table, grove_grid *chi2)
{
    grove_grid *freedom = part_of(d, table, "degrees_of_freedom");
    grove_grid_column *column = chi2->column;
    bool same = freedom && !freedom->column->complex_ && !column->complex_ &&
                freedom->axes == chi2->axes && freedom->column->elements == 1 &&
                column->elements == 1;

    for (int k = 0; same && k < chi2->axes; k++)
        same = freedom->axis[k].size == chi2->axis[k].size;
    for (int64_t i = 0; same && i < chi2->cells; i++)
        column->numbers[i] /= fmax(1, freedom->column->numbers[i]);
    grove_grid_free(freedom);
    return same;
}

static void add_fits(description *d, const grove_solution_entry *table)
{
    static const char *const parts[][2] = {
        {"outcome", ""}, {"chi2", "chi2"}, {"iterations", "steps"}, {"error", "errors"}};

    for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        grove_grid *grid = part_of(d, table, parts[k][0]);
        if (grid && !k)
            add_outcomes(&d->text, table, grid);
        else if (grid)
            add_range(&d->text, k == 1 && reduce(d, table, grid) ? "chi2/dof" : parts[k][1], grid);
        grove_grid_free(grid);
    }
}

/* ---- the file ---- */

static int add_table(description *d, const grove_solution_entry *table, grove_error *error)
{
    char *path = grove_format("%s/%s", table->set, table->name);
    grove_grid *grid = grove_grid_parse_hdf5(d->bytes, d->length, d->path, path, "", error);

    if (grid) {
        grove_text_add(&d->text, "%s: %s", path, table->title);
        if (table->parm)
            grove_text_add(&d->text, "; parm %s", table->parm);
        if (table->jones)
            grove_text_add(&d->text, ", jones=%s", table->jones);
        grove_text_add(&d->text, "\n");
        add_axes(&d->text, grid);
        add_values(&d->text, table, grid);
        add_fits(d, table);
    }
    free(path);
    grove_grid_free(grid);
    return grid ? 0 : grove_error_code(error);
}

/* The history of each table, if it differs from the table before. */
static void add_history(description *d, const grove_solution_list *list)
{
    const char *last = NULL;

    for (int i = 0; i < list->count; i++) {
        const grove_solution_entry *table = &list->table[i];
        if (!table->history || grove_equal(last, table->history))
            continue;
        last = table->history;
        grove_text_add(&d->text, "history of %s/%s:\n", table->set, table->name);
        for (const char *at = last; *at;) {
            size_t n = strcspn(at, "\n");
            grove_text_add(&d->text, "  %.*s\n", (int)n, at);
            at += n + (at[n] == '\n');
        }
    }
}

static char *describe_tables(description *d, grove_error *error)
{
    grove_solution_list *list = grove_solution_list_parse(d->bytes, d->length, d->path, error);
    int code = list ? 0 : GROVE_INVALID;

    if (list && !list->count)
        code = grove_fail(error, GROVE_INVALID,
                          "%s: it has no solution table: a group with val, whose attribute AXES "
                          "names its axes",
                          d->path);
    else if (list)
        grove_text_add(&d->text, "solutions: %d table%s\n", list->count,
                       list->count == 1 ? "" : "s");
    for (int i = 0; list && i < list->count && !code; i++)
        code = add_table(d, &list->table[i], error);
    if (!code)
        add_history(d, list);
    grove_solution_list_free(list);
    if (!code)
        return d->text.at;
    free(d->text.at);
    return NULL;
}

/* The solution tables of a file: axes, numbers, how the fits ended, history. Caller frees; NULL
 * with a message. */
static char *describe_solutions(const char *path, grove_error *error)
{
    description d = {.path = path};
    char *bytes = grove_file_read(path, MAX_BYTES, false, &d.length, error), *text = NULL;

    d.bytes = bytes;
    if (bytes)
        text = describe_tables(&d, error);
    free(bytes);
    return text;
}

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    (void)folders;
    return grove_checkpoint_is(path) ? grove_checkpoint_describe(path, error)
                                     : describe_solutions(path, error);
}

const grove_files grove_files_api = {.version = GROVE_FILES_VERSION, .describe = describe};
