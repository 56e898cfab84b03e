/* The energy of runs, and its division among nodes. */
#include "report/report.h"

#include "base/energy.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/state.h"
#include "unstable/threads.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct grove_meter {
    grove_session *session;
    grove_energy *energy;
    /* Reads once in a second, so that no counter begins anew twice in a step that takes long. */
    grove_worker *worker;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int64_t ticket; /* of watching; 0: nobody does */
    bool runs, ends;
    double base[GROVE_ENERGY_KINDS]; /* at the beginning of the run */
    double began;
    /* Of the last division: when, joules of the host, seconds of nodes and of waiting. */
    double at, joules, *seconds, waited;
    double rest; /* joules that no node has */
};

/* Readings of RAPL are new each millisecond. */
#define INTERVAL 0.01

grove_meter *grove_meter_new(grove_session *session)
{
    grove_meter *m = grove_alloc(sizeof(*m));
    grove_energy_device *devices =
        grove_alloc(((size_t)session->device_count + 1) * sizeof(*devices));
    pthread_condattr_t clock;

    for (int k = 0; k < session->device_count; k++)
        devices[k] = (grove_energy_device){session->devices[k]->name, session->devices[k]->place};
    m->session = session;
    m->energy = grove_energy_open(devices, session->device_count);
    m->seconds = grove_alloc((session->node_count + 1) * sizeof(*m->seconds));
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&m->wake, &clock);
    pthread_condattr_destroy(&clock);
    m->worker = grove_worker_new("grove-energy");
    free(devices);
    return m;
}

static void stop_watching(grove_meter *m)
{
    if (!m->ticket)
        return;
    pthread_mutex_lock(&m->lock);
    m->ends = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    grove_worker_wait(m->worker, m->ticket);
    m->ticket = 0;
}

void grove_meter_free(grove_meter *m)
{
    if (!m)
        return;
    stop_watching(m);
    grove_worker_free(m->worker);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    grove_energy_free(m->energy);
    free(m->seconds);
    free(m);
}

static void watch(void *context)
{
    grove_meter *m = context;
    double joules[GROVE_ENERGY_KINDS];
    struct timespec next;

    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&m->lock);
    while (!m->ends) {
        next.tv_sec++;
        while (!m->ends && pthread_cond_timedwait(&m->wake, &m->lock, &next) != ETIMEDOUT)
            ;
        pthread_mutex_unlock(&m->lock);
        grove_energy_read(m->energy, joules);
        clock_gettime(CLOCK_MONOTONIC, &next);
        pthread_mutex_lock(&m->lock);
    }
    pthread_mutex_unlock(&m->lock);
}

/* Joules of all but GPUs, since the beginning of the run; *all: of each kind. */
static double read_host(const grove_meter *m, double all[GROVE_ENERGY_KINDS])
{
    double host[GROVE_ENERGY_KINDS];

    grove_energy_read(m->energy, all);
    for (int kind = 0; kind < GROVE_ENERGY_KINDS; kind++)
        host[kind] = all[kind] -= m->base[kind];
    host[GROVE_ENERGY_DEVICE] = 0;
    return grove_energy_total(m->energy, host);
}

/* Divides the host's energy since the last division in proportion to the seconds of nodes in it.
 * The rest of the time in which this thread did not wait belongs to no node: the framework's, and
 * of outputs that are finished. */
static void divide(grove_meter *m, double now, double joules)
{
    grove_session *session = m->session;
    const double took = joules - m->joules, waited = session->counters.wait_seconds;
    double busy = 0;

    for (size_t i = 0; i < session->node_count; i++)
        busy += session->nodes[i].seconds - m->seconds[i];
    double rest = fmax(0, now - m->at - (waited - m->waited) - busy);
    for (size_t i = 0; i < session->node_count; i++) {
        grove_node_counters *node = &session->nodes[i];
        if (busy > 0)
            node->joules += took * (node->seconds - m->seconds[i]) / (busy + rest);
        m->seconds[i] = node->seconds;
    }
    m->rest += busy > 0 ? took * rest / (busy + rest) : took;
    m->at = now;
    m->joules = joules;
    m->waited = waited;
}

void grove_meter_begin(grove_meter *m)
{
    const grove_session *session = m->session;

    grove_energy_read(m->energy, m->base);
    m->began = m->at = grove_now();
    m->joules = 0;
    m->waited = session->counters.wait_seconds;
    for (size_t i = 0; i < session->node_count; i++)
        m->seconds[i] = session->nodes[i].seconds;
    m->runs = true;
    m->ends = false;
    if (m->worker)
        m->ticket = grove_worker_queue(m->worker, watch, m);
}

void grove_meter_event(grove_meter *m)
{
    double now = grove_now(), all[GROVE_ENERGY_KINDS];

    if (m->runs && now - m->at >= INTERVAL)
        divide(m, now, read_host(m, all));
}

/* Divides the GPUs' energy in proportion to the time of nodes' kernels; of a run without any, of
 * copies. */
static void divide_devices(grove_session *session, double joules)
{
    double kernels = 0, copies = 0;

    for (size_t i = 0; i < session->node_count; i++) {
        const grove_busy *busy = &session->nodes[i].busy;
        kernels += busy->kernels;
        copies += busy->up + busy->down;
    }
    for (size_t i = 0; i < session->node_count; i++) {
        const grove_busy *busy = &session->nodes[i].busy;
        session->nodes[i].device_joules = kernels > 0  ? joules * busy->kernels / kernels
                                          : copies > 0 ? joules * (busy->up + busy->down) / copies
                                                       : 0;
    }
}

