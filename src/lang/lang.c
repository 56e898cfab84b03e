#include "lang/lang.h"

#include "base/file.h"
#include "lang/build.h"
#include "lang/reader.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 8 << 20, MAX_FILES = 1000, MAX_INCLUDES = 50 };

/* The statements of a tree file and of its included files, in order. */
typedef struct {
    grove_arena *arena;
    grove_error *error;
    const char *const *folders;
    const char *files[MAX_FILES]; /* files read already */
    int file_count, depth;
    const grove_statement **statements;
    size_t count, capacity;
} program;

/* ---- reading ---- */

static void add_statements(program *all, const grove_source *source);

static char *read_text(program *all, const char *path, const grove_place *place)
{
    size_t before = grove_error_count(all->error), length = 0;
    char *text = grove_file_read(path, MAX_BYTES, true, &length, all->error);

    if (!text)
        grove_error_context(all->error, before, place, NULL);
    return text;
}

static bool seen(program *all, const char *path)
{
    char *real = realpath(path, NULL);
    const char *name = grove_arena_text(all->arena, real ? real : path);

    free(real);
    for (int i = 0; i < all->file_count; i++)
        if (!strcmp(all->files[i], name))
            return true;
    if (all->file_count < MAX_FILES)
        all->files[all->file_count++] = name;
    return false;
}

static void include(program *all, const grove_statement *statement)
{
    grove_place place = grove_source_place(statement->source, statement->span);
    const char *searched = "";
    const char *path = grove_source_find(all->arena, statement->text, statement->source->path,
                                         all->folders, &searched);

    if (!path) {
        char *expected = grove_path_next_to(statement->source->path, statement->text);
        char *hint = grove_path_hint(expected);
        grove_fail_at(all->error, &place, GROVE_MISSING, "there is no file '%s'%s%s%s",
                      statement->text, hint, searched[0] ? "; searched: " : "", searched);
        free(hint);
        free(expected);
    } else if (all->depth == MAX_INCLUDES || all->file_count == MAX_FILES) {
        grove_fail_at(all->error, &place, GROVE_INVALID, "too many files include each other");
    } else if (!seen(all, path)) {
        char *text = read_text(all, path, &place);
        if (text)
            add_statements(all, grove_source_new(all->arena, path, text));
        free(text);
    }
}

static void add_statements(program *all, const grove_source *source)
{
    grove_statements read = grove_reader_file(all->arena, source, all->error);

    all->depth++;
    for (const grove_statement *at = read.first; at; at = at->next) {
        if (at->kind == GROVE_STATEMENT_INCLUDE) {
            include(all, at);
            continue;
        }
        grove_grow((void **)&all->statements, &all->capacity, all->count, sizeof(at));
        all->statements[all->count++] = at;
    }
    all->depth--;
}

/* ---- actions ---- */

static const grove_statement *find_run(const program *all, grove_error *error)
{
    const grove_statement *run = NULL;

    for (size_t i = 0; i < all->count; i++) {
        const grove_statement *at = all->statements[i];
        grove_place place = grove_source_place(at->source, at->span);
        if (at->kind == GROVE_STATEMENT_RUN && run) {
            grove_place first = grove_source_place(run->source, run->span);
            grove_fail_at(error, &place, GROVE_INVALID,
                          "there is already a run statement, at %s:%d:%d", first.file, first.line,
                          first.column);
        } else if (at->kind == GROVE_STATEMENT_RUN) {
            run = at;
        }
    }
    return run;
}

static void set_cycles(grove_builder *builder, const grove_ast *ast)
{
    grove_operand cycles = grove_build_expression(builder, ast, grove_expected_value).operand;
    const grove_literal *literal = cycles.kind == GROVE_OPERAND_LITERAL ? cycles.literal : NULL;

    if (cycles.kind == GROVE_OPERAND_NOTHING)
        return;
    if (!literal || literal->kind != GROVE_LITERAL_NUMBER || literal->imaginary != 0 ||
        !grove_unit_is_none(literal->unit) || literal->number != rint(literal->number) ||
        literal->number < 1 || literal->number > 1e6)
        grove_build_fail(builder, ast, ast->span, "cycles is a whole number from 1 to 1000000");
    else
        builder->tree->cycles = (int)literal->number;
}

static size_t position(grove_node *const *list, size_t count, const grove_node *node)
{
    size_t at = 0;

    while (at < count && list[at] != node)
        at++;
    return at;
}

