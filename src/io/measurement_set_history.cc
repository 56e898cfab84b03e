// What a set's HISTORY says of how it came about.
#include "io/measurement_set_private.h"

#include <casacore/casa/OS/Time.h>
#include <casacore/casa/Quanta/MVTime.h>
#include <casacore/tables/Tables/TableRecord.h>

using namespace casacore;

extern "C" void grove_ms_set_history(grove_ms *ms, const char *text)
{
    ms->history = text;
}

namespace
{
void add_row(const Table &table, const std::vector<String> &lines)
{
    Table history = table.keywordSet().asTable("HISTORY");
    if (!history.isWritable())
        history.reopenRW();
    history.addRow(1);
    rownr_t row = history.nrow() - 1;
    ScalarColumn<Double>(history, "TIME").put(row, MVTime(Time()).second());
    ScalarColumn<Int>(history, "OBSERVATION_ID").put(row, 0);
    ScalarColumn<Int>(history, "OBJECT_ID").put(row, -1);
    ScalarColumn<String>(history, "MESSAGE").put(row, lines[0]);
    ScalarColumn<String>(history, "PRIORITY").put(row, "NORMAL");
    ScalarColumn<String>(history, "ORIGIN").put(row, "grove");
    ScalarColumn<String>(history, "APPLICATION").put(row, "grove");
    ArrayColumn<String>(history, "CLI_COMMAND").put(row, Vector<String>(1, ""));
    ArrayColumn<String>(history, "APP_PARAMS").put(row, Vector<String>(lines));
    history.flush(True);
}
} // namespace

void grove::write_history(const Table &table, const std::string &text)
{
    std::vector<String> lines;

    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    if (lines.empty() || !table.keywordSet().isDefined("HISTORY"))
        return;
    try {
        add_row(table, lines);
    } catch (const std::exception &) {
        // the data are complete: a HISTORY that cannot be written is no reason to fail
    }
}
