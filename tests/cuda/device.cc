// What the emulated driver says of itself and of its devices.
#include "tests/common/emulation.h"

#include <cstdio>
#include <map>

using namespace emulated;

extern "C" {
int cuDriverGetVersion(int *version)
{
    *version = grove_emulated_control()->version;
    return success;
}

int cuGetErrorString(int code, const char **text)
{
    static const std::map<int, const char *> texts = {
        {success, "no error"},
        {invalid_value, "invalid argument"},
        {out_of_memory, "out of memory"},
        {no_device, "no CUDA-capable device is detected"},
        {invalid_device, "invalid device ordinal"},
        {invalid_context, "invalid device context"},
        {file_not_found, "file not found"},
        {invalid_handle, "invalid resource handle"},
        {not_found, "named symbol not found"},
        {illegal_address, "an illegal memory access was encountered"},
        {launch_timeout, "the launch timed out and was terminated"},
        {launch_failed, "unspecified launch failure"}};
    auto found = texts.find(code);
    *text = found == texts.end() ? nullptr : found->second;
    return found == texts.end() ? invalid_value : success;
}

int cuDeviceGetCount(int *count)
{
    *count = control.devices;
    return success;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < control.devices ? success : invalid_device;
}

int cuDeviceGetName(char *name, int length, int)
{
    snprintf(name, (size_t)length, "Emulated device");
    return success;
}

int cuDeviceGetPCIBusId(char *place, int length, int device)
{
    snprintf(place, (size_t)length, "0000:%02x:00.0", (unsigned)device + 1);
    return success;
}

int cuDeviceGetAttribute(int *value, int attribute, int)
{
    enum { PROCESSORS = 16, THREADS = 39, MAJOR = 75, MINOR = 76 };
    *value = attribute == MAJOR        ? 9
             : attribute == PROCESSORS ? EMULATED_PROCESSORS
             : attribute == THREADS    ? EMULATED_THREADS
                                       : 0;
    return attribute == MINOR || *value ? success : invalid_value;
}

// Devices 0 and 1 have access to each other; for others the driver copies by way of the host.
int cuDeviceCanAccessPeer(int *possible, int device, int peer)
{
    *possible = device != peer && device < 2 && peer < 2;
    return success;
}
}
