#include "report/report.h"

#include "base/memory.h"
#include "graph/target.h"
#include "run/state.h"

#include <stdlib.h>

typedef struct {
    const grove_session *session;
    grove_trace *trace; /* during a run */
    grove_meter *meter; /* NULL: energy is not measured */
} watcher;

static int begin(void *context, grove_error *error)
{
    watcher *w = context;
    const grove_session_options *options = &w->session->options;
    int code = options->trace ? grove_tree_check_output(w->session->tree, options->trace,
                                                        options->overwrite, error)
                              : 0;

    if (code)
        return code;
    if (options->trace && !(w->trace = grove_trace_new(options->trace, options->overwrite, error)))
        return GROVE_IO;
    if (w->meter)
        grove_meter_begin(w->meter);
    return 0;
}

static void event(void *context, const char *name, const char *kind, int thread, double began,
                  double ended, const grove_range *range, int axes)
{
    const watcher *w = context;
    const grove_session_options *options = &w->session->options;
    double start = w->session->began;

    if (w->meter && thread == 0)
        grove_meter_event(w->meter);
    if (w->trace || options->trace_lines)
        grove_trace_event(w->trace, options->trace_lines, name, kind, thread, began - start,
                          ended - start, range, axes);
}

static void failed(void *context, const grove_node *node, grove_value *const *inputs)
{
    (void)context;
    grove_dump_inputs(node, inputs);
}

static int end(void *context, grove_error *error)
{
    watcher *w = context;

    if (w->meter)
        grove_meter_end(w->meter);
    int code = grove_trace_finish(w->trace, error);
    w->trace = NULL;
    return code;
}

static void close_watcher(void *context)
{
    watcher *w = context;

    grove_trace_discard(w->trace);
    grove_meter_free(w->meter);
    free(w);
}

grove_meter *grove_report_meter(const grove_session *session)
{
    const watcher *w = session->observer.begin == begin ? session->observer.context : NULL;

    return w ? w->meter : NULL;
}

void grove_report_install(grove_session *session)
{
    const grove_session_options *options = &session->options;
    bool traces = options->trace || options->trace_lines;
    watcher *w = grove_alloc(sizeof(*w));

    w->session = session;
    w->meter = options->energy ? grove_meter_new(session) : NULL;
    session->observer = (grove_observer){.context = w,
                                         .begin = begin,
                                         .event = traces || w->meter ? event : NULL,
                                         .failed = options->stop_on_error ? failed : NULL,
                                         .end = end,
                                         .close = close_watcher};
}
