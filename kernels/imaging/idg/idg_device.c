#include "idg_device.h"

#include "idg_tiles.h"

#include <stdlib.h>
#include <string.h>

#define PIXELS(name, block)                                                                        \
    {                                                                                              \
        name, NULL, NULL, "idg_pixels.cu", NULL, block, 0                                          \
    }
#define SUBGRIDS(name)                                                                             \
    {                                                                                              \
        name, NULL, NULL, "idg.cu", NULL, GROVE_IDG_BLOCK, 0                                       \
    }
const grove_kernel grove_idg_weigh = PIXELS("idg_weigh", 0),
                   grove_idg_split = PIXELS("idg_split", 0),
                   grove_idg_gather = PIXELS("idg_gather", 0),
                   grove_idg_clear = PIXELS("idg_clear", 0),
                   grove_idg_terms_kernel = PIXELS("idg_terms", GROVE_IDG_BLOCK);

enum { BYTES = 1 << 25 /* of the pixels of a launch, about */, STEP = 8, SIDES = 8 };
static const uint64_t most_in_tiles = 1 << 28; /* bytes of w-tiles at a time */

const grove_kernel *grove_idg_sum_kernel(int side)
{
    static const grove_kernel kernels[SIDES + 1] = {
        [2] = SUBGRIDS("idg_sum_16"), [3] = SUBGRIDS("idg_sum_24"), [4] = SUBGRIDS("idg_sum_32"),
        [5] = SUBGRIDS("idg_sum_40"), [6] = SUBGRIDS("idg_sum_48"), [8] = SUBGRIDS("idg_sum_64")};

    return &kernels[side / STEP];
}

const grove_kernel *grove_idg_predict_kernel(int side)
{
    static const grove_kernel kernels[SIDES + 1] = {
        [2] = SUBGRIDS("idg_predict_16"), [3] = SUBGRIDS("idg_predict_24"),
        [4] = SUBGRIDS("idg_predict_32"), [5] = SUBGRIDS("idg_predict_40"),
        [6] = SUBGRIDS("idg_predict_48"), [8] = SUBGRIDS("idg_predict_64")};

    return &kernels[side / STEP];
}

/* Of 64 pixels a side, in double precision, two blocks sum a half each. */
int64_t grove_idg_threads(const grove_idg_plan *p, int64_t subgrids, bool predicts)
{
    const int64_t parts =
        p->grid.bounds.double_precision && p->side == GROVE_IDG_MAX_SIDE && !predicts ? 2 : 1;

    return subgrids * p->mix.visibilities * parts * GROVE_IDG_BLOCK;
}

static int64_t pair_bytes(const grove_idg_plan *p)
{
    return p->grid.bounds.double_precision ? 16 : 8;
}

static int64_t bands_of(const grove_idg_plan *p)
{
    return p->bands > 1 ? p->bands : 1;
}

int64_t grove_idg_device_tiles(const grove_idg_plan *p)
{
    int64_t across[2];

    return grove_idg_tiles_count(p, across);
}

/* As many w-tiles as are estimated, if they are not too many. */
static int32_t slots_of(const grove_idg_plan *p)
{
    const int64_t all = grove_idg_device_tiles(p);
    const uint64_t estimated = (uint64_t)(bands_of(p) *
                                          (p->blocks > 0 && p->blocks < all ? p->blocks : all)),
                   most = most_in_tiles / grove_idg_block_bytes(p);

    return (int32_t)(estimated < most ? estimated : most > 0 ? most : 1);
}

grove_idg_device_sizes grove_idg_device_find_sizes(const grove_idg_plan *p)
{
    const int64_t pixels = (int64_t)p->side * p->side * pair_bytes(p),
                  most = grove_idg_most(&p->mix) * pixels, count = BYTES / most;
    const grove_gridder_plan *grid = &p->grid;
    const int32_t slots = p->tile ? slots_of(p) : 0;

    return (grove_idg_device_sizes){
        .planes = p->tile ? (uint64_t)slots * grove_idg_block_bytes(p)
                          : (uint64_t)(p->mix.images * bands_of(p) * grid->planes * grid->grid[0] *
                                       grid->grid[1] * pair_bytes(p)),
        .numbers = (uint64_t)(count * p->mix.visibilities * pixels),
        .images = (uint64_t)(count * p->mix.images * pixels),
        .table = (uint64_t)grove_idg_table_numbers(p->side) * sizeof(double),
        .subgrids = (int32_t)count,
        .slots = slots};
}

/* Cells along a side of the planes, or of each slot. */
static int64_t plane_side(const grove_idg_plan *p, int d)
{
    return p->tile ? grove_idg_block_side(p) : p->grid.grid[d];
}

