#include "run/launch.h"
#include "plan/schedule.h"
#include "run/table.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/array.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST ((uint64_t)1 << 12) /* budget for values */
#define INDEX    ((uint64_t)1 << 11) /* for the least of index arrays */

/* ---- opening ---- */

static int add_device(grove_session *session, int index, grove_error *error)
{
    grove_device *device = grove_device_open("cuda", index, session->options.device_memory, error);

    if (!device)
        return grove_error_code(error) ? grove_error_code(error) : GROVE_DEVICE;
    /* without the framework's own kernels nothing could be done there */
    int code = grove_device_prepare(device, &grove_array_cast, false, error);
    if (code) {
        grove_device_free(device);
        return code;
    }
    device->host = session->host;
    device->timing.enabled = session->options.profile;
    session->devices = grove_realloc(session->devices, ((size_t)session->device_count + 1) *
                                                           sizeof(*session->devices));
    session->devices[session->device_count++] = device;
    return 0;
}

/* A device that fails is worth a warning; none at all, or a build without code for it, are usual.
 */
static void open_any(grove_session *session)
{
    grove_error *reason = grove_error_new();
    int code = grove_device_count("cuda", reason) > 0 ? add_device(session, 0, reason) : 0;

    if (code && code != GROVE_MISSING)
        grove_log(GROVE_LOG_WARNING, "%s; the cpu does everything", grove_error_message(reason, 0));
    grove_error_free(reason);
}

static int open_all(grove_session *session, grove_error *error)
{
    int count = grove_device_count("cuda", error), code = 0;

    if (!count)
        return grove_error_code(error) ? grove_error_code(error) : GROVE_MISSING;
    for (int k = 0; k < count && !code; k++)
        code = add_device(session, k, error);
    return code;
}

/* N of "cuda:N"; -1 for anything else. */
static int index_of(const char *name)
{
    int64_t number = 0;
    const char *end = !strncmp(name, "cuda:", 5) ? grove_parse_integer(name + 5, &number) : NULL;

    return end && !*end && number >= 0 && number < 1024 ? (int)number : -1;
}

bool grove_session_device_is_known(const char *name)
{
    return !strcmp(name, "cpu") || !strcmp(name, "auto") || !strcmp(name, "cuda") ||
           !strcmp(name, "cuda:all") || index_of(name) >= 0;
}

int grove_launch_open(grove_session *session, grove_error *error)
{
    const char *name = session->options.device ? session->options.device : "auto";
    int code = 0;

    session->host = session->device = grove_device_cpu(session->options.threads);
    session->attempt = grove_error_new();
    if (!grove_session_device_is_known(name))
        return grove_fail(error, GROVE_INVALID,
                          "there is no device '%s'; it can be cpu, auto, cuda, cuda:1 and so on, "
                          "or cuda:all",
                          name);
    if (!strcmp(name, "cpu"))
        return 0;
    if (!strcmp(name, "auto"))
        open_any(session);
    else if (!strcmp(name, "cuda:all"))
        code = open_all(session, error);
    else
        code = add_device(session, strcmp(name, "cuda") != 0 ? index_of(name) : 0, error);
    if (session->device_count)
        session->device = session->devices[0];
    return code;
}

void grove_launch_close(grove_session *session)
{
    for (size_t i = 0; session->kept && i < session->tree->node_count; i++)
        grove_buffer_unref(session->kept[i]);
    free(session->kept);
    grove_table_free_all(session);
    for (int k = 0; k < session->device_count; k++)
        grove_device_free(session->devices[k]);
    free(session->devices);
    grove_error_free(session->attempt);
    grove_device_free(session->host);
}

bool grove_launch_is_away(const grove_session *session)
{
    return session->device != session->host;
}

int grove_launch_flights(const grove_session *session)
{
    int count = session->device_count > 1 ? session->device_count + 1 : 2;

    return count < GROVE_MOST_FLIGHTS ? count : GROVE_MOST_FLIGHTS;
}

void grove_launch_turn(grove_session *session, int64_t tile)
{
    if (session->device_count > 1)
        session->device = session->devices[tile % session->device_count];
    session->device->epoch++;
}

/* ---- memory ---- */

/* Members' data lie on the device beside the values, all of them unless they are many. */
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

void grove_launch_budget(grove_session *session)
{
    uint64_t members = member_bytes(session) + grove_table_bytes(session);

    session->budget = session->memory;
    for (int k = 0; k < session->device_count; k++)
        session->parted = session->parted || members > session->devices[k]->budget.limit / 4;
    for (int k = 0; k < session->device_count; k++) {
        uint64_t limit = session->devices[k]->budget.limit;
        /* a part is left for index arrays and for what rounding takes */
        uint64_t taken = limit / 16 + INDEX + (session->parted ? 0 : members);
        uint64_t own = limit > taken + SMALLEST ? limit - taken : SMALLEST;
        if (limit && own < session->budget)
            session->budget = own;
    }
}

