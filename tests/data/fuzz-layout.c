/* Fuzzes antenna layouts: any bytes give a valid layout or a message. */
#include "nodes/common/layout.h"
#include "tests/common/fuzz.h"

#include <math.h>

static void check(int good)
{
    if (!good) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    grove_error *error = grove_error_new();
    grove_layout *layout = grove_layout_parse(text, "input", error);
    check((layout == NULL) == (grove_error_count(error) > 0));
    check(!layout || (layout->count >= 1 && layout->name));
    for (int k = 0; layout && k < layout->count; k++) {
        const grove_station *s = &layout->stations[k];
        check(s->name && s->name[0] && memchr(s->mount, 0, sizeof s->mount) && s->diameter >= 0);
        check(isfinite(s->position[0]) && isfinite(s->position[1]) && isfinite(s->position[2]));
    }
    grove_layout_free(layout);
    free(text);
    free(grove_error_text(error));
    grove_error_free(error);
    return 0;
}
