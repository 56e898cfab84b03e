#include "run/session.h"
#include "graph/target.h"
#include "run/devices.h"
#include "run/phase.h"
#include "run/pipeline.h"
#include "unstable/tuning.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

/* ---- settings as text ---- */

static int bad_setting(grove_error *error, const char *name, const char *text,
                       const char *requirement)
{
    return grove_fail(error, GROVE_INVALID, "--%s %s: must be %s", name, text, requirement);
}

static int set_option(grove_session_options *options, const char *name, const char *text,
                      grove_error *error)
{
    int64_t number = 0;
    const char *end = grove_parse_integer(text, &number);
    bool whole = end && !*end && number >= 0;

    if (!strcmp(name, "memory")) {
        if (grove_parse_bytes(text, &options->memory))
            return bad_setting(error, name, text, "a size such as 512MiB or 4GiB");
        return options->memory && options->memory < (1 << 20)
                   ? bad_setting(error, name, text, "at least 1MiB")
                   : 0;
    }
    if (!strcmp(name, "precision")) {
        options->double_precision = !strcmp(text, "double");
        return options->double_precision || !strcmp(text, "single")
                   ? 0
                   : bad_setting(error, name, text, "single or double");
    }
    if (!strcmp(name, "device")) {
        options->device = text;
        return grove_session_device_is_known(text)
                   ? 0
                   : bad_setting(error, name, text,
                                 "auto, cpu, cuda, cuda:1, cuda:all, or opencl in the same ways");
    }
    if (!strcmp(name, "device-memory"))
        return grove_parse_bytes(text, &options->device_memory)
                   ? bad_setting(error, name, text, "a size such as 512MiB or 4GiB")
                   : 0;
    if (!strcmp(name, "threads")) {
        options->threads = (int)number;
        return whole && number <= 1024 ? 0 : bad_setting(error, name, text, "a number of threads");
    }
    if (!strncmp(name, "tile-", 5)) {
        if (!whole)
            return bad_setting(error, name, text, "a whole number");
        if (!strcmp(name, "tile-times"))
            options->tile_times = number;
        else if (!strcmp(name, "tile-channels"))
            options->tile_channels = number;
        else if (!strcmp(name, "tile-baselines"))
            options->tile_baselines = number;
        return 0;
    }
    return grove_fail(error, GROVE_INVALID, "no such option: --%s", name);
}

int grove_session_option(grove_session_options *options, const char *name, const char *text,
                         grove_error *error)
{
    grove_session_options own;
    int code = grove_sized_take(&own, sizeof(own), options, "grove_session_options", error);

    if (!code)
        code = set_option(&own, name, text, error);
    return code ? code
                : grove_sized_give(options, &own, sizeof(own), "grove_session_options", error);
}

/* ---- sessions ---- */

/* Half of the free memory: the rest is for the system's file cache, which speeds up reading. */
static uint64_t memory_of(const grove_session_options *options)
{
    uint64_t memory = options->memory ? options->memory : grove_memory_available() / 2;

    return memory < MIB ? MIB : memory;
}

/* Free memory of the host, and of devices, which hold values too. */
static uint64_t cache_of(const grove_session *session)
{
    uint64_t bytes = session->memory / 4;

    for (int k = 0; k < session->device_count; k++)
        bytes += session->devices[k]->budget.limit / 4;
    return session->options.cache_off ? 0 : bytes;
}

/* For tests: compares kept and cached values with recomputed ones. */
static bool checks(void)
{
    const char *given = getenv("GROVE_CHECK_CACHE");

    return given && grove_equal(given, "1");
}

static int start(grove_session *session, grove_error *error)
{
    const grove_session_options *options = &session->options;
    int code = grove_devices_open(session, error);

    session->memory = memory_of(options);
    session->host->budget.limit = session->memory;
    session->facts = grove_facts_new(session->tree, options->double_precision);
    grove_devices_set_budget(session);
    session->cache = grove_cache_new(cache_of(session));
    session->nodes = grove_alloc((session->tree->node_count + 1) * sizeof(grove_node_counters));
    session->runs = grove_alloc((session->tree->node_count + 1) * sizeof(void *));
    session->kept = grove_alloc((session->tree->node_count + 1) * sizeof(*session->kept));
    session->grants = grove_alloc((session->tree->node_count + 1) * sizeof(*session->grants));
    session->started = grove_alloc((session->tree->node_count + 1) * sizeof(bool));
    session->begun = grove_alloc((session->tree->node_count + 1) * sizeof(bool));
    session->node_count = session->tree->node_count;
    session->unsupported = grove_alloc((session->node_count + 1) * sizeof(grove_unsupported));
    session->began = grove_now();
    session->checks = checks();
    session->poison = getenv("GROVE_POISON_ROWS"); /* for tests */
    if (!code && !options->serial && !(session->worker = grove_worker_new("grove-io")))
        grove_log(GROVE_LOG_WARNING, "no thread for reading and writing could be started; they "
                                     "will not overlap with computing");
    return code;
}

