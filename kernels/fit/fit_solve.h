/* The normal equations of solution domains on a device: sums of baselines are gathered to the
 * matrix of a domain's unknowns, which is solved where it lies. */
#ifndef GROVE_KERNELS_FIT_SOLVE_H
#define GROVE_KERNELS_FIT_SOLVE_H

#include "cell.h"
#include "fit_normal.h"

enum {
    GROVE_SOLVE_UNKNOWNS = 1024, /* of a domain, at most */
    GROVE_SOLVE_COLUMNS = 16,    /* of a baseline, at most */
    GROVE_SOLVE_FEW = 64,        /* up to this number of unknowns blocks are small */
    GROVE_SOLVE_SMALL = 32,      /* threads of a block */
    GROVE_SOLVE_LARGE = 256
};

/* A point of a domain, doubles: five sums, the gradient, the diagonal and the matrix, both of its
 * triangles. */
enum {
    GROVE_POINT_CHI2,
    GROVE_POINT_POWER,
    GROVE_POINT_VALUES,
    GROVE_POINT_USED,
    GROVE_POINT_ALL,
    GROVE_POINT_SUMS
};

/* The part of it that the host gets. */
GROVE_FN int64_t grove_point_head(int64_t unknowns)
{
    return GROVE_POINT_SUMS + 2 * unknowns;
}

GROVE_FN int64_t grove_point_size(int64_t unknowns)
{
    return grove_point_head(unknowns) + unknowns * unknowns;
}

/* ---- fit_gather ---- */

/* How a column is of unknowns: as grove_part (unstable/fit.h). Those after _IMAGINARY are two
 * unknowns. */
enum { GROVE_GATHER_REAL, GROVE_GATHER_IMAGINARY, GROVE_GATHER_BOTH, GROVE_GATHER_CONJUGATE };

/* Domains whose baselines have the same unknowns share lists, int32 of in[2], from `lists` on: the
 * rows of sums of its items, relative to the first; the unknown of each item's columns; and of each
 * unknown where its list begins, with the end, and the lists, columns of items. */
typedef struct {
    int64_t point, result; /* in doubles of in[1] and out */
    int64_t lists, row;    /* row: the first */
    int32_t unknowns, items;
} grove_gather_domain;

/* Inputs: the result of fit_normal, the points, lists, and domains. */
typedef struct {
    int32_t domains, unknowns; /* unknowns: of the largest */
    int32_t columns;
    unsigned char part[GROVE_SOLVE_COLUMNS];
} grove_gather_state;

/* A warp for each unknown, and one for the sums. */
GROVE_FN int64_t grove_fit_gather_threads(const grove_args *args)
{
    const grove_gather_state *s = (const grove_gather_state *)(const void *)args->state.bytes;

    return 32 * (int64_t)s->domains * (s->unknowns + 1);
}

/* ---- fit_keep: copies int64 words of in[0] ---- */

GROVE_FN int64_t grove_fit_keep_threads(const grove_args *args)
{
    return args->size[0];
}

/* ---- fit_solve ---- */

/* (S N S + damping) S^-1 step = S g, with S_jj = 1 / sqrt(N_jj), or 0 where N_jj < smallest or
 * N_jj size_j^2 <= negligible sum w |V|^2: the solution of minimum norm. */
typedef struct {
    int64_t point, sizes, work, result; /* in doubles: of in[0], but the last, which is of out */
    double damping, negligible;
    int64_t unknowns;
} grove_solve_system;

/* In: points, sizes of unknowns and room for [unknowns][unknowns]; and systems. Out: for each
 * system step^T N step, the rank, and the step. */
enum { GROVE_SOLVE_SQUARE, GROVE_SOLVE_RANK, GROVE_SOLVE_STEP };

typedef struct {
    int64_t systems, block; /* threads of a block */
} grove_solve_state;

GROVE_FN int64_t grove_fit_solve_threads(const grove_args *args)
{
    const grove_solve_state *s = (const grove_solve_state *)(const void *)args->state.bytes;

    return s->systems * s->block;
}

#endif
