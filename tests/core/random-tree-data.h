/* Data of random trees: every size and number of the observations and sky models follows from a few
 * options of the classes `random_set` and `random_sky`. For the modules that make them and for the
 * test. */
#ifndef GROVE_TESTS_RANDOM_TREE_DATA_H
#define GROVE_TESTS_RANDOM_TREE_DATA_H

#include "cell.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { RANDOM_MAX_STATIONS = 8, RANDOM_MAX_BASELINES = 36 };

/* Choices of baselines: all pairs p < q; those and the autocorrelations; autocorrelations only;
 * every second pair, in reverse order, some with p > q. */
enum { RANDOM_PAIRS, RANDOM_ALL, RANDOM_AUTO, RANDOM_ODD, RANDOM_LAYOUTS };

/* Which samples of members with flags are flagged: none; a seventh; half; a seventh, and all of
 * every third cell along the last axis. */
enum { RANDOM_CLEAN, RANDOM_SOME, RANDOM_HALF, RANDOM_ROWS, RANDOM_FLAGGINGS };

typedef struct {
    const char *name, *axes;
    int shape, elements;
    bool complex_, flags, read;
    bool single; /* single precision; other members are double if constant, else of the run's
                    precision */
} random_member;

static const random_member random_set_members[] = {
    {"data", "time baseline freq", GROVE_MATRIX, 4, true, true, true, true},
    {"weight", "time baseline freq", GROVE_MATRIX, 4, false, false, true, true},
    {"model", "time baseline freq", GROVE_SCALAR, 1, true, true, true, false},
    {"closure", "baseline freq", GROVE_DIAGONAL, 2, true, true, true, false},
    {"offset", "baseline", GROVE_SCALAR, 1, false, false, false, false},
    {"path", "time baseline", GROVE_VECTOR, 3, false, false, false, false},
    {"jones", "time station", GROVE_MATRIX, 4, true, false, true, false},
    {"bandpass", "station freq", GROVE_DIAGONAL, 2, true, false, false, false},
    {"leakage", "time station freq", GROVE_MATRIX, 4, true, true, true, false},
    {"height", "station", GROVE_SCALAR, 1, false, false, false, false},
    {"delay", "time station", GROVE_SCALAR, 1, false, true, true, false},
    {"gain", "freq", GROVE_SCALAR, 1, true, false, false, false},
    {"slope", "freq", GROVE_DIAGONAL, 2, false, true, true, false},
    {"clock", "time", GROVE_SCALAR, 1, false, false, false, false},
    {"drift", "time freq", GROVE_MATRIX, 4, false, false, true, false},
    {"level", "", GROVE_SCALAR, 1, false, false, false, false},
    {"tensor", "", GROVE_MATRIX, 4, true, false, false, false},
    {"moments", "time", GROVE_VECTOR, 5, false, true, true, false},
};
static const random_member random_sky_members[] = {
    {"jones", "source", GROVE_MATRIX, 4, true, false, false, false},
    {"flux", "source", GROVE_SCALAR, 1, false, false, false, false},
    {"tilt", "source", GROVE_DIAGONAL, 2, false, true, true, false},
    {"turn", "source", GROVE_SCALAR, 1, true, true, true, false},
};
enum {
    RANDOM_SET_MEMBERS = sizeof(random_set_members) / sizeof(random_set_members[0]),
    RANDOM_SKY_MEMBERS = sizeof(random_sky_members) / sizeof(random_sky_members[0])
};

/* What random_keep writes: a number and its indices along the axes of random-tree.h. */
typedef struct {
    int32_t index[6], element, flag;
    double re, im;
} random_record;

static inline uint64_t random_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Of cell (i, j, k), numbered along the member's axes, and its element e. */
static inline uint64_t random_bits(int64_t seed, int member, const int64_t cell[3], int e)
{
    uint64_t x = random_mix((uint64_t)seed * 64 + (uint64_t)member);

    for (int d = 0; d < 3; d++)
        x = random_mix(x + (uint64_t)cell[d]);
    return random_mix(x + (uint64_t)e);
}

/* Numbers from -2 to 2 that single precision holds exactly. */
static inline double random_number(int64_t seed, int member, const int64_t cell[3], int e, int part)
{
    uint64_t bits = random_bits(seed, member, cell, e) >> (12 + 12 * part);

    return ((double)(bits % 1024) - 511.5) / 256;
}

