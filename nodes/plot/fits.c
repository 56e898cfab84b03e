/* How fits went: chi-squared and iterations of their domains. */
#include "nodes/plot/picture.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bands with a colour and a label of their own. */
enum { FEW = 8 };

/* Along time, or along frequency where a fit has one domain in time. */
static int long_axis(const grove_cube *cube)
{
    return grove_cube_size(cube, GROVE_CUBE_TIME) == 1 && grove_cube_size(cube, GROVE_CUBE_FREQ) > 1
               ? GROVE_CUBE_FREQ
               : GROVE_CUBE_TIME;
}

static double place(const grove_cube *cube, int axis, int64_t k)
{
    return grove_cube_place(cube, axis, k) * (axis == GROVE_CUBE_FREQ ? 1e-6 : 1);
}

static int draw(const grove_solutions *s, const grove_cube *cube, const char *title,
                grove_chart *chart, const char *to)
{
    static const char *const labels[] = {"time (UTC)", "frequency (MHz)"};
    int axis = long_axis(cube);
    char *note = grove_solutions_note(s);
    grove_figure figure = {.charts = chart, .count = 1};

    chart->title = title;
    chart->subtitle = note;
    chart->x = grove_picture_axis(cube, axis);
    chart->x.label = cube->axis[axis] < 0 ? "one domain" : labels[axis];
    if (cube->axis[axis] < 0)
        chart->x.kind = GROVE_SCALE_NAMES;
    int code = grove_figure_draw(&figure, to, s->error);
    free(note);
    return code;
}

static int read(const grove_solutions *s, const char *dataset, grove_cube *cube)
{
    int code = grove_solutions_read(s, dataset, cube);

    if (!code && (cube->axis[GROVE_CUBE_STATION] >= 0 || cube->axis[GROVE_CUBE_DIRECTION] >= 0 ||
                  cube->grid->column->elements != 1))
        code = grove_fail(s->error, GROVE_INVALID, "%s: %s/%s has other axes than time and freq",
                          s->path, s->where, dataset);
    return code;
}

/* ---- chi-squared ---- */

/* The cubes, and the degrees of freedom if the table has them. */
static int read_chi2(const grove_solutions *s, grove_cube *chi2, grove_cube *freedom)
{
    int code = read(s, "chi2", chi2);

    if (!code && grove_solutions_has(s, "degrees_of_freedom"))
        code = read(s, "degrees_of_freedom", freedom);
    for (int a = 0; a < 2 && !code && freedom->grid; a++)
        if (grove_cube_size(freedom, a) != grove_cube_size(chi2, a))
            code = grove_fail(s->error, GROVE_INVALID,
                              "%s: %s: degrees_of_freedom has another shape than chi2", s->path,
                              s->where);
    return code;
}

/* Per degree of freedom, where those are known. */
static double reduced(const grove_cube *chi2, const grove_cube *freedom, const int64_t *index)
{
    double number = grove_cube_at(chi2, index, 0);
    double divisor = freedom->grid ? grove_cube_at(freedom, index, 0) : 1;

    return divisor > 0 ? number / divisor : NAN;
}

/* A series for each band: few have the palette's colours, many go from blue to red. */
static void make_band(const grove_cube *cube, const grove_cube *freedom, int64_t bands,
                      int64_t band, double *x, double *y, char **label, grove_series *series)
{
    int axis = long_axis(cube);
    int64_t count = grove_cube_size(cube, axis);
    double share = bands > 1 ? (double)band / (double)(bands - 1) : 0;

    for (int64_t k = 0; k < count; k++) {
        int64_t index[GROVE_CUBE_AXES] = {0};
        index[axis] = k;
        if (axis == GROVE_CUBE_TIME)
            index[GROVE_CUBE_FREQ] = band;
        x[k] = place(cube, axis, k);
        y[k] = reduced(cube, freedom, index);
    }
    if (bands > 1 && (bands <= FEW || band == 0 || band == bands - 1))
        *label = grove_format("%.5g MHz", 1e-6 * grove_cube_place(cube, GROVE_CUBE_FREQ, band));
    *series = (grove_series){
        .kind = GROVE_SERIES_CURVE, .x = x, .y = y, .count = (size_t)count, .label = *label};
    if (bands <= FEW)
        return;
    series->kind = GROVE_SERIES_POINTS;
    series->size = 3;
    series->colour = (unsigned)lround(0x30 + 0xa0 * share) << 16 | 0x4800u |
                     (unsigned)lround(0xc8 - 0xa0 * share);
}

int grove_picture_chi2(const grove_solutions *s, const grove_picture *picture, const char *to)
{
    grove_cube cube = {0}, freedom = {0};
    int code = read_chi2(s, &cube, &freedom);

    if (code) {
        grove_grid_free(cube.grid);
        grove_grid_free(freedom.grid);
        return code;
    }
    int axis = long_axis(&cube);
    int64_t count = grove_cube_size(&cube, axis);
    int64_t bands = axis == GROVE_CUBE_TIME ? grove_cube_size(&cube, GROVE_CUBE_FREQ) : 1;
    double *x = grove_alloc(sizeof(double) * (size_t)(2 * bands * count)), *y = x + bands * count;
    grove_series *series = grove_alloc(sizeof(grove_series) * (size_t)bands);
    char **label = grove_alloc(sizeof(char *) * (size_t)bands);
    char *title = grove_format("%s: chi-squared", s->name);
    grove_chart chart = {
        .series = series,
        .series_count = (size_t)bands,
        .y.label = freedom.grid ? "chi-squared per degree of freedom" : "chi-squared",
        .y.kind = picture->logarithmic ? GROVE_SCALE_LOGARITHMIC : GROVE_SCALE_LINEAR};

    for (int64_t k = 0; k < bands; k++)
        make_band(&cube, &freedom, bands, k, x + k * count, y + k * count, &label[k], &series[k]);
    code = draw(s, &cube, title, &chart, to);
    for (int64_t k = 0; k < bands; k++)
        free(label[k]);
    free(label);
    free(series);
    free(title);
    free(x);
    grove_grid_free(cube.grid);
    grove_grid_free(freedom.grid);
    return code;
}

