#include "mutant.h"

#include "plan/facts.h"

#include <stdlib.h>
#include <string.h>

static grove_class original;
static const char *only_member; /* NULL: all */

static void zero_cells(const grove_args *args, int64_t first, int64_t last)
{
    size_t bytes =
        (size_t)args->out.elements * (size_t)args->out.bytes * (args->out.complex_ ? 2 : 1);

    for (int64_t cell = first; cell < last; cell++) {
        int64_t index[GROVE_MAX_AXES], rest = cell;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        memset(grove_view_at(&args->out, index, args->axes), 0, bytes);
    }
}

static const grove_kernel zero = {"zero", zero_cells, zero_cells};

static int zero_kernel(grove_node *node)
{
    int code = original.check ? original.check(node) : 0;

    grove_node_set_kernel(node, &zero);
    return code;
}

static int zero_eval(const grove_call *call)
{
    grove_args args = *call->args;

    for (int d = 0; d < args.axes; d++) /* axes that the result has not */
        args.size[d] = args.out.stride[d] ? args.size[d] : 1;
    zero_cells(&args, 0, grove_args_cells(&args));
    return 0;
}

static size_t bytes_of(const grove_form *form, int64_t cells)
{
    int elements = grove_form_elements(form);
    size_t number = form->precision == GROVE_PRECISION_SINGLE ? 4 : 8;

    return (size_t)cells * (size_t)elements * number * (form->complex_ ? 2 : 1);
}

static int zero_open(grove_node *node)
{
    int code = original.data->open(node);

    for (size_t i = 0; i < node->member_count; i++) {
        const grove_member *member = &node->members[i];
        int64_t cells = 1;
        for (int d = 0; d < member->axis_count; d++)
            cells *= member->axes[d]->size;
        if (member->data && (!only_member || !strcmp(only_member, member->name)))
            memset((void *)(uintptr_t)member->data, 0, bytes_of(&member->form, cells));
    }
    return code;
}

static int zero_read(const grove_call *call, const char *member, grove_array *out)
{
    int code = original.data->read(call, member, out);

    if (!only_member || !strcmp(only_member, member))
        memset(out->data, 0, bytes_of(out->form, out->cells));
    return code;
}

static int zero_finish(const grove_call *call, void *state, grove_array *out)
{
    int code = original.accumulator->finish(call, state, out);

    memset(out->data, 0, bytes_of(out->form, out->cells));
    return code;
}

static int zero_write(const grove_call *call, const grove_array *const *inputs, int count)
{
    const grove_array *arrays[GROVE_MAX_INPUTS];
    void *zeros = calloc(1, bytes_of(inputs[0]->form, inputs[0]->cells) + 1);
    grove_array first = *inputs[0];

    memcpy(arrays, inputs, (size_t)count * sizeof(*inputs));
    arrays[0] = &first;
    first.data = zeros;
    int code = original.action->write(call, arrays, count);
    free(zeros);
    return code;
}

/* Nothing is fitted. */
static int no_drive(const grove_call *call, const grove_array *const *inputs, int count,
                    bool *again)
{
    (void)call, (void)inputs, (void)count;
    *again = false;
    return 0;
}

static const grove_data_functions *zero_leaf(void)
{
    static grove_data_functions functions;

    functions = (grove_data_functions){zero_open, original.data->read ? zero_read : NULL};
    return &functions;
}

static const grove_action_functions *no_action(void)
{
    static grove_action_functions functions;

    functions = *original.action;
    if (functions.drive)
        functions.drive = no_drive;
    else
        functions.write = zero_write;
    return &functions;
}

static const grove_accumulator_functions *zero_accumulator(void)
{
    static grove_accumulator_functions functions;

    functions = *original.accumulator;
    functions.finish = zero_finish;
    return &functions;
}

static int select_first(grove_node *node)
{
    int code = original.check ? original.check(node) : 0;

    node->select_first = 0;
    if (node->select_element > 0)
        node->select_element = 0;
    return code;
}

int mutant_begin(grove_classes *classes, grove_error *error)
{
    const char *wanted = getenv("GROVE_MUTANT");
    char name[64] = "";

    if (!wanted)
        return 0;
    size_t length = strcspn(wanted, ".");
    if (length < sizeof(name))
        memcpy(name, wanted, length);
    only_member = wanted[length] ? wanted + length + 1 : NULL;
    const grove_class *found = grove_classes_find(classes, name, error);
    if (!found)
        return grove_fail(error, GROVE_MISSING, "GROVE_MUTANT: no class '%s'", name);
    original = *found;
    grove_class mutant = original;
    if (original.kind == GROVE_CLASS_REDUCTION)
        mutant.reduce = original.reduce == GROVE_REDUCE_SUM ? GROVE_REDUCE_MIN : GROVE_REDUCE_SUM;
    else if (original.kind == GROVE_CLASS_SELECTION)
        mutant.check = select_first;
    else if (original.data)
        mutant.data = zero_leaf();
    else if (original.action)
        mutant.action = no_action();
    else if (original.accumulator)
        mutant.accumulator = zero_accumulator();
    else if (original.eval)
        mutant.eval = zero_eval;
    else
        mutant.check = zero_kernel;
    return grove_classes_add(classes, &mutant, error);
}
