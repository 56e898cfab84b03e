/* Fuzzes sky models: any bytes give a valid model or a message. */
#include "nodes/sky/sky.h"
#include "tests/common/fuzz.h"

#include <math.h>

static void check(int good)
{
    if (!good) {
        abort();
    }
}

static void check_source(const grove_source *s)
{
    check(s->name && s->patch && isfinite(s->ra) && fabs(s->dec) < 1.58);
    for (int k = 0; k < 4; k++) {
        check(isfinite(s->stokes[k]));
    }
    check(s->terms >= 0 && s->terms <= GROVE_SPECTRUM_TERMS);
    check(s->reference_frequency >= 0 && (s->reference_frequency > 0 || !s->terms));
    for (int k = 0; k < s->terms; k++) {
        check(isfinite(s->spectrum[k]));
    }
    check(isfinite(s->rotation_measure) && isfinite(s->rotation_reference));
    check(s->major >= 0 && s->minor >= 0 && isfinite(s->major) && isfinite(s->minor) &&
          isfinite(s->position_angle));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    grove_error *error = grove_error_new();
    grove_sky *sky = grove_sky_parse(text, "input", error);
    check((sky == NULL) == (grove_error_count(error) > 0));
    for (int64_t k = 0; sky && k < sky->count; k++) {
        check_source(&sky->sources[k]);
    }
    grove_sky_free(sky);
    free(text);
    free(grove_error_text(error));
    grove_error_free(error);
    return 0;
}
