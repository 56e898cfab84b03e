/* Images of the sky: functions that need no library for FITS. */
#include "nodes/imaging/fits/image.h"

#include <math.h>
#include <stdlib.h>

void grove_image_free(grove_image *image)
{
    if (!image)
        return;
    for (int k = 0; k < GROVE_IMAGE_NOTES; k++)
        free(image->note[k]);
    free(image->freq);
    free(image->beams);
    free(image->width);
    free(image->unit);
    free(image->object);
    free(image->telescope);
    free(image->observer);
    free(image->history);
    free(image->pixels);
    free(image);
}

double grove_image_pixel_area(const grove_image *image)
{
    const double(*m)[2] = image->sky.matrix;

    return image->sky.projection[0] ? fabs(m[0][0] * m[1][1] - m[0][1] * m[1][0]) : NAN;
}

double grove_image_beam_area(const grove_image *image, int64_t channel)
{
    const double *beam = image->beams ? image->beams + 3 * channel : image->beam;

    return acos(-1) / (4 * log(2)) * beam[0] * beam[1];
}
