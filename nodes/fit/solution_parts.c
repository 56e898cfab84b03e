#include "nodes/fit/solution_parts.h"

#include "nodes/common/report.h"
#include "util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)
#define TWO_PI    6.283185307179586476925

double grove_solution_period(grove_solution_kind kind)
{
    return kind == GROVE_SOLUTION_PHASE || kind == GROVE_SOLUTION_ROTATION ? TWO_PI : 0;
}

/* ---- which tables ---- */

typedef struct {
    const grove_node *node;
    const grove_solution_request *request;
    const grove_solution_list *list;
    const grove_solution_entry *chosen[GROVE_SOLUTION_KINDS];
} choice;

/* The tables that are there, for messages: of one set, or of all. */
static char *listed(const choice *c, const char *set)
{
    grove_text text = {0};

    for (int i = 0; i < c->list->count; i++) {
        const grove_solution_entry *t = &c->list->table[i];
        if (set && strcmp(set, t->set) != 0)
            continue;
        grove_text_add(&text, "%s", text.at ? ", " : "");
        if (!set)
            grove_text_add(&text, "%s/", t->set);
        grove_text_add(&text, "%s", t->name);
        if (t->parm)
            grove_text_add(&text, " (parm %s)", t->parm);
    }
    return text.at ? text.at : grove_strdup("no solution table");
}

/* An error, with the tables of the set to choose from. */
static int fail_choice(const choice *c, const char *set, const char *what)
{
    char *names = listed(c, set);
    int code = grove_node_fail_option(c->node, c->request->tables_option, "%s; %s= chooses from %s",
                                      what, c->request->tables_option, names);

    free(names);
    return code;
}

/* The same; frees the text. */
static int fail_choice_text(const choice *c, const char *set, char *what)
{
    int code = fail_choice(c, set, what);

    free(what);
    return code;
}

/* The set that is meant, or NULL after a message. */
static const char *find_set(const choice *c)
{
    const char *found = NULL, *word = c->request->tables + strspn(c->request->tables, " ");
    const char *slash = memchr(word, '/', strcspn(word, " ")), *name = c->request->set;
    size_t n = name[0] || !slash ? strlen(name) : (size_t)(slash - word);
    bool several = false;

    name = name[0] ? name : word;
    for (int i = 0; i < c->list->count; i++) {
        const char *set = c->list->table[i].set;
        if (n && (strlen(set) != n || strncmp(name, set, n) != 0))
            continue;
        several = several || (found && strcmp(found, set) != 0);
        found = found ? found : set;
    }
    if (found && !several)
        return found;
    char *names = listed(c, NULL);
    if (!c->list->count)
        grove_node_fail_option(c->node, c->request->option,
                               "it has no solution table: a group with val, whose attribute AXES "
                               "names its axes");
    else if (!found)
        grove_node_fail_option(c->node, c->request->set[0] ? "solset" : c->request->tables_option,
                               "there is no set '%.*s'; there are %s", (int)n, name, names);
    else
        grove_node_fail_option(
            c->node, c->request->option,
            "it has several sets of solutions; %s=\"%s/%s\" names a table with its "
            "set; there are %s",
            c->request->tables_option, c->list->table[0].set, c->list->table[0].name, names);
    free(names);
    return NULL;
}

/* "amplitude or phase" */
static char *kinds_of(unsigned kinds)
{
    grove_text text = {0};

    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++)
        if (kinds >> k & 1)
            grove_text_add(&text, "%s%s", text.at ? " or " : "",
                           grove_solution_word((grove_solution_kind)k));
    return text.at ? text.at : grove_strdup("nothing");
}

static int take(choice *c, const grove_solution_entry *table)
{
    const grove_solution_entry **at = &c->chosen[table->kind];

    if (table->kind == GROVE_SOLUTION_OTHER || !(c->request->kinds >> table->kind & 1)) {
        char *kinds = kinds_of(c->request->kinds);
        char *what =
            grove_format("'%s' has %.60s, but needed is %s", table->name, table->title, kinds);
        free(kinds);
        return fail_choice_text(c, table->set, what);
    }
    if (*at && *at != table)
        return fail_choice_text(c, table->set,
                                grove_format("'%s' and '%s' are both %s", (*at)->name, table->name,
                                             grove_solution_word(table->kind)));
    *at = table;
    return 0;
}

/* Whether a word names the table: by its path, its name, or its parm. */
static bool is_named(const grove_solution_entry *table, const char *set, const char *word, size_t n)
{
    char *own = grove_format("%.*s", (int)n, word);
    const char *slash = strrchr(own, '/'), *name = slash ? slash + 1 : own;
    bool in_set = slash ? strlen(table->set) == (size_t)(slash - own) &&
                              !strncmp(own, table->set, (size_t)(slash - own))
                        : !strcmp(table->set, set);
    bool found = in_set && (!strcmp(table->name, name) || grove_equal(table->parm, name));

    free(own);
    return found;
}

