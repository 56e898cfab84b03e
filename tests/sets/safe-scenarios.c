#include "safe-scenarios.h"

#include "safe-testing.h"
#include "tests/common/foreign-sets.h"

#include "unstable/record.h"

#include <stdlib.h>

static const float first = 1, second = 0.5f;

static int make_set(const void *context)
{
    (void)context;
    return safe_new_set(safe_path("a.ms"), first, false);
}

static int make_appended(const void *context)
{
    if (make_set(context))
        return 1;
    foreign_append(safe_path("a.ms"));
    return 0;
}

static int make_one_file(const void *context)
{
    if (make_set(context))
        return 1;
    foreign_one_file(safe_path("a.ms"));
    return 0;
}

static int make_three(const void *context)
{
    return make_set(context) || safe_new_set(safe_path("b.ms"), first, false);
}

static int make_selection(const void *context)
{
    static const char *const names[] = {"MODEL_DATA"};

    if (make_set(context))
        return 1;
    foreign_columns(safe_path("a.ms"), "tiled", names, 1);
    foreign_reference(safe_path("a.ms"), safe_path("some.ms"));
    return 0;
}

static int make_shared(const void *context)
{
    static const char *const names[] = {"ONE", "TWO"};

    if (make_set(context))
        return 1;
    foreign_columns(safe_path("a.ms"), "tiled", names, 2);
    return 0;
}

static int make_flagged(const void *context)
{
    if (make_set(context))
        return 1;
    foreign_flag(safe_path("a.ms"), 1);
    return 0;
}

static int change_flags(const void *context)
{
    (void)context;
    return safe_write_flags(safe_path("a.ms"), 0);
}

static int make_changed(const void *context)
{
    return make_flagged(context) || change_flags(context);
}

static int change_again(const void *context)
{
    (void)context;
    return safe_write_flags(safe_path("a.ms"), 1);
}

static int put_back_flags(const void *context)
{
    (void)context;
    return grove_ms_restore_flags(safe_path("a.ms"), "last", safe_error);
}

static int make_nothing(const void *context)
{
    (void)context;
    return 0;
}

static int replace_column(const void *context)
{
    (void)context;
    return safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, second);
}

static int add_column(const void *context)
{
    (void)context;
    return safe_write_column(safe_path("a.ms"), "MODEL_DATA", GROVE_MS_REPLACE, second);
}

static int add_to_column(const void *context)
{
    (void)context;
    return safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_ADD, second);
}

static int write_selection(const void *context)
{
    (void)context;
    return safe_write_column(safe_path("some.ms"), "MODEL_DATA", GROVE_MS_SUBTRACT, second);
}

static int write_shared(const void *context)
{
    (void)context;
    return safe_write_column(safe_path("a.ms"), "TWO", GROVE_MS_ADD, second);
}

static int write_new(const void *context)
{
    (void)context;
    return safe_new_set(safe_path("a.ms"), second, false);
}

static int overwrite(const void *context)
{
    (void)context;
    return safe_new_set(safe_path("a.ms"), second, true);
}

/* Writes all outputs of a run, or none; one that is NULL could not begin. */
static int end_run(grove_record *record, grove_ms **outputs, int count)
{
    int code = 0;

    for (int k = 0; k < count && !code; k++)
        code = outputs[k] ? safe_write_all(outputs[k], second * (float)(k + 1)) : GROVE_IO;
    for (int k = 0; k < count && !code; k++)
        code = grove_ms_settle(outputs[k], safe_error);
    if (!code)
        code = grove_record_commit(record, safe_error);
    for (int k = 0; k < count; k++)
        if (outputs[k] && code)
            grove_ms_abort(outputs[k]);
        else if (outputs[k])
            grove_ms_finish(outputs[k], safe_error);
    safe_record = NULL;
    grove_record_free(record);
    return code;
}

/* Two columns of one set, one of another, and a new set, in one run. */
static int write_several(const void *context)
{
    grove_record *record = grove_record_new();
    grove_ms *outputs[4] = {0};
    int count = 0;

    (void)context;
    safe_record = record;
    outputs[count++] = safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE);
    if (outputs[count - 1])
        outputs[count++] = safe_open_column(safe_path("a.ms"), "MODEL_DATA", GROVE_MS_REPLACE);
    if (outputs[count - 1])
        outputs[count++] = safe_open_column(safe_path("b.ms"), "DATA", GROVE_MS_SUBTRACT);
    if (outputs[count - 1])
        outputs[count++] = safe_create(safe_path("c.ms"), "DATA", false);
    return end_run(record, outputs, 4);
}

/* Two columns that make one set, in one run. */
static int write_columns(bool replace)
{
    grove_record *record = grove_record_new();
    grove_ms *outputs[2] = {0};

    safe_record = record;
    outputs[0] = safe_create(safe_path("a.ms"), "MODEL_DATA", replace);
    if (outputs[0])
        outputs[1] = safe_create(safe_path("a.ms"), "DATA", replace);
    return end_run(record, outputs, 2);
}

static int write_new_columns(const void *context)
{
    (void)context;
    return write_columns(false);
}

static int overwrite_columns(const void *context)
{
    (void)context;
    return write_columns(true);
}

const safe_scenario safe_scenarios[] = {
    {"a replaced column", make_set, replace_column, true, false, true},
    {"an added column", make_set, add_column, true, false, true},
    {"a replaced column, rows added", make_appended, replace_column, true, false, true},
    {"an added column, rows added", make_appended, add_column, false, false, true},
    {"a replaced column, one file", make_one_file, replace_column, true, false, true},
    {"an added column, one file", make_one_file, add_column, true, false, true},
    {"numbers added to a column", make_set, add_to_column, true, false, true},
    {"several outputs", make_three, write_several, true, false, true},
    {"a reference table", make_selection, write_selection, true, false, true},
    {"a column that shares its files", make_shared, write_shared, true, false, true},
    {"a new set", make_nothing, write_new, true, false, true},
    {"a set in place of another", make_set, overwrite, true, false, true},
    {"columns of a new set", make_nothing, write_new_columns, true, false, true},
    {"columns of a set in place of another", make_set, overwrite_columns, true, false, true},
    {"changed flags", make_flagged, change_flags, true, false, true},
    {"flags changed again", make_changed, change_again, true, false, true},
    {"flags restored", make_changed, put_back_flags, true, false, true},
    {"a replaced column, no links", make_set, replace_column, false, true, true},
    {"a new set, simple renames", make_nothing, write_new, false, true, true},
    {"a set in place of another, simple renames", make_set, overwrite, false, true, true},
    {"a replaced column, no locks", make_set, replace_column, true, false, false},
    {"columns of a new set, no locks", make_nothing, write_new_columns, true, false, false},
};
const int safe_scenario_count = sizeof(safe_scenarios) / sizeof(safe_scenarios[0]);
