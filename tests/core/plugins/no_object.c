/* Does not name the kind of object that it requires. */
#include "plain.h"

static const grove_port inputs[] = {{"obs", GROVE_OBJECT, "any object"}, {0}};

GROVE_CLASS(no_object) = {GROVE_CLASS_HEAD(no_object), PLAIN_TEXTS, .inputs = inputs,
                          .kernel = &plain_kernel};
