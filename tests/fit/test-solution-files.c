/* Solution tables as grove info describes them, and with each kind of damage at each of their
 * objects: read, or one message; never a crash. */
#include "tests/common/hdf5-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"
#include "nodes/common/solution_list.h"
#include "unstable/module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *path;

TESTING_FIXTURE(probe_begin(&t), path = suite_text("%s/gains.h5", t.folder))

#define START (51544.5 * 86400)

/* ---- a whole table ---- */

enum { TIMES = 3, FREQS = 2, DIRS = 1, POLS = 2, NUMBERS = TIMES * FREQS * HDF5_STATIONS * POLS };

static const char *const stations[] = {"P0", "P1", "P2", "P3", "P4"};
static const char *const pols[] = {"XX", "YY"}, *const dirs[] = {"[pointing]"};
static const double times[] = {START - 300, START + 900, START + 2100}, freqs[] = {1.402e9, 1.41e9};

typedef enum {
    VAL,
    WEIGHT,
    TIME,
    FREQ,
    ANT,
    DIR,
    POL,
    CHI2,
    OUTCOME,
    OBJECTS,
    AXES = OBJECTS,
    TITLE,
    PARM,
    NAMES,
    HISTORY,
    PLACES
} place;

static const char *const names[PLACES] = {"val",   "weight",     "time",  "freq",      "ant",
                                          "dir",   "pol",        "chi2",  "outcome",   "AXES",
                                          "TITLE", "GROVE_PARM", "NAMES", "HISTORY000"};

/* Of datasets the first ones, of attributes the last; MISSING is of both. */
typedef enum {
    NO_DAMAGE,
    GROUP,
    SHORT,
    LONGER,
    EMPTY,
    SCALAR,
    DEEPER,
    TEXTS,
    BYTES,
    COMPOUND,
    NO_NUMBERS,
    INFINITE,
    EQUAL,
    HUGE_SIZE,
    LOOP,
    ELSEWHERE,
    MISSING,
    NO_TEXT,
    NUMBER,
    LIST,
    LONG_TEXT,
    OTHER_TEXT,
    DAMAGES
} damage;

typedef struct {
    int rank;
    hsize_t size[6];
    const void *data;
    hid_t type;
    const char *axes; /* of the attribute; NULL: none */
} object;

static object objects[OBJECTS];
static double values[NUMBERS], weights[NUMBERS], chi2[TIMES] = {1, 1.5, 2};
static int32_t outcomes[TIMES] = {0, 0, 2};

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, size);
    return type;
}

static void make_objects(void)
{
    static char station[HDF5_STATIONS][16], pol[POLS][16], dir[DIRS][16];
    hid_t number = H5T_NATIVE_DOUBLE, text = text_type(16);
    const object all[OBJECTS] = {
        [VAL] =
            {5, {TIMES, FREQS, HDF5_STATIONS, DIRS, POLS}, values, number, "time,freq,ant,dir,pol"},
        [WEIGHT] = {5, {TIMES, FREQS, HDF5_STATIONS, DIRS, POLS}, weights, number, NULL},
        [TIME] = {1, {TIMES}, times, number, NULL},
        [FREQ] = {1, {FREQS}, freqs, number, NULL},
        [ANT] = {1, {HDF5_STATIONS}, station, text, NULL},
        [DIR] = {1, {DIRS}, dir, text, NULL},
        [POL] = {1, {POLS}, pol, text, NULL},
        [CHI2] = {1, {TIMES}, chi2, number, "time"},
        [OUTCOME] = {1, {TIMES}, outcomes, H5T_NATIVE_INT32, "time"},
    };

    memcpy(objects, all, sizeof(objects));
    for (int k = 0; k < HDF5_STATIONS; k++)
        snprintf(station[k], 16, "%s", stations[k]);
    for (int k = 0; k < POLS; k++)
        snprintf(pol[k], 16, "%s", pols[k]);
    snprintf(dir[0], 16, "%s", dirs[0]);
    for (int n = 0; n < NUMBERS; n++) {
        values[n] = 0.01 * n;
        weights[n] = n % 20 == 3 ? 0 : 1;
    }
}

static void put_list(hid_t at, const char *name)
{
    hsize_t two = 2;
    hid_t type = text_type(4), space = H5Screate_simple(1, &two, NULL);
    hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

    ck_assert(attribute >= 0 && H5Awrite(attribute, type, "one\0two") >= 0);
}

static void put_number(hid_t at, const char *name)
{
    double number = 1.5;
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(at, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);

    ck_assert(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, &number) >= 0);
}

