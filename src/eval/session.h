/* Sessions: a tree with devices, cache, error and counters. */
#ifndef GROVE_EVAL_SESSION_H
#define GROVE_EVAL_SESSION_H

#include "graph/graph.h"
#include "value/value.h"
#include <stdio.h>

typedef struct {
    bool double_precision;
    uint64_t memory; /* bytes for values; 0: a sensible part of what is free */
    int threads;     /* 0: all */
    int64_t tile_times, tile_channels, tile_baselines; /* force tiles, 0: chosen. For tests. */
    bool cache_off;                                    /* for tests: results must not change */
    bool serial;       /* no reading ahead, no writing behind; for tests */
    const char *trace; /* path of a trace file for browsers' viewers, or NULL */
    bool trace_lines;  /* a line per node and tile on standard error */
    bool profile;
    bool progress;
    bool stop_on_error; /* dump the failing node's inputs */
} grove_session_options;

typedef struct grove_session grove_session;

/* `tree` is borrowed and must outlive the session. NULL with a message on failure. */
grove_session *grove_session_new(grove_tree *tree, const grove_session_options *options,
                                 grove_error *error);
void grove_session_free(grove_session *session);

/* Runs all actions. On failure or Ctrl-C every action begun is aborted. */
int grove_session_run(grove_session *session);

/* The value of a node over its whole extent (or over the blocks of some axes), evaluated in the
 * session's memory budget. A reference the caller drops. */
int grove_session_evaluate(grove_session *session, grove_node *node, const grove_range *range,
                           int ranges, grove_value **value);

/* What a run will take, before it runs. */
typedef struct {
    int64_t tiles, tile_times, tile_channels, tile_baselines;
    int passes;
    uint64_t peak_bytes;    /* of values, buffers in flight included */
    uint64_t process_bytes; /* peak_bytes and what the process holds besides */
    double visibilities;    /* cells of all sinks */
    double operations;      /* rough: cells computed, all nodes */
} grove_plan;
int grove_session_plan(grove_session *session, grove_plan *plan);

typedef struct {
    uint64_t evaluations, hits, misses, evictions, cached_bytes, peak_bytes;
    double seconds;        /* of the run, first to last tile */
    double kernel_seconds; /* in kernels */
    double io_seconds;     /* reading and writing, on their thread */
    double wait_seconds;   /* the evaluating thread waiting for either */
    double visibilities;
    int64_t tiles,
        node_tiles; /* node evaluations: for the cost of the framework per node and tile */
} grove_counters;
const grove_counters *grove_session_counters(const grove_session *session);
/* The profile as a table: per node and per class calls, time, hits, misses, bytes. Caller frees. */
char *grove_session_profile(const grove_session *session);

#endif
