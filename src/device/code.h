/* Code of kernels for devices: its files, which lie next to plugins and have a kernel's name or its
 * plugin's, and the functions that a device has loaded. */
#ifndef GROVE_DEVICE_CODE_H
#define GROVE_DEVICE_CODE_H

#include "device/device.h"

/* The path of the file of a kernel with this ending, "fatbin". It is in the folder that
 * GROVE_DEVICE_KERNELS names; else next to the plugin (one folder up from libtool's .libs in a
 * build tree); for kernels of the library itself, next to the node classes. Where there is none,
 * the path next to the plugin. NULL when the kernel belongs to no plugin. The caller frees. */
char *grove_code_file(const grove_kernel *kernel, const char *ending);

/* Modules of files, each with constants, and functions of kernels in them. */
typedef struct {
    const grove_kernel *kernel;
    int32_t tuned[GROVE_TUNABLES]; /* values of the tunables that it declares */
    void *function[2];             /* of each precision; NULL: not looked for yet */
    bool missing[2];               /* looked for and not found */
} grove_code_function;

typedef struct {
    char *path, *constants;
    void *module;
} grove_code_module;

typedef struct {
    grove_code_function *functions;
    size_t function_count, function_capacity;
    grove_code_module *modules;
    size_t module_count, module_capacity;
} grove_code;

/* How a device loads code. */
typedef struct {
    /* The ending of the file for these values of the kernel's tunables, and whether they become
     * constants, "#define BLOCK 64" a line, before its text. */
    const char *(*ending)(grove_device *device, const grove_kernel *kernel,
                          const int32_t tuned[GROVE_TUNABLES], bool *constants);
    int (*module)(grove_device *device, const char *path, const char *constants, void **module,
                  grove_error *error);
    int (*function)(grove_device *device, void *module, const char *name, void **function,
                    grove_error *error);
} grove_code_loader;

/* The function of a kernel; its module is loaded if needed. GROVE_MISSING when there is no code
 * for the device, GROVE_ABI when it is of another Grove, else a code of the loader. The first
 * failure is reported; later ones are GROVE_MISSING without a message. */
int grove_code_find(grove_code *code, const grove_code_loader *loader, grove_device *device,
                    const grove_kernel *kernel, const int32_t tuned[GROVE_TUNABLES],
                    bool double_precision, void **function, grove_error *error);

/* GROVE_ABI when a text was made from the headers of another Grove. */
int grove_code_check_text(const grove_device *device, const char *path, const char *text,
                          grove_error *error);

/* Frees the lists, not the modules and functions of the device. */
void grove_code_free(grove_code *code);

#endif
