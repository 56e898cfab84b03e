/* Its check never returns. */
#include "plain.h"

#include <unistd.h>

static int check(grove_node *node)
{
    (void)node;
    while (pause())
        ;
    return 0;
}

GROVE_CLASS(no_return) = {
    GROVE_CLASS_HEAD(no_return), .doc = "For tests.",
    .output_doc = "the input",   .group = "tests",
    .inputs = plain_inputs,      .check = check,
    .kernel = &plain_kernel,     .example = "y = no_return(1)",
};
