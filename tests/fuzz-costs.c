/* Fuzzes the cache file of predict's costs: any bytes give valid costs or none. */
#include "fuzz.h"

#include "nodes/predict_cost.h"

#include <math.h>

/* Whether a line begins with `key` and is long enough for so many numbers. */
static int has_long_line(const char *text, const char *key, size_t numbers)
{
    for (; text; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (!strncmp(text, key, strlen(key)) &&
            strcspn(text, "\n") - strlen(key) >= 2 * numbers - 1) {
            return 1;
        }
        if (!*text) {
            return 0;
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"2 | A processor | avx2 |", "2 |", ""};
    char *text = fuzz_text(data, size);

    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        const double untouched = -1;
        grove_predict_costs costs;
        double numbers[sizeof(costs) / sizeof(double)];
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
            memcpy((char *)&costs + i * sizeof(double), &untouched, sizeof(double));
        int found = predict_costs_parse(text, keys[k], &costs);
        memcpy(numbers, &costs, sizeof(costs));
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
            if (found ? !(isfinite(numbers[i]) && numbers[i] >= 0 && numbers[i] <= 1e6)
                      : numbers[i] != untouched) {
                abort();
            }
        if (found && !has_long_line(text, keys[k], sizeof(numbers) / sizeof(*numbers))) {
            abort();
        }
    }
    free(text);
    return 0;
}
