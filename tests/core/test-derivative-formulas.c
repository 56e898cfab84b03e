/* Derivatives with respect to parms against closed forms. The device is the first argument, or
 * GROVE_TEST_DEVICE; else cpu. */
#include "derivative-testing.h"

/* ---- closed forms ---- */

/* Of J M J^H, element by element of J: E M J^H and J M E^H, where E is 1 at that element. */
static void multiply(const double complex a[4], const double complex b[4], double complex c[4])
{
    for (int i = 0; i < 4; i++)
        c[i] = a[i / 2 * 2] * b[i % 2] + a[i / 2 * 2 + 1] * b[i % 2 + 2];
}

static void hermitian(const double complex a[4], double complex c[4])
{
    for (int i = 0; i < 4; i++)
        c[i] = conj(a[i % 2 * 2 + i / 2]);
}

static void matrix_at(const double complex *jones, int elements, int64_t cell, double complex c[4])
{
    for (int e = 0; e < 4; e++)
        c[e] = elements == 4 ? jones[4 * cell + e] : e % 3 ? 0 : jones[2 * cell + e / 3];
}

static void wanted_at(const double complex *m, const double complex p[4], const double complex q[4],
                      int element, char side, double complex c[4])
{
    double complex one[4] = {0}, right[4], between[4];

    one[element] = 1;
    hermitian(side == 'q' ? one : q, right);
    multiply(side == 'p' ? one : p, m, between);
    multiply(between, right, c);
}

LOOP_TEST(jones_of_both_stations, 0, 6)
{
    const char *name = _i % 2 ? "diagonal" : "full";
    int elements = _i % 2 ? 2 : 4, tile = _i < 2 ? 0 : 1;
    char *text = suite_text("J[p] = test_parm(\"J\", jones=%s, time=1h)\n"
                            "R[p,q] = J[p] * M * J[q]^H\n",
                            name);
    int64_t count, cells;

    build(text);
    grove_probe_of_parms()->spread = 0.5;
    grove_derivatives all = derive("R");
    ck_assert_uint_eq(all.count, (size_t)(2 * elements));
    open_session(_i >= 4, tile);
    double complex *jones = value_of(node_of("J"), &cells), *m = value_of(node_of("M"), &count);
    grove_slot at_p = {.node = node_of("J"), .role = 'p'},
               at_q = {.node = node_of("J"), .role = 'q'};
    for (size_t s = 0; s < all.count; s++) {
        int element = (int)s / 2 * (elements == 2 ? 3 : 1);
        char side = s % 2 ? 'q' : 'p';
        double complex *found = value_of(all.slots[s].node, &count), p[4], q[4], wanted[4];
        double far = 0, size = 0;
        ck_assert_int_eq(all.slots[s].side, side);
        ck_assert_int_eq(all.slots[s].part,
                         side == 'p' ? GROVE_PART_BOTH : GROVE_PART_BOTH_CONJUGATE);
        for (int64_t cell = 0; cell < count / 4; cell++) {
            matrix_at(jones, elements, grove_slot_cell(&at_p, all.root, cell), p);
            matrix_at(jones, elements, grove_slot_cell(&at_q, all.root, cell), q);
            wanted_at(m + 4 * cell, p, q, element, side, wanted);
            far += distance(found + 4 * cell, wanted, 4);
            size += norm_of(wanted, 4);
        }
        ck_assert_msg(far <= (_i >= 4 ? 1e-6 : 1e-13) * size, "%s, slot %zu: %g of %g", name, s,
                      far, size);
        free(found);
    }
    free(jones);
    free(m);
}

/* Baselines of 100 km at 150 MHz: the phase turns by 3e5 rad where l changes by 1. */
static void write_long_array(void)
{
    grove_file *file = grove_file_create("long.array", fixture->error);

    ck_assert_ptr_nonnull(file);
    fputs("# name: LONG\n3826577.0 461022.0 5064892.0 25 P0\n3756577.0 531022.0 5064892.0 25 P1\n"
          "3826577.0 391022.0 5134892.0 25 P2\n",
          grove_file_stream(file));
    ck_assert_int_eq(grove_file_commit(file, fixture->error), 0);
}

/* sin(x) / x, where its derivative is asked for that. */
static long double sinc(long double x, bool derivative)
{
    if (fabsl(x) < 1e-3L)
        return derivative ? -x / 3 * (1 - x * x / 10) : 1 - x * x / 6 * (1 - x * x / 20);
    return derivative ? (cosl(x) - sinl(x) / x) / x : sinl(x) / x;
}

