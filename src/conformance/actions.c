/* Checks of actions: the same output for any tiles; a failed run changes nothing. */
#include "conformance/conformance.h"

#include "base/file.h"
#include "base/text.h"
#include "value/value.h"

#include <stdlib.h>
#include <string.h>

/* The contents of the current folder: sorted names, and a hash of each. */
typedef struct {
    char **names;
    grove_hash *content;
    size_t count;
} snapshot;

static grove_hash content_of(grove_fixture *fixture, const char *path, bool numbers);

static grove_hash folder_content(grove_fixture *fixture, const char *path, bool numbers)
{
    grove_hash hash = grove_hash_start();
    char **names = grove_folder_list(path);

    for (char **at = names; at && *at; at++) {
        char *below = grove_path_join(path, *at);
        hash = grove_hash_join(grove_hash_text(hash, *at), content_of(fixture, below, numbers));
        free(below);
        free(*at);
    }
    free(names);
    return hash;
}

/* Hashes a Measurement Set's visibilities and flags: the layout of its files may depend on tiles.
 */
static grove_hash set_content(grove_fixture *fixture, const char *path)
{
    char *text = grove_format("obs = ms(\"%s\")\nx = 1 * obs.data\n", path);
    grove_hash hash = grove_hash_start();
    int64_t count = 0;

    int code = grove_fixture_parse(fixture, text, NULL);
    grove_session *session = code ? NULL : grove_fixture_session(fixture, NULL);
    grove_value *value = NULL;
    if (session && !grove_session_value(session, "x", &value)) {
        double *numbers = grove_value_numbers(value, &count, fixture->error);
        unsigned char *flags = grove_value_flagged(value, fixture->error);
        if (numbers && flags) {
            hash = grove_hash_add(hash, numbers, 2 * (size_t)count * sizeof(*numbers));
            hash = grove_hash_add(hash, flags, (size_t)count);
        }
        free(numbers);
        free(flags);
        grove_value_unref(value);
    }
    grove_session_free(session);
    free(text);
    return hash;
}

static grove_hash content_of(grove_fixture *fixture, const char *path, bool numbers)
{
    grove_hash hash = grove_hash_start();
    size_t length = 0;

    if (grove_path_is_folder(path)) {
        char *table = grove_path_join(path, "table.dat");
        bool set = numbers && grove_path_exists(table);
        free(table);
        return set ? set_content(fixture, path) : folder_content(fixture, path, numbers);
    }
    char *bytes = grove_file_read(path, (size_t)1 << 32, false, &length, NULL);
    if (bytes)
        hash = grove_hash_add(hash, bytes, length);
    free(bytes);
    return hash;
}

static snapshot take_snapshot(grove_fixture *fixture, bool numbers)
{
    snapshot s = {.names = grove_folder_list(".")};

    while (s.names && s.names[s.count])
        s.count++;
    s.content = grove_alloc((s.count + 1) * sizeof(*s.content));
    for (size_t i = 0; i < s.count; i++)
        s.content[i] = content_of(fixture, s.names[i], numbers);
    return s;
}

static void release(snapshot *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->names[i]);
    free(s->names);
    free(s->content);
    memset(s, 0, sizeof(*s));
}

static bool has_name(const snapshot *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->names[i], name))
            return true;
    return false;
}

/* The first name that is in one snapshot only, or whose content differs; NULL: none. */
static const char *difference(const snapshot *a, const snapshot *b)
{
    for (size_t i = 0; i < a->count || i < b->count; i++) {
        if (i >= a->count || (i < b->count && strcmp(a->names[i], b->names[i]) > 0))
            return b->names[i];
        if (i >= b->count || strcmp(a->names[i], b->names[i]) != 0)
            return a->names[i];
        if (!grove_hash_equal(a->content[i], b->content[i]))
            return a->names[i];
    }
    return NULL;
}

/* Removes files that a run has made. */
static void remove_new(const snapshot *before)
{
    snapshot now = {.names = grove_folder_list(".")};

    for (; now.names && now.names[now.count]; now.count++)
        if (!has_name(before, now.names[now.count]))
            grove_path_remove(now.names[now.count], NULL);
    release(&now);
}

/* ---- any tiles ---- */

