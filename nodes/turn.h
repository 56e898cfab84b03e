/* Rules of derivatives of exp(-2 pi i nu/c (u l + v m + w (n - 1))). */
#ifndef GROVE_NODES_TURN_H
#define GROVE_NODES_TURN_H

/* -2 pi i / c */
#define TURN "(-2i * pi / 299792458m * 1s)"

/* Element `e`, x, y or z, of a vector. */
#define TURN_ELEMENT(vector, e) "select(" vector ", element=\"" e "\")"

#define TURN_PRODUCT(a, b)                                                                         \
    "(" TURN_ELEMENT(a, "x") " * " TURN_ELEMENT(b, "x") " + " TURN_ELEMENT(                        \
        a, "y") " * " TURN_ELEMENT(b, "y") " + " TURN_ELEMENT(a, "z") " * " TURN_ELEMENT(b,        \
                                                                                         "z") ")"

#endif