void grove_launch_halve_budget(grove_session *session)
{
    session->parted = true;
    session->budget /= 2;
    if (session->budget < SMALLEST / 2) {
        session->resigned = true;
        session->budget = session->memory;
    }
}

void grove_launch_room(grove_session *session, uint64_t bytes)
{
    const grove_device *host = session->host;
    uint64_t in_use = host->budget.in_use;

    if (host->budget.limit && in_use + bytes > host->budget.limit)
        grove_cache_shrink(session->cache, NULL, in_use + bytes - host->budget.limit);
}

/* Lets go of what is on the device and not in use, until so many bytes are free or nothing is left;
 * true if any went. */
static bool make_room(grove_session *session, uint64_t bytes)
{
    grove_device *device = session->device;
    uint64_t before = device->budget.in_use;

    if (grove_cache_shrink(session->cache, device, bytes))
        return true;
    for (size_t i = 0; session->kept && i < session->tree->node_count; i++)
        if (session->kept[i] && grove_buffer_is_sole(session->kept[i]))
            grove_buffer_drop(session->kept[i], device);
    return device->budget.in_use < before;
}

grove_buffer *grove_launch_kept(grove_session *session, const grove_node *node)
{
    return session->kept ? grove_buffer_ref(session->kept[node->id]) : NULL;
}

void grove_launch_keep(grove_session *session, const grove_node *node, grove_buffer *buffer)
{
    if (!grove_launch_is_away(session))
        return;
    if (!session->kept)
        session->kept = grove_alloc((session->tree->node_count + 1) * sizeof(*session->kept));
    grove_buffer_unref(session->kept[node->id]);
    session->kept[node->id] = grove_buffer_ref(buffer);
}

/* A device that has failed fails in each thread that uses it: one message does. */
static int fail_once(grove_session *session, int code, const grove_error *reason)
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
            code = fail_once(session, code, session->attempt);
    }
    return code;
}

/* ---- launches ---- */

static void say_once(grove_session *session)
{
    if (session->fallen_back)
        return;
    session->fallen_back = true;
    grove_log(GROVE_LOG_WARNING, "%s; the cpu computes what does not fit",
              grove_error_message(session->attempt, 0));
}

bool grove_launch_has(grove_session *session, const grove_kernel *kernel, bool double_)
{
    grove_device *device = session->device;

    if (!grove_launch_is_away(session) || !kernel)
        return false;
    grove_error_clear(session->attempt);
    int code = grove_device_prepare(device, kernel, double_, session->attempt);
    if (code == GROVE_NO_MEMORY)
        say_once(session);
    else if (code && grove_error_count(session->attempt))
        grove_log(code == GROVE_MISSING ? GROVE_LOG_NOTE : GROVE_LOG_WARNING,
                  "%s; the cpu computes it", grove_error_message(session->attempt, 0));
    return !code;
}

static int settle(grove_session *session, const grove_launch *launch, grove_args *args)
{
    grove_device *device = session->device;
    grove_error *error = session->attempt;
    int code = 0;

    for (int k = 0; k < args->inputs && !code; k++)
        if (launch->in[k])
            code = grove_value_settle(launch->in[k], device, &args->in[k], error);
    if (!code && launch->table) {
        void *at;
        code = grove_buffer_address(launch->table, device, &at, error);
        args->table = at;
    }
    if (!code && !launch->out->data) {
        size_t bytes = (size_t)grove_value_cells(launch->out) * grove_value_cell_bytes(launch->out);
        launch->out->data = grove_buffer_new(device, bytes, error);
        code = launch->out->data ? 0 : grove_error_code(error);
    }
    return code ? code : grove_value_settle(launch->out, device, &args->out, error);
}

/* What the device had to take for it at most. */
static uint64_t bytes_of(const grove_session *session, const grove_launch *launch)
{
    uint64_t sum = (uint64_t)grove_value_cells(launch->out) * grove_value_cell_bytes(launch->out);

    for (int k = 0; k < launch->args->inputs; k++)
        if (launch->in[k] && !grove_buffer_is_on(launch->in[k]->data, session->device))
            sum += grove_buffer_bytes(launch->in[k]->data);
    return sum;
}