static void put_attribute(hid_t at, place which, const char *text, place where, damage what)
{
    static char text_of[50001];
    const char *name = names[which];

    if (which != where || what < MISSING) {
        hdf5_put_text(at, name, text);
        return;
    }
    memset(text_of, 'x', sizeof(text_of) - 1);
    if (what == NO_TEXT)
        hdf5_put_text(at, name, "");
    else if (what == NUMBER)
        put_number(at, name);
    else if (what == LIST)
        put_list(at, name);
    else if (what == LONG_TEXT)
        hdf5_put_text(at, name, text_of);
    else if (what == OTHER_TEXT)
        hdf5_put_text(at, name, "time,,time freq sheep");
}

/* A damaged dataset; -1: there is none. */
static hid_t put_damaged(const char *name, const object *whole, damage what)
{
    static double many[4 * NUMBERS];
    object o = *whole;
    bool numbers = H5Tget_class(o.type) != H5T_STRING;

    for (int n = 0; n < 4 * NUMBERS; n++)
        many[n] = what == NO_NUMBERS ? NAN : what == INFINITE ? INFINITY : 1;
    if (what == GROUP)
        H5Gcreate2(hdf5_file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (what == LOOP)
        H5Lcreate_soft(name, hdf5_file, name, H5P_DEFAULT, H5P_DEFAULT);
    if (what == ELSEWHERE)
        H5Lcreate_external("/etc/hostname", "/x", hdf5_file, name, H5P_DEFAULT, H5P_DEFAULT);
    if (what == GROUP || what == LOOP || what == ELSEWHERE || what == MISSING)
        return -1;
    o.data = what == NO_DAMAGE || what > MISSING ? o.data : numbers ? (void *)many : o.data;
    o.type = what != NO_DAMAGE && what < MISSING && numbers ? H5T_NATIVE_DOUBLE : o.type;
    if (what == SHORT || what == LONGER || what == EMPTY)
        o.size[0] = what == EMPTY ? 0 : o.size[0] + (what == LONGER) - (what == SHORT);
    if (what == SHORT && !o.size[0]) {
        o.size[0] = 3;
        o.data = numbers ? o.data : NULL;
    }
    if (what == LONGER || what == EMPTY || what == DEEPER)
        o.data = NULL;
    if (what == DEEPER)
        o.size[o.rank++] = 2;
    if (what == SCALAR)
        o.rank = 0;
    if (what == HUGE_SIZE) {
        o.size[0] = (hsize_t)1 << 40;
        o.data = NULL;
    }
    if (what == TEXTS || what == BYTES || what == COMPOUND) {
        o.data = NULL;
        o.type = what == BYTES ? H5T_NATIVE_SCHAR : numbers ? text_type(4) : H5T_NATIVE_DOUBLE;
        if (what == COMPOUND) {
            o.type = H5Tcreate(H5T_COMPOUND, 8);
            H5Tinsert(o.type, "a", 0, H5T_NATIVE_INT);
        }
    }
    return hdf5_put(name, o.type, o.rank, o.size, o.data);
}

static void write_table(place where, damage what)
{
    hid_t made[OBJECTS];
    char name[64];

    hdf5_begin(path);
    H5Gcreate2(hdf5_file, "sol000", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t table = H5Gcreate2(hdf5_file, "sol000/phase000", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (place k = 0; k < OBJECTS; k++) {
        snprintf(name, sizeof(name), "sol000/phase000/%s", names[k]);
        made[k] = put_damaged(name, &objects[k], k == where ? what : NO_DAMAGE);
        if (objects[k].axes && made[k] >= 0)
            put_attribute(made[k], AXES, objects[k].axes, k == VAL ? where : PLACES, what);
    }
    put_attribute(table, TITLE, "phase", where, what);
    put_attribute(table, PARM, "G", where, what);
    if (made[VAL] >= 0)
        put_attribute(made[VAL], HISTORY, "Grove 0.1.0: a.tree", where, what);
    if (made[OUTCOME] >= 0)
        put_attribute(made[OUTCOME], NAMES, "converged,stalled,iteration limit", where, what);
    hdf5_finish();
}

/* ---- descriptions ---- */

TEST(described)
{
    static const int64_t freedom[TIMES] = {2, 2, 2};
    hsize_t size = TIMES;
    grove_error *error = grove_error_new();

    make_objects();
    write_table(PLACES, NO_DAMAGE);
    char *text = grove_files_api.describe(path, NULL, error);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, "solutions: 1 table\n"
                           "sol000/phase000: phase; parm G\n"
                           "  time      3: 2000-01-01T11:55:00.0 to 2000-01-01T12:35:00.0\n"
                           "  freq      2: 1402000000 to 1410000000 Hz\n"
                           "  station   5: P0 P1 P2 P3 P4\n"
                           "  pol       2: XX YY\n"
                           "  values    60, 5 % flagged, from 0 to 0.59 rad\n"
                           "  outcome   2 converged, 1 iteration limit\n"
                           "  chi2      1 to 2\n"
                           "history of sol000/phase000:\n"
                           "  Grove 0.1.0: a.tree\n");
    free(text);
    hdf5_file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t made =
        hdf5_put("sol000/phase000/degrees_of_freedom", H5T_NATIVE_INT64, 1, &size, freedom);
    hdf5_put_text(made, "AXES", "time");
    H5Dclose(made);
    hdf5_finish();
    text = grove_files_api.describe(path, NULL, error);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "\n  chi2/dof  0.5 to 1\n"));
    ck_assert_ptr_null(strstr(text, "  chi2  "));
    free(text);
    grove_error_free(error);
}