double *grove_idg_device_table(const grove_idg_plan *p)
{
    double *table = calloc((size_t)grove_idg_table_numbers(p->side), sizeof(*table)),
           *n = table + grove_idg_table_n(p->side), *taper = table + grove_idg_table_taper(p->side),
           *mix = table + grove_idg_table_mix(p->side);
    const bool without_w = p->grid.bounds.without_w;

    if (!table)
        return NULL;
    if (!without_w)
        grove_idg_separate(p, table, table + p->side);
    for (int x = 0; x < p->side; x++)
        for (int y = 0; y < p->side; y++) {
            n[x * p->side + y] = without_w ? 0 : grove_idg_n(p, x, y);
            taper[x * p->side + y] = grove_idg_taper(p, x, y);
        }
    memcpy(mix, p->mix.factor, sizeof(p->mix.factor));
    for (int c = 0; c < 4; c++)
        mix[sizeof(p->mix.factor) / sizeof(double) + (size_t)c] = p->mix.element[c];
    return table;
}

_Static_assert(sizeof(grove_idg_state) <= GROVE_STATE_BYTES &&
                   sizeof(grove_idg_sampling) <= GROVE_STATE_BYTES,
               "arguments have room for the state");

grove_idg_state grove_idg_device_state(const grove_idg_plan *p)
{
    const grove_gridder_plan *grid = &p->grid;
    const bool without_w = grid->bounds.without_w;
    grove_idg_state s = {.samples = {.polarisations = p->mix.visibilities,
                                     .planes = p->tile ? grove_idg_device_find_sizes(p).slots
                                                       : (int32_t)(bands_of(p) * grid->planes),
                                     .first_w = p->first_w,
                                     .turn = {grid->image.centre[0], grid->image.centre[1],
                                              without_w ? 0 : grid->middle_n}},
                         .step_w = p->step_w,
                         .side = p->side,
                         .line = (int32_t)grove_idg_line(p),
                         .images = p->mix.images,
                         .without_w = without_w,
                         .pixels = grove_gridder_divide_by(p->side * p->side),
                         .row = grove_gridder_divide_by(p->side)};

    for (int d = 0; d < 2; d++) {
        s.samples.scale[d] = (double)grid->grid[d] * grid->image.cell[d];
        s.size[d] = (int32_t)plane_side(p, d);
    }
    return s;
}

/* ---- tiles ---- */

enum { MOST = GROVE_IDG_MAX_SIDE / GROVE_IDG_TILE + 1 }; /* along one axis */

/* Tiles along an axis that a subgrid touches; the grid repeats itself. */
static int find_tiles(const grove_idg_plan *p, int32_t start, int d, int32_t tile[MOST])
{
    const int32_t size = (int32_t)plane_side(p, d);
    int count = 0;

    for (int32_t at = 0, step; at < p->side; at += step) {
        const int32_t cell = (start + at) % size;
        step = GROVE_IDG_TILE - cell % GROVE_IDG_TILE;
        if (!count || cell / GROVE_IDG_TILE != tile[0])
            tile[count++] = cell / GROVE_IDG_TILE;
    }
    return count;
}

typedef struct {
    const grove_idg_plan *plan;
    grove_idg_work *work;
    int32_t *number; /* [tile of the grid] number of its tile in the launch, and 1 */
    int64_t across, rows, room;
} tiling;

/* The tile (column, row) of a plane in this launch, which begins with tile `first`; NULL: no
 * memory. */
static grove_idg_tile *find_tile(tiling *t, const grove_idg_subgrid *s, int32_t column, int32_t row,
                                 int32_t first, int32_t base)
{
    grove_idg_work *w = t->work;
    int32_t *number = &t->number[(s->plane * t->rows + row) * t->across + column];

    if (!*number && w->tiles == t->room) {
        const int64_t room = t->room ? 2 * t->room : 1024;
        grove_idg_tile *more = realloc(w->tile, (size_t)room * sizeof(*more));
        if (!more || room > INT32_MAX)
            return NULL;
        w->tile = more;
        t->room = room;
    }
    if (!*number) {
        w->tile[w->tiles++] = (grove_idg_tile){s->plane, column, row, 0, 0, base};
        *number = (int32_t)(w->tiles - first);
    }
    return &w->tile[first + *number - 1];
}

/* Counts the entries of the tiles of a launch, or, where they begin, lists them. */
static int walk_tiles(tiling *t, int64_t begin, int64_t end, int32_t first, bool lists)
{
    grove_idg_work *w = t->work;
    int32_t column[MOST], row[MOST];

    for (int64_t k = begin; k < end; k++) {
        const grove_idg_subgrid *s = &w->subgrid[k];
        const int columns = find_tiles(t->plan, s->start[0], 0, column),
                  rows = find_tiles(t->plan, s->start[1], 1, row);
        for (int i = 0; i < columns * rows; i++) {
            grove_idg_tile *tile =
                find_tile(t, s, column[i % columns], row[i / columns], first, (int32_t)begin);
            if (!tile)
                return -1;
            if (lists)
                w->list[tile->last] = (int32_t)k;
            tile->last++;
        }
    }
    return 0;
}

