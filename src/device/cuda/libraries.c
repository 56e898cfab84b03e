#include "device/cuda/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names, newest first. The libraries are never closed: they do not support it. */
static const struct {
    const char *title, *files[4];
} known[CUDA_LIBRARIES] = {
    [CUDA_BLAS] = {"cuBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}},
    [CUDA_FFT] = {"cuFFT", {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10"}},
    [CUDA_SOLVER] = {"cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so.10"}},
    [CUDA_COMPILER] = {"NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}},
};

static void *open_library(int which)
{
    const char *given = getenv("GROVE_CUDA_LIBRARIES"), *driver = getenv("GROVE_CUDA_DRIVER");
    void *library = NULL;

    if (given && *given)
        return strcmp(given, "none") ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (driver && *driver)
        return NULL;
    for (int k = 0; !library && known[which].files[k]; k++)
        library = dlopen(known[which].files[k], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find_functions(cuda_libraries *libraries, int which, void *library)
{
    bool all = true;
    void *symbol;

#define FIND(library_number, name, text, arguments)                                                \
    if (which == (library_number)) {                                                               \
        symbol = dlsym(library, text);                                                             \
        memcpy(&libraries->name, &symbol, sizeof(symbol));                                         \
        all = all && symbol;                                                                       \
    }
    CUDA_LIBRARY_FUNCTIONS(FIND)
#undef FIND
    return all;
}

bool cuda_libraries_have(cuda_libraries *libraries, int which)
{
    int major, minor;

    if (!libraries->tried[which]) {
        void *library = open_library(which);
        libraries->tried[which] = true;
        libraries->found[which] =
            library && find_functions(libraries, which, library) &&
            (which != CUDA_COMPILER || !libraries->compiler_version(&major, &minor));
    }
    return libraries->found[which];
}

const char *cuda_libraries_name(int which)
{
    return known[which].title;
}

int cuda_libraries_fail(int which, const char *device, grove_error *error)
{
    return grove_fail(error, GROVE_MISSING,
                      "%s: there is no %s (%s or older); install it with NVIDIA's CUDA toolkit, or "
                      "have the cpu compute this",
                      device, known[which].title, known[which].files[0]);
}

void cuda_libraries_describe(cuda_libraries *libraries, char *text, size_t size)
{
    size_t at = 0;

    snprintf(text, size, "none");
    for (int which = 0; which < CUDA_LIBRARIES; which++)
        if (cuda_libraries_have(libraries, which) && at < size)
            at +=
                (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "", known[which].title);
}
