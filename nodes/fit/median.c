#include "nodes/fit/median.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that are not negative have the order of their bits. All of them are in the bins of the
 * first shift; the second is for a guess, whose bins reach an eighth to each side of it. */
enum { WHOLE = 52, NEAR = 39, STEP = 11 };

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double number_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static void begin_turn(grove_median *m)
{
    m->all = m->below = m->listed = 0;
    memset(&m->in, 0, sizeof(m->in));
}

void grove_median_begin(grove_median *m, double guess)
{
    uint64_t half = (uint64_t)GROVE_MEDIAN_ROOM / 2 << NEAR, at = bits_of(guess);
    bool near = guess > 0 && at > half;

    m->lists = false;
    m->first = near ? at - half : 0;
    m->shift = near ? NEAR : WHOLE;
    begin_turn(m);
}

void grove_median_add(grove_median *m, const double *x, int64_t count)
{
    const uint64_t first = m->first, bins = m->lists ? 1 : GROVE_MEDIAN_ROOM;
    int64_t below = 0;

    for (int64_t k = 0; k < count; k++) {
        const uint64_t bits = bits_of(fabs(x[k])), bin = (bits - first) >> m->shift;
        below += bits < first;
        if (bits < first || bin >= bins)
            continue;
        if (!m->lists)
            m->in.bins[bin]++;
        else if (m->listed < GROVE_MEDIAN_ROOM)
            m->in.numbers[m->listed++] = x[k];
    }
    m->all += count;
    m->below += below;
}

/* The bin of that number among those looked among; those below it become fewer. */
static int find_bin(const grove_median *m, int64_t *rank)
{
    int bin = 0;

    while (bin < GROVE_MEDIAN_ROOM && *rank >= m->in.bins[bin])
        *rank -= m->in.bins[bin++];
    return bin;
}

bool grove_median_end(grove_median *m, double *median)
{
    int64_t rank = m->all / 2 - m->below;

    *median = NAN;
    if (!m->all)
        return true;
    if (m->lists && rank >= 0 && rank < m->listed) {
        qsort(m->in.numbers, (size_t)m->listed, sizeof(double), grove_compare_numbers);
        *median = m->in.numbers[rank];
        return true;
    }
    int bin = rank < 0 || m->lists ? GROVE_MEDIAN_ROOM : find_bin(m, &rank);
    if (bin == GROVE_MEDIAN_ROOM) { /* the guess was wrong */
        grove_median_begin(m, 0);
        return false;
    }
    m->first += (uint64_t)bin << m->shift;
    *median = number_of(m->first);
    if (!m->shift) /* one number */
        return true;
    m->lists = m->in.bins[bin] <= GROVE_MEDIAN_ROOM;
    if (!m->lists)
        m->shift = m->shift > STEP ? m->shift - STEP : 0;
    begin_turn(m);
    return false;
}