static int take_words(choice *c, const char *set)
{
    int code = 0;

    for (const char *at = c->request->tables + strspn(c->request->tables, " "); *at && !code;) {
        size_t n = strcspn(at, " ");
        bool found = false;
        for (int i = 0; i < c->list->count && !code; i++)
            if (is_named(&c->list->table[i], set, at, n)) {
                code = take(c, &c->list->table[i]);
                found = true;
            }
        if (!found)
            code = fail_choice_text(c, set, grove_format("there is no '%.*s'", (int)n, at));
        at += n;
        at += strspn(at, " ");
    }
    return code;
}

/* The number at the end of a table's name. */
static const char *number_of(const char *name)
{
    const char *at = name + strlen(name);

    while (at > name && isdigit((unsigned char)at[-1]))
        at--;
    return at;
}

/* Of a kind that cannot be applied: says how the others of its set are named. */
static int refuse_kind(choice *c, const grove_solution_entry *table)
{
    grove_text others = {0};

    for (int i = 0; i < c->list->count; i++) {
        const grove_solution_entry *other = &c->list->table[i];
        if (!strcmp(other->set, table->set) && other->kind != GROVE_SOLUTION_VALUE &&
            c->request->kinds >> other->kind & 1)
            grove_text_add(&others, "%s%s", others.at ? " " : "", other->name);
    }
    if (!others.at)
        return take(c, table); /* its message */
    int code = grove_node_fail_option(
        c->node, c->request->tables_option,
        "'%s' is of a kind that cannot be applied, %.60s; %s=\"%s\" leaves it out", table->name,
        table->title, c->request->tables_option, others.at);
    free(others.at);
    return code;
}

/* All tables of the set of these kinds, or of one parm, if there are some. */
static int take_all(choice *c, const char *set)
{
    const grove_solution_entry *a, *p;
    bool of_parm = false;
    int code = 0;

    for (int i = 0; i < c->list->count; i++)
        of_parm = of_parm || (c->request->parm && !strcmp(c->list->table[i].set, set) &&
                              grove_equal(c->list->table[i].parm, c->request->parm));
    for (int i = 0; i < c->list->count && !code; i++) {
        const grove_solution_entry *table = &c->list->table[i];
        bool meant = of_parm ? grove_equal(table->parm, c->request->parm)
                             : table->kind != GROVE_SOLUTION_VALUE || c->request->parm;
        bool possible = of_parm || !c->request->parm || c->request->kinds >> table->kind & 1;
        if (!strcmp(table->set, set) && meant && possible)
            code = table->kind == GROVE_SOLUTION_OTHER ? refuse_kind(c, table) : take(c, table);
    }
    a = c->chosen[GROVE_SOLUTION_AMPLITUDE];
    p = c->chosen[GROVE_SOLUTION_PHASE];
    if (!code && a && p && strcmp(number_of(a->name), number_of(p->name)) != 0)
        code = fail_choice_text(
            c, set,
            grove_format("'%s' and '%s' have different numbers: they may not belong together",
                         a->name, p->name));
    return code;
}

static int choose(choice *c)
{
    const char *set = find_set(c);
    bool any = false;
    int code = GROVE_INVALID;

    if (!set)
        return code;
    code = c->request->tables[0] ? take_words(c, set) : take_all(c, set);
    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++)
        any = any || c->chosen[k];
    if (code || any)
        return code;
    char *kinds = kinds_of(c->request->kinds);
    code = fail_choice_text(c, set, grove_format("it has no %s", kinds));
    free(kinds);
    return code;
}

/* ---- reading ---- */

static int check_column(const grove_node *node, const grove_solution_request *request,
                        const grove_solution_part *part)
{
    const grove_grid_column *column = part->grid->column;
    grove_unit unit = part->kind == GROVE_SOLUTION_CLOCK      ? GROVE_UNIT_TIME
                      : grove_solution_period(part->kind) > 0 ? GROVE_UNIT_ANGLE
                      : part->kind == GROVE_SOLUTION_TEC      ? GROVE_UNIT_NONE
                                                              : request->unit;
    bool own = part->kind == GROVE_SOLUTION_AMPLITUDE || part->kind == GROVE_SOLUTION_VALUE;
    char a[48], b[48];

    if (column->complex_ || column->shape == GROVE_VECTOR)
        return grove_node_fail_option(
            node, request->option, "%s: %s", part->name,
            column->complex_ ? "its numbers are complex; a solution table has real numbers"
                             : "its polarisations are not XX XY YX YY, XX YY, or the "
                               "same with R and L");
    if (!grove_unit_equal(unit, column->unit) && (own || !grove_unit_is_none(column->unit)))
        return grove_node_fail_option(node, request->option, "%s: it is %s, but must be %s",
                                      part->name, grove_unit_describe(a, column->unit),
                                      grove_unit_describe(b, unit));
    if (column->elements == 4 && part->kind > GROVE_SOLUTION_PHASE)
        return grove_node_fail_option(node, request->option,
                                      "%s: 4 polarisations have no meaning here", part->name);
    if (column->elements == 2 && part->kind >= GROVE_SOLUTION_ROTATION)
        return grove_node_fail_option(node, request->option,
                                      "%s: 2 polarisations have no meaning here", part->name);
    return 0;
}

