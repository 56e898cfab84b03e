#include "nodes/imaging/image_terms.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { L, M, STATION, TIME, FREQ, AXES, TAPS = 6 };

const char *const image_terms_axes[AXES] = {"l", "m", "station", "time", "freq"};

/* ---- check ---- */

static const grove_axis *axis_of(const grove_node *node, int input, int k)
{
    return grove_node_input_axis(node, input, grove_axis_kind(image_terms_axes[k]));
}

static int check_axes(const grove_node *node, const image_terms *t)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_axis *axes[GROVE_MAX_AXES];
    const int count = grove_node_input_axes(node, t->input, axes);

    for (int d = 0; d < count; d++) {
        bool good = axes[d] == t->raster[0] || axes[d] == t->raster[1];
        for (int k = STATION; k < AXES; k++)
            good = good || (!strcmp(axes[d]->name, image_terms_axes[k]) &&
                            grove_node_axis(obs, image_terms_axes[k]) == axes[d]);
        if (!good)
            return grove_node_fail_option(
                node, "jones",
                "varies with %s; it must vary with directions l and m, as of sky_grid, and may "
                "vary with times, stations and channels of %s: give it as E, without p or q",
                axes[d]->name, grove_node_name(obs));
    }
    return 0;
}

static int check_cover(const grove_node *node, const image_terms *t,
                       const grove_gridder_image *image)
{
    for (int d = 0; d < 2; d++) {
        const grove_axis *raster = t->raster[d];
        const double half = 0.5 * image->cell[d],
                     low = image->centre[d] - (double)(image->size[d] / 2) * image->cell[d],
                     high = low + (double)(image->size[d] - 1) * image->cell[d];
        if (raster && (raster->centre[0] > low + half ||
                       raster->centre[raster->size - 1] < high - half || raster->size < 2))
            return grove_node_fail_option(
                node, "jones",
                "it does not cover the image: along %s its pixels reach from %.6g to %.6g, the "
                "pixels of the image from %.6g to %.6g; use a sky_grid with a larger size or cell "
                "and the same centre",
                image_terms_axes[d], raster->centre[0], raster->centre[raster->size - 1], low,
                high);
    }
    return 0;
}

static int read_block(const grove_node *node, const char *option, const grove_axis *axis,
                      int64_t *cells)
{
    const int64_t given = grove_node_integer(node, option);

    *cells = axis ? given : 0;
    return given >= 1
               ? 0
               : grove_node_fail_option(node, option, "%lld is not at least 1", (long long)given);
}

int image_terms_check(const grove_node *node, const grove_gridder_image *image, image_terms *t)
{
    const int input = grove_node_input(node, "jones");
    const grove_form *form = grove_node_input_form(node, input);
    const grove_axis *station = form ? axis_of(node, input, STATION) : NULL;

    *t = (image_terms){.input = form ? input : -1,
                       .elements = form ? form->shape : 0,
                       .stations = station ? station->size : 1,
                       .baseline = grove_node_axis(grove_node_object(node, "obs"), "baseline")};
    if (!form)
        return 0;
    for (int d = 0; d < 2; d++)
        t->raster[d] = axis_of(node, input, d);
    int code = check_axes(node, t);
    code = code ? code : check_cover(node, t, image);
    code = code ? code : read_block(node, "times", axis_of(node, input, TIME), &t->times);
    return code ? code : read_block(node, "channels", axis_of(node, input, FREQ), &t->channels);
}

/* ---- blocks ---- */

/* The number of the block that a cell is in, less the first cell's. */
static int64_t block_of(int64_t cells, int64_t first, int64_t k)
{
    return cells ? (first + k) / cells - first / cells : 0;
}

/* The middle one of the cells of a block that are there. */
static int64_t middle_of(int64_t cells, int64_t first, int64_t count, int64_t block)
{
    const int64_t begin = (first / cells + block) * cells - first, end = begin + cells,
                  low = begin > 0 ? begin : 0, high = end < count ? end : count;

    return (low + high) / 2;
}

static int64_t blocks_of(int64_t cells, int64_t first, int64_t count)
{
    return count > 0 ? block_of(cells, first, count - 1) + 1 : 1;
}

/* Whether a band begins with a channel. */
static bool begins_band(const image_bands *bands, int64_t channel)
{
    const int64_t band = (channel * bands->count + bands->freq->size - 1) / bands->freq->size;

    return image_bands_first(bands, (int)band) == channel;
}

