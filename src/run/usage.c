#include "run/usage.h"

static grove_traffic traffic_of(const grove_session *session)
{
    grove_traffic sum = {.bytes_down = session->downloaded};

    for (int k = 0; k < session->device_count; k++) {
        const grove_device *device = session->devices[k];
        sum.bytes_up += device->bytes_up;
        sum.launches += device->launches;
        sum.allocations += device->budget.allocations;
    }
    return sum;
}

void grove_usage_time_for(grove_session *session, grove_busy *to)
{
    for (int k = 0; grove_session_times(session) && k < session->device_count; k++)
        grove_timing_attribute(session->devices[k], to);
}

/* Errors are ignored: they occur again when results are read. */
void grove_usage_wait(grove_session *session)
{
    for (int k = 0; grove_session_times(session) && k < session->device_count; k++)
        grove_timing_collect(session->devices[k], NULL);
}

void grove_usage_count_for(grove_session *session, const grove_node *node)
{
    grove_traffic *own = &session->nodes[node->id].device, *counted = &session->counted;

    if (!session->device_count)
        return;
    grove_traffic now = traffic_of(session);
    own->bytes_up += now.bytes_up - counted->bytes_up;
    __atomic_fetch_add(&own->bytes_down, now.bytes_down - counted->bytes_down, __ATOMIC_RELAXED);
    own->launches += now.launches - counted->launches;
    own->allocations += now.allocations - counted->allocations;
    *counted = now;
}

void grove_usage_seconds_for(grove_session *session, const grove_node *node, const char *kind,
                             double began)
{
    double ended = grove_now();

    session->nodes[node->id].seconds += ended - began;
    grove_session_event(session, node->name, kind, 0, began, ended, NULL, 0);
}

void grove_usage_count(grove_session *session)
{
    grove_traffic sum = traffic_of(session);
    grove_counters *c = &session->counters;

    c->bytes_up = sum.bytes_up;
    c->launches = sum.launches;
    c->allocations = sum.allocations;
    c->bytes_down = c->system_allocations = c->device_peak_bytes = c->device_local_bytes = 0;
    c->device_kernel_seconds = c->device_up_seconds = c->device_down_seconds = 0;
    c->device_open_seconds = c->device_load_seconds = 0;
    for (int k = 0; k < session->device_count; k++) {
        const grove_device *device = session->devices[k];
        c->bytes_down += device->bytes_down;
        c->system_allocations += device->budget.system_allocations;
        c->device_peak_bytes += device->budget.peak;
        c->device_local_bytes += device->local_bytes;
        c->device_kernel_seconds += device->timing.busy.kernels;
        c->device_up_seconds += device->timing.busy.up;
        c->device_down_seconds += device->timing.busy.down;
        c->device_open_seconds += device->timing.open_seconds;
        c->device_load_seconds += device->timing.load_seconds;
    }
}