static int read_parts(const grove_node *node, const grove_solution_request *request,
                      const char *bytes, size_t length, const choice *c,
                      grove_solution_parts *parts, grove_error *error)
{
    const char *path = grove_node_text(node, request->option);
    int code = 0;

    for (int k = 0; k < GROVE_SOLUTION_KINDS && !code; k++) {
        grove_solution_part *part = &parts->part[k];
        if (!c->chosen[k])
            continue;
        part->kind = (grove_solution_kind)k;
        part->name = grove_format("%s/%s", c->chosen[k]->set, c->chosen[k]->name);
        part->grid = grove_grid_parse_hdf5(bytes, length, path, part->name, "", error);
        if (!part->grid) {
            code = report_errors(node, request->option, error);
            break;
        }
        grove_lookup_begin(&part->lookup, part->grid, request->option);
        part->lookup.intervals = true;
        part->lookup.any_freq = k == GROVE_SOLUTION_CLOCK || k == GROVE_SOLUTION_TEC;
        part->lookup.period = grove_solution_period(part->kind);
        code = check_column(node, request, part);
    }
    return code;
}

int grove_solution_parts_read(const grove_node *node, const grove_solution_request *request,
                              grove_solution_parts *parts)
{
    const char *path = grove_node_text(node, request->option);
    grove_error *error = grove_error_new();
    choice c = {.node = node, .request = request};
    grove_solution_list *list = NULL;
    size_t length = 0;
    char *bytes = NULL;
    int code = 0;

    if (!grove_grid_is_hdf5(path))
        code = grove_node_fail_option(node, request->option, "%s: the name ends in .h5 or .hdf5",
                                      path);
    else if (!(bytes = grove_file_read(path, MAX_BYTES, false, &length, error)) ||
             !(list = grove_solution_list_parse(bytes, length, path, error)))
        code = report_errors(node, request->option, error);
    c.list = list;
    code = code ? code : choose(&c);
    code = code ? code : read_parts(node, request, bytes, length, &c, parts, error);
    grove_solution_list_free(list);
    grove_error_free(error);
    free(bytes);
    return code;
}

void grove_solution_parts_free(grove_solution_parts *parts)
{
    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++) {
        grove_lookup_free(&parts->part[k].lookup);
        grove_grid_free(parts->part[k].grid);
        free(parts->part[k].name);
    }
    memset(parts, 0, sizeof(*parts));
}

void grove_solution_parts_complete(grove_node *node, grove_solution_parts *parts, const char *note)
{
    grove_text text = {0};
    bool apart = false;

    if (note)
        grove_text_add(&text, "%s", note);
    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++) {
        grove_lookup *lookup = &parts->part[k].lookup;
        if (!parts->part[k].grid)
            continue;
        grove_lookup_fill(node, lookup);
        if (lookup->note && !(text.at && strstr(text.at, lookup->note)))
            grove_text_add(&text, "%s%s", text.at ? "; " : "", lookup->note);
        apart = apart || lookup->apart;
    }
    if (text.at)
        grove_lookup_report(node, text.at, apart);
    free(text.at);
}

/* ---- polarisations ---- */

int grove_solution_parts_check(const grove_node *node, const grove_solution_request *request,
                               const grove_solution_parts *parts, const grove_node *obs)
{
    const double *feed = obs ? grove_node_member_data(obs, "feed") : NULL;
    const grove_solution_part *a = &parts->part[GROVE_SOLUTION_AMPLITUDE],
                              *p = &parts->part[GROVE_SOLUTION_PHASE];

    for (int k = 0; k < GROVE_SOLUTION_KINDS && feed; k++) {
        const grove_grid *grid = parts->part[k].grid;
        if (grid && grid->feeds && (grid->feeds == 'R') != (*feed != 0))
            return grove_node_fail_option(
                node, request->option, "%s: its polarisations are %s, but the feeds of '%s' are %s",
                parts->part[k].name, grid->feeds == 'R' ? "RR, LL" : "XX, YY", grove_node_name(obs),
                *feed != 0 ? "circular" : "linear");
    }
    if (a->grid && p->grid && a->grid->column->elements != p->grid->column->elements &&
        a->grid->column->elements != 1 && p->grid->column->elements != 1)
        return grove_node_fail_option(
            node, request->option, "%s has %d polarisations, %s %d: they do not match", a->name,
            a->grid->column->elements, p->name, p->grid->column->elements);
    return 0;
}
