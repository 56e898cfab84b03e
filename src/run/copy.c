/* Dense copies of parts of values. */
#include "run/launch.h"
#include "run/step.h"

#include "device/array.h"

#include <string.h>

typedef struct {
    const grove_view *view;
    char *to;
    int64_t size[GROVE_MAX_AXES];
    int axes;
    size_t bytes;
} copy_state;

static void copy_rows(void *context, int64_t first, int64_t last)
{
    const copy_state *copy = context;
    int inner = copy->axes - 1;
    int64_t cells = inner < 0 ? 1 : copy->size[inner];
    bool gathers = copy->view->gather && copy->view->gather_axis == inner;
    int64_t step = inner < 0 ? 0 : copy->view->stride[inner];

    for (int64_t row = first; row < last; row++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = row;
        char *to = copy->to + (size_t)(row * cells) * copy->bytes;
        for (int d = inner - 1; d >= 0; d--) {
            index[d] = rest % copy->size[d];
            rest /= copy->size[d];
        }
        /* the index along a gathered axis is looked up, so it must be one of the axis */
        const char *from = cells ? grove_view_at(copy->view, index, copy->axes) : NULL;
        if (!gathers && step == (int64_t)copy->bytes) {
            memcpy(to, from, (size_t)cells * copy->bytes);
            continue;
        }
        for (int64_t i = 0; i < cells; i++) {
            if (gathers) {
                index[inner] = i;
                from = grove_view_at(copy->view, index, copy->axes);
            }
            memcpy(to + (size_t)i * copy->bytes, gathers ? from : from + i * step, copy->bytes);
        }
    }
}

static void copy_view(grove_session *session, const grove_view *view, const grove_range *space,
                      int axes, size_t bytes, char *to)
{
    copy_state copy = {.view = view, .to = to, .axes = axes, .bytes = bytes};
    int64_t rows = 1;

    for (int d = 0; d < axes; d++) {
        copy.size[d] = space[d].count;
        rows *= d < axes - 1 ? space[d].count : 1;
        if (!space[d].count)
            return;
    }
    grove_parallel(session->host->threads, rows, rows < 1024 ? rows : 0, copy_rows, &copy);
}

static int copy_there(grove_session *session, grove_value *from, const grove_view *view,
                      const grove_range *space, int axes, grove_value *to, bool *done)
{
    grove_args args = {.axes = axes, .inputs = 1};
    grove_launch launch = {&grove_array_cast, &args, to->double_, to, {from}};
    int code = grove_value_layout(to, space, axes, 0, &args.out, session->error);

    *done = false;
    args.in[0] = *view;
    for (int d = 0; d < axes; d++) {
        args.size[d] = space[d].count;
        args.axis[d] = space[d].axis->kind;
    }
    if (code || !grove_value_cells(to) || !grove_launch_has(session, launch.kernel, to->double_))
        return code;
    return grove_launch_run(session, &launch, done);
}

static int copy_here(grove_session *session, grove_value *from, grove_view *view,
                     const grove_range *space, int axes, grove_value *to)
{
    int code = grove_launch_fetch(session, from);

    if (!code)
        code = grove_value_settle(from, NULL, view, session->error);
    if (code)
        return code;
    size_t bytes = (size_t)grove_value_cells(to) * grove_value_cell_bytes(to);
    to->data = grove_buffer_new(session->host, bytes, session->error);
    if (!to->data)
        return GROVE_NO_MEMORY;
    copy_view(session, view, space, axes, grove_value_cell_bytes(from),
              grove_buffer_host(to->data, session->error));
    return 0;
}

static int copy_flags(grove_session *session, const grove_view *flags, const grove_range *space,
                      int axes, grove_value *to)
{
    int code = grove_value_add_flags(to, session->host, (1u << axes) - 1, session->error);

    if (!code)
        copy_view(session, flags, space, axes, 1, grove_buffer_host(to->flags, session->error));
    return code;
}

int grove_copy_dense(grove_session *session, grove_value *from, char side, const grove_range *space,
                     int axes, bool there, grove_value **to)
{
    grove_view view, flags;
    bool done = false;
    int code = grove_value_layout(from, space, axes, side, &view, session->error);

    *to = NULL;
    if (!code)
        code = grove_value_flag_view(from, space, axes, side, &flags, session->error);
    if (code)
        return code;
    grove_value *copy =
        grove_value_bare(space, axes, from->shape, from->elements, from->complex_, from->double_);
    copy->unit = from->unit;
    if (there)
        code = copy_there(session, from, &view, space, axes, copy, &done);
    if (!code && !done)
        code = copy_here(session, from, &view, space, axes, copy);
    if (!code && from->flags)
        code = copy_flags(session, &flags, space, axes, copy);
    if (code)
        grove_value_unref(copy);
    else
        *to = copy;
    return code;
}

void grove_copy_part(grove_value *to, grove_value *from)
{
    size_t bytes = grove_value_cell_bytes(from);
    int64_t rows = 1, row_cells = 1, cells = grove_value_cells(from);
    char *data = grove_buffer_host(to->data, NULL);
    const char *source = grove_buffer_host(from->data, NULL);
    unsigned char *flags = to->flags ? grove_buffer_host(to->flags, NULL) : NULL;
    const unsigned char *bits = from->flags ? grove_buffer_host(from->flags, NULL) : NULL;

    if (from->axes)
        row_cells = from->range[from->axes - 1].count;
    rows = row_cells ? cells / row_cells : 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row, at = 0, step = 1;
        for (int d = from->axes - 1; d >= 0; d--) {
            int64_t i = d == from->axes - 1 ? 0 : rest % from->range[d].count;
            rest = d == from->axes - 1 ? rest : rest / from->range[d].count;
            at += (from->range[d].first + i - to->range[d].first) * step;
            step *= to->range[d].count;
        }
        memcpy(data + (size_t)at * bytes, source + (size_t)(row * row_cells) * bytes,
               (size_t)row_cells * bytes);
        if (flags && bits)
            memcpy(flags + at, bits + row * row_cells, (size_t)row_cells);
    }
}
