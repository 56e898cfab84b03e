/* Checks of descriptors: texts, and defaults as expressions in a tree. */
#include "conformance/conformance.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void require_text(grove_conformance *c, const char *text, const char *subject,
                         const char *name)
{
    if (!text || strlen(text) < 3 || text[0] == ' ' || text[strlen(text) - 1] == '\n')
        grove_conformance_fail(c, "%s %s%shas no text; describe it in a sentence, with its unit",
                               subject, name, *name ? " " : "");
}

void grove_conformance_texts(grove_conformance *c)
{
    const grove_class *class_ = c->class_;

    c->made = true;
    require_text(c, class_->doc, ".doc", "");
    require_text(c, class_->output_doc, ".output_doc", "");
    require_text(c, class_->group, ".group", "");
    require_text(c, class_->example, ".example", "");
    if (class_->doc && !strchr(class_->doc, '.'))
        grove_conformance_fail(c, ".doc '%s' is not a sentence that ends in a full stop",
                               class_->doc);
    for (const grove_port *port = NULL; (port = grove_port_next(class_, port));)
        require_text(c, port->doc, "input or option", port->name);
}

static bool is_word_of(const char *choices, const char *word)
{
    const char *at = strstr(choices, word);
    size_t length = strlen(word);

    return at && (at == choices || at[-1] == ' ') && (at[length] == ' ' || !at[length]);
}

/* Statements that define the class's object inputs by the names that its defaults use. */
static void add_objects(const grove_class *class_, grove_text *text)
{
    for (const grove_port *in = class_->inputs; in && in->name; in++) {
        const char *object = grove_fixture_object(in);
        if (in->kind == GROVE_OBJECT && strcmp(in->name, object) != 0)
            grove_text_add(text, "%s = %s\n", in->name, object);
    }
}

static void check_default(grove_conformance *c, const grove_port *op)
{
    grove_text more = {0};

    if (!op->initial || !strcmp(op->initial, "none"))
        return;
    if (op->kind == GROVE_CHOICE) {
        if (!is_word_of(op->choices, op->initial))
            grove_conformance_fail(c, "option '%s': its default '%s' is not one of its words: %s",
                                   op->name, op->initial, op->choices);
        return;
    }
    add_objects(c->class_, &more);
    grove_text_add(&more, "the_default = %s\n", op->initial);
    int code = grove_fixture_take(c->fixture, c->class_, more.at);
    free(more.at);
    if (code)
        grove_conformance_done(c, code, op->name);
}

void grove_conformance_defaults(grove_conformance *c)
{
    if (c->fixture->text) /* a user's tree may use the same names */
        return;
    for (const grove_port *op = c->class_->options; op && op->name; op++, c->made = true)
        check_default(c, op);
}