/* The action named in a run statement; NULL when it has no output, or after an error. */
static grove_node *named_action(grove_builder *builder, const grove_statement *run,
                                const grove_ast_item *item)
{
    grove_entry *entry = grove_scope_own(builder->globals, item->name);
    grove_place place = grove_source_place(run->source, item->name_span);
    grove_node *node;

    if (!entry || entry->kind != GROVE_ENTRY_DEFINITION) {
        const char *near = grove_scope_nearest(builder->arena, builder->globals, item->name);
        grove_fail_at(builder->error, &place, GROVE_MISSING, "unknown action '%s'%s", item->name,
                      grove_build_hint(builder, item->name, near));
        return NULL;
    }
    if (entry->value.kind == GROVE_OPERAND_NOTHING ||
        (entry->value.kind == GROVE_OPERAND_LITERAL &&
         entry->value.literal->kind == GROVE_LITERAL_NONE))
        return NULL;
    node = entry->value.node;
    if (!node || !node->class_ || !(node->class_->kind == GROVE_CLASS_ACTION)) {
        grove_fail_at(builder->error, &place, GROVE_INVALID,
                      "'%s' is not an action such as sink(...)", item->name);
        return NULL;
    }
    return node;
}

/* Sorts the actions in the order of the run statement. */
static void order_actions(grove_builder *builder, const grove_statement *run)
{
    grove_tree *tree = builder->tree;
    grove_node **order = grove_alloc(((size_t)run->items.count + 1) * sizeof(*order));
    size_t count = 0;

    if (run->value)
        set_cycles(builder, run->value);
    for (const grove_ast_item *item = run->items.first; item; item = item->next) {
        grove_place place = grove_source_place(run->source, item->name_span);
        grove_node *node = named_action(builder, run, item);
        if (!node)
            continue;
        if (position(order, count, node) < count)
            grove_fail_at(builder->error, &place, GROVE_INVALID, "'%s' runs already", item->name);
        else
            order[count++] = node;
    }
    for (size_t i = 0; i < tree->action_count; i++)
        if (position(order, count, tree->actions[i]) == count)
            grove_warn_at(builder->error, &tree->actions[i]->place,
                          "'%s' does not run: the run statement does not name it",
                          tree->actions[i]->name);
    free(tree->actions);
    tree->actions = order;
    tree->action_count = count;
    tree->action_capacity = (size_t)run->items.count + 1;
}

/* ---- building ---- */

static void declare(grove_builder *builder, const program *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->statements[i]->kind == GROVE_STATEMENT_OPTION)
            grove_build_declare_option(builder, all->statements[i]);
        else
            grove_build_declare(builder, builder->globals, all->statements[i]);
    }
    grove_build_check_settings(builder);
    for (grove_entry *entry = builder->options->first; entry; entry = entry->next)
        grove_build_option(builder, entry, entry->statement->value);
}

static void reach(grove_builder *builder, const program *all, const grove_statement *run)
{
    for (size_t i = 0; i < all->count; i++) {
        const grove_statement *at = all->statements[i];
        bool root = at->kind == GROVE_STATEMENT_ACTION ||
                    (at->kind == GROVE_STATEMENT_DEFINE && at->value &&
                     grove_build_is_action(builder, at->value));
        if (!root)
            continue;
        grove_entry *entry = at->name ? grove_scope_own(builder->globals, at->name) : NULL;
        if (entry)
            entry->reached = true;
        grove_build_reach(builder, at->value);
    }
    for (const grove_ast_item *item = run ? run->items.first : NULL; item; item = item->next) {
        grove_entry *entry = grove_scope_own(builder->globals, item->name);
        if (entry && entry->kind == GROVE_ENTRY_DEFINITION) {
            entry->reached = true;
            grove_build_reach(builder, entry->statement->value);
        }
    }
}

static void build_statement(grove_builder *builder, const grove_statement *statement)
{
    const grove_ast *value = statement->value;
    grove_entry *entry;
    grove_operand x;

    if (statement->kind == GROVE_STATEMENT_DEFINE) {
        entry = grove_scope_own(builder->globals, statement->name);
        if (value && entry && entry->statement == statement &&
            grove_build_is_action(builder, value))
            grove_build_definition(builder, entry, value);
    } else if (statement->kind == GROVE_STATEMENT_ACTION) {
        x = grove_build_expression(builder, value, grove_expected_value).operand;
        bool none = x.kind == GROVE_OPERAND_LITERAL && x.literal->kind == GROVE_LITERAL_NONE;
        bool action = x.kind == GROVE_OPERAND_NODE && x.node->class_ &&
                      x.node->class_->kind == GROVE_CLASS_ACTION;
        if (x.kind != GROVE_OPERAND_NOTHING && !none && !action)
            grove_build_fail(builder, value, value->span,
                             "this goes nowhere; give it a name: NAME = ...");
    }
}

