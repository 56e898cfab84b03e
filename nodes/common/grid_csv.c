/* Grids from CSV: a header with the names of columns, then a row for each cell, in any order. */
#include "nodes/common/grid_csv.h"

#include "nodes/common/grid.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int grove_csv_split(const char *at, const char *end, grove_piece field[GROVE_CSV_FIELDS])
{
    int count = 0;

    for (;; at++) {
        const char *begin = at;
        bool quoted = false;
        while (at < end && (quoted || *at != ',')) {
            quoted = quoted != (*at == '"');
            at++;
        }
        if (quoted || count == GROVE_CSV_FIELDS)
            return -1;
        field[count++] = grove_piece_trim(begin, at);
        if (at == end)
            return count;
    }
}

char *grove_csv_text(grove_piece field)
{
    char *text = grove_piece_copy(field), *to = text;

    if (text[0] != '"')
        return text;
    for (const char *at = text + 1; *at; at++) {
        if (*at == '"' && *++at != '"')
            break;
        *to++ = *at;
    }
    *to = 0;
    return text;
}

/* The meaning of a column of the file. */
typedef struct {
    int axis;   /* of the grid, or -1; */
    bool other; /* the second station of a baseline */
    int column, element, part;
    double factor;
} field_use;

/* A cell of an axis column, to be sorted. */
typedef struct {
    double number;
    char *label, *other;
    int64_t row, rank;
} key;

typedef struct {
    grove_scan scan;
    grove_grid *grid;
    const char *axes;
    field_use use[GROVE_CSV_FIELDS];
    int fields;
    grove_piece *rows; /* [count]: lines */
    int64_t count;
    size_t capacity;
    int64_t *cell; /* [count] of each row */
} csv_reader;

#define FAULT(in, at_, ...) grove_scan_fault(&(in)->scan, (at_).at, (at_).length, __VA_ARGS__)

/* ---- the header ---- */

static int find_axis(const grove_grid *grid, const char *name)
{
    for (int d = 0; d < grid->axes; d++)
        if (!strcmp(grid->axis[d].name, name))
            return d;
    return -1;
}

static void use_as_axis(csv_reader *in, grove_piece at, const char *name, field_use *use)
{
    bool pair = !strcmp(name, "p") || !strcmp(name, "q");
    const char *axis = pair ? "baseline" : name;
    int found = find_axis(in->grid, axis);

    use->other = name[0] == 'q' && pair;
    if (found < 0 && in->grid->axes == GROVE_VALUE_AXES) {
        FAULT(in, at, "%s: too many axes", name);
        return;
    }
    if (found < 0) {
        found = in->grid->axes++;
        in->grid->axis[found].name = grove_strdup(axis);
    } else if (!pair) {
        FAULT(in, at, "there are two columns '%s'", name);
    }
    use->axis = found;
}

/* The element that XX, RR, ... name; -1: an ordinary name. */
static int element_named(const char *name)
{
    static const char *const names[] = {"XX", "XY", "YX", "YY", "RR", "RL", "LR", "LL"};

    for (int i = 0; i < 8; i++)
        if (!strcmp(name, names[i]))
            return i % 4;
    return -1;
}

static bool is_number(const char *name)
{
    return name[0] && strspn(name, "0123456789") == strlen(name) && strlen(name) < 3;
}

static bool is_name(const char *name)
{
    return name[0] && !(name[0] >= '0' && name[0] <= '9') &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
               strlen(name);
}

/* shape: meanwhile a bit set of the elements, of vectors 1 << 8 and of scalars 1 << 9. */
static void use_as_value(csv_reader *in, grove_piece at, char *name, grove_unit unit,
                         field_use *use)
{
    grove_grid *grid = in->grid;
    bool re = grove_ends_with(name, "_re"), im = grove_ends_with(name, "_im");
    int k = 0;

    if (re || im)
        name[strlen(name) - 3] = 0;
    int element = element_named(name), vector = is_number(name) ? atoi(name) : -1;
    const char *as = element >= 0 || vector >= 0 ? "value" : name;
    if (!is_name(as)) {
        FAULT(in, at, "'%s' is not the name of a column", name);
        return;
    }
    use->part = im;
    use->element = element >= 0 ? element : vector >= 0 ? vector : 0;
    while (k < grid->columns && strcmp(grid->column[k].name, as) != 0)
        k++;
    use->column = k;
    if (k == grid->columns) {
        grid->column = grove_realloc(grid->column, (size_t)(k + 1) * sizeof(*grid->column));
        grid->column[k] =
            (grove_grid_column){.name = grove_strdup(as), .unit = unit, .complex_ = re || im};
        grid->columns++;
    } else if (grid->column[k].complex_ != (re || im) ||
               !grove_unit_equal(grid->column[k].unit, unit)) {
        FAULT(in, at, "the columns of '%s' do not match", as);
    }
    int kind = element >= 0 ? 1 << element : vector >= 0 ? 1 << 8 : 1 << 9;
    grid->column[k].shape |= kind;
    if (use->element >= grid->column[k].elements)
        grid->column[k].elements = use->element + 1;
}

