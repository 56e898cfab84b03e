/* Units: dimensions as small exponents, and the names that tree files use. */
#ifndef GROVE_BASE_UNIT_H
#define GROVE_BASE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exponents of metre, second, jansky, radian, kelvin. All zero: a plain number. Values are always
 * stored in these base units (Hz is s^-1). */
typedef struct {
    int8_t m, s, Jy, rad, K, spare[3];
} grove_unit;

#define GROVE_UNIT_NONE      ((grove_unit){0})
#define GROVE_UNIT_LENGTH    ((grove_unit){.m = 1})
#define GROVE_UNIT_TIME      ((grove_unit){.s = 1})
#define GROVE_UNIT_FREQUENCY ((grove_unit){.s = -1})
#define GROVE_UNIT_ANGLE     ((grove_unit){.rad = 1})
#define GROVE_UNIT_FLUX      ((grove_unit){.Jy = 1})
#define GROVE_UNIT_SPEED     ((grove_unit){.m = 1, .s = -1})

bool grove_unit_equal(grove_unit a, grove_unit b);
bool grove_unit_is_none(grove_unit unit);
grove_unit grove_unit_multiply(grove_unit a, grove_unit b);
grove_unit grove_unit_divide(grove_unit a, grove_unit b);
/* unit^power; false when an exponent would not be an integer or is out of range. */
bool grove_unit_power(grove_unit unit, double power, grove_unit *result);

/* Looks up the unit `name` (length bytes): m km cm mm; s ms us ns min h d; Hz kHz MHz GHz; Jy mJy
 * uJy; rad mrad deg arcmin arcsec mas; K mK. Sets its dimensions and its factor to base units. */
bool grove_unit_named(const char *name, int length, grove_unit *unit, double *factor);

/* "m", "Hz", "Jy m^2 s^-1", "" for none; into buf (at least 48 bytes), returning buf. */
char *grove_unit_show(char *buf, grove_unit unit);
/* In words: "a length", "a time", "a frequency", "an angle", "a flux density", "a plain number", "a
 * speed", else "m^2 s^-1"; into buf (at least 48 bytes). */
char *grove_unit_describe(char *buf, grove_unit unit);

/* Parses an angle to radians: "10h42m36.1s", "10h42m", "05:42:36.1", "85.65deg", "1.4948rad". It is
 * in hours if marked with h, or if written with colons and right_ascension is true. "49d51m07s",
 * "+49.51.07.0", "-00:10:00" are degrees. Returns the first character after it, or NULL. */
const char *grove_parse_angle(const char *text, bool right_ascension, double *radians);
/* Frames of directions. B1950 is FK4 (with the E-terms of aberration), for a source without proper
 * motion, at epoch 1950. J2000 is not distinguished from ICRS, which differs by 0.02 arcsec. */
typedef enum {
    GROVE_FRAME_UNKNOWN,
    GROVE_FRAME_J2000,
    GROVE_FRAME_B1950,
    GROVE_FRAME_GALACTIC
} grove_frame;
/* J2000, ICRS, FK5; B1950, FK4; GALACTIC; in any case. */
grove_frame grove_frame_named(const char *name, size_t length);
/* Two angles of that frame to J2000 right ascension and declination, rad (ERFA's Fk45z, G2icrs). */
void grove_frame_to_j2000(grove_frame frame, double radec[2]);
/* The position angle in J2000 of the frame's north, at a direction in the frame, rad. */
double grove_frame_north(grove_frame frame, const double radec[2]);
/* Parses a direction: right ascension, then declination, separated by white space or a comma, to
 * J2000. A frame may precede them, such as in "B1950 05h38m43.5s 49d49m42.7s". */
int grove_parse_direction(const char *text, double radec[2]);
/* "05h42m36.1s" and "+49d51m07s" into buf (at least 32 bytes each). */
char *grove_show_ra(char *buf, double radians);
char *grove_show_dec(char *buf, double radians);
/* Parses "2026-11-21T05:10:00" (UTC; a blank for the T, no seconds, no time of day, or fractions
 * are accepted) to MJD seconds; 0 or GROVE_INVALID. The other writes it into buf (at least 40
 * bytes). */
int grove_parse_date(const char *text, double *mjd_seconds);
char *grove_show_date(char *buf, double mjd_seconds);

#ifdef __cplusplus
}
#endif

#endif
