/* Correct: built when inputs and options ended before `shapes`, kernels before `threads`. */
#include "plain.h"

typedef struct {
    const char *name;
    grove_kind kind;
    const char *doc;
    grove_handing handing;
} old_input;

typedef struct {
    const char *name;
    grove_kind kind;
    const char *initial, *doc, *choices;
    grove_handing handing;
} old_option;

typedef struct {
    const char *name;
    grove_cells_fn single_precision, double_precision;
    const char *source;
} old_kernel;

static const old_input inputs[] = {
    {"x", GROVE_VALUE_NUMBER, "any number", GROVE_AS_REAL},
    {0},
};

static const old_option options[] = {
    {"factor", GROVE_NUMBER, "2", "not used", NULL, GROVE_AS_GIVEN},
    {"shift", GROVE_VALUE_NUMBER, "none", "not used", NULL, GROVE_AS_REAL},
    {0},
};

static const old_kernel kernel = {"plain", plain_cells, plain_cells, NULL};

GROVE_CLASS(short_lists) = {
    .abi_major = GROVE_ABI_MAJOR,
    .abi_minor = GROVE_ABI_MINOR,
    .struct_size = sizeof(grove_class),
    .input_size = sizeof(old_input),
    .option_size = sizeof(old_option),
    .form_size = sizeof(grove_form),
    .axis_size = sizeof(grove_axis),
    .kernel_size = sizeof(old_kernel),
    .name = "short_lists",
    PLAIN_TEXTS,
    .inputs = (const grove_input *)(const void *)inputs,
    .options = (const grove_option *)(const void *)options,
    .kernel = (const grove_kernel *)(const void *)&kernel,
};
