/* Where numbers are drawn in a picture of panels: read from its SVG file. */
#ifndef GROVE_TESTS_PICTURE_TESTING_H
#define GROVE_TESTS_PICTURE_TESTING_H

#include "grove.h"

enum { MAX_DOTS = 4000, MAX_PANELS = 220 };

typedef struct {
    double x, y;
} dot;

/* The area of the data of a chart. */
typedef struct {
    double x, y, width, height;
    const char *from, *to; /* its data in the file */
} panel;

/* What the last call of draw read. */
extern char *svg;
extern panel panels[MAX_PANELS];
extern int panel_count;

/* A folder for the test, which is the current one, and a library; after it they are removed. */
void picture_begin(void);
void picture_end(void);
extern grove_library *library;
extern grove_error *error;

/* Draws `data` into picture.svg, and finds its panels. */
void draw(const char *data, const grove_picture *picture);
/* The dots of a colour in a panel, or with `bars` the ends of its lines. */
int find_dots(int k, const char *colour, bool bars, dot dots[MAX_DOTS]);
/* Where a label stands; of several the one nearest to panel k. */
dot find_label(const char *label, int k);

/* Numbers along an axis of all panels, by two labels beside panel k. */
typedef struct {
    double first, share; /* number at the low end; how much more at the high end */
} scale;
scale y_scale(int k, const char *a, const char *b, double number_a, double number_b);
scale x_scale(int k, const char *a, const char *b, double number_a, double number_b);
double x_of(const scale *s, int k, dot d);
double y_of(const scale *s, int k, dot d);

#endif
