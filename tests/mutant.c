/* A class whose result is replaced by zeros: compiled with -DMUTANT=NAME into NAME.so, it wraps the
 * real module, whose path is in GROVE_MUTANT_OF. A value test that still passes with it tests
 * nothing. */
#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b)  a##b
#define JOIN(a, b)   JOIN_(a, b)
#define QUOTE_(text) #text
#define QUOTE(text)  QUOTE_(text)
#define DESCRIPTOR   JOIN(grove_class_, MUTANT)

extern grove_class DESCRIPTOR;
grove_class DESCRIPTOR;

static const grove_class *original;

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

static const grove_kernel zero = {QUOTE(MUTANT), zero_cells, zero_cells};

static int zero_eval(const grove_call *call)
{
    zero_cells(call->args, 0, grove_args_cells(call->args));
    return 0;
}

static int zero_read(grove_node *node, const char *member, grove_array *out)
{
    int code = original->read(node, member, out);

    memset(out->data, 0,
           (size_t)out->cells * (size_t)out->elements * (out->form.complex_ ? 2 : 1) *
               (out->form.precision == GROVE_PRECISION_DOUBLE ? 8 : 4));
    return code;
}

static int zero_write(grove_node *node, const grove_array *inputs, int count)
{
    grove_array *copy = malloc((size_t)count * sizeof(*copy));
    size_t bytes = (size_t)inputs[0].cells * (size_t)inputs[0].elements *
                   (inputs[0].form.complex_ ? 2 : 1) *
                   (inputs[0].form.precision == GROVE_PRECISION_DOUBLE ? 8 : 4);
    void *zeros = calloc(1, bytes ? bytes : 1);

    memcpy(copy, inputs, (size_t)count * sizeof(*copy));
    copy[0].data = zeros;
    int code = original->write(node, copy, count);
    free(zeros);
    free(copy);
    return code;
}

static int check(grove_node *node)
{
    int code = original->check ? original->check(node) : 0;

    if (!original->eval || original->kernel)
        grove_node_set_kernel(node, &zero);
    return code;
}

__attribute__((constructor)) static void wrap(void)
{
    const char *path = getenv("GROVE_MUTANT_OF");
    void *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    original = module ? dlsym(module, QUOTE(DESCRIPTOR)) : NULL;
    if (!original) {
        fprintf(stderr, "mutant: no %s in %s\n", QUOTE(DESCRIPTOR),
                path ? path : "GROVE_MUTANT_OF");
        return; /* the empty descriptor will not load */
    }
    DESCRIPTOR = *original;
    if (original->reduce)
        DESCRIPTOR.reduce =
            original->reduce == GROVE_REDUCE_SUM ? GROVE_REDUCE_MIN : GROVE_REDUCE_SUM;
    else if (original->eval)
        DESCRIPTOR.eval = zero_eval;
    else if (original->write)
        DESCRIPTOR.write = zero_write;
    else if (original->read)
        DESCRIPTOR.read = zero_read;
    else if (!(original->flags & GROVE_CLASS_SELECT))
        DESCRIPTOR.check = check;
}
