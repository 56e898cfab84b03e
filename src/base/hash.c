#include "base/hash.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 8 }; /* of folders */

/* Two 64-bit lanes. Each word is mixed into a lane by a 64x64->128 bit multiplication with the
 * lane's own odd constant. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static grove_hash mix(grove_hash h, uint64_t word)
{
    h.a = fold(h.a ^ word, 0x9e3779b97f4a7c15u) + 0x632be59bd9b4e019u;
    h.b = fold(h.b + word, 0xd1342543de82ef95u) ^ (h.b << 23 | h.b >> 41);
    return h;
}

static grove_hash finish(grove_hash h)
{
    uint64_t a = h.a, b = h.b;

    h.a = fold(a ^ 0xa0761d6478bd642fu, b ^ 0xe7037ed1a0b428dbu) ^ b;
    h.b = fold(b ^ 0x8ebc6af09c88c6e3u, a ^ 0x589965cc75374cc3u) ^ a;
    return h;
}

grove_hash grove_hash_start(void)
{
    return (grove_hash){0x243f6a8885a308d3u, 0x13198a2e03707344u};
}

grove_hash grove_hash_add(grove_hash hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t word;
    size_t rest = length;

    hash = mix(hash, (uint64_t)length);
    for (; rest >= 8; rest -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = mix(hash, word);
    }
    if (rest) {
        word = 0;
        memcpy(&word, at, rest);
        hash = mix(hash, word);
    }
    return finish(hash);
}

grove_hash grove_hash_text(grove_hash hash, const char *text)
{
    return text ? grove_hash_add(hash, text, strlen(text)) : grove_hash_integer(hash, -1);
}

grove_hash grove_hash_integer(grove_hash hash, int64_t value)
{
    return finish(mix(mix(hash, 1), (uint64_t)value));
}

grove_hash grove_hash_number(grove_hash hash, double value)
{
    uint64_t word;

    value = value == 0 ? 0 : value; /* -0 becomes 0 */
    memcpy(&word, &value, sizeof(word));
    return finish(mix(mix(hash, 2), word));
}

grove_hash grove_hash_join(grove_hash hash, grove_hash other)
{
    return finish(mix(mix(mix(hash, 3), other.a), other.b));
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