/* Definitions that no action needs are built too, to find errors in the main file. */
static void build_rest(grove_builder *builder)
{
    for (grove_entry *entry = builder->globals->first; entry; entry = entry->next)
        if (entry->kind == GROVE_ENTRY_DEFINITION && !entry->reached &&
            entry->statement->source->main && entry->statement->value)
            grove_build_definition(builder, entry, entry->statement->value);
}

static void warn(grove_builder *builder)
{
    if (!builder->tree->action_count) {
        grove_warn_at(builder->error, NULL, "%s: nothing to run: %s", builder->tree->path,
                      builder->dropped ? "the output of every action is none"
                                       : "the tree has no action such as sink(...)");
        return;
    }
    for (grove_entry *entry = builder->globals->first; entry; entry = entry->next)
        if (!entry->reached && entry->statement->source->main)
            grove_warn_at(builder->error, &entry->place, "'%s' is not used by any action",
                          entry->name);
}

static void build(grove_builder *builder, const program *all)
{
    const grove_statement *run = find_run(all, builder->error);

    declare(builder, all);
    reach(builder, all, run);
    for (size_t i = 0; i < all->count; i++)
        build_statement(builder, all->statements[i]);
    if (run) {
        for (const grove_ast_item *item = run->items.first; item; item = item->next) {
            grove_entry *entry = grove_scope_own(builder->globals, item->name);
            if (entry && entry->kind == GROVE_ENTRY_DEFINITION)
                grove_build_definition(builder, entry, entry->statement->value);
        }
        order_actions(builder, run);
    }
    build_rest(builder);
}

static grove_builder *new_builder(grove_tree *tree, grove_classes *classes,
                                  const grove_setting *settings, size_t setting_count)
{
    grove_builder *builder = grove_arena_alloc(tree->arena, sizeof(*builder));

    builder->tree = tree;
    builder->arena = tree->arena;
    builder->error = tree->error;
    builder->classes = classes;
    builder->globals = builder->scope = grove_scope_new(tree->arena, NULL, 512);
    builder->options = grove_scope_new(tree->arena, NULL, 64);
    builder->settings = settings;
    builder->setting_count = setting_count;
    tree->expand = grove_build_default;
    tree->expand_context = builder;
    return builder;
}

static const char *list_settings(grove_arena *arena, const grove_setting *settings, size_t count)
{
    const char *text = "";

    for (size_t i = 0; i < count; i++)
        text = grove_arena_format(arena, "%s-s %s=%s\n", text, settings[i].name, settings[i].value);
    return text;
}

static const char *folder_of(grove_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return ".";
    return slash == path ? "/" : grove_arena_format(arena, "%.*s", (int)(slash - path), path);
}

/* Which expression to print in place of running the tree's actions; NULL: none. */
typedef struct {
    const char *expression, *name;
} printed_value;

/* `before`: errors that there were before the files were read. */
static int finish(grove_builder *builder, const program *all, const printed_value *value,
                  size_t before)
{
    if (value) {
        declare(builder, all);
        grove_build_value(builder, value->expression, value->name);
    } else {
        build(builder, all);
    }
    builder->settings = NULL;
    builder->setting_count = 0;
    if (grove_error_count(builder->error) > before)
        return GROVE_INVALID;
    if (!value)
        warn(builder);
    return grove_tree_finish(builder->tree);
}

static grove_tree *load(const char *text, const char *path, bool file, const printed_value *value,
                        grove_classes *classes, const grove_setting *settings, size_t setting_count,
                        const char *const *tree_folders, const char *const *data_folders,
                        grove_error *error)
{
    grove_error *own = error ? NULL : grove_error_new();
    grove_tree *tree = grove_tree_new();
    grove_source *source = grove_source_new(tree->arena, path, text);
    program *all = grove_arena_alloc(tree->arena, sizeof(*all));

    tree->path = source->path;
    tree->source = source->text;
    tree->folder = file ? folder_of(tree->arena, path) : ".";
    tree->settings = list_settings(tree->arena, settings, setting_count);
    tree->data_folders = data_folders;
    tree->classes = classes;
    tree->operator_class = grove_operator_class;
    tree->error = error ? error : own;
    *all = (program){.arena = tree->arena, .error = tree->error, .folders = tree_folders};
    source->main = true;
    size_t before = grove_error_count(tree->error);
    if (file)
        seen(all, path);
    add_statements(all, source);
    for (int i = 0; i < all->file_count; i++)
        grove_tree_add_read(tree, all->files[i]);
    int code = finish(new_builder(tree, classes, settings, setting_count), all, value, before);
    free(all->statements);
    if (code || grove_error_count(tree->error) > before) {
        grove_tree_free(tree);
        tree = NULL;
    } else {
        tree->error = error;
    }
    grove_error_free(own);
    return tree;
}

