/* Has an unknown flag rule. */
#include "plain.h"

GROVE_CLASS(bad_rule) = {GROVE_CLASS_HEAD(bad_rule), PLAIN, .flag_rule = (grove_flag_rule)9};
