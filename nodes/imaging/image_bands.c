#include "nodes/imaging/image_bands.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>

int image_bands_read(const grove_node *node, const grove_axis *freq, image_bands *bands)
{
    *bands = (image_bands){.freq = freq, .count = 1, .axis = grove_node_given(node, "bands")};
    int64_t count = bands->axis ? grove_node_integer(node, "bands") : 1;

    if (count < 1 || count > freq->size)
        return grove_node_fail_option(node, "bands",
                                      "%lld is not from 1 to %lld, the number of channels",
                                      (long long)count, (long long)freq->size);
    bands->count = (int)count;
    return 0;
}

int64_t image_bands_first(const image_bands *bands, int band)
{
    return bands->freq->size * band / bands->count;
}

bool image_bands_find(const image_bands *bands, int band, int64_t origin, int64_t count,
                      int64_t *first, int64_t *channels)
{
    const int64_t low = image_bands_first(bands, band) - origin,
                  high = image_bands_first(bands, band + 1) - origin;

    *first = low > 0 ? low : 0;
    *channels = (high < count ? high : count) - *first;
    return *channels > 0;
}

double image_bands_highest(const image_bands *bands, int band)
{
    double highest = 0;

    for (int64_t k = image_bands_first(bands, band); k < image_bands_first(bands, band + 1); k++)
        highest = fmax(highest, bands->freq->centre[k]);
    return highest;
}

int image_bands_add_axis(grove_node *node, const image_bands *bands)
{
    const grove_axis *freq = bands->freq;

    if (!bands->axis)
        return 0;
    double *centre = grove_alloc((size_t)bands->count * sizeof(*centre));
    double *width = grove_alloc((size_t)bands->count * sizeof(*width));
    for (int band = 0; band < bands->count; band++) {
        double low = INFINITY, high = 0;
        for (int64_t k = image_bands_first(bands, band); k < image_bands_first(bands, band + 1);
             k++) {
            double half = freq->width ? freq->width[k] / 2 : 0;
            low = fmin(low, freq->centre[k] - half);
            high = fmax(high, freq->centre[k] + half);
        }
        centre[band] = (low + high) / 2;
        width[band] = high - low;
    }
    int code = grove_node_add_output_axis(node, &(grove_axis){.name = "freq",
                                                              .size = bands->count,
                                                              .centre = centre,
                                                              .width = freq->width ? width : NULL});
    free(centre);
    free(width);
    return code;
}
