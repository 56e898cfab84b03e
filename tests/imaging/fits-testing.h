/* FITS files for tests, put together and taken apart without any library. */
#ifndef GROVE_TESTS_FITS_TESTING_H
#define GROVE_TESTS_FITS_TESTING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FITS_BLOCK = 2880, FITS_CARD = 80 };

static inline size_t fits_padded(size_t bytes)
{
    return (bytes + FITS_BLOCK - 1) / FITS_BLOCK * FITS_BLOCK;
}

/* A header and data unit: cards, a line each, without END; data as they are in the file. Appends to
 * bytes[*length]; the caller frees. */
static inline char *fits_append(char *bytes, size_t *length, const char *cards, const void *data,
                                size_t size)
{
    size_t lines = 1, at = *length;

    for (const char *line = cards; *line; line++)
        lines += *line == '\n';
    lines += *cards && cards[strlen(cards) - 1] != '\n';
    size_t header = fits_padded(lines * FITS_CARD);
    *length += header + fits_padded(size);
    bytes = realloc(bytes, *length);
    if (!bytes)
        abort();
    memset(bytes + at, ' ', header);
    memset(bytes + at + header, 0, *length - at - header);
    for (size_t k = 0; *cards; k++) {
        size_t width = strcspn(cards, "\n");
        memcpy(bytes + at + k * FITS_CARD, cards, width < FITS_CARD ? width : FITS_CARD);
        cards += width + (cards[width] == '\n');
    }
    memcpy(bytes + at + (lines - 1) * FITS_CARD, "END", 3);
    if (size)
        memcpy(bytes + at + header, data, size);
    return bytes;
}

/* Numbers as FITS stores them: |bits| each, big-endian, floating point where it is negative. */
static inline void fits_put(unsigned char *to, int bits, double number)
{
    union {
        double real;
        uint64_t word;
    } wide = {.real = number};
    union {
        float real;
        uint32_t word;
    } single = {.real = (float)number};
    uint64_t word = bits == -64 ? wide.word : bits == -32 ? single.word : (uint64_t)(int64_t)number;
    int size = abs(bits) / 8;

    for (int b = 0; b < size; b++)
        to[b] = (unsigned char)(word >> 8 * (size - 1 - b));
}

static inline double fits_get(const unsigned char *from, int bits)
{
    union {
        uint64_t word;
        double real;
    } wide = {0};
    union {
        uint32_t word;
        float real;
    } single;

    for (int b = 0; b < abs(bits) / 8; b++)
        wide.word = wide.word << 8 | from[b];
    single.word = (uint32_t)wide.word;
    return bits == -64 ? wide.real : (double)single.real;
}

/* The card of that name in a header, behind "NAME    = "; NULL: there is none. */
static inline const char *fits_card(const char *bytes, const char *name)
{
    char wanted[16];

    snprintf(wanted, sizeof(wanted), "%-8s= ", name);
    for (; strncmp(bytes, "END     ", 8) != 0; bytes += FITS_CARD)
        if (!strncmp(bytes, wanted, 10))
            return bytes + 10;
    return NULL;
}

/* Bytes of the first header, and how many cards it has before END. */
static inline size_t fits_header(const char *bytes, int *cards)
{
    *cards = 0;
    while (strncmp(bytes + (size_t)*cards * FITS_CARD, "END     ", 8) != 0)
        ++*cards;
    return fits_padded((size_t)(*cards + 1) * FITS_CARD);
}

#endif