void grove_meter_end(grove_meter *m)
{
    grove_counters *c = &m->session->counters;
    double all[GROVE_ENERGY_KINDS], now;

    stop_watching(m);
    m->runs = false;
    double host = read_host(m, all);
    divide(m, now = grove_now(), host);
    c->energy_seconds += now - m->began;
    c->host_joules += host;
    c->processor_joules += all[GROVE_ENERGY_PROCESSOR];
    c->memory_joules += all[GROVE_ENERGY_MEMORY];
    c->device_joules += all[GROVE_ENERGY_DEVICE];
    divide_devices(m->session, c->device_joules);
}

/* ---- text ---- */

typedef struct {
    const char *name;
    double joules, device_joules;
} line;

static int by_joules(const void *a, const void *b)
{
    const line *x = a, *y = b;
    double s = x->joules + x->device_joules, t = y->joules + y->device_joules;

    return s != t ? (s < t ? 1 : -1) : strcmp(x->name, y->name);
}

static size_t add_to(line *lines, size_t count, const char *name, double joules, double device)
{
    size_t i = 0;

    while (i < count && strcmp(lines[i].name, name))
        i++;
    if (i == count)
        lines[i] = (line){.name = name};
    lines[i].joules += joules;
    lines[i].device_joules += device;
    return i == count ? count + 1 : count;
}

static void add_summary(grove_text *text, const grove_meter *m, double whole)
{
    const grove_counters *c = &m->session->counters;
    const struct {
        grove_energy_kind kind;
        const char *name;
        double joules;
    } parts[] = {{GROVE_ENERGY_PROCESSOR, "processors", c->processor_joules},
                 {GROVE_ENERGY_MEMORY, "memory", c->memory_joules},
                 {GROVE_ENERGY_DEVICE, "GPUs", c->device_joules}};
    char a[32], b[32];
    const char *before = ": ";

    grove_text_add(text, "energy %s in %s, %.*f W", grove_show_joules(a, whole),
                   grove_show_seconds(b, c->energy_seconds), whole < 10 * c->energy_seconds ? 2 : 0,
                   c->energy_seconds > 0 ? whole / c->energy_seconds : 0);
    for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
        if (grove_energy_has(m->energy, parts[k].kind)) {
            grove_text_add(text, "%s%s %s", before, parts[k].name,
                           grove_show_joules(a, parts[k].joules));
            before = ", ";
        }
    if (c->visibilities > 0 && whole > 0)
        grove_text_add(text, "; %s visibilities per joule",
                       grove_show_count(a, c->visibilities / whole));
    grove_text_add(text, "\n");
}

static void add_missing(grove_text *text, const grove_meter *m, bool any)
{
    char *missing = grove_energy_missing(m->energy);

    for (const char *at = missing, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        grove_text_add(text, "energy %s: %.*s\n", any ? "is incomplete" : "cannot be read",
                       (int)(end - at), at);
    }
    if (!any && !*missing)
        grove_text_add(text, "energy cannot be read: there is no counter of processors\n");
    free(missing);
}

static void add_classes(grove_text *text, const grove_meter *m, line *lines, size_t count,
                        double whole)
{
    const bool devices = grove_energy_has(m->energy, GROVE_ENERGY_DEVICE);
    const double visibilities = m->session->counters.visibilities;
    char a[32];

    grove_text_add(text, "%-28s %12s%s %8s%s\n", "class", devices ? "processors" : "energy",
                   devices ? "         GPUs" : "", "of all",
                   visibilities > 0 ? "  visibilities/J" : "");
    for (size_t i = 0; i < count; i++) {
        const double own = lines[i].joules + lines[i].device_joules;
        if (own <= 0)
            continue;
        grove_text_add(text, "%-28s %12s", lines[i].name, grove_show_joules(a, lines[i].joules));
        if (devices)
            grove_text_add(text, " %12s", grove_show_joules(a, lines[i].device_joules));
        grove_text_add(text, " %6.1f %%", 100 * own / whole);
        if (visibilities > 0)
            grove_text_add(text, " %15s", grove_show_count(a, visibilities / own));
        grove_text_add(text, "\n");
    }
}

char *grove_session_energy(const grove_session *session)
{
    const grove_meter *m = grove_report_meter(session);

    if (!m)
        return NULL;
    const grove_counters *c = &session->counters;
    const double whole = c->host_joules + c->device_joules;
    line *lines = grove_alloc((session->node_count + 2) * sizeof(*lines));
    bool any = false;
    size_t count = 0;
    grove_text text = {0};
    double devices = c->device_joules;

    for (int kind = 0; kind < GROVE_ENERGY_KINDS; kind++)
        any = any || grove_energy_has(m->energy, kind);
    if (any)
        add_summary(&text, m, whole);
    add_missing(&text, m, any);
    for (size_t i = 0; i < session->node_count; i++) {
        const grove_node_counters *node = &session->nodes[session->tree->nodes[i]->id];
        count = add_to(lines, count, grove_report_class(session->tree->nodes[i]), node->joules,
                       node->device_joules);
        devices -= node->device_joules;
    }
    count = add_to(lines, count, "(rest)", m->rest, devices > 1e-9 * whole ? devices : 0);
    qsort(lines, count, sizeof(*lines), by_joules);
    if (whole > 0) {
        grove_text_add(&text, "\n");
        add_classes(&text, m, lines, count, whole);
    }
    free(lines);
    return text.at;
}
