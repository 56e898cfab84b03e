/* The sum in vector code for one evaluation: chooses its form, packs, and runs the pieces of it. */
#include "../simd/isa.h"
#include "predict_private.h"
#include "predict_skip.h"

#include <stdlib.h>
#include <string.h>

const grove_predict_kernels *grove_predict_kernels_of(int isa, int bytes)
{
#if defined(__x86_64__)
    if (isa == GROVE_ISA_AVX512)
        return bytes == 8 ? &grove_predict_double_avx512 : &grove_predict_single_avx512;
    if (isa == GROVE_ISA_AVX2)
        return bytes == 8 ? &grove_predict_double_avx2 : &grove_predict_single_avx2;
#endif
    (void)isa;
    return bytes == 8 ? &grove_predict_double_portable : &grove_predict_single_portable;
}

/* The axes, and which channels are in which blocks. */
static void find_shape(grove_predict_sum *p)
{
    const grove_args *args = p->args;

    p->source = grove_args_axis(args, GROVE_AXIS_SOURCE);
    p->freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    p->time = grove_args_axis(args, GROVE_AXIS_TIME);
    p->baseline = grove_args_axis(args, GROVE_AXIS_BASELINE);
    p->sources = size_of(args, p->source);
    p->times = size_of(args, p->time);
    p->baselines = size_of(args, p->baseline);
    p->rows = grove_predict_rows(args);
    p->origin = p->freq < 0 ? 0 : args->origin[p->freq];
    p->channels = size_of(args, p->freq);
    p->first_block = p->origin / PREDICT_BLOCK;
    p->blocks = (p->origin + p->channels + PREDICT_BLOCK - 1) / PREDICT_BLOCK - p->first_block;
}

static int find_needed_rows(grove_predict_sum *p)
{
    if (p->row_list) /* the strays of another */
        return 1;
    p->row_count = p->rows;
    if (!p->args->in[GROVE_PREDICT_SKIP].data)
        return 1;
    p->row_list = calloc((size_t)p->rows + 1, sizeof(*p->row_list));
    if (p->row_list)
        p->row_count = grove_predict_needed_rows(p->args, p->row_list);
    return p->row_list != NULL;
}

static int choose_form(const grove_predict_sum *p)
{
    if (p->plan.way == GROVE_PREDICT_STATION && grove_predict_station_fits(p))
        return BY_STATIONS;
    return grove_predict_channels_form(p);
}

/* Whether the channels are nearly, but not quite, equally spaced, and enough for a recurrence. */
static int nearly_regular(const grove_predict_sum *p)
{
    return p->plan.channels.deviation > 0 && p->plan.count >= recurred(p);
}

static int move_even(grove_predict_sum *p)
{
    return !nearly_regular(p) ||
           (grove_predict_list_rows(p) && grove_predict_move_even(p, p->row_list, &p->row_count));
}

/* Packs the inputs that only this form needs. */
static int pack_form(grove_predict_sum *p)
{
    switch (p->form) {
    case BY_STATIONS:
        return grove_predict_station_pack(p);
    case BY_CHANNELS:
    case BY_SOURCES: /* channels may have any spacing */
        return grove_predict_channels_pack(p);
    default:
        return (!(p->plan.cutoff > 0) || grove_predict_order_rows(p)) && move_even(p);
    }
}

static int prepare(grove_predict_sum *p)
{
    if (!grove_predict_pack(p) || !find_needed_rows(p))
        return 0;
    p->form = choose_form(p);
    return pack_form(p) && grove_predict_pack_weights(p);
}

/* Strays of a sum by stations are summed by baselines after it. bare: that sum before it was
 * packed. */
static int add_strays(grove_predict_sum *p, const grove_predict_sum *bare)
{
    grove_predict_sum *to = calloc(1, sizeof(*to));
    size_t chosen = (size_t)p->sources * sizeof(*p->chosen);

    if (!to)
        return 0;
    *to = *bare;
    to->plan.way = GROVE_PREDICT_BASELINE;
    to->apparent = NULL; /* the first one's */
    to->row_list = p->stray;
    to->row_count = p->stray_count;
    p->stray = NULL;
    p->next = to;
    if (bare->chosen) {
        to->chosen = malloc(chosen + 1);
        if (to->chosen)
            memcpy(to->chosen, bare->chosen, chosen);
    }
    return to->chosen || !bare->chosen;
}

