/* Descriptors: checks of a class before any of its code runs. */
#include "graph/call.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail_class(const char *name, grove_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail_class(const char *name, grove_error *error, const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_fail(error, GROVE_ABI, "class %s: %s", name, text.at);
    free(text.at);
    return GROVE_ABI;
}

static bool name_is_good(const char *name)
{
    if (!name || name[0] < 'a' || name[0] > 'z' || strlen(name) > 60)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* ---- versions and sizes ---- */

static int check_version(const grove_class *class_, const char *name, grove_error *error)
{
    bool minor_fits = GROVE_ABI_MAJOR ? class_->abi_minor <= GROVE_ABI_MINOR
                                      : class_->abi_minor == GROVE_ABI_MINOR;

    if (class_->abi_major == GROVE_ABI_MAJOR && minor_fits)
        return 0;
    return fail_class(name, error,
                      "built for plugin ABI %d.%d, this Grove has %d.%d; build it again with the "
                      "headers of this Grove (docs/plugins.md, \"Versions\", says what changed)",
                      class_->abi_major, class_->abi_minor, GROVE_ABI_MAJOR, GROVE_ABI_MINOR);
}

/* While the major number is 0, headers may differ between two Groves of one number. */
static int check_sizes(const grove_class *class_, const char *name, grove_error *error)
{
    const struct {
        const char *structure;
        size_t size, expected;
    } sizes[] = {
        {"class", class_->struct_size, sizeof(grove_class)},
        {"port", class_->port_size, sizeof(grove_port)},
        {"form", class_->form_size, sizeof(grove_form)},
        {"axis", class_->axis_size, sizeof(grove_axis)},
        {"kernel", class_->kernel_size, sizeof(grove_kernel)},
        {"data_functions", class_->data_size, sizeof(grove_data_functions)},
        {"action_functions", class_->action_size, sizeof(grove_action_functions)},
        {"accumulator_functions", class_->accumulator_size, sizeof(grove_accumulator_functions)},
    };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].size != sizes[i].expected)
            return fail_class(
                name, error,
                "its grove_%s has %zu bytes, but %zu in this Grove; build it again with the "
                "headers of this Grove, and begin its descriptor with GROVE_CLASS_HEAD(%s)",
                sizes[i].structure, sizes[i].size, sizes[i].expected, name);
    return 0;
}

/* ---- inputs and options ---- */

static int check_values(const char *class_name, const char *port_kind, const grove_port *in,
                        grove_error *error)
{
    if ((int)in->handing < GROVE_AS_GIVEN || in->handing > GROVE_AS_FLAGS)
        return fail_class(class_name, error, "%s '%s' has the unknown handing %d", port_kind,
                          in->name, (int)in->handing);
    if (in->shapes & ~GROVE_ANY_SHAPE)
        return fail_class(class_name, error,
                          "%s '%s' accepts the unknown shapes %d; they are GROVE_SCALAR, "
                          "GROVE_DIAGONAL, GROVE_MATRIX, GROVE_VECTOR or several of them",
                          port_kind, in->name, in->shapes);
    if (in->vector < 0 || in->vector > GROVE_MAX_VECTOR)
        return fail_class(class_name, error,
                          "%s '%s' must be a vector of %d; a vector has 1 to %d elements",
                          port_kind, in->name, in->vector, (int)GROVE_MAX_VECTOR);
    if ((int)in->linear < GROVE_NOT_LINEAR || in->linear > GROVE_SELECTOR)
        return fail_class(class_name, error, "%s '%s' has the unknown kind of linearity %d",
                          port_kind, in->name, (int)in->linear);
    if (in->group < 0 || in->group > GROVE_MAX_INPUTS || (in->group && !in->linear))
        return fail_class(class_name, error, "%s '%s' is in group %d, %s", port_kind, in->name,
                          in->group, in->linear ? "which does not exist" : "but is not linear");
    return 0;
}

static int check_input(const char *class_name, const grove_port *in, grove_error *error)
{
    if (in->kind < GROVE_VALUE)
        return fail_class(class_name, error, "input '%s' is a constant; make it an option",
                          in->name);
    if (in->initial)
        return fail_class(class_name, error, "input '%s' has a default; make it an option",
                          in->name);
    if (in->kind == GROVE_OBJECT && !name_is_good(in->object))
        return fail_class(
            class_name, error,
            "input '%s' does not name its kind of object, such as .object = \"observation\"",
            in->name);
    if (in->kind != GROVE_OBJECT && in->optional)
        return fail_class(class_name, error,
                          "input '%s' is not an object; only objects may be optional", in->name);
    if (in->implied && !in->optional)
        return fail_class(class_name, error, "input '%s' is implied, but not optional", in->name);
    return 0;
}

