#include "nodes/imaging/image_mueller.h"

#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int transposed[4] = {0, 2, 1, 3}; /* XX YX XY YY */

/* Whether correlation j may have a part of correlation c of the sky. */
static bool joins(const image_mueller *m, int j, int c)
{
    return m->shape == 4 || j == c;
}

/* ---- images and elements ---- */

/* Numbers the elements of Stokes images, or of the correlations that these have; how many. */
static int number_elements(image_mueller *m, const image_stokes *s, bool of_correlations)
{
    int used = 0;

    m->of_correlations = of_correlations;
    m->images = m->elements = 0;
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < s->count; i++)
            if (s->factor[i][c][0] != 0 || s->factor[i][c][1] != 0)
                used |= 1 << c;
    for (int c = 0; c < 4; c++)
        if (of_correlations && used >> c & 1)
            m->correlation[m->images++] = c;
    m->images = of_correlations ? m->images : s->count;
    for (int j = 0; j < 4; j++)
        for (int r = 0; r < m->images; r++) {
            bool some = of_correlations && joins(m, j, m->correlation[r]);
            for (int c = 0; c < 4 && !of_correlations; c++)
                some = some ||
                       (joins(m, j, c) && (s->factor[r][c][0] != 0 || s->factor[r][c][1] != 0));
            m->element[j][r] = some ? m->elements++ : -1;
        }
    return m->elements;
}

static void choose_images(image_mueller *m)
{
    image_stokes s;

    image_stokes_elements(m->stokes, m->circular, &s);
    m->visibilities = 4;
    const int of_stokes = number_elements(m, &s, false), both = number_elements(m, &s, true);
    if (of_stokes <= both)
        number_elements(m, &s, false);
    memset(m->basis, 0, sizeof(m->basis));
    for (int r = 0; r < m->images; r++)
        for (int i = 0; i < s.count; i++)
            if (m->of_correlations)
                memcpy(m->basis[r][i], s.factor[i][m->correlation[r]], sizeof(m->basis[r][i]));
            else
                m->basis[r][i][0] = r == i;
}

void image_mueller_make(image_mueller *m, const grove_node *obs)
{
    const grove_axis *time = grove_node_axis(obs, "time"), *freq = grove_node_axis(obs, "freq"),
                     *station = grove_node_axis(obs, "station");

    m->time_blocks = m->times && time ? (time->size + m->times - 1) / m->times : 1;
    m->channel_blocks = m->channels && freq ? (freq->size + m->channels - 1) / m->channels : 1;
    m->stations = station ? station->size : 0;
    m->visibilities = m->images = m->elements = 1;
    m->element[0][0] = 0;
    m->basis[0][0][0] = 1;
    if (m->shape > 1)
        choose_images(m);
}

void image_mueller_free(image_mueller *m)
{
    free(m->group);
    m->group = NULL;
}

int64_t image_mueller_functions(const image_mueller *m)
{
    return m->time_blocks * m->groups * m->groups * m->channel_blocks * m->elements;
}

/* J_ac of a station: element [a][c]; diagonal or whole. */
static void term(const image_mueller *m, const double (*jones)[2], int a, int c, double to[2])
{
    const double *from = m->shape == 4 ? jones[2 * a + c] : jones[m->shape == 1 ? 0 : a];

    to[0] = m->shape == 4 || a == c ? from[0] : 0;
    to[1] = m->shape == 4 || a == c ? from[1] : 0;
}

/* J_p,ac conj(J_q,bd) for correlation ab of the visibility, cd of the sky. */
static void add_product(const image_mueller *m, int ab, int cd, const double (*p)[2],
                        const double (*q)[2], const double factor[2], double sum[2])
{
    double a[2], b[2];

    term(m, p, ab / 2, cd / 2, a);
    term(m, q, ab % 2, cd % 2, b);
    double re = a[0] * b[0] + a[1] * b[1], im = a[1] * b[0] - a[0] * b[1];
    sum[0] += re * factor[0] - im * factor[1];
    sum[1] += re * factor[1] + im * factor[0];
}

