#include "run/call.h"

#include "unstable/keep.h"

#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SLACK = GROVE_MAX_SCRATCH * GROVE_SCRATCH_ALIGN };

void grove_call_begin(grove_call_work *work, grove_device *device, void *scratch,
                      uint64_t scratch_bytes, grove_error *error)
{
    *work = (grove_call_work){
        .device = device, .error = error, .scratch = scratch, .thread = pthread_self()};
    work->scratch_left = scratch && scratch_bytes > SLACK ? scratch_bytes - SLACK : 0;
}

/* ---- common to all functions ---- */

/* Reports a wrong use of `call` by the class; the other functions then do nothing. */
#define misuse(call, ...)                                                                          \
    (((grove_call_work *)(call)->work)->code =                                                     \
         grove_node_fail((call)->node, GROVE_INVALID, __VA_ARGS__))

/* Whether the function may do something now; if not, its code. */
static bool begin(const grove_call *call, const char *name, int *code)
{
    grove_call_work *work = call->work;

    *code = GROVE_INVALID;
    if (!work)
        grove_node_fail(
            call->node, GROVE_INVALID,
            "the plugin calls %s, which is for .eval, .device and finish of accumulators", name);
    else if (!pthread_equal(work->thread, pthread_self()))
        __atomic_store_n(&work->astray, name, __ATOMIC_RELEASE);
    else
        *code = work->code;
    return !*code;
}

/* The first failure counts. On a device that is short of memory, faults or has no code the caller
 * of the class continues; anything else is an error at the node. */
static int end(const grove_call *call, int code)
{
    grove_call_work *work = call->work;
    bool of_device = code == GROVE_NO_MEMORY || code == GROVE_MISSING || code == GROVE_DEVICE;

    work->code = code;
    if (code && !(call->on_device && of_device))
        grove_node_fail(call->node, code, "%s",
                        grove_error_count(work->error) ? grove_error_message(work->error, 0)
                                                       : "the device cannot compute it");
    return code;
}

int grove_call_run(const grove_call *call)
{
    const grove_class *class_ = call->node->class_;
    int code = !call->on_device && class_->eval ? class_->eval(call) : class_->device(call);

    return grove_call_end(call, code);
}

int grove_call_end(const grove_call *call, int code)
{
    grove_call_work *work = call->work;
    const char *astray = __atomic_load_n(&work->astray, __ATOMIC_ACQUIRE);

    grove_call_drop_kept(&work->sent);
    if (astray && !work->code)
        misuse(call, "the plugin calls %s in a thread other than the calling one", astray);
    return work->code ? work->code : code;
}

/* ---- launches ---- */

static int check_view(const grove_call *call, const grove_args *args, const grove_view *view)
{
    if (view->gather && (view->gather_axis < 0 || view->gather_axis >= args->axes))
        return misuse(call, "the plugin launches a kernel that gathers along axis %d of %d",
                      (int)view->gather_axis, (int)args->axes);
    return 0;
}

static int check_args(const grove_call *call, const char *kernel, const grove_args *args)
{
    int64_t cells = 1;
    int code = 0;

    if (!args)
        return misuse(call, "the plugin launches '%s' without arguments (NULL)", kernel);
    if (args->axes < 0 || args->axes > GROVE_VALUE_AXES || args->inputs < 0 ||
        args->inputs > GROVE_MAX_INPUTS)
        return misuse(
            call, "the plugin launches '%s' with %d axes and %d inputs; at most %d and %d", kernel,
            (int)args->axes, (int)args->inputs, (int)GROVE_VALUE_AXES, (int)GROVE_MAX_INPUTS);
    for (int d = 0; d < args->axes; d++)
        if (args->size[d] < 0 || __builtin_mul_overflow(cells, args->size[d], &cells))
            return misuse(call, "the plugin launches '%s' with size %" PRId64 " of axis %d", kernel,
                          args->size[d], d);
    if (!args->out.data)
        return misuse(call, "the plugin launches '%s' with no output (NULL)", kernel);
    code = check_view(call, args, &args->out);
    for (int k = 0; k < args->inputs && !code; k++)
        if (args->in[k].data)
            code = check_view(call, args, &args->in[k]);
    return code;
}

