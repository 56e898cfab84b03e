#include "brightness_simd.h"

#include "spectrum.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum {
    STOKES,
    REFERENCE_FREQUENCY,
    SPECTRUM,
    LOGARITHMIC,
    ROTATION_MEASURE,
    ROTATION_REFERENCE,
    FREQ,
    FEED,
    INPUTS
};
enum { CELLS = GROVE_BRIGHTNESS_CELLS };

static const grove_brightness_kernels *const kernels[GROVE_ISAS] = {
    &grove_brightness_portable, &grove_brightness_avx2, &grove_brightness_avx512};
static const grove_brightness_kernels *chosen;

static void choose(void)
{
    chosen = kernels[grove_isa_usable()];
}

/* Cells that follow each other along the last axis: the first, and bytes from each to the next. */
typedef struct {
    grove_cell cell;
    int64_t step[INPUTS], out_step;
    bool moves; /* more than the frequency */
} run;

static const double *numbers_at(const run *r, int input, int64_t k)
{
    return (const double *)(const void *)(r->cell.in[input] + r->step[input] * k);
}

typedef enum { FLAT, ORDINARY, LOGARITHM } spectrum_kind;

/* A source, but for its position. */
typedef struct {
    const double *stokes, *terms;
    spectrum_kind kind;
    double reference, measure, rotation_reference;
    bool circular;
} source;

static source load(const run *r, int64_t k)
{
    source s = {.stokes = numbers_at(r, STOKES, k),
                .terms = numbers_at(r, SPECTRUM, k),
                .reference = *numbers_at(r, REFERENCE_FREQUENCY, k),
                .measure = *numbers_at(r, ROTATION_MEASURE, k),
                .rotation_reference = *numbers_at(r, ROTATION_REFERENCE, k),
                .circular = *numbers_at(r, FEED, k) != 0};

    if (!r->cell.in[FREQ])
        s.measure = 0;
    else if (s.reference > 0)
        s.kind = *numbers_at(r, LOGARITHMIC, k) != 0 ? LOGARITHM : ORDINARY;
    return s;
}

/* Some cells of a run. */
typedef struct {
    source of[CELLS]; /* the first only where nothing moves */
    double freq[CELLS], sums[CELLS], scale[CELLS], cosine[CELLS], sine[CELLS];
    bool logarithms, turns;
} block;

static void load_block(const run *r, int64_t from, int count, block *b)
{
    b->logarithms = b->turns = false;
    for (int k = 0; k < count && (r->moves || k == 0); k++) {
        b->of[k] = load(r, from + k);
        b->logarithms = b->logarithms || b->of[k].kind == LOGARITHM;
        b->turns = b->turns || b->of[k].measure != 0;
    }
    for (int k = 0; k < count; k++)
        b->freq[k] = r->cell.in[FREQ] ? *numbers_at(r, FREQ, from + k) : 1;
}

/* The logarithm of any number; `guess` is right for positive normal numbers. */
static double any_logarithm(double x, double guess)
{
    return x > 1e-300 && x < 1e300 ? guess : log(x);
}

/* The sums of the terms, and the scales of logarithmic spectra. */
static inline __attribute__((always_inline)) void find_spectra(block *b, int count, int step,
                                                               int terms)
{
    double ratio[CELLS];

    for (int k = 0; k < count; k++) {
        double reference = b->of[k * step].reference;
        ratio[k] = reference > 0 ? b->freq[k] / reference : 1;
        b->scale[k] = ratio[k];
    }
    if (b->logarithms)
        chosen->logarithms(b->scale, count);
    for (int k = 0; k < count; k++) {
        const bool log10 = b->of[k * step].kind == LOGARITHM;
        ratio[k] = log10 ? any_logarithm(ratio[k], b->scale[k]) * GROVE_LOG10_E : ratio[k] - 1;
        b->sums[k] = 0;
    }
    for (int n = terms - 1; n >= 0; n--)
        for (int k = 0; k < count; k++)
            b->sums[k] = (b->sums[k] + b->of[k * step].terms[n]) * ratio[k];
    for (int k = 0; k < count; k++)
        b->scale[k] = b->of[k * step].kind == LOGARITHM ? b->sums[k] * GROVE_LOG2_10 : 0;
    if (b->logarithms)
        chosen->powers(b->scale, count);
    else
        for (int k = 0; k < count; k++)
            b->scale[k] = 1;
}

