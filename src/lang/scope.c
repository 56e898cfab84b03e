#include "lang/scope.h"

#include "base/text.h"

#include <string.h>

grove_scope *grove_scope_new(grove_arena *arena, grove_scope *outer, size_t buckets)
{
    grove_scope *scope = grove_arena_alloc(arena, sizeof(*scope));

    scope->outer = outer;
    scope->bucket_count = buckets;
    scope->buckets = grove_arena_alloc(arena, buckets * sizeof(grove_entry *));
    return scope;
}

static size_t bucket(const grove_scope *scope, const char *name)
{
    size_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash % scope->bucket_count;
}

grove_entry *grove_scope_own(const grove_scope *scope, const char *name)
{
    for (grove_entry *entry = scope->buckets[bucket(scope, name)]; entry; entry = entry->chain)
        if (!strcmp(entry->name, name))
            return entry;
    return NULL;
}

grove_entry *grove_scope_find(const grove_scope *scope, const char *name)
{
    grove_entry *entry = NULL;

    for (; scope && !entry; scope = scope->outer)
        entry = grove_scope_own(scope, name);
    return entry;
}

grove_entry *grove_scope_add(grove_arena *arena, grove_scope *scope, grove_entry_kind kind,
                             const char *name, const grove_statement *statement)
{
    grove_entry *entry = grove_arena_alloc(arena, sizeof(*entry));
    size_t at = bucket(scope, name);

    entry->kind = kind;
    entry->name = name;
    entry->statement = statement;
    entry->scope = scope;
    if (statement)
        entry->place = grove_source_place(statement->source, statement->span);
    entry->chain = scope->buckets[at];
    scope->buckets[at] = entry;
    if (scope->last)
        scope->last->next = entry;
    else
        scope->first = entry;
    scope->last = entry;
    return entry;
}

const char *grove_scope_nearest(grove_arena *arena, const grove_scope *scope, const char *word)
{
    size_t count = 0, n = 0;

    for (const grove_scope *at = scope; at; at = at->outer)
        for (const grove_entry *entry = at->first; entry; entry = entry->next)
            count++;
    const char **names = grove_arena_alloc(arena, (count + 1) * sizeof(char *));
    for (const grove_scope *at = scope; at; at = at->outer)
        for (const grove_entry *entry = at->first; entry; entry = entry->next)
            names[n++] = entry->name;
    return grove_nearest(word, names, n);
}

const char *grove_statement_show(grove_arena *arena, const grove_statement *statement)
{
    const char *text = statement->name;

    for (const grove_ast_item *item = statement->items.first; item; item = item->next)
        text =
            grove_arena_format(arena, "%s%s%s%s", text, item == statement->items.first ? "[" : ",",
                               item->value->text, item->next ? "" : "]");
    return text;
}