static int check_option(const char *class_name, const grove_port *op, grove_error *error)
{
    if (op->kind == GROVE_CHOICE && !op->choices)
        return fail_class(class_name, error, "option '%s' has no choices", op->name);
    if (op->kind == GROVE_OBJECT)
        return fail_class(class_name, error, "option '%s' is an object; make it an input",
                          op->name);
    if (op->optional || op->implied)
        return fail_class(
            class_name, error,
            "option '%s' is .optional or .implied, which objects may be; an option is "
            "optional with .initial = \"none\"",
            op->name);
    return 0;
}

static int check_port(const grove_class *class_, const grove_port *port, bool option,
                      grove_error *error)
{
    const char *name = class_->name, *port_kind = option ? "option" : "input";
    int code = 0;

    if (!name_is_good(port->name))
        return fail_class(name, error, "%s '%s' is not a lower-case name", port_kind, port->name);
    if (!port->doc || !port->doc[0])
        return fail_class(name, error, "%s '%s' has no text", port_kind, port->name);
    if (!((port->kind >= GROVE_BOOL && port->kind <= GROVE_PARM_NAMES) ||
          (port->kind >= GROVE_VALUE && port->kind <= GROVE_VALUE_SPEED) ||
          port->kind == GROVE_OBJECT))
        return fail_class(name, error, "%s '%s' has the unknown kind %d", port_kind, port->name,
                          (int)port->kind);
    if (grove_port_named(class_, port->name) != port)
        return fail_class(name, error, "two of its inputs and options are named '%s'", port->name);
    if (grove_kind_is_value(port->kind))
        code = check_values(name, port_kind, port, error);
    if (code)
        return code;
    return option ? check_option(name, port, error) : check_input(name, port, error);
}

static int check_ports(const grove_class *class_, grove_error *error)
{
    int values = 0, count = 0, inputs = 0, code = 0;

    while (class_->inputs && class_->inputs[inputs].name)
        inputs++;
    for (const grove_port *port = NULL; !code && (port = grove_port_next(class_, port));) {
        code = check_port(class_, port, count++ >= inputs, error);
        values += grove_kind_is_value(port->kind);
    }
    if (!code && count >= GROVE_MAX_PORTS)
        code =
            fail_class(class_->name, error, "more than %d inputs and options", GROVE_MAX_PORTS - 1);
    if (!code && values > GROVE_MAX_INPUTS)
        code = fail_class(class_->name, error, "%d value inputs, at most %d", values,
                          (int)GROVE_MAX_INPUTS);
    return code;
}

const grove_port *grove_port_next(const grove_class *class_, const grove_port *port)
{
    const grove_port *next = port ? port + 1 : class_->inputs, *last = class_->inputs;

    if (next && next->name)
        return next;
    while (last && last->name)
        last++;
    next = next == last ? class_->options : NULL;
    return next && next->name ? next : NULL;
}

const grove_port *grove_port_named(const grove_class *class_, const char *name)
{
    const grove_port *port = NULL;

    while ((port = grove_port_next(class_, port)) && strcmp(port->name, name) != 0)
        ;
    return port;
}

const grove_port *grove_port_of_value(const grove_class *class_, int k)
{
    static const grove_port undeclared = {.kind = GROVE_VALUE, .shapes = GROVE_ANY_SHAPE};

    for (const grove_port *port = NULL; (port = grove_port_next(class_, port));)
        if (grove_kind_is_value(port->kind) && !k--)
            return port;
    return &undeclared;
}

/* ---- rules of derivatives ---- */

static bool is_value_named(const grove_class *class_, const char *name, size_t length)
{
    for (const grove_port *port = NULL; (port = grove_port_next(class_, port));)
        if (grove_kind_is_value(port->kind) && strlen(port->name) == length &&
            !strncmp(port->name, name, length))
            return true;
    return false;
}

/* `value`, and dINPUT of another input. */
static bool is_of_rules(const grove_class *class_, const char *name)
{
    return !strcmp(name, "value") ||
           (name[0] == 'd' && is_value_named(class_, name + 1, strlen(name) - 1));
}

bool grove_tangent_fault(const grove_class *class_, const char *rules,
                         char fault[GROVE_FAULT_BYTES])
{
    const char *taken = NULL;

    for (const grove_port *port = NULL; (port = grove_port_next(class_, port));)
        taken = is_of_rules(class_, port->name) ? port->name : taken;
    fault[0] = 0;
    if (taken)
        snprintf(fault, GROVE_FAULT_BYTES,
                 "input or option '%.60s' has a name with another meaning in rules of derivatives",
                 taken);
    for (const char *at = rules; !taken && at;) {
        size_t whole = strcspn(at, ";"), blank = strspn(at, " \n"),
               name = strcspn(at + blank, ":;");
        if (at[blank + name] != ':' || !is_value_named(class_, at + blank, name)) {
            snprintf(fault, GROVE_FAULT_BYTES,
                     "rule of derivatives '%.*s' is not for one of its values; a rule is 'INPUT: "
                     "expression', with ';' between rules",
                     whole < 40 ? (int)whole : 40, at);
            return true;
        }
        at = at[whole] ? at + whole + 1 : NULL;
    }
    return taken;
}

