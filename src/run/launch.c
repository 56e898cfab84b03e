#include "run/launch.h"

#include "base/log.h"
#include "device/array.h"

#include <stddef.h>
#include <string.h>

/* ---- set-up ---- */

void grove_launch_begin(grove_launch *launch, const grove_session *session,
                        const grove_kernel *kernel, grove_placement placement,
                        const grove_range *space, int axes, int inputs)
{
    grove_args *args = &launch->args;

    /* devices get all of the arguments; the host reads only the used ones */
    memset(launch, 0,
           grove_devices_in_use(session) ? sizeof(*launch)
                                         : offsetof(grove_launch, args.in[inputs]));
    launch->kernel = kernel;
    launch->placement = placement;
    launch->space = space;
    args->axes = axes;
    args->inputs = inputs;
    for (int d = 0; d < axes; d++) {
        args->size[d] = space[d].count;
        args->origin[d] = space[d].first;
        args->axis[d] = space[d].axis->kind;
    }
}

static void set_input(grove_launch *launch, int k, grove_buffer *buffer)
{
    launch->in[k].buffer = buffer;
    launch->args.in[k].data = buffer;
}

int grove_launch_input(grove_launch *launch, int k, const grove_value *value, char side,
                       grove_error *error)
{
    int code = grove_value_layout(value, launch->space, launch->args.axes, side,
                                  &launch->args.in[k], &launch->in[k].offset, error);

    set_input(launch, k, value->data);
    return code;
}

int grove_launch_input_flags(grove_launch *launch, int k, const grove_value *value, char side,
                             grove_error *error)
{
    if (!value->flags)
        return 0;
    int code = grove_value_flag_layout(value, launch->space, launch->args.axes, side,
                                       &launch->args.in[k], &launch->in[k].offset, error);

    set_input(launch, k, value->flags);
    return code;
}

int grove_launch_leave_rows(grove_launch *launch, const grove_value *value, grove_error *error)
{
    launch->rows.buffer = value->flags;
    return value->flags ? grove_value_flag_layout(value, launch->space, launch->args.axes, 0,
                                                  &launch->rows_view, &launch->rows.offset, error)
                        : 0;
}

void grove_launch_input_buffer(grove_launch *launch, int k, grove_buffer *buffer,
                               const grove_view *view, int64_t offset)
{
    launch->args.in[k] = *view;
    launch->in[k].offset = offset;
    set_input(launch, k, buffer);
}

static void set_output(grove_launch *launch, grove_buffer **buffer, size_t bytes)
{
    launch->out = buffer;
    launch->out_bytes = bytes;
    launch->args.out.data = buffer;
}

int grove_launch_output(grove_launch *launch, grove_value *value, grove_error *error)
{
    size_t bytes;

    launch->double_precision = value->double_;
    if (!grove_value_size(value, &bytes))
        return grove_fail(error, GROVE_NO_MEMORY, "a value is larger than any memory");
    int code = grove_value_layout(value, launch->space, launch->args.axes, 0, &launch->args.out,
                                  &launch->out_offset, error);
    set_output(launch, &value->data, bytes);
    launch->out_gaps = value->gaps;
    return code;
}

int grove_launch_output_flags(grove_launch *launch, grove_value *value, grove_error *error)
{
    int code = grove_value_flag_layout(value, launch->space, launch->args.axes, 0,
                                       &launch->args.out, &launch->out_offset, error);

    set_output(launch, &value->flags, (size_t)grove_value_flag_cells(value));
    return code;
}

void grove_launch_output_buffer(grove_launch *launch, grove_buffer **buffer, size_t bytes,
                                const grove_view *view, int64_t offset)
{
    launch->args.out = *view;
    launch->out_offset = offset;
    set_output(launch, buffer, bytes);
}

/* ---- addresses ---- */

int grove_launch_to_host(grove_session *session, grove_buffer *buffer)
{
    void *at;

    if (!buffer || grove_buffer_is_on(buffer, NULL))
        return 0;
    grove_devices_make_host_room(session, grove_buffer_bytes(buffer));
    session->downloaded += grove_buffer_bytes(buffer);
    return grove_launch_host_address(session, buffer, &at);
}

int grove_launch_host_address(grove_session *session, grove_buffer *buffer, void **at)
{
    if (grove_buffer_is_on(buffer, NULL)) {
        *at = grove_buffer_host(buffer, session->error);
        return 0;
    }
    grove_error *reason = grove_error_new();
    int code = grove_buffer_address(buffer, NULL, at, reason);
    if (code)
        grove_devices_fail(session, code, reason);
    grove_error_free(reason);
    return code;
}

/* With gathered stations, the address of the first cell may lie before the buffer. */
static int set_address(grove_buffer *buffer, grove_device *device, int64_t offset, grove_view *view,
                       grove_error *error)
{
    void *at;
    int code = grove_buffer_address(buffer, device, &at, error);

    if (!code)
        view->data = (void *)((uintptr_t)at + (uintptr_t)offset);
    return code;
}

