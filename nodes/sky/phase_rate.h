/* Rules of derivatives of exp(-2 pi i nu/c (u l + v m + w (n - 1))). */
#ifndef GROVE_NODES_PHASE_RATE_H
#define GROVE_NODES_PHASE_RATE_H

/* -2 pi i / c */
#define PHASE_RATE "(-2i * pi / 299792458m * 1s)"

/* Where there is no rule: over 1e-10 rad phases turn little on baselines of 1e8 wavelengths, and
 * are known well enough on baselines of 10. */
#define DIRECTION_STEP "lmn: step 1e-10"

/* Element `e`, x, y or z, of a vector. */
#define VECTOR_ELEMENT(vector, e) "select(" vector ", element=\"" e "\")"

#define VECTOR_PRODUCT(a, b)                                                                       \
    "(" VECTOR_ELEMENT(a, "x") " * " VECTOR_ELEMENT(b, "x") " + " VECTOR_ELEMENT(                  \
        a, "y") " * " VECTOR_ELEMENT(b,                                                            \
                                     "y") " + " VECTOR_ELEMENT(a,                                  \
                                                               "z") " * " VECTOR_ELEMENT(b,        \
                                                                                         "z") ")"

#endif
