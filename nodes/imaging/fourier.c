#include "nodes/imaging/fourier.h"

#include <stddef.h>

#include <fftw3.h>

/* FFTW aligns its memory as callers align lines, so that the plans hold for these. */
#define PLAN(prefix)                                                                               \
    static void *plan_##prefix(int size, int sign)                                                 \
    {                                                                                              \
        prefix##_complex *from = prefix##_alloc_complex((size_t)size);                             \
        prefix##_complex *to = prefix##_alloc_complex((size_t)size);                               \
        prefix##_make_planner_thread_safe();                                                       \
        void *made = from && to ? prefix##_plan_dft_1d(size, from, to, sign,                       \
                                                       FFTW_ESTIMATE | FFTW_PRESERVE_INPUT)        \
                                : NULL;                                                            \
        prefix##_free(from);                                                                       \
        prefix##_free(to);                                                                         \
        return made;                                                                               \
    }

PLAN(fftw)
PLAN(fftwf)

void *grove_fourier_plan(int64_t size, int sign, bool double_precision)
{
    return double_precision ? plan_fftw((int)size, sign) : plan_fftwf((int)size, sign);
}

void grove_fourier_execute(const void *plan, const void *from, void *to, bool double_precision)
{
    if (double_precision)
        fftw_execute_dft((fftw_plan)(uintptr_t)plan, (fftw_complex *)(uintptr_t)from, to);
    else
        fftwf_execute_dft((fftwf_plan)(uintptr_t)plan, (fftwf_complex *)(uintptr_t)from, to);
}

void grove_fourier_free(void *plan, bool double_precision)
{
    if (plan && double_precision)
        fftw_destroy_plan(plan);
    else if (plan)
        fftwf_destroy_plan(plan);
}