/* ---- damage ---- */

/* What is said of the tree; NULL: it can be built, and x be evaluated. */
static const char *use(const char *call)
{
    bool good = testing_try(&t, suite_text("obs = probe()\nG[p] = %s\nx = 1 * G\n", call));

    if (!good)
        return grove_error_message(t.error, 0);
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_gt(x.cells, 0);
    return NULL;
}

/* The message for an axis; NULL: it is read. */
static const char *axis_message(place where, damage what)
{
    bool named = where == ANT || where == DIR || where == POL,
         optional = where == DIR || where == POL;

    if (what == SHORT || what == LONGER || what == EMPTY || what == SCALAR || what == DEEPER ||
        what == HUGE_SIZE)
        return "along one dimension";
    if (optional || (named && (what == NO_NUMBERS || what == INFINITE || what == EQUAL)))
        return NULL;
    if (what == NO_NUMBERS || what == INFINITE)
        return "are not all finite";
    if (!named && (what == BYTES || what == EQUAL))
        return "is in the file twice";
    return what == TEXTS && !named ? "are texts" : "it does not say which";
}

static const char *value_message(damage what)
{
    switch (what) {
    case SHORT:
    case LONGER:
        return "the coordinates of time are not";
    case EMPTY:
        return "it has no numbers";
    case SCALAR:
    case DEEPER:
        return "the attribute AXES does not name its";
    case TEXTS:
    case COMPOUND:
        return "its elements are not numbers";
    case HUGE_SIZE:
        return "it has more than 10 dimensions or 1 GiB";
    case BYTES:
    case NO_NUMBERS:
    case INFINITE:
    case EQUAL:
        return NULL;
    default:
        return "it has no solution table";
    }
}

/* The message for the damage; NULL: the table is read. */
static const char *message_of(place where, damage what)
{
    bool changed = what == BYTES || what == NO_NUMBERS || what == INFINITE || what == EQUAL;
    bool nowhere = what == LOOP || what == ELSEWHERE || what == MISSING;

    switch (where) {
    case VAL:
        return value_message(what);
    case WEIGHT:
        return changed || nowhere ? NULL : "its weights cannot be read";
    case TIME:
    case FREQ:
    case ANT:
    case DIR:
    case POL:
        return axis_message(where, what);
    case AXES:
        return what == MISSING ? "it has no solution table" : "does not name its 5 dimensions";
    case TITLE:
        return what == LONG_TEXT || what == OTHER_TEXT ? "but needed is" : NULL;
    default:
        return NULL;
    }
}

static void check_damage(place where, damage what)
{
    const char *wanted = message_of(where, what);
    grove_error *error = grove_error_new();

    write_table(where, what);
    char *description = grove_files_api.describe(path, NULL, error);
    ck_assert_msg((description == NULL) == (grove_error_count(error) == 1), "%s %d: info",
                  names[where], what);
    char *calls[] = {grove_format("solutions(\"%s\", outside=edge, tables=\"phase000\")", path),
                     grove_format("parm(\"G\", jones=phase, from=\"%s\", outside=edge)", path)};
    for (int k = 0; k < 2; k++) {
        const char *said = use(calls[k]);
        ck_assert_msg(!said || grove_error_count(t.error) == 1, "%s %d: several messages",
                      names[where], what);
        ck_assert_msg(!wanted == !said && (!said || strstr(said, wanted ? wanted : "")),
                      "%s %d: %s, not %s", names[where], what, said ? said : "read",
                      wanted ? wanted : "read");
        free(calls[k]);
    }
    free(description);
    grove_error_free(error);
}

LOOP_TEST(damaged_objects, 0, OBJECTS)
{
    make_objects();
    for (damage what = GROUP; what <= MISSING; what++)
        check_damage((place)_i, what);
}

LOOP_TEST(damaged_attributes, 0, PLACES - AXES)
{
    make_objects();
    for (damage what = MISSING; what < DAMAGES; what++)
        check_damage((place)(AXES + _i), what);
}

SUITE(60, setup, teardown)