static int prepare_all(grove_predict_sum *p)
{
    if (p->plan.jones == GROVE_PREDICT_FOLDED && !grove_predict_apparent_pack(p))
        return 0;
    if (!grove_predict_split(p))
        return 0;
    for (; p; p = p->next) {
        grove_predict_sum bare = *p;
        if (!prepare(p) || (p->stray_count && !add_strays(p, &bare)))
            return 0;
    }
    return 1;
}

grove_predict_sum *grove_predict_sum_new(const grove_args *args)
{
    grove_predict_sum *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->args = args;
    memcpy(&p->plan, args->state.bytes, sizeof(p->plan));
    p->kernels = grove_predict_kernels_of(p->plan.isa, args->out.bytes);
    find_shape(p);
    if (!prepare_all(p)) {
        grove_predict_sum_free(p);
        return NULL;
    }
    return p;
}

grove_predict_sum *grove_predict_sum_next(const grove_predict_sum *p)
{
    return p->next;
}

static void free_one(grove_predict_sum *p)
{
    free(p->chosen);
    free(p->order);
    free(p->direction);
    free(p->ellipse);
    free(p->freqs);
    free(p->widths);
    free(p->weight);
    free(p->apparent);
    free(p->row_list);
    free(p->even);
    free(p->skipped);
    grove_predict_station_free(p);
    for (int i = 0; i < PREDICT_SPARES; i++)
        free(atomic_load(&p->spares[i]));
    free(p);
}

void grove_predict_sum_free(grove_predict_sum *p)
{
    while (p) {
        grove_predict_sum *next = p->next;
        free_one(p);
        p = next;
    }
}

void *grove_predict_take_memory(grove_predict_sum *p, size_t bytes)
{
    for (int i = 0; i < PREDICT_SPARES; i++) {
        void *spare = atomic_exchange(&p->spares[i], NULL);
        if (spare)
            return spare;
    }
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

void grove_predict_return_memory(grove_predict_sum *p, void *memory)
{
    for (int i = 0; i < PREDICT_SPARES && memory; i++)
        memory = atomic_exchange(&p->spares[i], memory);
    free(memory);
}

void grove_predict_sum_cut(grove_predict_sum *p, int threads)
{
    if (p->form == BY_STATIONS)
        grove_predict_station_cut(p, threads);
}

static int64_t batches(const grove_predict_sum *p, int64_t rows)
{
    return (rows + p->kernels->lanes - 1) / p->kernels->lanes;
}

/* Pieces of all rows but the even ones. */
static int64_t form_pieces(const grove_predict_sum *p)
{
    switch (p->form) {
    case BY_STATIONS:
        return grove_predict_station_pieces(p);
    case BY_CHANNELS:
    case BY_SOURCES:
        return grove_predict_channels_pieces(p);
    default:
        return batches(p, p->row_count);
    }
}

int64_t grove_predict_sum_pieces(const grove_predict_sum *p)
{
    return form_pieces(p) + batches(p, p->even_count);
}

static void run_form_piece(grove_predict_sum *p, int64_t piece)
{
    switch (p->form) {
    case BY_STATIONS:
        grove_predict_station_run(p, piece);
        break;
    case BY_CHANNELS:
    case BY_SOURCES:
        grove_predict_channels_run(p, piece);
        break;
    default:
        grove_predict_rows_run(p, p->row_list, p->row_count, piece * p->kernels->lanes,
                               p->job.regular);
    }
}

void grove_predict_sum_run(grove_predict_sum *p, int64_t first, int64_t last)
{
    int64_t pieces = form_pieces(p);

    for (int64_t piece = first; piece < last; piece++)
        if (piece < pieces)
            run_form_piece(p, piece);
        else
            grove_predict_rows_run(p, p->even, p->even_count, (piece - pieces) * p->kernels->lanes,
                                   1);
}

int grove_predict_sum_failed(const grove_predict_sum *p)
{
    return p->failed;
}