/* Sets the addresses of all operands; allocates the output if it has no storage. */
static int set_addresses(grove_launch *launch, grove_device *device, grove_error *error)
{
    grove_args *args = &launch->args;
    int code = 0;

    for (int k = 0; k < args->inputs && !code; k++)
        if (launch->in[k].buffer)
            code = set_address(launch->in[k].buffer, device, launch->in[k].offset, &args->in[k],
                               error);
    if (!code && launch->table) {
        void *at;
        code = grove_buffer_address(launch->table, device, &at, error);
        args->table = at;
    }
    if (!code && !*launch->out &&
        !(*launch->out = grove_buffer_new_gaps(
              device, &(grove_extent){launch->out_bytes, launch->out_gaps}, error)))
        code = device->shares_host_memory ? GROVE_NO_MEMORY : grove_error_code(error);
    return code ? code : set_address(*launch->out, device, launch->out_offset, &args->out, error);
}

static int compute(grove_session *session, grove_launch *launch, grove_device *device,
                   grove_error *error)
{
    size_t bytes = launch->scratch_bytes;
    int code = 0;

    if (launch->kernel)
        return grove_device_launch(device, launch->kernel, &launch->args, launch->double_precision,
                                   error);
    launch->failed = false;
    if (bytes)
        code = grove_device_allocate(device, bytes, &launch->scratch, error);
    if (!code)
        code = launch->compute(session, launch, device);
    if (bytes)
        grove_device_release(device, launch->scratch, bytes);
    launch->scratch = NULL;
    return code;
}

/* After writing, the bytes are valid on that device only. */
static void mark_written(const grove_launch *launch, grove_device *device, bool had_storage)
{
    int writes = launch->kernel ? launch->kernel->writes : 0;

    if (had_storage)
        grove_buffer_write(*launch->out, device, NULL);
    for (int k = 0; writes && k < launch->args.inputs; k++)
        if (writes >> k & 1 && launch->in[k].buffer)
            grove_buffer_write(launch->in[k].buffer, device, NULL);
}

/* ---- on the device ---- */

static void warn_once(grove_session *session)
{
    if (session->fallen_back)
        return;
    session->fallen_back = true;
    grove_log(GROVE_LOG_WARNING, "%s; the cpu computes the rest",
              grove_error_message(session->attempt, 0));
}

/* Whether the device has code for the kernel. */
static bool has_code(grove_session *session, const grove_launch *launch)
{
    grove_device *device = session->device;

    grove_error_clear(session->attempt);
    int code =
        grove_device_prepare(device, launch->kernel, launch->double_precision, session->attempt);
    if (code == GROVE_NO_MEMORY)
        warn_once(session);
    else if (code && grove_error_count(session->attempt))
        grove_log(code == GROVE_MISSING ? GROVE_LOG_NOTE : GROVE_LOG_WARNING,
                  "%s; the cpu computes it", grove_error_message(session->attempt, 0));
    return !code;
}

static bool belongs_on_device(grove_session *session, const grove_launch *launch)
{
    if (!grove_devices_in_use(session) || launch->placement == GROVE_LAUNCH_ON_HOST ||
        !launch->out_bytes)
        return false;
    if (launch->placement == GROVE_LAUNCH_BY_INPUT &&
        (!grove_buffer_is_on(launch->in[0].buffer, session->device) ||
         grove_buffer_is_on(launch->in[0].buffer, NULL)))
        return false;
    return !launch->kernel || has_code(session, launch);
}

static int attempt(grove_session *session, grove_launch *launch)
{
    grove_device *device = session->device;
    bool had_storage = *launch->out != NULL;

    grove_error_clear(session->attempt);
    int code = set_addresses(launch, device, session->attempt);
    if (!code)
        code = compute(session, launch, device, session->attempt);
    if (!code) {
        mark_written(launch, device, had_storage);
    } else if (!had_storage) {
        grove_buffer_unref(*launch->out);
        *launch->out = NULL;
    }
    return code;
}

/* Maximum of bytes that the device must allocate for the launch. */
static uint64_t missing_bytes(const grove_session *session, const grove_launch *launch)
{
    uint64_t sum = launch->out_bytes + launch->scratch_bytes;

    for (int k = 0; k < launch->args.inputs; k++)
        if (launch->in[k].buffer && !grove_buffer_is_on(launch->in[k].buffer, session->device))
            sum += grove_buffer_bytes(launch->in[k].buffer);
    return sum;
}

/* Attempts, each with more room. */
static int attempt_all(grove_session *session, grove_launch *launch)
{
    int code = attempt(session, launch);

    while (code == GROVE_NO_MEMORY && !launch->failed &&
           grove_devices_make_room(session, missing_bytes(session, launch)))
        code = attempt(session, launch);
    if (code == GROVE_NO_MEMORY && !launch->failed) {
        grove_device_trim(session->device);
        code = attempt(session, launch);
    }
    return code;
}

