#include "device/timing.h"

static void add(grove_busy *to, grove_busy_kind kind, double seconds)
{
    if (kind == GROVE_BUSY_KERNELS)
        to->kernels += seconds;
    else if (kind == GROVE_BUSY_UP)
        to->up += seconds;
    else
        to->down += seconds;
}

void grove_timing_add(grove_timing *timing, grove_busy *to, grove_busy_kind kind, double seconds)
{
    add(&timing->busy, kind, seconds);
    if (to)
        add(to, kind, seconds);
}

/* Of the calling thread, or the number of attributions. */
static int find_attribution(const grove_timing *timing)
{
    int k = 0;

    while (k < timing->attribution_count &&
           !pthread_equal(timing->attributions[k].thread, pthread_self()))
        k++;
    return k;
}

void grove_timing_set(grove_timing *timing, grove_busy *to)
{
    const int k = find_attribution(timing);

    if (k == GROVE_TIMED_THREADS)
        return;
    timing->attributions[k] = (grove_attribution){pthread_self(), to};
    if (k == timing->attribution_count)
        timing->attribution_count++;
}

grove_busy *grove_timing_attributed(const grove_timing *timing)
{
    const int k = find_attribution(timing);

    return k < timing->attribution_count ? timing->attributions[k].to : NULL;
}
