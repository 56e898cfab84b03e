/* Dense copies of parts of values. */
#include "eval/evaluate.h"

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
    grove_parallel(session->device->threads, rows, rows < 1024 ? rows : 0, copy_rows, &copy);
}

int grove_copy_dense(grove_session *session, grove_value *from, char side, const grove_range *space,
                     int axes, grove_value **to)
{
    grove_view view, flags;
    int code = grove_value_view(from, space, axes, side, NULL, &view, session->error);

    *to = NULL;
    if (!code)
        code = grove_value_flag_view(from, space, axes, side, &flags, session->error);
    if (code)
        return code;
    *to = grove_value_new(session->device, space, axes, from->shape, from->elements, from->complex_,
                          from->double_, from->flags != NULL, session->error);
    if (!*to)
        return GROVE_NO_MEMORY;
    (*to)->unit = from->unit;
    copy_view(session, &view, space, axes, grove_value_cell_bytes(from),
              grove_buffer_host((*to)->data, session->error));
    if (from->flags)
        copy_view(session, &flags, space, axes, 1, grove_buffer_host((*to)->flags, session->error));
    return 0;
}
