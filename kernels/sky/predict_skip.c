/* Finds rows with unflagged channels, and sets wholly flagged visibilities to zero. */
#include "predict_skip.h"

#include "predict_view.h"

#include <string.h>

static int is_skipped(const grove_args *args, const unsigned char *flags, int64_t channel, int freq)
{
    const grove_view *view = &args->in[GROVE_PREDICT_SKIP];
    unsigned all = (1u << view->elements) - 1;

    return (flags[stride_of(view, freq) * channel] & all) == all;
}

/* Flags of a row: of each channel, or one for all, where a set has no such row. */
static int64_t marks_of(const grove_args *args, int freq)
{
    int64_t channels = size_of(args, freq);

    return stride_of(&args->in[GROVE_PREDICT_SKIP], freq) || !channels ? channels : 1;
}

/* Whether any of the channels is needed. */
static int any_needed(const grove_args *args, const unsigned char *flags, int64_t marks, int freq)
{
    int64_t k = 0;

    while (k < marks && is_skipped(args, flags, k, freq))
        k++;
    return k < marks;
}

int64_t grove_predict_needed_rows(const grove_args *args, int64_t *rows)
{
    const grove_view *view = &args->in[GROVE_PREDICT_SKIP];
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    int64_t all = grove_predict_rows(args), marks = marks_of(args, freq), count = 0;

    for (int64_t at = 0; at < all;) {
        row_place place = place_of_row(args, at);
        const char *flags = grove_view_at(view, place.index, args->axes);
        const int64_t end = place.inner < 0 ? at + 1 : at + args->size[place.inner];
        for (;;) {
            if (any_needed(args, (const unsigned char *)flags, marks, freq))
                rows[count++] = at;
            if (++at == end)
                break;
            place.index[place.inner]++;
            flags += step_of_row(view, &place);
        }
    }
    return count;
}

void grove_predict_blank(const grove_args *args, int64_t first, int64_t last)
{
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    const int64_t marks = marks_of(args, freq), step = stride_of(&args->out, freq);
    const int64_t each = marks ? size_of(args, freq) / marks : 0; /* channels of a flag */
    const size_t bytes = (size_t)args->out.elements * 2 * (size_t)args->out.bytes;
    const int dense = step == (int64_t)bytes;
    row_place place = {.inner = -1};
    row r = {.out = NULL};

    for (int64_t at = first; at < last; at++) {
        find_next_row(args, at, &place, &r, &r);
        const unsigned char *flags = (const unsigned char *)r.in[GROVE_PREDICT_SKIP];
        for (int64_t k = 0; flags && k < marks; k++) {
            if (!is_skipped(args, flags, k, freq))
                continue;
            for (int64_t c = 0; c < (dense ? 1 : each); c++)
                memset(r.out + step * (k * each + c), 0, dense ? bytes * (size_t)each : bytes);
        }
    }
}
