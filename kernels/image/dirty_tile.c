/* A tile of the direct image in vectors. For 16 regular channels, two multiply-adds for each pixel
 * and visibility are nine tenths of all operations; the rest are phases along the sides of the
 * tile. */
#define GROVE_REAL_SINGLE 1
#include "dirty_tile.h"

#include "../simd/vector.h"
#include <stdbool.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

/* Visibilities of a panel; channels that a phase is stepped along; sums in registers. */
enum { SIDE = GROVE_DIRTY_SIDE, ROOM = 64, STEPS = 16 };
enum { ROWS = VECTOR_BYTES == 64 ? 8 : 4, COLUMNS = 2, WIDTH = COLUMNS * LANES };

/* The two matrices for some visibilities. */
typedef struct {
    int count;
    float y_re[ROOM][SIDE], y_minus_im[ROOM][SIDE]; /* with weight V */
    float x_re[ROOM][SIDE], x_im[ROOM][SIDE];
    float turn[ROOM]; /* 2 pi w max_bend, w in wavelengths */
} panel;

INLINE vec load(const float *from)
{
    vec x;

    memcpy(&x, from, sizeof(x));
    return x;
}

INLINE void store(float *to, vec x)
{
    memcpy(to, &x, sizeof(x));
}

/* exp(2 pi i nu (a place + w n) / c) along a side of the tile, for `count` channels. */
INLINE void fill_side(float (*re)[SIDE], float (*im)[SIDE], const double *place, const double *n,
                      double a, double w, double start, double step, int count)
{
    for (int i = 0; i < SIDE; i += LANES) {
        doubles delay[PARTS];
        vec cosine, sine, step_cosine = {0}, step_sine = {0};
        for (int p = 0; p < PARTS; p++) {
            doubles at, bent;
            memcpy(&at, place + i + p * PART, sizeof(at));
            memcpy(&bent, n + i + p * PART, sizeof(bent));
            delay[p] = (a * at + w * bent) * (1 / GROVE_SPEED_OF_LIGHT);
        }
        phasor(fractional_turns(delay, start), &cosine, &sine);
        if (count > 1)
            phasor(fractional_turns(delay, step), &step_cosine, &step_sine);
        for (int k = 0; k < count; k++) {
            vec old = cosine;
            store(&re[k][i], cosine);
            store(&im[k][i], sine);
            cosine = old * step_cosine - sine * step_sine;
            sine = old * step_sine + sine * step_cosine;
        }
    }
}

/* Channels [first, first + count) of a row, `step` Hz apart. */
static void fill(panel *p, const grove_dirty_tile *tile, const grove_dirty_samples *samples,
                 int64_t row, int64_t first, int count, double step)
{
    const double *uvw = samples->uvw + 3 * row, start = samples->freq[first];
    const int at = p->count;

    fill_side(p->x_re + at, p->x_im + at, tile->l, tile->n_of_l, uvw[0], uvw[2], start, step,
              count);
    fill_side(p->y_re + at, p->y_minus_im + at, tile->m, tile->n_of_m, uvw[1], uvw[2], start, step,
              count);
    for (int k = at; k < at + count; k++) {
        int64_t sample = row * samples->channels + first + (k - at);
        float weight = samples->weight[sample];
        float re = weight * samples->data[2 * sample], im = weight * samples->data[2 * sample + 1];
        for (int i = 0; i < SIDE; i += LANES) {
            vec cosine = load(&p->y_re[k][i]), sine = load(&p->y_minus_im[k][i]);
            store(&p->y_re[k][i], re * cosine - im * sine);
            store(&p->y_minus_im[k][i], -(re * sine + im * cosine));
        }
        p->turn[k] = (float)(2 * GROVE_PI / GROVE_SPEED_OF_LIGHT * uvw[2] * tile->max_bend *
                             (start + step * (k - at)));
    }
    p->count += count;
}