grove_session *grove_session_open(grove_tree *tree, const grove_session_options *options,
                                  grove_error *error)
{
    grove_session_options own = GROVE_SESSION_OPTIONS();

    if (options && grove_sized_take(&own, sizeof(own), options, "grove_session_options", error))
        return NULL;
    grove_session *session = grove_alloc(sizeof(*session));
    session->tree = tree;
    session->error = error;
    session->options = own;
    session->counters.size = sizeof(session->counters);
    if (!start(session, error) && !grove_resume_check(session, error))
        return session;
    grove_session_free(session);
    return NULL;
}

void grove_session_free(grove_session *session)
{
    if (!session)
        return;
    grove_worker_free(session->worker);
    grove_cache_free(session->cache);
    if (session->observer.close)
        session->observer.close(session->observer.context);
    free(session->facts);
    free(session->tuned);
    free(session->nodes);
    free(session->runs);
    free(session->kept);
    free(session->grants);
    free(session->started);
    free(session->begun);
    for (size_t i = 0; session->unsupported && i < session->node_count; i++)
        free(session->unsupported[i].reason);
    free(session->unsupported);
    grove_devices_close(session);
    free(session);
}

grove_tree *grove_session_tree(grove_session *session)
{
    return session->tree;
}

grove_error *grove_session_error(grove_session *session)
{
    return session->error;
}

const grove_counters *grove_session_counters(const grove_session *session)
{
    return &session->counters;
}

/* ---- content of leaves ---- */

/* ---- runs ---- */

static int evaluate(grove_session *session, grove_node *const *nodes, size_t count,
                    const grove_range *range, int ranges, grove_value **value)
{
    grove_evaluation *evaluation = NULL;
    int code = grove_evaluation_new(session, nodes, count, range, ranges, &evaluation);

    if (!code)
        code = grove_evaluation_run(evaluation, value);
    grove_evaluation_free(evaluation);
    return code;
}

static int run_once(grove_session *session)
{
    grove_tree *tree = session->tree;
    int code = grove_phase_begin(session);

    if (!code && session->has_ended) {
        grove_phase_abort(session);
        return 0;
    }
    if (!code)
        code = evaluate(session, tree->actions, tree->action_count, NULL, 0, NULL);
    if (code || session->tuner) {
        grove_phase_abort(session);
        grove_session_renew_all(session, true);
        if (code == GROVE_INTERRUPTED)
            grove_fail(session->error, code, "interrupted; all outputs are unchanged");
        return code;
    }
    code = grove_phase_commit(session);
    grove_session_renew_all(session, false);
    return code;
}

int grove_session_run(grove_session *session)
{
    const grove_observer *observer = &session->observer;
    int cycles = session->tree->cycles > 1 ? session->tree->cycles : 1;

    session->began = grove_now();
    session->has_ended = false;
    int code = observer->begin ? observer->begin(observer->context, session->error) : 0;
    if (code)
        return code;
    code = grove_tree_check_room(session->tree, session->error);
    if (!code)
        code = grove_phase_start(session, session->tree->actions, session->tree->action_count);
    for (int i = 0; i < cycles && !code && !session->has_ended; i++)
        code = run_once(session);
    grove_phase_stop(session);
    int end_code = observer->end ? observer->end(observer->context, session->error) : 0;
    return code ? code : end_code;
}

int grove_session_tune(grove_session *session, const grove_tuner *tuner)
{
    session->host->tuner = session->tuner = tuner;
    for (int k = 0; k < session->device_count; k++)
        session->devices[k]->tuner = tuner;
    return grove_session_run(session);
}

int grove_session_evaluate(grove_session *session, grove_node *node, const grove_range *range,
                           int ranges, grove_value **value)
{
    int code = grove_phase_start(session, &node, 1);

    *value = NULL;
    if (!code)
        code = evaluate(session, &node, 1, range, ranges, value);
    grove_phase_stop(session);
    if (code == GROVE_INTERRUPTED)
        grove_fail(session->error, code, "interrupted");
    return code;
}
