/* Calls: classes, templates, choose. */
#include "lang/build.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- classes ---- */

static const grove_class *find_class(grove_builder *builder, const grove_ast *ast, const char *name)
{
    size_t before = grove_error_count(builder->error);
    const grove_class *class_ = grove_classes_find(builder->classes, name, builder->error);
    grove_place place = grove_build_place(builder, ast, ast->at);

    if (!class_)
        grove_error_context(builder->error, before, &place, NULL);
    return class_;
}

static bool reported(const grove_builder *builder, size_t before)
{
    return grove_error_count(builder->error) > before;
}

/* The input or option of an argument with this name, or without a name at this position; or NULL.
 */
static const grove_port *find_port(const grove_class *class_, const char *name, int position)
{
    const grove_port *port = NULL;

    if (name)
        return grove_port_named(class_, name);
    while ((port = grove_port_next(class_, port)) && (port->optional || position--))
        ;
    return port;
}

/* An argument of an unknown option may be any word: one message is enough. */
static grove_expected expected_of(const grove_port *port)
{
    grove_expected expected = {.choices = port ? port->choices : NULL};

    switch (port ? (int)port->kind : 0) {
    case GROVE_CHOICE:
        expected.kind = GROVE_EXPECTED_CHOICE;
        break;
    case GROVE_TEXT:
        expected.kind = expected.choices ? GROVE_EXPECTED_CHOICE : GROVE_EXPECTED_WORD;
        break;
    case GROVE_AXIS_NAMES:
        expected.kind = GROVE_EXPECTED_AXES;
        break;
    case 0:
    case GROVE_BOOL:
    case GROVE_FILE:
    case GROVE_DIRECTION:
        expected.kind = GROVE_EXPECTED_WORD;
        break;
    default:
        expected.kind = GROVE_EXPECTED_VALUE;
    }
    return expected;
}

/* A whole number where a text may be one, element=0, is its digits. */
static grove_meaning build_argument(grove_builder *builder, const grove_port *port,
                                    const grove_ast *value)
{
    const grove_literal *number = value->kind == GROVE_AST_LITERAL ? value->literal : NULL;
    bool whole = number && number->kind == GROVE_LITERAL_NUMBER && number->imaginary == 0 &&
                 grove_unit_is_none(number->unit) && number->number == floor(number->number) &&
                 number->number < 1e9;

    if (port && port->kind == GROVE_PARM_NAMES)
        return grove_build_parm_names(builder, value);
    if (port && port->kind == GROVE_TEXT && port->choices && whole)
        return grove_build_word(builder,
                                grove_arena_format(builder->arena, "%.0f", number->number));
    return grove_build_expression(builder, value, expected_of(port));
}

static grove_argument *build_arguments(grove_builder *builder, const grove_class *class_,
                                       const grove_ast *ast)
{
    size_t room = (size_t)ast->items.count + 1; /* sum[s](x) adds an argument */
    for (const grove_port *port = NULL; class_ && (port = grove_port_next(class_, port));)
        room++; /* implied objects */
    grove_argument *arguments = grove_arena_alloc(builder->arena, room * sizeof(*arguments));
    int n = 0, position = 0;

    for (const grove_ast_item *item = ast->items.first; item; item = item->next) {
        const grove_port *port = NULL;
        if (class_)
            port = find_port(class_, item->name, item->name ? 0 : position++);
        arguments[n].name = item->name;
        arguments[n].operand = build_argument(builder, port, item->value).operand;
        /* Checks that the name exists; else reports it. */
        arguments[n++].place = grove_build_place(
            builder, ast, item->name && !port ? item->name_span : item->value->span);
    }
    return arguments;
}

/* In a rule of derivatives, arguments that the node does not have are left out. */
static size_t drop_missing(const grove_builder *builder, grove_argument *arguments, size_t count)
{
    size_t kept = 0;

    if (!builder->scope->node || builder->scope->node->id != GROVE_RULE_ID)
        return count;
    for (size_t i = 0; i < count; i++) {
        const grove_operand *operand = &arguments[i].operand;
        bool none = arguments[i].name && operand->kind == GROVE_OPERAND_LITERAL &&
                    operand->literal->kind == GROVE_LITERAL_NONE;
        if (!none)
            arguments[kept++] = arguments[i];
    }
    return kept;
}

