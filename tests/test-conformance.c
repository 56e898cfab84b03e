/* What every node class is held to, whichever classes there are: texts, defaults, an example that
 * works; one cell does not know of the others, nor of axes that it does not have; the same twice;
 * single precision near double; flags that cover what an element spoils. */
#include "example.h"
#include "flag-rule.h"

#include "base/file.h"
#include "base/text.h"
#include "run/session.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative difference of single precision from double, of the norm: numerics says 1e-5. */
#define SINGLE_TOLERANCE 1e-5

enum { MOST_NODES = 64, MOST_CLASSES = 1024 };

static testing t;
static const grove_class *class_;
static grove_node *nodes[MOST_NODES];
static int node_count;

static void setup(void)
{
    example_begin(&t);
}

static void teardown(void)
{
    example_end(&t);
}

static bool computes(void)
{
    return class_->kind == GROVE_CLASS_VALUE;
}

/* Class number i, with its example. */
static void take(int i)
{
    class_ = example_class(&t, example_classes(&t, NULL)[i]);
    example_tree(&t, class_, NULL);
    node_count = example_nodes(&t, class_, nodes, MOST_NODES);
    ck_assert_msg(node_count > 0, "class %s: its example '%s' does without it", class_->name,
                  class_->example);
}

/* Word `number` of all those that the class's options choose from, as "option=word". */
static bool word_number(int number, char *setting, size_t bytes)
{
    for (const grove_option *op = class_->options; op && op->name; op++)
        for (const char *at = op->kind == GROVE_CHOICE ? op->choices : ""; *at;) {
            size_t length = strcspn(at, " ");
            if (!number--) {
                snprintf(setting, bytes, "%s=%.*s", op->name, (int)length, at);
                return true;
            }
            at += length + strspn(at + length, " ");
        }
    return false;
}

/* Class number i: first its example, then a call with each word that it knows, as far as that can
 * be built. False: that was all. */
static bool take_next(int i, int *number)
{
    char setting[128];

    if (!*number) {
        ++*number;
        take(i);
        return computes();
    }
    while (word_number(*number - 1, setting, sizeof(setting))) {
        ++*number;
        char *call = example_call(class_, "again", setting);
        bool built = example_try(&t, call);
        free(call);
        node_count = built ? example_nodes(&t, class_, nodes, MOST_NODES) : 0;
        if (node_count)
            return true;
    }
    return false;
}

/* ---- texts and defaults ---- */

static bool is_sentence(const char *text)
{
    return text && strlen(text) > 2 && text[0] != ' ' && text[strlen(text) - 1] != '\n';
}

START_TEST(texts_are_there)
{
    take(_i);
    ck_assert_msg(is_sentence(class_->doc) && strchr(class_->doc, '.'), "%s: doc", class_->name);
    ck_assert_msg(is_sentence(class_->output_doc), "%s: output_doc", class_->name);
    ck_assert_msg(is_sentence(class_->group), "%s: group", class_->name);
    for (const grove_input *in = class_->inputs; in && in->name; in++)
        ck_assert_msg(is_sentence(in->doc), "%s: input %s", class_->name, in->name);
    for (const grove_option *op = class_->options; op && op->name; op++)
        ck_assert_msg(is_sentence(op->doc), "%s: option %s", class_->name, op->name);
    char *page = grove_class_describe(class_), *markdown = grove_class_markdown(class_);
    for (const grove_option *op = class_->options; op && op->name; op++)
        ck_assert_msg(strstr(page, op->name) && strstr(markdown, op->name), "%s: page without %s",
                      class_->name, op->name);
    free(page);
    free(markdown);
}
END_TEST

static bool is_word_of(const char *choices, const char *word)
{
    const char *at = strstr(choices, word);
    size_t length = strlen(word);

    return at && (at == choices || at[-1] == ' ') && (at[length] == ' ' || !at[length]);
}

/* Written where a user would write it, the default is what its option wants. */
static void check_default(const grove_option *op)
{
    grove_text more = {0};

    if (!op->initial || !strcmp(op->initial, "none"))
        return;
    if (op->kind == GROVE_CHOICE) {
        ck_assert_msg(is_word_of(op->choices, op->initial), "%s: option %s: '%s' is no choice",
                      class_->name, op->name, op->initial);
        return;
    }
    for (const grove_input *in = class_->inputs; in && in->name; in++)
        if (in->kind == GROVE_OBJECT && strcmp(in->name, example_object(in)) != 0)
            grove_text_add(&more, "%s = %s\n", in->name, example_object(in));
    grove_text_add(&more, "the_default = %s\n", op->initial);
    example_tree(&t, class_, more.at);
    free(more.at);
}