/* ---- kinds of classes, and the functions that they must have ---- */

static int check_kind(const grove_class *class_, grove_error *error)
{
    const char *name = class_->name;

    if ((int)class_->kind < GROVE_CLASS_VALUE || class_->kind > GROVE_CLASS_ACCUMULATOR)
        return fail_class(name, error, "has the unknown kind %d", (int)class_->kind);
    if ((int)class_->flag_rule < GROVE_FLAGS_ELEMENT || class_->flag_rule > GROVE_FLAGS_TRANSPOSE)
        return fail_class(name, error, "has the unknown flag rule %d", (int)class_->flag_rule);
    if ((int)class_->role < GROVE_ROLE_NONE || class_->role > GROVE_ROLE_MATRIX)
        return fail_class(name, error, "has the unknown role %d", (int)class_->role);
    if ((int)class_->reduce < GROVE_REDUCE_NONE || class_->reduce > GROVE_REDUCE_MAX)
        return fail_class(name, error, "has the unknown reduction %d", (int)class_->reduce);
    if ((class_->kind == GROVE_CLASS_REDUCTION) != (class_->reduce != GROVE_REDUCE_NONE))
        return fail_class(name, error,
                          ".reduce is for classes of the kind GROVE_CLASS_REDUCTION, "
                          "which must have it");
    if ((class_->kind == GROVE_CLASS_DATA) != (class_->object != NULL))
        return fail_class(name, error,
                          ".object is for classes of the kind GROVE_CLASS_DATA, which "
                          "must have it");
    if (class_->object && !name_is_good(class_->object))
        return fail_class(name, error, "its kind of object '%s' is not a lower-case name",
                          class_->object);
    if (class_->role == GROVE_ROLE_SOURCE && !class_->fused)
        return fail_class(name, error,
                          ".fused is missing; a class with the role of a source must have it");
    if (class_->fused && class_->role != GROVE_ROLE_SOURCE && class_->role != GROVE_ROLE_NONE)
        return fail_class(
            name, error,
            ".fused is for classes with the role of a source, and for phases, which have "
            "no role");
    if (class_->expression && class_->kind != GROVE_CLASS_DATA &&
        class_->kind != GROVE_CLASS_VALUE && class_->kind != GROVE_CLASS_ACCUMULATOR)
        return fail_class(name, error,
                          ".expression is for classes of the kinds GROVE_CLASS_DATA, "
                          "GROVE_CLASS_VALUE and GROVE_CLASS_ACCUMULATOR");
    return 0;
}

static int count_values(const grove_class *class_)
{
    int count = 0;

    for (const grove_port *in = class_->inputs; in && in->name; in++)
        count += grove_kind_is_value(in->kind);
    return count;
}

/* A class has the table of functions of its kind, and no other. */
static int check_tables(const grove_class *class_, grove_error *error)
{
    const struct {
        const char *name, *kind;
        grove_class_kind number;
        bool given;
    } tables[] = {
        {"data", "DATA", GROVE_CLASS_DATA, class_->data != NULL},
        {"action", "ACTION", GROVE_CLASS_ACTION, class_->action != NULL},
        {"accumulator", "ACCUMULATOR", GROVE_CLASS_ACCUMULATOR, class_->accumulator != NULL},
    };

    for (int i = 0; i < 3; i++)
        if (tables[i].given != (class_->kind == tables[i].number))
            return fail_class(class_->name, error,
                              ".%s is for classes of the kind GROVE_CLASS_%s, which must have it",
                              tables[i].name, tables[i].kind);
    if (class_->data && !class_->data->open)
        return fail_class(class_->name, error, ".data has no open");
    if (class_->action && !class_->action->write == !class_->action->drive)
        return fail_class(class_->name, error, ".action must have a write or a drive, not both");
    return 0;
}

static int check_accumulator(const grove_class *class_, grove_error *error)
{
    const grove_accumulator_functions *f = class_->accumulator;

    if (!f)
        return 0;
    const char *missing = !f->create                           ? "create"
                          : !f->add                            ? "add"
                          : !f->finish                         ? "finish"
                          : !f->free                           ? "free"
                          : f->device_merge && !f->device_add  ? "device_add"
                          : f->device_add && !f->device_merge  ? "device_merge"
                          : f->device_finish && !f->device_add ? "device_add"
                                                               : NULL;
    if (missing)
        return fail_class(class_->name, error, ".accumulator has no %s", missing);
    if (!class_->check) /* it sets the bytes of the state */
        return fail_class(class_->name, error, "its check is missing");
    if (f->walk && f->merge)
        return fail_class(class_->name, error,
                          ".accumulator has a walk, which is for those without merge");
    if (class_->kernel || class_->eval || class_->device)
        return fail_class(class_->name, error,
                          "it has a kernel, eval or device, which an accumulator must not have");
    return 0;
}