int grove_call_launch(const grove_call *call, const grove_kernel *kernel, const grove_args *args,
                      bool double_precision)
{
    grove_call_work *work = call->work;
    int code;

    if (!begin(call, "grove_call_launch", &code))
        return code;
    if (!kernel || !kernel->name)
        code = misuse(call, "the plugin launches no kernel (NULL), or one without a name");
    else
        code = check_args(call, kernel->name, args);
    if (code)
        return code;
    code = grove_device_prepare(work->device, kernel, double_precision, work->error);
    if (code && code != GROVE_NO_MEMORY) {
        work->unsupported_kernel = kernel;
        work->unsupported_code = code;
        return end(call, GROVE_MISSING);
    }
    if (!code)
        code = grove_device_launch(work->device, kernel, args, double_precision, work->error);
    return end(call, code);
}

/* ---- memory ---- */

int grove_call_scratch(const grove_call *call, uint64_t bytes, void **at)
{
    grove_call_work *work = call->work;
    char needed_text[32], available_text[32];
    int code;

    *at = NULL;
    if (!begin(call, "grove_call_scratch", &code))
        return code;
    if (bytes > work->scratch_left)
        return misuse(call,
                      "the plugin asks for %s of scratch memory, but %s are left; its check must "
                      "declare how much it needs, with grove_node_set_scratch",
                      grove_show_bytes(needed_text, (double)bytes),
                      grove_show_bytes(available_text, (double)work->scratch_left));
    if (work->pieces == GROVE_MAX_SCRATCH)
        return misuse(call, "the plugin asks for more than %d pieces of scratch memory in a call",
                      (int)GROVE_MAX_SCRATCH);
    *at = work->scratch;
    work->scratch += (bytes + GROVE_SCRATCH_ALIGN - 1) / GROVE_SCRATCH_ALIGN * GROVE_SCRATCH_ALIGN;
    work->scratch_left -= bytes;
    work->pieces++;
    return 0;
}

int grove_call_zero(const grove_call *call, void *at, uint64_t bytes)
{
    grove_call_work *work = call->work;
    int code;

    if (!begin(call, "grove_call_zero", &code))
        return code;
    if (!at)
        return misuse(call, "the plugin zeroes memory at NULL");
    return bytes ? end(call, grove_device_clear(work->device, at, bytes, work->error)) : 0;
}

static void add_kept(grove_device *device, void *at, uint64_t bytes, grove_kept **list)
{
    grove_kept *made = grove_alloc(sizeof(*made));

    *made = (grove_kept){device, at, bytes, *list};
    *list = made;
}

int grove_call_keep(const grove_call *call, uint64_t bytes, void **at)
{
    grove_call_work *work = call->work;
    int code;

    *at = NULL;
    if (!begin(call, "grove_call_keep", &code))
        return code;
    if (!work->kept)
        return misuse(call, "the plugin keeps memory where no run is");
    code = grove_device_allocate(work->device, bytes, at, work->error);
    if (code)
        return end(call, code);
    add_kept(work->device, *at, bytes, work->kept);
    return 0;
}

void grove_call_drop_kept(grove_kept **kept)
{
    while (*kept) {
        grove_kept *first = *kept;
        *kept = first->next;
        grove_device_release(first->device, first->at, first->bytes);
        free(first);
    }
}

int grove_call_send(const grove_call *call, const void *from, uint64_t bytes, const void **at)
{
    grove_call_work *work = call->work;
    void *to = NULL;
    int code;

    *at = NULL;
    if (!begin(call, "grove_call_send", &code))
        return code;
    code = grove_device_allocate_staging(work->device, bytes, &to, work->error);
    if (code)
        return end(call, code);
    add_kept(work->device, to, bytes, &work->sent);
    *at = to;
    code = from ? grove_device_upload(work->device, to, from, bytes, work->error) : 0;
    if (!code && from)
        code = grove_device_ready(work->device, to, work->error);
    return end(call, code);
}