START_TEST(defaults_are_good)
{
    take(_i);
    for (const grove_option *op = class_->options; op && op->name; op++)
        check_default(op);
}
END_TEST

/* ---- cells ---- */

/* Whatever there is of NaN or infinity among `count` numbers. */
static bool all_finite(const testing_array *a)
{
    int64_t numbers = a->cells * a->elements * a->parts;

    for (int64_t i = 0; i < numbers; i++)
        if (!isfinite(a->bytes == 8 ? ((double *)a->data)[i] : (double)((float *)a->data)[i]))
            return false;
    return true;
}

static size_t cell_bytes(const testing_array *a)
{
    return (size_t)a->elements * (size_t)a->parts * (size_t)a->bytes;
}

static bool is_consumed(const grove_node *node, const grove_axis *axis)
{
    for (int i = 0; i < node->consumed_count; i++)
        if (node->consumed[i] == axis)
            return true;
    return false;
}

enum { GUARD = 64 }; /* bytes on either side of a result, which stay as they are */

/* The block [first, first + count) of a call, with room of its own for the result. */
static grove_args cut(const grove_args *whole, const int64_t *first, const int64_t *count,
                      size_t bytes, void **room)
{
    grove_args part = *whole;
    int64_t step = (int64_t)bytes;

    for (int d = part.axes - 1; d >= 0; d--) {
        part.origin[d] += first[d];
        part.size[d] = count[d];
        for (int k = 0; k < part.inputs; k++) {
            grove_view *in = &part.in[k];
            if (in->data && in->gather && in->gather_axis == d)
                in->gather += first[d];
            else if (in->data)
                in->data = (char *)in->data + first[d] * in->stride[d];
        }
        if (part.out.stride[d]) {
            part.out.stride[d] = step;
            step *= count[d];
        }
    }
    *room = calloc((size_t)step + 2 * GUARD, 1);
    memset(*room, 0xa5, GUARD);
    memset((char *)*room + GUARD + step, 0xa5, GUARD);
    part.out.data = (char *)*room + GUARD;
    return part;
}

static bool is_guarded(const unsigned char *room, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        if (room[i] != 0xa5 || room[GUARD + bytes + i] != 0xa5)
            return false;
    return true;
}

/* The result of the block is that part of the whole, bit for bit. */
static void check_block(const grove_node *node, const testing_call *call, const int64_t *first,
                        const int64_t *count)
{
    size_t bytes = cell_bytes(&call->out);
    void *room;
    grove_args part = cut(&call->args, first, count, bytes, &room);
    int64_t cells = grove_args_cells(&part), kept = 1;

    testing_call_run(node, &part);
    for (int d = 0; d < part.axes; d++)
        kept *= part.out.stride[d] ? count[d] : 1;
    ck_assert_msg(is_guarded(room, bytes * (size_t)kept), "%s (%s): writes outside its result",
                  class_->name, node->name);
    for (int64_t i = 0; i < cells; i++) {
        int64_t index[GROVE_MAX_AXES] = {0}, at[GROVE_MAX_AXES] = {0}, rest = i;
        for (int d = part.axes - 1; d >= 0; d--) {
            index[d] = rest % count[d];
            at[d] = index[d] + first[d];
            rest /= count[d];
        }
        const char *got = grove_view_at(&part.out, index, part.axes);
        const char *wanted = grove_view_at(&call->args.out, at, part.axes);
        ck_assert_msg(!memcmp(got, wanted, bytes),
                      "%s (%s): a block from %ld %ld %ld %ld, %ld %ld %ld %ld cells, is not that "
                      "part of the whole",
                      class_->name, node->name, (long)first[0], (long)first[1], (long)first[2],
                      (long)first[3], (long)count[0], (long)count[1], (long)count[2],
                      (long)count[3]);
    }
    free(room);
}