/* The tiles that the subgrids of a launch touch, each with its list. */
static int find_launch(tiling *t, int32_t launch)
{
    grove_idg_work *w = t->work;
    const int64_t begin = w->first[launch], end = w->first[launch + 1];
    const int32_t first = (int32_t)w->tiles;
    int64_t entries = w->entries;

    if (walk_tiles(t, begin, end, first, false))
        return -1;
    for (int64_t k = first; k < w->tiles; k++) {
        grove_idg_tile *tile = &w->tile[k];
        const int32_t count = tile->last;
        tile->first = tile->last = (int32_t)entries;
        entries += count;
    }
    int32_t *list =
        entries > INT32_MAX ? NULL : realloc(w->list, (size_t)(entries + 1) * sizeof(*list));
    if (!list)
        return -1;
    w->list = list;
    w->entries = entries;
    walk_tiles(t, begin, end, first, true);
    for (int64_t k = first; k < w->tiles; k++)
        t->number[(w->tile[k].plane * t->rows + w->tile[k].row) * t->across + w->tile[k].column] =
            0;
    w->begin[launch + 1] = (int32_t)w->tiles;
    return 0;
}

static int find_all_tiles(const grove_idg_plan *p, grove_idg_work *w)
{
    tiling t = {.plan = p,
                .work = w,
                .across = plane_side(p, 0) / GROVE_IDG_TILE,
                .rows = plane_side(p, 1) / GROVE_IDG_TILE};
    const int64_t planes =
        p->tile ? grove_idg_device_find_sizes(p).slots : bands_of(p) * p->grid.planes;
    int code = 0;

    t.number = calloc((size_t)(planes * t.across * t.rows), sizeof(*t.number));
    w->begin = calloc((size_t)w->launches + 1, sizeof(*w->begin));
    code = t.number && w->begin ? 0 : -1;
    for (int32_t k = 0; k < w->launches && !code; k++)
        code = find_launch(&t, k);
    free(t.number);
    return code;
}

/* ---- subgrids ---- */

/* Appends the subgrids of a part to the earlier parts' subgrids. */
static int append_part(grove_idg_work *w, const grove_idg_subgrid *subgrid, int64_t count)
{
    grove_idg_subgrid *all = realloc(w->subgrid, (size_t)(w->subgrids + count) * sizeof(*all) + 1);

    if (!all)
        return -1;
    memcpy(all + w->subgrids, subgrid, (size_t)count * sizeof(*all));
    w->subgrid = all;
    w->subgrids += count;
    return 0;
}

/* Planes are numbered through all bands; of w-tiles a subgrid has its band for now. */
static int divide_part(const grove_idg_plan *p, const grove_idg_dividing *what,
                       const grove_idg_part *part, grove_idg_work *w)
{
    grove_gridder_samples samples = *what->samples;
    grove_idg_terms terms = {0};
    grove_gridder_outside outside = {0};
    grove_idg_subgrid *subgrid = NULL;
    int64_t count = 0;

    samples.channels = part->channels;
    samples.freq += part->first;
    if (what->terms) {
        terms = *what->terms;
        terms.channel_block += part->first;
    }
    int code = grove_idg_divide(p, &samples, what->baselines, what->terms ? &terms : NULL, &subgrid,
                                &count, &outside);
    for (int64_t k = 0; k < count; k++) {
        subgrid[k].first += (int32_t)part->first;
        subgrid[k].plane += (int32_t)(part->band * (p->tile ? 1 : p->grid.planes));
    }
    if (!code && count)
        code = append_part(w, subgrid, count);
    free(subgrid);
    return code;
}

/* The next launch begins with subgrid k. */
static void begin_launch(grove_idg_work *w, int64_t k)
{
    if (!w->launches || w->first[w->launches - 1] < k)
        w->first[w->launches++] = (int32_t)k;
}

/* `each` subgrids in each launch. */
static int cut_evenly(grove_idg_work *w, int64_t each)
{
    w->first = malloc((size_t)(w->subgrids / each + 3) * sizeof(*w->first));
    for (int64_t k = 0; k < w->subgrids && w->first; k += each)
        begin_launch(w, k);
    if (w->first)
        w->first[w->launches] = (int32_t)w->subgrids;
    return w->first ? 0 : -1;
}

