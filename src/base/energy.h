/* Energy that the machine has taken, from counters of the system: RAPL of processors and memory,
 * through Linux' powercap, and NVML of NVIDIA's GPUs. Counters are of whole packages and cards: the
 * work of other programs is in them, too. */
#ifndef GROVE_BASE_ENERGY_H
#define GROVE_BASE_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    GROVE_ENERGY_PROCESSOR, /* packages with their cores, caches and controllers */
    GROVE_ENERGY_MEMORY,    /* dram, which is in no package */
    GROVE_ENERGY_PLATFORM,  /* psys: the whole board, packages and memory too */
    GROVE_ENERGY_DEVICE,    /* GPUs with their memory */
    GROVE_ENERGY_KINDS
} grove_energy_kind;

/* A GPU: "cuda:0", and its place on the bus, "0000:3b:00.0". */
typedef struct {
    const char *name, *place;
} grove_energy_device;

typedef struct grove_energy grove_energy;

/* Opens all readable counters, and takes the first reading: domains below /sys/class/powercap (the
 * environment variable GROVE_POWERCAP names another folder), and counters of `count` GPUs by
 * libnvidia-ml.so.1 (GROVE_NVML another library; without it none where GROVE_CUDA_DRIVER is set).
 * Sub-domains of a package are not counted besides it. Never NULL. */
grove_energy *grove_energy_open(const grove_energy_device *devices, int count);
void grove_energy_free(grove_energy *energy); /* NULL is fine */
/* Reads all counters and adds up: joules since they were opened, of each kind. Safe from any
 * thread. At least once in a minute, else a counter may begin anew twice: then the sum is known
 * to be too small, and grove_energy_missing says so. */
void grove_energy_read(grove_energy *energy, double joules[GROVE_ENERGY_KINDS]);
/* Whether there is a counter of this kind. */
bool grove_energy_has(const grove_energy *energy, grove_energy_kind kind);
/* The sum of `joules` that counts nothing twice: processors, memory and GPUs; where there is no
 * counter of a processor the platform in place of it and of memory. */
double grove_energy_total(const grove_energy *energy, const double joules[GROVE_ENERGY_KINDS]);
/* Counters missing in the sums, with the remedy: a line for each fault; "" where nothing is
 * missing. Caller frees. */
char *grove_energy_missing(grove_energy *energy);

/* The energy from one reading of a counter of microjoules to the next, `seconds` later; the counter
 * begins anew after `range` (0: unknown). False where the result is too small or unknown: the
 * counter may have begun anew more than once, or was set to 0. */
bool grove_energy_step(uint64_t before, uint64_t after, uint64_t range, double seconds,
                       double *joules);

/* "12.3 kJ" into buf (at least 32 bytes), returning buf. */
char *grove_show_joules(char *buf, double joules);

#endif
