/* Models of many forms: several terms with Jones terms of their own, terms without parms, parms at
 * one side only, constants and signs, station values between them; scalars, diagonals and matrices.
 * What is compressed is fitted as it would be without. */
#include "solve-world.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SOLVE_WORLD_FIXTURE

#define G     "G[p] = parm(\"G\", jones=diagonal, time=8min)\n"
#define H     "H[p] = parm(\"H\", jones=diagonal, time=8min)\n"
#define F     "F[p] = parm(\"F\", jones=full, time=8min)\n"
#define S     "s[p] = parm(\"s\", jones=scalar, time=8min)\n"
#define P     "P[p] = rotation(obs.parallactic + 10 * (obs.freq - 150MHz) * 1rad / 150MHz)\n"
#define PHASE "A[p] = parm(\"A\", jones=phase, time=8min)\n"
#define C     "c = parm(\"c\", init=1, complex=true)\n"
#define CROSS "k = parm(\"k\", init=0, time=8min)\nx = diagonal(1, exp(1i * k))\n"
#define T     "T[p] = draw(obs, shape=diagonal, times=4, around=1).value\n"
#define U     "U[p] = draw(obs, shape=diagonal, times=4, around=1, seed=2).value\n"
#define X     "X[p] = draw(obs, shape=matrix, times=4, around=1).value\n"

/* of numbers: a and e complex, m and n amplitudes, x and y phases; B amplitudes of a diagonal */
#define NUMBER(name, more) name "[p] = parm(\"" name "\", time=8min, init=" more ")\n"
#define ONE(name)          NUMBER(name, "1")
#define ZERO(name)         NUMBER(name, "0")
#define COMPLEX(name)      NUMBER(name, "1, complex=true")
#define B                  "B[p] = parm(\"B\", jones=amplitude, time=8min)\n"

#define PHASES                                                                                     \
    "Y[p] = exp(1i * real(select(draw(obs, shape=diagonal, times=4, around=1).value, "             \
    "element=XX)))\n"

/* a diagonal without parms */
#define Q                                                                                          \
    "Q[p] = diagonal(exp(1i * (obs.parallactic + 9rad * (obs.freq / 150MHz - 1)) / 1rad), 2)\n"

/* a number of stations, times and channels without parms, and a diagonal of it */
#define KNOWN                                                                                      \
    "r[p] = exp(1i * (obs.parallactic + 9rad * (obs.freq / 150MHz - 1)) / 1rad) * (1 + 0.1 * "     \
    "obs.station_index)\n"                                                                         \
    "R[p] = diagonal(r[p], -2i)\n"                                                                 \
    "u[p] = obs.station_index * (obs.freq / 150MHz - 0.9)\nv[p] = exp(1i * u[p])\n"

#define E                   "E[s,p] = parm(\"E\", jones=diagonal, time=8min, groups=patch, sky=S)\n"
#define GROUPED(name, more) name "[s,p] = parm(\"" name "\", groups=patch, sky=S, " more ")\n"
/* what the sources of each patch are seen through, by themselves */
#define PATCHES(a, ah, b, bh)                                                                      \
    a " * sum[s](S.patch(\"A\") * point(S, obs)) * " ah " + " b                                    \
      " * sum[s](S.patch(\"B\") * point(S, obs)) * " bh

/* left is of q or right of p, which products do not have */
#define TURNED "data are not compressed: 'V' is not a product of Jones terms"

