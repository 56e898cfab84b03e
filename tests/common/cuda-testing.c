#include "cuda-testing.h"
#include "real-cuda.h"

#include "base/log.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic/arithmetic.h"
#include "kernel.h"

/* LeakSanitizer stops all threads and walks their stacks, which fails in blocks of the emulated
 * device. The emulation counts its leaks itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

const grove_kernel cuda_testing_add = GROVE_KERNEL(add_elements);

static const uint64_t USUAL_MEMORY = (uint64_t)4 << 30;

static bool real;
static emulated_control *control;

static void set_path(const char *variable, const char *below)
{
    const char *build = getenv("GROVE_BUILD");
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", build ? build : ".", below);
    setenv(variable, path, 1);
}

/* A fall-back to the cpu that no test asked for: by a fault, by little memory or in words. */
static bool may_fall_back;

static void see_message(const char *message)
{
    bool fault = control && control->fault && control->calls[control->fault] >= control->fault_at;
    bool asked = may_fall_back || fault || (control && control->memory < USUAL_MEMORY);

    /* clFFT's transforms have sizes without large prime factors */
    asked = asked || strstr(message, "clFFT has no transform");
    if (!asked && strstr(message, "the cpu computes"))
        ck_abort_msg("the cpu has to help: %s", message);
}

void cuda_testing_may_fall_back(void)
{
    may_fall_back = true;
}

const char *cuda_testing_kind(void)
{
    const char *wanted = getenv("GROVE_TEST_CUDA");

    return wanted && !strcmp(wanted, "opencl") ? "opencl" : "cuda";
}

const char *cuda_testing_device(const char *name)
{
    static char own[32];

    if (strncmp(name, "cuda", 4) != 0)
        return name;
    snprintf(own, sizeof(own), "%s%s", cuda_testing_kind(), name + 4);
    return own;
}

/* Devices are counted in this process; afterwards the driver cannot be used in child processes. */
static void skip_without_device(void)
{
    grove_error *error = grove_error_new();

    if (grove_device_count(cuda_testing_kind(), error) > 0) {
        grove_error_free(error);
        return;
    }
    printf("skipped: %s\n", grove_error_message(error, 0));
    grove_error_free(error);
    exit(77);
}

bool cuda_testing_begin(void)
{
    const char *wanted = getenv("GROVE_TEST_CUDA");
    char folder[256];

    grove_log_watch(see_message);
    real = real_cuda_wanted() || !strcmp(cuda_testing_kind(), "opencl");
    if (real) {
        set_path("GROVE_DEVICE_KERNELS", "nodes");
        setenv("CK_FORK", "no", 1);
        skip_without_device();
        real_cuda_keep();
        return false;
    }
    set_path("GROVE_CUDA_DRIVER", "tests/cuda/.libs/libcuda-emulated.so");
    snprintf(folder, sizeof(folder), "tests/cuda/%s", wanted ? wanted : "kernels");
    set_path("GROVE_DEVICE_KERNELS", folder);
    return true;
}

void cuda_testing_driver(bool there)
{
    static char usual[4096];
    const char *driver = getenv("GROVE_CUDA_DRIVER");

    if (!there) {
        snprintf(usual, sizeof(usual), "%s", driver ? driver : "");
        setenv("GROVE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    } else if (usual[0]) {
        setenv("GROVE_CUDA_DRIVER", usual, 1);
    } else {
        unsetenv("GROVE_CUDA_DRIVER");
    }
}

void cuda_testing_libraries(bool there)
{
    const char *driver = getenv("GROVE_CUDA_DRIVER");

    may_fall_back = may_fall_back || !there;
    if (!there)
        setenv("GROVE_CUDA_LIBRARIES", "none", 1);
    else if (!real && driver)
        setenv("GROVE_CUDA_LIBRARIES", driver, 1);
    else
        unsetenv("GROVE_CUDA_LIBRARIES");
}

emulated_control *cuda_testing_control(void)
{
    if (!real && !control) {
        void *library = dlopen(getenv("GROVE_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
        emulated_control *(*find)(void) = NULL;
        void *symbol = library ? dlsym(library, "grove_emulated_control") : NULL;
        memcpy(&find, &symbol, sizeof(find));
        ck_assert_msg(find != NULL, "no emulated driver: %s", dlerror());
        control = find();
    }
    return control;
}

void cuda_testing_reset(uint64_t seed)
{
    emulated_control *c = cuda_testing_control();

    may_fall_back = false;
    if (!c)
        return;
    c->seed = seed;
    c->memory = USUAL_MEMORY;
    c->devices = 1;
    c->version = EMULATED_NEW;
    c->local_bytes = 0;
    c->peer_copies = c->peers_enabled = 0;
    c->fault = EMULATED_NO_FAULT;
    c->fault_at = 0;
    c->host_addresses = 0;
    memset(c->calls, 0, sizeof(c->calls));
}

uint64_t cuda_testing_room(uint64_t bytes)
{
    const uint64_t LOCAL = (uint64_t)256 << 20; /* 1.6 kB for each thread of an H100: 156 MB */

    return bytes + (real ? LOCAL : 0);
}

grove_device *cuda_testing_open(uint64_t limit)
{
    grove_error *error = grove_error_new();
    grove_device *device = grove_device_open(cuda_testing_kind(), 0, limit, error);

    if (!device)
        ck_abort_msg("%s", grove_error_message(error, 0));
    grove_error_free(error);
    return device;
}

void cuda_testing_close(grove_device *device)
{
    const emulated_control *c = cuda_testing_control();

    grove_device_free(device);
    if (!c)
        return;
    ck_assert_int_eq(c->blocks, 0);
    ck_assert_int_eq(c->block_bytes, 0);
    ck_assert_int_eq(c->pinned, 0);
    ck_assert_int_eq(c->streams, 0);
    ck_assert_int_eq(c->events, 0);
    ck_assert_int_eq(c->modules, 0);
    ck_assert_int_eq(c->contexts, 0);
    ck_assert_int_eq(c->host_addresses, 0);
}

grove_args cuda_testing_sum(void *out, void *a, void *b, int64_t count)
{
    grove_view view = {.stride = {8}, .elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
    grove_args args = {.axes = 1, .inputs = 2, .size = {count}, .axis = {GROVE_AXIS_TIME}};

    args.out = args.in[0] = args.in[1] = view;
    args.out.data = out;
    args.in[0].data = a;
    args.in[1].data = b;
    return args;
}
