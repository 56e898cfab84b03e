/* Targets: the files and sets that actions write. */
#include "graph/target.h"

#include "base/file.h"
#include "base/text.h"
#include "unstable/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool is_stream(const grove_target *target)
{
    return grove_output_examine(target->path, NULL, NULL) == GROVE_OUTPUT_STREAM;
}

/* Whether all of it is made anew. */
static bool is_new_output(const grove_target *target)
{
    return !target->part || target->format;
}

/* Errors that any run would meet. `folder`: the output is one. */
static int check_path(const grove_node *node, const char *path, bool anew, bool folder)
{
    grove_error *error = grove_error_new();
    int code = anew ? grove_output_check_place(path, folder, error)
               : grove_output_examine(path, NULL, error) == GROVE_OUTPUT_UNKNOWN ? GROVE_IO
                                                                                 : 0;

    if (code)
        code = grove_node_fail_option(node, "to", "%s", grove_error_message(error, 0));
    else if (strchr(path, '\n'))
        code = grove_node_fail_option(node, "to", "'%s': a file name must not have a line break",
                                      path);
    grove_error_free(error);
    return code;
}

int grove_node_set_target(grove_node *node, const grove_target *target)
{
    char *resolved = grove_path_whole(target->path);
    int code = check_path(node, target->path, is_new_output(target), target->part != NULL);

    if (!code && target->second_path)
        code = check_path(node, target->second_path, true, false);
    if (!code && resolved && strchr(resolved, '\n'))
        code = grove_node_fail_option(
            node, "to", "%s: the name of an output's folder must not have a line break",
            target->path);
    if (code) {
        free(resolved);
        return code;
    }
    grove_arena *arena = node->tree->arena;
    grove_target *to = grove_arena_copy(arena, target, sizeof(*target));

    to->path = grove_arena_text(arena, target->path);
    to->part = target->part ? grove_arena_text(arena, target->part) : NULL;
    to->format = target->format ? grove_arena_text(arena, target->format) : NULL;
    to->second_path = target->second_path ? grove_arena_text(arena, target->second_path) : NULL;
    node->target = to;
    node->target_path = grove_arena_text(arena, resolved ? resolved : target->path);
    free(resolved);
    return 0;
}

/* ---- conflicts ---- */

/* Whether `inner` is `outer` or lies in it. */
static bool lies_in(const char *inner, const char *outer)
{
    size_t length = strlen(outer);

    return !strncmp(inner, outer, length) && (!inner[length] || inner[length] == '/');
}

static bool same_path(const grove_node *first, const grove_node *second)
{
    return !strcmp(first->target_path, second->target_path);
}

/* Two that make one thing together. */
static bool is_one_writing(const grove_node *first, const grove_node *second)
{
    const grove_target *a = first->target, *b = second->target;

    return same_path(first, second) && a->part && b->part && a->format && b->format &&
           first->class_ == second->class_;
}

/* The difference between two actions that make one thing together; NULL: no relevant one. Equal
 * expressions are one node. */
static const char *difference(const grove_node *first, const grove_node *second)
{
    const grove_port *inputs = first->class_->inputs;
    const grove_port *options = first->class_->options;

    for (int i = 0; inputs && inputs[i].name; i++)
        if (inputs[i].kind == GROVE_OBJECT && first->objects[i] != second->objects[i])
            return inputs[i].name;
    for (int i = 0; options && options[i].name; i++) {
        int k = grove_node_input(first, options[i].name);
        if (k >= 0 && first->inputs[k].node != second->inputs[k].node)
            return options[i].name;
    }
    return first->target->overwrite != second->target->overwrite ? "overwrite" : NULL;
}

static int check_together(const grove_node *first, const grove_node *second, const char *at)
{
    const grove_target *a = first->target, *b = second->target;
    const char *name = second->class_->name, *differing_option = difference(first, second);
    grove_error *error = second->tree->error;

    if (differing_option)
        return grove_fail_at(error, &second->place, GROVE_INVALID,
                             "%s: %s and %s, written at %s, go to one new %s, but differ in '%s'; "
                             "give both the same value, or write to another path",
                             name, b->part, a->part, at, b->path, differing_option);
    if (strcmp(a->format, b->format) != 0)
        return grove_fail_at(error, &second->place, GROVE_INVALID,
                             "%s: %s and %s, written at %s, go to one new %s, but one has %s, the "
                             "other %s; write to another path",
                             name, b->part, a->part, at, b->path, b->format, a->format);
    return 0;
}

