#include "fourier.h"

#ifdef GROVE_HAVE_FFTW
#include <fftw3.h>

/* FFTW aligns its memory as the gridder aligns lines, so that the plans hold for these. */
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

static void *plan(void *library, int64_t size, int sign, bool double_precision)
{
    (void)library;
    return double_precision ? plan_fftw((int)size, sign) : plan_fftwf((int)size, sign);
}

static void execute(void *library, const void *made, const void *from, void *to,
                    bool double_precision)
{
    (void)library;
    if (double_precision)
        fftw_execute_dft((fftw_plan)(uintptr_t)made, (fftw_complex *)(uintptr_t)from, to);
    else
        fftwf_execute_dft((fftwf_plan)(uintptr_t)made, (fftwf_complex *)(uintptr_t)from, to);
}

static void free_plan(void *library, void *made, bool double_precision)
{
    (void)library;
    if (double_precision)
        fftw_destroy_plan(made);
    else
        fftwf_destroy_plan(made);
}

bool grove_fourier_works(void)
{
    return true;
}
#else
static void *plan(void *library, int64_t size, int sign, bool double_precision)
{
    (void)library, (void)size, (void)sign, (void)double_precision;
    return NULL;
}

static void execute(void *library, const void *made, const void *from, void *to,
                    bool double_precision)
{
    (void)library, (void)made, (void)from, (void)to, (void)double_precision;
}

static void free_plan(void *library, void *made, bool double_precision)
{
    (void)library, (void)made, (void)double_precision;
}

bool grove_fourier_works(void)
{
    return false;
}
#endif

const grove_fourier_lines grove_fourier = {plan, execute, free_plan, NULL};
