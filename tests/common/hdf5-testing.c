#include "hdf5-testing.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hid_t hdf5_file;

void hdf5_begin(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG); /* closes what is open in it, too */
    hdf5_file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    ck_assert(hdf5_file >= 0);
    H5Pclose(access);
}

void hdf5_finish(void)
{
    ck_assert_int_eq(H5Fclose(hdf5_file), 0);
}

void hdf5_put_text(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);

    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(attribute >= 0 && H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

hid_t hdf5_put(const char *name, hid_t type, int rank, const hsize_t *size, const void *data)
{
    hid_t space = H5Screate_simple(rank, size, NULL), links = H5Pcreate(H5P_LINK_CREATE);

    H5Pset_create_intermediate_group(links, 1);
    hid_t made = H5Dcreate2(hdf5_file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(made >= 0);
    if (data)
        ck_assert(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Pclose(links);
    H5Sclose(space);
    return made;
}

hid_t hdf5_put_numbers(const char *name, hsize_t count, const double *numbers)
{
    return hdf5_put(name, H5T_NATIVE_DOUBLE, 1, &count, numbers);
}

hid_t hdf5_put_texts(const char *name, hsize_t count, const char *const *texts, bool own)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    char block[16][24] = {{0}};

    H5Tset_size(type, own ? H5T_VARIABLE : sizeof(block[0]));
    for (hsize_t i = 0; i < count; i++)
        snprintf(block[i], sizeof(block[i]), "%s", texts[i]);
    hid_t made = hdf5_put(name, type, 1, &count, own ? (const void *)texts : block);
    H5Tclose(type);
    return made;
}

/* ---- solution tables ---- */

static const char *const stations[HDF5_STATIONS] = {"P4", "P0", "P3", "P1", "P2"};

static int number_of(int place)
{
    return stations[place][1] - '0';
}

static void put_words(const char *name, const char *list)
{
    char word[16][24] = {{0}};
    const char *words[16];
    int count = 0;

    for (const char *at = list; *at; count++) {
        size_t n = strcspn(at, " ");
        snprintf(word[count], sizeof(word[count]), "%.*s", (int)n, at);
        words[count] = word[count];
        at += n + strspn(at + n, " ");
    }
    hdf5_put_texts(name, (hsize_t)count, words, false);
}

static char *below(const hdf5_soltab *s, const char *name)
{
    static char whole[200];

    snprintf(whole, sizeof(whole), "%s/%s", s->path, name);
    return whole;
}

static int sizes_of(const hdf5_soltab *s, hsize_t size[5], int64_t all[5])
{
    static const char *const names[] = {"time", "freq", "ant", "dir", "pol"};
    int pols = !s->pol ? 1 : strlen(s->pol) > 6 ? 4 : strlen(s->pol) > 2 ? 2 : 1, rank = 0;
    const int64_t has[] = {s->times, s->freqs, HDF5_STATIONS, s->dirs, pols};

    for (int d = 0; d < 5; d++) {
        bool in_file = strstr(s->axes, names[d]) != NULL;
        all[d] = in_file ? has[d] : 1;
        if (in_file)
            size[rank++] = (hsize_t)has[d];
    }
    return rank;
}

void hdf5_put_table(const hdf5_soltab *s)
{
    hsize_t size[5];
    int64_t all[5], count = 1, n = 0;
    int rank = sizes_of(s, size, all);

    for (int d = 0; d < 5; d++)
        count *= all[d];
    double *value = calloc((size_t)count, sizeof(*value)), *weight = calloc((size_t)count, 8);
    ck_assert(value && weight);
    for (; n < count; n++) {
        int64_t rest = n, i[5];
        for (int d = 4; d >= 0; d--) {
            i[d] = rest % all[d];
            rest /= all[d];
        }
        double at[] = {s->time ? s->time[i[0]] : 0, s->freq ? s->freq[i[1]] : 0,
                       number_of((int)i[2]), (double)i[3]};
        value[n] = s->value(at, (int)i[4]);
        weight[n] = s->weight ? s->weight(at, (int)i[4]) : 1;
    }
    hid_t values = hdf5_put(below(s, "val"), H5T_NATIVE_DOUBLE, rank, size, value);
    hdf5_put_text(values, "AXES", s->axes);
    hdf5_put_text(hdf5_put(below(s, "weight"), H5T_NATIVE_DOUBLE, rank, size, weight), "AXES",
                  s->axes);
    if (s->title)
        hdf5_put_text(H5Gopen2(hdf5_file, s->path, H5P_DEFAULT), "TITLE", s->title);
    if (strstr(s->axes, "time"))
        hdf5_put_numbers(below(s, "time"), (hsize_t)s->times, s->time);
    if (strstr(s->axes, "freq"))
        hdf5_put_numbers(below(s, "freq"), (hsize_t)s->freqs, s->freq);
    if (strstr(s->axes, "ant"))
        hdf5_put_texts(below(s, "ant"), HDF5_STATIONS, stations, false);
    if (strstr(s->axes, "dir"))
        hdf5_put_texts(below(s, "dir"), (hsize_t)s->dirs, s->dir, false);
    if (strstr(s->axes, "pol"))
        put_words(below(s, "pol"), s->pol);
    free(value);
    free(weight);
}