/* An action without output: its class is not called. Fits are called: they do more than writing. */
static bool is_dropped(const grove_class *class_, const grove_argument *arguments, size_t count)
{
    int position = 0;

    for (size_t i = 0; i < count && !(class_->action && class_->action->drive); i++) {
        const grove_operand *operand = &arguments[i].operand;
        const grove_port *port =
            find_port(class_, arguments[i].name, arguments[i].name ? 0 : position++);
        if (port && !strcmp(port->name, "to") && operand->kind == GROVE_OPERAND_LITERAL &&
            operand->literal->kind == GROVE_LITERAL_NONE)
            return true;
    }
    return false;
}

/* Actions are the roots of the tree, in order of the file. */
static grove_meaning call(grove_builder *builder, const grove_ast *ast, const grove_class *class_,
                          const char *name, const grove_argument *arguments, size_t count)
{
    grove_place place = grove_build_place(builder, ast, ast->at);
    bool action = class_->kind == GROVE_CLASS_ACTION;
    static const grove_literal none = {.kind = GROVE_LITERAL_NONE};
    grove_tree *tree = builder->tree;
    grove_meaning meaning = {0};

    if (action && is_dropped(class_, arguments, count)) {
        builder->dropped++;
        return grove_build_literal(&none);
    }
    meaning.operand = grove_tree_call(tree, class_, name, &place, arguments, count);
    if (action && meaning.operand.kind == GROVE_OPERAND_NODE) {
        grove_grow((void **)&tree->actions, &tree->action_capacity, tree->action_count,
                   sizeof(grove_node *));
        tree->actions[tree->action_count++] = meaning.operand.node;
    }
    return meaning;
}

/* The operators of the language and their classes. */
static const struct {
    const char *symbol, *class_name;
} operators[] = {
    [GROVE_ROLE_SUM] = {"+", "add"},
    [GROVE_ROLE_DIFFERENCE] = {"-", "subtract"},
    [GROVE_ROLE_NEGATIVE] = {"-", "negate"},
    [GROVE_ROLE_PRODUCT] = {"*", "multiply"},
    [GROVE_ROLE_QUOTIENT] = {"/", "divide"},
    [GROVE_ROLE_POWER] = {"^", "power"},
    [GROVE_ROLE_INVERSE] = {"^-1", "inverse"},
    [GROVE_ROLE_TRANSPOSE] = {"^T", "transpose"},
    [GROVE_ROLE_HERMITIAN] = {"^H", "hermitian"},
    /* not written; the rewriter makes these, and phases, which have no role */
    [GROVE_ROLE_SOURCE] = {"", "point"},
    [GROVE_ROLE_EXPONENTIAL] = {"", "exp"},
    [GROVE_ROLE_DIAGONAL] = {"", "diagonal"},
    [GROVE_ROLE_NONE] = {"", "phase"},
};

const char *grove_operator_class(grove_role role)
{
    return operators[role].class_name;
}

grove_meaning grove_build_operation(grove_builder *builder, const grove_ast *ast, grove_role role,
                                    const char *name, const grove_argument *arguments, size_t count)
{
    size_t before = grove_error_count(builder->error);
    const char *class_name = operators[role].class_name;
    const grove_class *class_ = find_class(builder, ast, class_name);

    if (class_ && class_->role != role)
        return grove_build_fail(builder, ast, ast->at,
                                "the class '%s' of the operator %s does not have the role of this "
                                "operator; check the plugin path",
                                class_name, operators[role].symbol);
    if (class_)
        return call(builder, ast, class_, name, arguments, count);
    if (reported(builder, before))
        return (grove_meaning){0};
    return grove_build_fail(
        builder, ast, ast->at,
        "the class '%s' of the operator %s was not found; check the plugin path", class_name,
        operators[role].symbol);
}

