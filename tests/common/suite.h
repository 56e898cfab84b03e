/* Memory and texts of tests, which live as long as the program. */
#ifndef GROVE_TESTS_SUITE_H
#define GROVE_TESTS_SUITE_H

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>

static inline void *suite_keep(void *memory)
{
    static void **kept; /* leak checkers find it here */
    static size_t count;

    kept = realloc(kept, (count + 1) * sizeof(*kept));
    if (!kept)
        abort();
    return kept[count++] = memory;
}

static inline __attribute__((format(printf, 1, 2))) char *suite_text(const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    return suite_keep(text.at);
}

/* All messages, a line each. */
static inline char *suite_messages(const grove_error *of)
{
    return suite_keep(grove_error_text(of));
}

#endif