/* Numbers the blocks of channels; how many there are. */
static int64_t number_channels(const image_terms *t, const image_terms_part *part, int32_t *block)
{
    int32_t now = 0;

    for (int64_t k = 0; k < part->channels; k++) {
        const bool begins =
            block_of(t->channels, part->first_channel, k) !=
                block_of(t->channels, part->first_channel, k - 1) ||
            (t->channels && part->bands && begins_band(part->bands, part->first_channel + k));
        now += k > 0 && begins;
        block[k] = now;
    }
    return now + 1;
}

/* Bytes of `blocks` blocks of times and channels. */
static uint64_t bytes_of(const image_terms *t, const grove_idg_plan *plan, int64_t blocks)
{
    return (uint64_t)(blocks * t->stations * t->elements * plan->side * 2 * grove_idg_line(plan)) *
           (plan->grid.bounds.double_precision ? sizeof(double) : sizeof(float));
}

uint64_t image_terms_bytes(const image_terms *t, const grove_idg_plan *plan, int64_t times,
                           int64_t channels, int64_t bands)
{
    const int64_t most = t->channels ? channels / t->channels + 1 + bands : 1;

    return t->input < 0 ? 0
                        : bytes_of(t, plan,
                                   (t->times ? times / t->times + 2 : 1) *
                                       (most < channels ? most : channels));
}

/* ---- numbers ---- */

image_terms_numbers image_terms_of_array(const grove_array *a, const image_terms_part *part)
{
    const int64_t first[AXES] = {[TIME] = part->first_time, [FREQ] = part->first_channel};
    const bool double_precision = a->form->precision == GROVE_PRECISION_DOUBLE;
    image_terms_numbers n = {
        .at = a->data, .flags = a->flags, .double_precision = double_precision};
    int64_t cells = 1, at = 0;

    for (int d = a->axes - 1; d >= 0; d--) {
        for (int k = 0; k < AXES; k++)
            if (!strcmp(a->range[d].axis->name, image_terms_axes[k])) {
                n.step[k] = cells * a->elements * (double_precision ? 16 : 8);
                n.flag_step[k] = cells;
                at += (first[k] - a->range[d].first) * cells;
            }
        cells *= a->range[d].count;
    }
    n.at += at * a->elements * (double_precision ? 16 : 8);
    n.flags = n.flags ? n.flags + at : NULL;
    return n;
}

image_terms_numbers image_terms_of_view(const grove_args *args, int input, bool double_precision)
{
    image_terms_numbers n = {.at = args->in[input].data, .double_precision = double_precision};

    for (int k = 0; k < AXES; k++)
        for (int d = args->axes - 1; d >= 0 && !n.step[k]; d--)
            if (args->axis[d] == grove_axis_kind(image_terms_axes[k]))
                n.step[k] = args->in[input].stride[d];
    return n;
}

/* ---- pixels ---- */

/* Adds to a pixel's factor of a direction; taps are in the order of directions. */
static void add_tap(grove_idg_taps *taps, int64_t at, double factor)
{
    int k = taps->count;

    while (k > 0 && taps->at[k - 1] > at)
        k--;
    if (k > 0 && taps->at[k - 1] == at) {
        taps->factor[k - 1] += factor;
        return;
    }
    for (int i = taps->count++; i > k; i--) {
        taps->at[i] = taps->at[i - 1];
        taps->factor[i] = taps->factor[i - 1];
    }
    taps->at[k] = (int32_t)at;
    taps->factor[k] = factor;
}

/* How much a pixel of a subgrid has of each direction of the raster: polynomials through TAPS of
 * them; beyond its edge, 2 f(edge) - f(as far within). */
static void add_taps(const grove_axis *raster, double at, double factor, grove_idg_taps *taps)
{
    const int64_t count = raster->size, used = count < TAPS ? count : TAPS;
    const double step = (raster->centre[count - 1] - raster->centre[0]) / (double)(count - 1),
                 place = (at - raster->centre[0]) / step;
    int64_t first = (int64_t)floor(place) - used / 2 + 1;

    first = first < 0 ? 0 : first > count - used ? count - used : first;
    for (int64_t i = 0; i < used; i++) {
        double product = factor;
        for (int64_t k = 0; k < used; k++)
            product *= k == i ? 1 : (place - (double)(first + k)) / (double)(i - k);
        if (product != 0)
            add_tap(taps, first + i, product);
    }
}

_Static_assert((int)GROVE_IDG_TAPS == 2 * (int)TAPS, "taps have room for those of two directions");

static void find_taps(const grove_axis *raster, double at, grove_idg_taps *taps)
{
    const double low = raster->centre[0], high = raster->centre[raster->size - 1],
                 edge = at < low ? low : high, within = fmin(fmax(2 * edge - at, low), high);

    if (at >= low && at <= high) {
        add_taps(raster, at, 1, taps);
        return;
    }
    add_taps(raster, edge, 2, taps);
    add_taps(raster, within, -1, taps);
}

