// Image-domain gridding (kernels/imaging/idg/idg.h).
//
// A block of 64 threads makes the pixels of a subgrid, of one number of its visibilities, from a
// slab of these after the other. Phases of a slab, N along x and N along y for each visibility, are
// in shared memory: one is exact in up to 16 channels of a time, the following ones are its
// products. Sums over visibilities are products of matrices; the other way the sums over x are,
// which are then summed over y by shuffles. In single precision tensor cores take them, where there
// are some (idg_tensor_cuda.h). Else each of 8 x 8 threads has N / 8 x N / 8 pixels in registers,
// so that 2 N / 8 loaded numbers give N^2 / 64 products, or some visibilities times N / 8 pixels
// along y. No operation is atomic.
//
// Pixels go to images by one thread each, through terms and the mix, and images to cells and back
// by cuFFT. Cells of the grid then take the subgrids that touch their tile, in their order: the
// bits are the same each time, and for any number of subgrids in a launch.
//
// The cost of a visibility is counted in bench/RESULTS-gpu-counted.md.
#include "idg_tensor_cuda.h"

namespace
{
// Numbers of a line that eight threads share, as many at once as 16 bytes hold.
template <typename real, int COUNT> struct share {
    enum { each = sizeof(real) == sizeof(float) && COUNT % 2 == 0 ? 2 : 1 };
    struct alignas(2 * sizeof(real) * each) chunk {
        pair_of<real> x[each];
    };
    static __device__ __forceinline__ int index(int thread, int i)
    {
        return (i / each * EIGHT + thread) * each + i % each;
    }
    static __device__ __forceinline__ void load(const pair_of<real> *from, int thread,
                                                pair_of<real> to[COUNT])
    {
        for (int i = 0; i < COUNT; i += each) {
            const chunk c = *(const chunk *)(const void *)(from + index(thread, i));
            for (int k = 0; k < each; k++)
                to[i + k] = c.x[k];
        }
    }
};

// Limits by precision and N: numbers of a slab, that are loaded at once, and of a line of phases,
// so that lines begin in other banks.
template <typename real, int T> struct vector_limits {
    static constexpr bool single = sizeof(real) == sizeof(float);
    enum {
        side = EIGHT * T,
        slab = single ? GROVE_IDG_SLAB_SINGLE : GROVE_IDG_SLAB_DOUBLE,
        line = side + (single ? 2 : 1)
    };
};

/* ---- visibilities to pixels ---- */

template <typename number, int T> struct vector_summing {
    typedef vector_limits<number, T> of;
    typedef number real;
    enum {
        side = of::side,
        slab = of::slab,
        line = of::line,
        own = of::single || T < 8 ? T : T / 2, // of pixels along y, of a thread
        columns = EIGHT * own,
        parts = T / own, // blocks of a subgrid's number
        line_y = columns + (of::single ? 2 : 1)
    };
    struct alignas(16) memory {
        pair_of<real> x[slab * line];
        alignas(16) pair_of<real> y[slab * line_y];
        pair_of<real> value[slab];
        double uvw[3 * slab];
    };
    pair_of<real> sum[T][own];

    __device__ __forceinline__ void clear()
    {
        for (int i = 0; i < T; i++)
            for (int j = 0; j < own; j++)
                sum[i][j] = zero<real>();
    }
    static __device__ __forceinline__ void pad(memory *, int)
    {
    }

    __device__ __forceinline__ void add(const memory *sh, int count)
    {
        const int along_x = (int)threadIdx.x / EIGHT, along_y = (int)threadIdx.x % EIGHT;
        const pair_of<real> *x = sh->x, *y = sh->y;

#pragma unroll 2
        for (int k = 0; k < count; k++, x += line, y += line_y) {
            pair_of<real> a[T], b[own];
            share<real, T>::load(x, along_x, a);
            share<real, own>::load(y, along_y, b);
            for (int i = 0; i < T; i++)
                for (int j = 0; j < own; j++)
                    add_product(&sum[i][j], a[i], b[j]);
        }
    }

    __device__ __forceinline__ void put(pair_of<real> *to) const
    {
        for (int x = 0; x < T; x++)
            for (int y = 0; y < own; y++)
                to[share<real, T>::index((int)threadIdx.x / EIGHT, x) * side +
                   share<real, own>::index((int)threadIdx.x % EIGHT, y)] = sum[x][y];
    }
};

// Number, and part of its pixels, `i` of all subgrids.
template <typename way>
__device__ void sum_pixels(const grove_args *args, int32_t i, typename way::memory *sh)
{
    typedef typename way::real real;
    const grove_idg_state *g = grove_idg_state_of(args);
    const int32_t part = i % way::parts, all = i / way::parts,
                  number = all % g->samples.polarisations, k = all / g->samples.polarisations,
                  first_y = part * way::columns;
    const grove_idg_subgrid *s =
        (const grove_idg_subgrid *)args->in[GROVE_IDG_SUBGRIDS].data + g->first + k;
    const piece_limits c = limits_of_pieces(g, s, way::slab);
    piece p = {};
    way sums;

    sums.clear();
#pragma unroll 1
    while (next_piece(s, c, &p)) {
        const int count = p.times * p.channels;
        load_baselines(args, g, c, p, sh->uvw);
        __syncthreads();
        load_values<real>(args, g, s, c, p, number, sh->uvw, sh->value);
        __syncthreads();
        fill_phases<real, way::side, way::columns, way::line, way::line_y, true>(
            args, g, s, p, first_y, sh->uvw, sh->value, sh->x, sh->y);
        way::pad(sh, count);
        __syncthreads();
        sums.add(sh, count);
    } // phases are written again behind the next barrier
    sums.put((pair_of<real> *)args->out.data + (int64_t)all * (way::side * way::side) + first_y);
}

/* ---- pixels to visibilities ---- */

template <typename number, int T> struct vector_collecting {
    typedef vector_limits<number, T> of;
    typedef number real;
    enum {
        side = of::side,
        slab = of::slab,
        line = of::line,
        line_y = line,
        line_pixel = side,
        panel = of::single && T <= 4 ? EIGHT * T : EIGHT, // rows of pixels in shared memory
        some = slab / EIGHT                               // visibilities of a thread
    };
    struct alignas(16) memory {
        pair_of<real> x[slab * line];
        alignas(16) pair_of<real> y[slab * line_y];
        alignas(16) pair_of<real> pixel[panel * line_pixel];
        pair_of<real> value[slab];
        double uvw[3 * slab];
    };
    pair_of<real> sum[some][T];

    __device__ __forceinline__ void clear()
    {
        for (int i = 0; i < some; i++)
            for (int j = 0; j < T; j++)
                sum[i][j] = zero<real>();
    }

    // Sums over rows of pixels from `first` on: visibilities that are 8 apart, times columns.
    __device__ __forceinline__ void add(const memory *sh, int first, int)
    {
        typedef share<real, 2> two; // of x; of doubles one after the other
        const pair_of<real> *x = sh->x + (int)threadIdx.x / EIGHT * line + first,
                            *pixel = sh->pixel;

#pragma unroll 1
        for (int k = 0; k < panel; k += 2, x += 2, pixel += 2 * line_pixel) {
            pair_of<real> a[some][2], b[T];
            for (int i = 0; i < some; i++)
                for (int n = 0; n < 2; n += two::each) {
                    const typename two::chunk c =
                        *(const typename two::chunk *)(const void *)(x + i * EIGHT * line + n);
                    for (int m = 0; m < two::each; m++)
                        a[i][n + m] = c.x[m];
                }
            for (int n = 0; n < 2; n++) {
                share<real, T>::load(pixel + n * line_pixel, (int)threadIdx.x % EIGHT, b);
                for (int i = 0; i < some; i++)
                    for (int j = 0; j < T; j++)
                        add_conjugate(&sum[i][j], a[i][n], b[j]);
            }
        }
    }

    // And over columns, times phases along y.
    __device__ __forceinline__ void put(memory *sh) const
    {
        enum { COUNT = 2 * some };
        const int row = (int)threadIdx.x / EIGHT, lane = (int)threadIdx.x % EIGHT;
        real all[COUNT];

        for (int i = 0; i < some; i++) {
            pair_of<real> y[T], z = zero<real>();
            share<real, T>::load(sh->y + (row + i * EIGHT) * line_y, lane, y);
            for (int j = 0; j < T; j++)
                add_conjugate(&z, y[j], sum[i][j]);
            all[2 * i] = z.re;
            all[2 * i + 1] = z.im;
        }
        const real one = sum_of_lanes<real, EIGHT, COUNT>(all);
        const int k = lane * COUNT / EIGHT;
        if (lane % (EIGHT / COUNT) == 0)
            (k % 2 ? sh->value[row + k / 2 * EIGHT].im : sh->value[row + k / 2 * EIGHT].re) = one;
    }
};

// Rows of pixels from row `first` on.
template <typename way>
__device__ __forceinline__ void load_panel(const pair_of<typename way::real> *from, int first,
                                           typename way::memory *sh)
{
#pragma unroll 4
    for (int k = (int)threadIdx.x; k < way::panel * way::side; k += THREADS)
        sh->pixel[k / way::side * way::line_pixel + k % way::side] = from[first * way::side + k];
}

template <typename way>
__device__ void predict_number(const grove_args *args, int32_t i, typename way::memory *sh)
{
    typedef typename way::real real;
    const grove_idg_state *g = grove_idg_state_of(args);
    const int32_t number = i % g->samples.polarisations, k = i / g->samples.polarisations;
    const grove_idg_subgrid *s =
        (const grove_idg_subgrid *)args->in[GROVE_IDG_SUBGRIDS].data + g->first + k;
    const pair_of<real> *pixels = (const pair_of<real> *)args->in[GROVE_IDG_PIXELS].data +
                                  (int64_t)i * (way::side * way::side);
    const piece_limits c = limits_of_pieces(g, s, way::slab);
    piece p = {};
    bool begins = true;

#pragma unroll 1
    while (next_piece(s, c, &p)) {
        way sums;
        load_baselines(args, g, c, p, sh->uvw);
        __syncthreads();
        fill_phases<real, way::side, way::side, way::line, way::line_y, false>(
            args, g, s, p, 0, sh->uvw, sh->value, sh->x, sh->y);
        sums.clear();
#pragma unroll 1
        for (int first = 0; first < way::side; first += way::panel) {
            if (way::panel < way::side || begins)
                load_panel<way>(pixels, first, sh);
            begins = false;
            __syncthreads();
            sums.add(sh, first, p.times * p.channels);
            if (way::panel < way::side)
                __syncthreads();
        }
        sums.put(sh);
        __syncthreads();
        store_values<real>(args, g, s, c, p, number, sh->uvw, sh->value);
        __syncthreads();
    }
}

// Sums in single precision are made by tensor cores where there are some.
template <typename real, int T> struct ways {
    typedef vector_summing<real, T> summing;
    typedef vector_collecting<real, T> collecting;
};

#if GROVE_TENSOR_CORES
template <int T> struct ways<float, T> {
    typedef tensor_summing<T> summing;
    typedef tensor_collecting<T> collecting;
};
#endif
} // namespace