void image_mueller_element(const image_mueller *m, int j, int r, const double (*p)[2],
                           const double (*q)[2], int64_t count, double (*element)[2])
{
    const bool one = m->shape == 1 || m->of_correlations;
    const int correlation = m->shape == 1 ? 0 : m->correlation[r];
    image_stokes s = {.factor = {{{0}}}};

    if (one)
        s.factor[r][correlation][0] = 1;
    else
        image_stokes_elements(m->stokes, m->circular, &s);
    for (int64_t k = 0; k < count; k++, p += m->shape, q += m->shape) {
        element[k][0] = element[k][1] = 0;
        for (int c = one ? correlation : 0; c < (one ? correlation + 1 : 4); c++)
            if (joins(m, j, c))
                add_product(m, j, c, p, q, s.factor[r][c], element[k]);
    }
}

/* ---- labels ---- */

char *image_mueller_label(const image_mueller *m)
{
    char *groups = grove_strdup("");

    for (int64_t k = 0; m->group && k < m->stations; k++) {
        char *longer = grove_format("%s%s%d", groups, k ? "," : "", (int)m->group[k]);
        free(groups);
        groups = longer;
    }
    char *label =
        grove_format("shape=%d stokes=%s circular=%d times=%lld channels=%lld groups=%s", m->shape,
                     m->shape > 1 ? m->stokes : "-", m->circular, (long long)m->times,
                     (long long)m->channels, m->group ? groups : "-");
    free(groups);
    return label;
}

static bool read_groups(const char *text, image_mueller *m)
{
    int64_t count = 0;

    m->groups = 1;
    if (!strcmp(text, "-"))
        return true;
    m->group = grove_alloc(((size_t)m->stations + 1) * sizeof(*m->group));
    for (const char *at = text; at && count < m->stations; count++) {
        char *end;
        m->group[count] = (int32_t)strtol(at, &end, 10);
        if (end == at || m->group[count] < 0 || m->group[count] >= m->stations)
            return false;
        m->groups = m->group[count] >= m->groups ? m->group[count] + 1 : m->groups;
        at = *end == ',' ? end + 1 : NULL;
    }
    return count == m->stations;
}

bool image_mueller_read(const char *label, const grove_node *obs, image_mueller *m)
{
    const grove_axis *station = grove_node_axis(obs, "station");
    int shape, circular, at = 0;
    long long times, channels;
    char stokes[5];

    *m = (image_mueller){.stations = station ? station->size : 0};
    if (sscanf(label, "shape=%d stokes=%4s circular=%d times=%lld channels=%lld groups=%n", &shape,
               stokes, &circular, &times, &channels, &at) != 5 ||
        !at || times < 0 || channels < 0 || (shape != 1 && shape != 2 && shape != 4) ||
        !read_groups(label + at, m))
        return false;
    m->shape = shape;
    m->circular = circular != 0;
    m->times = times;
    m->channels = channels;
    memcpy(m->stokes, stokes, sizeof(stokes));
    if (shape > 1 && strspn(stokes, "IQUV") != strlen(stokes))
        return false;
    image_mueller_make(m, obs);
    return true;
}

/* ---- index sets ---- */

static int64_t function_of(const image_mueller *m, int64_t time, int64_t p, int64_t q,
                           int64_t channel, int element)
{
    return element < 0 ? -1
                       : (((time * m->groups + p) * m->groups + q) * m->channel_blocks + channel) *
                                 m->elements +
                             element;
}

/* Samples with w < 0 are taken as samples of q and p, correlations transposed. */
int32_t *image_mueller_index(const image_mueller *m, int elements)
{
    const int64_t sets = m->time_blocks * m->groups * m->groups * m->channel_blocks;

    if (m->given || (m->shape == 1 && image_mueller_functions(m) == 1))
        return NULL;
    int32_t *index = grove_alloc((size_t)(sets * 2 * elements * m->images) * sizeof(*index)),
            *to = index;

    for (int64_t set = 0; set < sets; set++) {
        const int64_t f = set % m->channel_blocks, pair = set / m->channel_blocks,
                      q = pair % m->groups, p = pair / m->groups % m->groups,
                      t = pair / m->groups / m->groups;
        for (int way = 0; way < 2; way++)
            for (int k = 0; k < elements; k++) {
                const int j = m->visibilities == 1 ? 0 : elements == 2 ? 3 * k : k;
                for (int r = 0; r < m->images; r++)
                    *to++ = (int32_t)(way ? function_of(m, t, q, p, f, m->element[transposed[j]][r])
                                          : function_of(m, t, p, q, f, m->element[j][r]));
            }
    }
    return index;
}

