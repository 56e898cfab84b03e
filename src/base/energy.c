#include "base/energy_private.h"

#include "base/memory.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct grove_energy {
    struct grove_energy_list list;
    pthread_mutex_t lock;
};

double grove_energy_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* No package takes a kilowatt for long, and none ten. */
bool grove_energy_step(uint64_t before, uint64_t after, uint64_t range, double seconds,
                       double *joules)
{
    enum { MAX_WATT = 1000, IMPOSSIBLE_WATT = 10000 };
    uint64_t step = after - before;

    *joules = 0;
    if (after < before && (!range || before > range))
        return false;
    if (after < before)
        step = range - before + after;
    if ((double)step * 1e-6 > IMPOSSIBLE_WATT * (seconds + 1))
        return false; /* set to 0 between, such as by a driver that was loaded anew */
    *joules = (double)step * 1e-6;
    return !range || (double)range * 1e-6 > MAX_WATT * seconds;
}

void grove_energy_add(struct grove_energy_list *list, grove_energy_counter counter)
{
    char message[GROVE_ENERGY_MESSAGE_BYTES];

    if (list->count == GROVE_ENERGY_COUNTERS)
        snprintf(message, sizeof(message), "%s: only %d counters of energy are read", counter.name,
                 GROVE_ENERGY_COUNTERS);
    else if (counter.read(&counter, &counter.last, message)) {
        counter.when = grove_energy_clock();
        list->counter[list->count++] = counter;
        return;
    }
    grove_text_add(&list->missing, "%s\n", message);
    free(counter.path);
    free(counter.name);
}

grove_energy *grove_energy_open(const grove_energy_device *devices, int count)
{
    grove_energy *energy = grove_alloc(sizeof(*energy));

    pthread_mutex_init(&energy->lock, NULL);
    grove_energy_find_powercap(&energy->list);
    if (count)
        grove_energy_find_nvml(&energy->list, devices, count);
    return energy;
}

void grove_energy_free(grove_energy *energy)
{
    if (!energy)
        return;
    for (int k = 0; k < energy->list.count; k++) {
        free(energy->list.counter[k].path);
        free(energy->list.counter[k].name);
        free(energy->list.counter[k].fault);
    }
    free(energy->list.nvml);
    free(energy->list.missing.at);
    pthread_mutex_destroy(&energy->lock);
    free(energy);
}

/* A reading that fails loses nothing if a later one succeeds in time. */
static void read_counter(grove_energy_counter *c)
{
    char message[GROVE_ENERGY_MESSAGE_BYTES];
    uint64_t value;
    double joules;

    free(c->fault);
    c->fault = NULL;
    if (!c->read(c, &value, message)) {
        c->fault = grove_strdup(message);
        return;
    }
    double now = grove_energy_clock();
    if (!grove_energy_step(c->last, value, c->range, now - c->when, &joules))
        c->is_less = true;
    c->joules += joules;
    c->last = value;
    c->when = now;
}

void grove_energy_read(grove_energy *energy, double joules[GROVE_ENERGY_KINDS])
{
    for (int kind = 0; kind < GROVE_ENERGY_KINDS; kind++)
        joules[kind] = 0;
    pthread_mutex_lock(&energy->lock);
    for (int k = 0; k < energy->list.count; k++) {
        read_counter(&energy->list.counter[k]);
        joules[energy->list.counter[k].kind] += energy->list.counter[k].joules;
    }
    pthread_mutex_unlock(&energy->lock);
}

bool grove_energy_has(const grove_energy *energy, grove_energy_kind kind)
{
    for (int k = 0; k < energy->list.count; k++)
        if (energy->list.counter[k].kind == kind)
            return true;
    return false;
}

double grove_energy_total(const grove_energy *energy, const double joules[GROVE_ENERGY_KINDS])
{
    double host = joules[GROVE_ENERGY_PROCESSOR] + joules[GROVE_ENERGY_MEMORY];

    if (!grove_energy_has(energy, GROVE_ENERGY_PROCESSOR) &&
        grove_energy_has(energy, GROVE_ENERGY_PLATFORM))
        host = joules[GROVE_ENERGY_PLATFORM];
    return host + joules[GROVE_ENERGY_DEVICE];
}

char *grove_energy_missing(grove_energy *energy)
{
    grove_text text = {0};

    pthread_mutex_lock(&energy->lock);
    grove_text_add(&text, "%s", energy->list.missing.at ? energy->list.missing.at : "");
    for (int k = 0; k < energy->list.count; k++) {
        const grove_energy_counter *c = &energy->list.counter[k];
        if (c->fault)
            grove_text_add(&text, "%s; the sum does not include its last part\n", c->fault);
        else if (c->is_less)
            grove_text_add(&text,
                           "%s: it may have restarted at 0 more than once between two readings; "
                           "the sum may be too small\n",
                           c->path ? c->path : c->name);
    }
    pthread_mutex_unlock(&energy->lock);
    return text.at;
}

char *grove_show_joules(char *buf, double joules)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e9, "GJ"}, {1e6, "MJ"}, {1e3, "kJ"}, {1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}};
    size_t k = 0;

    while (k + 1 < sizeof(units) / sizeof(units[0]) && fabs(joules) < 0.9995 * units[k].unit)
        k++;
    if (joules == 0)
        snprintf(buf, 32, "0 J");
    else
        snprintf(buf, 32, "%.*f %s",
                 fabs(joules) < 9.995 * units[k].unit   ? 2
                 : fabs(joules) < 99.95 * units[k].unit ? 1
                                                        : 0,
                 joules / units[k].unit, units[k].name);
    return buf;
}