/* V: what is fitted to D, which has noise, too. */
static const struct {
    const char *definitions, *model, *data;
    const char *why; /* why it is not compressed; NULL: it is */
    bool direct;     /* by StEFCal */
    bool misfit;     /* the model has too few parms for such data */
} forms[] = {
    {G T, "G[p] * M[p,q] * G[q]^H", "T[p] * M[p,q] * T[q]^H", NULL, true},
    {F X, "F[p] * M[p,q] * F[q]^H", "X[p] * M[p,q] * X[q]^H", NULL, true},
    {S T, "s[p] * M[p,q] * s[q]^H", "T[p] * M[p,q] * T[q]^H", NULL, true, true},
    {S T, "s[p] * M[p,q] * conj(s[q])", "T[p] * M[p,q] * T[q]^H", NULL, true, true},
    {S T, "s[p] * conj(s[q]) * M[p,q] / 1", "T[p] * M[p,q] * T[q]^H", NULL, true, true},
    {"x[p] = parm(\"x\", time=8min, init=0)\n" PHASES, "exp(1i * (x[p] - x[q])) * M[p,q]",
     "Y[p] * M[p,q] * Y[q]^H", NULL, true, true},
    {COMPLEX("a") T, "(a[p] * conj(a[q]))^2 * M[p,q]", "T[p] * M[p,q] * T[q]^H",
     "data are not compressed: power is not a product of Jones terms", false, true},
    /* several terms */
    {G H T U, "G[p] * M[p,q] * G[q]^H + H[p] * N[p,q] * H[q]^H",
     "T[p] * M[p,q] * T[q]^H + U[p] * N[p,q] * U[q]^H", NULL, true},
    {G H T U, "N[p,q] - 2 * H[p] * N[p,q] * H[q]^H - -(G[p] * M[p,q] * G[q]^H)",
     "N[p,q] - 2 * (U[p] * N[p,q] * U[q]^H) + T[p] * M[p,q] * T[q]^H", NULL, true},
    {G T, "G[p] * M[p,q] * G[q]^H + N[p,q]", "T[p] * M[p,q] * T[q]^H + N[p,q]", NULL, true},
    {G T, "N[p,q] - G[p] * M[p,q] * G[q]^H", "N[p,q] - T[p] * M[p,q] * T[q]^H", NULL, true},
    {F X, "F[p] * M[p,q] * F[q]^H + N[p,q]", "X[p] * M[p,q] * X[q]^H + N[p,q]", NULL, true},
    {S T, "s[p] * trace(M[p,q]) * s[q]^H - trace(N[p,q])",
     "trace(T[p] * M[p,q] * T[q]^H) - trace(N[p,q])", NULL, true, true},
    {G T, "G[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * G[q]^H + N[p,q]",
     "T[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * T[q]^H + N[p,q]", NULL, true},
    {G S T U, "G[p] * M[p,q] * G[q]^H + s[p] * N[p,q] * s[q]^H",
     "T[p] * M[p,q] * T[q]^H + U[p] * N[p,q] * U[q]^H", NULL, false, true},
    {G F T X, "G[p] * (F[p] * M[p,q] * F[q]^H + N[p,q]) * G[q]^H",
     "T[p] * (X[p] * M[p,q] * X[q]^H + N[p,q]) * T[q]^H", NULL, false},
    {G F T X, "((G[q] * (N[p,q]^H - F[q] * -M[p,q]^H * F[p]^H) * G[p]^H) / 2)^H",
     "0.5 * T[p] * (X[p] * M[p,q] * X[q]^H + N[p,q]) * T[q]^H", NULL, false},
    /* several terms that are one */
    {G T, "G[p] * M[p,q] * G[q]^H + 2 * G[p] * N[p,q] * G[q]^H",
     "T[p] * (M[p,q] + 2 * N[p,q]) * T[q]^H", NULL, true},
    {G T, "(G[q] * M[p,q]^H * G[p]^H)^H - -(G[p] * (N[p,q] * G[q]^H))",
     "T[p] * (M[p,q] + N[p,q]) * T[q]^H", NULL, true},
    {G H T U, "G[p] * (H[p] * M[p,q] * H[q]^H - N[p,q]) * G[q]^H + G[p] * N[p,q] * G[q]^H",
     "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H", NULL, false},
    {G F T X, "G[p] * F[p] * M[p,q] * F[q]^H * G[q]^H + G[p] * N[p,q] * G[q]^H",
     "T[p] * X[p] * M[p,q] * X[q]^H * T[q]^H + T[p] * N[p,q] * T[q]^H", NULL, false},
    /* groups of sources */
    {E T U, "sum[s](E[s,p] * point(S, obs) * E[s,q]^H)",
     PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL, true},
    {E T U, "sum[s](E[s,q] * point(S, obs)^H * E[s,p]^H)",
     "(" PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H") ")^H",
     "Jones terms of station p are to the right of Jones terms of q", false},
    {E T U, "(sum[s](E[s,q] * point(S, obs)^H * E[s,p]^H))^H",
     PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL, true},
    {E P T U "J[s,p] = E[s,p] * P[p]\n", "sum[s](J[s,p] * point(S, obs) * J[s,q]^H) + N[p,q]",
     PATCHES("T[p] * P[p]", "P[q]^H * T[q]^H", "U[p] * P[p]", "P[q]^H * U[q]^H") " + N[p,q]", NULL,
     true},
    {E S T U "o[s] = S.patch(\"B\") + 0.5\n",
     "s[p] * sum[s](E[s,p] * (o * point(S, obs)) * E[s,q]^H)",
     PATCHES("0.5 * T[p]", "T[q]^H", "1.5 * U[p]", "U[q]^H"), NULL, false},
    /* of several parms */
    {GROUPED("m", "time=8min, init=1") GROUPED("x", "time=8min, init=0") T U
     "J[s,p] = m[s,p] * exp(1i * x[s,p])\n",
     "sum[s](J[s,p] * point(S, obs) * J[s,q]^H)", PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL,
     true, true},
    {GROUPED("m", "time=16min, init=1") GROUPED("x", "time=8min, init=0") T U,
     "sum[s](exp(1i * x[s,p]) * m[s,p] * (point(S, obs) * m[s,q]) * exp(-1i * x[s,q]))",
     PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL, false, true},
    {E GROUPED("R", "time=8min, jones=rotation") P T U,
     "sum[s](E[s,p] * R[s,p] * P[p] * point(S, obs) * P[q]^H * R[s,q]^H * E[s,q]^H)",
     PATCHES("T[p] * P[p]", "P[q]^H * T[q]^H", "U[p] * P[p]", "P[q]^H * U[q]^H"), NULL, false},
    {E G GROUPED("R", "time=8min, jones=rotation") T U "J[s,p] = R[s,p] * G[p] * E[s,p]\n",
     "sum[s](J[s,p] * point(S, obs) * J[s,q]^H)", PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL,
     false},
    {E GROUPED("m", "time=8min, init=1") T U,
     "predict(S, obs, left=m[s,p] * E[s,p], right=E[s,q]^H * m[s,q])",
     PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL, false},
    {GROUPED("m", "time=8min, init=1") GROUPED("x", "time=8min, init=0") T U
     "J[s,p] = diagonal(m[s,p] * exp(1i * x[s,p]), m[s,p])\n",
     "sum[s](J[s,p] * point(S, obs) * J[s,q]^H)", PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL,
     false, true},
    /* sums as calls of predict */
    {G T, "predict(S, obs, left=G[p], right=G[q]^H)", "T[p] * sum[s](point(S, obs)) * T[q]^H", NULL,
     true},
    {G T, "predict(S, obs, right=G[p])", "predict(S, obs, right=T[p])", TURNED, false},
    {G T X, "predict(S, obs, left=G[p] * X[p], right=X[p]^H)",
     "predict(S, obs, left=T[p] * X[p], right=X[p]^H)", TURNED, false},
    {E T U "J[s,p] = S.patch(\"A\") * T[p] + S.patch(\"B\") * U[p]\n",
     "predict(S, obs, left=E[s,q], right=E[s,p]^H)", "predict(S, obs, left=J[s,q], right=J[s,p]^H)",
     TURNED, false},
    {G P Q T, "predict(S, obs, left=Q[p] * G[p] * P[p], right=(Q[q] * G[q] * P[q])^H) + N[p,q]",
     "Q[p] * T[p] * P[p] * sum[s](point(S, obs)) * P[q]^H * T[q]^H * Q[q]^H + N[p,q]", NULL, true},
    {G T, "predict(S, obs, right=S.patch(\"A\") * G[q]^H)",
     "sum[s](S.patch(\"A\") * point(S, obs)) * T[q]^H", NULL, false},
    {G T, "predict(S, obs, left=G[p] * S.patch(\"A\"))",
     "T[p] * sum[s](S.patch(\"A\") * point(S, obs))", NULL, false},
    {E G T U, "predict(S, obs, left=G[p] * E[s,p], right=(G[q] * E[s,q])^H)",
     PATCHES("T[p]", "T[q]^H", "U[p]", "U[q]^H"), NULL, false},
    /* one side, other terms at the sides */
    {G T, "G[p] * M[p,q]", "T[p] * M[p,q]", NULL, false},
    {G T, "M[p,q] * G[q]^H", "M[p,q] * T[q]^H", NULL, false},
    {G H T U, "G[p] * M[p,q] * H[q]^H", "T[p] * M[p,q] * U[q]^H", NULL, false},
    {G T, "G[p]^-1 * M[p,q] * G[q]^-1^H", "T[p] * M[p,q] * T[q]^H", NULL, false},
    {G T, "G[p]^H * M[p,q] * G[q]", "T[p] * M[p,q] * T[q]^H", NULL, false},
    /* constants and scalars */
    {G T, "(2 + 1i) * G[p] * (M[p,q] / 2) * G[q]^H * -1", "(-1 - 0.5i) * T[p] * M[p,q] * T[q]^H",
     NULL, true},
    {G T, "1 * (-G[p]) * 2 * M[p,q] * (-G[q]^H / 2)", "T[p] * M[p,q] * T[q]^H", NULL, true},
    {G T, "(G[q] * M[p,q]^H * G[p]^H)^H", "T[p] * M[p,q] * T[q]^H", NULL, true},
    {C PHASE T, "c * A[p] * M[p,q] * A[q]^H", "1.2 * T[p] * M[p,q] * T[q]^H", NULL, false, true},
    {G T, "G[p] * M[p,q] * 0.5 * trace(G[q]^H)", "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    /* numbers, phases, and amplitudes times phases */
    {ONE("m") ZERO("x") T, "m[p] * exp(1i * x[p]) * M[p,q] * (m[q] * exp(1i * x[q]))^H",
     "T[p] * M[p,q] * T[q]^H", NULL, true, true},
    {ONE("m") ZERO("x") T, "m[q] * exp(1i * (x[p] - x[q])) * m[p] * M[p,q] + N[p,q]",
     "T[p] * M[p,q] * T[q]^H + N[p,q]", NULL, true, true},
    {ONE("m") ZERO("x") T, "m[p] * exp(1i * x[p]) * M[p,q] * exp(-1i * x[q]) * m[q]",
     "T[p] * M[p,q] * T[q]^H", NULL, true, true},
    {ZERO("x") T, "exp(1i * x[p]) * M[p,q] / exp(1i * x[q])", "T[p] * M[p,q] * T[q]^H", NULL, true,
     true},
    {ZERO("x") T, "complex(cos(x[p] - x[q]), sin(x[p] - x[q])) * M[p,q]", "T[p] * M[p,q] * T[q]^H",
     NULL, true, true},
    {ZERO("x") T, "(cos(x[p]) - 1i * sin(-x[p])) * M[p,q] * complex(cos(x[q]), sin(-x[q]))",
     "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    {COMPLEX("a") T, "complex(real(a[p]), imag(a[p])) * M[p,q] * (real(a[q]) - 1i * imag(a[q]))",
     "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    {ZERO("x") T, "exp(complex(0, x[p])) * M[p,q] * exp(0.5i * -x[q])^2", "T[p] * M[p,q] * T[q]^H",
     NULL, false, true},
    {ONE("m") ZERO("x") T,
     "complex(m[p] * cos(x[p]), m[p] * sin(x[p])) * M[p,q] * (m[q] * (cos(x[q]) - 1i * sin(x[q])))",
     "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    {B PHASE T, "A[p] * B[p] * M[p,q] * (A[q] * B[q])^H", "T[p] * M[p,q] * T[q]^H", NULL, true},
    {B PHASE T, "B[p] * A[p] * M[p,q] * A[q]^H * B[q]", "T[p] * M[p,q] * T[q]^H", NULL, true},
    {COMPLEX("a") COMPLEX("e") T, "diagonal(e[p], a[p]) * M[p,q] * diagonal(e[q], a[q])^H",
     "T[p] * M[p,q] * T[q]^H", NULL, true},
    {ONE("m") ZERO("x") ONE("n") ZERO("y") T
     "J[p] = diagonal(m[p] * exp(1i * x[p]), exp(1i * y[p]) * n[p])\n",
     "J[p] * M[p,q] * J[q]^H", "T[p] * M[p,q] * T[q]^H", NULL, true},
    {ONE("m") ZERO("x") ONE("n") ZERO("y") T "J[p] = matrix(complex(m[p] * cos(x[p]), m[p] * "
                                             "sin(x[p])), 0, 0, n[p] * exp(0.5i * y[p])^2)\n",
     "J[p] * M[p,q] * conj(J[q])^T", "T[p] * M[p,q] * T[q]^H", NULL, false},
    /* known values inside of diagonals and matrices of parms */
    {KNOWN COMPLEX("a") COMPLEX("e") T "J[p] = diagonal(r[p] * a[p], -2i * e[p])\n",
     "J[p] * M[p,q] * J[q]^H", "R[p] * T[p] * M[p,q] * (R[q] * T[q])^H", NULL, false},
    {KNOWN COMPLEX("a") COMPLEX("e") T "J[p] = matrix(a[p] * r[p], 0, 0, e[p] / 0.5i)\n",
     "(J[q] * M[p,q]^H * conj(J[p])^T)^H", "R[p] * T[p] * M[p,q] * (R[q] * T[q])^H", NULL, false},
    {KNOWN COMPLEX("a") COMPLEX("e") T "J[p] = diagonal(1 / (r[p] * a[p]), (-2i * e[p])^-1)^-1\n",
     "J[p] * M[p,q] * J[q]^H", "R[p] * T[p] * M[p,q] * (R[q] * T[q])^H", NULL, false},
    {KNOWN COMPLEX("a") COMPLEX("e") T "J[p] = diagonal(r[p] * a[p], e[p] * r[p])\n",
     "J[p] * M[p,q] * J[q]^H + N[p,q]", "r[p] * T[p] * M[p,q] * (r[q] * T[q])^H + N[p,q]", NULL,
     false},
    {KNOWN ONE("m") ZERO("x") ONE("n") ZERO("y") T
     "J[p] = diagonal(r[p] * m[p] * exp(1i * x[p]), -2i * exp(1i * y[p]) * n[p])\n",
     "J[p] * M[p,q] * J[q]^H", "R[p] * T[p] * M[p,q] * (R[q] * T[q])^H", NULL, false},
    {KNOWN COMPLEX("a") T "J[p] = diagonal(r[p], a[p])\n", "J[p] * M[p,q] * J[q]^H",
     "diagonal(r[p], 1) * T[p] * M[p,q] * (diagonal(r[q], 1) * T[q])^H", NULL, false, true},
    {KNOWN COMPLEX("a") COMPLEX("c") COMPLEX("d") COMPLEX("e") X
     "J[p] = matrix(r[p] * a[p], 2 * c[p], d[p] * r[p], 2 * e[p])\n",
     "J[p] * M[p,q] * J[q]^H", "X[p] * diagonal(r[p], 2) * M[p,q] * (X[q] * diagonal(r[q], 2))^H",
     "Jones terms vary from cell to cell", false},
    {KNOWN COMPLEX("a") COMPLEX("c") COMPLEX("d") COMPLEX("e") X
     "J[p] = matrix(r[p] * a[p], r[p] * c[p], d[p] * r[p], e[p] * r[p])\n",
     "(J[q] * M[p,q]^H * J[p]^H)^H", "r[p] * X[p] * M[p,q] * (X[q] * r[q])^H",
     "Jones terms vary from cell to cell", false},
    {KNOWN COMPLEX("a") COMPLEX("c") COMPLEX("d") COMPLEX("e") X
     "J[p] = matrix(r[p] * a[p], r[p] * c[p], 2 * d[p], 2 * e[p])\n",
     "J[p] * M[p,q] * J[q]^H", "diagonal(r[p], 2) * X[p] * M[p,q] * (diagonal(r[q], 2) * X[q])^H",
     "Jones terms vary from cell to cell", false},
    {KNOWN COMPLEX("a") COMPLEX("e") T, "predict(S, obs, right=diagonal(r[p] * a[p], e[p]))",
     "predict(S, obs, right=diagonal(r[p], 1) * T[p])", TURNED, false},
    /* sums in which terms with parms are the same */
    {KNOWN COMPLEX("a") COMPLEX("e") T "J[p] = diagonal(a[p] + a[p] * r[p], e[p])\n",
     "J[p] * M[p,q] * J[q]^H",
     "diagonal(1 + r[p], 1) * T[p] * M[p,q] * (diagonal(1 + r[q], 1) * T[q])^H", NULL, false},
    {KNOWN COMPLEX("a") COMPLEX("e") T
     "J[p] = diagonal(a[p] - 2i * a[p] * r[p] + u[p] * a[p], e[p] - e[p] / 4)\n"
     "K[p] = diagonal(1 - 2i * r[p] + u[p], 0.75) * T[p]\n",
     "J[p] * M[p,q] * J[q]^H", "K[p] * M[p,q] * K[q]^H", NULL, false},
    {KNOWN COMPLEX("a") T, "(a[p] + a[p] * r[p]) * M[p,q] * conj(a[q] + r[q] * a[q])",
     "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    {KNOWN ONE("m") ZERO("x") ONE("n") ZERO("y") T
     "z[p] = m[p] * exp(1i * x[p])\nJ[p] = diagonal(z[p] - r[p] * z[p], exp(1i * y[p]) * n[p])\n",
     "J[p] * M[p,q] * J[q]^H",
     "diagonal(1 - r[p], 1) * T[p] * M[p,q] * (diagonal(1 - r[q], 1) * T[q])^H", NULL, false},
    {KNOWN COMPLEX("a") COMPLEX("e") T
     "J[p] = diagonal(1 / (a[p] + 2 * u[p] * a[p]), e[p]^-1)^-1\n",
     "J[p] * M[p,q] * J[q]^H",
     "diagonal(1 + 2 * u[p], 1) * T[p] * M[p,q] * (diagonal(1 + 2 * u[q], 1) * T[q])^H", NULL,
     false},
    {KNOWN COMPLEX("a") COMPLEX("e") T "J[p] = diagonal(a[p] + e[p] * r[p], e[p])\n",
     "J[p] * M[p,q] * J[q]^H",
     "diagonal(1 + r[p], 1) * T[p] * M[p,q] * (diagonal(1 + r[q], 1) * T[q])^H", NULL, false, true},
    /* known phases beside those of parms */
    {KNOWN ZERO("x") T, "exp(1i * (u[p] + x[p])) * M[p,q] * exp(1i * (u[q] + x[q]))^H",
     "v[p] * T[p] * M[p,q] * (v[q] * T[q])^H", NULL, false, true},
    {KNOWN ZERO("x") T, "exp(1i * (u[p] + x[p] - x[q] - u[q])) * M[p,q]",
     "v[p] * T[p] * M[p,q] * (v[q] * T[q])^H", NULL, false, true},
    {KNOWN ZERO("x") T,
     "complex(cos(x[p] + u[p]), sin(u[p] + x[p])) * M[p,q] * exp(-1i * (x[q] + u[q] + 0.5)) * "
     "exp(0.5i)",
     "v[p] * T[p] * M[p,q] * (v[q] * T[q])^H", NULL, false, true},
    {KNOWN ONE("m") ZERO("x") ONE("n") ZERO("y") T
     "J[p] = diagonal(m[p] * exp(1i * (x[p] + u[p])), exp(1i * y[p]) * n[p])\n",
     "J[p] * M[p,q] * J[q]^H", "diagonal(v[p], 1) * T[p] * M[p,q] * (diagonal(v[q], 1) * T[q])^H",
     NULL, false},
    {ONE("m") T, "m[p] * M[p,q] * m[q]", "T[p] * M[p,q] * T[q]^H", NULL, true, true},
    {ONE("m") "x[p] = parm(\"x\", time=16min, init=0)\n" T,
     "m[p] * exp(1i * x[p]) * M[p,q] * (m[q] * exp(1i * x[q]))^H", "T[p] * M[p,q] * T[q]^H", NULL,
     false, true},
    {ONE("m") ZERO("x") T,
     "m[p] * exp(1i * x[p]) * M[p,q] * (m[q] * exp(1i * x[q]))^H + m[p] * N[p,q] * m[q]",
     "T[p] * M[p,q] * T[q]^H + N[p,q]", NULL, false, true},
    {ONE("m") ZERO("x") T, "m[p] * exp(2i * x[p]) * M[p,q] * (m[q] * exp(2i * x[q]))^H",
     "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    {ONE("m") ZERO("x") T, "m[p]^2 * exp(1i * x[p]) * M[p,q] * (m[q]^2 * exp(1i * x[q]))^H",
     "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    {ONE("m") ONE("n") ZERO("x") T,
     "m[p] * n[p] * exp(1i * x[p]) * M[p,q] * (m[q] * n[q] * exp(1i * x[q]))^H",
     "T[p] * M[p,q] * T[q]^H", NULL, false, true},
    /* matrices with parms that are of no station */
    {G CROSS T, "G[p] * x * M[p,q] * x^H * G[q]^H", "T[p] * M[p,q] * T[q]^H", NULL, false},
    {G CROSS P T, "G[p] * x * P[p] * M[p,q] * (G[q] * x * P[q])^H",
     "T[p] * P[p] * M[p,q] * P[q]^H * T[q]^H", NULL, false},
    {F CROSS X, "x * F[p] * trace(M[p,q]) * F[q]^H * x^H", "X[p] * trace(M[p,q]) * X[q]^H", NULL,
     false},
    {F CROSS X, "(x * F[q] * M[p,q]^H * (x * F[p])^H)^H", "X[p] * M[p,q] * X[q]^H", NULL, false},
    {S CROSS T, "s[p] * conj(s[q]) * x * M[p,q] * x^H", "T[p] * M[p,q] * T[q]^H", NULL, false,
     true},
    {CROSS T, "M[p,q] * x^H", "M[p,q] * T[q]^H", NULL, false, true},
    /* station values without parms */
    {G P T, "G[p] * P[p] * M[p,q] * P[q]^H * G[q]^H", "T[p] * P[p] * M[p,q] * P[q]^H * T[q]^H",
     NULL, true},
    {G P T "J[p] = G[p] * P[p]\nK[p] = T[p] * P[p]\n", "J[p] * M[p,q] * J[q]^H",
     "K[p] * M[p,q] * K[q]^H", NULL, true},
    {G F P T X "J[p] = F[p] * G[p] * P[p] * P[p]\n", "J[p] * (M[p,q] * J[q]^H)",
     "X[p] * T[p] * P[p] * P[p] * M[p,q] * P[q]^H * P[q]^H * T[q]^H * X[q]^H", NULL, false},
    {F P X, "P[p] * F[p] * M[p,q] * F[q]^H * P[q]^H", "P[p] * X[p] * M[p,q] * X[q]^H * P[q]^H",
     "Jones terms vary from cell to cell", false},
    {G F P T X, "F[p] * P[p] * G[p] * M[p,q] * G[q]^H * P[q]^H * F[q]^H",
     "X[p] * P[p] * T[p] * M[p,q] * T[q]^H * P[q]^H * X[q]^H", "Jones terms vary from cell to cell",
     false},
    /* diagonals without parms outside of what they commute with */
    {G Q T, "Q[p] * G[p] * M[p,q] * G[q]^H * Q[q]^H", "Q[p] * T[p] * M[p,q] * T[q]^H * Q[q]^H",
     NULL, true},
    {G Q T "J[p] = Q[p] * 2 * G[p]\n", "(J[q] * Q[q] * M[p,q]^H * J[p]^H)^H",
     "4 * Q[p] * T[p] * M[p,q] * Q[q]^H * T[q]^H * Q[q]^H", NULL, true},
    {G Q T, "Q[p] * G[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * G[q]^H * Q[q]^H",
     "Q[p] * T[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * Q[q]^H * T[q]^H", NULL, true},
    {F Q X, "Q[p] * F[p] * M[p,q] * F[q]^H * Q[q]^H", "Q[p] * X[p] * M[p,q] * X[q]^H * Q[q]^H",
     "Jones terms vary from cell to cell", false},
    /* shapes: of the model, of the data */
    {G T, "G[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * G[q]^H",
     "diagonal(1, 1) * T[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * T[q]^H", NULL, true},
    {G T, "G[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * G[q]^H", "T[p] * M[p,q] * T[q]^H", NULL,
     true, true},
    {S T, "s[p] * trace(M[p,q]) * s[q]^H", "T[p] * M[p,q] * T[q]^H", NULL, true, true},
    {G T, "G[p] * M[p,q] * G[q]^H",
     "diagonal(1, 1) * T[p] * diagonal(trace(M[p,q]), trace(N[p,q])) * T[q]^H", NULL, true, true},
    {S T, "s[p] * trace(M[p,q]) * s[q]^H", "trace(T[p] * M[p,q] * T[q]^H)", NULL, true, true},
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static void run(int form, const char *model, const char *data, const char *options, int number)
{
    solve_world_pass(&w, suite_text("%sV[p,q] = %s\nD[p,q] = %s\n"
                                    "fit = solve(V, D, tolerance=1e-12, max_iterations=300%s)\n"
                                    "k0 = keep(V, number=%d)\nk2 = keep(D, number=2)\n",
                                    forms[form].definitions, model, data, options, number));
}

static void check_note(int form, bool compressed)
{
    char *notes = grove_tree_show(w.t.tree);
    const char *why = compressed ? forms[form].why : "compress=false";

    ck_assert_msg(strstr(notes, why ? why : "data are compressed once for a tile") != NULL,
                  "%s: %s", forms[form].model, strstr(notes, "fit = "));
    const char *method = forms[form].direct ? "method: stefcal"
                         : why              ? "method: lm"
                                            : "; stefcal, which is often faster, requires ";
    ck_assert_msg(!compressed || strstr(notes, method), "%s: %s", forms[form].model,
                  strstr(notes, "fit = "));
    free(notes);
}

/* Of the two fits; diagonal data tell nothing of XY and YX. */
static double distance(bool diagonal)
{
    double largest = 0;

    for (int64_t i = 0; diagonal && i < solve_world_kept[0].cells * 4; i++)
        if (i % 4 % 3 == 0)
            largest = fmax(largest, cabs(solve_world_kept[0].at[i] - solve_world_kept[1].at[i]));
    return diagonal ? largest : solve_world_distance(0, 1);
}

/* What was found has the data's visibilities. */
LOOP_TEST(without_noise, 0, 2 * FORMS)
{
    bool compress = _i % 2;

    run(_i / 2, forms[_i / 2].model, forms[_i / 2].data, compress ? "" : ", compress=false", 0);
    check_note(_i / 2, compress);
    if (forms[_i / 2].misfit)
        return;
    ck_assert_msg(solve_world_distance(0, 2) < 1e-7, "%s: %g, %s", forms[_i / 2].model,
                  solve_world_distance(0, 2), solve_world_said);
}

/* What a user can do about it. */
static const struct {
    const char *definitions, *model, *wants;
} indirect[] = {
    {G, "G[p] * M[p,q]", "jones=diagonal or a[p] * exp(1i * b[p])"},
    {COMPLEX("a") COMPLEX("e"), "a[p] * e[p] * M[p,q] * a[q]^H * e[q]^H",
     "jones=diagonal or a[p] * exp(1i * b[p])"},
    {COMPLEX("a"), "diagonal(a[p], a[p]) * M[p,q] * diagonal(a[q], a[q])^H",
     "requires a parm of its own in each term"},
    {COMPLEX("a") ONE("m"), "diagonal(a[p], m[p]) * M[p,q] * diagonal(a[q], m[q])^H",
     "requires Jones terms of one kind"},
    {"G[p] = parm(\"G\", jones=diagonal, prior=0.1)\n", "G[p] * M[p,q] * G[q]^H",
     "requires parms without bounds, priors or polynomials"},
    {"G[p] = parm(\"G\", jones=diagonal, degree=2)\n", "G[p] * M[p,q] * G[q]^H",
     "requires Jones terms that do not vary inside an interval"},
    {"G[p] = parm(\"G\", jones=diagonal, degree=[0, 3])\n", "G[p] * M[p,q] * G[q]^H",
     "may take hundreds of steps"},
    {"K[p] = parm(\"K\", jones=delay)\nT[p] = parm(\"T\", jones=tec)\n",
     "K[p] * T[p] * M[p,q] * (K[q] * T[q])^H",
     "requires Jones terms that do not vary inside an interval"},
    {"K[p] = parm(\"K\", jones=delay)\nT[p] = parm(\"T\", jones=tec) * parm(\"A\", jones=phase)\n",
     "K[p] * T[p] * M[p,q] * (K[q] * T[q])^H",
     "there are 2 delays and TEC, and only the start of the first is searched for"},
    {"K[p] = parm(\"K\", jones=delay)\n", "K[p] * M[p,q] * K[q]^H",
     "requires Jones terms that do not vary inside an interval"},
    {"G[p] = parm(\"G\", jones=phase, degree=3)\n", "G[p] * M[p,q] * G[q]^H",
     "requires Jones terms that do not vary inside an interval"},
    {G S, "G[p] * M[p,q] * G[q]^H + s[p] * N[p,q] * s[q]^H", "requires Jones terms of one kind"},
    {G S, "s[p] * G[p] * M[p,q] * G[q]^H * s[q]^H", "jones=diagonal or a[p] * exp(1i * b[p])"},
};

LOOP_TEST(what_stefcal_wants, 0, sizeof(indirect) / sizeof(indirect[0]))
{
    solve_world_pass(&w, suite_text("%sV[p,q] = %s\nfit = solve(V, M[p,q])\n",
                                    indirect[_i].definitions, indirect[_i].model));
    char *notes = grove_tree_show(w.t.tree);
    ck_assert_msg(strstr(notes, indirect[_i].wants), "%s: %s", indirect[_i].model,
                  strstr(notes, "fit = "));
    ck_assert(!strstr(notes, "is searched for") == !strstr(indirect[_i].wants, "is searched for"));
    ck_assert(!strstr(notes, "hundreds") == !strstr(indirect[_i].wants, "hundreds"));
    free(notes);
}

/* Weighted, flagged and noisy, compressed or not: the same minimum. */
LOOP_TEST(with_noise, 0, FORMS)
{
    char *data = suite_text("(%s + %snoise(obs, sigma=0.5Jy)%s) * b.value", forms[_i].data,
                            strstr(forms[_i].data, "trace(T") ? "trace(" : "",
                            strstr(forms[_i].data, "trace(T") ? ")" : "");
    char first[sizeof(solve_world_said)];

    if (strstr(data, "diagonal(1, 1)")) {
        data = suite_text("(%s + diagonal(trace(noise(obs, sigma=0.5Jy)), "
                          "trace(noise(obs, sigma=0.5Jy, seed=2)))) * b.value",
                          forms[_i].data);
    }
    char *full = suite_text("%s\nb = spoil(obs, share=0.2, weights=odd, nan=0.02)\n"
                            "D[p,q] = %s\nV[p,q] = %s\n",
                            forms[_i].definitions, data, forms[_i].model);
    const char *ends[] = {"", ", compress=false"};
    for (int k = 0; k < 2; k++) {
        solve_world_pass(&w,
                         suite_text("%sfit = solve(V, D, tolerance=1e-12, max_iterations=300%s)\n"
                                    "k0 = keep(V, number=%d)\n",
                                    full, ends[k], k));
        check_note(_i, k == 0);
        if (!k)
            snprintf(first, sizeof(first), "%s", solve_world_said);
    }
    double off = distance(forms[_i].misfit && strstr(data, "diagonal(1, 1)"));
    ck_assert_msg(off < 1e-5, "%s: %g\n%s\n%s", forms[_i].model, off, first, solve_world_said);
    double a = atof(strstr(first, "freedom ") + 8),
           b = atof(strstr(solve_world_said, "freedom ") + 8);
    ck_assert_msg(fabs(a / b - 1) < 2e-3, "%s\n%s\n%s", forms[_i].model, first, solve_world_said);
}

/* A group of sources without flux keeps its start; the other is found. */
LOOP_TEST(dark_group, 0, 2)
{
    char *text =
        grove_format(E T "V[p,q] = sum[s](E[s,p] * (S.patch(\"A\") * point(S, obs)) * E[s,q]^H)\n"
                         "D[p,q] = T[p] * sum[s](S.patch(\"A\") * point(S, obs)) * T[q]^H\n"
                         "fit = solve(V, D, tolerance=1e-12, max_iterations=300, "
                         "compress=%s)\n"
                         "dark[p] = sum[s](S.patch(\"B\") * E[s,p])\n"
                         "k0 = keep(V, number=0)\nk1 = keep(dark, number=1)\n"
                         "k2 = keep(D, number=2)\n",
                     _i ? "false" : "true");

    solve_world_pass(&w, text);
    ck_assert_double_lt(solve_world_distance(0, 2), 1e-7);
    ck_assert_int_gt(solve_world_kept[1].cells, 0);
    for (int64_t i = 0; i < solve_world_kept[1].cells * solve_world_kept[1].elements; i++)
        ck_assert(solve_world_kept[1].at[i] == 1);
    free(text);
}

SUITE(60, setup, teardown)