/* Whether both write rows of one path, of different fields or windows. */
static bool has_rows_apart(const grove_node *first, const grove_node *second)
{
    const grove_node *a = grove_target_rows(first), *b = grove_target_rows(second);

    return a && b && !is_new_output(first->target) && !is_new_output(second->target) &&
           !grove_equal(grove_node_property(a, "selection"), grove_node_property(b, "selection"));
}

static int check_same(const grove_node *first, const grove_node *second, const char *at)
{
    const grove_target *a = first->target, *b = second->target;
    grove_error *error = second->tree->error;
    bool here = is_new_output(b);

    if (a->part && b->part && !strcmp(a->part, b->part) && is_new_output(a) == is_new_output(b) &&
        !has_rows_apart(first, second))
        return grove_fail_at(error, &second->place, GROVE_INVALID,
                             "%s: %s of %s is also written at %s; give one of them another name",
                             second->class_->name, b->part, b->path, at);
    if (is_one_writing(first, second))
        return check_together(first, second, at);
    if (!is_new_output(a) && !is_new_output(b))
        return 0;
    return grove_fail_at(error, &second->place, GROVE_INVALID,
                         "%s: %s is created %s%s, and %s %s%s; write to another path, or create it "
                         "in one run and write the rest in the next",
                         second->class_->name, b->path, here ? "here" : "at ", here ? "" : at,
                         here || !b->part ? "written" : b->part, here ? "at " : "written here",
                         here ? at : "");
}

static int check_pair(const grove_node *first, const grove_node *second)
{
    char *at = grove_format("%s:%d:%d", first->place.file ? first->place.file : "",
                            first->place.line, first->place.column);
    int code = 0;

    if (same_path(first, second))
        code = check_same(first, second, at);
    else if (lies_in(first->target_path, second->target_path) ||
             lies_in(second->target_path, first->target_path))
        code = grove_fail_at(second->tree->error, &second->place, GROVE_INVALID,
                             "%s: one of %s and %s, which is written at %s, is inside the other; "
                             "choose another path",
                             second->class_->name, second->target->path, first->target->path, at);
    free(at);
    return code;
}

/* ---- inputs ---- */

static void find_members(const grove_node *node, bool *reads)
{
    if (reads[node->id])
        return;
    reads[node->id] = true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node)
            find_members(node->inputs[k].node, reads);
}

/* Which part of its path a member is read from; NULL: of none, or it is not read. */
static const char *part_read(const grove_node *node, const bool *reads)
{
    if (!reads[node->id] || node->kind != GROVE_NODE_MEMBER)
        return NULL;
    char *name = grove_format("part(%s)", node->leaf->members[node->member].name);
    const char *part = grove_node_property(node->leaf, name);
    free(name);
    return part;
}

/* Whether the action writes other rows of that path than the leaf reads. */
static bool has_other_rows(const grove_node *action, const grove_node *leaf)
{
    const grove_port *inputs = action->class_->inputs;
    const char *path = grove_node_property(leaf, "path"),
               *rows = grove_node_property(leaf, "selection");

    for (int i = 0; inputs && inputs[i].name; i++) {
        const grove_node *object = action->objects[i];
        if (object && grove_equal(grove_node_property(object, "path"), path) &&
            !grove_equal(grove_node_property(object, "selection"), rows))
            return true;
    }
    return false;
}

grove_node *grove_target_rows(const grove_node *action)
{
    const grove_port *inputs = action->class_->inputs;

    if (!action->target || !action->target->part)
        return NULL;
    for (int i = 0; inputs && inputs[i].name; i++) {
        grove_node *object = action->objects[i];
        const char *path = object ? grove_node_property(object, "path") : NULL;
        if (path && is_new_output(action->target))
            return object;
        char *resolved = path ? grove_path_whole(path) : NULL;
        bool same = resolved && !strcmp(resolved, action->target_path);
        free(resolved);
        if (same)
            return object;
    }
    return NULL;
}

static int check_member(const grove_node *action, const grove_node *member, const char *part)
{
    const char *path = grove_node_property(member->leaf, "path");
    char *resolved = grove_path_whole(path);
    bool lost = resolved && !strcmp(resolved, action->target_path) &&
                !strcmp(part, action->target->part) && !has_other_rows(action, member->leaf);

    free(resolved);
    if (!lost)
        return 0;
    return grove_node_fail_option(action, "column",
                                  "%s of %s is read by '%s' at %s:%d:%d, and would be lost; write "
                                  "another column, or give %s overwrite=true",
                                  part, action->target->path, member->name,
                                  member->place.file ? member->place.file : "", member->place.line,
                                  member->place.column, action->class_->name);
}

