#include "g2g_device.h"

#define KERNEL(name, block)                                                                        \
    {                                                                                              \
        name, NULL, NULL, "g2g.cu", NULL, block, 0                                                 \
    }
const grove_kernel grove_g2g_pack = KERNEL("g2g_pack", 0),
                   grove_g2g_arrange = KERNEL("g2g_arrange", 0),
                   grove_g2g_gather = KERNEL("g2g_gather", 0);

#define BOTH(name)                                                                                 \
    {                                                                                              \
        KERNEL(name "_complex", GROVE_G2G_BLOCK), KERNEL(name "_real", GROVE_G2G_BLOCK)            \
    }

const grove_kernel *grove_g2g_apply_kernel(int support, bool are_real, bool double_precision)
{
    static const grove_kernel kernels[5][2] = {BOTH("g2g_narrow"), BOTH("g2g_kept8"),
                                               BOTH("g2g_kept16"), BOTH("g2g_kept32"),
                                               BOTH("g2g_wide")};
    const int cells = grove_g2g_kept(support);

    return &kernels[support <= GROVE_G2G_NARROW                                       ? 0
                    : !cells || (double_precision && support > GROVE_G2G_KEPT_DOUBLE) ? 4
                    : cells <= 8                                                      ? 1
                    : cells <= 16                                                     ? 2
                                  : 3][are_real];
}

enum { SLOTS = 1 << 26 /* bytes of a launch, about */ };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool grove_g2g_device_find_sizes(const grove_lattice *l, int64_t entries, grove_g2g_device_sizes *s)
{
    const int64_t tiles = l->tiles[0] * l->tiles[1], side = l->tile + l->plan.support - 1,
                  real = l->plan.double_precision ? sizeof(double) : sizeof(float),
                  slot = side * grove_g2g_pitch(l->plan.support, (int32_t)l->tile) * 2 * real,
                  pieces = least(tiles, entries) + entries / GROVE_G2G_PIECE;

    *s = (grove_g2g_device_sizes){0};
    if (l->tile > GROVE_G2G_MAX_TILE ||
        (l->plan.support <= GROVE_G2G_NARROW && l->tile != GROVE_G2G_NARROW_TILE) ||
        entries > INT32_MAX || pieces > INT32_MAX ||
        l->plan.grid[0] * l->plan.grid[1] > INT32_MAX ||
        l->blocks > INT32_MAX / grove_g2g_numbers(l->plan.support, 0) ||
        l->blocks * grove_g2g_numbers(l->plan.support, 0) * real > UINT32_MAX)
        return false;
    s->functions = (uint64_t)(l->blocks * grove_g2g_numbers(l->plan.support, 0)) * (uint64_t)real;
    s->entries = (uint64_t)entries * GROVE_G2G_ENTRY_BYTES;
    s->pieces = (int32_t)pieces;
    s->slice = (int32_t)least(pieces, SLOTS / slot + 1);
    s->slots = (uint64_t)(s->slice * slot);
    s->begin = ((uint64_t)pieces * sizeof(grove_g2g_piece) + 7) / 8 * 8;
    s->lists = s->begin + (uint64_t)(tiles + 2) / 2 * 2 * sizeof(int32_t);
    return true;
}

/* Entries [first, last) of a tile, and the cells that their functions reach. */
static grove_g2g_piece make_piece(const grove_lattice *l, const grove_diagonal_entry *entries,
                                  int64_t tile, int64_t first, int64_t last)
{
    const double begin = (double)tile * (double)(l->tile * l->tile) * (double)l->blocks;
    int64_t low[2] = {l->tile, l->tile}, high[2] = {0, 0};

    for (int64_t k = first; k < last; k++) {
        const int64_t cell = (int64_t)((entries[k].point - begin) / (double)l->blocks),
                      at[2] = {cell % l->tile, cell / l->tile};
        for (int d = 0; d < 2; d++) {
            low[d] = at[d] < low[d] ? at[d] : low[d];
            high[d] = at[d] > high[d] ? at[d] : high[d];
        }
    }
    return (grove_g2g_piece){.tile = (int32_t)tile,
                             .first = (int32_t)first,
                             .last = (int32_t)last,
                             .row = (int16_t)low[1],
                             .end = (int16_t)(high[1] + l->plan.support),
                             .left = (int16_t)low[0],
                             .right = (int16_t)(high[0] + l->plan.support)};
}

/* Turns of pieces that are launched together: the longest ones first. */
static void set_turns(grove_g2g_piece *pieces, int32_t count)
{
    int32_t at[GROVE_G2G_PIECE + 2] = {0};

    for (int32_t k = 0; k < count; k++)
        at[GROVE_G2G_PIECE + 1 - (pieces[k].last - pieces[k].first)]++;
    for (int k = 0; k <= GROVE_G2G_PIECE; k++)
        at[k + 1] += at[k];
    for (int32_t k = 0; k < count; k++)
        pieces[at[GROVE_G2G_PIECE - (pieces[k].last - pieces[k].first)]++].turn = k;
}

int32_t grove_g2g_device_divide(const grove_lattice *l, const grove_diagonal_entry *entries,
                                int64_t count, int32_t slice, grove_g2g_piece *pieces,
                                int32_t *begin)
{
    const double points = (double)(l->tile * l->tile) * (double)l->blocks;
    const int64_t tiles = l->tiles[0] * l->tiles[1];
    int64_t at = 0;
    int32_t made = 0;

    while (count && entries[count - 1].point < 0)
        count--;
    for (int64_t tile = 0; tile <= tiles; tile++) {
        begin[tile] = made;
        if (at == count || entries[at].point >= (double)(tile + 1) * points)
            continue;
        const int64_t end = grove_diagonal_find(entries, at, count, (double)(tile + 1) * points);
        for (int64_t left = (end - at + GROVE_G2G_PIECE - 1) / GROVE_G2G_PIECE; left > 0;
             left--, made++) {
            const int64_t last = at + (end - at + left - 1) / left; /* all of one length */
            pieces[made] = make_piece(l, entries, tile, at, last);
            at = last;
        }
    }
    for (int32_t first = 0; first < made; first += slice)
        set_turns(pieces + first, (int32_t)least(slice, made - first));
    return made;
}

/* ---- cost ---- */

/* Picoseconds of an H100 in single precision, by the limits that bind in
 * bench/RESULTS-gpu-counted.md: of a cell of the grid; of an entry, and of each cell of its
 * function, which is real; of a sample both ways, and of its cells. Numbers of complex functions
 * take more. Double precision takes more of all. */
static const double per_grid_cell = 12.4, per_entry = 11, per_cell = 0.3, per_sample = 423,
                    per_sample_cell = 1.25, complex_cell = 1.8;

static double cells_of(const grove_lattice *l)
{
    return (double)(l->plan.support * l->plan.support) * (l->plan.planes > 1 ? complex_cell : 1);
}

double grove_g2g_device_seconds(const grove_lattice *l, double entries)
{
    return 1e-12 * (per_grid_cell * (double)(l->plan.grid[0] * l->plan.grid[1]) +
                    entries * (per_entry + cells_of(l) * per_cell));
}

double grove_g2g_device_seconds_of_both(const grove_lattice *l, double samples)
{
    return 1e-12 * samples * (per_sample + cells_of(l) * per_sample_cell);
}
