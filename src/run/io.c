/* Calls of classes: their messages go to the session, and those with serial_io run one at a time.
 */
#include "run/state.h"

static _Thread_local grove_class_call *current;

void *grove_node_object_run(const grove_node *node, const char *input)
{
    const grove_node *leaf = grove_node_object(node, input);

    return leaf && current ? current->session->runs[leaf->id] : NULL;
}

void *grove_node_parm_run(const grove_node *node, const grove_node *parm)
{
    (void)node;
    return current ? current->session->runs[parm->id] : NULL;
}

bool grove_node_resumes(const grove_node *node)
{
    (void)node;
    return current && grove_resume_wanted(current->session);
}

char *grove_node_run_key(const grove_node *node)
{
    (void)node;
    return current ? grove_resume_key(current->session) : NULL;
}

int grove_node_run_cycles(const grove_node *node)
{
    (void)node;
    return current ? current->session->tree->cycles : 1;
}

void grove_node_end_run(const grove_node *node)
{
    (void)node;
    if (current)
        current->ends_run = true;
}

void grove_node_parallel(const grove_node *node, int64_t count,
                         void (*fn)(void *context, int64_t first, int64_t last), void *context)
{
    (void)node;
    grove_parallel(current ? current->session->host->threads : NULL, count, 0, fn, context);
}

void grove_class_call_begin(grove_class_call *call, const grove_session *session,
                            const grove_node *node, bool io)
{
    call->scope = (grove_error_scope){session->error, 0};
    call->session = session;
    call->node = node;
    call->io = io;
    call->ends_run = false;
    if (io)
        grove_class_lock(node->class_);
    call->outer = grove_error_enter(&call->scope);
    call->outer_call = current;
    current = call;
}

int grove_class_call_end(grove_class_call *call, int code, const char *failure)
{
    if (code && code != GROVE_INTERRUPTED && !call->scope.code)
        grove_node_fail(call->node, code, "%s", failure);
    grove_error_enter(call->outer);
    current = call->outer_call;
    if (call->io)
        grove_class_unlock(call->node->class_);
    if (code < 0 || !call->scope.code)
        return code;
    return code > 0 ? call->io ? GROVE_IO : GROVE_INTERNAL : call->scope.code;
}

int grove_io_read(grove_session *session, grove_node *member, grove_array *out)
{
    grove_node *leaf = member->leaf;
    const char *name = leaf->members[member->member].name;
    grove_class_call call;

    grove_class_call_begin(&call, session, leaf, true);
    int code = leaf->class_->data->read
                   ? leaf->class_->data->read(leaf, session->runs[leaf->id], name, out)
                   : GROVE_INTERNAL;
    if (code && !call.scope.code)
        grove_node_fail(leaf, code, "reading '%s' failed", name);
    return grove_class_call_end(&call, code, "");
}

int grove_io_write(grove_session *session, grove_node *action, const grove_array *inputs, int count)
{
    const grove_array *arrays[GROVE_MAX_ACTION_INPUTS];
    grove_class_call call;

    if (!action->class_->action->write)
        return 0;
    for (int k = 0; k < count; k++)
        arrays[k] = &inputs[k];
    grove_class_call_begin(&call, session, action, true);
    int code = action->class_->action->write(action, session->runs[action->id], arrays, count);
    return grove_class_call_end(&call, code, "writing failed");
}

int grove_io_drive(grove_session *session, grove_node *action, const grove_array *inputs, int count,
                   bool *again)
{
    const grove_array *arrays[GROVE_MAX_ACTION_INPUTS];
    grove_class_call call;

    for (int k = 0; k < count; k++)
        arrays[k] = &inputs[k];
    grove_class_call_begin(&call, session, action, false);
    int code =
        action->class_->action->drive(action, session->runs[action->id], arrays, count, again);
    if (!code && *again && !grove_node_renews_any(action))
        code = grove_node_fail(action, GROVE_INTERNAL,
                               "it asks for its inputs again, though it gives no object new "
                               "content (grove_node_renews)");
    return grove_class_call_end(&call, code, "fitting failed");
}