static grove_meaning call_class(grove_builder *builder, const grove_ast *ast,
                                const grove_class *class_, const char *name)
{
    grove_letter *letters = builder->letters;
    size_t count = (size_t)ast->items.count;
    grove_argument *arguments;

    if (!ast->indices.count) {
        arguments = build_arguments(builder, class_, ast);
        count = drop_missing(builder, arguments, count);
        count = grove_build_implied(builder, ast, class_, arguments, count);
        return call(builder, ast, class_, name, arguments, count);
    }
    if (!(class_->kind == GROVE_CLASS_REDUCTION))
        return grove_build_fail(builder, ast, ast->indices.first->value->span,
                                "%s takes no index; only sum, mean, min and max do, such as "
                                "sum[s](...)",
                                ast->text);
    grove_build_announce(builder, ast);
    arguments = build_arguments(builder, class_, ast);
    if (!count || arguments[0].operand.kind == GROVE_OPERAND_NOTHING) {
        builder->letters = letters;
        return count ? (grove_meaning){0} : call(builder, ast, class_, name, arguments, count);
    }
    if (grove_build_over(builder, ast, &arguments[0].operand, &arguments[count]))
        return (grove_meaning){0};
    return call(builder, ast, class_, name, arguments, count + 1);
}

/* ---- choose ---- */

static const char *selector_word(const grove_literal *literal)
{
    switch (literal->kind) {
    case GROVE_LITERAL_NONE:
        return "none";
    case GROVE_LITERAL_BOOL:
        return literal->truth ? "true" : "false";
    case GROVE_LITERAL_TEXT:
        return literal->text;
    default:
        return NULL;
    }
}

static const grove_ast *find_branch(const grove_ast *ast, const char *word)
{
    for (const grove_ast_item *item = ast->items.first->next; item && word; item = item->next)
        if (item->name && !strcmp(item->name, word))
            return item->value;
    return NULL;
}

static int check_branches(grove_builder *builder, const grove_ast *ast)
{
    int failed = 0;

    if (!ast->items.first || ast->items.first->name || ast->indices.count) {
        grove_build_fail(builder, ast, ast->at,
                         "choose requires a word first, then a branch for each word: choose($beam, "
                         "none=1, airy=beam_airy(...))");
        return GROVE_INVALID;
    }
    for (const grove_ast_item *item = ast->items.first->next; item; item = item->next) {
        if (!item->name)
            grove_build_fail(builder, ast, item->value->span,
                             "a branch of choose must have a word: word=value");
        else if (find_branch(ast, item->name) != item->value)
            grove_build_fail(builder, ast, item->name_span, "'%s' has a branch already",
                             item->name);
        else
            continue;
        failed = GROVE_INVALID;
    }
    return failed;
}

static grove_meaning no_branch(grove_builder *builder, const grove_ast *ast,
                               const grove_literal *literal)
{
    const grove_ast_item *selector = ast->items.first;
    const char **words =
        grove_arena_alloc(builder->arena, (size_t)ast->items.count * sizeof(char *));
    const char *text = "", *word = selector_word(literal);
    size_t n = 0;

    for (const grove_ast_item *item = selector->next; item; item = item->next) {
        text = grove_arena_format(builder->arena, "%s%s%s", text, n ? ", " : "", item->name);
        words[n++] = item->name;
    }
    const char *hint = word ? grove_build_hint(builder, word, grove_nearest(word, words, n)) : "";
    if (literal->setting) {
        const grove_place place = grove_build_place(builder, ast, selector->value->span);
        grove_fail_setting(builder->error, &place, GROVE_INVALID, literal->setting,
                           grove_arena_format(builder->arena,
                                              n == 1 ? "the option can only be %s here%s"
                                                     : "the option must be one of %s%s",
                                              text, hint));
        return (grove_meaning){0};
    }
    return grove_build_fail(builder, ast, selector->value->span, "%s%s is %s, but choose has %s%s",
                            selector->value->kind == GROVE_AST_SETTING ? "$" : "",
                            selector->value->text ? selector->value->text : "the word",
                            grove_literal_show(builder->arena, literal), n ? text : "no branches",
                            hint);
}

