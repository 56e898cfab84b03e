/* It is a product of one factor. */
#include "plain.h"

GROVE_CLASS(bad_role) = {GROVE_CLASS_HEAD(bad_role), PLAIN, .role = GROVE_ROLE_PRODUCT};
