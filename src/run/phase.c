#include "run/phase.h"
#include "run/content.h"

#include "base/memory.h"
#include "run/call.h"

#include <stdlib.h>

/* ---- start and stop ---- */

static void reach(const grove_node *node, bool *reached)
{
    const grove_port *inputs = node->class_ ? node->class_->inputs : NULL;

    if (reached[node->id])
        return;
    reached[node->id] = true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node)
            reach(node->inputs[k].node, reached);
    for (int i = 0; inputs && inputs[i].name; i++)
        if (node->objects[i])
            reach(node->objects[i], reached);
    if (node->leaf)
        reach(node->leaf, reached);
}

static int start_node(grove_session *session, const grove_node *node)
{
    grove_class_call call;
    void *run = NULL;

    grove_class_call_begin(&call, session, node, true);
    int code = grove_class_call_end(&call, node->class_->start(node, &run), "cannot start");
    if (!code) {
        session->runs[node->id] = run;
        session->started[node->id] = true;
    }
    return code;
}

int grove_phase_start(grove_session *session, grove_node *const *roots, size_t count)
{
    const grove_tree *tree = session->tree;
    bool *reached = grove_alloc((tree->node_count + 1) * sizeof(bool));
    int code = 0;

    for (size_t i = 0; i < count; i++)
        reach(roots[i], reached);
    for (size_t i = 0; i < tree->node_count && !code; i++) {
        const grove_node *node = tree->nodes[i];
        if (reached[node->id] && node->class_ && node->class_->start)
            code = start_node(session, node);
    }
    free(reached);
    return code;
}

void grove_phase_stop(grove_session *session)
{
    const grove_tree *tree = session->tree;

    for (size_t i = tree->node_count; i-- > 0;) {
        const grove_node *node = tree->nodes[i];
        if (session->started[node->id] && node->class_->stop) {
            grove_class_call call;
            grove_class_call_begin(&call, session, node, true);
            node->class_->stop(node, session->runs[node->id]);
            grove_class_call_end(&call, 0, "");
        }
        grove_call_drop_kept(&session->kept[node->id]);
        session->started[node->id] = false;
        session->runs[node->id] = NULL;
    }
}

/* ---- actions ---- */

static int call_action(grove_session *session, const grove_node *action,
                       int (*phase)(const grove_call *call), const char *failure)
{
    grove_class_call call;

    if (!phase)
        return 0;
    grove_class_call_begin(&call, session, action, true);
    int code = grove_class_call_end(&call, phase(&call.call), failure);
    session->has_ended = session->has_ended || call.ends_run;
    return code;
}

/* Fits that go on first: where their run has ended, the other actions' outputs are complete. */
static bool goes_first(const grove_session *session, const grove_node *action)
{
    return session->options.resume && action->fit && action->target;
}

int grove_phase_begin(grove_session *session)
{
    const grove_tree *tree = session->tree;
    int code = 0;

    session->record = grove_record_new();
    for (size_t i = 0; i < tree->action_count; i++)
        if (tree->actions[i]->target && tree->actions[i]->target->part)
            grove_record_expect(session->record, tree->actions[i]->target_path);
    for (int first = 1; first >= 0 && !code; first--)
        for (size_t i = 0; i < tree->action_count && !code && !session->has_ended; i++) {
            const grove_node *action = tree->actions[i];
            if (goes_first(session, action) != (first == 1) ||
                (session->tuner && action->class_->action->write))
                continue;
            code = call_action(session, action, action->class_->action->begin, "cannot begin");
            session->begun[action->id] = !code;
        }
    return code;
}

static void drop_record(grove_session *session)
{
    grove_record_free(session->record);
    session->record = NULL;
}

static void abort_action(grove_session *session, const grove_node *action)
{
    if (!action->class_->action->abort)
        return;
    grove_class_call call;
    grove_class_call_begin(&call, session, action, true);
    action->class_->action->abort(&call.call);
    grove_class_call_end(&call, 0, "");
}

void grove_phase_abort(grove_session *session)
{
    const grove_tree *tree = session->tree;

    for (size_t i = 0; i < tree->action_count; i++) {
        const grove_node *action = tree->actions[i];
        if (session->begun[action->id])
            abort_action(session, action);
        session->begun[action->id] = false;
    }
    drop_record(session);
}

/* If one cannot be committed, it is aborted, and all later ones too. */
static void give_up(grove_session *session, size_t failed)
{
    const grove_tree *tree = session->tree;

    for (size_t i = 0; i < failed; i++)
        if (tree->actions[i]->class_->action->commit)
            grove_warn_at(session->error, &tree->actions[i]->place,
                          "%s: nevertheless, this output is complete",
                          tree->actions[i]->class_->name);
    for (size_t i = failed; i < tree->action_count; i++)
        abort_action(session, tree->actions[i]);
}

int grove_phase_renew(grove_session *session, const grove_node *action)
{
    int code = call_action(session, action, action->class_->action->prepare, "cannot finish");

    grove_session_renew_for(session, action);
    return code;
}

int grove_phase_commit(grove_session *session)
{
    const grove_tree *tree = session->tree;
    int code = 0;

    for (size_t i = 0; i < tree->action_count && !code; i++)
        if (!grove_node_renews_any(tree->actions[i])) /* the others are */
            code = call_action(session, tree->actions[i], tree->actions[i]->class_->action->prepare,
                               "cannot finish");
    if (!code)
        code = grove_record_commit(session->record, session->error);
    if (code) {
        grove_phase_abort(session);
        return code;
    }
    for (size_t i = 0; i < tree->action_count && !code; i++)
        if ((code = call_action(session, tree->actions[i], tree->actions[i]->class_->action->commit,
                                "cannot finish")))
            give_up(session, i);
    drop_record(session);
    return code;
}