static void check_cuts(const grove_node *node, const testing_call *call)
{
    const grove_args *args = &call->args;
    int64_t first[GROVE_MAX_AXES] = {0}, count[GROVE_MAX_AXES] = {0};
    int64_t mid_first[GROVE_MAX_AXES] = {0}, mid_count[GROVE_MAX_AXES] = {0};

    memcpy(count, args->size, sizeof(count));
    memcpy(mid_count, args->size, sizeof(count));
    for (int d = 0; d < args->axes; d++) {
        int64_t size = args->size[d];
        if (is_consumed(node, call->space[d]))
            continue;
        count[d] = 1;
        for (first[d] = 0; first[d] < size; first[d]++)
            check_block(node, call, first, count);
        first[d] = mid_first[d] = size / 3;
        count[d] = mid_count[d] = size - size / 3 - (size > 2);
        if (count[d] > 0)
            check_block(node, call, first, count);
        first[d] = 0;
        count[d] = size;
        mid_count[d] = mid_count[d] > 0 ? mid_count[d] : 1;
    }
    check_block(node, call, mid_first, mid_count);
}

START_TEST(blocks_are_parts_of_the_whole)
{
    for (int number = 0; take_next(_i, &number);)
        for (int n = 0; n < 2 * node_count; n++) {
            grove_node *node = nodes[n / 2];
            testing_call call;
            t.double_precision = n % 2;
            testing_call_begin(&t, node, &call);
            testing_call_run(node, &call.args);
            ck_assert_msg(all_finite(&call.out), "%s (%s): not finite", class_->name, node->name);
            check_cuts(node, &call);
            testing_call_end(&call);
        }
}
END_TEST

START_TEST(the_same_twice)
{
    for (int number = 0, n = 0; take_next(_i, &number); n = 0)
        for (; n < node_count; n++) {
            testing_call call;
            testing_call_begin(&t, nodes[n], &call);
            size_t bytes = cell_bytes(&call.out) * (size_t)call.out.cells;
            char *before = malloc(bytes + 1);
            testing_call_run(nodes[n], &call.args);
            memcpy(before, call.out.data, bytes);
            memset(call.out.data, 0x55, bytes);
            testing_call_run(nodes[n], &call.args);
            ck_assert_msg(!memcmp(before, call.out.data, bytes), "%s (%s): another result",
                          class_->name, nodes[n]->name);
            free(before);
            testing_call_end(&call);
        }
}
END_TEST

/* ---- axes ---- */

enum { EXTENT = 3 };

/* Along an axis of that kind, which no input has, the result is the same everywhere. */
static void check_axis(const grove_node *node, const testing_call *call, int kind)
{
    grove_args args = call->args;
    size_t bytes = cell_bytes(&call->out), all = bytes * (size_t)call->out.cells;
    int at = args.axes++;

    for (; at > 0 && args.axis[at - 1] > kind; at--) {
        args.axis[at] = args.axis[at - 1];
        args.size[at] = args.size[at - 1];
        args.origin[at] = args.origin[at - 1];
        args.out.stride[at] = args.out.stride[at - 1];
        for (int k = 0; k < args.inputs; k++) {
            args.in[k].stride[at] = args.in[k].stride[at - 1];
            if (args.in[k].gather && args.in[k].gather_axis == at - 1)
                args.in[k].gather_axis = at;
        }
    }
    args.axis[at] = kind;
    args.size[at] = EXTENT;
    args.origin[at] = 2;
    for (int k = 0; k < args.inputs; k++)
        args.in[k].stride[at] = 0;
    /* slowest in memory, wherever it stands among the axes */
    args.out.stride[at] = (int64_t)all;
    char *room = calloc(EXTENT * all + 1, 1);
    args.out.data = room;
    testing_call_run(node, &args);
    for (int i = 0; i < EXTENT; i++)
        ck_assert_msg(!memcmp(room + (size_t)i * all, call->out.data, all),
                      "%s (%s): changes along an axis of kind %d, which its inputs do not have",
                      class_->name, node->name, kind);
    free(room);
}

START_TEST(axes_that_inputs_do_not_have)
{
    for (int number = 0, n = 0; take_next(_i, &number); n = 0)
        for (; n < node_count; n++) {
            testing_call call;
            testing_call_begin(&t, nodes[n], &call);
            testing_call_run(nodes[n], &call.args);
            for (int kind = GROVE_AXIS_SOURCE; kind <= GROVE_AXIS_OTHER; kind++)
                if (grove_args_axis(&call.args, kind) < 0 && call.args.axes < GROVE_MAX_AXES)
                    check_axis(nodes[n], &call, kind);
            testing_call_end(&call);
        }
}
END_TEST

/* ---- precision ---- */