/* Sets ran_on; leaves it unset when the host must compute it. */
static int run_on_device(grove_session *session, grove_launch *launch)
{
    double began = grove_now();
    int code = attempt_all(session, launch);

    session->counters.kernel_seconds += grove_now() - began;
    if (!code)
        launch->ran_on = session->device;
    if (launch->failed)
        return code;
    if (code == GROVE_MISSING && launch->compute)
        return 0;
    if (code == GROVE_NO_MEMORY && session->may_yield)
        return GROVE_AGAIN;
    if (code == GROVE_NO_MEMORY) {
        warn_once(session);
        return 0;
    }
    return code ? grove_devices_fail(session, code, session->attempt) : 0;
}

/* ---- on the host ---- */

/* A kernel that computes cells in some rows only. */
typedef struct {
    const grove_launch *launch;
    grove_cells_fn fn;
    int axes;      /* of rows: the first ones */
    int64_t cells; /* of a row */
} host_rows;

/* From `row` on: how many rows along the last axis of rows are all left out, or all computed. */
static int64_t run_of_rows(const host_rows *r, int64_t row, int64_t last, bool *left)
{
    const grove_launch *launch = r->launch;
    const int inner = r->axes - 1;
    int64_t index[GROVE_MAX_AXES], rest = row, count = 1;

    for (int d = inner; d >= 0; d--) {
        index[d] = rest % launch->args.size[d];
        rest /= launch->args.size[d];
    }
    const char *flags = grove_view_at(&launch->rows_view, index, r->axes);
    const int64_t step = inner < 0 ? 0 : launch->rows_view.stride[inner];
    int64_t most = inner < 0 ? 1 : launch->args.size[inner] - index[inner];
    most = most < last - row ? most : last - row;
    *left = *flags != 0;
    if (*left && step == 1) { /* gaps are long where few rows are there */
        const char *first_present = memchr(flags, 0, (size_t)most);
        return first_present ? first_present - flags : most;
    }
    while (count < most && (flags[count * step] != 0) == *left)
        count++;
    return count;
}

static void run_rows(void *context, int64_t first, int64_t last)
{
    const host_rows *r = context;

    for (int64_t row = first, count; row < last; row += count) {
        bool left;
        count = run_of_rows(r, row, last, &left);
        if (!left)
            r->fn(&r->launch->args, row * r->cells, (row + count) * r->cells);
    }
}

static int compute_rows(grove_session *session, grove_launch *launch)
{
    enum { GRAIN = 4096 };
    const grove_args *args = &launch->args;
    const grove_kernel *kernel = launch->kernel;
    host_rows r = {.launch = launch,
                   .fn = launch->double_precision ? kernel->double_precision
                                                  : kernel->single_precision,
                   .axes = args->axes};
    int64_t rows = 1;
    int code = set_address(launch->rows.buffer, session->host, launch->rows.offset,
                           &launch->rows_view, session->error);

    while (r.axes > 0 && !launch->rows_view.stride[r.axes - 1])
        r.axes--;
    for (int d = 0; d < r.axes; d++)
        rows *= args->size[d];
    r.cells = grove_args_cells(args) / (rows ? rows : 1);
    session->host->launches++;
    if (!code)
        grove_parallel(session->host->threads, rows, GRAIN / (r.cells + 1) + 1, run_rows, &r);
    return code;
}

static int run_on_host(grove_session *session, grove_launch *launch)
{
    grove_device *host = session->host;
    bool had_storage = *launch->out != NULL;
    int code = grove_launch_to_host(session, *launch->out);

    for (int k = 0; k < launch->args.inputs && !code; k++)
        code = grove_launch_to_host(session, launch->in[k].buffer);
    if (!code)
        code = grove_launch_to_host(session, launch->rows.buffer);
    if (!code && !had_storage)
        grove_devices_make_host_room(
            session, grove_extent_memory(&(grove_extent){launch->out_bytes, launch->out_gaps}) +
                         launch->scratch_bytes);
    if (!code)
        code = set_addresses(launch, host, session->error);
    if (code || !launch->out_bytes)
        return code;
    double began = grove_now();
    if (session->poison && !had_storage && (launch->rows.buffer || launch->rows_unread))
        grove_session_poison(session, grove_buffer_host(*launch->out, session->error),
                             launch->out_bytes, launch->kernel == &grove_array_flag_rule);
    code = launch->rows.buffer && launch->kernel ? compute_rows(session, launch)
                                                 : compute(session, launch, host, session->error);
    session->counters.kernel_seconds += grove_now() - began;
    mark_written(launch, host, had_storage);
    return code;
}

int grove_launch_run(grove_session *session, grove_launch *launch)
{
    int code = 0;

    launch->ran_on = session->host;
    if (belongs_on_device(session, launch))
        code = run_on_device(session, launch);
    return code || launch->ran_on != session->host ? code : run_on_host(session, launch);
}
