/* Members of random_set and random_sky: constant ones, and those read block by block. */
#ifndef GROVE_TESTS_PLUGINS_RANDOM_MEMBERS_H
#define GROVE_TESTS_PLUGINS_RANDOM_MEMBERS_H

#include "plugin.h"
#include "tests/core/random-tree-data.h"

#include <stdlib.h>
#include <string.h>

static inline void members_put(void *data, bool single, int64_t number, double x)
{
    if (single)
        ((float *)data)[number] = (float)x;
    else
        ((double *)data)[number] = x;
}

/* Sizes of the named axes; 1 for axes that the member lacks. */
static inline int members_axes(const grove_node *node, const char *axes, int64_t size[3])
{
    char names[64], *rest = names;
    int count = 0;

    size[0] = size[1] = size[2] = 1;
    strncpy(names, axes, sizeof(names) - 1);
    names[sizeof(names) - 1] = 0;
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        size[count++] = grove_node_axis(node, name)->size;
    return count;
}

static inline int members_add(grove_node *node, int64_t seed, const random_member *members,
                              int count)
{
    int code = 0;

    for (int m = 0; m < count && !code; m++) {
        int elements = members[m].elements, parts = members[m].complex_ ? 2 : 1;
        grove_form form = {.shape = members[m].shape,
                           .vector = members[m].shape == GROVE_VECTOR ? elements : 0,
                           .complex_ = members[m].complex_,
                           .flags = members[m].flags,
                           .precision = members[m].single ? GROVE_PRECISION_SINGLE
                                        : members[m].read ? GROVE_PRECISION_RUN
                                                          : GROVE_PRECISION_DOUBLE};
        int64_t size[3], n = 0;
        members_axes(node, members[m].axes, size);
        double *x = calloc((size_t)(size[0] * size[1] * size[2] * 8) + 1, sizeof(*x));
        for (int64_t i = 0; i < size[0] * size[1] * size[2] && !members[m].read; i++) {
            const int64_t cell[3] = {i / size[2] / size[1], i / size[2] % size[1], i % size[2]};
            for (int e = 0; e < elements; e++)
                for (int k = 0; k < parts; k++)
                    x[n++] = random_number(seed, m, cell, e, k);
        }
        code = grove_node_add_member(node, members[m].name, members[m].axes, &form,
                                     members[m].read ? NULL : x, "numbers");
        free(x);
    }
    return code;
}

static inline void members_read(int64_t seed, int flagging, const random_member *members,
                                const char *name, grove_array *out)
{
    int m = 0, parts = out->form->complex_ ? 2 : 1;
    int64_t n = 0;

    while (strcmp(members[m].name, name) != 0)
        m++;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t cell[3] = {0}, rest = i;
        for (int d = out->axes - 1; d >= 0; d--) {
            cell[d] = out->range[d].first + rest % out->range[d].count;
            rest /= out->range[d].count;
        }
        if (out->flags)
            out->flags[i] = 0;
        for (int e = 0; e < out->elements; e++) {
            bool bad = members[m].flags && random_flagged(seed, flagging, m, cell, out->axes, e);
            for (int k = 0; k < parts; k++)
                members_put(out->data, out->form->precision != GROVE_PRECISION_DOUBLE, n++,
                            bad ? NAN : random_number(seed, m, cell, e, k));
            if (bad && out->flags)
                out->flags[i] |= (unsigned char)(1 << e);
        }
    }
}

#endif