START_TEST(single_precision_is_near_double)
{
    take(_i);
    for (int n = 0; n < node_count; n++) {
        if (class_->kind == GROVE_CLASS_DATA || class_->kind == GROVE_CLASS_ACTION)
            continue;
        testing_value values[2];
        for (int single = 0; single < 2; single++) {
            t.double_precision = !single;
            values[single] = testing_evaluate(&t, nodes[n]->name);
        }
        double error = testing_distance(&values[1], &values[0]);
        ck_assert_msg(error < SINGLE_TOLERANCE, "%s (%s): single is %g from double", class_->name,
                      nodes[n]->name, error);
        testing_free(&values[0]);
        testing_free(&values[1]);
    }
}
END_TEST

/* ---- flags ---- */

static void change(const testing_array *a, int element)
{
    for (int64_t i = 0; i < a->cells; i++)
        for (int part = 0; part < a->parts; part++) {
            int64_t at = (i * a->elements + element) * a->parts + part;
            if (a->bytes == 8)
                ((double *)a->data)[at] = 0.75 * ((double *)a->data)[at] + 0.0625 * (1 + part);
            else
                ((float *)a->data)[at] = 0.75F * ((float *)a->data)[at] + 0.0625F * (1 + part);
        }
}

/* Elements that change with an element of an input are those that its flag would flag. */
static void check_spoilt(const grove_node *node, int k, int element)
{
    testing_call call;

    testing_call_begin(&t, (grove_node *)node, &call);
    size_t one = (size_t)call.out.parts * (size_t)call.out.bytes;
    size_t bytes = cell_bytes(&call.out) * (size_t)call.out.cells;
    char *before = malloc(bytes + 1);
    testing_call_run(node, &call.args);
    memcpy(before, call.out.data, bytes);
    change(&call.in[k], element);
    testing_call_run(node, &call.args);
    unsigned flagged = flag_rule(class_, &call, k, 1u << (element < 7 ? element : 7));
    for (size_t i = 0; i < bytes / one; i++) {
        int e = (int)(i % (size_t)call.out.elements);
        ck_assert_msg(flagged >> (e < 7 ? e : 7) & 1 ||
                          !memcmp(before + i * one, (char *)call.out.data + i * one, one),
                      "%s (%s): element %d changes with element %d of '%s', whose flag does not "
                      "reach it",
                      class_->name, node->name, e, element, node->input_names[k]);
    }
    free(before);
    testing_call_end(&call);
}

START_TEST(flags_reach_what_is_spoilt)
{
    for (int number = 0, n = 0; take_next(_i, &number); n = 0)
        for (; n < node_count; n++)
            for (int k = 0; k < nodes[n]->input_count; k++) {
                const grove_node *in = nodes[n]->inputs[k].node;
                int elements = !in                              ? 0
                               : in->form.shape == GROVE_VECTOR ? in->form.vector
                                                                : in->form.shape;
                for (int e = 0; e < elements; e++)
                    check_spoilt(nodes[n], k, e);
            }
}
END_TEST

/* ---- leaves ---- */

static size_t number_bytes(const grove_form *form)
{
    int elements = form->shape == GROVE_VECTOR ? form->vector : form->shape;

    return (form->precision == GROVE_PRECISION_SINGLE ? 4 : 8) * (form->complex_ ? 2U : 1U) *
           (size_t)elements;
}

/* Reads a block of a member, with its flags; free both. */
static grove_array read_block(grove_node *leaf, const grove_member *member, const int64_t *first,
                              const int64_t *count)
{
    grove_array block = {.axes = member->axis_count, .cells = 1, .form = &member->form};

    for (int d = 0; d < block.axes; d++) {
        block.range[d] = (grove_range){member->axes[d], first[d], count[d]};
        block.cells *= count[d];
    }
    block.elements = member->form.shape == GROVE_VECTOR ? member->form.vector : member->form.shape;
    block.data = calloc((size_t)block.cells + 1, number_bytes(&member->form));
    if (member->form.flags)
        block.flags = calloc((size_t)block.cells + 1, 1);
    ck_assert_msg(leaf->class_->read(leaf, NULL, member->name, &block) == 0, "%s.%s: %s",
                  class_->name, member->name, grove_error_message(t.error, 0));
    return block;
}

