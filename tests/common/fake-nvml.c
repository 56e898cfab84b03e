/* A library that answers as NVML does, for two GPUs: 0000:01:00.0 with FAKE_NVML_ENERGY mJ and
 * FAKE_NVML_STEP more for each reading so far, and 0000:02:00.0 with twice that. FAKE_NVML_INIT and
 * FAKE_NVML_READ are codes of errors. */
#include <stdlib.h>
#include <string.h>

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **device);
int nvmlDeviceGetTotalEnergyConsumption(const void *device, unsigned long long *millijoules);
const char *nvmlErrorString(int code);

static long number(const char *name)
{
    const char *given = getenv(name);

    return given ? atol(given) : 0;
}

int nvmlInit_v2(void)
{
    return (int)number("FAKE_NVML_INIT");
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **device)
{
    static char gpus[2];

    if (strcmp(place, "0000:01:00.0") != 0 && strcmp(place, "0000:02:00.0") != 0)
        return 6;
    gpus[0] = 1;
    gpus[1] = 2;
    *device = &gpus[place[6] - '1'];
    return 0;
}

#ifndef WITHOUT_ENERGY
int nvmlDeviceGetTotalEnergyConsumption(const void *device, unsigned long long *millijoules)
{
    static long readings;
    const long energy = number("FAKE_NVML_ENERGY") + number("FAKE_NVML_STEP") * readings++;

    *millijoules = (unsigned long long)energy * *(const unsigned char *)device;
    return (int)number("FAKE_NVML_READ");
}
#endif

const char *nvmlErrorString(int code)
{
    return code == 3   ? "Not Supported"
           : code == 4 ? "Insufficient Permissions"
           : code == 6 ? "Not Found"
           : code == 9 ? "Driver Not Loaded"
                       : "Unknown Error";
}
