#include "inputs.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void bench_make_folder(char folder[256])
{
    const char *temporary = getenv("TMPDIR");

    snprintf(folder, 256, "%s/grove-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
}

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *place)
{
    (void)what;
    (void)kind;
    (void)place;
    return remove(path);
}

void bench_remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

void bench_write_sky(const char *folder, int sources)
{
    FILE *file = open_file(folder, "sky.skymodel");

    fprintf(file, "format = Name, Type, Ra, Dec, I\n");
    for (int k = 0; k < sources; k++)
        fprintf(file, "s%d, POINT, %.6fdeg, %.6fdeg, %.3f\n", k, fmod(0.618034 * k, 1),
                -30.5 + fmod(0.414214 * k, 1), 0.1 + fmod(0.302776 * k, 1));
    fclose(file);
}

void bench_write_array(const char *folder, int stations)
{
    FILE *file = open_file(folder, "x.array");

    for (int k = 0; k < stations; k++) {
        double radius = 4000.0 * (k + 1) / 64, angle = 2.4 * k;
        fprintf(file, "%.3f %.3f %.3f 13.5 S%02d ALT-AZ\n", 5109243 + radius * cos(angle) * 0.5,
                2006797 + radius * sin(angle), -3239112 + radius * cos(angle) * 0.8, k);
    }
    fclose(file);
}