/* ---- public ---- */

static char *find_and_read(const char *path, const char *const *folders, grove_arena *arena,
                           const char **found, grove_error *error)
{
    const char *searched = "";
    size_t length;

    *found = grove_source_find(arena, path, NULL, folders, &searched);
    if (!*found && grove_path_exists(path)) {
        *found = path; /* a folder, for example: reading reports the error */
    } else if (!*found) {
        char *hint = grove_path_hint(path);
        grove_fail(error, GROVE_MISSING, "%s: there is no such file%s%s%s", path, hint,
                   searched[0] ? "; searched: " : "", searched);
        free(hint);
        return NULL;
    }
    return grove_file_read(*found, MAX_BYTES, true, &length, error);
}

grove_tree *grove_lang_load(const char *path, grove_classes *classes, const grove_setting *settings,
                            size_t setting_count, const char *const *tree_folders,
                            const char *const *data_folders, grove_error *error)
{
    grove_arena *arena = grove_arena_new();
    const char *found;
    char *text = find_and_read(path, tree_folders, arena, &found, error);
    grove_tree *tree = NULL;

    if (text)
        tree = load(text, found, true, NULL, classes, settings, setting_count, tree_folders,
                    data_folders, error);
    free(text);
    grove_arena_free(arena);
    return tree;
}

grove_tree *grove_lang_value(const char *path, const char *expression, const char *name,
                             grove_classes *classes, const grove_setting *settings,
                             size_t setting_count, const char *const *tree_folders,
                             const char *const *data_folders, grove_error *error)
{
    printed_value value = {expression, name};
    grove_arena *arena = grove_arena_new();
    const char *found = name;
    char *text = path ? find_and_read(path, tree_folders, arena, &found, error) : grove_strdup("");
    grove_tree *tree = NULL;

    if (text)
        tree = load(text, found, path != NULL, &value, classes, settings, setting_count,
                    tree_folders, data_folders, error);
    free(text);
    grove_arena_free(arena);
    return tree;
}

grove_tree *grove_lang_parse(const char *text, const char *name, grove_classes *classes,
                             const grove_setting *settings, size_t setting_count,
                             const char *const *tree_folders, const char *const *data_folders,
                             grove_error *error)
{
    if (strlen(text) > MAX_BYTES) {
        grove_fail(error, GROVE_INVALID, "%s: longer than %d bytes", name, (int)MAX_BYTES);
        return NULL;
    }
    return load(text, name, false, NULL, classes, settings, setting_count, tree_folders,
                data_folders, error);
}

static void list_options(const program *all, grove_text *text)
{
    int width = 0;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < all->count; i++) {
            const grove_statement *at = all->statements[i];
            if (at->kind != GROVE_STATEMENT_OPTION || !at->value)
                continue;
            grove_source_span span = at->value->span;
            int length = (int)(span.end - span.begin), name = (int)strlen(at->name);
            if (!pass)
                width = name > width ? name : width;
            else
                grove_text_add(text, "%-*s = %.*s%s%s\n", width, at->name, length,
                               at->source->text + span.begin, at->text ? "   " : "",
                               at->text ? at->text : "");
        }
}

char *grove_lang_options(const char *path, const char *const *tree_folders, grove_error *error)
{
    grove_arena *arena = grove_arena_new();
    size_t before = grove_error_count(error);
    grove_text result = {0};
    const char *found;
    char *text = find_and_read(path, tree_folders, arena, &found, error);

    if (text) {
        program *all = grove_arena_alloc(arena, sizeof(*all));
        *all = (program){.arena = arena, .error = error, .folders = tree_folders};
        seen(all, found);
        add_statements(all, grove_source_new(arena, found, text));
        list_options(all, &result);
        free(all->statements);
    }
    free(text);
    grove_arena_free(arena);
    if (!text || grove_error_count(error) > before) {
        free(result.at);
        return NULL;
    }
    return result.at ? result.at : grove_strdup("");
}
