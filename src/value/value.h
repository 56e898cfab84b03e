/* Values: immutable, reference-counted arrays over some axes; and the buffers that hold their
 * bytes. */
#ifndef GROVE_VALUE_VALUE_H
#define GROVE_VALUE_VALUE_H

#include "base/unit.h"
#include "device/device.h"
#include "plugin.h"

/* Bytes on the host and on devices: each side is allocated and copied when first requested.
 * Reference-counted, thread-safe. */
typedef struct grove_buffer grove_buffer;
grove_buffer *grove_buffer_new(grove_device *device, size_t bytes, grove_error *error);
/* The same; on the host, where it is made, it has gaps. */
grove_buffer *grove_buffer_new_gaps(grove_device *device, const grove_extent *extent,
                                    grove_error *error);
/* Borrowed bytes on the host, which must live as long as the buffer. */
grove_buffer *grove_buffer_borrow(grove_device *device, const void *data, size_t bytes);
grove_buffer *grove_buffer_ref(grove_buffer *buffer);
void grove_buffer_unref(grove_buffer *buffer); /* NULL is fine */
size_t grove_buffer_bytes(const grove_buffer *buffer);
/* Another number for each buffer, and after each grove_buffer_write; never 0. */
uint64_t grove_buffer_serial(const grove_buffer *buffer);
/* Address on the host, or on `device`, valid for reading; NULL with a message when a copy fails. */
void *grove_buffer_host(grove_buffer *buffer, grove_error *error);
void *grove_buffer_at(grove_buffer *buffer, grove_device *device, grove_error *error);
/* The same with a code: GROVE_NO_MEMORY when there is no memory for the copy. */
int grove_buffer_address(grove_buffer *buffer, grove_device *device, void **at, grove_error *error);
/* Address on `device` (NULL: the host) for writing all bytes: nothing is copied, and other sides
 * become invalid. Only before others see the buffer. */
void *grove_buffer_write(grove_buffer *buffer, grove_device *device, grove_error *error);
/* Whether the bytes are valid on `device` (NULL: the host), without copying. */
bool grove_buffer_is_on(grove_buffer *buffer, const grove_device *device);
/* Frees the memory on `device` (NULL: the host) if the bytes are also elsewhere; no one may be
 * using an address there. */
void grove_buffer_drop(grove_buffer *buffer, grove_device *device);
/* Whether there is only one reference. */
bool grove_buffer_is_sole(const grove_buffer *buffer);

/* An array, dense over its own ranges (in the order of storage of cell.h), which are parts of axes;
 * it is constant along all other axes. */
typedef struct grove_value grove_value;
struct grove_value {
    int references;
    int axes;
    grove_range range[GROVE_MAX_AXES];
    int shape, elements;    /* of a cell */
    bool complex_, double_; /* type of a number */
    grove_unit unit;
    grove_buffer *data;
    grove_gaps gaps; /* of `data`, where it is allocated on the host */
    /* Flags: one byte per cell, bit k for element k (elements from the eighth on share bit 7), over
     * some of the ranges: bit d of flag_axes is set when they vary along range[d]. NULL: nothing is
     * flagged. */
    grove_buffer *flags;
    unsigned flag_axes;
};

/* A new value with storage (with zeroed flags along all ranges when `with_flags`). The caller fills
 * it in before others see it. NULL with a message when memory is short. */
grove_value *grove_value_new(grove_device *device, const grove_range *range, int axes, int shape,
                             int elements, bool complex_, bool double_, bool with_flags,
                             grove_error *error);
/* The same without storage: the caller sets `data`, and optionally `flags` and `flag_axes`. */
grove_value *grove_value_bare(const grove_range *range, int axes, int shape, int elements,
                              bool complex_, bool double_);
/* Allocates storage for flags along some of the ranges, uninitialised. */
int grove_value_add_flags(grove_value *value, grove_device *device, unsigned flag_axes,
                          grove_error *error);
int64_t grove_value_flag_cells(const grove_value *value); /* by flag_axes */
grove_value *grove_value_ref(grove_value *value);
void grove_value_unref(grove_value *value); /* NULL is fine */
int64_t grove_value_cells(const grove_value *value);
/* The bytes of its numbers; false when that overflows. */
bool grove_value_size(const grove_value *value, size_t *bytes);
size_t grove_value_bytes(const grove_value *value); /* data and flags */
size_t grove_value_cell_bytes(const grove_value *value);

/* The view of `value` from an iteration space of `axes` ranges `space`, with stride 0 where it does
 * not vary. side 'p' or 'q': the value's station axis is gathered along the space's baseline axis.
 * The space's first cell is `*offset` bytes after the start of the value's data (before it if the
 * first stations are absent); the caller adds it: view->data is NULL. */
int grove_value_layout(const grove_value *value, const grove_range *space, int axes, char side,
                       grove_view *view, int64_t *offset, grove_error *error);
/* The same for its flags: a byte per cell. */
int grove_value_flag_layout(const grove_value *value, const grove_range *space, int axes, char side,
                            grove_view *view, int64_t *offset, grove_error *error);
/* The same with the host's address; NULL without flags. */
int grove_value_flag_view(grove_value *value, const grove_range *space, int axes, char side,
                          grove_view *view, grove_error *error);

/* Number k of cell `index` (absolute along the value's own ranges) as real and imaginary part; for
 * tests, printing, small results. NaN when copying from a device fails. */
void grove_value_number(grove_value *value, const int64_t *index, int element, double *re,
                        double *im);

#endif
