/* grove recover: puts right what runs that died have left. */
#include "cli/command.h"

#include <stdio.h>

static int recover(grove_command_line *line)
{
    grove_error *error = grove_error_new();
    int code = GROVE_DONE;

    if (line->help) {
        grove_command_help(&grove_command_recover);
    } else if (!line->word_count) {
        code = grove_complain(GROVE_USAGE,
                              "grove recover wants a Measurement Set; grove recover --help says "
                              "more");
    } else {
        grove_interrupt_watch();
        for (int i = 0; i < line->word_count && !code; i++) {
            bool done = false;
            if (grove_recover(line->words[i], &done, error))
                code = grove_complain_errors(GROVE_FAILED, error);
            else if (!done)
                printf("%s: nothing to recover\n", line->words[i]);
        }
    }
    grove_error_free(error);
    return code;
}

const grove_command grove_command_recover = {
    "recover", "SET ...",
    "puts a Measurement Set right after a run that died; opening it does the same", "no-wait",
    recover};