int grove_call_put(const grove_call *call, void *to, const void *from, uint64_t bytes)
{
    grove_call_work *work = call->work;
    int code;

    if (!begin(call, "grove_call_put", &code))
        return code;
    code = grove_device_upload(work->device, to, from, bytes, work->error);
    if (!code)
        code = grove_device_ready(work->device, to, work->error);
    return end(call, code);
}

int grove_call_fetch(const grove_call *call, void *to, const void *from, uint64_t bytes)
{
    grove_call_work *work = call->work;
    int code;

    if (!begin(call, "grove_call_fetch", &code))
        return code;
    return end(call, grove_device_download(work->device, to, from, bytes, work->error));
}

int grove_call_host(const grove_call *call, int k, const void **at)
{
    grove_call_work *work = call->work;
    void *start = NULL;
    int code;

    *at = NULL;
    if (!begin(call, "grove_call_host", &code))
        return code;
    if (!call->args || k < 0 || k >= call->args->inputs)
        return misuse(call, "the plugin asks where the host has input %d of %d", k,
                      call->args ? (int)call->args->inputs : 0);
    if (!call->on_device || !work->launch) {
        *at = call->args->in[k].data;
        return 0;
    }
    const grove_launch_operand *input = &work->launch->in[k];
    if (!input->buffer)
        return 0;
    code = grove_launch_to_host(work->session, input->buffer);
    if (!code)
        code = grove_launch_host_address(work->session, input->buffer, &start);
    if (!code)
        *at = (const void *)((uintptr_t)start + (uintptr_t)input->offset);
    work->code = code;
    return code;
}

/* An accumulator's value has a buffer of its own, which is not written again; a cast's too, or it
 * is the same. */
uint64_t grove_call_serial(const grove_call *call, int k)
{
    const grove_call_work *work = call->work;
    const grove_node *from =
        k >= 0 && k < call->node->input_count ? call->node->inputs[k].node : NULL;

    while (from && from->kind == GROVE_NODE_CAST)
        from = from->inputs[0].node;
    if (!from || !from->class_ || from->class_->kind != GROVE_CLASS_ACCUMULATOR || !work ||
        !work->launch || !work->launch->in[k].buffer)
        return 0;
    return grove_buffer_serial(work->launch->in[k].buffer);
}

/* ---- algebra ---- */

/* Whether the arrays of a request have addresses, and the call may do it. */
static bool begin_algebra(const grove_call *call, const char *name, bool given, int *code)
{
    if (!begin(call, name, code))
        return false;
    if (!given)
        *code = misuse(call, "the plugin calls %s with an array at NULL", name);
    return given;
}

int grove_call_product(const grove_call *call, const grove_product *operation,
                       bool double_precision)
{
    grove_call_work *work = call->work;
    int code;

    if (!begin_algebra(call, "grove_call_product",
                       operation && operation->a && operation->b && operation->c, &code))
        return code;
    return end(call, work->device->algebra->product(work->device, operation, double_precision,
                                                    work->error));
}

int grove_call_transform(const grove_call *call, const grove_transform *operation,
                         bool double_precision)
{
    grove_call_work *work = call->work;
    int code;

    if (!begin_algebra(call, "grove_call_transform", operation && operation->at, &code))
        return code;
    return end(call, work->device->algebra->transform(work->device, operation, double_precision,
                                                      work->error));
}

int grove_call_cholesky(const grove_call *call, const grove_cholesky *operation)
{
    grove_call_work *work = call->work;
    int code;

    if (!begin_algebra(call, "grove_call_cholesky",
                       operation && operation->matrix && operation->info, &code))
        return code;
    return end(call, work->device->algebra->cholesky(work->device, operation, work->error));
}

/* ---- threads ---- */

void grove_call_parallel(const grove_call *call, int64_t count,
                         void (*fn)(void *context, int64_t first, int64_t last), void *context)
{
    if (call->on_device)
        grove_node_fail(call->node, GROVE_INVALID,
                        "the plugin calls grove_call_parallel on a device; it is for the host");
    else
        grove_parallel(call->threads, count, 0, fn, context);
}

int grove_call_threads(const grove_call *call)
{
    return grove_threads_count(call->threads);
}
