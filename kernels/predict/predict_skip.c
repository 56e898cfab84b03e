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

int64_t grove_predict_wanted(const grove_args *args, int64_t *rows)
{
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    int64_t all = grove_predict_rows(args), marks = marks_of(args, freq), count = 0;
    row_place place = {.inner = -1};
    row r;

    for (int64_t at = 0; at < all; at++) {
        int64_t k = 0;
        find_next_row(args, at, &place, &r, &r);
        const unsigned char *flags = (const unsigned char *)r.in[GROVE_PREDICT_SKIP];
        while (k < marks && flags && is_skipped(args, flags, k, freq))
            k++;
        if (k < marks)
            rows[count++] = at;
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
    row r;

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
