/* Measures g2g's kernels: tracks over a grid, whose entries follow each other from one fine sample
 * to the next; functions without w, that are real, and with it. */
#include "gpu-bench.h"

#include "../kernels/imaging/g2g/g2g_device.h"

#include "unstable/threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 256,    /* fine samples of a track */
    ITEMS = 1 << 13 /* cells of the result that are counted */
};

typedef struct {
    const char *name;
    int support, oversampling;
    bool are_real, gathers;
    int tracks; /* that are counted */
} workload;

static const workload workloads[] = {{"grid to grid, 7 x 7", 7, 8, true, false, 8},
                                     {"grid to grid, 7 x 7, with w", 7, 8, false, false, 8},
                                     {"grid to grid, 7 x 7, finer", 7, 32, true, false, 8},
                                     {"grid to grid, 16 x 16, with w", 16, 8, false, false, 4},
                                     {"grid to grid, 32 x 32", 32, 8, true, false, 2},
                                     {"cells of the result, 7 x 7", 7, 8, true, true, 512}};

typedef struct {
    gpu_bench *b;
    const workload *of;
    grove_lattice lattice;
    grove_g2g_device_sizes sizes;
    grove_diagonal_entry *entries;
    int64_t count;
    grove_g2g_piece *pieces;
    int32_t piece_count;
    grove_args args;
    void *packed;
} field;

/* Baselines along lines, in wavelengths: a cell is one. */
static void draw_entries(field *f, int64_t tracks, bool double_)
{
    const grove_convolution_plan plan = {.grid = {1024, 1024},
                                         .scale = {1, 1},
                                         .support = f->of->support,
                                         .oversampling = f->of->oversampling,
                                         .functions = 1,
                                         .planes = 1,
                                         .visibilities = 1,
                                         .images = 1,
                                         .double_precision = double_};
    const grove_gridder_threads threads = {grove_parallel_items, NULL};
    const double freq = GROVE_SPEED_OF_LIGHT, step = 1.0 / f->of->oversampling;
    grove_gridder_outside outside = {0};
    double *uvw = calloc((size_t)(tracks * STEPS * 3), sizeof(*uvw));

    gpu_must_have(uvw && grove_lattice_make(&plan, &f->lattice));
    for (int64_t t = 0; t < tracks; t++) {
        const double at[2] = {400 * gpu_draw(), 400 * gpu_draw()},
                     angle = 2 * GROVE_PI * gpu_draw();
        for (int64_t k = 0; k < STEPS; k++) {
            double *to = uvw + 3 * (t * STEPS + k);
            to[0] = at[0] + (double)k * step * cos(angle);
            to[1] = at[1] + (double)k * step * sin(angle);
        }
    }
    grove_diagonal *d = grove_diagonal_new(&f->lattice, 0);
    gpu_must_have(d && !grove_diagonal_add(
                           d,
                           &(grove_gridder_samples){
                               .rows = tracks * STEPS, .channels = 1, .uvw = uvw, .freq = &freq},
                           NULL, &threads, &outside));
    f->count = grove_diagonal_count(d);
    f->entries = malloc((size_t)f->count * sizeof(*f->entries));
    gpu_must_have(f->entries && grove_g2g_device_find_sizes(&f->lattice, f->count, &f->sizes));
    grove_diagonal_write(d, &threads, f->entries);
    grove_diagonal_free(d);
    free(uvw);
}

/* Pieces and entries; the state of both kernels. */
static void fill(field *f, bool double_)
{
    const grove_lattice *l = &f->lattice;
    const int64_t pair = double_ ? 16 : 8, cells = l->plan.grid[0] * l->plan.grid[1];
    char *lists = calloc(1, f->sizes.lists);
    grove_g2g_state state = {.row = grove_gridder_divide_by((int32_t)l->plan.grid[0]),
                             .support = l->plan.support,
                             .tile = (int32_t)l->tile,
                             .tiles = {(int32_t)l->tiles[0], (int32_t)l->tiles[1]},
                             .step = {pair, pair * l->plan.grid[0]}};

    gpu_must_have(lists);
    f->pieces = (grove_g2g_piece *)(void *)lists;
    f->piece_count = grove_g2g_device_divide(l, f->entries, f->count, f->sizes.slice, f->pieces,
                                             (int32_t *)(void *)(lists + f->sizes.begin));
    state.last = f->piece_count < f->sizes.slice ? f->piece_count : f->sizes.slice;
    char *sent = gpu_send(f->b, lists, f->sizes.lists);
    f->args = (grove_args){.axes = 1, .inputs = GROVE_G2G_INPUTS};
    f->args.size[0] = grove_g2g_lanes(state.support) * (int64_t)state.last;
    f->args.in[GROVE_G2G_IN].data = gpu_send_random(f->b, 2 * cells, double_);
    f->args.in[GROVE_G2G_FUNCTIONS].data =
        gpu_send_random(f->b, (int64_t)f->sizes.functions / (double_ ? 8 : 4), double_);
    f->args.in[GROVE_G2G_PIECES].data = sent;
    f->args.out.data = gpu_make_room(f->b, f->sizes.slots);
    if (f->of->gathers) { /* of slots, to the grid; those counted are in its middle */
        f->args.size[0] = f->b->counted ? ITEMS * f->b->scale : cells;
        state.origin[1] = f->b->counted ? (int32_t)l->plan.grid[1] / 2 : 0;
        void *slots = f->args.out.data;
        f->args.out.data = f->args.in[GROVE_G2G_IN].data;
        f->args.in[GROVE_G2G_IN].data = slots;
        f->args.in[GROVE_G2G_ENTRIES].data = sent + f->sizes.begin;
    }
    memcpy(f->args.state.bytes, &state, sizeof(state));
}

