// Reductions in a fixed order. A thread adds the samples of its number in their order; where there
// are few numbers, threads of a team take the blocks of one, and the sums of these meet in a tree
// that is part of that over all blocks.
#include "reduce.h"

namespace
{
// Axes that are reduced besides the one in blocks, slowest first.
struct lines {
    int axes, axis[GROVE_MAX_AXES];
};

// Where a sample is.
struct place {
    const char *numbers, *flags, *counts;
};

// Of a real number the second part is zero.
struct number {
    double part[2];
    int64_t count;
};

__device__ __forceinline__ number nothing(int how)
{
    const double zero = grove_reduce_zero(how);

    return {{zero, zero}, 0};
}

__device__ __forceinline__ void join(int how, number *to, const number *next)
{
    to->part[0] = grove_reduce_add(how, to->part[0], next->part[0]);
    to->part[1] = grove_reduce_add(how, to->part[1], next->part[1]);
    to->count += next->count;
}

__device__ __forceinline__ place step(const grove_args *args, place at, int axis, int64_t by)
{
    at.numbers += by * args->in[GROVE_REDUCE_NUMBERS].stride[axis];
    at.flags += by * args->in[GROVE_REDUCE_FLAGS].stride[axis];
    at.counts += by * args->in[GROVE_REDUCE_COUNTS].stride[axis];
    return at;
}

// Samples along an axis, of an element.
struct line {
    place at;
    int64_t stride, flags, counts; // bytes from one to the next
    int64_t samples;
    int bit; // of the flags
};

__device__ __forceinline__ bool is_good(const line *l, int64_t i)
{
    return !(*(const unsigned char *)(l->at.flags + i * l->flags) >> l->bit & 1);
}

// Samples whose numbers are read together, so that they wait for memory at the same time.
enum { TOGETHER = 8 };

template <typename real, int parts>
__device__ __forceinline__ void load_sample(const char *at, real *to)
{
    const real *x = (const real *)__builtin_assume_aligned(at, parts * sizeof(real));

#pragma unroll
    for (int k = 0; k < parts; k++)
        to[k] = x[k];
}

template <typename real, int parts>
__device__ __forceinline__ void add_sample(const real *x, number *to)
{
#pragma unroll
    for (int k = 0; k < parts; k++)
        to->part[k] += (double)x[k];
}

// Some samples from `first` on; bad ones are read, too.
template <typename real, int parts, int count, bool flagged>
__device__ __forceinline__ void add_some(const line *l, int64_t first, const char **at, number *to)
{
    real x[count][parts];
    bool good[count];

#pragma unroll
    for (int n = 0; n < count; n++, *at += l->stride) {
        load_sample<real, parts>(*at, x[n]);
        good[n] = !flagged || is_good(l, first + n);
    }
#pragma unroll
    for (int n = 0; n < count; n++)
        if (good[n]) {
            add_sample<real, parts>(x[n], to);
            to->count += flagged;
        }
}

template <typename real, int parts, bool flagged>
__device__ __forceinline__ void add_all(const line *l, number *to)
{
    const char *at = l->at.numbers;
    int64_t i = 0;

#pragma unroll 1
    for (; i + TOGETHER <= l->samples; i += TOGETHER)
        add_some<real, parts, TOGETHER, flagged>(l, i, &at, to);
#pragma unroll 1
    for (; i < l->samples; i++)
        add_some<real, parts, 1, flagged>(l, i, &at, to);
    to->count += flagged ? 0 : l->samples;
}

// Sums, of numbers of one kind.
template <typename real, int parts>
__device__ __forceinline__ void add_sums(const line *l, number *to)
{
    if (l->at.flags)
        add_all<real, parts, true>(l, to);
    else
        add_all<real, parts, false>(l, to);
}

// All else: minima, maxima, partial results with counts.
__device__ __forceinline__ void add_others(const line *l, bool doubles, bool pairs, int how,
                                           number *to)
{
    const char *at = l->at.numbers, *counts = l->at.counts;

#pragma unroll 1
    for (int64_t i = 0; i < l->samples; i++, at += l->stride) {
        int64_t good = 1;
        if (counts)
            good = *(const int64_t *)(const void *)(counts + i * l->counts);
        else if (l->at.flags)
            good = is_good(l, i);
        number x = {{0, 0}, good};
        for (int k = 0; k < (pairs ? 2 : 1); k++)
            x.part[k] = doubles ? ((const double *)(const void *)at)[k]
                                : (double)((const float *)(const void *)at)[k];
        if (good)
            join(how, to, &x);
    }
}

__device__ __forceinline__ void add_line(const grove_args *args, place at, int axis,
                                         int64_t samples, int e, int how, number *to)
{
    const grove_view *in = args->in;
    const bool doubles = in[GROVE_REDUCE_NUMBERS].bytes == 8,
               pairs = in[GROVE_REDUCE_NUMBERS].complex_ != 0;
    const line l = {at,
                    in[GROVE_REDUCE_NUMBERS].stride[axis],
                    in[GROVE_REDUCE_FLAGS].stride[axis],
                    in[GROVE_REDUCE_COUNTS].stride[axis],
                    samples,
                    e < 7 ? e : 7};

    if (at.counts || how == GROVE_HOW_MIN || how == GROVE_HOW_MAX)
        add_others(&l, doubles, pairs, how, to);
    else if (doubles && pairs)
        add_sums<double, 2>(&l, to);
    else if (doubles)
        add_sums<double, 1>(&l, to);
    else if (pairs)
        add_sums<float, 2>(&l, to);
    else
        add_sums<float, 1>(&l, to);
}

// An output number: its element, where its samples begin, and where its sums are kept.
struct output {
    int e;
    place at;
    double *sum, *nodes;
    int64_t *count;
};

// n / elements for n below 2^52 and at most 4096 elements, without a division of 64 bits.
__device__ __forceinline__ int64_t by_elements(int64_t n, uint32_t elements)
{
    const uint32_t high = (uint32_t)(n >> 20),
                   rest = high % elements << 20 | (uint32_t)(n & 0xfffff);

    return ((int64_t)(high / elements) << 20) + rest / elements;
}

__device__ __forceinline__ output find_output(const grove_args *args, int64_t n, int64_t numbers,
                                              int parts)
{
    const bool few = args->walk.few && numbers >> 31 == 0;
    int64_t index[GROVE_MAX_AXES], rest = by_elements(n, (uint32_t)args->out.elements);
    const grove_view *in = args->in;
    output o;

    o.e = (int)(n - rest * args->out.elements);
#pragma unroll
    for (int d = GROVE_MAX_AXES - 1; d >= 0; d--) {
        index[d] = 0;
        if (d < args->axes && args->out.stride[d]) {
            const int64_t next = few ? grove_quotient(&args->walk.size[d], (uint32_t)rest)
                                     : grove_wide_quotient(&args->walk.size[d], rest);
            index[d] = rest - next * args->size[d];
            rest = next;
        }
    }
    o.at.numbers = grove_view_at(&in[GROVE_REDUCE_NUMBERS], index, args->axes) +
                   o.e * parts * in[GROVE_REDUCE_NUMBERS].bytes;
    o.at.flags = grove_view_at(&in[GROVE_REDUCE_FLAGS], index, args->axes);
    o.at.counts = grove_view_at(&in[GROVE_REDUCE_COUNTS], index, args->axes);
    o.at.counts += o.at.counts ? o.e * (int)sizeof(int64_t) : 0;
    o.sum = (double *)(void *)grove_view_at(&args->out, index, args->axes) + o.e * parts;
    o.count = (int64_t *)(void *)grove_view_at(&in[GROVE_REDUCE_COUNT], index, args->axes);
    o.count += o.count ? o.e : 0;
    o.nodes = (double *)(void *)grove_view_at(&in[GROVE_REDUCE_NODES], index, args->axes);
    o.nodes += o.nodes ? o.e * parts : 0;
    return o;
}

__device__ __forceinline__ number begin_number(const grove_reduce_state *s, const output *o,
                                               int parts)
{
    number to = nothing(s->how);

    if (!s->fresh) {
        to.part[0] = o->sum[0];
        to.part[1] = parts > 1 ? o->sum[1] : 0;
    }
    return to;
}

__device__ __forceinline__ void end_number(const grove_reduce_state *s, const output *o, int parts,
                                           const number *to)
{
    o->sum[0] = to->part[0];
    if (parts > 1)
        o->sum[1] = to->part[1];
    if (o->count)
        *o->count = to->count + (s->fresh ? 0 : *o->count);
}

// Adds samples of `cells` cells from `at` on of the axis in blocks: with other axes that are
// reduced, first the samples of each cell to a number of their own. Without an axis in blocks (-1),
// samples of all other axes.
__device__ __forceinline__ void add_cells(const grove_args *args, const grove_reduce_state *s,
                                          const lines *l, place at, int64_t cells, int e,
                                          number *to)
{
    const int axis = l->axes ? l->axis[l->axes - 1] : s->axis < 0 ? 0 : s->axis;
    const int64_t samples = l->axes ? args->size[axis] : cells;
    const bool apart = l->axes && s->axis >= 0;
    int64_t index[GROVE_MAX_AXES] = {}, all = 1;

    for (int k = 0; k < l->axes - 1; k++)
        all *= args->size[l->axis[k]];
    for (int64_t i = 0; i < (apart ? cells : 1); i++) {
        number inner = apart ? nothing(s->how) : *to;
        for (int64_t rest = all; rest > 0; rest--) {
            add_line(args, at, axis, samples, e, s->how, &inner);
            for (int k = l->axes - 2; k >= 0; k--) {
                at = step(args, at, l->axis[k], 1);
                if (++index[k] < args->size[l->axis[k]])
                    break;
                at = step(args, at, l->axis[k], -args->size[l->axis[k]]);
                index[k] = 0;
            }
        }
        if (apart) {
            join(s->how, to, &inner);
            at = step(args, at, s->axis, 1);
        } else {
            *to = inner;
        }
    }
}

// The cells of the axis that goes in blocks.
struct cells {
    int64_t first, end, begin, last; // cells; the blocks that they are in
};

// Shared by the threads of a block.
struct meeting {
    double part[2][GROVE_REDUCE_THREADS];
    int64_t count[GROVE_REDUCE_THREADS];
};

// Whether a block is complete and not the axis' last: then its sum is put into the tree.
__device__ __forceinline__ bool is_pushed(const grove_reduce_state *s, const cells *c,
                                          int64_t block)
{
    const int64_t end = (block + 1) * GROVE_REDUCE_BLOCK;

    return end <= c->end && end != s->end;
}

// Puts the sums of a team's blocks, from number `block` on, into the tree; `to` becomes the sum of
// the open one. Of whole ones below one node the team adds the tree itself. All threads of the
// block call.
__device__ __forceinline__ void meet(const grove_reduce_state *s, const cells *c, int team,
                                     int64_t block, double *nodes, int parts, meeting *all,
                                     number *to)
{
    const int each = GROVE_REDUCE_THREADS / team, own = (int)threadIdx.x, member = own / each;
    const bool whole =
        block >= c->begin && block + team - 1 <= c->last && is_pushed(s, c, block + team - 1);
    int level = 0;

    for (int k = 0; k < 2; k++)
        all->part[k][own] = to->part[k];
    __syncthreads();
#pragma unroll 1
    for (int half = 1; whole && half < team; half *= 2, level++) {
        for (int k = 0; k < 2 && member % (2 * half) == 0; k++)
            all->part[k][own] =
                grove_reduce_add(s->how, all->part[k][own], all->part[k][own + half * each]);
        __syncthreads();
    }
#pragma unroll 1
    for (int m = 0; nodes && m < (whole ? 1 : team); m++)
        if (block + m >= c->begin && block + m <= c->last) {
            for (int k = 0; k < 2; k++)
                to->part[k] = all->part[k][own + m * each];
            if (is_pushed(s, c, block + m)) {
                grove_reduce_push(s, nodes, to->part, parts, level, (block + m) >> level);
                *to = nothing(s->how);
            }
        }
    __syncthreads();
}

// Numbers from `first` on of a team each.
__device__ __forceinline__ void reduce_blocks(const grove_args *args,
                                              const grove_reduce_state *kept, const lines *l,
                                              int team, int64_t first, int64_t numbers,
                                              meeting *all)
{
    grove_reduce_state s = *kept;
    const int parts = args->out.complex_ ? 2 : 1, each = GROVE_REDUCE_THREADS / team,
              member = (int)threadIdx.x / each;
    const int64_t n = first + threadIdx.x % each, start = args->origin[s.axis],
                  end = start + args->size[s.axis];
    const cells c = {start, end, start / GROVE_REDUCE_BLOCK, (end - 1) / GROVE_REDUCE_BLOCK};
    const bool inside = n < numbers;
    double own[GROVE_REDUCE_LEVELS * 2]; // nodes that nobody keeps
    const output o = find_output(args, inside ? n : first, numbers, parts);
    double *nodes = o.nodes ? o.nodes : own;
    number to = begin_number(&s, &o, parts);
    int64_t good = 0;

    if (!o.nodes)
        s.distance = 2;
#pragma unroll 1
    for (int64_t block = c.begin & -(int64_t)team; block <= c.last; block += team) {
        const int64_t mine = block + member;
        if (mine != c.begin)
            to = nothing(s.how);
        to.count = 0;
        if (inside && mine >= c.begin && mine <= c.last) {
            const int64_t from = mine > c.begin ? mine * GROVE_REDUCE_BLOCK : c.first,
                          until = mine < c.last ? (mine + 1) * GROVE_REDUCE_BLOCK : c.end;
            add_cells(args, &s, l, step(args, o.at, s.axis, from - c.first), until - from, o.e,
                      &to);
        }
        good += to.count;
        meet(&s, &c, team, block, inside && !member ? nodes : nullptr, parts, all, &to);
    }
    all->count[threadIdx.x] = good;
    __syncthreads();
    to.count = 0;
    for (int m = 0; m < team && !member; m++)
        to.count += all->count[threadIdx.x + m * each];
    if (inside && !member && end == s.end && !s.begin)
        grove_reduce_close(&s, nodes, to.part, parts, c.last);
    if (inside && !member)
        end_number(&s, &o, parts, &to);
    __syncthreads();
}

// Numbers whose samples are added one after the other.
__device__ __forceinline__ void reduce_plain(const grove_args *args, const grove_reduce_state *s,
                                             const lines *l, int64_t n, int64_t numbers)
{
    const int parts = args->out.complex_ ? 2 : 1;
    const output o = find_output(args, n, numbers, parts);
    number to = begin_number(s, &o, parts);

    add_cells(args, s, l, o.at, 1, o.e, &to);
    end_number(s, &o, parts, &to);
}

__device__ void finish_cell(const grove_args *args, int64_t at)
{
    const grove_reduce_state *state = (const grove_reduce_state *)(const void *)args->state.bytes;
    const grove_view *out = &args->out;
    int64_t index[GROVE_MAX_AXES], rest = at;
    unsigned flags = 0;

    for (int d = args->axes - 1; d >= 0; d--) {
        const int64_t next = args->walk.few ? grove_quotient(&args->walk.size[d], (uint32_t)rest)
                                            : grove_wide_quotient(&args->walk.size[d], rest);
        index[d] = rest - next * args->size[d];
        rest = next;
    }
    char *to = grove_view_at(out, index, args->axes);
    const double *sums = (const double *)(const void *)grove_view_at(&args->in[GROVE_FINISH_SUMS],
                                                                     index, args->axes);
    const int64_t *counts = (const int64_t *)(const void *)grove_view_at(
        &args->in[GROVE_FINISH_COUNTS], index, args->axes);
    int parts = out->complex_ ? 2 : 1;
    for (int e = 0; e < out->elements; e++) {
        int64_t count = counts ? counts[e] : state->samples;
        for (int k = e * parts; k < (e + 1) * parts; k++) {
            double x = count ? sums[k] : 0;
            if (count && state->how == GROVE_HOW_MEAN)
                x /= (double)count;
            if (out->bytes == 8)
                ((double *)(void *)to)[k] = x;
            else
                ((float *)(void *)to)[k] = (float)x;
        }
        if (!count && (counts || state->how != GROVE_HOW_SUM))
            flags |= 1u << (e < 7 ? e : 7);
    }
    char *flag = grove_view_at(&args->in[GROVE_FINISH_FLAGS], index, args->axes);
    if (flag)
        *(unsigned char *)flag = (unsigned char)flags;
}

// The precision of numbers is in their views.
__device__ __forceinline__ void reduce_numbers(const grove_args *args)
{
    __shared__ meeting all;
    const grove_reduce_state *s = (const grove_reduce_state *)(const void *)args->state.bytes;
    const int64_t numbers = grove_reduce_numbers(args);
    const int team = grove_reduce_team(args), each = GROVE_REDUCE_THREADS / team;
    lines l = {};

    for (int d = 0; d < args->axes; d++)
        if (args->out.stride[d] == 0 && d != s->axis)
            l.axis[l.axes++] = d;
#pragma unroll 1
    for (int64_t first = (int64_t)blockIdx.x * each; first < numbers;
         first += (int64_t)gridDim.x * each)
        if (s->axis >= 0)
            reduce_blocks(args, s, &l, team, first, numbers, &all);
        else if (first + threadIdx.x < numbers)
            reduce_plain(args, s, &l, first + threadIdx.x, numbers);
}

__device__ __forceinline__ void finish_cells(const grove_args *args)
{
    int64_t cells = args->walk.cells;

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < cells;
         at += (int64_t)gridDim.x * blockDim.x)
        finish_cell(args, at);
}
} // namespace

extern "C" __global__ void reduce_single(const __grid_constant__ grove_args args)
{
    reduce_numbers(&args);
}
GROVE_CUDA_EXPORT(reduce_single)

extern "C" __global__ void reduce_double(const __grid_constant__ grove_args args)
{
    reduce_numbers(&args);
}
GROVE_CUDA_EXPORT(reduce_double)

extern "C" __global__ void reduce_finish_single(const __grid_constant__ grove_args args)
{
    finish_cells(&args);
}
GROVE_CUDA_EXPORT(reduce_finish_single)

extern "C" __global__ void reduce_finish_double(const __grid_constant__ grove_args args)
{
    finish_cells(&args);
}
GROVE_CUDA_EXPORT(reduce_finish_double)