/* "name (unit)" */
static void read_heading(csv_reader *in, grove_piece at, field_use *use)
{
    char *name = grove_csv_text(at), *open = strchr(name, '(');
    size_t length = strlen(name);
    grove_unit unit = GROVE_UNIT_NONE;

    use->axis = use->column = -1;
    use->factor = 1;
    if (open && name[length - 1] == ')') {
        if (grove_grid_unit(open + 1, (size_t)(name + length - 1 - open - 1), &unit, &use->factor))
            FAULT(in, at, "'%s' has an unknown unit", name);
        *open = 0;
    }
    for (length = strlen(name); length && name[length - 1] == ' ';)
        name[--length] = 0;
    if (grove_grid_has_word("time freq station source p q", name, length) ||
        grove_grid_has_word(in->axes, name, length)) {
        grove_unit expected = !strcmp(name, "time")   ? GROVE_UNIT_TIME
                              : !strcmp(name, "freq") ? GROVE_UNIT_FREQUENCY
                                                      : unit;
        if (!grove_unit_is_none(unit) && !grove_unit_equal(unit, expected))
            FAULT(in, at, "'%s' has another unit than that axis", name);
        use_as_axis(in, at, name, use);
    } else {
        use_as_value(in, at, name, unit, use);
    }
    free(name);
}

/* Whether each number of a cell has a column, once. */
static bool is_complete(const csv_reader *in, int column)
{
    const grove_grid_column *c = &in->grid->column[column];
    bool seen[100][2] = {{false}};
    int parts = c->complex_ ? 2 : 1, count = 0;

    for (int f = 0; f < in->fields; f++) {
        const field_use *use = &in->use[f];
        if (use->column != column)
            continue;
        if (seen[use->element][use->part])
            return false;
        seen[use->element][use->part] = true;
        count++;
    }
    int diagonal = c->shape == 9 ? 2 : c->elements;
    return count == parts * diagonal;
}

static void settle_shapes(csv_reader *in, grove_piece line)
{
    for (int k = 0; k < in->grid->columns; k++) {
        grove_grid_column *c = &in->grid->column[k];
        bool known = c->shape == 15 || c->shape == 9 || c->shape == 1 << 8 || c->shape == 1 << 9;
        if (!known || !is_complete(in, k) || c->elements > GROVE_MAX_VECTOR) {
            FAULT(in, line,
                  "the columns of '%s' do not make a number, a matrix (XX XY YX YY), a diagonal "
                  "(XX YY) or a vector (0 1 ...), real or with both _re and _im",
                  c->name);
            return;
        }
        for (int f = 0; f < in->fields && c->shape == 9; f++)
            if (in->use[f].column == k)
                in->use[f].element /= 3;
        c->elements = c->shape == 9 ? 2 : c->elements;
        c->shape = c->shape == 15       ? GROVE_MATRIX
                   : c->shape == 9      ? GROVE_DIAGONAL
                   : c->shape == 1 << 8 ? GROVE_VECTOR
                                        : GROVE_SCALAR;
    }
    for (int d = 0; d < in->grid->axes; d++) {
        int first = 0, second = 0;
        for (int f = 0; f < in->fields; f++) {
            first += in->use[f].axis == d && !in->use[f].other;
            second += in->use[f].axis == d && in->use[f].other;
        }
        if (first != 1 || second != !strcmp(in->grid->axis[d].name, "baseline"))
            FAULT(in, line, "a baseline needs both columns p and q, once");
    }
    if (!in->grid->columns)
        FAULT(in, line, "no column has numbers");
}

static void read_header(csv_reader *in, grove_piece line)
{
    grove_piece field[GROVE_CSV_FIELDS];

    in->fields = grove_csv_split(line.at, line.at + line.length, field);
    if (in->fields < 0)
        FAULT(in, line, "more than %d columns, or a quote that is not closed",
              (int)GROVE_CSV_FIELDS);
    for (int f = 0; f < in->fields; f++)
        read_heading(in, field[f], &in->use[f]);
    if (!in->scan.faults)
        settle_shapes(in, line);
}

/* ---- rows ---- */

