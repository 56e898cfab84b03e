/* Indices: p and q are the stations of a baseline, other letters are source axes. */
#include "lang/build.h"

#include "base/text.h"

#include <string.h>

typedef struct {
    bool p, q;
    const char *letters[GROVE_MAX_AXES];
    const grove_ast *asts[GROVE_MAX_AXES];
    int count;
} indices;

static bool is_role(const char *name)
{
    return !strcmp(name, "p") || !strcmp(name, "q");
}

static int add_index(grove_builder *builder, const grove_ast *ast, const grove_ast_item *item,
                     indices *found)
{
    const grove_ast *value = item->value;
    const char *name = value->text;
    bool twice = false;

    if (value->kind == GROVE_AST_BROKEN)
        return GROVE_INVALID;
    if (item->name || value->kind != GROVE_AST_NAME || value->parenthesised) {
        grove_build_fail(builder, ast, value->span,
                         "an index is a name: p, q, or a letter for a source axis");
        return GROVE_INVALID;
    }
    for (int i = 0; i < found->count; i++)
        twice = twice || !strcmp(found->letters[i], name);
    if (!strcmp(name, "p")) {
        twice = found->p;
        if (found->q && !twice) {
            const char *shown = ast->left ? ast->left->text : "V";
            grove_build_fail(builder, ast, ast->span, "%s[q,p] is %s[p,q]^H; write that", shown,
                             shown);
            return GROVE_INVALID;
        }
        found->p = true;
    } else if (!strcmp(name, "q")) {
        twice = found->q;
        found->q = true;
    } else if (found->count < GROVE_MAX_AXES) {
        found->asts[found->count] = value;
        found->letters[found->count++] = name;
    } else {
        grove_build_fail(builder, ast, value->span, "more than %d indices", (int)GROVE_MAX_AXES);
        return GROVE_INVALID;
    }
    if (twice)
        grove_build_fail(builder, ast, value->span, "the index '%s' is given twice", name);
    return twice ? GROVE_INVALID : 0;
}

static int read_indices(grove_builder *builder, const grove_ast *ast, indices *found)
{
    int failed = 0;

    memset(found, 0, sizeof(*found));
    for (const grove_ast_item *item = ast->items.first; item && !failed; item = item->next)
        failed = add_index(builder, ast, item, found);
    if (!failed && !ast->items.first) {
        grove_build_fail(builder, ast, ast->span, "there is no index between [ and ]");
        failed = GROVE_INVALID;
    }
    return failed;
}

/* ---- letters ---- */

static grove_letter *find_letter(const grove_builder *builder, const char *name)
{
    grove_letter *at = builder->letters;

    while (at && strcmp(at->name, name) != 0)
        at = at->next;
    return at;
}

static void add_letter(grove_builder *builder, const char *name, const grove_axis *axis,
                       bool announced)
{
    grove_letter *new = grove_arena_alloc(builder->arena, sizeof(*new));

    *new = (grove_letter){
        .name = name, .axis = axis, .announced = announced, .next = builder->letters};
    builder->letters = new;
}

static void bind_letter(grove_builder *builder, const grove_ast *at, const char *name,
                        const grove_axis *axis, const char *owner)
{
    grove_letter *letter = find_letter(builder, name);

    if (!axis)
        return;
    if (!letter)
        add_letter(builder, name, axis, false);
    else if (!letter->axis)
        letter->axis = axis;
    else if (letter->axis != axis)
        grove_build_fail(builder, at, at->span,
                         "'%s' already means the sources of '%s', but '%s' varies with the sources "
                         "of '%s'; use another letter",
                         name, letter->axis->owner->name, owner, axis->owner->name);
}

/* ---- references ---- */

static int axes_of(const grove_node *node, int kind, const grove_axis **axes)
{
    return node ? grove_node_axes_of_kind(node, kind, axes, axes ? GROVE_MAX_AXES : 0) : 0;
}

static bool declared_with(const grove_statement *statement, const char *role)
{
    for (const grove_ast_item *item = statement ? statement->items.first : NULL; item;
         item = item->next)
        if (!strcmp(item->value->text, role))
            return true;
    return false;
}

static const char *shown_as(grove_builder *builder, const grove_ast *ast,
                            const grove_meaning *meaning)
{
    if (meaning->from)
        return meaning->from->name;
    if (ast->left->text && ast->left->kind != GROVE_AST_MEMBER)
        return ast->left->text;
    return meaning->operand.kind == GROVE_OPERAND_NODE
               ? meaning->operand.node->name
               : grove_literal_show(builder->arena, meaning->operand.literal);
}