void image_terms_taps(const image_terms *t, const grove_idg_plan *plan, grove_idg_taps *taps)
{
    for (int d = 0; d < 2; d++)
        for (int j = 0; j < plan->side; j++) {
            grove_idg_taps *at = &taps[d * plan->side + j];
            *at = (grove_idg_taps){0};
            if (t->raster[d])
                find_taps(t->raster[d], grove_idg_direction(plan, d, j), at);
            else
                add_tap(at, 0, 1);
        }
}

typedef struct {
    const image_terms *t;
    const grove_idg_plan *plan;
    const image_terms_numbers *from;
    int64_t size[2];      /* of the raster */
    grove_idg_taps *taps; /* [l, m][pixel] */
    double *rows;         /* [direction of m][pixel][2] */
    double *line;         /* [direction of l][2] */
    void *numbers;
} sampling;

static double number_at(const sampling *s, const char *at, int part)
{
    return s->from->double_precision ? ((const double *)(const void *)at)[part]
                                     : (double)((const float *)(const void *)at)[part];
}

/* Directions of one m, to s->line; false: there are numbers that are not finite, or flagged. */
static bool read_line(const sampling *s, int64_t at, int64_t flag_at)
{
    const image_terms_numbers *f = s->from;
    bool good = true;

    for (int64_t x = 0; x < s->size[0]; x++)
        for (int c = 0; c < 2; c++) {
            const double number = number_at(s, f->at + at + x * f->step[L], c);
            good = good && isfinite(number);
            s->line[2 * x + c] = number;
        }
    for (int64_t x = 0; x < s->size[0] && f->flags; x++)
        good = good && !f->flags[flag_at + x * f->flag_step[L]];
    return good;
}

/* Along l, all directions of m of a station. */
static bool sample_rows(const sampling *s, int64_t at, int64_t flag_at)
{
    const image_terms_numbers *f = s->from;
    const int side = s->plan->side;
    bool good = true;

    for (int64_t y = 0; y < s->size[1] && good; y++) {
        good = read_line(s, at + y * f->step[M], flag_at + y * f->flag_step[M]);
        for (int j = 0; j < side; j++) {
            const grove_idg_taps *taps = &s->taps[j];
            double sum[2] = {0, 0};
            for (int k = 0; k < taps->count; k++)
                for (int c = 0; c < 2; c++)
                    sum[c] += taps->factor[k] * s->line[2 * taps->at[k] + c];
            memcpy(s->rows + 2 * (y * side + j), sum, sizeof(sum));
        }
    }
    return good;
}

/* The pixels of an element, number `element` of all terms' elements. */
static void sample_pixels(const sampling *s, int64_t element)
{
    const int side = s->plan->side;
    const int64_t line = grove_idg_line(s->plan), first = element * side * 2 * line;

    for (int x = 0; x < side; x++)
        for (int y = 0; y < side; y++) {
            const grove_idg_taps *taps = &s->taps[side + y];
            double sum[2] = {0, 0};
            for (int k = 0; k < taps->count; k++)
                for (int c = 0; c < 2; c++)
                    sum[c] += taps->factor[k] * s->rows[2 * (taps->at[k] * side + x) + c];
            for (int c = 0; c < 2; c++) {
                const int64_t to = first + (2 * x + c) * line + y;
                if (s->plan->grid.bounds.double_precision)
                    ((double *)s->numbers)[to] = sum[c];
                else
                    ((float *)s->numbers)[to] = (float)sum[c];
            }
        }
}

static int open_sampling(sampling *s)
{
    const size_t side = (size_t)s->plan->side;

    for (int d = 0; d < 2; d++)
        s->size[d] = s->t->raster[d] ? s->t->raster[d]->size : 1;
    s->taps = malloc(2 * side * sizeof(*s->taps));
    s->rows = malloc((size_t)s->size[1] * side * 2 * sizeof(double));
    s->line = malloc((size_t)(2 * s->size[0]) * sizeof(double));
    if (!s->taps || !s->rows || !s->line)
        return GROVE_NO_MEMORY;
    image_terms_taps(s->t, s->plan, s->taps);
    return 0;
}

