#include "lang/build.h"

#include "base/text.h"
#include "lang/reader.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

const grove_expected grove_expected_value = {.kind = GROVE_EXPECTED_VALUE};

/* ---- errors ---- */

grove_place grove_build_place(const grove_builder *builder, const grove_ast *ast,
                              grove_source_span span)
{
    return builder->fixed ? *builder->fixed : grove_source_place(ast->source, span);
}

grove_meaning grove_build_fail(const grove_builder *builder, const grove_ast *ast,
                               grove_source_span span, const char *format, ...)
{
    grove_place place = grove_build_place(builder, ast, span);
    grove_text text = {0};
    va_list args;

    if (builder->fixed)
        grove_text_add(&text, "in %s: ", builder->fixed_text);
    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_fail_at(builder->error, &place, GROVE_INVALID, "%s", text.at);
    free(text.at);
    return (grove_meaning){0};
}

const char *grove_build_hint(grove_builder *builder, const char *word, const char *name)
{
    /* For a single letter, any other letter would be near. */
    bool plausible = name && (strlen(word) > 1 || !strcasecmp(word, name));

    return plausible ? grove_arena_format(builder->arena, "; did you mean '%s'?", name) : "";
}

static bool is_class(grove_builder *builder, const char *name)
{
    size_t count = 0;
    const char *const *names = grove_classes_names(builder->classes, &count);

    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

grove_meaning grove_build_unknown(grove_builder *builder, const grove_ast *ast, const char *word)
{
    const char *near = grove_scope_nearest(builder->arena, builder->scope, word);

    if (is_class(builder, word))
        return grove_build_fail(builder, ast, ast->span, "'%s' is a class; call it: %s(...)", word,
                                word);
    return grove_build_fail(builder, ast, ast->span, "unknown name '%s'%s", word,
                            grove_build_hint(builder, word, near));
}

grove_meaning grove_build_cycle(grove_builder *builder, const grove_entry *entry,
                                const grove_ast *use)
{
    const char *text = entry->name;
    const grove_entry *at = builder->busy;

    for (; at && at != entry; at = at->caller)
        text = grove_arena_format(builder->arena, "%s -> %s", at->name, text);
    if (entry->kind == GROVE_ENTRY_TEMPLATE)
        return grove_build_fail(builder, use, use->at, "template '%s' calls itself: %s -> %s",
                                entry->name, entry->name, text);
    return grove_build_fail(builder, use, use->at, "'%s' is defined in terms of itself: %s -> %s",
                            entry->name, entry->name, text);
}

/* ---- literals and names ---- */

grove_meaning grove_build_literal(const grove_literal *literal)
{
    return (grove_meaning){
        .operand = {.kind = literal ? GROVE_OPERAND_LITERAL : GROVE_OPERAND_NOTHING,
                    .literal = literal}};
}

static grove_meaning copy_literal(grove_builder *builder, const grove_literal *literal)
{
    return grove_build_literal(grove_arena_copy(builder->arena, literal, sizeof(*literal)));
}

grove_meaning grove_build_word(grove_builder *builder, const char *word)
{
    grove_literal literal = {.kind = GROVE_LITERAL_TEXT, .word = true};

    literal.text = grove_arena_text(builder->arena, word);
    return copy_literal(builder, &literal);
}

bool grove_word_among(const char *choices, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = choices; at && *at;) {
        size_t length = strcspn(at, " ");
        if (length == n && !strncmp(at, word, n))
            return true;
        at += length + strspn(at + length, " ");
    }
    return false;
}

static bool constant(const char *name, grove_literal *literal)
{
    static const grove_literal constants[] = {
        {.kind = GROVE_LITERAL_NONE, .text = "none"},
        {.kind = GROVE_LITERAL_BOOL, .truth = true, .text = "true"},
        {.kind = GROVE_LITERAL_BOOL, .truth = false, .text = "false"},
        {.kind = GROVE_LITERAL_NUMBER, .number = 3.14159265358979323846, .text = "pi"}};

    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
        if (!strcmp(constants[i].text, name)) {
            *literal = constants[i];
            return true;
        }
    return false;
}