static bool fail_roles(grove_builder *builder, const grove_ast *ast, const grove_meaning *meaning,
                       const indices *given)
{
    const grove_node *node = meaning->operand.node;
    const grove_statement *as = meaning->from ? meaning->from->statement : NULL;
    const char *name = shown_as(builder, ast, meaning);
    bool defined_p = declared_with(as, "p"), defined_q = declared_with(as, "q");
    bool baseline = axes_of(node, GROVE_AXIS_BASELINE, NULL) || (defined_p && defined_q);
    bool station = axes_of(node, GROVE_AXIS_STATION, NULL) || (defined_p && !defined_q);

    if (!given->p && !given->q && !(defined_p && !defined_q))
        return false;
    if (!given->p && !given->q)
        grove_build_fail(builder, ast, ast->span, "'%s' is defined as %s; write p or q, too", name,
                         grove_statement_show(builder->arena, as));
    else if (given->p && given->q && station && !baseline)
        grove_build_fail(builder, ast, ast->span,
                         "'%s' varies with station, not with baseline; write %s[p] or %s[q]", name,
                         name, name);
    else if (!(given->p && given->q) && baseline)
        grove_build_fail(builder, ast, ast->span, "'%s' varies with baseline; write %s or %s[p,q]",
                         name, name, name);
    else if (!station && !baseline)
        grove_build_fail(builder, ast, ast->span,
                         "'%s' varies neither with station nor with baseline; write %s", name,
                         name);
    else
        return false;
    return true;
}

/* Letters of a definition refer to its axes by position; without letters the axes are in order. */
static bool bind_letters(grove_builder *builder, const grove_ast *ast, const grove_meaning *meaning,
                         const indices *given)
{
    const grove_axis *axes[GROVE_MAX_AXES] = {0}, *const *order = axes;
    int count = axes_of(meaning->operand.node, GROVE_AXIS_SOURCE, axes), declared = 0;
    const char *name = shown_as(builder, ast, meaning);

    if (meaning->from)
        for (const grove_ast_item *item = meaning->from->statement->items.first; item;
             item = item->next)
            declared += !is_role(item->value->text);
    if (declared) {
        count = declared;
        order = meaning->from->letters;
    }
    if (given->count == 0 && !declared)
        return true;
    if (given->count != count) {
        if (declared)
            grove_build_fail(builder, ast, ast->span, "'%s' is defined as %s: %d source %s, got %d",
                             name, grove_statement_show(builder->arena, meaning->from->statement),
                             count, count == 1 ? "index" : "indices", given->count);
        else if (count == 0)
            grove_build_fail(builder, ast, given->asts[0]->span,
                             "'%s' does not vary with sources, so the index '%s' has no meaning",
                             name, given->letters[0]);
        else
            grove_build_fail(builder, ast, ast->span, "'%s' has %d source %s, got %d indices", name,
                             count, count == 1 ? "axis" : "axes", given->count);
        return false;
    }
    for (int i = 0; i < count; i++)
        bind_letter(builder, given->asts[i], given->letters[i], order[i], name);
    return true;
}

grove_meaning grove_build_index(grove_builder *builder, const grove_ast *ast)
{
    const grove_ast *left = ast->left;
    grove_meaning meaning;
    indices given;

    if (left->parenthesised || (left->kind != GROVE_AST_NAME && left->kind != GROVE_AST_MEMBER &&
                                left->kind != GROVE_AST_CALL && left->kind != GROVE_AST_BROKEN))
        return grove_build_fail(builder, ast, left->span,
                                "an index follows a name or a call; give this a name first");
    meaning = grove_build_expression(builder, left, grove_expected_value);
    if (read_indices(builder, ast, &given) || meaning.operand.kind == GROVE_OPERAND_NOTHING)
        return (grove_meaning){0};
    if (meaning.operand.kind == GROVE_OPERAND_LITERAL &&
        (!meaning.from || !meaning.from->statement->items.first))
        return grove_build_fail(builder, ast, ast->span, "'%s' is a constant and takes no index",
                                shown_as(builder, ast, &meaning));
    if (meaning.operand.kind == GROVE_OPERAND_NODE && meaning.operand.node->kind == GROVE_NODE_LEAF)
        return grove_build_fail(
            builder, ast, ast->span, "'%s' (%s) has members, but no value of its own to index",
            shown_as(builder, ast, &meaning), meaning.operand.node->class_->name);
    if (fail_roles(builder, ast, &meaning, &given) || !bind_letters(builder, ast, &meaning, &given))
        return (grove_meaning){0};
    if (given.p != given.q)
        meaning.operand.role = given.p ? 'p' : 'q';
    meaning.from = NULL;
    return meaning;
}

