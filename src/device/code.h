/* Files of device code: they lie next to plugins, and have a kernel's name or its plugin's. */
#ifndef GROVE_DEVICE_CODE_H
#define GROVE_DEVICE_CODE_H

#include "cell.h"

/* The path of the file of a kernel with this ending, "fatbin". It is in the folder that
 * GROVE_DEVICE_KERNELS names; else next to the plugin (one folder up from libtool's .libs in a
 * build tree); for kernels of the library itself, next to the node classes. Where there is none,
 * the path next to the plugin. NULL when the kernel belongs to no plugin. The caller frees. */
char *grove_code_file(const grove_kernel *kernel, const char *ending);

#endif
