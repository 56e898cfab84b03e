/* Colour maps: paths through a perceptual colour space, so that equal steps in the data look equal.
 */
#include "nodes/plot/colour.h"
#include <math.h>

/* Lightness, chroma, hue (degrees) in OKLCh. */
typedef struct {
    double at, lightness, chroma, hue;
} stop;

typedef struct {
    int count;
    stop stops[7];
} route;

/* Lightness is linear along leaf and ember, and falls linearly to both sides along balance and
 * cycle, so that the order is preserved in grey. Chroma stays within the range of screens. */
static const route routes[] = {
    [GROVE_MAP_LEAF] = {7,
                        {{0.0, 0.26, 0.105, 310},
                         {0.2, 0.39, 0.130, 282},
                         {0.4, 0.52, 0.104, 238},
                         {0.5, 0.585, 0.094, 206},
                         {0.6, 0.65, 0.110, 172},
                         {0.8, 0.78, 0.160, 138},
                         {1.0, 0.91, 0.180, 106}}},
    [GROVE_MAP_EMBER] = {6,
                         {{0.0, 0.09, 0.030, 285},
                          {0.2, 0.264, 0.125, 300},
                          {0.4, 0.438, 0.165, 350},
                          {0.6, 0.612, 0.190, 385},
                          {0.8, 0.786, 0.155, 425},
                          {1.0, 0.96, 0.060, 460}}},
    [GROVE_MAP_BALANCE] = {6,
                           {{0.0, 0.33, 0.100, 262},
                            {0.25, 0.65, 0.120, 250},
                            {0.5, 0.97, 0.000, 245},
                            {0.5, 0.97, 0.000, 40},
                            {0.75, 0.65, 0.150, 32},
                            {1.0, 0.33, 0.125, 25}}},
    [GROVE_MAP_CYCLE] = {6,
                         {{0.0, 0.25, 0.080, 320},
                          {0.25, 0.61, 0.120, 250},
                          {0.5, 0.97, 0.000, 245},
                          {0.5, 0.97, 0.000, 40},
                          {0.75, 0.61, 0.150, 32},
                          {1.0, 0.25, 0.080, -40}}},
    [GROVE_MAP_GREY] = {2, {{0.0, 0.0, 0.0, 0}, {1.0, 1.0, 0.0, 0}}},
};

static double encode(double linear)
{
    if (linear <= 0)
        return 0;
    if (linear >= 1)
        return 1;
    return linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

/* OKLab to sRGB: B. Ottosson, "A perceptual color space for image processing", 2020. */
static grove_colour from_oklch(double lightness, double chroma, double hue)
{
    double a = chroma * cos(hue * M_PI / 180), b = chroma * sin(hue * M_PI / 180);
    double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    double red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
    double green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
    double blue = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;

    return 0xff000000u | (grove_colour)lround(255 * encode(red)) << 16 |
           (grove_colour)lround(255 * encode(green)) << 8 |
           (grove_colour)lround(255 * encode(blue));
}

static double between(double a, double b, double t)
{
    return a + t * (b - a);
}

void grove_map_table(grove_map map, grove_colour table[GROVE_MAP_SIZE])
{
    const route *way = &routes[map <= GROVE_MAP_CYCLE ? map : GROVE_MAP_LEAF];
    const stop *one = way->stops;

    for (int i = 0; i < GROVE_MAP_SIZE; i++) {
        double at = i / (double)(GROVE_MAP_SIZE - 1);
        while (at > one[1].at)
            one++;
        double t = (at - one->at) / (one[1].at - one->at);
        table[i] =
            from_oklch(between(one->lightness, one[1].lightness, t),
                       between(one->chroma, one[1].chroma, t), between(one->hue, one[1].hue, t));
    }
}

/* M. Okabe, K. Ito, "Color universal design", 2008; with grey in place of yellow, which is too pale
 * on white. */
grove_colour grove_palette(size_t k)
{
    static const grove_colour colours[8] = {0xff0072b2, 0xffd55e00, 0xff009e73, 0xffcc79a7,
                                            0xffe69f00, 0xff56b4e9, 0xff6b6b6b, 0xff222222};
    return colours[k % 8];
}

grove_colour grove_colour_mix(grove_colour a, grove_colour b, double share)
{
    grove_colour mixed = 0;

    for (int shift = 0; shift < 32; shift += 8)
        mixed |= (grove_colour)lround(between(a >> shift & 255, b >> shift & 255, share)) << shift;
    return mixed;
}

grove_colour grove_colour_fade(grove_colour colour, double opacity)
{
    double alpha = (colour >> 24) * fmin(1, fmax(0, opacity));
    return (colour & 0xffffffu) | (grove_colour)lround(alpha) << 24;
}
