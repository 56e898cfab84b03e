/* Complex Gaussian noise, drawn by absolute time, stations, channel and correlation. Inputs:
 * interval, channel_width, baseline (numbers of its stations), sigma, sefd. State: the seed. With
 * sefd, real and imaginary part each have the standard deviation sefd / sqrt(2 bandwidth time)
 * (Thompson, Moran & Swenson, eq. 6.50). */
GROVE_CELL(noise)
{
    const double *sigma = GROVE_DOUBLES(c, 3), *sefd = GROVE_DOUBLES(c, 4);
    uint64_t seed = GROVE_STATE(c, uint64_t)[0];
    uint64_t time = (uint64_t)grove_cell_index(c, GROVE_AXIS_TIME);
    uint64_t channel = (uint64_t)grove_cell_index(c, GROVE_AXIS_FREQ);
    const double *stations = GROVE_DOUBLES(c, 2);
    double size, normal[2];

    if (sigma)
        size = *sigma;
    else
        size = *sefd / sqrt(2 * fabs(GROVE_DOUBLES(c, 0)[0] * GROVE_DOUBLES(c, 1)[0]));
    for (int e = 0; e < 4; e++) {
        grove_random_normal(seed, time, (uint64_t)stations[0], (uint64_t)stations[1],
                            4 * channel + (uint64_t)e, normal);
        GROVE_OUT_COMPLEX(c)[e] = cx((real)(size * normal[0]), (real)(size * normal[1]));
    }
}
