/* Reports on sessions: traces, and the inputs of a node that failed. */
#ifndef GROVE_REPORT_REPORT_H
#define GROVE_REPORT_REPORT_H

#include "run/session.h"

/* Installs the observers that the session's options ask for: trace, trace_lines, stop_on_error. */
void grove_report_install(grove_session *session);

/* trace.c: a trace file, written during the run; lines on standard error. */
typedef struct grove_trace grove_trace;
grove_trace *grove_trace_new(const char *path, grove_error *error); /* NULL with a message */
/* From any thread; seconds since the run began; trace NULL: no file. */
void grove_trace_event(grove_trace *trace, bool lines, const char *name, const char *kind,
                       int thread, double began, double ended, const grove_range *range, int axes);
int grove_trace_finish(grove_trace *trace, grove_error *error); /* frees it */
void grove_trace_discard(grove_trace *trace);

/* dump.c: the inputs of a failed node, on standard error. */
void grove_dump_inputs(const grove_node *node, grove_value *const *inputs);

#endif
