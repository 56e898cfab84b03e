/* Arguments of the kernels of g2g for devices, for C and CUDA alike: kernels/imaging/g2g/g2g.h
 * describes their results. */
#ifndef GROVE_KERNELS_G2G_CUDA_H
#define GROVE_KERNELS_G2G_CUDA_H

#include "../gridder/gridder_cuda.h"

enum {
    GROVE_G2G_BLOCK = 128,       /* threads of a block */
    GROVE_G2G_PIECE = 64,        /* entries of a piece, at most */
    GROVE_G2G_NARROW = 8,        /* the widest functions that eight lanes do */
    GROVE_G2G_NARROW_TILE = 16,  /* of such functions, always */
    GROVE_G2G_NARROW_PITCH = 24, /* cells of a row of such a slot */
    GROVE_G2G_KEPT = 32,         /* the widest functions whose cells stay in registers of a warp */
    GROVE_G2G_KEPT_DOUBLE = 22,  /* in double precision */
    GROVE_G2G_TOGETHER = 4       /* entries of a cell that a warp does at once, of wider ones */
};

/* An entry is 16 bytes: where its cell is in the tile, v << 12 | u, with the number of entries of
 * this cell from it on, up to GROVE_G2G_TOGETHER, from bit 24 on; where its function begins, in
 * real numbers; the weight, of the precision. */
enum { GROVE_G2G_ENTRY_BYTES = 16, GROVE_G2G_MAX_TILE = 4096 };

/* Entries [first, last) of a tile, for eight lanes or a warp. Of its slot cells in rows [row, end)
 * and columns [left, right) are set. `turn` is of this place in the list: which piece of the launch
 * is done there, so that pieces of one length are done together. */
typedef struct {
    int32_t tile, first, last, turn;
    int16_t row, end, left, right;
} grove_g2g_piece;

/* Inputs of apply, whose `out` are slots, [piece of the launch][v][u] of a tile with the cells that
 * its functions reach; of gather, whose `out` is the grid. */
enum {
    GROVE_G2G_IN, /* gather: slots */
    GROVE_G2G_FUNCTIONS,
    GROVE_G2G_ENTRIES, /* gather: [tile + 1] its first piece, int32_t */
    GROVE_G2G_PIECES,
    GROVE_G2G_INPUTS
};

/* The state of all: of apply and gather pieces [first, last) are meant. Steps in bytes along u and
 * v: of the input of apply, of the grid that gather writes. */
typedef struct {
    grove_gridder_divisor row; /* gather: cells of a row; first, see image_launch */
    int32_t support, tile, tiles[2];
    int32_t first, last;
    int32_t adds;      /* gather: to the present values */
    int32_t origin[2]; /* gather: the first cell along u and v */
    int64_t step[2];
} grove_g2g_state;

/* The state of arrange, from functions as a value, a view with steps in bytes along planes and fine
 * samples, to [block][row][width] real or complex numbers, with zeros beyond the support; see
 * grove_g2g_width and _numbers. */
typedef struct {
    int64_t step[2];
    int32_t support, oversampling, are_real, spare;
} grove_g2g_arrange_state;

/* The state of pack, which converts the entries of a diagonal. */
typedef struct {
    int64_t blocks;
    int32_t support, tile, are_real, count;
} grove_g2g_pack_state;

/* Rows of a function that eight lanes do. */
GROVE_FN int32_t grove_g2g_rows(int32_t support)
{
    return support <= 4 ? 4 : support;
}

/* Numbers of a row of a function in memory. */
GROVE_FN int32_t grove_g2g_width(int32_t support)
{
    return support <= GROVE_G2G_NARROW ? GROVE_G2G_NARROW : support;
}

/* Cells of a function that a lane of a warp has, with room; 0: the function is narrow, or too wide.
 */
GROVE_FN int32_t grove_g2g_kept(int32_t support)
{
    const int32_t cells = (support * support + 31) / 32;

    return support <= GROVE_G2G_NARROW || support > GROVE_G2G_KEPT ? 0
           : cells <= 4                                            ? 4
           : cells <= 8                                            ? (cells + 1) / 2 * 2
                                                                   : (cells + 3) / 4 * 4;
}

/* Lanes that do a piece. */
GROVE_FN int32_t grove_g2g_lanes(int32_t support)
{
    return support <= GROVE_G2G_NARROW ? GROVE_G2G_NARROW : 32;
}

/* Real numbers of a function in memory. */
GROVE_FN int32_t grove_g2g_numbers(int32_t support, int32_t are_real)
{
    const int32_t lane = grove_g2g_kept(support),
                  cells = lane ? 32 * lane : grove_g2g_rows(support) * grove_g2g_width(support);

    return cells * (are_real ? 1 : 2);
}

/* Cells along each side of a slot that are used; cells of its rows. */
GROVE_FN int32_t grove_g2g_side(const grove_g2g_state *g)
{
    return g->tile + g->support - 1;
}

GROVE_FN int32_t grove_g2g_pitch(int32_t support, int32_t tile)
{
    return support <= GROVE_G2G_NARROW ? GROVE_G2G_NARROW_PITCH : tile + support - 1;
}

GROVE_FN const grove_g2g_state *grove_g2g_state_of(const grove_args *args)
{
    return (const grove_g2g_state *)(const void *)args->state.bytes;
}

#endif