/* The input of the tree that is this file, or a set that contains it; with `inside` also an input
 * inside of it. NULL: none. */
static const char *find_read(const grove_tree *tree, const char *resolved, bool inside)
{
    for (size_t i = 0; i < tree->read_count; i++) {
        const char *each = tree->reads[i];
        char *input = grove_path_exists(each) ? grove_path_whole(each) : NULL;
        bool matches = input && (lies_in(resolved, input) || (inside && lies_in(input, resolved)) ||
                                 grove_path_is_same(resolved, input));
        free(input);
        if (matches)
            return each;
    }
    return NULL;
}

static int check_input(const grove_node *action, const char *path)
{
    char *resolved = grove_path_whole(path);
    const char *read = resolved ? find_read(action->tree, resolved, true) : NULL;

    free(resolved);
    return read ? grove_node_fail_option(action, "to",
                                         "%s: is an input of this run (%s), which is never "
                                         "replaced; choose another path",
                                         path, read)
                : 0;
}

/* A new output must not replace an input. */
static int check_inputs(const grove_node *action)
{
    const grove_target *target = action->target;
    int code = 0;

    if (!target || !is_new_output(target) || is_stream(target))
        return 0;
    code = check_input(action, target->path);
    return code || !target->second_path ? code : check_input(action, target->second_path);
}

/* A part of an existing file that the tree reads is replaced only if the action asks for it. */
static int check_reads(const grove_tree *tree, const grove_node *action, const bool *reads)
{
    const grove_target *target = action->target;
    int code = 0;

    if (!target || !target->part || target->format || target->overwrite)
        return 0;
    for (size_t i = 0; i < tree->node_count && !code; i++) {
        const char *part = part_read(tree->nodes[i], reads);
        code = part ? check_member(action, tree->nodes[i], part) : 0;
    }
    return code;
}

int grove_tree_check_targets(const grove_tree *tree)
{
    bool *reads = grove_alloc((tree->node_count + 1) * sizeof(*reads));
    int code = 0;

    for (size_t i = 0; i < tree->action_count; i++)
        find_members(tree->actions[i], reads);
    for (size_t i = 0; i < tree->action_count; i++) {
        int lost = check_reads(tree, tree->actions[i], reads);
        int replaced = check_inputs(tree->actions[i]);
        code = code ? code : lost ? lost : replaced;
        for (size_t k = 0; k < i; k++) {
            const grove_node *first = tree->actions[k], *second = tree->actions[i];
            int fault = first->target && second->target ? check_pair(first, second) : 0;
            code = code ? code : fault;
        }
    }
    free(reads);
    return code;
}

/* ---- other outputs of a run ---- */

/* Also files made next to a target: the axes of .npy, a checkpoint. */
static const grove_node *writes(const grove_tree *tree, const char *resolved)
{
    for (size_t i = 0; i < tree->action_count; i++) {
        const grove_node *action = tree->actions[i];
        size_t length = action->target ? strlen(action->target_path) : 0;
        if (length && (lies_in(resolved, action->target_path) ||
                       (!strncmp(resolved, action->target_path, length) &&
                        (grove_equal(resolved + length, ".axes") ||
                         grove_equal(resolved + length, ".checkpoint")))))
            return action;
    }
    return NULL;
}

int grove_tree_check_output(const grove_tree *tree, const char *path, bool overwrite,
                            grove_error *error)
{
    char *resolved = grove_path_whole(path);
    const char *read = NULL;
    const grove_node *action = NULL;
    int code = 0;

    if (resolved && grove_output_examine(path, NULL, NULL) != GROVE_OUTPUT_STREAM) {
        read = find_read(tree, resolved, false);
        action = writes(tree, resolved);
    }
    if (read)
        code = grove_fail(
            error, GROVE_INVALID,
            "%s: is an input of this run (%s), which is never replaced; choose another path", path,
            read);
    else if (action)
        code = grove_fail(error, GROVE_INVALID,
                          "%s: %s writes to this path (%s:%d:%d); choose another one", path,
                          action->class_->name, action->place.file ? action->place.file : "",
                          action->place.line, action->place.column);
    free(resolved);
    return code ? code : grove_output_check(path, overwrite, error);
}

/* ---- room ---- */

typedef struct {
    dev_t disk;
    double bytes; /* free for users; negative: not known */
} room;

/* Of the existing file, else of its folder. */
static room room_at(const grove_node *action)
{
    char *folder = grove_path_folder(action->target_path);
    const char *at = is_new_output(action->target) ? folder : action->target_path;
    room found = {0, -1};
    struct statvfs disk;
    struct stat info;

    if (!is_stream(action->target) && !stat(at, &info) && !statvfs(at, &disk) && disk.f_blocks) {
        found.disk = info.st_dev;
        found.bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    }
    free(folder);
    return found;
}

