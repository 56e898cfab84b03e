/* Rows of data, weights and a model that are read directly: for compression_hot.c. */
#ifndef GROVE_KERNELS_COMPRESSION_ROW_H
#define GROVE_KERNELS_COMPRESSION_ROW_H

#include "compression_simd.h"

#include "compression_cell.h"

#include <string.h>

/* Weights of a cell in single precision, one or four. */
INLINE four_floats weights_at(const char *from, int elements)
{
    const float *at = (const float *)(const void *)from;

    return elements == 4 ? (four_floats) * (const unaligned_four *)at
                         : (four_floats){at[0], at[0], at[0], at[0]};
}

/* 0 where a weight is no positive number, or is flagged. */
INLINE four_floats keep_positive(four_floats w, int flags)
{
#if defined(__AVX512F__)
    __mmask8 keep = _mm_cmp_ps_mask((__m128)w, _mm_setzero_ps(), _CMP_GT_OQ) & (__mmask8)~flags;
    return (four_floats)_mm_maskz_mov_ps(keep, (__m128)w);
#else
    four_masks keep = w > 0;
    keep &= (((four_masks){0} + (int32_t)flags) & (four_masks){1, 2, 4, 8}) == 0;
    return (four_floats)((four_masks)w & keep);
#endif
}

/* Weight, data and model of a cell. */
typedef struct {
    cell w, d, m;
} sample;

/* The cells of a row, and properties of their weights. */
typedef struct {
    int64_t count;
    const char *data, *weights, *model;
    const unsigned char *flags;
    int64_t data_step, weights_step, model_step, flag_step;
    four_floats kept[GROVE_COMPRESSION_CHANNELS]; /* 0: left out */
    double own[GROVE_COMPRESSION_CHANNELS][4];    /* these, where they differ within cells */
    four_masks counted, differ; /* how many are positive; 0: each cell has equal ones */
} cells_of_row;

static const unsigned char no_flags[4];

#if defined(__AVX512F__)
/* Bits of four cells in a mask of 16. */
INLINE __mmask16 bits_of_four(const unsigned char *flags)
{
    uint32_t bits;

    memcpy(&bits, flags, sizeof(bits));
    bits &= 0x0f0f0f0f;
    bits |= bits >> 4;
    return (__mmask16)((bits & 0xff) | (bits >> 8 & 0xff00));
}

/* Four cells at a time whose weights and flags follow each other; returns how many cells. */
INLINE int64_t keep_fours(cells_of_row *r)
{
    const __m512i one = _mm512_set1_epi32(1);
    __m512i counted = _mm512_setzero_si512(), differ = counted;
    int64_t k = 0;

    for (; k + 4 <= r->count; k += 4) {
        __m512 w = _mm512_loadu_ps(r->weights + 16 * k);
        __builtin_prefetch(r->weights + 16 * k + FAR_AHEAD);
        __mmask16 keep = _mm512_cmp_ps_mask(w, _mm512_setzero_ps(), _CMP_GT_OQ) &
                         (__mmask16)~bits_of_four(r->flags + k * r->flag_step);
        w = _mm512_maskz_mov_ps(keep, w);
        _mm512_storeu_ps(&r->kept[k], w);
        counted = _mm512_mask_add_epi32(counted, keep, counted, one);
        __m512i x = _mm512_castps_si512(w), y = _mm512_castps_si512(_mm512_permute_ps(w, 0));
        differ = _mm512_or_si512(differ, _mm512_xor_si512(x, y));
    }
    const __m256i half =
        _mm256_add_epi32(_mm512_castsi512_si256(counted), _mm512_extracti64x4_epi64(counted, 1));
    r->counted +=
        (four_masks)_mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    r->differ[0] |= _mm512_test_epi32_mask(differ, differ) != 0;
    return k;
}
#endif

INLINE void keep_weights(cells_of_row *r, int elements)
{
    int64_t k = 0;

    r->counted = r->differ = (four_masks){0};
#if defined(__AVX512F__)
    if (elements == 4 && r->weights_step == 16 && (r->flag_step == 1 || r->flags == no_flags))
        k = keep_fours(r);
#endif
    for (; k < r->count; k++) {
        four_floats w = weights_at(r->weights + k * r->weights_step, elements);
        __builtin_prefetch(r->weights + k * r->weights_step + FAR_AHEAD);
        w = r->kept[k] = keep_positive(w, r->flags[k * r->flag_step]);
        r->counted -= w > 0;
        r->differ |= (four_masks)w ^ (four_masks)__builtin_shufflevector(w, w, 0, 0, 0, 0);
    }
}

/* With `equal` weights of a cell. */
INLINE sample sample_at(const cells_of_row *r, int equal, int64_t k)
{
    const char *d = r->data + k * r->data_step, *m = r->model + k * r->model_step;
    sample x;

    __builtin_prefetch(d + FAR_AHEAD);
    __builtin_prefetch(m + FAR_AHEAD);
    if (equal)
        EACH x.w.part[i] = widen((floats){0} + r->kept[k][0]);
    else
        x.w = twice(r->kept[k]);
    EACH
    {
        x.d.part[i] = widen(*(const unaligned_floats *)(const void *)(d + 4 * LANES * i));
        x.m.part[i] = widen(*(const unaligned_floats *)(const void *)(m + 4 * LANES * i));
    }
    return x;
}

/* Adds how many weights are positive. */
INLINE void add_counted(const cells_of_row *r, double *sums)
{
    cell numbers = load(sums), counted = twice(__builtin_convertvector(r->counted, four_floats));

    EACH numbers.part[i] += counted.part[i];
    store(sums, numbers);
}

/* Row number i. */
INLINE void find_row(const grove_compression_rows *rows, int64_t i, cells_of_row *r)
{
    const unsigned char *flags = rows->weights.flags;

    r->count = rows->count;
    r->data = (const char *)rows->data.data + i * rows->next.data;
    r->weights = (const char *)rows->weights.data + i * rows->next.weights;
    r->model = (const char *)rows->model.data + i * rows->next.model;
    r->flags = flags ? flags + i * rows->next.flags : no_flags;
    r->data_step = rows->data.step;
    r->weights_step = rows->weights.step;
    r->model_step = rows->model.step;
    r->flag_step = flags ? rows->weights.flag_step : 0;
}

#endif
