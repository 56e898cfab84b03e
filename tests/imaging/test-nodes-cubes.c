/* Images of bands: each plane of a cube against the direct Fourier sum over its channels. */
#include "image-testing.h"
#include "tests/common/grid.h"
#include "tests/common/probe.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 24 };

TESTING_FIXTURE(grid_begin(&t), probe_begin(&t), plane_begin(&t))

static void tree(const char *format, int bands)
{
    testing_tree(&t, suite_text("%sx = dirty_image(V, obs, size=24, cell=3e-5rad, epsilon=1e-9, "
                                "bands=%d%s)\n",
                                PROBE, bands, format));
}

/* Only samples of these channels without flags count. */
static void choose_channels(image_data *d, int first, int end, unsigned elements)
{
    for (int64_t i = 0; i < d->samples; i++) {
        int channel = (int)(i % PROBE_CHANNELS);
        d->weight[i] = channel >= first && channel < end;
        for (int e = 0; e < 4; e++)
            if (elements >> e & 1 && d->flags[4 * i + e])
                d->weight[i] = 0;
    }
}

/* The image of a band, which lies in the cube. */
static testing_value plane_of(const testing_value *cube, int band)
{
    testing_value image = *cube;

    image.axes = 2;
    image.axis[0] = cube->axis[1];
    image.axis[1] = cube->axis[2];
    image.cells = (int64_t)SIZE * SIZE;
    image.at = cube->at + band * image.cells * cube->elements;
    return image;
}

static void check_axis(const grove_axis *axis, const image_data *d, int bands)
{
    ck_assert_str_eq(axis->name, "freq");
    ck_assert_int_eq(axis->size, bands);
    for (int band = 0; band < bands; band++) {
        int first = PROBE_CHANNELS * band / bands, end = PROBE_CHANNELS * (band + 1) / bands;
        double width = creal(d->freq.axis[0]->width[0]);
        ck_assert_double_eq_tol(axis->width[band], (end - first) * width, 1);
        ck_assert_double_eq_tol(axis->centre[band],
                                (creal(d->freq.at[first]) + creal(d->freq.at[end - 1])) / 2, 1);
    }
}

/* Whatever the tiles. */
LOOP_TEST(bands_are_sums_over_their_channels, 0, 16)
{
    static const int bands[] = {1, 2, 3, PROBE_CHANNELS};
    static const int tile_channels[] = {0, 1, 2, 5};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = true, .tile_channels = tile_channels[_i / 4]);
    const int count = bands[_i % 4];

    tree(_i % 4 == 2 ? ", stokes=\"IQUV\"" : "", count);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", &options, NULL);
    ck_assert_int_eq(x.axes, 3);
    check_axis(x.axis[0], &d, count);
    for (int band = 0; band < count; band++) {
        testing_value image = plane_of(&x, band);
        choose_channels(&d, PROBE_CHANNELS * band / count, PROBE_CHANNELS * (band + 1) / count,
                        x.elements > 1 ? 15 : 9);
        for (int64_t i = 0; i < d.samples; i++) /* weights of the set */
            if (d.weight[i] > 0) {
                double sum = 0;
                for (int e = 0; e<4; e += x.elements> 1 ? 1 : 3)
                    sum += 1 / probe_weight(i / PROBE_CHANNELS / PROBE_BASELINES,
                                            i / PROBE_CHANNELS % PROBE_BASELINES,
                                            i % PROBE_CHANNELS, e);
                d.weight[i] = 1 / sum;
            }
        for (int e = 0; e < x.elements; e++) {
            double off = image_data_distance(&d, &image, e, e);
            ck_assert_msg(off < 1e-9, "band %d is off by %g", band, off);
        }
    }
}

/* A band of which nothing is left is flagged, with a warning; others are as they were. */
TEST(a_band_without_visibilities)
{
    unsigned char *flags = NULL;

    tree(", weights=obs.freq / 1MHz - 1402", PROBE_CHANNELS);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, &flags);
    char *said = suite_messages(t.error);
    int empty = 0;
    for (int band = 0; band < PROBE_CHANNELS; band++) {
        bool none = !(creal(d.freq.at[band]) / 1e6 - 1402 > 0);
        testing_value image = plane_of(&x, band);
        empty += none;
        for (int i = 0; i < SIZE * SIZE; i++)
            ck_assert_int_eq(flags[band * SIZE * SIZE + i], none);
        choose_channels(&d, band, band + 1, 9);
        if (!none)
            ck_assert_double_lt(image_data_distance(&d, &image, 0, 0), 1e-9);
    }
    ck_assert(empty > 0 && empty < PROBE_CHANNELS);
    ck_assert_msg(strstr(said, "the band of channels 0 to 0 has no visibilities") != NULL, "%s",
                  said);
}

/* The point-spread functions of bands, and their beams, which shrink with the frequency. */
TEST(beams_of_bands)
{
    grid_now.channels = 2;
    testing_tree(&t, "obs = grid()\n"
                     "p = psf_image(obs, size=64, cell=1e-5rad, bands=2)\n"
                     "x = fit_beam(p)\n");
    testing_value p = probe_session(&t, "p", NULL, NULL), x = probe_session(&t, "x", NULL, NULL);
    const double *freq = p.axis[0]->centre;
    ck_assert_int_eq(x.cells, 2);
    ck_assert_double_gt(freq[1], freq[0]);
    for (int band = 0; band < 2; band++)
        ck_assert_double_eq_tol(creal(p.at[band * 64 * 64 + 32 * 64 + 31]), 1, 1e-3);
    for (int k = 0; k < 2; k++)
        ck_assert_double_eq_tol(creal(x.at[k]) * freq[0] / (creal(x.at[3 + k]) * freq[1]), 1, 1e-2);
}

