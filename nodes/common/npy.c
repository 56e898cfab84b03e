#include "nodes/common/npy.h"

#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "\x93NUMPY\1";

void grove_npy_header(const grove_npy *npy, char header[GROVE_NPY_HEADER])
{
    int length = GROVE_NPY_HEADER - 10, at = 10;

    memset(header, ' ', GROVE_NPY_HEADER);
    memcpy(header, magic, 8); /* with the minor version, 0 */
    header[8] = (char)(length & 255);
    header[9] = (char)(length >> 8);
    at += snprintf(header + at, (size_t)(GROVE_NPY_HEADER - at),
                   "{'descr': '<%c%d', 'fortran_order': False, 'shape': (",
                   npy->complex_ ? 'c' : 'f', npy->bytes * (npy->complex_ ? 2 : 1));
    for (int k = 0; k < npy->axes; k++)
        at += snprintf(header + at, (size_t)(GROVE_NPY_HEADER - at), "%lld,%s",
                       (long long)npy->size[k], k + 1 < npy->axes ? " " : "");
    at += snprintf(header + at, (size_t)(GROVE_NPY_HEADER - at), "), }");
    header[at] = ' ';
    header[GROVE_NPY_HEADER - 1] = '\n';
}

static const char *blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* The text behind 'key': in the header, or NULL. */
static const char *entry(const char *text, const char *key)
{
    char *quoted[2] = {grove_format("'%s'", key), grove_format("\"%s\"", key)};
    const char *found = strstr(text, quoted[0]);

    found = found ? found : strstr(text, quoted[1]);
    if (found)
        found = blanks(found + strlen(quoted[0]));
    free(quoted[0]);
    free(quoted[1]);
    return found && *found == ':' ? blanks(found + 1) : NULL;
}

static int parse_type(grove_npy *npy, const char *at, const char *name, grove_error *error)
{
    static const struct {
        const char *text;
        bool complex_, integer;
        int bytes;
    } types[] = {{"<f4", false, false, 4}, {"<f8", false, false, 8}, {"<c8", true, false, 4},
                 {"<c16", true, false, 8}, {"<i4", false, true, 4},  {"<i8", false, true, 8}};

    for (size_t i = 0; at && (*at == '\'' || *at == '"') && i < 6; i++) {
        size_t length = strlen(types[i].text);
        if (strncmp(at + 1, types[i].text, length) != 0 || at[length + 1] != *at)
            continue;
        npy->complex_ = types[i].complex_;
        npy->integer = types[i].integer;
        npy->bytes = types[i].bytes;
        return 0;
    }
    return grove_fail(error, GROVE_INVALID,
                      "%s: its numbers are %.12s; supported are <f4, <f8, <c8, <c16, <i4 or <i8",
                      name, at ? at : "not described");
}

static int parse_shape(grove_npy *npy, const char *at, const char *name, grove_error *error)
{
    if (!at || *at != '(')
        return grove_fail(error, GROVE_INVALID, "%s: its header has no shape", name);
    for (at = blanks(at + 1); *at != ')'; at = blanks(at)) {
        const char *end =
            npy->axes < GROVE_NPY_AXES ? grove_parse_integer(at, &npy->size[npy->axes]) : NULL;
        if (!end || npy->size[npy->axes] < 0)
            return grove_fail(error, GROVE_INVALID, "%s: its shape does not consist of numbers",
                              name);
        npy->axes++;
        at = blanks(end);
        if (*at == ',')
            at++;
        else if (*at != ')')
            return grove_fail(error, GROVE_INVALID, "%s: its shape does not consist of numbers",
                              name);
    }
    return 0;
}

/* Whether the file has as many numbers as its shape says. */
static int check_length(const grove_npy *npy, size_t length, const char *name, grove_error *error)
{
    size_t needed = (size_t)npy->bytes * (npy->complex_ ? 2 : 1), have = length - npy->offset;

    for (int k = 0; k < npy->axes; k++)
        if (__builtin_mul_overflow(needed, (size_t)npy->size[k], &needed))
            needed = SIZE_MAX;
    for (int k = 0; k < npy->axes; k++)
        needed = npy->size[k] ? needed : 0;
    return needed <= have
               ? 0
               : grove_fail(
                     error, GROVE_INVALID,
                     "%s: it ends within its numbers: it has %zu bytes of them, but needs %zu",
                     name, have, needed);
}

int grove_npy_parse(grove_npy *npy, const char *bytes, size_t length, const char *name,
                    grove_error *error)
{
    const unsigned char *b = (const unsigned char *)bytes;
    int long_header = 0;

    memset(npy, 0, sizeof(*npy));
    if (length < 12 || memcmp(bytes, magic, 6) != 0 || b[6] < 1 || b[6] > 3)
        return grove_fail(error, GROVE_INVALID, "%s: not a .npy file", name);
    long_header = b[6] > 1;
    size_t size = b[8] | (size_t)b[9] << 8;
    if (long_header)
        size |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    size_t begin = long_header ? 12 : 10;
    if (size > length - begin)
        return grove_fail(error, GROVE_INVALID, "%s: it ends within its header", name);
    npy->offset = begin + size;
    char *text = grove_format("%.*s", (int)(size > 65535 ? 65535 : size), bytes + begin);
    const char *order = entry(text, "fortran_order");
    npy->fortran = order && !strncmp(order, "True", 4);
    int code = parse_type(npy, entry(text, "descr"), name, error);
    code = code ? code : parse_shape(npy, entry(text, "shape"), name, error);
    free(text);
    return code ? code : check_length(npy, length, name, error);
}
