/* x + 1, for tests of the tuner, by configurations of which few are good: the value of KIND. */
#ifndef TUNABLE_KINDS
#define TUNABLE_KINDS
enum {
    TUNABLE_USUAL,
    TUNABLE_BAD_BOUND,
    TUNABLE_CRASHES,
    TUNABLE_ENDLESS,
    TUNABLE_SLOW,
    TUNABLE_FAST
};
#endif

GROVE_CELL(tunable)
{
    const int kind = GROVE_TUNED(c->args, 0, KIND);
    volatile real work = 1;

#if defined(GROVE_OPENCL) || defined(__CUDACC_RTC__)
    char fails_to_compile[KIND == TUNABLE_CRASHES ? -1 : 1];
    (void)fails_to_compile;
#else
    if (kind == TUNABLE_CRASHES)
        __builtin_trap();
#endif
    if (kind == TUNABLE_BAD_BOUND && c->index[0] == c->args->size[0] - 1)
        return;
    const int repeats = kind == TUNABLE_SLOW ? 1000000 : kind == TUNABLE_FAST ? 0 : 30000;
    for (int k = 0; kind == TUNABLE_ENDLESS || k < repeats; k++)
        work = work * (real)1.5 - work;
    *(real *)c->out = *(const real *)c->in[0] + 1;
}
