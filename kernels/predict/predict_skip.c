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

int64_t grove_predict_wanted(const grove_args *args, int64_t *rows)
{
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    int64_t all = grove_predict_rows(args), channels = size_of(args, freq), count = 0;
    row r;

    for (int64_t at = 0; at < all; at++) {
        int64_t k = 0;
        find_row(args, at, &r);
        const unsigned char *flags = (const unsigned char *)r.in[GROVE_PREDICT_SKIP];
        while (k < channels && flags && is_skipped(args, flags, k, freq))
            k++;
        if (k < channels)
            rows[count++] = at;
    }
    return count;
}

void grove_predict_blank(const grove_args *args, int64_t first, int64_t last)
{
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    size_t bytes = (size_t)args->out.elements * 2 * (size_t)args->out.bytes;
    row r;

    for (int64_t at = first; at < last; at++) {
        find_row(args, at, &r);
        const unsigned char *flags = (const unsigned char *)r.in[GROVE_PREDICT_SKIP];
        for (int64_t k = 0; flags && k < size_of(args, freq); k++)
            if (is_skipped(args, flags, k, freq))
                memset(r.out + stride_of(&args->out, freq) * k, 0, bytes);
    }
}