/* As the kernel g2g_pack does, once for a diagonal, and so not counted. */
static void pack(field *f, bool double_)
{
    const grove_lattice *l = &f->lattice;
    const uint32_t function =
        (uint32_t)grove_g2g_numbers(f->of->support, f->of->are_real) * (double_ ? 8 : 4);
    char *packed = calloc((size_t)f->count, GROVE_G2G_ENTRY_BYTES);

    gpu_must_have(packed);
    for (int64_t k = 0; k < f->count; k++) {
        const int64_t point = (int64_t)f->entries[k].point, cell = point / l->blocks,
                      place = cell % (l->tile * l->tile);
        const float weight = (float)f->entries[k].weight;
        int64_t same = 1;
        while (same < GROVE_G2G_TOGETHER && k + same < f->count &&
               f->entries[k + same].point < (double)((cell + 1) * l->blocks))
            same++;
        char *to = packed + k * GROVE_G2G_ENTRY_BYTES;
        const uint32_t both[2] = {(uint32_t)(same << 24 | place / l->tile << 12 | place % l->tile),
                                  (uint32_t)(point % l->blocks) * function};
        memcpy(to, both, sizeof(both));
        memcpy(to + sizeof(both), double_ ? (const void *)&f->entries[k].weight : &weight,
               double_ ? sizeof(double) : sizeof(float));
    }
    f->packed = gpu_send(f->b, packed, (size_t)f->count * GROVE_G2G_ENTRY_BYTES);
    if (!f->of->gathers)
        f->args.in[GROVE_G2G_ENTRIES].data = f->packed;
    free(packed);
}

/* Entries, and what pieces read of the grid and write to their slots. */
static double bytes_of(const field *f, bool double_)
{
    const double pair = double_ ? 16 : 8;
    double cells = 0;

    for (int32_t k = 0; k < f->piece_count; k++)
        cells += (f->pieces[k].end - f->pieces[k].row) * (f->pieces[k].right - f->pieces[k].left);
    return f->of->gathers
               ? pair * (double)f->args.size[0] *
                     (1 + cells / (double)(f->lattice.plan.grid[0] * f->lattice.plan.grid[1]))
               : (double)f->count * GROVE_G2G_ENTRY_BYTES + 2 * pair * cells;
}

static void measure(gpu_bench *b, const workload *of, bool double_)
{
    field f = {.b = b, .of = of};

    if (!gpu_begins(b, of->name))
        return;
    draw_entries(&f,
                 b->tiny       ? 2
                 : !b->counted ? 4096
                 : of->gathers ? of->tracks
                               : of->tracks * b->scale,
                 double_);
    fill(&f, double_);
    pack(&f, double_);
    const double cells = of->gathers ? (double)f.args.size[0] : (double)f.count,
                 each = (of->are_real ? 4 : 8) * (double)of->support * of->support;
    gpu_print(b, of->name, double_,
              gpu_time_launches(b,
                                of->gathers
                                    ? &grove_g2g_gather
                                    : grove_g2g_apply_kernel(of->support, of->are_real, double_),
                                &f.args, double_),
              &(gpu_counts){.operations = of->gathers ? 0 : cells * each,
                            .cells = cells,
                            .bytes = bytes_of(&f, double_)});
    f.args.in[GROVE_G2G_ENTRIES].data = f.packed; /* of gathers, within the pieces until now */
    gpu_finish(b, &f.args);
    free(f.entries);
    free(f.pieces);
}

void gpu_measure_g2g(gpu_bench *b)
{
    for (int double_ = 0; double_ < 2; double_++)
        for (size_t k = 0; k < sizeof(workloads) / sizeof(*workloads); k++)
            measure(b, &workloads[k], double_);
}
