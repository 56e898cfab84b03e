// HISTORY of a set: the runs that wrote it.
#include "nodes/sets/measurement_set_private.h"

extern "C" {
#include "util.h"
}

#include <casacore/casa/OS/Time.h>
#include <casacore/casa/Quanta/MVTime.h>
#include <casacore/tables/Tables/TableRecord.h>

using namespace casacore;

namespace
{
// HISTORY of a set that exists is written in a view, as its columns are. Where it cannot be
// written, a warning says so, and the run goes on: the data are no worse.
int try_history(grove_ms *ms, grove_error *error, const std::function<int(grove_error *)> &work)
{
    const std::string &folder = ms->history_folder;
    std::unique_ptr<grove_error, decltype(&grove_error_free)> fault(grove_error_new(),
                                                                    grove_error_free);
    int code = grove::guard(folder, fault.get(), [&] { return work(fault.get()); });
    if (!code)
        return 0;
    if (ms->history_view)
        ms->history_view->broken = !ms->history_view->settled;
    ms->history_view.reset();
    if (code == GROVE_INTERRUPTED)
        return grove_fail(error, code, "%s", grove_error_message(fault.get(), 0));
    grove_log(GROVE_LOG_WARNING, "%s; HISTORY has no entry of this run",
              grove_error_message(fault.get(), 0));
    return 0;
}

void open_history(grove_ms *ms)
{
    try_history(ms, nullptr, [&](grove_error *error) {
        const std::string &folder = ms->history_folder;
        ms->history_folder = (grove::is_plain(ms->table) ? std::string(ms->table.tableName())
                                                         : ms->data.parts.at(0).to->folder) +
                             "/HISTORY";
        if (grove_path_examine(folder.c_str(), error) == GROVE_PATH_NONE)
            return 0;
        if (!Table::isReadable(folder) || !Table::isWritable(folder))
            return grove_fail(error, GROVE_IO, "%s: not a table that can be written",
                              folder.c_str());
        ms->history_view = grove::open_whole(folder, ms->record, error);
        return grove_error_code(error);
    });
}

void add_row(Table &history, const std::vector<String> &lines)
{
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
    history.flush();
}

std::vector<String> lines_of(const std::string &text)
{
    std::vector<String> lines;

    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

// The lines of the text; the second names the columns that the run has written.
std::vector<String> lines_for(const grove_ms *ms)
{
    std::vector<String> lines = lines_of(ms->history);
    String written("columns written:");
    if (ms->made)
        for (const std::string &column : ms->made->columns)
            written += " " + column;
    std::set<const grove::view *> known;
    for (const grove::written_column *each : {&ms->data, &ms->written_flags, &ms->written_weights})
        if (!each->parts.empty() && known.insert(each->parts[0].to.get()).second)
            for (const grove::view::column &column : each->parts[0].to->columns)
                written += " " + column.name + (column.name == "WEIGHT" ? " WEIGHT_SPECTRUM" : "");
    if (!lines.empty())
        lines.insert(lines.begin() + 1, written);
    return lines;
}
} // namespace

extern "C" void grove_ms_set_history(grove_ms *ms, const char *text)
{
    ms->history = text;
    if (!ms->made && !ms->data.parts.empty() && !ms->history.empty())
        open_history(ms);
}

int grove::write_history(grove_ms *ms, grove_error *error)
{
    std::vector<String> lines = lines_for(ms);

    if (lines.empty())
        return 0;
    if (ms->made) {
        Table history = ms->made->table.keywordSet().asTable("HISTORY");
        if (!history.isWritable())
            history.reopenRW();
        add_row(history, lines);
        return 0;
    }
    if (!ms->history_view)
        return 0;
    return try_history(ms, error, [&](grove_error *fault) {
        add_row(ms->history_view->table, lines);
        ms->history_view->added++;
        return grove::settle_view(ms->history_view.get(), fault);
    });
}