/* Bit 0: tiles. Bit 1: smeared in frequency, where there is no rule, and the step of the difference
 * has to suit these baselines. */
LOOP_TEST(long_baselines, 0, 4)
{
    bool smear = _i & 2;
    int64_t count, sources, rows;

    build("unused = 1\n"); /* the folder */
    write_long_array();
    build("far = observe(array=\"long.array\", phase_centre=\"18h43m00s 45d50m00s\", "
          "hour_angle=-2h..2h, integration=1h, frequency=150MHz, channels=2, channel_width=1MHz)\n"
          "l = test_parm(\"l\", init=0.001, step=1)\nm = test_parm(\"m\", init=0.002, step=1)\n"
          "to = lmn(S, far) + vector(l, m, 0)\nat = 1 * far.uvw\n"
          "X[p,q] = predict(S, far, brightness=constant(1Jy), shape=vector(0rad, 0rad, 0rad), "
          "lmn=to)\n"
          "Y[p,q] = predict(S, far, brightness=constant(1Jy), shape=vector(0rad, 0rad, 0rad), "
          "lmn=to, smear=freq)\n");
    grove_derivatives all = derive(smear ? "Y" : "X");
    ck_assert_uint_eq(all.count, 2);
    open_session(false, _i & 1);
    double complex *lmn = value_of(node_of("to"), &sources), *uvw = value_of(node_of("at"), &rows);
    const grove_axis *freq = all.root->axes[2];
    for (int s = 0; s < 2; s++) {
        double complex *found = value_of(all.slots[s].node, &count);
        long double far = 0, size = 0, longest = 0;
        ck_assert_int_eq(count, rows / 3 * freq->size);
        for (int64_t i = 0; i < count; i++) {
            const double complex *b = uvw + i / freq->size * 3;
            long double turn =
                -2 * acosl(-1) * (long double)freq->centre[i % freq->size] / 299792458;
            long double complex sum = 0;
            for (int64_t k = 0; k < sources; k += 3) {
                long double phase = turn * ((long double)creal(b[0]) * creal(lmn[k]) +
                                            (long double)creal(b[1]) * creal(lmn[k + 1]) +
                                            (long double)creal(b[2]) * creal(lmn[k + 2]));
                long double width = smear ? 1e6L / (long double)freq->centre[i % freq->size] : 0;
                sum += turn * creal(b[s]) * (cosl(phase) + I * sinl(phase)) *
                       (I * sinc(phase * width / 2, false) +
                        width / 2 * sinc(phase * width / 2, true));
            }
            far += cabsl(found[i] - sum);
            size += cabsl(sum);
            longest = fmaxl(longest, fabsl(turn * creal(b[s])));
        }
        ck_assert_msg(longest > 2e5L, "only %Lg rad", longest);
        ck_assert_msg(far <= (smear ? 1e-6L : 1e-9L) * size, "%c: %Lg of %Lg", "lm"[s], far, size);
        free(found);
    }
    free(lmn);
    free(uvw);
}

/* Factors: (dR/dx) / R = 1 / x, whatever else R is made of. */
TEST(factors)
{
    static const struct {
        const char *name;
        double number;
    } known[] = {{"a", 1.5}, {"b", 0.7}, {"f", 2}};
    int64_t count;

    build("a = test_parm(\"a\", init=1.5)\nb[p] = test_parm(\"b\", init=0.7, axes=none)\n"
          "f = test_parm(\"f\", init=2Jy)\n"
          "R[p,q] = a * b * predict(S, obs, brightness=f, smear=both)\n");
    grove_derivatives all = derive("R");
    ck_assert_uint_eq(all.count, 3);
    open_session(false, 0);
    double complex *value = value_of(all.root, &count);
    for (size_t s = 0; s < all.count; s++) {
        double complex *found = value_of(all.slots[s].node, &count);
        int k = 0;
        while (strcmp(known[k].name, all.slots[s].parm->name) != 0)
            k++;
        for (int64_t i = 0; i < count; i++)
            found[i] *= known[k].number;
        ck_assert(distance(found, value, count) <= 1e-13 * norm_of(value, count));
        free(found);
    }
    free(value);
}

int main(int argc, char **argv)
{
    return run_tests(argc, argv);
}
