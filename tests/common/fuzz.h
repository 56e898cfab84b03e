/* Shared by fuzzers: a copy of the input that ends in 0, and with GROVE_FUZZ_REPLAY a main function
 * that runs the fuzzer on files. */
#ifndef GROVE_TESTS_FUZZ_H
#define GROVE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly as long as the input, so that sanitizers find accesses beyond it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) {
        abort();
    }
    if (size) {
        memcpy(text, data, size);
    }
    text[size] = 0;
    return text;
}

#ifdef GROVE_FUZZ_REPLAY
int main(int count, char **paths)
{
    static uint8_t bytes[1 << 20];
    for (int k = 1; k < count; k++) {
        FILE *file = fopen(paths[k], "rb");
        if (!file) {
            perror(paths[k]);
            return EXIT_FAILURE;
        }
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    return EXIT_SUCCESS;
}
#endif

#endif
