/* Data for transforms of lines: parts, factors, and which elements are cells and pixels. */
#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Numbers exp(2 pi i k / size), from which all factors are taken. */
typedef struct {
    int64_t size;
    double *number; /* [size][2] */
    size_t real;
} roots;

static void put(const roots *r, void *to, int64_t at, int64_t k)
{
    for (int i = 0; i < 2; i++)
        if (r->real == sizeof(float))
            ((float *)to)[2 * at + i] = (float)r->number[2 * (k % r->size) + i];
        else
            ((double *)to)[2 * at + i] = r->number[2 * (k % r->size) + i];
}

static roots make_roots(int64_t size, size_t real)
{
    roots r = {size, malloc((size_t)(2 * size) * sizeof(double)), real};

    for (int64_t k = 0; r.number && k < size; k++) {
        r.number[2 * k] = cos(2 * pi * (double)k / (double)size);
        r.number[2 * k + 1] = sin(2 * pi * (double)k / (double)size);
    }
    return r;
}

static int make_part(grove_gridder_part *part, const roots *r, int64_t size)
{
    static const int radices[] = {4, 2, 3, 5};
    int64_t length = size, at = 0;

    part->size = size;
    for (int k = 0; k < 4; k++)
        for (; length % radices[k] == 0; length /= radices[k])
            part->radix[part->passes++] = radices[k];
    part->factor = malloc((size_t)(2 * size + 2) * 2 * r->real);
    if (!part->factor || length > 1)
        return -1;
    length = size;
    for (int k = 0; k < part->passes; k++) {
        const int radix = part->radix[k];
        for (int64_t p = 0; p < length / radix; p++)
            for (int64_t j = 1; j < radix; j++)
                put(r, part->factor, at++, p * j * (r->size / length));
        length /= radix;
    }
    return 0;
}

int grove_gridder_part_make(grove_gridder_part *part, int64_t size, size_t real)
{
    const roots r = make_roots(size, real);

    *part = (grove_gridder_part){0};
    int code = r.number ? make_part(part, &r, size) : -1;
    free(r.number);
    return code;
}

static void find_elements(const grove_gridder *g, int d, grove_gridder_fourier *f)
{
    const int64_t size = grove_gridder_view(&g->plan).size[d];

    memset(f->cell, 0xff, (size_t)f->size * sizeof(*f->cell));
    memset(f->pixel, 0xff, (size_t)f->size * sizeof(*f->pixel));
    for (int64_t k = 0; k < g->columns[d] * GROVE_GRIDDER_TILE; k++) {
        int64_t at = (g->first_tile[d] * GROVE_GRIDDER_TILE + k) % f->size;
        f->cell[at < 0 ? at + f->size : at] = (int32_t)k;
    }
    for (int64_t k = 0; k < size; k++)
        f->pixel[k - size / 2 + (k < size / 2 ? f->size : 0)] = (int32_t)k;
}

int grove_gridder_fourier_make(const grove_gridder *g, int d, grove_gridder_fourier *f)
{
    const int64_t size = g->plan.transform[d];
    int64_t n = (int64_t)sqrt((double)size);
    const roots r = make_roots(size, g->real);

    while (size % n)
        n--;
    *f = (grove_gridder_fourier){.size = size,
                                 .factor = malloc((size_t)(2 * size) * g->real),
                                 .cell = malloc((size_t)size * sizeof(*f->cell)),
                                 .pixel = malloc((size_t)size * sizeof(*f->pixel))};
    int code = !r.number || !f->factor || !f->cell || !f->pixel;
    if (!code)
        code = make_part(&f->part[0], &r, n) || make_part(&f->part[1], &r, size / n);
    if (!code) {
        for (int64_t b = 0; b < size / n; b++)
            for (int64_t k = 0; k < n; k++)
                put(&r, f->factor, b * n + k, b * k);
        find_elements(g, d, f);
    }
    free(r.number);
    return code ? -1 : 0;
}

void grove_gridder_fourier_free(grove_gridder_fourier *f)
{
    free(f->part[0].factor);
    free(f->part[1].factor);
    free(f->factor);
    free(f->cell);
    free(f->pixel);
    *f = (grove_gridder_fourier){0};
}

size_t grove_gridder_fourier_bytes(const grove_gridder_fourier *f)
{
    const int64_t n1 = f->part[0].size, n2 = f->part[1].size;

    return (size_t)(f->size + 2 * (n1 > n2 ? n1 : n2)) * GROVE_GRIDDER_PAIR_BYTES;
}