static bool unit(const char *name, grove_literal *literal)
{
    double factor = 0;

    *literal = (grove_literal){.kind = GROVE_LITERAL_NUMBER};
    if (!grove_unit_named(name, (int)strlen(name), &literal->unit, &factor))
        return false;
    literal->number = factor;
    return true;
}

/* In a rule of derivatives, names refer to constant options, too; an option that was not given is
 * none. */
static const grove_literal *literal_named(const grove_node *node, const char *name)
{
    static const grove_literal none = {.kind = GROVE_LITERAL_NONE, .text = "none"};
    const grove_port *options = node->class_->options;
    const grove_port *inputs = node->class_->inputs;

    if (grove_node_input(node, name) >= 0)
        return &none;
    for (int i = 0; inputs && inputs[i].name; i++)
        if (inputs[i].kind == GROVE_OBJECT && !strcmp(inputs[i].name, name))
            return &none;
    for (int i = 0; options && options[i].name; i++)
        if (!strcmp(options[i].name, name))
            return node->options[i].value;
    return NULL;
}

/* Not before all of its inputs and options are known, nor as a copy for a rule. */
static bool is_published(const grove_tree *tree, const grove_node *node)
{
    return node->id >= 0 && (size_t)node->id < tree->node_count && tree->nodes[node->id] == node;
}

/* In a default, names refer to the inputs of its node; to a leaf itself by the name of its kind. */
static bool input_named(grove_builder *builder, const char *name, grove_meaning *meaning)
{
    const grove_node *node = builder->scope->node;
    grove_node *found = grove_node_object(node, name);
    int k = grove_node_input(node, name);

    if (!found && k >= 0)
        found = node->inputs[k].node;
    if (!found && grove_equal(node->class_->object, name) && is_published(builder->tree, node))
        found = builder->tree->nodes[node->id];
    const grove_literal *literal =
        !found && node->id == GROVE_RULE_ID ? literal_named(node, name) : NULL;
    if (found)
        *meaning = (grove_meaning){.operand = {.kind = GROVE_OPERAND_NODE,
                                               .node = found,
                                               .role = k >= 0 ? node->inputs[k].side : 0}};
    else if (literal)
        *meaning = grove_build_literal(literal);
    return found || literal;
}

static grove_meaning parameter(grove_builder *builder, const grove_ast *ast,
                               const grove_entry *entry, grove_expected expected)
{
    bool value = expected.kind == GROVE_EXPECTED_VALUE || expected.kind == GROVE_EXPECTED_UNIT;

    if (entry->unresolved && value) {
        const char *near =
            grove_scope_nearest(builder->arena, builder->globals, entry->value.literal->text);
        if (builder->fixed)
            return grove_build_unknown(builder, ast, entry->value.literal->text);
        grove_fail_at(builder->error, &entry->place, GROVE_INVALID, "unknown name '%s'%s",
                      entry->value.literal->text,
                      grove_build_hint(builder, entry->value.literal->text, near));
        return (grove_meaning){0};
    }
    return (grove_meaning){.operand = entry->value, .from = entry->from};
}

static grove_meaning build_name(grove_builder *builder, const grove_ast *ast,
                                grove_expected expected)
{
    const char *name = ast->text;
    grove_entry *entry = grove_scope_find(builder->scope, name);
    grove_literal literal;
    grove_meaning meaning = {0};

    if (entry && entry->kind == GROVE_ENTRY_PARAMETER)
        return parameter(builder, ast, entry, expected);
    if (constant(name, &literal))
        return copy_literal(builder, &literal);
    if (expected.kind == GROVE_EXPECTED_AXES || expected.kind == GROVE_EXPECTED_PARMS ||
        (expected.kind == GROVE_EXPECTED_CHOICE && grove_word_among(expected.choices, name)))
        return grove_build_word(builder, name);
    if (entry && entry->kind == GROVE_ENTRY_TEMPLATE)
        return grove_build_fail(builder, ast, ast->span, "'%s' is a template; call it: %s(...)",
                                name, name);
    if (entry)
        return grove_build_definition(builder, entry, ast);
    if (builder->scope->node && input_named(builder, name, &meaning))
        return meaning;
    if (expected.kind == GROVE_EXPECTED_WORD || expected.kind == GROVE_EXPECTED_CHOICE)
        return grove_build_word(builder, name);
    if (expected.kind == GROVE_EXPECTED_UNIT && unit(name, &literal))
        return copy_literal(builder, &literal);
    return grove_build_unknown(builder, ast, name);
}