static inline bool random_flagged(int64_t seed, int flagging, int member, const int64_t cell[3],
                                  int axes, int e)
{
    uint64_t bits = random_bits(seed, member, cell, e) >> 40;

    if (flagging == RANDOM_ROWS && axes && cell[axes - 1] % 3 == 1)
        return true;
    return flagging == RANDOM_HALF ? bits % 2 == 0 : flagging != RANDOM_CLEAN && bits % 7 == 0;
}

static inline int random_pairs(int layout, int stations, int32_t *left, int32_t *right)
{
    int count = 0;

    if (layout == RANDOM_ODD) {
        for (int p = stations - 1; p >= 0; p--)
            for (int q = stations - 1; q >= p; q--)
                if ((p + q) % 2 || p == q) {
                    left[count] = (p + q) % 3 ? p : q;
                    right[count] = left[count] == p ? q : p;
                    count++;
                }
        return count;
    }
    for (int p = 0; p < stations; p++)
        for (int q = p + (layout == RANDOM_PAIRS); q < (layout == RANDOM_AUTO ? p + 1 : stations);
             q++, count++) {
            left[count] = p;
            right[count] = q;
        }
    return count;
}

/* ---- point sources ---- */

static inline double random_time(int64_t i)
{
    return 5e9 + 60 * (double)i;
}

enum { RANDOM_INTERVAL = 60, RANDOM_WIDTH = 10000000 };

static const double random_centre[2] = {1.5, 0.7};

/* From 0 to 1, for number k of station or source i. */
static inline double random_share(int64_t seed, int64_t i, int k)
{
    const int64_t cell[3] = {i, 0, 0};

    return (double)(random_bits(seed, 63, cell, k) >> 40) / 16777216;
}

/* Equally spaced, or, in some sets, nearly so, or not at all. */
static inline double random_freq(int64_t seed, int64_t k)
{
    double kind = random_share(seed, -2, 0), off = kind < 0.5 ? 1e-2 : kind < 0.6 ? 0.5 : 0;

    return 1.4e9 + 1e7 * ((double)k + off * (random_share(seed, k, 20) - 0.5));
}

/* u, v, w of a station in m; with `rate` in m/s. */
static inline double random_uvw(int64_t seed, int64_t station, int64_t time, int k, bool rate)
{
    double speed = 0.02 * (random_share(seed, station, 3 + k) - 0.5);
    double start = 150 * (random_share(seed, station, k) - 0.5);

    return rate ? speed : start + speed * (double)(60 * time);
}

/* A source: right ascension and declination; Stokes I Q U V; reference frequency (0: flat), two
 * terms of its spectrum, logarithmic or not; rotation measure; major and minor axis, angle. */
typedef struct {
    double radec[2], stokes[4], reference, spectrum[2], logarithmic, measure, shape[3];
} random_source;

static inline random_source random_source_of(int64_t seed, int64_t i)
{
    random_source s = {0};
    bool flat = random_share(seed, -1, 0) < 0.4, points = random_share(seed, -1, 1) < 0.4;

    for (int k = 0; k < 2; k++)
        s.radec[k] = random_centre[k] + 0.01 * (random_share(seed, i, k) - 0.5);
    s.stokes[0] = 0.5 + random_share(seed, i, 2);
    for (int k = 1; k < 4; k++)
        s.stokes[k] = random_share(seed, i, 2 + k) < 0.5 ? 0 : random_share(seed, i, 2 + k) - 0.7;
    if (!flat && random_share(seed, i, 6) < 0.7) {
        s.reference = 1.3e9;
        s.spectrum[0] = random_share(seed, i, 7) - 0.6;
        s.spectrum[1] = 0.2 * (random_share(seed, i, 8) - 0.5);
        s.logarithmic = random_share(seed, i, 9) < 0.7;
        s.measure = random_share(seed, i, 10) < 0.5 ? 0 : 10 * (random_share(seed, i, 11) - 0.5);
    }
    if (!points && random_share(seed, i, 12) < 0.6)
        for (int k = 0; k < 3; k++)
            s.shape[k] = (k < 2 ? 2e-4 : 3) * random_share(seed, i, 13 + k);
    return s;
}

#endif
