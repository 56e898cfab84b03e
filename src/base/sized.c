#include "base/sized.h"

#include <string.h>

static int refuse(const char *name, grove_error *error)
{
    return grove_fail(error, GROVE_INVALID,
                      "%s: its size is not sizeof(%s), or it has members that this Grove does not "
                      "know; compile with this Grove's headers, or leave these members 0",
                      name, name);
}

int grove_sized_take(void *to, size_t size, const void *from, const char *name, grove_error *error)
{
    size_t has;

    memcpy(&has, from, sizeof(has));
    if (has < sizeof(has))
        return refuse(name, error);
    for (size_t i = size; i < has; i++)
        if (((const char *)from)[i])
            return refuse(name, error);
    memset(to, 0, size);
    memcpy(to, from, has < size ? has : size);
    memcpy(to, &size, sizeof(size));
    return 0;
}

int grove_sized_give(void *to, const void *from, size_t size, const char *name, grove_error *error)
{
    size_t has;

    memcpy(&has, to, sizeof(has));
    if (has < sizeof(has))
        return refuse(name, error);
    memset(to, 0, has);
    memcpy(to, from, has < size ? has : size);
    memcpy(to, &has, sizeof(has));
    return 0;
}