static void read_lines(csv_reader *in)
{
    bool header = true;

    for (const char *at = in->scan.text, *end; *at && !grove_scan_stopped(&in->scan); at = end) {
        end = at + strcspn(at, "\n");
        grove_piece line = grove_piece_trim(at, end);
        end += *end == '\n';
        if (!line.length || *line.at == '#')
            continue;
        if (header) {
            read_header(in, line);
            header = false;
            if (in->scan.faults)
                return;
            continue;
        }
        grove_grow((void **)&in->rows, &in->capacity, (size_t)in->count, sizeof(line));
        in->rows[in->count++] = line;
    }
    if (!in->count && !in->scan.faults)
        in->scan.code =
            grove_fail(in->scan.error, GROVE_INVALID, "%s: it has no rows", in->scan.name);
}

static bool is_named_axis(const char *name)
{
    return !strcmp(name, "station") || !strcmp(name, "source") || !strcmp(name, "baseline");
}

static int by_place(const void *a, const void *b)
{
    const key *x = a, *y = b;
    int order = x->number < y->number ? -1 : x->number > y->number;

    if (!order && x->label && y->label)
        order = strcmp(x->label, y->label);
    if (!order && x->other && y->other)
        order = strcmp(x->other, y->other);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

static bool same_place(const key *x, const key *y)
{
    return x->number == y->number && (!x->label || !strcmp(x->label, y->label)) &&
           (!x->other || !strcmp(x->other, y->other));
}

static int by_row(const void *a, const void *b)
{
    const key *x = a, *y = b;

    return x->row < y->row ? -1 : x->row > y->row;
}

static bool read_date(grove_piece field, double *seconds)
{
    bool quoted = field.length > 1 && *field.at == '"' && field.at[field.length - 1] == '"';

    return grove_piece_date(quoted ? (grove_piece){field.at + 1, field.length - 2} : field,
                            seconds);
}

static void read_key(csv_reader *in, int axis, int64_t row, key *k)
{
    grove_piece field[GROVE_CSV_FIELDS];
    int count = grove_csv_split(in->rows[row].at, in->rows[row].at + in->rows[row].length, field);

    k->row = row;
    if (count != in->fields) {
        FAULT(in, in->rows[row], "this row has another number of columns than the header");
        return;
    }
    for (int f = 0; f < count; f++) {
        const field_use *use = &in->use[f];
        if (use->axis != axis)
            continue;
        bool time = !strcmp(in->grid->axis[axis].name, "time");
        if (is_named_axis(in->grid->axis[axis].name)) {
            char **to = use->other ? &k->other : &k->label;
            *to = grove_csv_text(field[f]);
        } else if (grove_piece_number(field[f], &k->number)) {
            k->number *= use->factor;
        } else if (!time || !read_date(field[f], &k->number)) {
            FAULT(in, field[f], "%s must be a number%s", in->grid->axis[axis].name,
                  time ? ", or a UTC date such as 2026-11-22T10:00:00" : "");
        }
    }
}

static void free_keys(key *keys, int64_t count)
{
    for (int64_t i = 0; keys && i < count; i++) {
        free(keys[i].label);
        free(keys[i].other);
    }
    free(keys);
}

/* The different places of sorted keys, `first` of each: names in the order of the file, numbers
 * ascending. Each key gets the rank of its place. */
static void make_axis(grove_grid_axis *axis, key *keys, key *first, int64_t count)
{
    bool named = is_named_axis(axis->name);
    int64_t size = 0, at = 0;

    for (int64_t i = 0; i < count; i++)
        if (!i || !same_place(&keys[i], &keys[i - 1])) {
            first[size] = keys[i];
            first[size].rank = size;
            size++;
        }
    if (named)
        qsort(first, (size_t)size, sizeof(*first), by_row);
    int64_t *rank = grove_alloc((size_t)size * sizeof(*rank) + 1);
    for (int64_t i = 0; i < size; i++)
        rank[first[i].rank] = i;
    for (int64_t i = 0; i < count; i++) {
        at += i && !same_place(&keys[i], &keys[i - 1]);
        keys[i].rank = rank[at];
    }
    free(rank);
    axis->size = size;
    if (named)
        axis->label = grove_alloc((size_t)size * sizeof(char *) + 1);
    else
        axis->number = grove_alloc((size_t)size * sizeof(double) + 1);
    if (!strcmp(axis->name, "baseline"))
        axis->other = grove_alloc((size_t)size * sizeof(char *) + 1);
    for (int64_t i = 0; i < size; i++) {
        if (!named)
            axis->number[i] = first[i].number;
        else
            axis->label[i] = grove_strdup(first[i].label);
        if (axis->other)
            axis->other[i] = grove_strdup(first[i].other);
    }
}

static void place_rows(csv_reader *in)
{
    int64_t *rank = grove_try_alloc((size_t)in->count * GROVE_MAX_AXES + 1, sizeof(*rank));

    for (int d = 0; d < in->grid->axes && rank && !in->scan.faults; d++) {
        key *keys = grove_try_alloc((size_t)in->count + 1, sizeof(*keys));
        key *first = grove_try_alloc((size_t)in->count + 1, sizeof(*first));
        for (int64_t i = 0; keys && first && i < in->count && !grove_scan_stopped(&in->scan); i++)
            read_key(in, d, i, &keys[i]);
        if (!keys || !first) {
            grove_scan_no_memory(&in->scan);
        } else if (!in->scan.faults) {
            qsort(keys, (size_t)in->count, sizeof(*keys), by_place);
            make_axis(&in->grid->axis[d], keys, first, in->count);
            for (int64_t i = 0; i < in->count; i++)
                rank[keys[i].row * GROVE_MAX_AXES + d] = keys[i].rank;
        }
        free_keys(keys, keys ? in->count : 0);
        free(first);
    }
    if (rank && !in->scan.faults) {
        in->grid->cells = grove_grid_count(in->grid, 16 * in->count + 64);
        if (in->grid->cells < 0)
            in->scan.code = grove_fail(in->scan.error, GROVE_INVALID,
                                       "%s: its %lld rows are not a grid: too many combinations of "
                                       "coordinates have no row",
                                       in->scan.name, (long long)in->count);
    }
    for (int64_t i = 0; rank && i < in->count && !in->scan.faults && !in->scan.code; i++)
        for (int d = 0; d < in->grid->axes; d++)
            in->cell[i] = in->cell[i] * in->grid->axis[d].size + rank[i * GROVE_MAX_AXES + d];
    if (!rank)
        grove_scan_no_memory(&in->scan);
    free(rank);
}

/* A field that is empty or no finite number is flagged. */
static double number_of(csv_reader *in, grove_piece field, double factor)
{
    double x;

    if (grove_piece_number(field, &x))
        return x * factor;
    if (field.length && !grove_piece_is(field, "nan") && !grove_piece_is(field, "inf") &&
        !grove_piece_is(field, "-inf"))
        FAULT(in, field, "not a number; an empty field is flagged");
    return NAN;
}

static void read_numbers(csv_reader *in)
{
    grove_piece field[GROVE_CSV_FIELDS];
    unsigned char *seen = grove_try_alloc((size_t)in->grid->cells + 1, 1);
    bool good = seen != NULL;

    for (int k = 0; k < in->grid->columns && good; k++) {
        good = grove_grid_room(in->grid, &in->grid->column[k]);
        if (good)
            memset(in->grid->column[k].flags, 255, (size_t)in->grid->cells);
    }
    if (!good)
        grove_scan_no_memory(&in->scan);
    for (int64_t i = 0; good && i < in->count && !grove_scan_stopped(&in->scan); i++) {
        int64_t cell = in->cell[i];
        int count = grove_csv_split(in->rows[i].at, in->rows[i].at + in->rows[i].length, field);
        if (count != in->fields || seen[cell]) {
            FAULT(in, in->rows[i], "%s",
                  count == in->fields ? "another row has these coordinates already"
                                      : "this row has another number of columns than the header");
            continue;
        }
        seen[cell] = 1;
        for (int k = 0; k < in->grid->columns; k++)
            in->grid->column[k].flags[cell] = 0;
        for (int f = 0; f < count; f++)
            if (in->use[f].column >= 0)
                grove_grid_put(&in->grid->column[in->use[f].column], cell, in->use[f].element,
                               in->use[f].part, number_of(in, field[f], in->use[f].factor));
    }
    free(seen);
}

grove_grid *grove_grid_parse_csv(const char *text, const char *name, const char *axes,
                                 grove_error *error)
{
    csv_reader *in = grove_alloc(sizeof(*in));
    grove_grid *grid = in->grid = grove_alloc(sizeof(*grid));

    in->scan = (grove_scan){.text = text, .name = name, .error = error};
    in->axes = axes;
    read_lines(in);
    in->cell = grove_try_alloc((size_t)in->count + 1, sizeof(*in->cell));
    if (!in->cell)
        grove_scan_no_memory(&in->scan);
    if (!in->scan.code && !in->scan.faults)
        place_rows(in);
    if (!in->scan.code && !in->scan.faults)
        read_numbers(in);
    bool failed = in->scan.code || in->scan.faults;
    for (int k = 0; k < grid->columns && !failed; k++)
        grove_grid_settle(grid, &grid->column[k]);
    free(in->rows);
    free(in->cell);
    free(in);
    if (failed)
        grove_grid_free(grid);
    return failed ? NULL : grid;
}
