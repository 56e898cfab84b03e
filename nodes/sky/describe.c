/* Descriptions of sky models, for grove info. */
#include "nodes/sky/sky.h"
#include "unstable/module.h"
#include "util.h"

#include <stdlib.h>

enum { BRIGHTEST = 5 };

static int by_flux(const void *a, const void *b)
{
    const grove_source *const *x = a, *const *y = b;

    return ((*x)->stokes[0] < (*y)->stokes[0]) - ((*x)->stokes[0] > (*y)->stokes[0]);
}

static void add_brightest(grove_text *text, const grove_sky *sky)
{
    const grove_source **order = grove_try_alloc((size_t)sky->count + 1, sizeof(*order));
    char ra[32], dec[32];

    if (!order)
        return;
    for (int64_t k = 0; k < sky->count; k++)
        order[k] = &sky->sources[k];
    qsort(order, (size_t)sky->count, sizeof(*order), by_flux);
    grove_text_add(text, "brightest:\n");
    for (int64_t k = 0; k < sky->count && k < BRIGHTEST; k++)
        grove_text_add(text, "  %-16s %s %s  %.4g Jy\n", order[k]->name,
                       grove_show_ra(ra, order[k]->ra), grove_show_dec(dec, order[k]->dec),
                       order[k]->stokes[0]);
    free(order);
}

static char *describe_sky(const grove_sky *sky)
{
    int64_t gaussians = 0, polarised = 0, spectra = 0;
    double flux = 0;
    grove_text text = {0};

    for (int64_t k = 0; k < sky->count; k++) {
        const grove_source *s = &sky->sources[k];
        gaussians += s->major > 0 || s->minor > 0;
        polarised += s->stokes[1] != 0 || s->stokes[2] != 0 || s->stokes[3] != 0;
        spectra += s->terms > 0;
        flux += s->stokes[0];
    }
    grove_text_add(&text,
                   "sky model: %lld source%s (%lld point, %lld Gaussian), %.4g Jy in all\n"
                   "%lld polarised, %lld with a spectrum\n",
                   (long long)sky->count, sky->count == 1 ? "" : "s",
                   (long long)(sky->count - gaussians), (long long)gaussians, flux,
                   (long long)polarised, (long long)spectra);
    if (sky->count)
        add_brightest(&text, sky);
    return text.at;
}

static char *describe(const char *path, const char *const *folders, grove_error *error)
{
    grove_sky *sky = grove_sky_read(path, NULL, error);
    char *text = sky ? describe_sky(sky) : NULL;

    (void)folders;
    grove_sky_free(sky);
    return text;
}

const grove_files grove_files_api = {
    .version = GROVE_FILES_VERSION,
    .what = "a sky model",
    .ending = ".skymodel",
    .describe = describe,
};