static grove_meaning build_setting(grove_builder *builder, const grove_ast *ast)
{
    grove_entry *entry = grove_scope_own(builder->options, ast->text);

    if (!entry)
        return grove_build_fail(
            builder, ast, ast->span, "no option '%s' is declared%s", ast->text,
            grove_build_hint(builder, ast->text,
                             grove_scope_nearest(builder->arena, builder->options, ast->text)));
    return grove_build_option(builder, entry, ast);
}

grove_meaning grove_build_definition(grove_builder *builder, grove_entry *entry,
                                     const grove_ast *use)
{
    const grove_ast *body = entry->statement->value;
    grove_scope *scope = builder->scope;
    grove_letter *letters = builder->letters;
    grove_expected expected = {.name = entry->name};

    if (entry->state == GROVE_ENTRY_BUSY)
        return grove_build_cycle(builder, entry, use);
    if (entry->state == GROVE_ENTRY_UNTOUCHED && body) {
        entry->state = GROVE_ENTRY_BUSY;
        entry->caller = builder->busy;
        builder->busy = entry;
        builder->scope = entry->scope;
        builder->letters = NULL;
        if (entry->node_name)
            expected.name = entry->node_name;
        else if (entry->scope->prefix)
            expected.name =
                grove_arena_format(builder->arena, "%s.%s", entry->scope->prefix, entry->name);
        builder->definitions++;
        entry->value = grove_build_expression(builder, body, expected).operand;
        builder->definitions--;
        grove_build_settle(builder, entry, body);
        builder->letters = letters;
        builder->scope = scope;
        builder->busy = entry->caller;
    }
    entry->state = GROVE_ENTRY_DONE;
    return (grove_meaning){.operand = entry->value, .from = entry};
}

/* ---- operators ---- */

static bool is_number(const grove_operand *operand)
{
    return operand->kind == GROVE_OPERAND_LITERAL && operand->literal->kind == GROVE_LITERAL_NUMBER;
}

static bool is_list(const grove_operand *operand)
{
    return operand->kind == GROVE_OPERAND_LITERAL && operand->literal->kind == GROVE_LITERAL_LIST;
}

/* Only nodes, numbers and vectors may enter arithmetic on nodes. */
static bool is_value(const grove_operand *operand)
{
    return operand->kind == GROVE_OPERAND_NODE || is_number(operand) || is_list(operand);
}

static grove_meaning folded(grove_builder *builder, const grove_ast *ast,
                            const grove_literal *literal, const grove_fold *fold)
{
    if (!literal)
        return grove_build_fail(builder, ast, ast->at, "%s", fold->fault);
    return grove_build_literal(literal);
}

static grove_meaning fold_binary(grove_builder *builder, const grove_ast *ast, char op,
                                 const grove_literal *a, const grove_literal *b)
{
    grove_fold fold = {.arena = builder->arena};

    return folded(builder, ast, grove_fold_binary(&fold, op, a, b), &fold);
}

static const char *describe(grove_builder *builder, const grove_operand *operand)
{
    if (operand->kind == GROVE_OPERAND_LITERAL)
        return grove_fold_describe(builder->arena, operand->literal);
    return grove_arena_format(builder->arena, "'%s'", operand->node->name);
}

