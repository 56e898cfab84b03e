/* grove recover: repairs sets after runs that died, and restores flags that runs have changed. */
#include "cli/command.h"

#include <stdio.h>

static int recover_one(const grove_command_line *line, const char *set, grove_error *error)
{
    bool done = false;

    if (line->flags ? grove_restore_flags(set, line->flags, error)
                    : grove_recover(set, &done, error))
        return grove_complain_errors(GROVE_FAILED, error);
    if (line->flags)
        printf("%s: flags restored: %s\n", set, line->flags);
    else if (!done)
        printf("%s: nothing to recover\n", set);
    return GROVE_DONE;
}

static int recover(grove_command_line *line)
{
    grove_error *error = grove_error_new();
    int code = GROVE_DONE;

    if (line->help) {
        grove_command_help(&grove_command_recover);
    } else if (!line->word_count) {
        code = grove_complain(GROVE_USAGE,
                              "grove recover requires a Measurement Set; see grove recover --help");
    } else {
        grove_interrupt_watch();
        for (int i = 0; i < line->word_count && !code; i++)
            code = recover_one(line, line->words[i], error);
    }
    grove_error_free(error);
    return code;
}

const grove_command grove_command_recover = {
    "recover", "SET ...",
    "restores a Measurement Set after a run that died; opening the set does the same. With --flags "
    "it\nrestores the flags that a run has changed",
    "flags no-wait", recover};
