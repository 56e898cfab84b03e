#include "noise_simd.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { INTERVAL, CHANNEL_WIDTH, BASELINE, SIGMA, SEFD };
/* Channels at once; standard deviations are read in whole vectors. */
enum { CHANNELS = 64 };

static const grove_noise_kernels *const kernels[GROVE_ISAS] = {
    &grove_noise_portable, &grove_noise_avx2, &grove_noise_avx512};

/* Cells that follow each other along the channels. */
typedef struct {
    grove_cell cell; /* the first of them */
    int axis;        /* the axis of channels, -1: none */
    int64_t count;
} run;

/* The run of cells from number `at` to `last` at most: one cell where channels are not the last
 * axis. */
static run find_run(const grove_args *args, int64_t at, int64_t last)
{
    run r = {.axis = grove_args_axis(args, GROVE_AXIS_FREQ), .count = 1};
    int64_t count = grove_cell_start(&r.cell, args, at, last);

    if (r.axis >= 0 && r.axis == args->axes - 1)
        r.count = count;
    return r;
}

/* A double of an input, in cell k of the run. */
static double number_at(const run *r, int input, int64_t k)
{
    int64_t step = r->axis < 0 ? 0 : r->cell.args->in[input].stride[r->axis];

    return *(const double *)(const void *)(r->cell.in[input] + step * k);
}

/* Standard deviations in `count` cells of the run, from cell `from` on. */
static void find_sizes(const run *r, int64_t from, int64_t count, double *size)
{
    double last[3] = {0};

    for (int64_t k = 0; k < count; k++) {
        if (r->cell.in[SIGMA]) {
            size[k] = number_at(r, SIGMA, from + k);
            continue;
        }
        double now[3] = {number_at(r, SEFD, from + k), number_at(r, INTERVAL, from + k),
                         number_at(r, CHANNEL_WIDTH, from + k)};
        bool same = k && now[0] == last[0] && now[1] == last[1] && now[2] == last[2];
        size[k] = same ? size[k - 1] : now[0] / sqrt(2 * fabs(now[1] * now[2]));
        memcpy(last, now, sizeof(last));
    }
}

static void fill(const run *r, bool double_)
{
    const grove_noise_state *state = GROVE_STATE(&r->cell, grove_noise_state);
    const grove_noise_kernels *functions = kernels[state->isa];
    const int64_t step = r->axis < 0 ? 0 : r->cell.args->out.stride[r->axis];
    const double *stations = GROVE_DOUBLES(&r->cell, BASELINE);
    const grove_noise_row row = {.seed = state->seed,
                                 .time = (uint64_t)grove_cell_index(&r->cell, GROVE_AXIS_TIME),
                                 .stations = {(uint64_t)stations[0], (uint64_t)stations[1]}};
    uint64_t channel = (uint64_t)grove_cell_index(&r->cell, GROVE_AXIS_FREQ);
    double size[CHANNELS] = {0};

    for (int64_t done = 0; done < r->count; done += CHANNELS) {
        int64_t count = r->count - done < CHANNELS ? r->count - done : CHANNELS;
        void *out = r->cell.out + step * done;
        find_sizes(r, done, count, size);
        if (double_)
            functions->double_(&row, channel + (uint64_t)done, count, size, out, step / 8);
        else
            functions->single(&row, channel + (uint64_t)done, count, size, out, step / 4);
    }
}

static void fill_all(const grove_args *args, int64_t first, int64_t last, bool double_)
{
    for (int64_t done = first; done < last;) {
        run r = find_run(args, done, last);
        fill(&r, double_);
        done += r.count;
    }
}

void grove_noise_single(const grove_args *args, int64_t first, int64_t last)
{
    fill_all(args, first, last, false);
}

void grove_noise_double(const grove_args *args, int64_t first, int64_t last)
{
    fill_all(args, first, last, true);
}