static int check_functions(const grove_class *class_, grove_error *error)
{
    static const int operands[GROVE_ROLE_MATRIX + 1] = {0, 2, 2, 1, 2, 2, 1, 1, 1, 1,
                                                        0, 0, 1, 1, 1, 1, 2, 1, 2, 4};
    char fault[GROVE_FAULT_BYTES];
    int values = count_values(class_), required = operands[class_->role];

    if (class_->kind == GROVE_CLASS_VALUE && !class_->kernel && !grove_class_takes_arrays(class_) &&
        !class_->check)
        return fail_class(class_->name, error, "its kernel, eval or device is missing");
    if (class_->kernel && class_->device)
        return fail_class(class_->name, error,
                          "it has a kernel and a device; a device launches its kernels itself");
    if (class_->stop && !class_->start)
        return fail_class(class_->name, error, "it has a stop, but no start");
    if ((class_->kind == GROVE_CLASS_REDUCTION || class_->kind == GROVE_CLASS_SELECTION) &&
        values != 1)
        return fail_class(class_->name, error, "it has %d inputs with values; a %s has one", values,
                          class_->kind == GROVE_CLASS_SELECTION ? "selection" : "reduction");
    if (required && values != required)
        return fail_class(class_->name, error, "it has %d inputs with values; its role requires %d",
                          values, required);
    if (class_->kernel && grove_kernel_fault(class_->kernel, fault))
        return fail_class(class_->name, error, "its kernel %s", fault);
    if (class_->tangent && grove_tangent_fault(class_, class_->tangent, fault))
        return fail_class(class_->name, error, "its %s", fault);
    if (class_->output && class_->output->shape && grove_form_fault(class_->output, fault))
        return fail_class(class_->name, error, "its output %s", fault);
    return 0;
}

bool grove_kernel_fault(const grove_kernel *kernel, char fault[GROVE_FAULT_BYTES])
{
    const char *missing = !kernel->single_precision   ? "single"
                          : !kernel->double_precision ? "double"
                                                      : NULL;

    if (!kernel->name)
        snprintf(fault, GROVE_FAULT_BYTES, "has no name; GROVE_KERNEL gives one");
    else if (missing)
        snprintf(fault, GROVE_FAULT_BYTES, "'%.60s' has no function for %s precision", kernel->name,
                 missing);
    return !kernel->name || missing;
}

bool grove_form_fault(const grove_form *form, char fault[GROVE_FAULT_BYTES])
{
    fault[0] = 0;
    if (form->shape != GROVE_SCALAR && form->shape != GROVE_DIAGONAL &&
        form->shape != GROVE_MATRIX && form->shape != GROVE_VECTOR)
        snprintf(fault, GROVE_FAULT_BYTES, "has the unknown shape %d", form->shape);
    else if (form->shape == GROVE_VECTOR && (form->vector < 1 || form->vector > GROVE_MAX_VECTOR))
        snprintf(fault, GROVE_FAULT_BYTES, "is a vector of %d; a vector has 1 to %d elements",
                 form->vector, (int)GROVE_MAX_VECTOR);
    else if ((int)form->precision < GROVE_PRECISION_RUN || form->precision > GROVE_PRECISION_SINGLE)
        snprintf(fault, GROVE_FAULT_BYTES, "has the unknown precision %d", (int)form->precision);
    return fault[0] != 0;
}

static int check_class(const grove_class *class_, const char *name, grove_error *error)
{
    int code;

    if (!grove_equal(class_->name, name))
        return fail_class(name, error, "its descriptor is named '%s'",
                          class_->name ? class_->name : "");
    if (!name_is_good(name))
        return fail_class(name, error, "not a lower-case name");
    if (!class_->doc || !class_->doc[0])
        return fail_class(name, error, "has no text");
    if ((code = check_ports(class_, error)) || (code = check_kind(class_, error)) ||
        (code = check_tables(class_, error)) || (code = check_accumulator(class_, error)) ||
        (code = check_functions(class_, error)))
        return code;
    return 0;
}

grove_class *grove_class_new(const grove_class *descriptor, const char *name, grove_error *error)
{
    if (check_version(descriptor, name, error) || check_sizes(descriptor, name, error) ||
        check_class(descriptor, name, error))
        return NULL;
    return grove_copy(descriptor, sizeof(*descriptor));
}
