/* Calls of classes: their messages go to the session, and those with serial_io run one at a time.
 */
#include "run/state.h"

grove_class_call *grove_class_call_of(const grove_call *call, const char *function)
{
    if (!call->scope)
        grove_node_fail(call->node, GROVE_INVALID, "the plugin calls %s outside of a run",
                        function);
    return call->scope;
}

static void *run_of(const grove_call *call, const char *function, const grove_node *leaf)
{
    const grove_class_call *scope = grove_class_call_of(call, function);

    return scope && leaf ? scope->session->runs[leaf->id] : NULL;
}

void *grove_call_object_run(const grove_call *call, const char *input)
{
    return run_of(call, "grove_call_object_run", grove_node_object(call->node, input));
}

void *grove_call_parm_run(const grove_call *call, const grove_node *parm)
{
    return run_of(call, "grove_call_parm_run", parm);
}

bool grove_call_resumes(const grove_call *call)
{
    const grove_class_call *scope = grove_class_call_of(call, "grove_call_resumes");

    return scope && grove_resume_requested(scope->session);
}

char *grove_call_run_key(const grove_call *call)
{
    const grove_class_call *scope = grove_class_call_of(call, "grove_call_run_key");

    return scope ? grove_resume_key(scope->session) : NULL;
}

int grove_call_run_cycles(const grove_call *call)
{
    const grove_class_call *scope = grove_class_call_of(call, "grove_call_run_cycles");

    return scope ? scope->session->tree->cycles : 1;
}

void grove_call_end_run(const grove_call *call)
{
    grove_class_call *scope = grove_class_call_of(call, "grove_call_end_run");

    if (scope)
        scope->ends_run = true;
}

grove_record *grove_call_record(const grove_call *call)
{
    const grove_class_call *scope = grove_class_call_of(call, "grove_call_record");

    return scope ? scope->session->record : NULL;
}

void grove_class_call_begin(grove_class_call *call, grove_session *session, const grove_node *node,
                            bool io)
{
    *call = (grove_class_call){.scope = {session->error, 0},
                               .call = {.node = node,
                                        .double_precision = session->facts[node->id].double_,
                                        .threads = session->host->threads,
                                        .run = session->runs[node->id],
                                        .memory = session->grants[node->id],
                                        .scope = call},
                               .session = session,
                               .io = io};
    if (io)
        grove_class_lock(node->class_);
    call->outer = grove_error_enter(&call->scope);
}

int grove_class_call_end(grove_class_call *call, int code, const char *failure)
{
    if (code && code != GROVE_INTERRUPTED && !call->scope.code)
        grove_node_fail(call->call.node, code, "%s", failure);
    grove_error_enter(call->outer);
    if (call->io)
        grove_class_unlock(call->call.node->class_);
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
    int code =
        leaf->class_->data->read ? leaf->class_->data->read(&call.call, name, out) : GROVE_INTERNAL;
    if (code && !call.scope.code)
        grove_node_fail(leaf, code, "reading '%s' failed", name);
    return grove_class_call_end(&call, code, "");
}

int grove_io_write(grove_session *session, grove_node *action, const grove_array *inputs, int count)
{
    const grove_array *arrays[GROVE_MAX_ACTION_INPUTS];
    grove_class_call call;

    if (!action->class_->action->write || session->tuner)
        return 0;
    for (int k = 0; k < count; k++)
        arrays[k] = &inputs[k];
    grove_class_call_begin(&call, session, action, true);
    int code = action->class_->action->write(&call.call, arrays, count);
    return grove_class_call_end(&call, code, "writing failed");
}