static grove_meaning combine(grove_builder *builder, const grove_ast *ast, grove_operand a,
                             grove_operand b, const char *name)
{
    static const struct {
        char op;
        grove_role role;
    } operators[] = {{'+', GROVE_ROLE_SUM},
                     {'-', GROVE_ROLE_DIFFERENCE},
                     {'*', GROVE_ROLE_PRODUCT},
                     {'/', GROVE_ROLE_QUOTIENT}};
    grove_fold fold = {.arena = builder->arena};
    int which = 0;

    if (a.kind == GROVE_OPERAND_NOTHING || b.kind == GROVE_OPERAND_NOTHING)
        return (grove_meaning){0};
    if (a.kind == GROVE_OPERAND_LITERAL && b.kind == GROVE_OPERAND_LITERAL &&
        !(is_value(&a) && is_value(&b) && (is_list(&a) || is_list(&b))))
        return fold_binary(builder, ast, ast->op, a.literal, b.literal);
    while (operators[which].op != ast->op)
        which++;
    if (!is_value(&a) || !is_value(&b)) {
        grove_fold_refuse(&fold, ast->op, describe(builder, &a), describe(builder, &b));
        return grove_build_fail(builder, ast, ast->at, "%s", fold.fault);
    }
    grove_argument arguments[] = {
        {.operand = a, .place = grove_build_place(builder, ast, ast->left->span)},
        {.operand = b, .place = grove_build_place(builder, ast, ast->right->span)}};
    return grove_build_operation(builder, ast, operators[which].role, name, arguments, 2);
}

static bool has_unit(const grove_operand *operand)
{
    return is_number(operand) && !grove_unit_is_none(operand->literal->unit);
}

/* Long sums lean to the left: walked in a loop. */
static grove_meaning build_binary(grove_builder *builder, const grove_ast *ast,
                                  grove_expected expected)
{
    size_t count = 0;

    for (const grove_ast *at = ast; at->kind == GROVE_AST_BINARY; at = at->left)
        count++;
    const grove_ast **chain = grove_arena_alloc(builder->arena, count * sizeof(*chain));
    for (size_t i = count; i-- > 0; ast = ast->left)
        chain[i] = ast;
    grove_meaning left = grove_build_expression(builder, chain[0]->left, grove_expected_value);
    for (size_t i = 0; i < count; i++) {
        bool product = chain[i]->op == '*' || chain[i]->op == '/';
        grove_expected right_expected = grove_expected_value;
        if (product && has_unit(&left.operand))
            right_expected.kind = GROVE_EXPECTED_UNIT;
        grove_meaning right = grove_build_expression(builder, chain[i]->right, right_expected);
        left = combine(builder, chain[i], left.operand, right.operand,
                       i + 1 == count ? expected.name : NULL);
    }
    return left;
}

static grove_meaning build_unary(grove_builder *builder, const grove_ast *ast,
                                 grove_expected expected)
{
    grove_operand x = grove_build_expression(builder, ast->left, grove_expected_value).operand;
    grove_fold fold = {.arena = builder->arena};
    grove_role role = ast->kind == GROVE_AST_NEGATE      ? GROVE_ROLE_NEGATIVE
                      : ast->kind == GROVE_AST_HERMITIAN ? GROVE_ROLE_HERMITIAN
                                                         : GROVE_ROLE_TRANSPOSE;

    if (x.kind == GROVE_OPERAND_NOTHING)
        return (grove_meaning){0};
    if (ast->kind == GROVE_AST_TRANSPOSE && is_number(&x)) /* a plain number is its own literal */
        return (grove_meaning){.operand = x};
    if (x.kind == GROVE_OPERAND_LITERAL && !is_list(&x))
        return folded(builder, ast,
                      ast->kind == GROVE_AST_NEGATE ? grove_fold_negate(&fold, x.literal)
                                                    : grove_fold_conjugate(&fold, x.literal),
                      &fold);
    grove_argument argument = {.operand = x,
                               .place = grove_build_place(builder, ast, ast->left->span)};
    return grove_build_operation(builder, ast, role, expected.name, &argument, 1);
}

