/* Traces: events of a run with their times, as lines on standard error and as a JSON file of
 * "complete" events in microseconds (chrome://tracing, ui.perfetto.dev). */
#include "report/report.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <pthread.h>
#include <stdlib.h>

struct grove_trace {
    grove_file *file;
    pthread_mutex_t lock; /* the background thread writes too */
    bool any;
};

grove_trace *grove_trace_new(const char *path, bool overwrite, grove_error *error)
{
    grove_file *file = grove_file_create_output(path, overwrite, error);
    grove_trace *trace;

    if (!file)
        return NULL;
    trace = grove_alloc(sizeof(*trace));
    trace->file = file;
    pthread_mutex_init(&trace->lock, NULL);
    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, "
          "\"args\": {\"name\": \"evaluation\"}},\n"
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, "
          "\"args\": {\"name\": \"reading and writing\"}}",
          grove_file_stream(file));
    return trace;
}

static void add_ranges(grove_text *text, const grove_range *range, int axes)
{
    for (int d = 0; d < axes; d++)
        grove_text_add(text, "%s%s %lld..%lld", d ? ", " : "", range[d].axis->name,
                       (long long)range[d].first, (long long)(range[d].first + range[d].count - 1));
}

/* Names come from tree and data files: quotes and control characters must be escaped. */
static void add_quoted(grove_text *text, const char *name)
{
    grove_text_append(text, "\"", 1);
    for (; *name; name++)
        if (*name == '"' || *name == '\\')
            grove_text_add(text, "\\%c", *name);
        else if ((unsigned char)*name < ' ')
            grove_text_add(text, "\\u%04x", (unsigned)*name);
        else
            grove_text_append(text, name, 1);
    grove_text_append(text, "\"", 1);
}

void grove_trace_event(grove_trace *trace, bool lines, const char *name, const char *kind,
                       int thread, double began, double ended, const grove_range *range, int axes)
{
    grove_text ranges = {0}, text = {0};
    char time[32];

    add_ranges(&ranges, range, axes);
    if (lines)
        fprintf(stderr, "grove: %10.6f s  %-8s %s [%s] %s\n", began, kind, name,
                ranges.at ? ranges.at : "", grove_show_seconds(time, ended - began));
    if (trace) {
        grove_text_add(&text, ",\n{\"name\": ");
        add_quoted(&text, name);
        grove_text_add(&text,
                       ", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, "
                       "\"dur\": %.3f, \"args\": {\"part\": ",
                       kind, thread, 1e6 * began, 1e6 * (ended - began));
        add_quoted(&text, ranges.at ? ranges.at : "");
        grove_text_add(&text, "}}");
        pthread_mutex_lock(&trace->lock);
        fputs(text.at, grove_file_stream(trace->file));
        pthread_mutex_unlock(&trace->lock);
    }
    free(ranges.at);
    free(text.at);
}

int grove_trace_finish(grove_trace *trace, grove_error *error)
{
    int code = 0;

    if (!trace)
        return 0;
    fputs("\n]}\n", grove_file_stream(trace->file));
    code = grove_file_commit(trace->file, error);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
    return code;
}

void grove_trace_discard(grove_trace *trace)
{
    if (!trace)
        return;
    grove_file_discard(trace->file);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
}