/* Adds sums of ROWS x WIDTH pixels, times the power of the bend. */
INLINE void add_sums(const vec sums[ROWS][COLUMNS], const grove_dirty_tile *tile, int y, int x,
                     int power, double *sum, int64_t stride)
{
    int rows = tile->rows - y < ROWS ? tile->rows - y : ROWS;
    int columns = tile->columns - x < WIDTH ? tile->columns - x : WIDTH;

    for (int r = 0; r < rows; r++) {
        float numbers[WIDTH];
        double *to = sum + (y + r) * stride + x;
        for (int c = 0; c < COLUMNS; c++) {
            vec factor = load(&tile->above_horizon[y + r][x + c * LANES]);
            for (int k = 0; k < power; k++)
                factor *= load(&tile->bend[y + r][x + c * LANES]);
            store(numbers + c * LANES, sums[r][c] * factor);
        }
        for (int i = 0; i < columns; i++)
            to[i] += (double)numbers[i];
    }
}

/* The product of the two matrices. */
static void multiply(const panel *p, const grove_dirty_tile *tile, int power, double *sum,
                     int64_t stride)
{
    for (int y = 0; y < tile->rows; y += ROWS)
        for (int x = 0; x < tile->columns; x += WIDTH) {
            vec sums[ROWS][COLUMNS] = {{{0}}};
            for (int k = 0; k < p->count; k++) {
                const float *y_re = &p->y_re[k][y], *y_im = &p->y_minus_im[k][y];
                vec re[COLUMNS], im[COLUMNS];
                for (int c = 0; c < COLUMNS; c++) {
                    re[c] = load(&p->x_re[k][x + c * LANES]);
                    im[c] = load(&p->x_im[k][x + c * LANES]);
                }
                for (int r = 0; r < ROWS; r++)
                    for (int c = 0; c < COLUMNS; c++) {
                        sums[r][c] += y_re[r] * re[c];
                        sums[r][c] += y_im[r] * im[c];
                    }
            }
            add_sums((const vec(*)[COLUMNS])sums, tile, y, x, power, sum, stride);
        }
}

/* Multiplies the matrix of y by i turn / power: the next term of the expansion. */
static void next_power(panel *p, int power)
{
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < SIDE; i += LANES) {
            vec re = load(&p->y_re[k][i]), minus_im = load(&p->y_minus_im[k][i]);
            float turn = p->turn[k] / (float)power;
            store(&p->y_re[k][i], turn * minus_im);
            store(&p->y_minus_im[k][i], -turn * re);
        }
}

static void flush(panel *p, const grove_dirty_tile *tile, double *sum, int64_t stride)
{
    for (int power = 0; power < tile->terms; power++) {
        if (power)
            next_power(p, power);
        multiply(p, tile, power, sum, stride);
    }
    p->count = 0;
}

/* The number of channels from `first` on, STEPS at most, that equal steps lead to. */
static int regular_channels(const double *freq, int64_t channels, int64_t first)
{
    int64_t end = first + 1;
    double step = end < channels ? freq[end] - freq[first] : 0;

    while (end < channels && end < first + STEPS &&
           fabs(freq[first] + step * (double)(end - first) - freq[end]) <= 1e-12 * freq[end])
        end++;
    return (int)(end - first);
}

static bool has_weight(const float *weight, int count)
{
    for (int k = 0; k < count; k++)
        if (weight[k] > 0)
            return true;
    return false;
}

void JOIN(grove_dirty_tile_, GROVE_ISA_SUFFIX)(const grove_dirty_samples *samples,
                                               const grove_dirty_tile *tile, double *sum,
                                               int64_t stride)
{
    const double *freq = samples->freq;
    panel p;
    int count;

    p.count = 0;
    for (int64_t row = 0; row < samples->rows; row++)
        for (int64_t k = 0; k < samples->channels; k += count) {
            count = regular_channels(freq, samples->channels, k);
            if (!has_weight(samples->weight + row * samples->channels + k, count))
                continue;
            if (p.count + count > ROOM)
                flush(&p, tile, sum, stride);
            fill(&p, tile, samples, row, k, count, count > 1 ? freq[k + 1] - freq[k] : 0);
        }
    flush(&p, tile, sum, stride);
}
