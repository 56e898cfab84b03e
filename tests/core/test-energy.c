/* Energy: recorded and faulty readings of powercap, NVML by a library that stands for it, and the
 * division of a run's energy among its nodes, against sums by hand. */
#include "tests/common/session-testing.h"

#include "base/energy.h"
#include "base/file.h"
#include "base/text.h"
#include "report/report.h"
#include "run/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/grove-energy-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("GROVE_POWERCAP", folder, 1);
    setenv("GROVE_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    unsetenv("FAKE_NVML_INIT");
    unsetenv("FAKE_NVML_READ");
}

static void teardown(void)
{
    grove_path_remove(folder, NULL);
}

static void put(const char *domain, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, domain);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/%s/%s", folder, domain, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void make(const char *domain, const char *name, const char *range, const char *energy)
{
    put(domain, "name", name);
    put(domain, "max_energy_range_uj", range);
    put(domain, "energy_uj", energy);
}

static void expect_missing(grove_energy *energy, const char *text)
{
    char *missing = grove_energy_missing(energy), *wanted = suite_text(text, folder, folder);

    ck_assert_str_eq(missing, wanted);
    free(missing);
}

#define RANGE "262143328850\n"

/* As a machine with two packages, their parts, memory, and a board shows it. */
TEST(packages)
{
    double joules[GROVE_ENERGY_KINDS];

    make("intel-rapl:0", "package-0\n", RANGE, "1000000\n");
    make("intel-rapl:0:0", "core\n", RANGE, "1000000\n");
    make("intel-rapl:0:1", "uncore\n", RANGE, "1000000\n");
    make("intel-rapl:0:2", "dram\n", RANGE, "5000000\n");
    make("intel-rapl:1", "package-1\n", RANGE, "262143328850\n");
    make("intel-rapl:1:0", "dram\n", "65712999613\n", "65712999612\n");
    make("intel-rapl:2", "psys\n", RANGE, "7\n");
    make("intel-rapl-mmio:0", "package-0\n", RANGE, "1000000\n");
    make("dtpm", "dtpm\n", RANGE, "0\n");
    put("intel-rapl", "enabled", "1\n");
    grove_energy *energy = grove_energy_open(NULL, 0);
    expect_missing(energy, "");
    make("intel-rapl:0", "package-0\n", RANGE, "3500000\n");      /* 2.5 J */
    make("intel-rapl:0:0", "core\n", RANGE, "9000000\n");         /* in the package */
    make("intel-rapl:0:1", "uncore\n", RANGE, "9000000\n");       /* in the package */
    make("intel-rapl:0:2", "dram\n", RANGE, "5250000\n");         /* 0.25 J */
    make("intel-rapl:1", "package-1\n", RANGE, "500000\n");       /* 0.5 J, from its end on */
    make("intel-rapl:1:0", "dram\n", "65712999613\n", "99999\n"); /* 0.1 J, across its end */
    make("intel-rapl:2", "psys\n", RANGE, "8000007\n");           /* 8 J, in which all is */
    make("intel-rapl-mmio:0", "package-0\n", RANGE, "9000000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PROCESSOR], 3, 1e-12);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_MEMORY], 0.35, 1e-12);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PLATFORM], 8, 1e-12);
    ck_assert_double_eq_tol(grove_energy_total(energy, joules), 3.35, 1e-12);
    make("intel-rapl:0", "package-0\n", RANGE, "3500001\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PROCESSOR], 3.000001, 1e-12);
    expect_missing(energy, "");
    grove_energy_free(energy);
}

/* Only the board has a counter; only a driver by memory-mapped registers; a package twice. */
TEST(other_machines)
{
    double joules[GROVE_ENERGY_KINDS];

    make("intel-rapl-mmio:0", "package-0\n", RANGE, "0\n");
    grove_energy *energy = grove_energy_open(NULL, 0);
    put("intel-rapl-mmio:0", "energy_uj", "40000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(grove_energy_total(energy, joules), 0.04, 1e-12);
    grove_energy_free(energy);

    make("intel-rapl:1", "psys\n", RANGE, "0\n");
    make("intel-rapl:0:0", "dram\n", RANGE, "0\n");
    energy = grove_energy_open(NULL, 0);
    put("intel-rapl:1", "energy_uj", "2000000\n");
    put("intel-rapl:0:0", "energy_uj", "1000000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(grove_energy_total(energy, joules), 2, 1e-12);
    grove_energy_free(energy);

    make("intel-rapl:2", "package-0\n", RANGE, "0\n");
    make("intel-rapl:3", "package-0\n", RANGE, "0\n");
    energy = grove_energy_open(NULL, 0);
    put("intel-rapl:2", "energy_uj", "3000000\n");
    put("intel-rapl:3", "energy_uj", "3000000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PROCESSOR], 3, 1e-12);
    grove_energy_free(energy);
}

TEST(steps)
{
    const uint64_t range = 262143328850;
    double joules;

    ck_assert(grove_energy_step(5, 5, range, 1, &joules) && joules == 0);
    ck_assert(grove_energy_step(range, 0, range, 1, &joules) && joules == 0);
    ck_assert(grove_energy_step(range - 1, 1, range, 1, &joules));
    ck_assert_double_eq_tol(joules, 2e-6, 1e-18);
    ck_assert(grove_energy_step(0, 250000000, range, 1, &joules));
    ck_assert_double_eq_tol(joules, 250, 1e-9);
    /* 262 kJ take 262 s of a kilowatt: after that it may have begun anew twice */
    ck_assert(grove_energy_step(0, 1000000, range, 262, &joules));
    ck_assert(!grove_energy_step(0, 1000000, range, 263, &joules));
    ck_assert_double_eq_tol(joules, 1, 1e-12);
    /* set to 0 by a driver that was loaded anew: no 262 kJ in a second */
    ck_assert(!grove_energy_step(200000000, 1000000, range, 1, &joules));
    ck_assert(joules == 0);
    /* without a range a counter never begins anew */
    ck_assert(!grove_energy_step(6, 5, 0, 1, &joules) && joules == 0);
    ck_assert(grove_energy_step(5, 6, 0, 1e6, &joules));
    ck_assert(!grove_energy_step(range + 1, 5, range, 1, &joules) && joules == 0);
}

static const struct {
    const char *text, *said;
} garbage[] = {
    {"", "'' is not a number of microjoules"},
    {"\n", "'' is not a number of microjoules"},
    {"many\n", "'many' is not a number of microjoules"},
    {"-5\n", "'-5' is not a number of microjoules"},
    {" 5\n", "' 5' is not a number of microjoules"},
    {"12e3\n", "'12e3' is not a number of microjoules"},
    {"1 2\n", "'1 2' is not a number of microjoules"},
    {"\x1b[2J\n", "'\\x1b[2J' is not a number of microjoules"},
    {"99999999999999999999\n", "'99999999999999999999' is not a number of microjoules"},
    {"262143328851\n", "262143328851 is more than max_energy_range_uj, 262143328850"},
};
enum { GARBAGE = sizeof(garbage) / sizeof(garbage[0]) };

/* At the start such a counter is left out; later the reading, until there is a better one. */
LOOP_TEST(garbage_is_named, 0, GARBAGE)
{
    double joules[GROVE_ENERGY_KINDS];
    char *at_first = suite_text("%%s/intel-rapl:0/energy_uj: %s\n", garbage[_i].said),
         *later =
             suite_text("%%s/intel-rapl:0/energy_uj: %s; the sum does not include its last part\n",
                        garbage[_i].said);

    make("intel-rapl:0", "package-0\n", RANGE, garbage[_i].text);
    grove_energy *energy = grove_energy_open(NULL, 0);
    ck_assert(!grove_energy_has(energy, GROVE_ENERGY_PROCESSOR));
    expect_missing(energy, at_first);
    grove_energy_free(energy);
    put("intel-rapl:0", "energy_uj", "1000000\n");
    energy = grove_energy_open(NULL, 0);
    put("intel-rapl:0", "energy_uj", garbage[_i].text);
    grove_energy_read(energy, joules);
    ck_assert(joules[GROVE_ENERGY_PROCESSOR] == 0);
    expect_missing(energy, later);
    put("intel-rapl:0", "energy_uj", "1500000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PROCESSOR], 0.5, 1e-12);
    expect_missing(energy, "");
    grove_energy_free(energy);
}

/* Files that go, and come back; a counter that is set to 0. */
TEST(files_vanish)
{
    double joules[GROVE_ENERGY_KINDS];
    char path[256];

    make("intel-rapl:0", "package-0\n", RANGE, "1000000\n");
    make("intel-rapl:1", "package-1\n", RANGE, "100000000000\n");
    grove_energy *energy = grove_energy_open(NULL, 0);
    put("intel-rapl:0", "energy_uj", "2000000\n");
    grove_energy_read(energy, joules);
    snprintf(path, sizeof(path), "%s/intel-rapl:0", folder);
    grove_path_remove(path, NULL);
    put("intel-rapl:1", "energy_uj", "100003000000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PROCESSOR], 4, 1e-12);
    expect_missing(energy, "%s/intel-rapl:0/energy_uj: No such file or directory; the sum does not "
                           "include its last part\n");
    make("intel-rapl:0", "package-0\n", RANGE, "2500000\n");
    put("intel-rapl:1", "energy_uj", "5\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PROCESSOR], 4.5, 1e-12);
    expect_missing(energy, "%s/intel-rapl:1/energy_uj: it may have restarted at 0 more than once "
                           "between two readings; the sum may be too small\n");
    grove_energy_free(energy);
}

/* No folder, no domains, none that counts, no range. */
TEST(no_domains)
{
    grove_energy *energy = grove_energy_open(NULL, 0);
    double joules[GROVE_ENERGY_KINDS];

    expect_missing(energy,
                   "%s: there are no domains of RAPL; the kernel's module intel_rapl_msr (for "
                   "Intel and AMD) makes them, on machines that are not virtual\n");
    grove_energy_read(energy, joules);
    ck_assert(grove_energy_total(energy, joules) == 0);
    grove_energy_free(energy);
    make("intel-rapl:0", "core\n", RANGE, "0\n");
    make("intel-rapl:0x", "package-0\n", RANGE, "0\n");
    energy = grove_energy_open(NULL, 0);
    ck_assert(!grove_energy_has(energy, GROVE_ENERGY_PROCESSOR));
    grove_energy_free(energy);
    make("intel-rapl:0", "package-0\n", "none\n", "1000000\n");
    put("intel-rapl:1", "energy_uj", "0\n");
    energy = grove_energy_open(NULL, 0);
    expect_missing(energy, "%s/intel-rapl:1/name: No such file or directory\n");
    put("intel-rapl:0", "energy_uj", "3000000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_PROCESSOR], 2, 1e-12);
    grove_energy_free(energy);
}

/* Run in a process of a user who is not root. */
static void look_without_permission(int count)
{
    grove_energy *energy = grove_energy_open(NULL, 0);

    ck_assert(!grove_energy_has(energy, GROVE_ENERGY_PROCESSOR));
    expect_missing(energy, count > 1
                               ? "%s/intel-rapl:0/energy_uj and 1 others: no permission to read "
                                 "them; root allows it until the next start by chmod a+r "
                                 "%s/intel-rapl:*/energy_uj\n"
                               : "%s/intel-rapl:0/energy_uj: no permission to read it; root allows "
                                 "it until the next start by chmod a+r on this file\n");
    grove_energy_free(energy);
}

LOOP_TEST(no_permission, 0, 2)
{
    char path[256];
    int status = -1;

    for (int k = 0; k <= _i; k++) {
        char domain[32], name[32];
        snprintf(domain, sizeof(domain), "intel-rapl:%d", k);
        snprintf(name, sizeof(name), "package-%d\n", k);
        make(domain, name, RANGE, "1\n");
        snprintf(path, sizeof(path), "%s/%s/energy_uj", folder, domain);
        chmod(path, 0000);
    }
    chmod(folder, 0755);
    pid_t child = fork();
    if (!child) {
        if (!geteuid() && (setgid(65534) || setuid(65534)))
            _exit(77);
        look_without_permission(_i + 1);
        _exit(0);
    }
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert_int_eq(status, 0);
}

static void set_nvml(const char *name)
{
    setenv("GROVE_NVML", suite_text("%s/tests/common/.libs/%s", getenv("GROVE_BUILD"), name), 1);
    setenv("FAKE_NVML_ENERGY", "1000", 1);
}

static const grove_energy_device gpus[] = {{"cuda:0", "0000:01:00.0"}, {"cuda:1", "0000:02:00.0"}};

TEST(two_gpus)
{
    double joules[GROVE_ENERGY_KINDS];

    make("intel-rapl:0", "package-0\n", RANGE, "0\n");
    set_nvml("fake-nvml.so");
    grove_energy *energy = grove_energy_open(gpus, 2);
    expect_missing(energy, "");
    setenv("FAKE_NVML_ENERGY", "3500", 1);
    put("intel-rapl:0", "energy_uj", "1000000\n");
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_DEVICE], 2.5 + 5, 1e-12);
    ck_assert_double_eq_tol(grove_energy_total(energy, joules), 8.5, 1e-12);
    /* a driver that was loaded anew counts from 0 on */
    setenv("FAKE_NVML_ENERGY", "10", 1);
    grove_energy_read(energy, joules);
    ck_assert_double_eq_tol(joules[GROVE_ENERGY_DEVICE], 7.5, 1e-12);
    expect_missing(energy, "cuda:0: it may have restarted at 0 more than once between two "
                           "readings; the sum may be too small\ncuda:1: it may have restarted at 0 "
                           "more than once between two readings; the sum may be too small\n");
    setenv("FAKE_NVML_READ", "9", 1);
    grove_energy_read(energy, joules);
    expect_missing(energy, "cuda:0: NVML cannot read its energy: Driver Not Loaded; the sum does "
                           "not include its last part\ncuda:1: NVML cannot read its energy: Driver "
                           "Not Loaded; the sum does not include its last part\n");
    grove_energy_free(energy);
}

TEST(nvml_faults)
{
    static const grove_energy_device other[] = {{"cuda:0", "0000:07:00.0"}};

    make("intel-rapl:0", "package-0\n", RANGE, "0\n");
    grove_energy *energy = grove_energy_open(gpus, 1);
    ck_assert(!grove_energy_has(energy, GROVE_ENERGY_DEVICE));
    expect_missing(energy,
                   "GPUs: /nowhere/libnvidia-ml.so.1: cannot open shared object file: No such file "
                   "or directory; NVML comes with NVIDIA's driver, and into a container with the "
                   "driver's capability 'utility'\n");
    grove_energy_free(energy);
    /* without GPUs nobody asks for the library */
    energy = grove_energy_open(NULL, 0);
    expect_missing(energy, "");
    grove_energy_free(energy);

    set_nvml("fake-nvml-old.so");
    energy = grove_energy_open(gpus, 1);
    char *missing = grove_energy_missing(energy);
    ck_assert_ptr_nonnull(strstr(missing, "fake-nvml-old.so has no "
                                          "nvmlDeviceGetTotalEnergyConsumption; a driver of 2018 "
                                          "or newer has it\n"));
    free(missing);
    grove_energy_free(energy);

    set_nvml("fake-nvml.so");
    energy = grove_energy_open(other, 1);
    expect_missing(energy, "cuda:0: NVML finds no GPU at 0000:07:00.0: Not Found\n");
    grove_energy_free(energy);
    setenv("FAKE_NVML_READ", "3", 1);
    energy = grove_energy_open(gpus, 1);
    expect_missing(energy,
                   "cuda:0: NVML cannot read its energy: Not Supported; GPUs since Volta have a "
                   "counter, unless a virtual machine hides it\n");
    grove_energy_free(energy);
    setenv("FAKE_NVML_READ", "4", 1);
    energy = grove_energy_open(gpus, 1);
    expect_missing(energy, "cuda:0: NVML cannot read its energy: Insufficient Permissions; the "
                           "driver allows it to root alone\n");
    grove_energy_free(energy);
    setenv("FAKE_NVML_INIT", "9", 1);
    energy = grove_energy_open(gpus, 1);
    missing = grove_energy_missing(energy);
    ck_assert_ptr_nonnull(strstr(missing, "does not answer: Driver Not Loaded\n"));
    free(missing);
    grove_energy_free(energy);
}

/* ---- runs ---- */

/* Times of nodes are given by hand, much longer than the test, so that nothing is left. */
TEST(shares)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.energy = true, .device = "cpu", .serial = true);

    make("intel-rapl:0", "package-0\n", RANGE, "0\n");
    make("intel-rapl:0:0", "dram\n", RANGE, "0\n");
    session_test_begin();
    session_test_tree("x = 2 * o.data\ny = x + o.data\nr = record(y)\n");
    grove_session *session = session_test_session(&options);
    grove_meter *meter = grove_report_meter(session);
    ck_assert_ptr_nonnull(meter);
    ck_assert(session->node_count >= 3);
    grove_meter_begin(meter);
    session->nodes[0].seconds += 1e6;
    session->nodes[1].seconds += 3e6;
    put("intel-rapl:0", "energy_uj", "6000000\n");
    put("intel-rapl:0:0", "energy_uj", "2000000\n");
    usleep(11000);
    grove_meter_event(meter); /* 8 J, 1 : 3 */
    ck_assert_double_eq_tol(session->nodes[0].joules, 2, 1e-6);
    ck_assert_double_eq_tol(session->nodes[1].joules, 6, 1e-6);
    session->nodes[2].seconds += 1e6;
    put("intel-rapl:0", "energy_uj", "10000000\n");
    grove_meter_end(meter); /* 4 J, all to the third */
    ck_assert_double_eq_tol(session->nodes[0].joules, 2, 1e-6);
    ck_assert_double_eq_tol(session->nodes[2].joules, 4, 1e-6);
    const grove_counters *c = grove_session_counters(session);
    ck_assert_double_eq_tol(c->processor_joules, 10, 1e-9);
    ck_assert_double_eq_tol(c->memory_joules, 2, 1e-9);
    ck_assert_double_eq_tol(c->host_joules, 12, 1e-9);
    /* a second run adds, and what was taken between them is nobody's */
    put("intel-rapl:0", "energy_uj", "90000000\n");
    grove_meter_begin(meter);
    put("intel-rapl:0", "energy_uj", "91000000\n");
    grove_meter_end(meter); /* no node was busy */
    ck_assert_double_eq_tol(c->host_joules, 13, 1e-9);
    ck_assert_double_eq_tol(session->nodes[0].joules, 2, 1e-6);
    char *text = suite_keep(grove_session_energy(session));
    ck_assert_ptr_nonnull(strstr(text, "energy 13.0 J in "));
    ck_assert_ptr_nonnull(strstr(text, ": processors 11.0 J, memory 2.00 J"));
    ck_assert_ptr_nonnull(strstr(text, "\n\nclass                              energy   of all\n"));
    ck_assert_ptr_nonnull(strstr(text, "(rest)                             1.00 J    7.7 %\n"));
    grove_session_free(session);
    session_test_end();
}

/* A whole run: what classes have is the whole; without the option nothing is measured. */
LOOP_TEST(whole_runs, 0, 2)
{
    const grove_session_options options = GROVE_SESSION_OPTIONS(.energy = _i > 0, .device = "cpu");

    make("intel-rapl:0", "package-0\n", RANGE, "262143328000\n");
    session_test_begin();
    session_test_tree("x = 2 * o.data\nr = record(x)\n");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_run(session), 0);
    const grove_counters *c = grove_session_counters(session);
    char *text = suite_keep(grove_session_energy(session));
    ck_assert(c->host_joules == 0);
    if (_i) {
        ck_assert(c->energy_seconds > 0);
        ck_assert_ptr_eq(strstr(text, "energy 0 J in "), text);
    } else {
        ck_assert_ptr_null(text);
    }
    grove_session_free(session);
    session_test_end();
}

TEST(shown)
{
    char text[32];

    ck_assert_str_eq(grove_show_joules(text, 0), "0 J");
    ck_assert_str_eq(grove_show_joules(text, 1.234e-7), "0.12 uJ");
    ck_assert_str_eq(grove_show_joules(text, 0.0123), "12.3 mJ");
    ck_assert_str_eq(grove_show_joules(text, 0.99949), "999 mJ");
    ck_assert_str_eq(grove_show_joules(text, 0.9999), "1.00 J");
    ck_assert_str_eq(grove_show_joules(text, 9.996), "10.0 J");
    ck_assert_str_eq(grove_show_joules(text, 123456), "123 kJ");
    ck_assert_str_eq(grove_show_joules(text, 3.6e6), "3.60 MJ");
    ck_assert_str_eq(grove_show_seconds(text, 0.99949e-3), "999 us");
    ck_assert_str_eq(grove_show_seconds(text, 0.9997e-3), "1 ms");
    ck_assert_str_eq(grove_show_seconds(text, 0.9997), "1.0 s");
}

SUITE(60, setup, teardown)
