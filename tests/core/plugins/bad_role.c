/* Has the role of a product, but one factor only. */
#include "plain.h"

GROVE_CLASS(bad_role) = {GROVE_CLASS_HEAD(bad_role), PLAIN, .role = GROVE_ROLE_PRODUCT};
