/* Passes errors of readers of files on to a node, with their places in the files read. */
#ifndef GROVE_NODES_REPORT_H
#define GROVE_NODES_REPORT_H

#include "base/error.h"
#include "plugin.h"

#include <stdlib.h>
#include <string.h>

/* Reports all errors that `error` holds, at `option`; returns the first one's code. */
static inline int report_errors(const grove_node *node, const char *option,
                                const grove_error *error)
{
    char *text = grove_error_text(error);
    size_t length = strlen(text);
    bool whole = strncmp(text, "error: ", 7) == 0; /* without a place in a file */

    while (length && text[length - 1] == '\n')
        text[--length] = 0;
    if (whole && grove_error_count(error) == 1)
        grove_node_fail_option(node, option, "%s", grove_error_message(error, 0));
    else
        grove_node_fail_option(node, option, "cannot be read\n%s", text);
    free(text);
    return grove_error_code(error);
}

/* Reports the first error that `error` holds, at the option `to`, and frees it; returns its
 * code. */
static inline int report_output(const grove_node *node, grove_error *error)
{
    int code = grove_error_code(error);

    grove_node_fail_option(node, "to", "%s", grove_error_message(error, 0));
    grove_error_free(error);
    return code < 0 ? code : GROVE_IO;
}

#endif
