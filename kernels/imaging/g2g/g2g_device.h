/* Preparations by the host for g2g on a device: the memory, and the entries of each warp. */
#ifndef GROVE_KERNELS_G2G_DEVICE_H
#define GROVE_KERNELS_G2G_DEVICE_H

#include "g2g.h"
#include "g2g_cuda.h"

extern const grove_kernel grove_g2g_pack, grove_g2g_arrange, grove_g2g_gather;
/* The kernel for functions with this support, real or not. */
const grove_kernel *grove_g2g_apply_kernel(int support, bool are_real, bool double_precision);

/* Bytes, at most, and numbers of pieces. */
typedef struct {
    uint64_t functions, entries, slots;
    uint64_t lists;        /* pieces, and from byte `begin` on the first one of each tile */
    uint64_t begin;        /* a multiple of 8, as is `lists` */
    int32_t pieces, slice; /* at most: in all, and of one launch, which have slots */
} grove_g2g_device_sizes;

/* For `entries` entries, used or not. False: more than 32 bits can count. */
bool grove_g2g_device_find_sizes(const grove_lattice *lattice, int64_t entries,
                                 grove_g2g_device_sizes *sizes);
/* Fills `pieces`, which are launched `slice` at a time, and `begin`: [tile + 1] the first of each
 * tile. How many there are. Entries as of grove_g2g_apply. */
int32_t grove_g2g_device_divide(const grove_lattice *lattice, const grove_diagonal_entry *entries,
                                int64_t count, int32_t slice, grove_g2g_piece *pieces,
                                int32_t *begin);

/* Seconds of an H100, as counted: of applying `entries` entries; of degridding and gridding
 * `samples` samples by the same functions. */
double grove_g2g_device_seconds(const grove_lattice *lattice, double entries);
double grove_g2g_device_seconds_of_both(const grove_lattice *lattice, double samples);

#endif
