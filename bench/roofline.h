/* The roofline plot: multiply-adds per second against multiply-adds per byte, below what the
 * processor and the memory allow (Williams, Waterman, Patterson 2009, CACM 52, 65). */
#ifndef GROVE_BENCH_ROOFLINE_H
#define GROVE_BENCH_ROOFLINE_H

enum { BENCH_MOST_POINTS = 128 };

typedef struct {
    const char *workload;
    double intensity, rate; /* multiply-adds per byte, and per second */
} bench_point;

typedef struct {
    double peak, bandwidth; /* multiply-adds and bytes per second */
    const char *subtitle;
    bench_point points[BENCH_MOST_POINTS];
    int count;
} bench_roofline;

/* Draws into a .svg or .png file; 0, or 1 after a message. */
int bench_roofline_draw(const bench_roofline *roofline, const char *path);

#endif
