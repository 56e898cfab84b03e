/* Its second rule of derivatives has a blank before the colon. */
#include "plain.h"

GROVE_CLASS(bad_tangent) = {GROVE_CLASS_HEAD(bad_tangent), PLAIN, .tangent = "x: dx; x : dx"};
