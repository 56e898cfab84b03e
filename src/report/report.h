/* Reports on sessions: traces, and the inputs of a node that failed. */
#ifndef GROVE_REPORT_REPORT_H
#define GROVE_REPORT_REPORT_H

#include "run/session.h"

/* Installs the observers that the session's options ask for: trace, trace_lines, stop_on_error,
 * energy. */
void grove_report_install(grove_session *session);

/* energy.c: the energy of runs, divided among nodes. */
typedef struct grove_meter grove_meter;
grove_meter *grove_meter_new(grove_session *session);
void grove_meter_free(grove_meter *meter); /* NULL is fine */
void grove_meter_begin(grove_meter *meter);
/* From the evaluating thread, when times of nodes have been counted. */
void grove_meter_event(grove_meter *meter);
void grove_meter_end(grove_meter *meter);
/* The session's; NULL: it does not measure energy. */
grove_meter *grove_report_meter(const grove_session *session);

/* profile.c: the name of a node's class for tables. */
const char *grove_report_class(const grove_node *node);

/* trace.c: a trace file, written during the run; lines on standard error. */
typedef struct grove_trace grove_trace;
grove_trace *grove_trace_new(const char *path, bool overwrite,
                             grove_error *error); /* NULL with a message */
/* From any thread; seconds since the run began; trace NULL: no file. */
void grove_trace_event(grove_trace *trace, bool lines, const char *name, const char *kind,
                       int thread, double began, double ended, const grove_range *range, int axes);
int grove_trace_finish(grove_trace *trace, grove_error *error); /* frees it */
void grove_trace_discard(grove_trace *trace);

/* dump.c: the inputs of a failed node, on standard error. */
void grove_dump_inputs(const grove_node *node, grove_value *const *inputs);

#endif