/* Terms of all stations at a time and channel. */
static int sample_stations(const grove_call *call, const sampling *s, int64_t time, int64_t freq,
                           int64_t first, int64_t apart)
{
    const image_terms *t = s->t;
    const int64_t number = s->from->double_precision ? 16 : 8;

    for (int64_t k = 0; k < t->stations; k++) {
        const int64_t at = time * s->from->step[TIME] + freq * s->from->step[FREQ] +
                           k * s->from->step[STATION],
                      flag_at = time * s->from->flag_step[TIME] + freq * s->from->flag_step[FREQ] +
                                k * s->from->flag_step[STATION];
        for (int e = 0; e < t->elements; e++) {
            if (!sample_rows(s, at + e * number, flag_at))
                return grove_node_fail_option(call->node, "jones",
                                              "the Jones term has numbers that are not finite, or "
                                              "flagged; a beam that covers the image has none");
            sample_pixels(s, (first + k * apart) * t->elements + e);
        }
    }
    return 0;
}

/* ---- terms ---- */

/* The middle cells of blocks. */
static void find_middles(const image_terms *t, const image_terms_part *part, image_terms_made *made)
{
    for (int64_t i = 0; i < made->time_blocks && t->times; i++)
        made->time[i] = middle_of(t->times, part->first_time, part->times, i);
    for (int64_t begin = 0, end; begin < part->channels && t->channels; begin = end) {
        const int32_t block = made->channel_block[begin];
        for (end = begin + 1; end < part->channels && made->channel_block[end] == block;)
            end++;
        made->channel[block] = (begin + end) / 2;
    }
}

/* How many blocks of channels there are; 0: no memory. */
static int64_t make_blocks(const image_terms *t, const image_terms_part *part,
                           image_terms_made *made)
{
    made->time_blocks = blocks_of(t->times, part->first_time, part->times);
    made->time_block = malloc((size_t)part->times * sizeof(*made->time_block) + 1);
    made->channel_block = malloc((size_t)part->channels * sizeof(*made->channel_block) + 1);
    made->left = calloc((size_t)part->baselines, sizeof(*made->left));
    made->right = calloc((size_t)part->baselines, sizeof(*made->right));
    made->time = calloc((size_t)made->time_blocks, sizeof(*made->time));
    made->channel = calloc((size_t)part->channels + 1, sizeof(*made->channel));
    if (!made->time_block || !made->channel_block || !made->left || !made->right || !made->time ||
        !made->channel)
        return 0;
    for (int64_t k = 0; k < part->baselines && t->stations > 1; k++) {
        made->left[k] = (int32_t)t->baseline->left[part->first_baseline + k];
        made->right[k] = (int32_t)t->baseline->right[part->first_baseline + k];
    }
    for (int64_t k = 0; k < part->times; k++)
        made->time_block[k] = (int32_t)block_of(t->times, part->first_time, k);
    const int64_t channels = number_channels(t, part, made->channel_block);
    find_middles(t, part, made);
    return channels;
}

static int no_memory(const grove_call *call)
{
    return grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory for Jones terms");
}

int image_terms_divide(const grove_call *call, const image_terms *t, const grove_idg_plan *plan,
                       const image_terms_part *part, image_terms_made *made)
{
    *made = (image_terms_made){0};
    const int64_t channels = make_blocks(t, part, made);

    made->bytes = bytes_of(t, plan, made->time_blocks * channels);
    made->terms = (grove_idg_terms){.elements = t->elements,
                                    .stations = t->stations,
                                    .channel_blocks = channels,
                                    .time_block = made->time_block,
                                    .channel_block = made->channel_block,
                                    .left = made->left,
                                    .right = made->right};
    return channels ? 0 : no_memory(call);
}

int image_terms_make(const grove_call *call, const image_terms *t, const grove_idg_plan *plan,
                     const image_terms_numbers *from, const image_terms_part *part,
                     image_terms_made *made)
{
    sampling s = {.t = t, .plan = plan, .from = from};
    int code = image_terms_divide(call, t, plan, part, made);

    if (code)
        return code;
    const int64_t channels = made->terms.channel_blocks;
    made->terms.numbers = made->numbers = s.numbers = calloc(1, made->bytes);
    code = s.numbers && !open_sampling(&s) ? 0 : no_memory(call);
    for (int64_t i = 0; i < made->time_blocks; i++)
        for (int64_t k = 0; k < channels && !code; k++)
            code = sample_stations(call, &s, made->time[i], made->channel[k],
                                   i * t->stations * channels + k, channels);
    free(s.taps);
    free(s.rows);
    free(s.line);
    return code;
}

void image_terms_free(image_terms_made *made)
{
    free(made->numbers);
    free(made->time_block);
    free(made->channel_block);
    free(made->left);
    free(made->right);
    free(made->time);
    free(made->channel);
    *made = (image_terms_made){0};
}
