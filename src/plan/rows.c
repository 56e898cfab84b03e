/* Steps that need not make rows missing in a set: see graph/skip.h for the tree's part. */
#include "plan/rows.h"

#include "graph/skip.h"

enum { LONG = 16 }; /* cells of a row */

bool grove_step_has_long_rows(const grove_step *step)
{
    int64_t cells = 1;

    for (int d = 0; d < step->axes; d++)
        if (!grove_node_has_axis(step->node->rows, step->axis[d]))
            cells *= step->axis[d]->size;
    return cells >= LONG;
}

static bool may_leave_rows(const grove_program *p, const grove_step *step)
{
    bool made = step->kind > GROVE_STEP_READ || (step->kind == GROVE_STEP_READ && p->on_host);

    return step->node->rows && made && step->kind != GROVE_STEP_ROOT &&
           step->kind != GROVE_STEP_REDUCE && !step->loop &&
           (step->kind != GROVE_STEP_KERNEL || grove_step_has_long_rows(step));
}

static bool reads_rows_only(const grove_program *p, const grove_step *user, int k,
                            const grove_step *in)
{
    const grove_node *node = user->node;

    if (node->rows != in->node->rows || k == user->rows)
        return false;
    if (user->kind == GROVE_STEP_REDUCE || (user->collects && !grove_node_accumulates(node)))
        return p->on_host && grove_step_has_long_rows(in);
    if (user->collects)
        return p->on_host;
    if (user->kind != GROVE_STEP_ROOT)
        return user->rows_only;
    return node->class_ && node->class_->kind == GROVE_CLASS_ACTION && (!node->fit || p->on_host);
}

/* Whether the input is the flags of cells that a class need not compute. */
static bool reads_flags(const grove_step *user, int k)
{
    return user->kind == GROVE_STEP_EVAL && k < user->node->input_count &&
           user->node->handing[k] == GROVE_AS_FLAGS;
}

/* Whether any input except `rows` has flags. */
static bool has_flagged_input(const grove_program *p, const grove_step *step)
{
    for (int k = 0; k < step->node->input_count; k++)
        if (k != step->rows && step->input[k] >= 0 && p->steps[step->input[k]].flagged)
            return true;
    return false;
}

void grove_program_find_rows(grove_program *p)
{
    for (int s = 0; s < p->step_count; s++)
        p->steps[s].rows_only = may_leave_rows(p, &p->steps[s]);
    for (int u = p->step_count - 1; u >= 0; u--)
        for (int k = 0; k < p->steps[u].inputs; k++) {
            grove_step *in = p->steps[u].input[k] < 0 ? NULL : &p->steps[p->steps[u].input[k]];
            if (!in || !in->rows_only)
                continue;
            in->rows_only = reads_rows_only(p, &p->steps[u], k, in);
            in->rows_flagged = in->rows_flagged || reads_flags(&p->steps[u], k);
        }
    for (int s = 0; s < p->step_count; s++) {
        grove_step *step = &p->steps[s];
        if (step->node->rows && step->kind > GROVE_STEP_READ && step->kind != GROVE_STEP_ROOT)
            step->flagged =
                step->rows_only ? has_flagged_input(p, step) : p->facts[step->node->id].flagged;
    }
}

bool grove_program_has_gaps(const grove_program *p)
{
    for (int s = 0; s < p->step_count; s++)
        if (p->steps[s].rows_only && grove_node_rows_share(p->steps[s].node->rows) < GROVE_FEW_ROWS)
            return true;
    return false;
}

grove_gaps grove_rows_gaps(const grove_node *missing, const grove_range *range, int axes,
                           size_t cell_bytes)
{
    grove_gaps gaps = {.key = grove_hash_integer(missing->key, (int64_t)cell_bytes)};
    double row_bytes = (double)cell_bytes, rows = 1;

    for (int d = 0; d < axes; d++) {
        const bool own = grove_node_has_axis(missing, range[d].axis);
        *(own ? &rows : &row_bytes) *= (double)range[d].count;
        gaps.key = grove_hash_integer(gaps.key, range[d].first);
        gaps.key = grove_hash_integer(gaps.key, range[d].count);
    }
    const uint64_t written = grove_missing_written_bytes(missing, rows, row_bytes);
    gaps.written = (double)written < rows * row_bytes ? written : 0;
    return gaps;
}

/* Sums in sections are stored whole. */
grove_gaps grove_step_gaps(const grove_program *p, const grove_spot *spot, const grove_step *step)
{
    grove_range range[GROVE_MAX_AXES];

    if (!p->on_host || !step->rows_only || step->body ||
        (step->kind != GROVE_STEP_READ && step->rows < 0))
        return (grove_gaps){.written = 0};
    grove_step_ranges(spot, step, range);
    return grove_rows_gaps(step->node->rows, range, step->axes,
                           grove_form_bytes(&step->node->form, step->double_));
}

static const grove_node *uncast(const grove_node *node)
{
    return node->kind == GROVE_NODE_CAST ? node->inputs[0].node : node;
}

int grove_root_rows(const grove_program *p, const grove_step *root, int k, const grove_range *range,
                    int axes)
{
    const grove_node *node = root->node, *missing = node->rows;
    int64_t row = 1;
    int found = -1, shared = 0;

    if (!node->fit || !p->on_host || !missing || node->inputs[k].node->form.shape == GROVE_VECTOR)
        return -1;
    for (int d = 0; d < axes; d++)
        if (grove_node_has_axis(missing, range[d].axis))
            shared++;
        else
            row *= range[d].count;
    for (int i = 0; i < root->inputs; i++)
        if (root->input[i] >= 0 && uncast(node->inputs[i].node) == missing)
            found = i;
    return found != k && shared == missing->axis_count && row >= LONG ? found : -1;
}
