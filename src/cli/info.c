/* grove info: the contents of a file, or the build and the devices. */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>

static int print(char *text, const grove_error *error)
{
    if (!text)
        return grove_complain_errors(GROVE_FAILED, error);
    grove_put(stdout, text);
    return GROVE_DONE;
}

static int info(grove_command_line *line)
{
    int code = GROVE_DONE;

    if (line->help) {
        grove_command_help(&grove_command_info);
        return GROVE_DONE;
    }
    if (line->devices && line->word_count)
        return grove_complain(GROVE_USAGE, "grove info --devices takes no '%s'", line->words[0]);
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    if (line->devices)
        code = print(grove_library_devices(library), error);
    else if (!line->word_count)
        code = print(grove_library_about(library), error);
    for (int i = 0; i < line->word_count && !code; i++) {
        if (i)
            puts("");
        code = print(grove_library_info(library, line->words[i], error), error);
    }
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

const grove_command grove_command_info = {
    "info", "[DATA ... | --devices]",
    "describes a Measurement Set, sky model, array, tree file, "
    "file of solutions, FITS image or checkpoint; without arguments, this installation",
    "plugins devices no-wait", info};