/* The first of the actions that make one thing together. */
static bool is_first(const grove_tree *tree, const grove_node *action)
{
    for (size_t i = 0; tree->actions[i] != action; i++)
        if (tree->actions[i]->target && is_one_writing(tree->actions[i], action))
            return false;
    return true;
}

/* Bytes written by the action and by all that make one thing together with it. */
static double bytes_together(const grove_tree *tree, const grove_node *action)
{
    uint64_t common = action->target->common_bytes, bytes = 0;

    for (size_t i = 0; i < tree->action_count; i++) {
        const grove_node *each = tree->actions[i];
        if (each != action && (!each->target || !is_one_writing(each, action)))
            continue;
        bytes += each->target->bytes;
        common = each->target->common_bytes < common ? each->target->common_bytes : common;
    }
    return (double)bytes + (double)common;
}

static int check_room(const grove_tree *tree, const grove_node *action, grove_error *error)
{
    room here = room_at(action);
    double needed = 0;
    char needed_text[32], available_text[32];

    for (size_t i = 0; i < tree->action_count; i++) {
        const grove_node *each = tree->actions[i];
        if (each->target && is_first(tree, each) && room_at(each).disk == here.disk)
            needed += bytes_together(tree, each);
    }
    if (here.bytes < 0 || needed <= here.bytes)
        return 0;
    return grove_fail_at(error, &action->place, GROVE_IO,
                         "%s: %s: this run writes %s there, but %s are free", action->class_->name,
                         action->target->path, grove_show_bytes(needed_text, needed),
                         grove_show_bytes(available_text, here.bytes));
}

int grove_tree_check_room(const grove_tree *tree, grove_error *error)
{
    int code = 0;

    for (size_t i = 0; i < tree->action_count && !code; i++)
        if (tree->actions[i]->target)
            code = check_room(tree, tree->actions[i], error);
    return code;
}

/* Errors that the beginning of a run would meet. */
static int check_access(const grove_node *action, grove_error *error)
{
    const grove_target *target = action->target;
    char *folder = grove_path_folder(action->target_path);
    const char *name = action->class_->name, *path = target->path, *there = NULL;
    int code = 0;

    if (is_stream(target)) {
        free(folder);
        return 0;
    }
    if (is_new_output(target) && !target->overwrite)
        there = grove_path_exists(path) ? path
                : target->second_path && grove_path_exists(target->second_path)
                    ? target->second_path
                    : NULL;
    if (is_new_output(target) ? access(folder, W_OK | X_OK) : access(action->target_path, W_OK))
        code = grove_fail_at(error, &action->place, GROVE_IO, "%s: %s: %s", name, path,
                             !is_new_output(target)          ? "may not be written"
                             : !grove_path_is_folder(folder) ? "its folder does not exist"
                                                             : "its folder may not be written");
    else if (there)
        code =
            grove_fail_at(error, &action->place, GROVE_INVALID,
                          "%s: %s: exists already; give overwrite=true to replace it", name, there);
    free(folder);
    return code;
}

/* "PATH PART, PART: SIZE, ROOM are free there". */
static void describe(const grove_tree *tree, const grove_node *action, grove_text *text)
{
    room here = room_at(action);
    char size[32], left[32];
    const char *before = " ";

    grove_text_add(text, "%s", action->target->path);
    for (size_t i = 0; i < tree->action_count; i++) {
        const grove_node *each = tree->actions[i];
        if (each != action && (!each->target || !is_one_writing(each, action)))
            continue;
        if (each->target->part)
            grove_text_add(text, "%s%s", before, each->target->part);
        before = ", ";
    }
    grove_text_add(text, ": %s", grove_show_bytes(size, bytes_together(tree, action)));
    if (here.bytes >= 0)
        grove_text_add(text, ", %s are free there", grove_show_bytes(left, here.bytes));
    grove_text_add(text, "\n");
}

char *grove_tree_describe_targets(const grove_tree *tree, grove_error *error)
{
    grove_text text = {0};
    int code = 0;

    grove_text_add(&text, "%s", ""); /* none is a text, too */
    for (size_t i = 0; i < tree->action_count && !code; i++) {
        const grove_node *action = tree->actions[i];
        if (action->target && !(code = check_access(action, error)) && is_first(tree, action))
            describe(tree, action, &text);
    }
    if (!code)
        code = grove_tree_check_room(tree, error);
    if (!code)
        return text.at;
    free(text.at);
    return NULL;
}
