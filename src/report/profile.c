/* Profiles: the cost of a run by node and by class. */
#include "report/report.h"

#include "base/energy.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/tuned.h"
#include "run/state.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    grove_node_counters sum;
} line;

static int by_time(const void *a, const void *b)
{
    const line *x = a, *y = b;

    if (x->sum.seconds != y->sum.seconds)
        return x->sum.seconds < y->sum.seconds ? 1 : -1;
    return strcmp(x->name, y->name);
}

const char *grove_report_class(const grove_node *node)
{
    switch (node->kind) {
    case GROVE_NODE_CONSTANT:
        return "(number)";
    case GROVE_NODE_MEMBER:
        return "(data)";
    case GROVE_NODE_CAST:
        return "(conversion)";
    default:
        return node->class_->name;
    }
}

static void add_to(line *lines, size_t *count, const char *name, const grove_node_counters *c)
{
    size_t i = 0;

    while (i < *count && strcmp(lines[i].name, name))
        i++;
    if (i == *count)
        lines[(*count)++] = (line){.name = name};
    lines[i].sum.calls += c->calls;
    lines[i].sum.hits += c->hits;
    lines[i].sum.bytes += c->bytes;
    lines[i].sum.seconds += c->seconds;
    lines[i].sum.device_hits += c->device_hits;
    lines[i].sum.joules += c->joules + c->device_joules;
    lines[i].sum.device.bytes_up += c->device.bytes_up;
    lines[i].sum.device.bytes_down += c->device.bytes_down;
    lines[i].sum.device.launches += c->device.launches;
    lines[i].sum.device.allocations += c->device.allocations;
    lines[i].sum.busy.kernels += c->busy.kernels;
    lines[i].sum.busy.up += c->busy.up;
    lines[i].sum.busy.down += c->busy.down;
}

static void print(grove_text *text, const char *title, line *lines, size_t count, bool energy)
{
    char time[32], bytes[32], joules[32];

    qsort(lines, count, sizeof(*lines), by_time);
    grove_text_add(text, "%-28s %10s %12s %10s %10s %12s%s\n", title, "calls", "time", "hits",
                   "misses", "bytes", energy ? "      energy" : "");
    for (size_t i = 0; i < count; i++) {
        grove_text_add(text, "%-28s %10llu %12s %10llu %10llu %12s", lines[i].name,
                       (unsigned long long)(lines[i].sum.calls + lines[i].sum.hits),
                       grove_show_seconds(time, lines[i].sum.seconds),
                       (unsigned long long)lines[i].sum.hits,
                       (unsigned long long)lines[i].sum.calls,
                       grove_show_bytes(bytes, (double)lines[i].sum.bytes));
        if (energy)
            grove_text_add(text, " %11s", grove_show_joules(joules, lines[i].sum.joules));
        grove_text_add(text, "\n");
    }
}

/* Work of devices, if any. */
static void print_devices(grove_text *text, const char *title, const line *lines, size_t count)
{
    char up[32], down[32], kernels[32], sending[32], fetching[32];

    grove_text_add(text, "%-28s %10s %12s %12s %12s %12s %12s %10s %10s\n", title, "launches",
                   "kernels", "to device", "copying", "back", "copying", "blocks", "hits there");
    for (size_t i = 0; i < count; i++) {
        const grove_traffic *t = &lines[i].sum.device;
        if (!t->launches && !t->bytes_up && !t->bytes_down && !t->allocations)
            continue;
        const grove_busy *busy = &lines[i].sum.busy;
        grove_text_add(
            text, "%-28s %10llu %12s %12s %12s %12s %12s %10llu %10llu\n", lines[i].name,
            (unsigned long long)t->launches, grove_show_seconds(kernels, busy->kernels),
            grove_show_bytes(up, (double)t->bytes_up), grove_show_seconds(sending, busy->up),
            grove_show_bytes(down, (double)t->bytes_down), grove_show_seconds(fetching, busy->down),
            (unsigned long long)t->allocations, (unsigned long long)lines[i].sum.device_hits);
    }
}

/* The time that a device was busy with each kind of work, next to the time of the run: they
 * overlap.
 */
