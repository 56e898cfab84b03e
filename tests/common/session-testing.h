/* Classes that record their calls: `samples`, an observation with numbers that follow from their
 * indices, some of them flagged; and `record`, an action that keeps its inputs. */
#ifndef GROVE_TESTS_SESSION_TESTING_H
#define GROVE_TESTS_SESSION_TESTING_H

#include "run/session.h"
#include "testing.h"

enum {
    SAMPLES_TIMES = 7,
    SAMPLES_STATIONS = 4,
    SAMPLES_BASELINES = 6,
    SAMPLES_CHANNELS = 5,
    SAMPLES_SOURCES = 3,
    SAMPLES_CELLS = SAMPLES_TIMES * SAMPLES_BASELINES * SAMPLES_CHANNELS
};

/* Members of `samples`: data [time baseline freq] complex matrix with flags; jones [time station]
 * complex matrix; flux [source freq] real; gain [freq] complex. */
double samples_number(int member, int64_t i, int64_t j, int64_t k, int element, int part);
bool samples_flagged(int64_t time, int64_t baseline, int64_t channel, int element);

typedef struct {
    grove_classes *classes;
    grove_error *error;
    grove_tree *tree;
    /* counts of calls, and calls that fail: the n-th, from 1 on */
    void (*read)(void); /* before each read; NULL: nothing */
    int reads, begins, writes, finishes, aborts;
    int fail_read, fail_begin, fail_write, fail_finish, interrupt_write;
    /* what `record` received: its first input, in order of storage */
    int64_t cells_written;
    int places[SAMPLES_CELLS]; /* number of times that each cell came */
    double numbers[SAMPLES_CELLS][8];
    unsigned char flags[SAMPLES_CELLS];
} session_test;

extern session_test now;

void session_test_begin(void);
void session_test_end(void);
/* Builds the tree of these lines after `o = samples()`. */
void session_test_tree(const char *text);
/* A session for it, on the device named by GROVE_TEST_DEVICE unless the options name one (default:
 * cpu). */
grove_session *session_test_session(const grove_session_options *options);
grove_node *session_test_node(const char *name);

#endif
