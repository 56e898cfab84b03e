/* crop and pad, alone, as stages of an image, and in FITS files. */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"
#include "nodes/imaging/service.h"
#include "unstable/module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_images *images;

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t))

/* crop of an image is the image of that size; <pad x, y> = <x, crop y>; the chain through crop and
 * pad is that without. */
LOOP_TEST(crop_and_pad, 0, 3)
{
    static const struct {
        const char *large, *small;
    } sizes[] = {{"24", "[15, 18]"}, {"[21, 26]", "[20, 13]"}, {"19", "[19, 8]"}};
    testing_tree(
        &t,
        suite_text(PROBE "a = dirty_image(V, obs, size=%s, cell=3e-5rad, epsilon=1e-10)\n"
                         "b = dirty_image(V, obs, size=%s, cell=3e-5rad, epsilon=1e-10)\n"
                         "x = crop(a, size=%s)\n"
                         "off = max(abs(x - b))\ntop = max(abs(b))\n"
                         "one = sum(pad(b * b, size=%s) * a)\ntwo = sum(b * b * crop(a, size=%s))\n"
                         "same = max(abs(crop(pad(b, size=%s), size=%s) - b))\n",
                   sizes[_i].large, sizes[_i].small, sizes[_i].small, sizes[_i].large,
                   sizes[_i].small, sizes[_i].large, sizes[_i].small));
    testing_value off = probe_session(&t, "off", NULL, NULL),
                  top = probe_session(&t, "top", NULL, NULL),
                  one = probe_session(&t, "one", NULL, NULL),
                  two = probe_session(&t, "two", NULL, NULL),
                  same = probe_session(&t, "same", NULL, NULL);
    ck_assert_double_gt(creal(top.at[0]), 0);
    ck_assert_double_lt(creal(off.at[0]), 1e-8 * creal(top.at[0]));
    ck_assert_double_eq_tol(creal(one.at[0]), creal(two.at[0]), 1e-9 * fabs(creal(two.at[0])));
    ck_assert_double_eq(creal(same.at[0]), 0);
}

TEST(stages_with_crop_and_pad)
{
    plane_now = (plane){.size = {20, 25}, .cell = {3e-5, 3e-5}};
    plane_now.centre[0] = plane_now.cell[0]; /* of pixel 10; the middle is pixel 9 */
    for (int i = 0; i < 20 * 25; i++)
        plane_now.stokes[i][0] = i * 37 % 101 - 50;
    testing_tree(&t,
                 "im = plane()\n" PROBE "s = fft(grid(V, obs, size=[20, 25], cell=3e-5rad))\n"
                 "a = grid_correction(s, obs, size=[20, 25], cell=3e-5rad)\n"
                 "b = grid_correction(crop(s, size=[20, 25]), obs, size=[20, 25], cell=3e-5rad)\n"
                 "p = grid_correction(im.pixels, obs, size=[20, 25], cell=3e-5rad)\n"
                 "q = pad(grid_correction(im.pixels, obs, size=[20, 25], cell=3e-5rad, pad=false), "
                 "size=[64, 96])\n"
                 "Y = degrid(fft(q), obs, size=[20, 25], cell=3e-5rad)\n");
    static const char *const pairs[][2] = {{"a", "b"}, {"p", "q"}};
    for (int k = 0; k < 2; k++) {
        testing_value one = probe_session(&t, pairs[k][0], NULL, NULL),
                      two = probe_session(&t, pairs[k][1], NULL, NULL);
        ck_assert_int_eq(one.cells, two.cells);
        for (int64_t i = 0; i < one.cells; i++)
            ck_assert_double_eq(cabs(one.at[i] - two.at[i]), 0);
    }
    probe_session(&t, "Y", NULL, NULL);
}

TEST(wrong_calls)
{
    static const struct {
        const char *call, *message;
    } cases[] = {
        {"crop(dirty_image(V, obs, size=8), size=9)",
         "9 is more than the 8 cells along l; use pad"},
        {"pad(dirty_image(V, obs, size=8), size=[8, 7])",
         "7 is less than the 8 cells along m; use crop"},
        {"crop(V, size=8)", "over m and l, or over v and u"},
        {"pad(dirty_image(V, obs, size=8), size=8.5)", "is one number of cells, or two"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said =
            testing_faults(&t, suite_text("obs = probe()\nV = obs.data\nx = %s\n", cases[i].call));
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s: %s", cases[i].call, said);
    }
}

/* ---- FITS ---- */

static grove_image *read_image(const char *name)
{
    grove_image *image = images->read(suite_text("%s/%s", t.folder, name), NULL, 0, t.error);

    ck_assert_msg(image != NULL, "%s", name);
    return image;
}

/* The file of a cut image has the coordinates of one of that size; that of a part of a cube has the
 * frequency of the part, that of their mean the frequencies of all. */
TEST(headers)
{
    images = grove_service_open("images", GROVE_IMAGES_VERSION, t.error);
    if (images->absent)
        return;
    testing_tree(
        &t,
        suite_text(
            PROBE
            "a = dirty_image(V, obs, size=24, cell=3e-5rad, bands=2)\n"
            "b = dirty_image(V, obs, size=[15, 10], cell=3e-5rad)\n"
            "c = crop(select(a, axis=freq, index=1), size=[15, 10])\n"
            "m = mean(a, over=freq)\n"
            "i1 = image(b, obs=obs, to=\"%s/b.fits\")\n"
            "i2 = image(c, obs=obs, to=\"%s/c.fits\")\ni3 = image(m, obs=obs, to=\"%s/m.fits\")\n",
            t.folder, t.folder, t.folder));
    testing_value f = probe_session(&t, "f", NULL, NULL), a = probe_session(&t, "a", NULL, NULL);
    ck_assert_int_eq(probe_run(&t, NULL), 0);
    grove_image *b = read_image("b.fits"), *c = read_image("c.fits"), *m = read_image("m.fits");
    const double width = f.axis[0]->width[0];
    ck_assert_int_eq(c->columns, 15);
    ck_assert_int_eq(c->rows, 10);
    for (int d = 0; d < 2; d++) {
        ck_assert_double_eq_tol(c->sky.centre[d], b->sky.centre[d], 1e-12);
        ck_assert_double_eq(c->sky.reference[d], b->sky.reference[d]);
        ck_assert_double_eq_tol(c->sky.matrix[d][d], b->sky.matrix[d][d], 1e-15);
    }
    ck_assert_double_eq_tol(c->freq[0], a.axis[0]->centre[1], 1);
    ck_assert_double_eq_tol(c->width[0], a.axis[0]->width[1], 1);
    ck_assert_double_eq_tol(m->width[0], PROBE_CHANNELS * width, 1);
    ck_assert_double_eq_tol(b->width[0], PROBE_CHANNELS * width, 1);
    images->free(b);
    images->free(c);
    images->free(m);
}

SUITE(240, setup, teardown)
