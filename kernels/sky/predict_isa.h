/* One compilation of the vectorised sums: for one precision and instruction set. The file that
 * includes this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "../limits/peak.h"
#include "predict_channels.h"
#include "predict_rows.h"
#include "predict_sources.h"
#include "predict_station.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define KERNELS JOIN(grove_predict_single_, GROVE_ISA_SUFFIX)
#else
#define KERNELS JOIN(grove_predict_double_, GROVE_ISA_SUFFIX)
#endif

const grove_predict_kernels KERNELS = {.lanes = LANES,
                                       .span = SPAN,
                                       .baseline = baseline,
                                       .channels = channel_sums,
                                       .sources = source_sums,
                                       .jones = jones_sums,
                                       .station = station_sums,
                                       .tile_rows = ROWS,
                                       .tile_columns = COLUMNS,
                                       .peak = peak_multiply_adds,
                                       .phases = peak_phases,
                                       .mixed = peak_mixed,
                                       .stream = peak_stream};
