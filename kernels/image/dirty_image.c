#include "dirty_image.h"

#include <string.h>

/* Pixels go in lanes; the phases of a row are stepped from channel to channel, BLOCK at a time. */
enum { LANES = 64, BLOCK = 16 };

/* Compiled for several instruction sets; the loader chooses by the processor. ThreadSanitizer
 * cannot run before that choice is made. */
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_THREAD__) &&                  \
    (!defined(__clang__) || __clang_major__ >= 14)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE static inline __attribute__((always_inline))

typedef struct {
    int count;
    double l[LANES], m[LANES], n[LANES]; /* n: n - 1 */
    double sum[LANES];
} pixels;

/* exp(2 pi i turns), from the half angle a, |a| <= pi / 2: sin 2a = 2 sin a cos a, cos 2a = 1 - 2
 * sin^2 a; both by their series, which are good to 1e-11 there. */
INLINE void phasor(double turns, float *re, float *im)
{
    double whole = (turns + 0x1.8p52) - 0x1.8p52; /* the nearest integer */
    double a = GROVE_PI * (turns - whole), y = a * a;
    double sine =
        a * (1 + y * (-1.0 / 6 +
                      y * (1.0 / 120 + y * (-1.0 / 5040 +
                                            y * (1.0 / 362880 + y * (-1.0 / 39916800 +
                                                                     y * (1.0 / 6227020800.0)))))));
    double cosine =
        1 + y * (-1.0 / 2 +
                 y * (1.0 / 24 + y * (-1.0 / 720 +
                                      y * (1.0 / 40320 + y * (-1.0 / 3628800 +
                                                              y * (1.0 / 479001600 +
                                                                   y * (-1.0 / 87178291200.0)))))));

    *re = (float)(1 - 2 * sine * sine);
    *im = (float)(2 * sine * cosine);
}

/* Channels [first, last) of a row, equally spaced by `step` Hz. */
INLINE void add_block(pixels *p, const double *delay, double start, double step, const float *data,
                      const float *weight, int64_t first, int64_t last)
{
    float re[LANES], im[LANES], step_re[LANES], step_im[LANES], sum[LANES];

    for (int i = 0; i < LANES; i++) {
        phasor(start * delay[i], &re[i], &im[i]);
        phasor(step * delay[i], &step_re[i], &step_im[i]);
        sum[i] = 0;
    }
    for (int64_t k = first; k < last; k++) {
        float x = weight[k] * data[2 * k], y = weight[k] * data[2 * k + 1];
        for (int i = 0; i < LANES; i++) {
            float old = re[i];
            sum[i] += x * re[i] - y * im[i];
            re[i] = old * step_re[i] - im[i] * step_im[i];
            im[i] = old * step_im[i] + im[i] * step_re[i];
        }
    }
    for (int i = 0; i < LANES; i++)
        p->sum[i] += (double)sum[i];
}

/* The last channel that steps of freq[first + 1] - freq[first] lead to from `first`. */
static int64_t block_end(const double *freq, int64_t channels, int64_t first)
{
    int64_t end = first + 1;
    double step = end < channels ? freq[end] - freq[first] : 0;

    while (end < channels && end < first + BLOCK &&
           fabs(freq[first] + step * (double)(end - first) - freq[end]) <= 1e-12 * freq[end])
        end++;
    return end;
}

static int has_weight(const float *weight, int64_t first, int64_t last)
{
    for (int64_t k = first; k < last; k++)
        if (weight[k] > 0)
            return 1;
    return 0;
}

FOR_EACH_PROCESSOR
static void add_row(pixels *p, const grove_dirty_samples *samples, int64_t row)
{
    const double *uvw = samples->uvw + 3 * row, *freq = samples->freq;
    const float *data = samples->data + 2 * row * samples->channels;
    const float *weight = samples->weight + row * samples->channels;
    double delay[LANES];

    for (int i = 0; i < LANES; i++)
        delay[i] = (uvw[0] * p->l[i] + uvw[1] * p->m[i] + uvw[2] * p->n[i]) / GROVE_SPEED_OF_LIGHT;
    for (int64_t k = 0, end; k < samples->channels; k = end) {
        end = block_end(freq, samples->channels, k);
        if (has_weight(weight, k, end))
            add_block(p, delay, freq[k], end > k + 1 ? freq[k + 1] - freq[k] : 0, data, weight, k,
                      end);
    }
}

void grove_dirty_image_add(const grove_dirty_samples *samples, const grove_dirty_grid *grid,
                           int64_t first, int64_t last, double *sum)
{
    int64_t middle = grid->size / 2;

    for (int64_t at = first; at < last; at += LANES) {
        pixels p;
        memset(&p, 0, sizeof(p));
        p.count = last - at < LANES ? (int)(last - at) : LANES;
        for (int i = 0; i < p.count; i++) {
            p.l[i] = (double)((at + i) % grid->size - middle) * grid->cell;
            p.m[i] = (double)((at + i) / grid->size - middle) * grid->cell;
            double r = p.l[i] * p.l[i] + p.m[i] * p.m[i];
            p.n[i] = -r / (1 + sqrt(r < 1 ? 1 - r : 0)); /* no cancellation */
        }
        for (int64_t row = 0; row < samples->rows; row++)
            add_row(&p, samples, row);
        for (int i = 0; i < p.count; i++)
            if (p.l[i] * p.l[i] + p.m[i] * p.m[i] < 1)
                sum[at + i] += p.sum[i];
    }
}
