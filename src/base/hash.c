#include "unstable/hash.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL /* no library is linked */
#include <xxhash.h>

enum { MAX_DEPTH = 8 }; /* of folders */

/* Kinds of pieces: pieces of different kinds differ. */
enum { BYTES, INTEGER, NUMBER, HASH };

/* Joins the hash so far with a piece, whose words are its value, or its length and hash. */
static grove_hash join(grove_hash hash, uint64_t kind, uint64_t x, uint64_t y, uint64_t z)
{
    const uint64_t words[] = {hash.a, hash.b, kind, x, y, z};
    XXH128_hash_t joined = XXH3_128bits(words, sizeof(words));

    return (grove_hash){joined.low64, joined.high64};
}

grove_hash grove_hash_start(void)
{
    return (grove_hash){0, 0};
}

grove_hash grove_hash_add(grove_hash hash, const void *bytes, size_t length)
{
    XXH128_hash_t piece = XXH3_128bits(bytes, length);

    return join(hash, BYTES, (uint64_t)length, piece.low64, piece.high64);
}

grove_hash grove_hash_text(grove_hash hash, const char *text)
{
    return text ? grove_hash_add(hash, text, strlen(text)) : grove_hash_integer(hash, -1);
}

grove_hash grove_hash_integer(grove_hash hash, int64_t value)
{
    return join(hash, INTEGER, (uint64_t)value, 0, 0);
}

grove_hash grove_hash_number(grove_hash hash, double value)
{
    uint64_t word;

    value = value == 0 ? 0 : value; /* -0 becomes 0 */
    memcpy(&word, &value, sizeof(word));
    return join(hash, NUMBER, word, 0, 0);
}

grove_hash grove_hash_join(grove_hash hash, grove_hash other)
{
    return join(hash, HASH, other.a, other.b, 0);
}

bool grove_hash_equal(grove_hash a, grove_hash b)
{
    return a.a == b.a && a.b == b.b;
}

static grove_hash add_info(grove_hash hash, const struct stat *info)
{
    hash = grove_hash_integer(hash, (int64_t)info->st_size);
    hash = grove_hash_integer(hash, (int64_t)info->st_ino);
    hash = grove_hash_integer(hash, (int64_t)info->st_mtim.tv_sec);
    return grove_hash_integer(hash, (int64_t)info->st_mtim.tv_nsec);
}

/* Of all files in the folder but locks and hidden ones, with which runs work. */
static grove_hash add_folder(grove_hash hash, const char *path, int depth)
{
    char **names = grove_folder_list(path);

    for (char **name = names; *name; name++) {
        char *whole = grove_path_join(path, *name);
        struct stat info;
        bool counts =
            (*name)[0] != '.' && strcmp(*name, "table.lock") != 0 && stat(whole, &info) == 0;
        if (counts)
            hash = grove_hash_text(hash, *name);
        if (counts && S_ISDIR(info.st_mode) && depth < MAX_DEPTH)
            hash = add_folder(hash, whole, depth + 1);
        else if (counts)
            hash = add_info(hash, &info);
        free(whole);
        free(*name);
    }
    free(names);
    return hash;
}

grove_hash grove_hash_file(grove_hash hash, const char *path)
{
    struct stat info;

    hash = grove_hash_text(hash, path);
    if (stat(path, &info))
        return grove_hash_integer(hash, -1);
    return S_ISDIR(info.st_mode) ? add_folder(hash, path, 0) : add_info(hash, &info);
}