#define KERNEL(name, kind, function, side, precision, real, each)                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, 4)                                       \
        idg_##name##_##side##_##precision(const __grid_constant__ grove_args args)                 \
    {                                                                                              \
        typedef ways<real, side / EIGHT>::kind way;                                                \
        __shared__ way::memory memory_##name##_##side##_##precision;                               \
        const grove_idg_state *g = grove_idg_state_of(&args);                                      \
        const int32_t count = (g->last - g->first) * g->samples.polarisations * each;              \
                                                                                                   \
        _Pragma("unroll 1") for (int32_t i = (int32_t)blockIdx.x; i < count;                       \
                                 i += (int32_t)gridDim.x)                                          \
        {                                                                                          \
            function<way>(&args, i, &memory_##name##_##side##_##precision);                        \
            __syncthreads();                                                                       \
        }                                                                                          \
    }                                                                                              \
    GROVE_CUDA_EXPORT(idg_##name##_##side##_##precision)

#define BOTH(side, precision, real)                                                                \
    KERNEL(sum, summing, sum_pixels, side, precision, real, way::parts)                            \
    KERNEL(predict, collecting, predict_number, side, precision, real, 1)

#define SIDES(precision, real)                                                                     \
    BOTH(16, precision, real)                                                                      \
    BOTH(24, precision, real)                                                                      \
    BOTH(32, precision, real)                                                                      \
    BOTH(40, precision, real)                                                                      \
    BOTH(48, precision, real)                                                                      \
    BOTH(64, precision, real)

SIDES(single, float)
SIDES(double, double)
