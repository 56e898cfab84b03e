/* 128-bit content hashes (XXH3), used as keys of the cache. */
#ifndef GROVE_UNSTABLE_HASH_H
#define GROVE_UNSTABLE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t a, b;
} grove_hash;

/* Builds a hash: h = grove_hash_start(); h = grove_hash_add(h, ...); ... The order of the pieces
 * counts, and each piece includes its length, so that ("ab","c") differs from ("a","bc"). */
grove_hash grove_hash_start(void);
grove_hash grove_hash_add(grove_hash hash, const void *bytes, size_t length);
grove_hash grove_hash_text(grove_hash hash, const char *text); /* NULL allowed */
grove_hash grove_hash_integer(grove_hash hash, int64_t value);
grove_hash grove_hash_number(grove_hash hash, double value); /* -0 equals 0 */
grove_hash grove_hash_join(grove_hash hash, grove_hash other);
bool grove_hash_equal(grove_hash a, grove_hash b);
/* Identity of a file's content without reading it: path, size, inode, mtime (ns); of a folder: of
 * its files. */
grove_hash grove_hash_file(grove_hash hash, const char *path);

#endif