static grove_meaning build_power(grove_builder *builder, const grove_ast *ast,
                                 grove_expected expected)
{
    grove_expected left_expected = {
        .kind = expected.kind == GROVE_EXPECTED_UNIT ? expected.kind : GROVE_EXPECTED_VALUE};
    grove_operand x = grove_build_expression(builder, ast->left, left_expected).operand;
    grove_operand n = grove_build_expression(builder, ast->right, grove_expected_value).operand;

    if (x.kind == GROVE_OPERAND_NOTHING || n.kind == GROVE_OPERAND_NOTHING)
        return (grove_meaning){0};
    if (!is_number(&n) || n.literal->imaginary != 0 || !grove_unit_is_none(n.literal->unit))
        return grove_build_fail(builder, ast, ast->right->span,
                                "a power must be a plain number, got %s", describe(builder, &n));
    if (x.kind == GROVE_OPERAND_LITERAL && !is_list(&x))
        return fold_binary(builder, ast, '^', x.literal, n.literal);
    grove_argument arguments[] = {
        {.operand = x, .place = grove_build_place(builder, ast, ast->left->span)},
        {.operand = n, .place = grove_build_place(builder, ast, ast->right->span)}};
    bool inverse = n.literal->number == -1;
    return grove_build_operation(builder, ast, inverse ? GROVE_ROLE_INVERSE : GROVE_ROLE_POWER,
                                 expected.name, arguments, inverse ? 1 : 2);
}

static grove_meaning build_range(grove_builder *builder, const grove_ast *ast)
{
    grove_operand from = grove_build_expression(builder, ast->left, grove_expected_value).operand;
    grove_operand to = grove_build_expression(builder, ast->right, grove_expected_value).operand;

    if (from.kind == GROVE_OPERAND_NOTHING || to.kind == GROVE_OPERAND_NOTHING)
        return (grove_meaning){0};
    if (from.kind == GROVE_OPERAND_NODE || to.kind == GROVE_OPERAND_NODE)
        return grove_build_fail(builder, ast, ast->at,
                                "a range goes from a number to a number, but '%s' is a node",
                                from.kind == GROVE_OPERAND_NODE ? from.node->name : to.node->name);
    return fold_binary(builder, ast, '.', from.literal, to.literal);
}

/* ---- lists and members ---- */

static grove_meaning build_list(grove_builder *builder, const grove_ast *ast,
                                grove_expected expected)
{
    grove_literal list = {.kind = GROVE_LITERAL_LIST};
    grove_literal *items =
        grove_arena_alloc(builder->arena, ((size_t)ast->items.count + 1) * sizeof(*items));
    bool failed = false;

    expected.name = NULL;
    for (const grove_ast_item *item = ast->items.first; item; item = item->next) {
        grove_operand x = grove_build_expression(builder, item->value, expected).operand;
        if (x.kind == GROVE_OPERAND_NODE && expected.kind == GROVE_EXPECTED_PARMS) {
            grove_literal word = grove_build_parm_word(item->value, x.node);
            x = copy_literal(builder, &word).operand;
        }
        if (item->name)
            grove_build_fail(builder, ast, item->name_span, "the items of a list have no names");
        else if (x.kind == GROVE_OPERAND_NODE)
            grove_build_fail(builder, ast, item->value->span,
                             "a list contains constants, but '%s' is a node", x.node->name);
        failed = failed || item->name || x.kind != GROVE_OPERAND_LITERAL;
        if (!failed)
            items[list.count++] = *x.literal;
    }
    list.items = items;
    return failed ? (grove_meaning){0} : copy_literal(builder, &list);
}

/* The name of a member: obs.column("DATA") has the name column(DATA). NULL after a message. */
static const char *member_name(grove_builder *builder, const grove_ast *ast)
{
    if (!ast->items.first)
        return ast->text;
    const grove_ast *argument = ast->items.first->value;
    grove_operand x = grove_build_expression(builder, argument, grove_expected_value).operand;
    if (x.kind == GROVE_OPERAND_LITERAL && x.literal->kind == GROVE_LITERAL_TEXT)
        return grove_arena_format(builder->arena, "%s(%s)", ast->text, x.literal->text);
    if (x.kind != GROVE_OPERAND_NOTHING)
        grove_build_fail(builder, argument, argument->span, "%s takes a text, got %s", ast->text,
                         describe(builder, &x));
    return NULL;
}

