/* The direct image against the sum in long double, and a point source against its flux. */
#include "../kernels/image/dirty_image.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 37, CHANNELS = 41, SIZE = 75 };

static double uvw[ROWS][3], freq[CHANNELS];
static float data[ROWS][CHANNELS][2], weight[ROWS][CHANNELS];
static const grove_dirty_samples samples = {ROWS, CHANNELS,   uvw[0],
                                            freq, data[0][0], (float *)weight[0]};

static double normal(int a, int b, int c)
{
    double pair[2];

    grove_random_normal(7, (uint64_t)a, (uint64_t)b, (uint64_t)c, 0, pair);
    return pair[0];
}

static void fill(bool regular)
{
    for (int k = 0; k < CHANNELS; k++)
        freq[k] = 1.4e9 + 1e6 * k + (regular ? 0 : 2e5 * normal(k, 0, 1));
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < 3; i++)
            uvw[r][i] = 2000 * normal(r, i, 2);
        for (int k = 0; k < CHANNELS; k++) {
            data[r][k][0] = (float)normal(r, k, 3);
            data[r][k][1] = (float)normal(r, k, 4);
            weight[r][k] = (r + k) % 5 ? (float)fabs(normal(r, k, 5)) : 0;
        }
    }
}

/* A source of `flux` at (l, m). */
static void fill_source(double flux, double l, double m)
{
    double n = sqrt(1 - l * l - m * m) - 1;

    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < CHANNELS; k++) {
            double phase = -2 * GROVE_PI * freq[k] / GROVE_SPEED_OF_LIGHT *
                           (uvw[r][0] * l + uvw[r][1] * m + uvw[r][2] * n);
            data[r][k][0] = (float)(flux * cos(phase));
            data[r][k][1] = (float)(flux * sin(phase));
        }
}

/* Checked for each instruction set that this processor has. */
static grove_dirty_grid grid_of(double cell, int isa)
{
    return (grove_dirty_grid){SIZE, cell, grove_isa_works((grove_isa)isa) ? (grove_isa)isa : 0};
}

static long double reference(int64_t x, int64_t y, double cell)
{
    long double l = (x - SIZE / 2) * (long double)cell, m = (y - SIZE / 2) * (long double)cell;
    long double n = sqrtl(1 - l * l - m * m) - 1, sum = 0;

    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < CHANNELS; k++) {
            long double phase = 2 * 3.14159265358979323846264338328L * freq[k] / 299792458.0L *
                                (uvw[r][0] * l + uvw[r][1] * m + uvw[r][2] * n);
            sum += weight[r][k] * (data[r][k][0] * cosl(phase) - data[r][k][1] * sinl(phase));
        }
    return sum;
}

static double scale(void)
{
    double sum = 0;

    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < CHANNELS; k++)
            sum += weight[r][k] * hypot(data[r][k][0], data[r][k][1]);
    return sum;
}

/* Cells from a narrow field, where a tile is one product, to one whose tiles are split: near the
 * corners the bends of n change the phases by many turns. */
START_TEST(test_reference)
{
    static const double cells[] = {1e-5, 3e-4, 2e-3, 1.2e-2};
    grove_dirty_grid grid = grid_of(cells[_i % 4], _i / 4 % GROVE_ISAS);
    double image[SIZE * SIZE] = {0}, max = 0;

    fill(_i >= 4 * GROVE_ISAS);
    grove_dirty_image_add(&samples, &grid, 0, grove_dirty_image_tiles(&grid), image);
    for (int i = 0; i < SIZE * SIZE; i += 23) { /* a corner, and all tiles */
        double off = fabs((double)(reference(i % SIZE, i / SIZE, grid.cell) - image[i]));
        max = off > max ? off : max;
    }
    ck_assert_double_lt(max, 2e-6 * scale());
}
END_TEST

START_TEST(test_point_source)
{
    grove_dirty_grid grid = grid_of(1e-3, _i);
    double image[SIZE * SIZE] = {0}, weights = 0;
    int peak = 0;

    fill(true);
    fill_source(3.5, 4e-3, -2e-3);
    grove_dirty_image_add(&samples, &grid, 0, grove_dirty_image_tiles(&grid), image);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < CHANNELS; k++)
            weights += (double)weight[r][k];
    for (int i = 0; i < SIZE * SIZE; i++)
        peak = image[i] > image[peak] ? i : peak;
    ck_assert_int_eq(peak % SIZE, SIZE / 2 + 4);
    ck_assert_int_eq(peak / SIZE, SIZE / 2 - 2);
    ck_assert_double_eq_tol(image[peak] / weights, 3.5, 1e-5);
}
END_TEST

START_TEST(test_any_cut_gives_the_same_bits)
{
    grove_dirty_grid grid = grid_of(2e-3, _i);
    double whole[SIZE * SIZE] = {0}, parts[SIZE * SIZE] = {0};

    fill(true);
    grove_dirty_image_add(&samples, &grid, 0, grove_dirty_image_tiles(&grid), whole);
    ck_assert_int_eq(grove_dirty_image_tiles(&grid), 9);
    for (int64_t at = 0; at < 9; at += 2)
        grove_dirty_image_add(&samples, &grid, at, at + 2 < 9 ? at + 2 : 9, parts);
    ck_assert_int_eq(memcmp(whole, parts, sizeof(whole)), 0);
}
END_TEST

START_TEST(test_beyond_the_horizon)
{
    grove_dirty_grid grid = grid_of(0.02, _i);
    double image[SIZE * SIZE] = {0};

    fill(true);
    grove_dirty_image_add(&samples, &grid, 0, grove_dirty_image_tiles(&grid), image);
    for (int i = 0; i < SIZE * SIZE; i++) {
        int x = i % SIZE - SIZE / 2, y = i / SIZE - SIZE / 2;
        ck_assert_int_eq(image[i] != 0, x * x + y * y < 50 * 50);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dirty image");
    TCase *tests = tcase_create("dirty image");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tests, test_reference, 0, 2 * 4 * GROVE_ISAS);
    tcase_add_loop_test(tests, test_point_source, 0, GROVE_ISAS);
    tcase_add_loop_test(tests, test_any_cut_gives_the_same_bits, 0, GROVE_ISAS);
    tcase_add_loop_test(tests, test_beyond_the_horizon, 0, GROVE_ISAS);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