/* Which slots, and 1, the w-tiles of a band have; of no band (-1) none has one. */
static void note_slots(const grove_idg_slots *s, int64_t tiles, int64_t band, int32_t *slot)
{
    for (int32_t k = 0; k < s->used; k++)
        slot[s->tile[k] % tiles] = 0;
    for (int32_t k = 0; k < s->used; k++)
        if (s->tile[k] / tiles == band)
            slot[s->tile[k] % tiles] = k + 1;
}

/* Slots become free when all are taken. -1 without memory. */
static int free_slots(grove_idg_work *w, int64_t tiles, int32_t *slot, int32_t slots)
{
    grove_idg_slots *flush = &w->flush[w->launches - 1];

    flush->tile = malloc((size_t)slots * sizeof(*flush->tile));
    if (!flush->tile)
        return -1;
    flush->used = w->slots.used;
    memcpy(flush->tile, w->slots.tile, (size_t)slots * sizeof(*flush->tile));
    note_slots(&w->slots, tiles, -1, slot);
    w->slots.used = 0;
    return 0;
}

/* The same, and each in the slot that has its w-tile; bands come one after the other. */
static int cut_by_slots(const grove_idg_plan *p, const grove_idg_slots *before, int64_t each,
                        grove_idg_work *w)
{
    const int32_t slots = grove_idg_device_find_sizes(p).slots;
    const int64_t tiles = grove_idg_device_tiles(p);
    int64_t band = -1;
    int32_t *slot = calloc((size_t)tiles, sizeof(*slot));
    int code = 0;

    w->first = malloc((size_t)(w->subgrids + 2) * sizeof(*w->first));
    w->flush = calloc((size_t)w->subgrids + 2, sizeof(*w->flush));
    w->slots.tile = calloc((size_t)slots, sizeof(*w->slots.tile));
    code = slot && w->first && w->flush && w->slots.tile ? 0 : -1;
    for (int32_t k = 0; k < before->used && !code; k++)
        w->slots.tile[w->slots.used++] = before->tile[k];
    for (int64_t k = 0; k < w->subgrids && !code; k++) {
        grove_idg_subgrid *s = &w->subgrid[k];
        const int64_t tile = grove_idg_tile_of(p, s, s->start);
        if (s->plane != band)
            note_slots(&w->slots, tiles, band = s->plane, slot);
        const bool full = !slot[tile] && w->slots.used == slots;
        if (full || !w->launches || k - w->first[w->launches - 1] == each)
            begin_launch(w, k);
        if (full)
            code = free_slots(w, tiles, slot, slots);
        if (!code && !slot[tile]) {
            w->slots.tile[w->slots.used++] = band * tiles + tile;
            slot[tile] = w->slots.used;
        }
        s->plane = slot[tile] - 1;
    }
    if (!code)
        w->first[w->launches] = (int32_t)w->subgrids;
    free(slot);
    return code;
}

int grove_idg_device_divide(const grove_idg_plan *p, const grove_idg_dividing *what,
                            grove_idg_work *w)
{
    static const double speed_of_light = 299792458.0;
    const grove_gridder_samples *samples = what->samples;
    const int64_t channels = samples->channels, each = grove_idg_device_find_sizes(p).subgrids;
    int code = 0;

    *w = (grove_idg_work){0};
    w->wavenumber = malloc((size_t)(2 * channels) * sizeof(double) + 1);
    if (!w->wavenumber || samples->rows > INT32_MAX || channels > INT32_MAX ||
        plane_side(p, 0) % GROVE_IDG_TILE || plane_side(p, 1) % GROVE_IDG_TILE)
        return -1;
    for (int k = 0; k < what->count && !code; k++)
        code = divide_part(p, what, &what->parts[k], w);
    if (code || w->subgrids > INT32_MAX)
        return -1;
    for (int64_t k = 0; k < channels; k++) {
        w->wavenumber[k] = samples->freq[k] / speed_of_light;
        w->wavenumber[channels + k] = samples->freq[k];
    }
    w->even = grove_idg_are_even(w->wavenumber, channels);
    code = p->tile ? cut_by_slots(p, what->slots, each, w) : cut_evenly(w, each);
    return !code && what->adds ? find_all_tiles(p, w) : code;
}

void grove_idg_work_free(grove_idg_work *w)
{
    free(w->subgrid);
    free(w->tile);
    free(w->list);
    free(w->begin);
    free(w->first);
    for (int32_t k = 0; k < w->launches && w->flush; k++)
        free(w->flush[k].tile);
    free(w->flush);
    free(w->slots.tile);
    free(w->wavenumber);
    *w = (grove_idg_work){0};
}

void grove_idg_work_count(const grove_idg_work *w, grove_idg_counts *counts)
{
    for (int64_t k = 0; k < w->subgrids; k++)
        counts->visibilities += (int64_t)w->subgrid[k].times * w->subgrid[k].channels;
    counts->subgrids += w->subgrids;
}
