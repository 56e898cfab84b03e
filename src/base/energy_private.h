/* Counters of energy: found by their drivers, read together. */
#ifndef GROVE_BASE_ENERGY_PRIVATE_H
#define GROVE_BASE_ENERGY_PRIVATE_H

#include "base/energy.h"
#include "base/text.h"

typedef struct grove_energy_counter {
    grove_energy_kind kind;
    /* The number of microjoules; false with `message` (at least GROVE_ENERGY_MESSAGE_BYTES bytes).
     */
    bool (*read)(const struct grove_energy_counter *counter, uint64_t *value, char *message);
    char *path;          /* of powercap: the file */
    const void *library; /* of NVML: its functions */
    void *handle;        /* of NVML: the GPU */
    char *name;          /* "package-0", "cuda:0" */
    uint64_t range;      /* it begins anew after so much; 0: unknown or never */
    uint64_t last;       /* the last reading, at `when` */
    double when, joules;
    char *fault;  /* why the last reading failed; NULL: it did not */
    bool is_less; /* some energy was not seen */
} grove_energy_counter;

enum { GROVE_ENERGY_MESSAGE_BYTES = 512, GROVE_ENERGY_COUNTERS = 256 };

struct grove_energy_list {
    grove_energy_counter counter[GROVE_ENERGY_COUNTERS];
    int count;
    void *nvml;         /* its functions; freed with the list */
    grove_text missing; /* lines */
};

/* Adds counters that can be read, and lines about missing ones. */
void grove_energy_find_powercap(struct grove_energy_list *list);
void grove_energy_find_nvml(struct grove_energy_list *list, const grove_energy_device *devices,
                            int count);
/* Adds the counter with its first reading, or a line with the fault; its texts become the list's.
 */
void grove_energy_add(struct grove_energy_list *list, grove_energy_counter counter);

/* Seconds since the system was started, also those in which it slept. */
double grove_energy_clock(void);

#endif