/* ---- convergence ---- */

enum { OUTCOMES = 16 };

static int count_words(const char *list)
{
    int count = list && list[0];

    for (const char *at = list; at && (at = strchr(at, ',')); at++)
        count++;
    return count < OUTCOMES ? count : OUTCOMES;
}

/* The number of a domain's outcome; those without a word have the number of words. */
static int outcome_of(const grove_cube *outcome, int words, const int64_t *index)
{
    double number = outcome->grid ? grove_cube_at(outcome, index, 0) : 0;

    return number >= 0 && number < words ? (int)number : words;
}

/* The offset of a domain along the axis: domains of one time are next to each other. */
static double offset(const grove_cube *cube, int64_t time, int64_t freq)
{
    int axis = long_axis(cube);
    int64_t bands = axis == GROVE_CUBE_TIME ? grove_cube_size(cube, GROVE_CUBE_FREQ) : 1;

    return bands > 1 ? 0.7 * grove_cube_width(cube, axis, time) *
                           (((double)freq + 0.5) / (double)bands - 0.5)
                     : 0;
}

/* The domains of one outcome; how many. */
static size_t take_outcome(const grove_cube *iterations, const grove_cube *outcome, int words,
                           int which, double *x, double *y)
{
    int axis = long_axis(iterations);
    size_t n = 0;

    for (int64_t t = 0; t < grove_cube_size(iterations, GROVE_CUBE_TIME); t++)
        for (int64_t f = 0; f < grove_cube_size(iterations, GROVE_CUBE_FREQ); f++) {
            int64_t index[GROVE_CUBE_AXES] = {t, f};
            if (outcome_of(outcome, words, index) != which)
                continue;
            x[n] =
                place(iterations, axis, axis == GROVE_CUBE_TIME ? t : f) + offset(iterations, t, f);
            y[n++] = grove_cube_at(iterations, index, 0);
        }
    return n;
}

static int draw_outcomes(const grove_solutions *s, const grove_cube *iterations,
                         const grove_cube *outcome, const char *to)
{
    /* of other outcomes than success, which is green */
    static const unsigned colours[] = {0xd55e00, 0x0072b2, 0xcc79a7, 0xe69f00, 0x56b4e9};
    size_t count = (size_t)(grove_cube_size(iterations, GROVE_CUBE_TIME) *
                            grove_cube_size(iterations, GROVE_CUBE_FREQ));
    grove_series series[OUTCOMES + 1] = {{0}};
    char *labels[OUTCOMES + 1] = {0};
    double *x = grove_alloc(2 * count * sizeof(double)), *y = x + count, most = 0;
    int words = outcome->grid ? count_words(s->table->outcomes) : 0;
    char *title = grove_format("%s: iterations of each domain", s->name);
    grove_chart chart = {.series = series, .y.label = "iterations"};

    for (size_t k = 0, from = 0; k <= (size_t)words; k++) {
        size_t n = take_outcome(iterations, outcome, words, (int)k, x + from, y + from);
        for (size_t i = from; i < from + n; i++)
            most = fmax(most, y[i]);
        if (!n)
            continue;
        char *word = grove_solution_outcome(s->table, (int)k);
        bool good = !outcome->grid || grove_equal(word, "converged");
        if (outcome->grid)
            labels[k] = grove_format("%s (%zu)", word ? word : "other", n);
        series[chart.series_count++] = (grove_series){.x = x + from,
                                                      .y = y + from,
                                                      .count = n,
                                                      .label = labels[k],
                                                      .colour = good   ? 0x009e73
                                                                : word ? colours[k % 5]
                                                                       : 0x222222,
                                                      .size = count < 200    ? 6
                                                              : count < 2000 ? 4.5
                                                                             : 3};
        from += n;
        free(word);
    }
    chart.y.high = most + fmax(1, 0.05 * most);
    int code = draw(s, iterations, title, &chart, to);
    for (int k = 0; k <= words; k++)
        free(labels[k]);
    free(title);
    free(x);
    return code;
}

int grove_picture_convergence(const grove_solutions *s, const char *to)
{
    grove_cube iterations = {0}, outcome = {0};
    int code = read(s, "iterations", &iterations);

    if (!code && grove_solutions_has(s, "outcome"))
        code = read(s, "outcome", &outcome);
    for (int a = 0; a < 2 && !code && outcome.grid; a++)
        if (grove_cube_size(&outcome, a) != grove_cube_size(&iterations, a))
            code =
                grove_fail(s->error, GROVE_INVALID,
                           "%s: %s: outcome has another shape than iterations", s->path, s->where);
    if (!code)
        code = draw_outcomes(s, &iterations, &outcome, to);
    grove_grid_free(iterations.grid);
    grove_grid_free(outcome.grid);
    return code;
}
