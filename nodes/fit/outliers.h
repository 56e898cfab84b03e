/* Outliers among solutions along time or frequency. */
#ifndef GROVE_NODES_OUTLIERS_H
#define GROVE_NODES_OUTLIERS_H

#include "nodes/common/grid.h"

/* Flags the numbers of a grid's only column, a real one, that are farther than `sigmas` standard
 * deviations from the median along time (along frequency if there are fewer than 3 times), of each
 * element and place along the other axes. The standard deviation is 1.4826 times the median of the
 * distances. With a period, such as 2 pi, they are taken the shortest way round, from the mean
 * direction. Returns how many; -1 where there are fewer than 3 of both. */
int64_t grove_outliers_flag(grove_grid *grid, double period, double sigmas);

#endif