static int attempt(grove_session *session, const grove_launch *launch)
{
    grove_device *device = session->device;
    grove_args args = *launch->args;
    bool had_storage = launch->out->data != NULL; /* and numbers, which change */

    grove_error_clear(session->attempt);
    int code = settle(session, launch, &args);
    if (!code)
        code =
            grove_device_launch(device, launch->kernel, &args, launch->double_, session->attempt);
    if (!code && had_storage)
        grove_buffer_write(launch->out->data, device, NULL);
    for (int k = 0; !code && k < args.inputs; k++)
        if (launch->kernel->writes >> k & 1 && launch->in[k])
            grove_buffer_write(launch->in[k]->data, device, NULL);
    if (code && !had_storage) {
        grove_buffer_unref(launch->out->data);
        launch->out->data = NULL;
    }
    return code;
}

int grove_launch_run(grove_session *session, const grove_launch *launch, bool *done)
{
    int code = attempt(session, launch);

    while (code == GROVE_NO_MEMORY && make_room(session, bytes_of(session, launch)))
        code = attempt(session, launch);
    if (code == GROVE_NO_MEMORY) {
        grove_device_trim(session->device);
        code = attempt(session, launch);
    }
    *done = !code;
    if (code == GROVE_NO_MEMORY && session->may_yield)
        return GROVE_AGAIN;
    if (code == GROVE_NO_MEMORY) {
        say_once(session);
        return 0;
    }
    return code ? fail_once(session, code, session->attempt) : 0;
}

/* ---- copies back ---- */

bool grove_launch_is_there(const grove_session *session, const grove_value *value)
{
    return grove_launch_is_away(session) && grove_buffer_is_on(value->data, session->device) &&
           !grove_buffer_is_on(value->data, NULL);
}

int grove_launch_fetch(grove_session *session, grove_value *value)
{
    void *at;

    if (!value || grove_buffer_is_on(value->data, NULL))
        return 0;
    grove_launch_room(session, grove_buffer_bytes(value->data));
    session->fetched += grove_buffer_bytes(value->data);
    return grove_launch_address(session, value->data, &at);
}

int grove_launch_address(grove_session *session, grove_buffer *buffer, void **at)
{
    if (grove_buffer_is_on(buffer, NULL)) {
        *at = grove_buffer_host(buffer, session->error);
        return 0;
    }
    grove_error *reason = grove_error_new();
    int code = grove_buffer_address(buffer, NULL, at, reason);
    if (code)
        fail_once(session, code, reason);
    grove_error_free(reason);
    return code;
}

/* ---- counters ---- */

static grove_traffic traffic_of(const grove_session *session)
{
    grove_traffic sum = {.bytes_down = session->fetched};

    for (int k = 0; k < session->device_count; k++) {
        const grove_device *device = session->devices[k];
        sum.bytes_up += device->bytes_up;
        sum.launches += device->launches;
        sum.allocations += device->budget.allocations;
    }
    return sum;
}

void grove_launch_bill(grove_session *session, grove_busy *to)
{
    for (int k = 0; session->options.profile && k < session->device_count; k++)
        grove_timing_attribute(session->devices[k], to);
}

/* What fails here fails again where results are taken. */
void grove_launch_settle(grove_session *session)
{
    for (int k = 0; session->options.profile && k < session->device_count; k++)
        grove_timing_collect(session->devices[k], NULL);
}

void grove_launch_claim(grove_session *session, const grove_node *node)
{
    grove_traffic *own = &session->nodes[node->id].device, *claimed = &session->claimed;

    if (!session->device_count)
        return;
    grove_traffic now = traffic_of(session);
    own->bytes_up += now.bytes_up - claimed->bytes_up;
    __atomic_fetch_add(&own->bytes_down, now.bytes_down - claimed->bytes_down, __ATOMIC_RELAXED);
    own->launches += now.launches - claimed->launches;
    own->allocations += now.allocations - claimed->allocations;
    *claimed = now;
}

void grove_launch_count(grove_session *session)
{
    grove_traffic sum = traffic_of(session);
    grove_counters *c = &session->counters;

    c->bytes_up = sum.bytes_up;
    c->launches = sum.launches;
    c->allocations = sum.allocations;
    c->bytes_down = c->system_allocations = c->device_peak_bytes = 0;
    c->device_kernel_seconds = c->device_up_seconds = c->device_down_seconds = 0;
    c->device_open_seconds = c->device_load_seconds = 0;
    for (int k = 0; k < session->device_count; k++) {
        const grove_device *device = session->devices[k];
        c->bytes_down += device->bytes_down;
        c->system_allocations += device->budget.system_allocations;
        c->device_peak_bytes += device->budget.peak;
        c->device_kernel_seconds += device->timing.busy.kernels;
        c->device_up_seconds += device->timing.busy.up;
        c->device_down_seconds += device->timing.busy.down;
        c->device_open_seconds += device->timing.open_seconds;
        c->device_load_seconds += device->timing.load_seconds;
    }
}
