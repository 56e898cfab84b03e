/* Cells in vectors: eight doubles, or two or four vectors of them. For compression_hot.c and
 * compression_finish_hot.c, which are compiled for each instruction set. */
#ifndef GROVE_KERNELS_COMPRESSION_CELL_H
#define GROVE_KERNELS_COMPRESSION_CELL_H

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#define GROVE_REAL_SINGLE 0
#include "../simd/vector.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

/* As finish in grove_compression_kernels. */
#define FINISH PASTE(grove_compression_finish_, GROVE_ISA_SUFFIX)
void FINISH(const double *running, int groups, int full, double *sums);

#if defined(__AVX512F__)
enum { PIECES = 1 };
#define WITHIN(a, e0, e1, e2, e3)                                                                  \
    __builtin_shufflevector(a, a, e0, e1, e2, e3, 4 + e0, 4 + e1, 4 + e2, 4 + e3)
#elif defined(__AVX2__)
enum { PIECES = 2 };
#define WITHIN(a, e0, e1, e2, e3) __builtin_shufflevector(a, a, e0, e1, e2, e3)
#else
enum { PIECES = 4 };
#define WITHIN(a, e0, e1, e2, e3) __builtin_shufflevector(a, a, e0, e1)
#endif

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t masks __attribute__((vector_size(4 * LANES)));
typedef float unaligned_floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

typedef struct {
    vec part[PIECES];
} cell;

#define EACH for (int i = 0; i < PIECES; i++)

/* First and second lanes of each two of vectors a and b, alternately. */
#if defined(__AVX2__) && !defined(__AVX512F__)
#define EVEN_OF(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define ODD_OF(a, b)  __builtin_shufflevector(a, b, 1, 5, 3, 7)
#elif !defined(__AVX512F__)
#define EVEN_OF(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ODD_OF(a, b)  __builtin_shufflevector(a, b, 1, 3)
#endif

INLINE vec load_vec(const double *from)
{
    return *(const unaligned *)from;
}

INLINE void store_vec(double *to, vec x)
{
    *(unaligned *)to = x;
}

/* Real and imaginary parts exchanged. */
INLINE vec swap_vec(vec a)
{
    return WITHIN(a, 1, 0, 3, 2);
}

INLINE cell load(const double *from)
{
    cell x;

    EACH x.part[i] = load_vec(from + LANES * i);
    return x;
}

INLINE void store(double *to, cell x)
{
    EACH store_vec(to + LANES * i, x.part[i]);
}

INLINE cell times(cell a, cell b)
{
    EACH a.part[i] *= b.part[i];
    return a;
}

INLINE cell add_product(cell sum, cell a, cell b)
{
    EACH sum.part[i] += a.part[i] * b.part[i];
    return sum;
}

INLINE cell add_scaled(cell sum, cell a, double b)
{
    EACH sum.part[i] += a.part[i] * b;
    return sum;
}

INLINE cell swap(cell a)
{
    EACH a.part[i] = swap_vec(a.part[i]);
    return a;
}

/* The real part twice. */
INLINE cell real_parts(cell a)
{
    EACH a.part[i] = WITHIN(a.part[i], 0, 0, 2, 2);
    return a;
}

INLINE vec signs(void)
{
    vec x = {0};

    for (int k = 0; k < LANES; k++)
        x[k] = k % 2 ? -1 : 1;
    return x;
}

/* The imaginary part and its negative. */
INLINE cell imaginary_parts(cell a)
{
    EACH a.part[i] = WITHIN(a.part[i], 1, 1, 3, 3) * signs();
    return a;
}

/* Element e + r in the place of element e. */
INLINE cell rotate(cell a, int r)
{
    const vec x = a.part[0], y = a.part[PIECES - 1];
#if defined(__AVX512F__)
    (void)y;
    return r == 0   ? a
           : r == 1 ? (cell){{__builtin_shufflevector(x, x, 2, 3, 4, 5, 6, 7, 0, 1)}}
           : r == 2 ? (cell){{__builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3)}}
                    : (cell){{__builtin_shufflevector(x, x, 6, 7, 0, 1, 2, 3, 4, 5)}};
#elif defined(__AVX2__)
    const vec b = __builtin_shufflevector(x, y, 2, 3, 4, 5);
    const vec d = __builtin_shufflevector(y, x, 2, 3, 4, 5);
    return r == 0 ? a : r == 1 ? (cell){{b, d}} : r == 2 ? (cell){{y, x}} : (cell){{d, b}};
#else
    const vec b = a.part[1], c = a.part[2];
    return r == 0   ? a
           : r == 1 ? (cell){{b, c, y, x}}
           : r == 2 ? (cell){{c, y, x, b}}
                    : (cell){{y, x, b, c}};
#endif
}

/* The parts of a number that a product with its conjugate needs. */
typedef struct {
    cell re, im;
} factor;

INLINE factor factor_of(cell a)
{
    return (factor){real_parts(a), imaginary_parts(a)};
}

/* conj(a) b */
INLINE cell conjugate_product(factor a, cell b)
{
    return add_product(times(a.re, b), a.im, swap(b));
}

/* Floats as doubles; the compilers' own conversion of vectors works in pieces. */
INLINE vec widen(floats x)
{
#if defined(__AVX512F__)
    return (vec)_mm512_cvtps_pd((__m256)x);
#elif defined(__AVX2__)
    return (vec)_mm256_cvtps_pd((__m128)x);
#else
    return __builtin_convertvector(x, vec);
#endif
}

/* Bytes that memory is asked for in advance: the next rows, which mostly follow. Rows of several
 * arrays take turns, and each is too short for a processor to predict that. The shorter distance is
 * for arrays that are stored first: they are many. */
enum { AHEAD = 2048, FAR_AHEAD = 4096 };

INLINE int is_zero(const integers *bits)
{
#if defined(__AVX512F__)
    return !_mm512_test_epi64_mask((__m512i)bits[0], (__m512i)bits[0]);
#elif defined(__AVX2__)
    return _mm256_testz_si256((__m256i)(bits[0] | bits[1]), (__m256i)(bits[0] | bits[1]));
#else
    integers all = bits[0] | bits[1] | bits[2] | bits[3];
    return !(all[0] | all[1]);
#endif
}

typedef float four_floats __attribute__((vector_size(16)));
typedef int32_t four_masks __attribute__((vector_size(16)));
typedef float unaligned_four __attribute__((vector_size(16), aligned(4), may_alias));

/* Each of four numbers twice, as doubles. */
INLINE cell twice(four_floats w)
{
    cell x;

#if defined(__AVX512F__)
    floats y = __builtin_shufflevector(w, w, 0, 0, 1, 1, 2, 2, 3, 3);
    x.part[0] = widen(y);
#elif defined(__AVX2__)
    x.part[0] = widen(__builtin_shufflevector(w, w, 0, 0, 1, 1));
    x.part[1] = widen(__builtin_shufflevector(w, w, 2, 2, 3, 3));
#else
    EACH x.part[i] = (vec){w[i], w[i]};
#endif
    return x;
}

#endif
