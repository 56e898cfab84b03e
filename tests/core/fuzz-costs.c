/* Fuzzes the file of `grove tune`: any bytes give valid numbers or none. */
#include "tests/common/fuzz.h"

#include "unstable/tuning.h"

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
    static const char *const keys[] = {"0.1.0 | A processor | predict, avx2 |", "0.1.0 |", ""};
    char *text = fuzz_text(data, size);

    grove_tuning_is_valid(text);
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        double numbers[] = {-1, -1, -1, -1, -1};
        enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };
        int found = grove_tuning_parse(text, keys[k], numbers, NUMBERS);
        for (int i = 0; i < NUMBERS; i++)
            if (found ? !(isfinite(numbers[i]) && numbers[i] >= 0 && numbers[i] <= 1e6)
                      : numbers[i] != -1) {
                abort();
            }
        if (found && !has_long_line(text, keys[k], NUMBERS)) {
            abort();
        }
    }
    free(text);
    return 0;
}