/* Images and point-spread functions meet, whatever the bands and whatever the set has. */
LOOP_TEST(bands_meet, 0, 6)
{
    static const char *const sets[] = {"probe()", "grid()"};
    static const int bands[] = {1, 2, PROBE_CHANNELS};
    const int count = bands[_i % 3];
    char *text = suite_text("obs = %s\nV = 1Jy * obs.freq / obs.freq + 0 * obs.data\n"
                            "d = dirty_image(V, obs, size=24, cell=1e-5rad, bands=%d)\n"
                            "p = psf_image(obs, size=24, cell=1e-5rad, bands=%d)\n"
                            "x = d - 1Jy * p\n",
                            sets[_i / 3], count, count);

    grid_now.channels = PROBE_CHANNELS;
    if (_i / 3) /* no data */
        memset(strstr(text, " + 0 * obs.data"), ' ', strlen(" + 0 * obs.data"));
    testing_tree(&t, text);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    ck_assert_int_eq(x.cells, count * 24 * 24);
    ck_assert_int_eq(x.axes, 3);
    for (int64_t i = 0; i < x.cells; i++)
        ck_assert_double_eq_tol(creal(x.at[i]), 0, 1e-3);
}

/* Bands of one channel each are not the channels. */
/* A cube predicts each channel from its plane, from the nearest, or from both beside it. */
LOOP_TEST(cubes_are_models, 0, 3)
{
    static const struct {
        int bands;
        const char *interpolate;
    } cases[] = {{2, "nearest"}, {2, "linear"}, {PROBE_CHANNELS, "nearest"}};
    const int bands = cases[_i].bands;
    grove_text text = {0};
    double largest = 0;

    grove_text_add(&text,
                   PROBE "x = dirty_image(V, obs, size=12, cell=3e-5rad, bands=%d)\n"
                         "Y = predict_image(x, obs, interpolate=%s, epsilon=1e-9)\n",
                   bands, cases[_i].interpolate);
    for (int band = 0; band < bands; band++)
        grove_text_add(&text,
                       "Y%d = predict_image(select(x, axis=freq, index=%d), obs, epsilon=1e-9)\n",
                       band, band);
    testing_tree(&t, text.at);
    image_data d = image_data_read(&t, false);
    testing_value y = probe_session(&t, "Y", NULL, NULL), x = probe_session(&t, "x", NULL, NULL),
                  *planes = grove_alloc((size_t)bands * sizeof(*planes));
    const double *centre = x.axis[0]->centre;
    for (int band = 0; band < bands; band++) {
        char name[16];
        snprintf(name, sizeof(name), "Y%d", band);
        planes[band] = probe_session(&t, name, NULL, NULL);
    }
    for (int64_t i = 0; i < 4 * d.samples; i++) {
        int64_t channel = i / 4 % d.channels;
        double freq = creal(d.freq.at[channel]);
        double part = (freq - centre[0]) / (centre[bands - 1] - centre[0]);
        part = fmin(fmax(part, 0), 1);
        part = _i == 1 ? part : part > 0.5;
        double complex truth = bands == 2 ? (1 - part) * planes[0].at[i] + part * planes[1].at[i]
                                          : planes[channel].at[i];
        largest = fmax(largest, cabs(truth));
        ck_assert_double_lt(cabs(y.at[i] - truth), 1e-5 * (largest + 1e-9));
    }
    ck_assert_double_gt(largest, 0);
    free(planes);
    free(text.at);
}

TEST(bands_are_not_channels)
{
    const char *said = testing_faults(
        &t, suite_text("obs = probe()\nd = dirty_image(obs.data, obs, size=8, bands=%d)\n"
                       "x = d * obs.freq\n",
                       PROBE_CHANNELS));

    ck_assert_msg(strstr(said, "they differ: their coordinates are the same, but one belongs to a "
                               "value that was made from all cells of the other") != NULL,
                  "%s", said);
}

/* What is said of bands that a FITS image cannot have holds: the first one by itself is written. */
LOOP_TEST(bands_unevenly_spaced, 0, 2)
{
    static const char *const advice[] = {
        "its axis freq is not evenly spaced, as a FITS image requires; bands with equal numbers of "
        "channels would be",
        "its axis freq is not evenly spaced, as a FITS image requires, nor are the channels; write "
        "one image for each, such as select(x, axis=freq, index=0)"};
    const char *lines = "obs = grid()\nx = dirty_image(noise(obs, sigma=1Jy), obs, size=24, "
                        "cell=1e-5rad, bands=3)\n";
    char *cube = suite_text("%simage(x, to=\"x.fits\")\n", lines);
    char *one = suite_text("%simage(select(x, axis=freq, index=0), to=\"x.fits\")\n", lines);

    grid_now.channels = _i ? 3 : 5;
    grid_now.freq[2] += _i * 1e6;
    const char *said = testing_faults(&t, cube);
    ck_assert_msg(strstr(said, advice[_i]) != NULL, "%s", said);
    testing_tree(&t, one);
}

LOOP_TEST(wrong_bands, 0, 3)
{
    static const char *const bands[] = {"0", "-1", "8"};
    const char *said = testing_faults(
        &t,
        suite_text("obs = probe()\nx = dirty_image(obs.data, obs, size=8, bands=%s)\n", bands[_i]));
    ck_assert_msg(strstr(said, "is not from 1 to 7, the number of channels") != NULL, "%s", said);
}

SUITE(240, setup, teardown)