static grove_meaning build_member(grove_builder *builder, const grove_ast *ast,
                                  grove_expected expected)
{
    grove_operand object = grove_build_expression(builder, ast->left, grove_expected_value).operand;
    grove_place place = grove_build_place(builder, ast, ast->at);
    const char *name = member_name(builder, ast);
    grove_meaning meaning = {0};

    if (object.kind == GROVE_OPERAND_NOTHING || !name)
        return meaning;
    if (object.kind == GROVE_OPERAND_LITERAL)
        return grove_build_fail(builder, ast, ast->at, "%s has no members",
                                describe(builder, &object));
    if (expected.kind == GROVE_EXPECTED_AXES || expected.kind == GROVE_EXPECTED_PARMS) {
        const grove_axis *axis = grove_node_axis(object.node, ast->text);
        return grove_build_word(builder, axis ? grove_tree_axis_name(builder->tree, axis)
                                              : grove_arena_format(builder->arena, "%s.%s",
                                                                   object.node->name, ast->text));
    }
    meaning.operand = grove_tree_member(builder->tree, object.node, name, &place);
    return meaning;
}

/* ---- expressions ---- */

static grove_meaning build(grove_builder *builder, const grove_ast *ast, grove_expected expected)
{
    switch (ast->kind) {
    case GROVE_AST_BROKEN:
        break;
    case GROVE_AST_LITERAL:
        return grove_build_literal(ast->literal);
    case GROVE_AST_NAME:
        return build_name(builder, ast, expected);
    case GROVE_AST_SETTING:
        return build_setting(builder, ast);
    case GROVE_AST_MEMBER:
        return build_member(builder, ast, expected);
    case GROVE_AST_CALL:
        return grove_build_call(builder, ast, expected);
    case GROVE_AST_INDEX:
        return grove_build_index(builder, ast);
    case GROVE_AST_LIST:
        return build_list(builder, ast, expected);
    case GROVE_AST_RANGE:
        return build_range(builder, ast);
    case GROVE_AST_BINARY:
        return build_binary(builder, ast, expected);
    case GROVE_AST_NEGATE:
    case GROVE_AST_HERMITIAN:
    case GROVE_AST_TRANSPOSE:
        return build_unary(builder, ast, expected);
    case GROVE_AST_POWER:
        return build_power(builder, ast, expected);
    }
    return (grove_meaning){0};
}

/* The rest of the stack is for later steps. */
static bool has_stack(grove_builder *builder)
{
    const char *here = __builtin_frame_address(0);
    struct rlimit limit;

    if (!builder->stack) {
        bool known = !getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY;
        builder->stack = here;
        builder->stack_room = known ? (size_t)limit.rlim_cur / 2 : (size_t)4 << 20;
    }
    return (size_t)llabs((long long)(builder->stack - here)) < builder->stack_room;
}

static bool may_go_on(grove_builder *builder, const grove_ast *ast)
{
    if (builder->work >= GROVE_BUILD_WORK)
        grove_build_fail(builder, ast, ast->at,
                         "the tree grows too large here: more than %d expressions",
                         (int)GROVE_BUILD_WORK);
    else if (builder->definitions > GROVE_BUILD_DEPTH)
        grove_build_fail(builder, ast, ast->at, "definitions build on each other more than %d deep",
                         (int)GROVE_BUILD_DEPTH);
    else if (builder->depth >= GROVE_BUILD_LEVELS || !has_stack(builder))
        grove_build_fail(builder, ast, ast->at,
                         "the tree nests too deeply here for a stack of %zu KiB",
                         builder->stack_room >> 9);
    else
        return true;
    builder->stopped = true;
    return false;
}

grove_meaning grove_build_expression(grove_builder *builder, const grove_ast *ast,
                                     grove_expected expected)
{
    grove_meaning meaning = {0};

    if (builder->stopped)
        return meaning;
    if (!may_go_on(builder, ast))
        return meaning;
    builder->depth++;
    builder->work++;
    meaning = build(builder, ast, expected);
    builder->depth--;
    return meaning;
}
