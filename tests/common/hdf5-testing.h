/* HDF5 files that tests write by the library itself. */
#ifndef GROVE_TESTS_HDF5_TESTING_H
#define GROVE_TESTS_HDF5_TESTING_H

#define H5_USE_110_API
#include <hdf5.h>
#include <stdbool.h>

/* The file that is written. */
extern hid_t hdf5_file;

void hdf5_begin(const char *path);
void hdf5_finish(void);
/* A text attribute. */
void hdf5_put_text(hid_t object, const char *name, const char *text);
/* A dataset, also in groups that are not there yet; data NULL: not written. */
hid_t hdf5_put(const char *name, hid_t type, int rank, const hsize_t *size, const void *data);
hid_t hdf5_put_numbers(const char *name, hsize_t count, const double *numbers);
/* At most 16 texts of a fixed length, or of their own. */
hid_t hdf5_put_texts(const char *name, hsize_t count, const char *const *texts, bool own);

/* ---- solution tables ---- */

enum { HDF5_STATIONS = 5 }; /* P4, P0, P3, P1, P2 */

/* Element `e` of the polarisations, at a place of the axes time, freq, ant, dir. */
typedef double hdf5_formula(const double at[4], int e);

typedef struct {
    const char *path, *title;
    const char *axes; /* of time, freq, ant, dir, pol, in this order */
    int times, freqs, dirs;
    const double *time, *freq;
    const char *const *dir;
    const char *pol; /* "XX YY"; NULL: no axis */
    hdf5_formula *value, *weight;
} hdf5_soltab;

void hdf5_put_table(const hdf5_soltab *s);

#endif