/* ---- definitions ---- */

static void check_level(grove_builder *builder, const grove_entry *entry, const grove_ast *body)
{
    const grove_node *node = entry->value.node;
    const char *shown = grove_statement_show(builder->arena, entry->statement);
    bool p = declared_with(entry->statement, "p"), q = declared_with(entry->statement, "q");

    if (p && q && axes_of(node, GROVE_AXIS_STATION, NULL))
        grove_build_fail(builder, body, body->span,
                         "%s has a value per baseline, but this varies with station; define %s[p]",
                         shown, entry->name);
    else if (p && !q && axes_of(node, GROVE_AXIS_BASELINE, NULL))
        grove_build_fail(builder, body, body->span,
                         "%s has a value per station, but this varies with baseline; define "
                         "%s[p,q]",
                         shown, entry->name);
}

static bool varies(const grove_node *node)
{
    return node && node->kind != GROVE_NODE_LEAF && node->axis_count > 0;
}

/* Reports an index of the definition with which its value does not vary. A constant may have any
 * index, and so may a value of stations: equal dishes are one. */
static void check_missing(grove_builder *builder, const grove_entry *entry, const grove_ast *body,
                          const char *letter, int kind, const char *varying)
{
    const grove_node *node = entry->value.node;
    const grove_node *reducer = node ? grove_node_reducer(node, kind, NULL) : NULL;
    const char *shown = grove_statement_show(builder->arena, entry->statement);

    if (reducer)
        grove_build_fail(builder, body, body->span,
                         "%s says that it varies with %s, but %s removes that axis", shown, varying,
                         reducer == node ? reducer->class_->name : grove_node_shown(reducer));
    else if (kind == GROVE_AXIS_SOURCE && varies(node))
        grove_build_fail(builder, body, body->span,
                         "%s says that it varies with %s, but this is the same for all of them; "
                         "leave the index '%s' out",
                         shown, varying, letter);
}

static void check_axes(grove_builder *builder, const grove_entry *entry, const grove_ast *body)
{
    const grove_node *node = entry->value.node;
    bool p = declared_with(entry->statement, "p"), q = declared_with(entry->statement, "q");
    int n = 0;

    for (const grove_ast_item *item = entry->statement->items.first; item; item = item->next)
        if (!is_role(item->value->text) && n < GROVE_MAX_AXES && !entry->letters[n++])
            check_missing(builder, entry, body, item->value->text, GROVE_AXIS_SOURCE, "sources");
    if (p && !axes_of(node, GROVE_AXIS_STATION, NULL) && !axes_of(node, GROVE_AXIS_BASELINE, NULL))
        check_missing(builder, entry, body, "p", q ? GROVE_AXIS_BASELINE : GROVE_AXIS_STATION,
                      q ? "baseline" : "station");
}

void grove_build_settle(grove_builder *builder, grove_entry *entry, const grove_ast *body)
{
    const grove_axis *axes[GROVE_MAX_AXES] = {0};
    int count = axes_of(entry->value.node, GROVE_AXIS_SOURCE, axes), n = 0;

    if (!entry->statement->items.first || entry->value.kind == GROVE_OPERAND_NOTHING)
        return;
    /* Letters that the body uses first, then the remaining axes, in order. */
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (const grove_ast_item *item = entry->statement->items.first; item; item = item->next) {
            if (is_role(item->value->text) || n == GROVE_MAX_AXES)
                continue;
            grove_letter *letter = find_letter(builder, item->value->text);
            for (int i = 0; i < count && !entry->letters[n]; i++)
                if (axes[i] && (pass || (letter && letter->axis == axes[i]))) {
                    entry->letters[n] = axes[i];
                    axes[i] = NULL;
                }
            n++;
        }
    }
    for (int i = 0; i < count && n; i++)
        if (axes[i])
            grove_build_fail(
                builder, body, body->span,
                "%s does not name all source axes: this also varies with the sources of '%s'",
                grove_statement_show(builder->arena, entry->statement), axes[i]->owner->name);
    check_level(builder, entry, body);
    check_axes(builder, entry, body);
    entry->value.role = 0;
}

