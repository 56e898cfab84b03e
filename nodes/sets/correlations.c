#include "nodes/sets/correlations.h"

#include <string.h>

enum { STOKES_I = 1, RR = 5, LL = 8, XX = 9, YY = 12 };

static int element_of(int code)
{
    if (code >= XX && code <= YY)
        return code - XX;
    if (code >= RR && code <= LL)
        return code - RR;
    return code == STOKES_I ? -1 : -2;
}

int grove_correlations_map(grove_correlations *map, const int *codes, int count, int shape)
{
    memset(map, 0, sizeof(*map));
    if (count < 1 || count > 4)
        return -1;
    map->count = count;
    map->shape = shape;
    for (int i = 0; i < count; i++) {
        map->element[i] = element_of(codes[i]);
        if (map->element[i] < -1)
            return -1;
    }
    return 0;
}

int grove_correlations_shape(const int *codes, int count)
{
    unsigned have = 0;

    for (int i = 0; i < count; i++) {
        int element = element_of(codes[i]);
        if (element == -1 && count == 1)
            return GROVE_SCALAR;
        if (element < 0 || have & 1u << element || (codes[i] >= XX) != (codes[0] >= XX))
            return 0;
        have |= 1u << element;
    }
    if (count == 1)
        return have & 9 ? GROVE_SCALAR : GROVE_MATRIX;
    return have == 9 ? GROVE_DIAGONAL : GROVE_MATRIX;
}

bool grove_correlations_circular(const int *codes, int count)
{
    return count > 0 && codes[0] >= RR && codes[0] <= LL;
}

int grove_correlations_missing(const int *codes, int count)
{
    int missing = 15;

    for (int i = 0; i < count; i++)
        if (element_of(codes[i]) >= 0)
            missing &= ~(1 << element_of(codes[i]));
    return missing;
}

void grove_correlations_for_shape(int shape, int missing, bool circular, const int *own, int have,
                                  int *count, int codes[4])
{
    const int first = circular ? RR : XX;
    const int known = ~missing & (shape == GROVE_MATRIX                ? 15
                                  : shape == GROVE_DIAGONAL || missing ? 9
                                                                       : 1);

    *count = 0;
    for (int e = 0; e < 4; e++)
        if (known >> e & 1)
            codes[(*count)++] = first + e;
    if (!known)
        codes[(*count)++] = STOKES_I;
    bool same = have && grove_correlations_missing(own, have) == (known ? 15 & ~known : 15);
    if (same || (have == 1 && shape == GROVE_SCALAR && !missing)) {
        *count = have;
        memcpy(codes, own, (size_t)have * sizeof(*own));
    }
}

/* Position in the cell of element e of the full matrix, or -1 where that element is zero. */
static int position(int shape, int e)
{
    if (shape == GROVE_MATRIX)
        return e;
    if (e == 1 || e == 2)
        return -1;
    return shape == GROVE_DIAGONAL && e == 3 ? 1 : 0;
}

bool grove_correlations_are_cells(const grove_correlations *map)
{
    bool same = map->count == map->shape;

    for (int i = 0; i < map->count; i++)
        same = same && position(map->shape, map->element[i] < 0 ? 0 : map->element[i]) == i;
    return same;
}

void grove_correlations_store(const grove_correlations *map, const grove_cplx32 *cell,
                              unsigned char cell_flags, float *data, unsigned char *flag)
{
    for (int i = 0; i < map->count; i++) {
        int e = map->element[i];
        int at = position(map->shape, e < 0 ? 0 : e), other = position(map->shape, 3);
        data[2 * i] = at < 0 ? 0 : cell[at].re;
        data[2 * i + 1] = at < 0 ? 0 : cell[at].im;
        flag[i] = at >= 0 && cell_flags >> at & 1;
        if (e < 0) {
            data[2 * i] = (cell[at].re + cell[other].re) / 2;
            data[2 * i + 1] = (cell[at].im + cell[other].im) / 2;
            flag[i] |= cell_flags >> other & 1;
        }
    }
}

void grove_correlations_load(const grove_correlations *map, const float *data,
                             const unsigned char *flag, grove_cplx32 *cell,
                             unsigned char *cell_flags)
{
    int elements = map->shape;

    /* correlations missing in the set are zero and flagged */
    memset(cell, 0, (size_t)elements * sizeof(*cell));
    *cell_flags = (unsigned char)((1u << elements) - 1);
    for (int i = 0; i < map->count; i++) {
        int at = position(map->shape, map->element[i] < 0 ? 0 : map->element[i]);
        if (at < 0)
            continue;
        cell[at].re = data[2 * i];
        cell[at].im = data[2 * i + 1];
        if (!flag[i])
            *cell_flags &= (unsigned char)~(1u << at);
    }
}
