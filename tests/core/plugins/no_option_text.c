/* Has an option without a text. */
#include "plain.h"

static const grove_port options[] = {{"mute", GROVE_NUMBER, "", .initial = "1"}, {0}};

GROVE_CLASS(no_option_text) = {GROVE_CLASS_HEAD(no_option_text), PLAIN, .options = options};