static void find_turns(block *b, int count, int step)
{
    double turns[CELLS];

    for (int k = 0; k < count; k++) {
        const source *s = &b->of[k * step];
        double wavelength = GROVE_SPEED_OF_LIGHT / b->freq[k];
        turns[k] = s->measure != 0
                       ? s->measure / GROVE_PI * (wavelength * wavelength - s->rotation_reference)
                       : 0;
        b->cosine[k] = turns[k];
    }
    chosen->turns(b->cosine, b->sine, count);
    for (int k = 0; k < count; k++)
        if (!(fabs(turns[k]) < 1e9)) {
            b->cosine[k] = cos(2 * GROVE_PI * turns[k]);
            b->sine[k] = sin(2 * GROVE_PI * turns[k]);
        }
}

/* Each matrix times its scale; `next` numbers from one matrix to the next. */
#define DEFINE_SCALE(name, number)                                                                 \
    static void name(const double *matrix, int next, const double *scale, int count, char *out,    \
                     int64_t step)                                                                 \
    {                                                                                              \
        for (int k = 0; k < count; k++, matrix += next, out += step) {                             \
            number *to = (number *)(void *)out;                                                    \
            for (int e = 0; e < 8; e++)                                                            \
                to[e] = (number)(matrix[e] * scale[k]);                                            \
        }                                                                                          \
    }
DEFINE_SCALE(scale_single, float)
DEFINE_SCALE(scale_double, double)

static void finish(const run *r, int64_t from, int count, const block *b, bool double_)
{
    const bool same = !r->moves && !b->turns && b->of->kind != ORDINARY;
    char *out = r->cell.out + r->out_step * from;
    double matrix[CELLS][8];

    for (int k = 0; k < (same ? 1 : count); k++) {
        const source *of = &b->of[r->moves ? k : 0];
        double s[4];
        memcpy(s, of->stokes, sizeof(s));
        if (of->kind == ORDINARY)
            grove_add_spectrum(s, b->sums[k]);
        if (b->turns)
            grove_turn_stokes(s, b->cosine[k], b->sine[k]);
        grove_put_brightness(matrix[k], s, of->circular);
    }
    (double_ ? scale_double : scale_single)(matrix[0], same ? 0 : 8, b->scale, count, out,
                                            r->out_step);
}

static void fill(const grove_args *args, int64_t first, int64_t last, bool double_)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const int inner = args->axes - 1;
    run r;

    pthread_once(&once, choose);
    r.moves = false;
    for (int k = 0; k < INPUTS; k++) {
        r.step[k] = inner < 0 || !args->in[k].data ? 0 : args->in[k].stride[inner];
        r.moves = r.moves || (k != FREQ && r.step[k]);
    }
    r.out_step = inner < 0 ? 0 : args->out.stride[inner];
    for (int64_t done = first, cells; done < last; done += cells) {
        cells = grove_cell_start(&r.cell, args, done, last);
        for (int64_t from = 0; from < cells; from += CELLS) {
            const int count = cells - from < CELLS ? (int)(cells - from) : CELLS;
            block b;
            load_block(&r, from, count, &b);
            if (r.moves)
                find_spectra(&b, count, 1, args->in[SPECTRUM].elements);
            else
                find_spectra(&b, count, 0, args->in[SPECTRUM].elements);
            if (b.turns)
                find_turns(&b, count, r.moves);
            finish(&r, from, count, &b, double_);
        }
    }
}

void grove_brightness_single(const grove_args *args, int64_t first, int64_t last)
{
    fill(args, first, last, false);
}

void grove_brightness_double(const grove_args *args, int64_t first, int64_t last)
{
    fill(args, first, last, true);
}
