/* Sums over sources in sessions: the CUDA device gives what the cpu gives, by every method, for
 * tiles and parts of the channels. */
#include "tests/common/cuda-testing.h"
#include "tests/common/session-testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKY "sums.skymodel"

static void setup(void)
{
    FILE *file = fopen(SKY, "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "format = Name, Type, Ra, Dec, I, Q, U, V, SpectralIndex, "
                  "ReferenceFrequency='1.4e9'\n");
    for (int k = 0; k < 37; k++)
        fprintf(file, "s%d, POINT, 5:%d:%d.0, 49.%02d.%02d.0, %.10g, %g, %g, %g, [-0.%d]\n", k,
                42 + k % 3, k * 7 % 60, 30 + k * 11 % 25, k % 53, 1 + k / 16.0, 0.1 * (k % 3),
                0.05 * (k % 5), 0.02 * (k % 7), k % 9);
    fclose(file);
    cuda_testing_reset(3);
    session_test_begin();
}

static void teardown(void)
{
    session_test_end();
    remove(SKY);
}

static void build(const char *array, const char *more)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[3072];

    snprintf(text, sizeof(text),
             "obs = observe(array=\"%s/data/arrays/%s.array\",\n"
             "  phase_centre=\"05h42m36.1s 49d51m07s\", hour_angle=-0.1h..0.1h, "
             "integration=60s,\n"
             "  frequency=1.4GHz, channels=11, channel_width=5MHz, autocorrelations=true)\n"
             "S = sky_model(\"" SKY "\")\n%s\n",
             source, array, more);
    session_test_tree(text);
}

/* Numbers of V on a device, in tiles of `times` (0: any). */
static double *numbers_on(const char *device, bool double_precision, int times, int64_t *count,
                          uint64_t *launches)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = device, .threads = 1, .double_precision = double_precision,
                              .tile_times = times);
    grove_session *session = grove_session_new(now.tree, &options, now.error);
    grove_value *value = NULL;

    if (!session || grove_session_value(session, "V", &value))
        ck_abort_msg("%s", grove_error_message(now.error, 0));
    double *numbers = grove_value_numbers(value, count, now.error);
    *launches = grove_session_counters(session)->launches;
    grove_value_unref(value);
    grove_session_free(session);
    *count *= 2;
    return suite_keep(numbers);
}

static void check_both(const char *what, bool double_precision, int times)
{
    int64_t count, here_count;
    uint64_t launches;
    double *here = numbers_on("cpu", true, 0, &here_count, &launches), error = 0, size = 0;
    double *there = numbers_on("cuda", double_precision, times, &count, &launches);

    ck_assert_int_eq(count, here_count);
    for (int64_t k = 0; k < count; k++) {
        error += (there[k] - here[k]) * (there[k] - here[k]);
        size += here[k] * here[k];
    }
    ck_assert_uint_gt(launches, 0);
    ck_assert_msg(size > 0 && sqrt(error) <= (double_precision ? 1e-11 : 1e-5) * sqrt(size),
                  "%s: %g of %g", what, sqrt(error), sqrt(size));
}

static const char *const sums[] = {
    "V[p,q] = predict(S, obs, method=%s)",
    "G[p] = gains(obs, kind=sine, amplitude=0.1, phase=30deg, jones=matrix)\n"
    "V[p,q] = predict(S, obs, left=G[p], right=G[q]^H, method=%s)",
    "E[s,p] = beam_gaussian(S, obs, fwhm=1deg)\n"
    "V[p,q] = predict(S, obs, left=E[s,p], right=E[s,q]^H, method=%s)",
    "E[s,p] = beam_gaussian(S, obs, fwhm=1deg)\n"
    "G[p] = gains(obs, kind=sine, amplitude=0.1, phase=30deg, jones=matrix)\n"
    "V[p,q] = predict(S, obs, left=G[p] * E[s,p], right=(G[q] * E[s,q])^H, method=%s)",
};
enum { SUMS = sizeof(sums) / sizeof(*sums) };

LOOP_TEST(the_device_gives_what_the_cpu_gives, 0, 3 * SUMS)
{
    static const char *const methods[] = {"stations", "baselines", "auto"};
    const char *method = methods[_i % 3];
    char text[1024];

    snprintf(text, sizeof(text), sums[_i / 3], method);
    build("wsrt", text);
    check_both(text, true, 0);
    check_both(text, false, 3);
}

CUDA_SUITE(300, setup, teardown)
