/* What a core allows a kernel: the roofline of multiply-adds per second over multiply-adds per byte
 * (Williams, Waterman & Patterson 2009, CACM 52, 65), with the bound of those that are mixed with
 * sines and cosines (Veenboer 2021, "Radio-astronomical imaging on accelerators", 5.3.5, 5.4.2). */
#ifndef GROVE_BENCH_BOUNDS_H
#define GROVE_BENCH_BOUNDS_H

enum { BENCH_MOST_POINTS = 128, BENCH_MIXTURES = 10 };

/* Of one core, per second; 0: not measured, and no bound. */
typedef struct {
    double peak;   /* multiply-adds */
    double phases; /* pairs of sine and cosine */
    double cache;  /* bytes of the second-level cache */
    double memory; /* bytes of memory */
} bench_limits;

/* What a kernel does for one visibility. */
typedef struct {
    double operations; /* multiply-adds, without those of sines and cosines */
    double phases;     /* pairs of sine and cosine */
    double memory;     /* bytes that must be read or written at least once */
    double cache;      /* bytes that it moves between registers and cache; 0: not counted */
    double shared;     /* visibilities in each subgrid; 0: it has none */
} bench_work;

typedef enum { BENCH_BY_PEAK, BENCH_BY_PHASES, BENCH_BY_CACHE, BENCH_BY_MEMORY } bench_reason;

/* The most multiply-adds per second with `each` of them for a pair of sine and cosine:
 * peak / (1 + c / each), if a pair takes the time of c = peak / phases of them and none of it is
 * hidden. `each` INFINITY: the peak. */
double bench_mixed_bound(const bench_limits *limits, double each);
/* The least bound of all, as multiply-adds per second, and which it is: of a mixture what takes
 * most of its time. */
double bench_bound(const bench_limits *limits, const bench_work *work, bench_reason *reason);
const char *bench_reason_text(bench_reason reason);

typedef struct {
    const char *label;
    double intensity, rate; /* multiply-adds per byte of memory, and per second */
    double bound;           /* its own; 0: not drawn */
} bench_point;

/* A mixture of `each` multiply-adds for a pair, as measured. */
typedef struct {
    double each, rate;
} bench_mixture;

typedef struct {
    bench_limits limits;
    const char *title, *subtitle;
    bench_point points[BENCH_MOST_POINTS];
    int count;
    bench_mixture mixtures[BENCH_MIXTURES]; /* a second chart, if there are any */
    int mixture_count;
} bench_roofline;

/* Draws into a .svg or .png file; 0, or 1 after a message. */
int bench_roofline_draw(const bench_roofline *roofline, const char *path);

#endif
