/* Checks of data leaves: members read in any blocks, with nothing written outside. */
#include "conformance/conformance.h"

#include "base/text.h"
#include "plan/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096, FILL = 0xff };

static size_t cell_bytes(const grove_form *form)
{
    return (form->precision == GROVE_PRECISION_SINGLE ? 4 : 8) * (form->complex_ ? 2U : 1U) *
           (size_t)grove_form_elements(form);
}

/* Memory with guard bytes on both sides; returns the address between them. */
static unsigned char *guarded(size_t bytes)
{
    unsigned char *base = malloc(bytes + 2 * GUARD);

    if (base)
        memset(base, FILL, bytes + 2 * GUARD);
    return base ? base + GUARD : NULL;
}

static bool is_intact(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; at && i < GUARD; i++)
        if (at[bytes + i] != FILL || at[-1 - (ptrdiff_t)i] != FILL)
            return false;
    return true;
}

static void release(grove_array *block)
{
    if (block->data)
        free((unsigned char *)block->data - GUARD);
    if (block->flags)
        free(block->flags - GUARD);
}

/* A leaf, and its state from the class's start. */
typedef struct {
    const grove_node *node;
    void *run;
} leaf_run;

/* Reads a block of a member, with its flags. */
static bool read_block(grove_conformance *c, const leaf_run *leaf, const grove_member *member,
                       const int64_t *first, const int64_t *count, grove_array *block)
{
    size_t bytes = cell_bytes(&member->form);

    *block = (grove_array){.axes = member->axis_count, .cells = 1, .form = &member->form};
    for (int d = 0; d < block->axes; d++) {
        block->range[d] = (grove_range){member->axes[d], first[d], count[d]};
        block->cells *= count[d];
    }
    block->elements = grove_form_elements(&member->form);
    block->data = guarded((size_t)block->cells * bytes);
    if (member->form.flags)
        block->flags = guarded((size_t)block->cells);
    const grove_call call = {.node = leaf->node, .run = leaf->run};
    int code = c->class_->data->read(&call, member->name, block);
    if (!grove_conformance_done(c, code, member->name))
        return false;
    if (is_intact(block->data, (size_t)block->cells * bytes) &&
        is_intact(block->flags, (size_t)block->cells))
        return true;
    grove_conformance_fail(c, "%s: .read writes outside the block that it is given", member->name);
    return false;
}

static void check_part(grove_conformance *c, const leaf_run *leaf, const grove_member *member,
                       const grove_array *whole, const int64_t *first, const int64_t *count)
{
    size_t bytes = cell_bytes(&member->form);
    grove_array part;
    bool good = read_block(c, leaf, member, first, count, &part);

    for (int64_t i = 0; i < part.cells && good; i++) {
        int64_t at = 0, step = 1, rest = i;
        for (int d = part.axes - 1; d >= 0; d--) {
            at += (first[d] + rest % count[d]) * step;
            step *= member->axes[d]->size;
            rest /= count[d];
        }
        good = !memcmp((char *)part.data + (size_t)i * bytes,
                       (char *)whole->data + (size_t)at * bytes, bytes) &&
               (!part.flags || part.flags[i] == whole->flags[at]);
        if (good)
            continue;
        grove_text text = {0};
        for (int d = 0; d < part.axes; d++)
            grove_text_add(&text, " %s %lld to %lld", member->axes[d]->name, (long long)first[d],
                           (long long)(first[d] + count[d] - 1));
        grove_conformance_fail(c, "%s: the block%s differs from that part of the whole",
                               member->name, text.at);
        free(text.at);
    }
    release(&part);
}

static bool is_finite(grove_conformance *c, const grove_member *member, const grove_array *whole)
{
    int64_t count = whole->cells * whole->elements * (member->form.complex_ ? 2 : 1);
    bool single = member->form.precision == GROVE_PRECISION_SINGLE;

    for (int64_t i = 0; i < count; i++) {
        if (isfinite(single ? (double)((float *)whole->data)[i] : ((double *)whole->data)[i]))
            continue;
        grove_conformance_fail(c, "%s: number %lld of %lld was not written, or is not finite",
                               member->name, (long long)i, (long long)count);
        return false;
    }
    return true;
}

static void check_blocks(grove_conformance *c, const leaf_run *leaf, const grove_member *member)
{
    int64_t first[GROVE_MAX_AXES] = {0}, count[GROVE_MAX_AXES] = {0};
    grove_array whole;

    for (int d = 0; d < member->axis_count; d++)
        count[d] = member->axes[d]->size;
    bool good = read_block(c, leaf, member, first, count, &whole) && is_finite(c, member, &whole);
    if (good)
        check_part(c, leaf, member, &whole, first, count);
    for (int d = 0; d < member->axis_count && good; d++) {
        int64_t size = member->axes[d]->size, at[] = {0, size / 2, size - 1};
        for (int i = 0; i < 3 && size > 0; i++) {
            first[d] = at[i];
            count[d] = 1;
            check_part(c, leaf, member, &whole, first, count);
        }
        first[d] = size / 3;
        count[d] = (size + 1) / 2;
        check_part(c, leaf, member, &whole, first, count);
        first[d] = 0;
        count[d] = size;
    }
    release(&whole);
}

static void check_member(grove_conformance *c, const leaf_run *leaf, const grove_member *member)
{
    if (!member->doc || !*member->doc)
        grove_conformance_fail(c, "member %s has no text", member->name);
    if (member->data)
        return;
    if (c->class_->data->read)
        check_blocks(c, leaf, member);
    else
        grove_conformance_fail(c, "member %s has no data, and the class no .read", member->name);
}

static void check_leaf(grove_conformance *c, const grove_node *node)
{
    leaf_run leaf = {node, NULL};
    int code = c->class_->start ? c->class_->start(node, &leaf.run) : 0;

    if (!grove_conformance_done(c, code, node->name))
        return;
    if (!node->member_count)
        grove_conformance_fail(c, "%s: has no members; grove_node_add_member adds them",
                               node->name);
    for (size_t i = 0; i < node->member_count; i++)
        check_member(c, &leaf, &node->members[i]);
    if (c->class_->stop)
        c->class_->stop(node, leaf.run);
}

void grove_conformance_members(grove_conformance *c)
{
    if (!grove_class_is_data(c->class_))
        return;
    c->made = true;
    if (!grove_conformance_done(c, grove_fixture_take(c->fixture, c->class_, NULL), "tree"))
        return;
    for (int n = 0; n < c->fixture->node_count; n++)
        check_leaf(c, c->fixture->nodes[n]);
}
