#include "base/error.h"

#include "base/memory.h"
#include "base/text.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 500 }; /* longest part of a source line shown below a message */

typedef struct {
    grove_place place; /* file is a copy; source is not kept */
    char *text, *line; /* the line of the source, or NULL */
    char *setting;     /* that it is about, or NULL */
    bool warning;
    int code;
    size_t order;
} message;

struct grove_error {
    pthread_mutex_t lock;
    message *messages;
    size_t count, capacity, errors;
    int code;
};

grove_error *grove_error_new(void)
{
    grove_error *error = grove_alloc(sizeof(*error));

    pthread_mutex_init(&error->lock, NULL);
    return error;
}

void grove_error_clear(grove_error *error)
{
    pthread_mutex_lock(&error->lock);
    for (size_t i = 0; i < error->count; i++) {
        free(error->messages[i].text);
        free(error->messages[i].line);
        free(error->messages[i].setting);
        free((char *)error->messages[i].place.file);
    }
    error->count = error->errors = 0;
    error->code = 0;
    pthread_mutex_unlock(&error->lock);
}

void grove_error_free(grove_error *error)
{
    if (!error)
        return;
    grove_error_clear(error);
    pthread_mutex_destroy(&error->lock);
    free(error->messages);
    free(error);
}

/* Keeps copies of a place's texts: the place itself need not outlive the call. */
static void set_place(message *at, const grove_place *place)
{
    const char *line = place->source;

    for (int i = 1; line && i < place->line; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    at->place = *place;
    at->place.source = NULL;
    at->place.file = place->file ? grove_strdup(place->file) : NULL;
    size_t length = line ? strcspn(line, "\r\n") : 0;
    if (line && length <= LONGEST_LINE)
        at->line = grove_format("%.*s", (int)length, line);
}

/* One cause may be met at several places: two nodes that read one set. */
static bool has_warning(const grove_error *error, const char *text)
{
    for (size_t i = 0; i < error->count; i++)
        if (error->messages[i].warning && grove_equal(error->messages[i].text, text))
            return true;
    return false;
}

static void add(grove_error *error, const grove_place *place, int code, bool warning,
                const char *setting, const char *format, va_list args)
{
    grove_text text = {0};

    if (!error)
        return;
    grove_text_add_v(&text, format, args);
    pthread_mutex_lock(&error->lock);
    if (warning && has_warning(error, text.at)) {
        pthread_mutex_unlock(&error->lock);
        free(text.at);
        return;
    }
    grove_grow((void **)&error->messages, &error->capacity, error->count, sizeof(message));
    message *new = &error->messages[error->count];
    *new = (message){.text = text.at ? text.at : grove_strdup(""),
                     .warning = warning,
                     .setting = setting ? grove_strdup(setting) : NULL,
                     .code = code,
                     .order = error->count};
    if (place)
        set_place(new, place);
    error->count++;
    if (!warning && !error->errors++)
        error->code = code;
    pthread_mutex_unlock(&error->lock);
}

int grove_fail_v(grove_error *error, const grove_place *place, int code, const char *format,
                 va_list args)
{
    add(error, place, code, false, NULL, format, args);
    return code;
}

static void add_setting(grove_error *error, int code, const char *setting, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add_setting(grove_error *error, int code, const char *setting, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(error, NULL, code, false, setting, format, args);
    va_end(args);
}

int grove_fail_setting(grove_error *error, const grove_place *place, int code, const char *setting,
                       const char *text)
{
    if (!setting)
        return grove_fail_at(error, place, code, "%s", text);
    if (place && place->line)
        add_setting(error, code, setting, "setting %s: %s (%s:%d:%d)", setting, text,
                    place->file ? place->file : "", place->line, place->column);
    else
        add_setting(error, code, setting, "setting %s: %s", setting, text);
    return code;
}

int grove_fail(grove_error *error, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(error, NULL, code, false, NULL, format, args);
    va_end(args);
    return code;
}

int grove_fail_at(grove_error *error, const grove_place *place, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(error, place, code, false, NULL, format, args);
    va_end(args);
    return code;
}

void grove_warn_at(grove_error *error, const grove_place *place, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(error, place, 0, true, NULL, format, args);
    va_end(args);
}

static _Thread_local grove_error_scope *current;

grove_error_scope *grove_error_enter(grove_error_scope *scope)
{
    grove_error_scope *before = current;

    current = scope;
    return before;
}

grove_error_scope *grove_error_current(void)
{
    return current;
}

void grove_error_scope_fail(grove_error_scope *scope, int code)
{
    int none = 0;

    __atomic_compare_exchange_n(&scope->code, &none, code, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

void grove_error_context(grove_error *error, size_t since, const grove_place *place,
                         const char *context)
{
    size_t seen = 0;

    if (!error)
        return;
    pthread_mutex_lock(&error->lock);
    for (size_t i = 0; i < error->count; i++) {
        message *at = &error->messages[i];
        if (at->warning || seen++ < since)
            continue;
        if (context) {
            char *text = grove_format("%s: %s", context, at->text);
            free(at->text);
            at->text = text;
        }
        if (place && !at->place.line) {
            free((char *)at->place.file);
            free(at->line);
            at->line = NULL;
            set_place(at, place);
        }
    }
    pthread_mutex_unlock(&error->lock);
}

/* Other threads may be adding messages. */
static size_t count(const grove_error *error, bool warnings)
{
    pthread_mutex_t *lock;

    if (!error)
        return 0;
    lock = (pthread_mutex_t *)&error->lock;
    pthread_mutex_lock(lock);
    size_t number = warnings ? error->count - error->errors : error->errors;
    pthread_mutex_unlock(lock);
    return number;
}

size_t grove_error_count(const grove_error *error)
{
    return count(error, false);
}

size_t grove_error_warnings(const grove_error *error)
{
    return count(error, true);
}

int grove_error_code(const grove_error *error)
{
    return error ? error->code : 0;
}

const char *grove_error_message(const grove_error *error, size_t k)
{
    for (size_t i = 0; error && i < error->count; i++)
        if (!error->messages[i].warning && !k--)
            return error->messages[i].text;
    return NULL;
}

static int compare(const void *left, const void *right)
{
    const message *a = *(const message *const *)left, *b = *(const message *const *)right;

    if (!a->place.line != !b->place.line)
        return a->place.line ? -1 : 1;
    if (a->place.line && b->place.line) {
        int files = strcmp(a->place.file ? a->place.file : "", b->place.file ? b->place.file : "");
        if (files)
            return files;
        if (a->place.line != b->place.line)
            return a->place.line < b->place.line ? -1 : 1;
        if (a->place.column != b->place.column)
            return a->place.column < b->place.column ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* As wide as the first `length` characters of the line are shown. */
static void add_blanks(grove_text *text, const char *line, size_t length)
{
    grove_text shown = {0};

    grove_text_add_shown(&shown, line, length, "\t");
    for (size_t i = 0; i < shown.length; i++)
        grove_text_append(text, shown.at[i] == '\t' ? "\t" : " ", 1);
    free(shown.at);
}

/* The source line with a caret below the place; tabs are kept so that the caret stays in its
 * column. */
static void add_source(grove_text *text, const message *at)
{
    const grove_place *place = &at->place;
    const char *line = at->line;

    if (!line || place->column < 1)
        return;
    int length = (int)strlen(line);
    if (place->column > length + 1)
        return;
    grove_text_append(text, "    ", 4);
    grove_text_add_shown(text, line, (size_t)length, "\t");
    grove_text_append(text, "\n    ", 5);
    add_blanks(text, line, (size_t)place->column - 1);
    grove_text_append(text, "^", 1);
    for (int i = 1; i < place->length && place->column - 1 + i < length; i++)
        grove_text_append(text, "~", 1);
    grove_text_append(text, "\n", 1);
}

static bool same(const message *a, const message *b)
{
    return grove_equal(a->text, b->text) && a->warning == b->warning &&
           a->place.line == b->place.line && a->place.column == b->place.column &&
           grove_equal(a->place.file, b->place.file);
}

/* Whether an error about the same setting was printed before. */
static bool is_said(const message *const *sorted, size_t i)
{
    for (size_t k = 0; k < i && sorted[i]->setting; k++)
        if (grove_equal(sorted[k]->setting, sorted[i]->setting))
            return true;
    return i && same(sorted[i], sorted[i - 1]);
}

char *grove_error_text(const grove_error *error)
{
    grove_text text = {0};
    size_t count = error ? error->count : 0;
    const message **sorted = grove_alloc((count + 1) * sizeof(*sorted));

    for (size_t i = 0; i < count; i++)
        sorted[i] = &error->messages[i];
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 0; i < count; i++) {
        const message *at = sorted[i];
        if (is_said(sorted, i))
            continue;
        if (at->place.line && at->place.file) {
            grove_text_add_shown(&text, at->place.file, strlen(at->place.file), "");
            grove_text_add(&text, ":%d:", at->place.line);
        }
        if (at->place.line && at->place.file && at->place.column)
            grove_text_add(&text, "%d:", at->place.column);
        if (text.length && text.at[text.length - 1] == ':')
            grove_text_add(&text, " ");
        grove_text_add(&text, "%s: ", at->warning ? "warning" : "error");
        grove_text_add_shown(&text, at->text, strlen(at->text), "\n");
        grove_text_append(&text, "\n", 1);
        if (at->place.line)
            add_source(&text, at);
    }
    free(sorted);
    return text.at ? text.at : grove_strdup("");
}
