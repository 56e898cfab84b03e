#include "run/devices.h"
#include "run/table.h"

#include "plan/schedule.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/array.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST ((uint64_t)1 << 12) /* budget for values */
#define INDEX    ((uint64_t)1 << 11) /* the smallest bytes for index arrays */

/* ---- opening ---- */

static int add_device(grove_session *session, const char *kind, int index, grove_error *error)
{
    grove_device *device = grove_device_open(kind, index, session->options.device_memory, error);

    if (!device)
        return grove_error_code(error) ? grove_error_code(error) : GROVE_DEVICE;
    /* a device is of no use without the framework's own kernels */
    int code = grove_device_prepare(device, &grove_array_cast, false, error);
    if (code) {
        grove_device_free(device);
        return code;
    }
    /* a run's time does not include this code */
    device->timing.open_seconds += device->timing.load_seconds;
    device->timing.load_seconds = 0;
    device->host = session->host;
    device->timing.enabled = grove_session_times(session);
    session->devices = grove_realloc(session->devices, ((size_t)session->device_count + 1) *
                                                           sizeof(*session->devices));
    session->devices[session->device_count++] = device;
    return 0;
}

/* The first GPU of the first kind that has one. Warns when it fails or its driver is too old. That
 * there is none, or no code for it in this build, is normal. */
static void open_any(grove_session *session)
{
    for (int k = 0; grove_device_kinds[k] && !session->device_count; k++) {
        grove_error *reason = grove_error_new();
        int index = grove_device_first_gpu(grove_device_kinds[k], reason);
        int code = index >= 0 ? add_device(session, grove_device_kinds[k], index, reason)
                              : grove_error_code(reason);
        if (code && code != GROVE_MISSING)
            grove_log(GROVE_LOG_WARNING, "%s; it is not used", grove_error_message(reason, 0));
        grove_error_free(reason);
    }
}

static int open_all(grove_session *session, const char *kind, grove_error *error)
{
    int count = grove_device_count(kind, error), code = 0;

    if (!count)
        return grove_error_code(error) ? grove_error_code(error) : GROVE_MISSING;
    for (int k = 0; k < count && !code; k++)
        code = add_device(session, kind, k, error);
    return code;
}

enum { ALL = -1 };

/* The kind and index of "KIND", "KIND:N" or "KIND:all"; NULL for anything else. */
static const char *parse_name(const char *name, int *index)
{
    int64_t number = 0;

    for (int k = 0; grove_device_kinds[k]; k++) {
        const char *kind = grove_device_kinds[k], *rest = name + strlen(kind);
        if (strncmp(name, kind, strlen(kind)) != 0)
            continue;
        *index = !strcmp(rest, ":all") ? ALL : 0;
        if (!*rest || *index == ALL)
            return kind;
        const char *end = *rest == ':' ? grove_parse_integer(rest + 1, &number) : NULL;
        *index = (int)number;
        return end && !*end && number >= 0 && number < 1024 ? kind : NULL;
    }
    return NULL;
}

bool grove_session_device_is_known(const char *name)
{
    int index;

    return !strcmp(name, "cpu") || !strcmp(name, "auto") || parse_name(name, &index);
}

int grove_devices_open(grove_session *session, grove_error *error)
{
    const char *name = session->options.device ? session->options.device : "auto";
    int code = 0, index = 0;

    session->host = session->device = grove_device_cpu(session->options.threads);
    session->attempt = grove_error_new();
    if (!grove_session_device_is_known(name))
        return grove_fail(error, GROVE_INVALID,
                          "there is no device '%s'; it can be cpu, auto, cuda, cuda:1 and so on, "
                          "cuda:all, or opencl in the same ways",
                          name);
    const char *kind = parse_name(name, &index);
    if (!strcmp(name, "auto"))
        open_any(session);
    else if (kind && index == ALL)
        code = open_all(session, kind, error);
    else if (kind)
        code = add_device(session, kind, index, error);
    if (session->device_count)
        session->device = session->devices[0];
    return code;
}

void grove_devices_close(grove_session *session)
{
    for (size_t i = 0; session->resident && i < session->tree->node_count; i++)
        grove_buffer_unref(session->resident[i]);
    free(session->resident);
    grove_table_free_all(session);
    for (int k = 0; k < session->device_count; k++)
        grove_device_free(session->devices[k]);
    free(session->devices);
    grove_error_free(session->attempt);
    grove_device_free(session->host);
}

bool grove_devices_in_use(const grove_session *session)
{
    return session->device != session->host;
}

int grove_devices_index(const grove_session *session, const grove_device *device)
{
    for (int k = 0; k < session->device_count; k++)
        if (session->devices[k] == device)
            return k;
    return 0;
}

int grove_devices_tiles_in_flight(const grove_session *session)
{
    int count = session->device_count > 1 ? session->device_count + 1 : 2;

    return count < GROVE_MAX_TILES_IN_FLIGHT ? count : GROVE_MAX_TILES_IN_FLIGHT;
}

void grove_devices_choose(grove_session *session, int64_t tile)
{
    if (session->device_count > 1)
        session->device = session->devices[tile % session->device_count];
    session->device->epoch++;
}