static const grove_session_options variants[] = {
    GROVE_FIXTURE_OPTIONS(.threads = 1, .serial = true, .cache_off = true),
    GROVE_FIXTURE_OPTIONS(.threads = 3),
    GROVE_FIXTURE_OPTIONS(.threads = 2, .tile_times = 1),
    GROVE_FIXTURE_OPTIONS(.threads = 3, .tile_baselines = 1, .tile_channels = 2, .serial = true),
    GROVE_FIXTURE_OPTIONS(.threads = 2, .tile_times = 2, .tile_channels = 3, .tile_baselines = 4),
    GROVE_FIXTURE_OPTIONS(.threads = 1, .tile_times = 1, .tile_channels = 1, .tile_baselines = 1,
                          .cache_off = true),
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static bool run_variant(grove_conformance *c, int i, bool single)
{
    grove_session_options options = variants[i];

    options.device = c->device ? c->device : "cpu";
    options.double_precision = !single;
    if (!grove_conformance_done(c, grove_fixture_take(c->fixture, c->class_, NULL), "tree"))
        return false;
    if (!c->fixture->tree->action_count) {
        grove_conformance_fail(c, "the tree has no action; add a statement that calls the class");
        return false;
    }
    return grove_conformance_done(c, grove_fixture_run(c->fixture, &options), "run");
}

static void check_runs(grove_conformance *c, const snapshot *before, bool single)
{
    snapshot first = {0}, now;
    bool good = true;

    for (int i = 0; i < VARIANTS && good; i++) {
        if (!run_variant(c, i, single))
            break;
        now = take_snapshot(c->fixture, true);
        const char *name = i ? difference(&first, &now) : NULL;
        good = !name;
        if (name)
            grove_conformance_fail(c,
                                   "%s (%s precision): different output with %d threads and "
                                   "tiles of %lld times, %lld channels, %lld baselines (0: all)",
                                   name, single ? "single" : "double", variants[i].threads,
                                   (long long)variants[i].tile_times,
                                   (long long)variants[i].tile_channels,
                                   (long long)variants[i].tile_baselines);
        if (i)
            release(&now);
        else
            first = now;
        remove_new(before);
    }
    release(&first);
}

void grove_conformance_actions(grove_conformance *c)
{
    if (!grove_class_is_action(c->class_))
        return;
    c->made = true;
    if (!grove_conformance_done(c, grove_fixture_take(c->fixture, c->class_, NULL), "tree"))
        return;
    snapshot before = take_snapshot(c->fixture, false);
    for (int single = 0; single < 2; single++)
        check_runs(c, &before, single);
    release(&before);
}

/* ---- failed runs ---- */

/* A class that fails at the second tile along time. */
static int write_failure(const grove_call *call, const grove_array *const *inputs, int count)
{
    (void)count;
    if (inputs[0]->axes && !inputs[0]->range[0].first)
        return 0;
    return grove_node_fail(call->node, GROVE_INVALID, "fails on purpose");
}

static const grove_port failure_inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE},
    {0},
};

static const grove_class failure = {GROVE_CLASS_HEAD(test_failure),
                                    .doc = "An action that fails, for tests of other actions.",
                                    .output_doc = "nothing",
                                    .group = "actions",
                                    .inputs = failure_inputs,
                                    .kind = GROVE_CLASS_ACTION,
                                    .action =
                                        &(const grove_action_functions){.write = write_failure},
                                    .example = "f = test_failure(1)"};

void grove_conformance_aborts(grove_conformance *c)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 2, .tile_times = 1,
                              .double_precision = true);
    grove_fixture *fixture = c->fixture;
    const char *more = fixture->text ? "failure = test_failure(sqrt(2))\n"
                                     : "failure = test_failure(real(obs.data))\n";

    if (!grove_class_is_action(c->class_))
        return;
    c->made = true;
    int code = grove_classes_add(fixture->classes, &failure, fixture->error);
    if (!code)
        code = grove_fixture_take(fixture, c->class_, more);
    if (!grove_conformance_done(c, code, "tree"))
        return;
    snapshot before = take_snapshot(fixture, false);
    code = grove_fixture_run(fixture, &options);
    snapshot after = take_snapshot(fixture, false);
    const char *name = difference(&before, &after);
    if (!code)
        grove_conformance_fail(c, "a run goes on although another action has failed");
    if (name)
        grove_conformance_fail(c,
                               "%s: differs from its state before a run that failed; .abort must "
                               "undo the changes of .begin and .write",
                               name);
    remove_new(&before);
    release(&before);
    release(&after);
}
