/* Parses tags of HTML. */
#include "nodes/sky/html.h"

#include "util.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* The next '<' of a tag from `at`, skipping comments and declarations, or NULL. */
const char *grove_html_find(const char *at)
{
    while ((at = strchr(at, '<'))) {
        if (strncmp(at, "<!--", 4) == 0) {
            const char *end = strstr(at + 4, "-->");
            if (!end) {
                return NULL;
            }
            at = end + 3;
        } else if (isalpha((unsigned char)at[1]) ||
                   (at[1] == '/' && isalpha((unsigned char)at[2]))) {
            return at;
        } else {
            at++;
        }
    }
    return NULL;
}

/* HTML elements without an end tag. */
static bool is_void(grove_piece name)
{
    static const char *const names[] = {"br", "hr", "img", "p", "meta", "link", "input"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (grove_piece_is(name, names[k])) {
            return true;
        }
    }
    return false;
}

/* Parses one attribute at `at`, if any; moves over it. False at the end of the tag. */
static bool read_attribute(const char **at, grove_piece *name, grove_piece *value)
{
    const char *c = *at;
    while (is_white(*c) || *c == '/') {
        c++;
    }
    name->at = c;
    while (*c && *c != '>' && *c != '=' && *c != '/' && !is_white(*c)) {
        c++;
    }
    name->length = (size_t)(c - name->at);
    *value = (grove_piece){NULL, 0};
    const char *equals = c;
    while (is_white(*equals)) {
        equals++;
    }
    if (*equals == '=') {
        c = equals + 1;
        while (is_white(*c)) {
            c++;
        }
        if (*c == '"' || *c == '\'') {
            char quote = *c++;
            value->at = c;
            c += strcspn(c, quote == '"' ? "\"" : "'");
            value->length = (size_t)(c - value->at);
            c += *c ? 1 : 0;
        } else {
            value->at = c;
            while (*c && *c != '>' && !is_white(*c)) {
                c++;
            }
            value->length = (size_t)(c - value->at);
        }
    }
    *at = c;
    return name->length || value->at;
}

/* Parses the tag at `at`, which is '<'. Returns its end, or NULL when the text ends inside. */
const char *grove_html_read(const char *at, grove_tag *t)
{
    const char *c = at + 1;
    grove_piece name, value;
    *t = (grove_tag){.closing = *c == '/'};
    c += t->closing ? 1 : 0;
    t->name.at = c;
    while (isalnum((unsigned char)*c)) {
        c++;
    }
    t->name.length = (size_t)(c - t->name.at);
    while (read_attribute(&c, &name, &value)) {
        if (grove_piece_is(name, "mdltype")) {
            t->type = value;
        } else if (grove_piece_is(name, "mdlattr")) {
            t->attribute = value;
        } else if (grove_piece_is(name, "mdlval")) {
            t->value = value;
        }
    }
    if (*c != '>') {
        return NULL;
    }
    t->empty = c[-1] == '/' || is_void(t->name);
    t->place = (grove_piece){at, (size_t)(c + 1 - at)};
    return c + 1;
}

/* The character at `s` of an attribute's value, with entities resolved. */
static char next_character(grove_piece *s)
{
    static const struct {
        const char *entity;
        char character;
    } known[] = {{"&amp;", '&'},  {"&lt;", '<'},   {"&gt;", '>'},
                 {"&quot;", '"'}, {"&#39;", '\''}, {"&#x27;", '\''}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t length = strlen(known[k].entity);
        if (length <= s->length && strncasecmp(s->at, known[k].entity, length) == 0) {
            s->at += length;
            s->length -= length;
            return known[k].character;
        }
    }
    s->length--;
    return *s->at++;
}

/* A string as Python writes it ('A0', u"A0"), without its quotes. Caller frees. */
char *grove_html_text(grove_piece s)
{
    char *text = grove_alloc(s.length + 1);
    size_t length = 0, start = 0;
    while (s.length) {
        char c = next_character(&s);
        if (c == '\\' && s.length) {
            c = next_character(&s);
        }
        text[length++] = c;
    }
    start = length > 1 && text[0] == 'u' && strchr("'\"", text[1]) ? 1 : 0;
    if (length - start >= 2 && strchr("'\"", text[start]) && text[length - 1] == text[start]) {
        start++;
        length--;
    }
    memmove(text, text + start, length - start);
    text[length - start] = 0;
    return text;
}