/* ---- memory ---- */

/* Members' data are on the device besides the values: all of them, unless they are too large. */
static uint64_t member_bytes(const grove_session *session)
{
    const grove_tree *tree = session->tree;
    uint64_t sum = 0;

    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        if (!node->used || node->kind != GROVE_NODE_MEMBER ||
            !node->leaf->members[node->member].data)
            continue;
        uint64_t cells = 1;
        for (int d = 0; d < node->axis_count; d++)
            cells *= (uint64_t)node->axes[d]->size;
        sum +=
            grove_device_block_bytes(session->device, cells * grove_form_bytes(&node->form, true));
    }
    return sum;
}

static uint64_t kept_by(const grove_session *session, const grove_node *node)
{
    return grove_facts_amounts(session->facts, node)->device_memory;
}

static uint64_t kept_until(const grove_session *session, size_t end)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < end; i++)
        if (session->tree->nodes[i]->used && kept_by(session, session->tree->nodes[i]))
            sum += grove_device_block_bytes(session->device,
                                            kept_by(session, session->tree->nodes[i]));
    return sum;
}

bool grove_devices_can_keep(const grove_session *session, const grove_node *node)
{
    uint64_t bytes = kept_by(session, node) ? kept_until(session, (size_t)node->id + 1) : 0;
    bool can = true;

    for (int k = 0; k < session->device_count; k++)
        can = can && (!session->devices[k]->budget.limit ||
                      bytes <= session->devices[k]->budget.limit / 2);
    return can;
}

static uint64_t kept_bytes(const grove_session *session)
{
    const grove_tree *tree = session->tree;
    uint64_t bytes = 0;

    for (size_t i = 0; i < tree->node_count; i++)
        if (kept_by(session, tree->nodes[i]) && grove_devices_can_keep(session, tree->nodes[i]))
            bytes = kept_until(session, i + 1);
    return bytes;
}

void grove_devices_set_budget(grove_session *session)
{
    uint64_t members = member_bytes(session) + grove_table_bytes(session);
    uint64_t kept = kept_bytes(session);

    session->budget = session->memory;
    for (int k = 0; k < session->device_count; k++)
        session->members_by_tile =
            session->members_by_tile || members > session->devices[k]->budget.limit / 4;
    for (int k = 0; k < session->device_count; k++) {
        uint64_t limit = session->devices[k]->budget.limit;
        /* reserves a part for index arrays, for rounding and for kernels that are not loaded yet */
        uint64_t taken = limit / 16 + INDEX + session->devices[k]->local_bytes + kept +
                         (session->members_by_tile ? 0 : members);
        uint64_t own = limit > taken + SMALLEST ? limit - taken : SMALLEST;
        if (limit && own < session->budget)
            session->budget = own;
    }
}

void grove_devices_halve_budget(grove_session *session)
{
    session->members_by_tile = true;
    session->budget /= 2;
    if (session->budget < SMALLEST / 2) {
        session->host_only = true;
        session->budget = session->memory;
    }
}

void grove_devices_make_host_room(grove_session *session, uint64_t bytes)
{
    const grove_device *host = session->host;
    uint64_t in_use = host->budget.in_use;

    if (host->budget.limit && in_use + bytes > host->budget.limit)
        grove_cache_shrink(session->cache, NULL, in_use + bytes - host->budget.limit);
}

bool grove_devices_make_room(grove_session *session, uint64_t bytes)
{
    grove_device *device = session->device;
    uint64_t before = device->budget.in_use;

    if (grove_cache_shrink(session->cache, device, bytes))
        return true;
    for (size_t i = 0; session->resident && i < session->tree->node_count; i++)
        if (session->resident[i] && grove_buffer_is_sole(session->resident[i]))
            grove_buffer_drop(session->resident[i], device);
    return device->budget.in_use < before;
}

grove_buffer *grove_devices_resident(grove_session *session, const grove_node *node)
{
    return session->resident ? grove_buffer_ref(session->resident[node->id]) : NULL;
}

void grove_devices_keep(grove_session *session, const grove_node *node, grove_buffer *buffer)
{
    if (!grove_devices_in_use(session))
        return;
    if (!session->resident)
        session->resident =
            grove_alloc((session->tree->node_count + 1) * sizeof(*session->resident));
    grove_buffer_unref(session->resident[node->id]);
    session->resident[node->id] = grove_buffer_ref(buffer);
}

int grove_devices_fail(grove_session *session, int code, const grove_error *reason)
{
    if (__atomic_exchange_n(&session->has_failed, true, __ATOMIC_ACQ_REL))
        return code;
    return grove_fail(session->error, code, "%s", grove_error_message(reason, 0));
}

int grove_session_wait(grove_session *session)
{
    int code = 0;

    for (int k = 0; k < session->device_count && !code; k++) {
        grove_error_clear(session->attempt);
        code = grove_device_wait(session->devices[k], session->attempt);
        if (code)
            code = grove_devices_fail(session, code, session->attempt);
    }
    return code;
}