static grove_meaning choose(grove_builder *builder, const grove_ast *ast, grove_expected expected)
{
    grove_expected word = {.kind = GROVE_EXPECTED_WORD};

    if (check_branches(builder, ast))
        return (grove_meaning){0};
    const grove_ast *selector = ast->items.first->value;
    grove_operand x = grove_build_expression(builder, selector, word).operand;
    if (x.kind == GROVE_OPERAND_NOTHING)
        return (grove_meaning){0};
    if (x.kind == GROVE_OPERAND_NODE)
        return grove_build_fail(builder, ast, selector->span,
                                "choose requires a word, but '%s' is a node", x.node->name);
    const grove_ast *branch = find_branch(ast, selector_word(x.literal));
    if (!branch)
        branch = find_branch(ast, "else");
    if (!branch)
        return no_branch(builder, ast, x.literal);
    return grove_build_expression(builder, branch, expected);
}

/* ---- templates ---- */

static const grove_ast_item *find_parameter(const grove_statement *template, const char *name,
                                            int position)
{
    int at = 0;

    for (const grove_ast_item *item = template->items.first; item; item = item->next, at++)
        if (name ? !strcmp(item->name, name) : at == position)
            return item;
    return NULL;
}

static int misplaced(grove_builder *builder, const grove_ast *ast, const grove_statement *template,
                     const grove_ast_item *item)
{
    const char *near = NULL;

    if (item->name) {
        const char **names =
            grove_arena_alloc(builder->arena, (size_t)(template->items.count + 1) * sizeof(char *));
        size_t n = 0;
        for (const grove_ast_item *at = template->items.first; at; at = at->next)
            names[n++] = at->name;
        near = grove_nearest(item->name, names, n);
        grove_build_fail(builder, ast, item->name_span, "template '%s' has no parameter '%s'%s",
                         template->name, item->name, grove_build_hint(builder, item->name, near));
    } else {
        grove_build_fail(builder, ast, item->value->span, "template '%s' takes %d argument%s",
                         template->name, template->items.count,
                         template->items.count == 1 ? "" : "s");
    }
    return GROVE_INVALID;
}

static void give_parameter(grove_builder *builder, grove_scope *scope, const char *name,
                           const grove_ast *value)
{
    grove_expected expected = {.kind = GROVE_EXPECTED_WORD};
    bool is_name = value->kind == GROVE_AST_NAME;
    const grove_entry *named = is_name ? grove_scope_find(builder->scope, value->text) : NULL;
    grove_meaning meaning = grove_build_expression(builder, value, expected);
    grove_entry *entry = grove_scope_add(builder->arena, scope, GROVE_ENTRY_PARAMETER, name, NULL);

    entry->state = GROVE_ENTRY_DONE;
    entry->value = meaning.operand;
    entry->from = meaning.from;
    entry->place = grove_build_place(builder, value, value->span);
    if (named && named->unresolved) {
        entry->place = named->place;
        entry->unresolved = true;
    } else if (is_name && !named && meaning.operand.kind == GROVE_OPERAND_LITERAL) {
        entry->unresolved = meaning.operand.literal->word;
    }
}

static int bind_parameters(grove_builder *builder, const grove_ast *ast,
                           const grove_statement *template, grove_scope *scope)
{
    int position = 0, failed = 0;

    for (const grove_ast_item *item = ast->items.first; item; item = item->next) {
        const grove_ast_item *parameter =
            find_parameter(template, item->name, item->name ? 0 : position++);
        if (!parameter) {
            failed = misplaced(builder, ast, template, item);
        } else if (grove_scope_own(scope, parameter->name)) {
            grove_build_fail(builder, ast, item->name ? item->name_span : item->value->span,
                             "'%s' is given twice", parameter->name);
            failed = GROVE_INVALID;
        } else {
            give_parameter(builder, scope, parameter->name, item->value);
        }
    }
    for (const grove_ast_item *item = template->items.first; item; item = item->next) {
        grove_scope *outer = builder->scope;
        if (grove_scope_own(scope, item->name))
            continue;
        if (!item->value) {
            grove_build_fail(builder, ast, ast->at, "template '%s' needs '%s'", template->name,
                             item->name);
            failed = GROVE_INVALID;
            continue;
        }
        builder->scope = scope;
        give_parameter(builder, scope, item->name, item->value);
        builder->scope = outer;
    }
    return failed;
}