static void print_busy(grove_text *text, const grove_device *device, double whole)
{
    const grove_busy *busy = &device->timing.busy;
    const double seconds[] = {busy->kernels, busy->up, busy->down};
    const char *const names[] = {"kernels", "copies to it", "copies back"};
    char a[32];

    grove_text_add(text, "%s was busy with", device->name);
    for (int k = 0; k < 3; k++)
        grove_text_add(text, "%s %s %s (%.0f %%)", k ? "," : "", names[k],
                       grove_show_seconds(a, seconds[k]),
                       whole > 0 ? 100 * seconds[k] / whole : 0.0);
    grove_text_add(text, "; opened in %s", grove_show_seconds(a, device->timing.open_seconds));
    grove_text_add(text, ", code loaded in %s\n",
                   grove_show_seconds(a, device->timing.load_seconds));
}

static void print_device_sums(grove_text *text, const grove_session *session)
{
    const grove_counters *c = &session->counters;
    char a[32], b[32], d[32], e[32];

    for (int k = 0; k < session->device_count; k++)
        grove_text_add(text, "%s: %s\n", session->devices[k]->name,
                       session->devices[k]->description);
    for (int k = 0; session->options.profile && k < session->device_count; k++)
        print_busy(text, session->devices[k], c->seconds);
    grove_text_add(text,
                   "%llu launches; %s up, %s down; %llu blocks, %llu of them from the driver, at "
                   "most %s, %s of them local memory of kernels\n",
                   (unsigned long long)c->launches, grove_show_bytes(a, (double)c->bytes_up),
                   grove_show_bytes(b, (double)c->bytes_down), (unsigned long long)c->allocations,
                   (unsigned long long)c->system_allocations,
                   grove_show_bytes(d, (double)c->device_peak_bytes),
                   grove_show_bytes(e, (double)c->device_local_bytes));
}

/* Kernels that run with configurations of grove tune. */
static void print_tuned(grove_text *text, const grove_session *session)
{
    for (int k = -1; k < session->device_count; k++) {
        char *used = grove_tuned_used(k < 0 ? session->host : session->devices[k]);
        grove_text_add(text, "%s", used);
        free(used);
    }
}

static void print_sums(grove_text *text, const grove_counters *c)
{
    char a[32], b[32], d[32], e[32];
    double rest = c->seconds - c->kernel_seconds - c->drive_seconds - c->wait_seconds;

    grove_text_add(text, "first to last tile %s: kernels %s, ", grove_show_seconds(a, c->seconds),
                   grove_show_seconds(b, c->kernel_seconds));
    if (c->drive_seconds > 0)
        grove_text_add(text, "fits %s, ", grove_show_seconds(a, c->drive_seconds));
    grove_text_add(text, "waiting for data %s, framework %s",
                   grove_show_seconds(d, c->wait_seconds), grove_show_seconds(e, rest));
    if (c->node_tiles)
        grove_text_add(text, " (%.1f us per node and tile)", 1e6 * rest / (double)c->node_tiles);
    grove_text_add(text, "\nreading and writing %s in the background, including writing %s\n",
                   grove_show_seconds(a, c->io_seconds), grove_show_seconds(b, c->write_seconds));
    grove_text_add(text,
                   "%llu evaluations in %lld tiles; cache: %llu hits, %llu misses, %llu evicted, "
                   "%s kept; at most %s of values\n",
                   (unsigned long long)c->evaluations, (long long)c->tiles,
                   (unsigned long long)c->hits, (unsigned long long)c->misses,
                   (unsigned long long)c->evictions, grove_show_bytes(a, (double)c->cached_bytes),
                   grove_show_bytes(b, (double)c->peak_bytes));
}

char *grove_session_profile(const grove_session *session)
{
    const grove_tree *tree = session->tree;
    line *nodes = grove_alloc((tree->node_count + 1) * sizeof(line));
    line *classes = grove_alloc((tree->node_count + 1) * sizeof(line));
    size_t node_count = 0, class_count = 0;
    const bool energy = session->options.energy;
    grove_text text = {0};

    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        const grove_node_counters *c = &session->nodes[node->id];
        if (!c->calls && !c->hits && c->seconds <= 0 && !c->device.bytes_down)
            continue;
        nodes[node_count] = (line){node->name, *c};
        nodes[node_count++].sum.joules += c->device_joules;
        add_to(classes, &class_count, grove_report_class(node), c);
    }
    print(&text, "node", nodes, node_count, energy);
    grove_text_add(&text, "\n");
    print(&text, "class", classes, class_count, energy);
    grove_text_add(&text, "\n");
    if (session->device_count) {
        print_devices(&text, "node", nodes, node_count);
        grove_text_add(&text, "\n");
    }
    print_sums(&text, grove_session_counters(session));
    if (session->device_count)
        print_device_sums(&text, session);
    print_tuned(&text, session);
    free(nodes);
    free(classes);
    return text.at;
}
