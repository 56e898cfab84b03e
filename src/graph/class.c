/* Descriptors: what must hold of a class before any of its code runs. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

static bool name_is_good(const char *name)
{
    if (!name || name[0] < 'a' || name[0] > 'z' || strlen(name) > 60)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static int check_version(const grove_class *class_, const char *name, grove_error *error)
{
    if (class_->abi_major != GROVE_ABI_MAJOR || class_->abi_minor > GROVE_ABI_MINOR)
        return grove_fail(error, GROVE_ABI,
                          "class %s: built for plugin ABI %d.%d, this Grove has %d.%d; rebuild it "
                          "against the installed headers",
                          name, class_->abi_major, class_->abi_minor, GROVE_ABI_MAJOR,
                          GROVE_ABI_MINOR);
    if (class_->struct_size < offsetof(grove_class, flags))
        return grove_fail(error, GROVE_ABI,
                          "class %s: descriptor of %u bytes, at least %zu are needed; rebuild it "
                          "against the installed headers",
                          name, class_->struct_size, offsetof(grove_class, flags));
    return 0;
}

static int check_port(const char *class_name, const char *what, const char *name, grove_kind kind,
                      const char *doc, grove_error *error)
{
    if (!name_is_good(name))
        return grove_fail(error, GROVE_ABI, "class %s: %s '%s' is not a lower-case name",
                          class_name, what, name);
    if (!doc || !doc[0])
        return grove_fail(error, GROVE_ABI, "class %s: %s '%s' has no text", class_name, what,
                          name);
    if (!((kind >= GROVE_BOOL && kind <= GROVE_AXIS_NAMES) ||
          (kind >= GROVE_VALUE && kind <= GROVE_VALUE_SPEED) || kind == GROVE_SKY ||
          kind == GROVE_OBSERVATION))
        return grove_fail(error, GROVE_ABI, "class %s: %s '%s' has the unknown kind %d", class_name,
                          what, name, (int)kind);
    return 0;
}

static int check_ports(const grove_class *class_, grove_error *error)
{
    int values = 0, code = 0;

    for (const grove_input *in = class_->inputs; in && in->name && !code; in++) {
        code = check_port(class_->name, "input", in->name, in->kind, in->doc, error);
        if (!code && in->kind < GROVE_VALUE)
            code = grove_fail(error, GROVE_ABI,
                              "class %s: input '%s' is a constant; make it an option", class_->name,
                              in->name);
        values += in->kind < GROVE_SKY;
    }
    for (const grove_option *op = class_->options; op && op->name && !code; op++) {
        code = check_port(class_->name, "option", op->name, op->kind, op->doc, error);
        if (!code && op->kind == GROVE_CHOICE && !op->choices)
            code = grove_fail(error, GROVE_ABI, "class %s: option '%s' has no choices",
                              class_->name, op->name);
        if (!code && op->kind >= GROVE_SKY)
            code =
                grove_fail(error, GROVE_ABI, "class %s: option '%s' is an object; make it an input",
                           class_->name, op->name);
        values += op->kind >= GROVE_VALUE && op->kind < GROVE_SKY;
    }
    if (!code && values > GROVE_MAX_INPUTS)
        code = grove_fail(error, GROVE_ABI, "class %s: %d value inputs, at most %d", class_->name,
                          values, (int)GROVE_MAX_INPUTS);
    return code;
}

static int check_functions(const grove_class *class_, grove_error *error)
{
    const char *missing = NULL;

    if (class_->flags & GROVE_CLASS_DATA)
        missing = class_->open ? NULL : "open";
    else if (class_->flags & GROVE_CLASS_ACTION)
        missing = class_->write ? NULL : "write";
    else if (!(class_->flags & (GROVE_CLASS_REDUCE | GROVE_CLASS_SELECT)) && !class_->kernel &&
             !class_->eval && !class_->check)
        missing = "kernel or eval";
    if (missing)
        return grove_fail(error, GROVE_ABI, "class %s: its %s is missing", class_->name, missing);
    return 0;
}

int grove_class_check(const grove_class *class_, const char *name, grove_class *copy,
                      grove_error *error)
{
    int code = check_version(class_, name, error);

    if (code)
        return code;
    memset(copy, 0, sizeof(*copy));
    /* fields that a shorter one lacks are NULL, those that a longer one adds are not looked at */
    memcpy(copy, class_, class_->struct_size < sizeof(*copy) ? class_->struct_size : sizeof(*copy));
    if (!grove_equal(copy->name, name))
        return grove_fail(error, GROVE_ABI, "class %s: its descriptor is named '%s'", name,
                          copy->name ? copy->name : "");
    if (!name_is_good(name))
        return grove_fail(error, GROVE_ABI, "class %s: not a lower-case name", name);
    if (!copy->doc || !copy->doc[0])
        return grove_fail(error, GROVE_ABI, "class %s: has no text", name);
    if ((code = check_ports(copy, error)) || (code = check_functions(copy, error)))
        return code;
    return 0;
}