/* The value of a block is its last definition; actions before it are evaluated too. */
static grove_meaning expand_block(grove_builder *builder, const grove_ast *ast,
                                  const grove_statement *template, grove_expected expected)
{
    grove_scope *scope = builder->scope;
    grove_entry *last = NULL;
    size_t before = grove_error_count(builder->error);

    for (const grove_statement *at = template->body; at; at = at->next)
        grove_build_declare(builder, scope, at);
    last = scope->last;
    if (!last || !last->statement || reported(builder, before))
        return (grove_meaning){0};
    for (grove_entry *entry = scope->first; entry != last; entry = entry->next)
        if (entry->kind == GROVE_ENTRY_DEFINITION && entry->statement->value &&
            grove_build_is_action(builder, entry->statement->value))
            grove_build_definition(builder, entry, ast);
    last->node_name = expected.name;
    return grove_build_definition(builder, last, ast);
}

static grove_meaning expand(grove_builder *builder, const grove_ast *ast, grove_entry *entry,
                            grove_expected expected)
{
    const grove_statement *template = entry->statement;
    grove_scope *scope = grove_scope_new(builder->arena, entry->scope, 16);
    grove_scope *outer = builder->scope;
    grove_letter *letters = builder->letters;
    grove_meaning meaning = {0};

    if (entry->state == GROVE_ENTRY_BUSY)
        return grove_build_cycle(builder, entry, ast);
    if (template->broken) {
        build_arguments(builder, NULL, ast);
        return meaning;
    }
    if (ast->indices.count)
        return grove_build_fail(builder, ast, ast->indices.first->value->span,
                                "template '%s' takes no index", entry->name);
    scope->prefix = expected.name ? expected.name : entry->name;
    if (bind_parameters(builder, ast, template, scope))
        return meaning;
    entry->state = GROVE_ENTRY_BUSY;
    entry->caller = builder->busy;
    builder->busy = entry;
    builder->scope = scope;
    builder->letters = NULL;
    if (template->body)
        meaning = expand_block(builder, ast, template, expected);
    else if (template->value)
        meaning = grove_build_expression(builder, template->value,
                                         (grove_expected){.name = expected.name});
    builder->letters = letters;
    builder->scope = outer;
    builder->busy = entry->caller;
    entry->state = GROVE_ENTRY_UNTOUCHED;
    return meaning;
}

/* ---- dispatch ---- */

static grove_meaning unknown_callee(grove_builder *builder, const grove_ast *ast,
                                    const grove_entry *entry)
{
    size_t count = 0, n = 0;
    const char *const *names = grove_classes_names(builder->classes, &count);
    const char **all = grove_arena_alloc(builder->arena, (count + 1) * sizeof(char *));
    const char *near;

    if (entry)
        return grove_build_fail(builder, ast, ast->at,
                                "'%s' is not a class or template, so it cannot be called",
                                ast->text);
    for (; n < count; n++)
        all[n] = names[n];
    all[n++] = "choose";
    near = grove_nearest(ast->text, all, n);
    if (!near) {
        const char *visible = grove_scope_nearest(builder->arena, builder->globals, ast->text);
        const grove_entry *found = visible ? grove_scope_own(builder->globals, visible) : NULL;
        near = found && found->kind == GROVE_ENTRY_TEMPLATE ? visible : NULL;
    }
    return grove_build_fail(builder, ast, ast->at, "no class or template '%s'%s", ast->text,
                            grove_build_hint(builder, ast->text, near));
}

grove_meaning grove_build_call(grove_builder *builder, const grove_ast *ast,
                               grove_expected expected)
{
    grove_entry *entry = grove_scope_find(builder->scope, ast->text);
    size_t before = grove_error_count(builder->error);
    const grove_class *class_;

    if (!strcmp(ast->text, "choose"))
        return choose(builder, ast, expected);
    if (entry && entry->kind == GROVE_ENTRY_TEMPLATE)
        return expand(builder, ast, entry, expected);
    class_ = find_class(builder, ast, ast->text);
    if (class_)
        return call_class(builder, ast, class_, expected.name);
    if (!reported(builder, before))
        unknown_callee(builder, ast, entry);
    build_arguments(builder, NULL, ast);
    return (grove_meaning){0};
}
