/* One compilation of the hot loops: for one precision and instruction set. The file that includes
 * this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "gridder_hot.h"

#include "../../simd/vector.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define LOOPS JOIN(grove_gridder_single_, GROVE_ISA_SUFFIX)
#else
#define LOOPS JOIN(grove_gridder_double_, GROVE_ISA_SUFFIX)
#endif

enum { TILE = GROVE_GRIDDER_TILE, MAX_POL = 4, FACTORS = 16 };

typedef int64_t longs __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t counts __attribute__((vector_size(VECTOR_BYTES)));

/* Compiling unrolled loops for each width with AddressSanitizer takes minutes. There one function
 * of plain loops serves all widths. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLAIN_LOOPS 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define PLAIN_LOOPS 1
#endif
#ifdef PLAIN_LOOPS
#define UNROLL
#define FOR_EACH_WIDTH static __attribute__((noinline))
#else
#define UNROLL         _Pragma("GCC unroll 24")
#define FOR_EACH_WIDTH INLINE
#endif

INLINE vec load(const real *from)
{
    vec x;

    memcpy(&x, from, sizeof(x));
    return x;
}

INLINE void store(real *to, vec x)
{
    memcpy(to, &x, sizeof(x));
}

INLINE doubles choose(longs mask, doubles yes, doubles no)
{
    return (doubles)(((longs)yes & mask) | ((longs)no & ~mask));
}

#include "gridder_cells_isa.h"
#include "gridder_rows_isa.h"

const grove_gridder_loops LOOPS = {.spread = spread,
                                   .collect = collect,
                                   .to_image = to_image,
                                   .from_image = from_image,
                                   .row_to_image = row_to_image,
                                   .row_from_image = row_from_image,
                                   .refine = refine,
                                   .coarsen_rows = coarsen_rows,
                                   .coarsen_columns = coarsen_columns};
