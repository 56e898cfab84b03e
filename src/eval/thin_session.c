#include "eval/thin_state.h"
#include "eval/thin_sums.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int64_t grove_plan_chunk(const grove_session *s, const grove_node *r, const grove_block *b,
                         const grove_axis *source)
{
    (void)s;
    (void)r;
    (void)b;
    return source->size < 16 ? source->size : 16;
}
void grove_dump_inputs(grove_session *s, const grove_node *n, grove_value *const *in)
{
    (void)s;
    (void)n;
    (void)in;
}
void grove_trace(grove_session *session, const char *what, const grove_node *node,
                 const grove_block *block, double began, double seconds, uint64_t bytes)
{
    (void)session;
    (void)what;
    (void)node;
    (void)block;
    (void)began;
    (void)seconds;
    (void)bytes;
}
grove_session *grove_session_new(grove_tree *tree, const grove_session_options *o,
                                 grove_error *error)
{
    grove_session *s = grove_alloc(sizeof *s);
    s->tree = tree;
    s->error = error;
    tree->error = error;
    if (o)
        s->options = *o;
    s->device = grove_device_cpu(o ? o->threads : 0);
    grove_session_analyse(s);
    s->table = grove_table_new(1 << 28);
    pthread_mutex_init(&s->io_lock, NULL);
    return s;
}
void grove_session_free(grove_session *s)
{
    if (!s)
        return;
    grove_table_free(s->table);
    for (size_t i = 0; i < s->tree->node_count; i++) {
        grove_value_unref(s->nodes[i].finished);
        free(s->nodes[i].depends);
    }
    free(s->nodes);
    grove_device_free(s->device);
    free(s);
}
static int reductions(grove_session *s, grove_node *n)
{
    int code = 0;
    for (int k = 0; k < n->input_count && !code; k++)
        if (n->inputs[k].node)
            code = reductions(s, n->inputs[k].node);
    grove_node_state *st = &s->nodes[n->id];
    if (!code && st->whole_run && !st->finished) {
        st->whole_run = false;
        grove_block w = {0};
        code = grove_evaluate(s, n, &w, &st->finished);
    }
    return code;
}
int grove_session_evaluate(grove_session *s, grove_node *n, const grove_range *r, int c,
                           grove_value **v)
{
    int code = reductions(s, n);
    grove_block b = {0};
    for (int i = 0; i < c; i++)
        grove_block_restrict(&b, r[i]);
    grove_session_mark_pass(s, &n, 1);
    return code ? code : grove_evaluate(s, n, &b, v);
}
static void wrap(grove_value *v, grove_array *a, const grove_node *n)
{
    memset(a, 0, sizeof *a);
    if (!v)
        return;
    a->data = grove_buffer_host(v->data, NULL);
    if (v->flags && v->flag_axes == (1u << v->axes) - 1)
        a->flags = grove_buffer_host(v->flags, NULL);
    a->axes = v->axes;
    memcpy(a->range, v->range, sizeof a->range);
    a->cells = grove_value_cells(v);
    a->elements = v->elements;
    a->form = n->form;
    a->form.precision = v->double_ ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE;
}
int grove_session_run(grove_session *s)
{
    grove_tree *t = s->tree;
    int code = 0;
    size_t begun = 0;
    for (size_t i = 0; i < t->action_count && !code; i++) {
        grove_node *a = t->actions[i];
        code = reductions(s, a);
        if (!code && a->class_->begin)
            code = a->class_->begin(a);
        if (!code)
            begun++;
    }
    grove_session_mark_pass(s, t->actions, t->action_count);
    for (size_t i = 0; i < t->action_count && !code; i++) {
        grove_node *a = t->actions[i];
        const grove_axis *time = NULL;
        if (a->input_count && a->inputs[0].node)
            grove_node_axes_of_kind(a->inputs[0].node, GROVE_AXIS_TIME, &time, 1);
        int64_t step = s->options.tile_times ? s->options.tile_times : (time ? time->size : 1);
        for (int64_t first = 0; first < (time ? time->size : 1) && !code; first += step) {
            grove_block b = {0};
            if (time)
                grove_block_restrict(
                    &b, (grove_range){time, first,
                                      first + step > time->size ? time->size - first : step});
            grove_array arrays[GROVE_MAX_INPUTS];
            grove_value *v[GROVE_MAX_INPUTS] = {0};
            for (int k = 0; k < a->input_count && !code; k++) {
                memset(&arrays[k], 0, sizeof arrays[k]);
                if (a->inputs[k].node) {
                    code = grove_evaluate(s, a->inputs[k].node, &b, &v[k]);
                    if (!code)
                        wrap(v[k], &arrays[k], a->inputs[k].node);
                }
            }
            if (!code)
                code = a->class_->write(a, arrays, a->input_count);
            for (int k = 0; k < GROVE_MAX_INPUTS; k++)
                grove_value_unref(v[k]);
            grove_table_end_tile(s->table);
        }
    }
    for (size_t i = 0; i < begun; i++) {
        grove_node *a = t->actions[i];
        if (!code && a->class_->finish)
            code = a->class_->finish(a);
        else if (code && a->class_->abort)
            a->class_->abort(a);
    }
    return code;
}

const grove_counters *grove_session_counters(const grove_session *session)
{
    return &session->counters;
}

grove_tree *grove_session_tree(grove_session *session)
{
    return session->tree;
}

int grove_session_plan(grove_session *session, grove_plan *plan)
{
    (void)session;
    *plan = (grove_plan){.tiles = 1, .passes = 1};
    return 0;
}

char *grove_session_profile(const grove_session *session)
{
    (void)session;
    return NULL;
}
