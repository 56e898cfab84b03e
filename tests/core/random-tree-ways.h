/* Ways to evaluate a random tree in a session: tiles, threads, precision, instructions, memory,
 * devices, by requesting a value or by an action. */
#ifndef GROVE_TESTS_RANDOM_TREE_WAYS_H
#define GROVE_TESTS_RANDOM_TREE_WAYS_H

#include "random-tree.h"

#include "grove.h"
#include "tests/common/emulation.h"

typedef enum { RANDOM_CPU, RANDOM_CUDA } random_device;

/* Ways of one device and precision agree bit by bit, except with other instructions. */
typedef struct {
    const char *name;
    random_device device;
    bool single;
    const char *tiles; /* of the axes t(ime), f(req), b(aseline), with sizes by the seed; or "" */
    int threads;       /* 0: the default */
    bool cache_off, serial;
    bool runs;       /* by an action; else the value is requested */
    uint64_t memory; /* bytes, 0: the default */
    const char *isa; /* "avx2", ...; NULL: the best */
    int devices;     /* number of emulated devices */
} random_way;

enum { RANDOM_WAYS = 25 };
extern const random_way random_ways[RANDOM_WAYS];

typedef struct {
    grove_library *library;
    emulated_control *devices; /* NULL: this build lacks it, or `real` */
    bool real;                 /* the machine's own GPU, by GROVE_TEST_CUDA=real */
    char file[64];             /* that actions write */
} random_setting;

/* Finds modules and devices in the build folder. */
void random_setting_begin(random_setting *setting);
void random_setting_end(random_setting *setting);

/* The ways for a seed, as bits, always with the first way of a device and precision. `predicts`:
 * instructions matter; `all`: all available ways. */
unsigned random_ways_of(const random_setting *setting, uint64_t seed, bool predicts, bool all);

/* Numbers in the order of random_value; 0 where they are flagged. */
typedef struct {
    int64_t numbers;
    double (*at)[2];
    unsigned char *flags;
} random_result;

void random_result_free(random_result *result);

enum { RANDOM_FAULT = 2000 };

/* Evaluates the root. False, with the reason, when it fails or its form is wrong. */
bool random_way_evaluate(const random_setting *setting, const random_way *way,
                         const random_tree *tree, const char *text, random_result *result,
                         char fault[RANDOM_FAULT]);
/* Options that it evaluates with. */
grove_session_options random_way_options(const random_way *way, const random_tree *tree);
/* Whether a sum over sources became predict. */
bool random_tree_is_fused(const random_setting *setting, const random_tree *tree, const char *text);

#endif