static int32_t set_of(const image_mueller *m, int64_t time, int32_t p, int32_t q)
{
    const int64_t t = m->times ? time / m->times : 0, a = m->group ? m->group[p] : 0,
                  b = m->group ? m->group[q] : 0;

    return (int32_t)(((t * m->groups + a) * m->groups + b) * m->channel_blocks);
}

bool image_mueller_begin(const image_mueller *m, const grove_node *obs, const int32_t *index,
                         const image_mueller_part *part, grove_convolution_mueller *use)
{
    const grove_axis *baseline = grove_node_axis(obs, "baseline");
    const int64_t rows = part->times * part->baselines;
    int32_t *row = malloc((size_t)rows * sizeof(*row) + 1),
            *channel = malloc((size_t)part->channels * sizeof(*channel) + 1);

    *use = (grove_convolution_mueller){.index = index, .row = row, .channel = channel};
    if (!row || !channel) {
        image_mueller_end(use);
        return false;
    }
    for (int64_t i = 0; i < rows; i++) {
        const int64_t b = part->first_baseline + i % part->baselines;
        row[i] = set_of(m, part->first_time + i / part->baselines, m->group ? baseline->left[b] : 0,
                        m->group ? baseline->right[b] : 0);
    }
    for (int64_t k = 0; k < part->channels; k++)
        channel[k] = m->channels ? (int32_t)((part->first_channel + k) / m->channels) : 0;
    return true;
}

void image_mueller_end(grove_convolution_mueller *use)
{
    free((void *)(uintptr_t)use->row);
    free((void *)(uintptr_t)use->channel);
    use->row = use->channel = NULL;
}

/* ---- grids ---- */

int image_mueller_parameters(const image_mueller *m)
{
    return m->given ? m->images : m->shape > 1 ? (int)strlen(m->stokes) : 1;
}

/* to += factor x from, with steps in numbers */
static void add_numbers(const void *from, int64_t from_step, void *to, int64_t to_step,
                        int64_t count, const double factor[2], bool double_precision)
{
    if (factor[0] == 0 && factor[1] == 0)
        return;
    if (double_precision)
        for (int64_t k = 0; k < count; k++) {
            const double *a = (const double *)from + 2 * k * from_step;
            double *b = (double *)to + 2 * k * to_step;
            b[0] += factor[0] * a[0] - factor[1] * a[1];
            b[1] += factor[0] * a[1] + factor[1] * a[0];
        }
    else
        for (int64_t k = 0; k < count; k++) {
            const float *a = (const float *)from + 2 * k * from_step;
            float *b = (float *)to + 2 * k * to_step;
            b[0] += (float)(factor[0] * a[0] - factor[1] * a[1]);
            b[1] += (float)(factor[0] * a[1] + factor[1] * a[0]);
        }
}

void image_mueller_to_stokes(const image_mueller *m, const void *from, void *to, int64_t count,
                             bool double_precision)
{
    const size_t cell = double_precision ? 16 : 8;
    const double half = m->shape > 1 ? 0.5 : 1;
    const int parameters = image_mueller_parameters(m);

    memset(to, 0, (size_t)(parameters * count) * cell);
    for (int s = 0; s < parameters; s++)
        for (int r = 0; r < m->images; r++) {
            const double factor[2] = {half * m->basis[r][s][0], -half * m->basis[r][s][1]};
            add_numbers((const char *)from + (size_t)(r * count) * cell, 1,
                        (char *)to + (size_t)s * cell, parameters, count, factor, double_precision);
        }
}

void image_mueller_from_stokes(const image_mueller *m, const void *from, void *to, int64_t count,
                               bool double_precision)
{
    const size_t cell = double_precision ? 16 : 8;
    const int parameters = image_mueller_parameters(m);

    memset(to, 0, (size_t)(m->images * count) * cell);
    for (int r = 0; r < m->images; r++)
        for (int s = 0; s < parameters; s++)
            add_numbers((const char *)from + (size_t)s * cell, parameters,
                        (char *)to + (size_t)(r * count) * cell, 1, count, m->basis[r][s],
                        double_precision);
}
