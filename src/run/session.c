#include "plan/schedule.h"
#include "run/launch.h"
#include "run/phase.h"

#include "base/log.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

/* ---- sessions ---- */

/* Half of what is free: the rest is for the system's cache of files, which reading needs. */
static uint64_t memory_of(const grove_session_options *options)
{
    uint64_t memory = options->memory ? options->memory : grove_memory_available() / 2;

    return memory < MIB ? MIB : memory;
}

/* Of the host, and of devices, whose values live beside. */
static uint64_t cache_of(const grove_session *session)
{
    uint64_t bytes = session->memory / 4;

    for (int k = 0; k < session->device_count; k++)
        bytes += session->devices[k]->limit / 4;
    return session->options.cache_off ? 0 : bytes;
}

static int start(grove_session *session, grove_error *error)
{
    const grove_session_options *options = &session->options;
    int code = grove_launch_open(session, error);

    session->memory = memory_of(options);
    session->host->limit = session->memory;
    grove_launch_budget(session);
    session->facts = grove_facts_new(session->tree, options->double_precision);
    session->cache = grove_cache_new(cache_of(session));
    session->nodes = grove_alloc((session->tree->node_count + 1) * sizeof(grove_node_counters));
    session->runs = grove_alloc((session->tree->node_count + 1) * sizeof(void *));
    session->started = grove_alloc((session->tree->node_count + 1) * sizeof(bool));
    session->began = grove_now();
    pthread_mutex_init(&session->io_lock, NULL);
    if (!code && !options->serial && !(session->worker = grove_worker_new("grove-io")))
        grove_log(GROVE_LOG_WARNING, "no thread for reading and writing is to be had; they will "
                                     "not overlap with computing");
    return code;
}

grove_session *grove_session_new(grove_tree *tree, const grove_session_options *options,
                                 grove_error *error)
{
    grove_session *session = grove_alloc(sizeof(*session));

    session->tree = tree;
    session->error = tree->error = error;
    if (options)
        session->options = *options;
    if (!start(session, error))
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
    grove_trace_discard(session->trace);
    free(session->facts);
    free(session->nodes);
    free(session->runs);
    free(session->started);
    grove_launch_close(session);
    pthread_mutex_destroy(&session->io_lock);
    free(session);
}

grove_tree *grove_session_tree(grove_session *session)
{
    return session->tree;
}

const grove_counters *grove_session_counters(const grove_session *session)
{
    return &session->counters;
}

/* ---- runs ---- */

static void count(grove_session *session, double began)
{
    grove_cache_counters cache = grove_cache_count(session->cache);
    grove_counters *c = &session->counters;

    grove_launch_settle(session);
    c->seconds += grove_now() - began;
    c->evictions = cache.evictions;
    c->cached_bytes = cache.bytes;
    c->peak_bytes = session->host->peak;
    grove_launch_count(session);
}

static bool is_key(const grove_session *session, grove_hash key)
{
    for (size_t i = 0; i < session->tree->node_count; i++)
        if (grove_hash_equal(session->facts[session->tree->nodes[i]->id].key, key))
            return true;
    return false;
}

/* What was kept under keys that no node has any more is of no use to anybody. */
static void update_facts(grove_session *session)
{
    size_t count = session->tree->node_count;
    grove_hash *before = grove_alloc((count + 1) * sizeof(*before));

    for (size_t i = 0; i < count; i++)
        before[i] = session->facts[session->tree->nodes[i]->id].key;
    grove_facts_update(session->facts, session->tree);
    for (size_t i = 0; i < count; i++)
        if (!is_key(session, before[i]))
            grove_cache_forget(session->cache, before[i]);
    free(before);
}

void grove_session_renew(grove_session *session, const grove_node *leaf)
{
    session->facts[leaf->id].version++;
    update_facts(session);
}

/* What was read may differ after this run has written. */
static void raise_versions(grove_session *session)
{
    for (size_t i = 0; i < session->tree->node_count; i++)
        if (session->tree->nodes[i]->kind == GROVE_NODE_LEAF)
            session->facts[session->tree->nodes[i]->id].version++;
    update_facts(session);
}

static int run_schedule(grove_session *session, grove_node *const *nodes, size_t number,
                        const grove_range *range, int ranges, grove_schedule **schedule)
{
    int code = GROVE_AGAIN;

    session->has_failed = false;
    while (code == GROVE_AGAIN) {
        if ((code = grove_schedule_new(session, nodes, number, range, ranges, schedule)))
            return code;
        double began = grove_now();
        code = grove_schedule_run(*schedule);
        count(session, began);
        if (code != GROVE_AGAIN)
            return code;
        grove_schedule_free(*schedule);
        grove_launch_halve_budget(session);
    }
    return code;
}

static int run_once(grove_session *session)
{
    grove_tree *tree = session->tree;
    grove_schedule *schedule = NULL;
    size_t begun = 0;
    int code = grove_phase_begin(session, &begun);

    if (!code)
        code = run_schedule(session, tree->actions, tree->action_count, NULL, 0, &schedule);
    grove_schedule_free(schedule);
    if (code) {
        grove_phase_abort(session, begun);
        if (code == GROVE_INTERRUPTED)
            grove_fail(session->error, code, "interrupted; every output is as it was before");
        return code;
    }
    code = grove_phase_commit(session);
    raise_versions(session);
    return code;
}

int grove_session_run(grove_session *session)
{
    int cycles = session->tree->cycles > 1 ? session->tree->cycles : 1, code = 0;

    session->began = grove_now();
    session->tree->error = session->error;
    if (session->options.trace &&
        !(session->trace = grove_trace_new(session->options.trace, session->error)))
        return GROVE_IO;
    code = grove_phase_start(session, session->tree->actions, session->tree->action_count);
    for (int i = 0; i < cycles && !code; i++)
        code = run_once(session);
    grove_phase_stop(session);
    int trace_code = grove_trace_finish(session->trace, session->error);
    session->trace = NULL;
    return code ? code : trace_code;
}

int grove_session_evaluate(grove_session *session, grove_node *node, const grove_range *range,
                           int ranges, grove_value **value)
{
    grove_schedule *schedule = NULL;
    int code = grove_phase_start(session, &node, 1);

    if (!code)
        code = run_schedule(session, &node, 1, range, ranges, &schedule);
    grove_phase_stop(session);
    *value = NULL;
    for (int i = 0; !code && i < schedule->count; i++)
        for (int r = 0; r < schedule->passes[i].root_count; r++)
            if (schedule->passes[i].roots[r].kind == GROVE_ROOT_STORE)
                *value = grove_value_ref(schedule->passes[i].roots[r].stored);
    grove_schedule_free(schedule);
    if (code == GROVE_INTERRUPTED)
        grove_fail(session->error, code, "interrupted");
    return code;
}