/* ---- sums ---- */

void grove_build_announce(grove_builder *builder, const grove_ast *call)
{
    for (const grove_ast_item *item = call->indices.first; item; item = item->next)
        if (item->value->kind == GROVE_AST_NAME)
            add_letter(builder, item->value->text, NULL, true);
}

static const grove_axis *withdraw(grove_builder *builder, const char *name)
{
    grove_letter **at = &builder->letters;

    while (*at && (!(*at)->announced || strcmp((*at)->name, name) != 0))
        at = &(*at)->next;
    const grove_axis *axis = *at ? (*at)->axis : NULL;
    if (*at)
        *at = (*at)->next;
    return axis;
}

static const char *list_axes(grove_builder *builder, const grove_axis *const *axes, int count)
{
    const char *text = "";

    for (int i = 0; i < count; i++)
        text = grove_arena_format(builder->arena, "%s%s%s", text,
                                  i == 0           ? ""
                                  : i == count - 1 ? " and "
                                                   : ", ",
                                  grove_tree_axis_name(builder->tree, axes[i]));
    return text;
}

/* Another letter for these sources that an index inside of the sum over `name` has, or NULL. */
static const char *other_letter(const grove_builder *builder, const char *name,
                                const grove_axis *axis)
{
    for (const grove_letter *at = builder->letters; at; at = at->next) {
        if (at->announced && !strcmp(at->name, name))
            return NULL;
        if (!at->announced && at->axis == axis)
            return at->name;
    }
    return NULL;
}

/* The axis of a letter of a sum: that bound inside, else the only source axis. */
static const grove_axis *summed_axis(grove_builder *builder, const grove_ast *call,
                                     const grove_ast *index, const grove_operand *x)
{
    const grove_axis *axis, *axes[GROVE_MAX_AXES] = {0};
    int count = axes_of(x->node, GROVE_AXIS_SOURCE, axes);
    const char *other = count == 1 ? other_letter(builder, index->text, axes[0]) : NULL;

    axis = withdraw(builder, index->text);
    if (is_role(index->text))
        grove_build_fail(
            builder, call, index->span,
            "%s[%s] is not known: letters mean source axes; use over=baseline or over=station",
            call->text, index->text);
    else if (count == 0)
        grove_build_fail(builder, call, index->span,
                         "nothing in this %s varies with sources, so the index '%s' has no meaning",
                         call->text, index->text);
    else if (axis && !grove_node_has_axis(x->node, axis))
        grove_build_fail(builder, call, index->span,
                         "'%s' means the sources of '%s', but this %s does not vary with them",
                         index->text, axis->owner->name, call->text);
    else if (!axis && count > 1)
        grove_build_fail(builder, call, index->span,
                         "'%s' may mean %s; use it in an index inside this %s", index->text,
                         list_axes(builder, axes, count), call->text);
    else if (!axis && other)
        grove_build_fail(builder, call, index->span,
                         "the sources of '%s' are '%s' inside of this %s; write %s[%s]",
                         axes[0]->owner->name, other, call->text, call->text, other);
    else
        return axis ? axis : axes[0];
    return NULL;
}

int grove_build_over(grove_builder *builder, const grove_ast *call, const grove_operand *x,
                     grove_argument *over)
{
    size_t room = (size_t)call->indices.count;
    grove_literal list = {.kind = GROVE_LITERAL_LIST};
    grove_literal *items = grove_arena_alloc(builder->arena, room * sizeof(*items));
    const grove_ast_item *first = call->indices.first;
    bool failed = false;

    for (const grove_ast_item *item = first; item; item = item->next) {
        const grove_axis *axis = NULL;
        if (item->value->kind == GROVE_AST_NAME)
            axis = summed_axis(builder, call, item->value, x);
        else
            grove_build_fail(builder, call, item->value->span,
                             "an index is a name, a letter for a source axis");
        failed = failed || !axis;
        if (axis)
            items[list.count++] =
                (grove_literal){.kind = GROVE_LITERAL_TEXT,
                                .word = true,
                                .text = grove_tree_axis_name(builder->tree, axis)};
    }
    list.items = items;
    over->name = "over";
    over->operand.kind = GROVE_OPERAND_LITERAL;
    over->operand.literal =
        grove_arena_copy(builder->arena, list.count == 1 ? items : &list, sizeof(list));
    over->place = grove_build_place(builder, call, first->value->span);
    return failed ? GROVE_INVALID : 0;
}
