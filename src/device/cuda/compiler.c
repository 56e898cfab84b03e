/* Kernels' texts compiled by NVRTC, NVIDIA's compiler, when they are first needed. Machine code is
 * kept in the folder `kernels` of the user's cache, under a hash of the text, of the options and of
 * the compiler's version. */
#include "device/cuda/cuda.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "unstable/hash.h"
#include "unstable/tuning.h"

#include <stdlib.h>
#include <string.h>

/* The tunable RESIDENT takes the place of the number of blocks in launch bounds. */
static const char *const resident =
    "#if RESIDENT\n#undef __launch_bounds__\n#define __launch_bounds__(threads, ...) \\\n"
    "    __attribute__((launch_bounds(threads, (RESIDENT + (threads) - 1) / (threads))))\n#endif\n";

enum { MAX_TEXT = 64 << 20, MAX_BINARY = 1 << 30 };

bool cuda_compiler_exists(cuda_device *cuda)
{
    int driver = 0, major = 0, minor = 0;

    return cuda_libraries_have(&cuda->libraries, CUDA_COMPILER) &&
           !cuda->libraries.compiler_version(&major, &minor) && !cuda->driver.version(&driver) &&
           major <= driver / 1000;
}

/* GROVE_DEVICE with the first error of the compiler's messages. */
static int fail(cuda_device *cuda, cuda_program program, const char *path, grove_error *error)
{
    size_t size = 0;

    if (cuda->libraries.program_log_size(program, &size))
        size = 0;
    char *log = grove_alloc(size + 1);
    if (size && cuda->libraries.program_log(program, log))
        log[0] = 0;
    log[size] = 0;
    const char *first = strstr(log, "error");
    first = first ? first : log;
    int code = grove_fail(error, GROVE_DEVICE, "%s: %s: NVRTC fails: %.*s", cuda->device.name, path,
                          (int)strcspn(first, "\n"), first);
    free(log);
    return code;
}

/* Compiles; caller frees *binary. */
static int compile(cuda_device *cuda, const char *path, const char *text,
                   const char *const *options, int count, char **binary, size_t *bytes,
                   grove_error *error)
{
    const cuda_libraries *nvrtc = &cuda->libraries;
    cuda_program program = NULL;
    int code = 0;

    if (nvrtc->program_create(&program, text, path, 0, NULL, NULL))
        return grove_fail(error, GROVE_DEVICE, "%s: %s: NVRTC does not take the text",
                          cuda->device.name, path);
    if (nvrtc->program_compile(program, count, options) || nvrtc->program_size(program, bytes) ||
        !*bytes)
        code = fail(cuda, program, path, error);
    if (!code) {
        *binary = grove_alloc(*bytes);
        if (nvrtc->program_binary(program, *binary)) {
            free(*binary);
            *binary = NULL;
            code = fail(cuda, program, path, error);
        }
    }
    nvrtc->program_destroy(&program);
    return code;
}

/* ---- the cache: each file begins with a line of its name and a hash of the code ---- */

static char *first_line(grove_hash key, const char *binary, size_t bytes)
{
    const grove_hash hash = grove_hash_add(grove_hash_start(), binary, bytes);

    return grove_format("grove kernels %016llx%016llx %016llx%016llx\n", (unsigned long long)key.a,
                        (unsigned long long)key.b, (unsigned long long)hash.a,
                        (unsigned long long)hash.b);
}

/* NULL: there is no such file, or it is damaged. Caller frees. */
static char *read_kept(const char *file, grove_hash key)
{
    size_t length = 0;
    char *content = grove_file_read(file, MAX_BINARY, false, &length, NULL);
    const char *end = content ? memchr(content, '\n', length) : NULL;
    char *binary = NULL;

    if (end) {
        const size_t head = (size_t)(end + 1 - content);
        char *line = first_line(key, end + 1, length - head);
        if (strlen(line) == head && !memcmp(line, content, head))
            binary = grove_copy(end + 1, length - head);
        free(line);
    }
    free(content);
    return binary;
}

/* Code that cannot be kept is compiled again in the next run. */
static void keep(const char *folder, const char *file, grove_hash key, const char *binary,
                 size_t bytes)
{
    grove_file *to = grove_folder_make(folder, NULL) ? NULL : grove_file_create(file, NULL);

    if (!to)
        return;
    char *line = first_line(key, binary, bytes);
    fputs(line, grove_file_stream(to));
    fwrite(binary, 1, bytes, grove_file_stream(to));
    grove_file_commit(to, NULL);
    free(line);
}

static char *compile_or_find(cuda_device *cuda, const char *path, const char *text,
                             grove_error *error)
{
    int major = 0, minor = 0;
    char *machine = grove_format("-arch=sm_%d", cuda->capability);
    const char *const options[] = {machine, "-std=c++17", "-default-device", "-w"};
    enum { OPTIONS = sizeof(options) / sizeof(*options) };
    char *cache = grove_cache_folder(), *folder = cache ? grove_path_join(cache, "kernels") : NULL;

    cuda->libraries.compiler_version(&major, &minor);
    grove_hash key = grove_hash_integer(grove_hash_integer(grove_hash_start(), major), minor);
    for (int k = 0; k < OPTIONS; k++)
        key = grove_hash_text(key, options[k]);
    key = grove_hash_text(key, text);
    char *file = folder ? grove_format("%s/%016llx%016llx", folder, (unsigned long long)key.a,
                                       (unsigned long long)key.b)
                        : NULL;
    char *binary = file ? read_kept(file, key) : NULL;
    size_t bytes = 0;
    if (!binary && !compile(cuda, path, text, options, OPTIONS, &binary, &bytes, error) && file)
        keep(folder, file, key, binary, bytes);
    free(file);
    free(folder);
    free(cache);
    free(machine);
    return binary;
}

char *cuda_compile(cuda_device *cuda, const char *path, const char *constants, grove_error *error)
{
    char *source = grove_file_read(path, MAX_TEXT, true, NULL, error), *binary = NULL;

    if (source && !grove_code_check_text(&cuda->device, path, source, error)) {
        char *text = grove_format("%s%s%s", constants, resident, source);
        binary = compile_or_find(cuda, path, text, error);
        free(text);
    }
    free(source);
    return binary;
}