static void check_read(grove_node *leaf, const grove_member *member, const grove_array *whole,
                       const int64_t *first, const int64_t *count)
{
    grove_array part = read_block(leaf, member, first, count);
    size_t bytes = number_bytes(&member->form);

    for (int64_t i = 0; i < part.cells; i++) {
        int64_t at = 0, step = 1, rest = i;
        for (int d = part.axes - 1; d >= 0; d--) {
            at += (first[d] + rest % count[d]) * step;
            step *= member->axes[d]->size;
            rest /= count[d];
        }
        bool same = !memcmp((char *)part.data + (size_t)i * bytes,
                            (char *)whole->data + (size_t)at * bytes, bytes) &&
                    (!part.flags || part.flags[i] == whole->flags[at]);
        ck_assert_msg(same, "%s.%s: a block from %ld %ld %ld reads otherwise than the whole",
                      class_->name, member->name, (long)first[0], (long)first[1], (long)first[2]);
    }
    free(part.data);
    free(part.flags);
}

static void check_member(grove_node *leaf, const grove_member *member)
{
    int64_t first[GROVE_MAX_AXES] = {0}, count[GROVE_MAX_AXES] = {0};

    for (int d = 0; d < member->axis_count; d++)
        count[d] = member->axes[d]->size;
    grove_array whole = read_block(leaf, member, first, count);
    testing_array numbers = {.data = whole.data,
                             .cells = whole.cells,
                             .elements = whole.elements,
                             .bytes = member->form.precision == GROVE_PRECISION_SINGLE ? 4 : 8,
                             .parts = member->form.complex_ ? 2 : 1};
    ck_assert_msg(all_finite(&numbers), "%s.%s: not finite", class_->name, member->name);
    check_read(leaf, member, &whole, first, count);
    for (int d = 0; d < member->axis_count; d++) {
        int64_t size = member->axes[d]->size, at[] = {0, size / 2, size - 1};
        for (int i = 0; i < 3 && size > 0; i++) {
            first[d] = at[i];
            count[d] = 1;
            check_read(leaf, member, &whole, first, count);
        }
        first[d] = size / 3;
        count[d] = (size + 1) / 2;
        check_read(leaf, member, &whole, first, count);
        first[d] = 0;
        count[d] = size;
    }
    free(whole.data);
    free(whole.flags);
}

/* Classes that tests/value-tests.txt names have all their members there. */
static void check_list(const grove_node *leaf)
{
    const char *source = getenv("GROVE_SOURCE");
    char *path = grove_path_join(source ? source : ".", "tests/value-tests.txt");
    char *list = grove_file_read(path, 1 << 20, true, NULL, NULL);
    char *line = grove_format("\n%s ", class_->name);

    for (size_t i = 0; list && strstr(list, line) && i < leaf->member_count; i++) {
        char *member = grove_format("\n%s.%s ", class_->name, leaf->members[i].name);
        ck_assert_msg(strstr(list, member) != NULL, "%s: no value test of %s", path, member + 1);
        free(member);
    }
    free(line);
    free(list);
    free(path);
}

START_TEST(members_are_read_in_any_blocks)
{
    take(_i);
    for (int n = 0; n < node_count && class_->kind == GROVE_CLASS_DATA; n++) {
        ck_assert_msg(nodes[n]->member_count > 0, "%s: no members", class_->name);
        check_list(nodes[n]);
        for (size_t i = 0; i < nodes[n]->member_count; i++) {
            ck_assert_msg(is_sentence(nodes[n]->members[i].doc), "%s.%s has no text", class_->name,
                          nodes[n]->members[i].name);
            if (!nodes[n]->members[i].data)
                check_member(nodes[n], &nodes[n]->members[i]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conformance");
    TCase *test = tcase_create("all");
    grove_classes *classes = grove_classes_new(NULL);
    size_t count;

    grove_classes_names(classes, &count);
    count++; /* and probe */
    grove_classes_free(classes);
    printf("%zu classes\n", count);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 120);
    tcase_add_loop_test(test, texts_are_there, 0, (int)count);
    tcase_add_loop_test(test, defaults_are_good, 0, (int)count);
    tcase_add_loop_test(test, blocks_are_parts_of_the_whole, 0, (int)count);
    tcase_add_loop_test(test, the_same_twice, 0, (int)count);
    tcase_add_loop_test(test, axes_that_inputs_do_not_have, 0, (int)count);
    tcase_add_loop_test(test, single_precision_is_near_double, 0, (int)count);
    tcase_add_loop_test(test, flags_reach_what_is_spoilt, 0, (int)count);
    tcase_add_loop_test(test, members_are_read_in_any_blocks, 0, (int)count);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0 || count < 2;
}
