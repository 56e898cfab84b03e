// Views: a table's new state, prepared next to it.
//
// casacore removes a column's files before it writes its table anew, and empties headers before it
// fills them. Both happen in a view only: a folder inside of the set. The table that casacore
// writes there has only columns that the run writes, so that no file of the set is ever open for
// writing: a fault cannot make casacore write to the set.
#include "nodes/sets/measurement_set_private.h"

#include <casacore/casa/Containers/Record.h>
#include <casacore/tables/Tables/TableDesc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <sys/stat.h>
#include <unistd.h>

using namespace casacore;

namespace
{
// The views of this process, which sinks of one run share.
std::list<std::weak_ptr<grove::view>> views;

int fail(const std::string &path, grove_error *error)
{
    return grove_fail(error, GROVE_IO, "%s: %s", path.c_str(), std::strerror(errno));
}

bool starts_with(const std::string &text, const std::string &start)
{
    return text.compare(0, start.size(), start) == 0;
}

bool same(const struct stat &a, const struct stat &b)
{
    return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
           a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// A copy of a file of the table, which must not change any more.
int copy_file(grove::view *made, const std::string &file, grove_error *error)
{
    std::string from = made->folder + "/" + file, to = made->prepared() + "/" + file;
    struct stat info;
    if (stat(from.c_str(), &info) || grove_file_copy(from.c_str(), to.c_str()))
        return fail(to, error);
    made->copied.emplace_back(from, info);
    return 0;
}

int check_copied(const grove::view *made, grove_error *error)
{
    struct stat now;
    bool is_same = made->original.nrow() == made->rows;
    for (const auto &each : made->copied)
        is_same = is_same && !stat(each.first.c_str(), &now) && same(now, each.second);
    return is_same
               ? 0
               : grove_fail(error, GROVE_IO, "%s: another program has changed it during this run",
                            made->folder.c_str());
}

// Puts hard links to the files of all columns into the folder, and copies of the table's other
// files but for its description and lock. Where the file system has no hard links, or one file has
// all columns, all are copies.
int fill(grove::view *made, grove_error *error)
{
    char **names = grove_folder_read(made->folder.c_str(), error);
    int code = !names                                  ? int(GROVE_IO)
               : mkdir(made->prepared().c_str(), 0777) ? fail(made->prepared(), error)
                                                       : 0;
    for (char **name = names; name && *name; name++) {
        std::string file = *name;
        bool needed = starts_with(file, "table.") && file != "table.lock" && file != "table.dat" &&
                      file != "table.dat_tmp";
        std::string from = made->folder + "/" + file, to = made->prepared() + "/" + file;
        bool is_data = made->has_own_files && starts_with(file, "table.f");
        if (needed && !code && (!is_data || link(from.c_str(), to.c_str())))
            code = copy_file(made, file, error);
    }
    grove_folder_free(names);
    return code;
}

std::string dat_of(const std::string &folder)
{
    return folder + "/table.dat";
}

// The description of the original table.
grove::table_dat read_original(const grove::view *of)
{
    grove::table_dat dat;
    dat.read(dat_of(of->folder), of->folder);
    return dat;
}

grove::table_dat read_prepared(const grove::view *of)
{
    grove::table_dat dat;
    dat.read(dat_of(of->prepared()), of->prepared());
    return dat;
}

// The table that is written: without columns as yet, or with all where one file has them.
int make_written(grove::view *made, grove_error *error)
{
    struct stat info;
    const std::string path = dat_of(made->folder);
    if (stat(path.c_str(), &info))
        return fail(path, error);
    grove::table_dat dat = read_original(made);
    made->copied.emplace_back(path, info);
    made->has_own_files = dat.has_own_files();
    if (made->has_own_files)
        dat.clear();
    int code = fill(made, error);
    return code ? code : dat.write(dat_of(made->prepared()), made->prepared(), made->rows, error);
}

// Why a table cannot be written now; null: it is locked by casacore's own lock, and no other
// program has it open, which would not notice the changes, and write the table's old state.
const char *who_keeps(grove::view *of)
{
    errno = 0;
    if (!of->original.hasLock(FileLocker::Write) && !of->original.lock(FileLocker::Write, 1)) {
        const int reason = errno;
        // casacore may have it open for reading only: waiting would not help
        if (reason && reason != EAGAIN && reason != EACCES && !grove_path_has_no_locks(reason))
            throw AipsError(std::string("table.lock cannot be locked: ") + std::strerror(reason));
        return "another program has locked it";
    }
    return of->original.isMultiUsed() ? "another program has it open" : nullptr;
}

// Locks all tables of the run. A program that has one of them open may need the lock of another:
// while the run waits, it has no lock, and files that it has copied must be the same afterwards.
int lock_originals(grove::view *made, grove_error *error)
{
    std::vector<std::shared_ptr<grove::view>> others;
    for (const auto &each : views)
        if (std::shared_ptr<grove::view> other = each.lock())
            if (other->record == made->record && other.get() != made)
                others.push_back(other);
    for (int times = 0;;) {
        grove::view *kept = made;
        const char *why = who_keeps(made);
        for (size_t k = 0; k < others.size() && !why; k++)
            why = who_keeps((kept = others[k].get()));
        const int locks = why ? grove_set_has_record_locks(kept->folder.c_str(), true) : 1;
        if (locks < 0)
            return fail(dat_of(kept->folder), error);
        if (!why || !locks) {
            made->waited = made->waited || times;
            int code = 0;
            for (size_t k = 0; k < others.size() && times && !code; k++)
                code = check_copied(others[k].get(), error);
            return code;
        }
        made->original.unlock();
        for (const auto &other : others)
            other->original.unlock();
        int code = grove_set_wait(kept->folder.c_str(), why, &times, error);
        if (code)
            return code;
    }
}

// The files of a manager in a view: "table.fN", and others that begin so.
std::vector<std::string> files_of(const grove::view *to, unsigned number)
{
    std::string start = "table.f" + std::to_string(number);
    char **names = grove_folder_read(to->prepared().c_str(), nullptr);
    if (!names)
        throw AipsError(to->prepared() + ": its files cannot be listed");
    std::vector<std::string> files;
    for (char **name = names; *name; name++) {
        std::string file = *name;
        if (starts_with(file, start) &&
            (file.size() == start.size() || !isdigit((unsigned char)file[start.size()])))
            files.push_back(file);
    }
    grove_folder_free(names);
    return files;
}

int remove_file(const grove::view *to, const std::string &file, grove_error *error)
{
    std::string path = to->prepared() + "/" + file;
    return unlink(path.c_str()) ? fail(path, error) : 0;
}

// Whether a file is still the table's, too.
bool is_shared(const grove::view *to, const std::string &file)
{
    grove_file_mark here, there;
    if (grove_file_mark_of((to->prepared() + "/" + file).c_str(), &here, nullptr) ||
        grove_file_mark_of((to->folder + "/" + file).c_str(), &there, nullptr))
        throw AipsError(file + ": cannot be examined");
    return here.inode == there.inode;
}

// Puts all columns into one table again: the written columns, and all others unchanged. Files of
// managers without columns go.
int join(const grove::view *made, grove::table_dat &all, grove_error *error)
{
    const grove::table_dat written = read_prepared(made);
    std::vector<std::string> names;
    std::vector<unsigned> before;
    for (uInt i = 0; i < written.desc.ncolumn(); i++)
        names.push_back(written.desc.columnDesc(i).name());
    for (const grove::table_dat::manager &each : all.managers)
        before.push_back(each.number);
    all.take(written, names);
    int code = 0;
    for (unsigned number : before)
        if (all.columns_of(number).empty())
            for (const std::string &file : files_of(made, number))
                if (!code)
                    code = remove_file(made, file, error);
    return code;
}

// Writes the description, and opens the table as others will: with tables that columns forward to
// where they are, which the description names relative to the table.
int describe(const grove::view *made, uint64_t rows, bool *renumbered, grove_error *error)
{
    grove::table_dat all = read_original(made);
    int code = join(made, all, error);
    grove::table_dat here = all;
    const bool differs = here.name_forwards(made->folder);
    if (!code)
        code = here.write(dat_of(made->prepared()), made->folder, rows, error);
    if (code)
        return code;
    Table now(made->prepared(), TableLock(TableLock::NoLocking));
    if (now.nrow() != rows)
        return grove_fail(
            error, GROVE_IO,
            "%s: it has %llu rows, but its replacement has %llu; it is left unchanged",
            made->folder.c_str(), (unsigned long long)rows, (unsigned long long)now.nrow());
    *renumbered = now.tableDesc().ncolumn() != made->original.tableDesc().ncolumn();
    now = Table();
    return differs ? all.write(dat_of(made->prepared()), made->folder, rows, error) : 0;
}
} // namespace

namespace grove
{
void close_table(grove::view *to)
{
    to->table.flush();
    to->table = Table();
}

int own_files(grove::view *to, unsigned number, grove_error *error)
{
    const table_dat all = read_original(to);
    const std::vector<std::string> names = all.columns_of(number);
    if (names.empty() || to->table.tableDesc().isColumn(names[0]))
        return 0;
    close_table(to);
    table_dat dat = read_prepared(to);
    dat.take(all, names);
    int code = 0;
    for (const std::string &file : files_of(to, number)) {
        bool shared = is_shared(to, file);
        if (!code && shared)
            code = remove_file(to, file, error);
        if (!code && shared)
            code = copy_file(to, file, error);
    }
    if (!code)
        code = dat.write(dat_of(to->prepared()), to->prepared(), to->rows, error);
    if (!code)
        to->table = grove::open_to_write(to->prepared(), TableLock::NoLocking);
    return code;
}

void never_close(const Table &table)
{
    static std::list<Table> *kept = new std::list<Table>;
    kept->push_back(table);
}

void never_close(std::unique_ptr<MeasurementSet> set)
{
    static std::list<MeasurementSet *> *kept = new std::list<MeasurementSet *>;
    kept->push_back(set.release());
}

view::~view()
{
    guard(folder, nullptr, [&] {
        if (broken)
            never_close(table);
        else if (!settled && !table.isNull())
            table.markForDelete(); // or all that it still holds would be written first
        table = Table();
        if (!original.isNull())
            original.unlock(); // closed with its lock, it would be written
        original = Table();
        return 0;
    });
    for (const std::string &each : {work, flags_work})
        if (!settled && !each.empty())
            grove_record_drop(record, each.c_str());
}

std::shared_ptr<view> find_view(const std::string &folder, const grove_record *record)
{
    views.remove_if([](const std::weak_ptr<view> &each) { return each.expired(); });
    for (const auto &each : views) {
        std::shared_ptr<view> known = each.lock();
        if (known->record == record && known->folder == folder)
            return known;
    }
    return nullptr;
}

std::shared_ptr<view> open_view(const std::string &folder, grove_record *record, grove_error *error)
{
    std::shared_ptr<view> made = find_view(folder, record);
    if (made && !made->settled)
        return made;
    made.reset(new view);
    made->folder = folder;
    made->record = record;
    made->original = Table(folder, TableLock(TableLock::UserNoReadLocking));
    if (lock_originals(made.get(), error))
        return nullptr;
    const char *work = grove_record_work(record, folder.c_str(), GROVE_RECORD_INSIDE, error);
    if (!work)
        return nullptr;
    made->work = work;
    made->rows = made->original.nrow();
    if (check_space(folder, work, error) || make_written(made.get(), error))
        return nullptr;
    made->table = open_to_write(made->prepared(), TableLock::NoLocking);
    views.push_back(made);
    return made;
}

std::shared_ptr<view> open_whole(const std::string &folder, grove_record *record,
                                 grove_error *error)
{
    std::shared_ptr<view> made = open_view(folder, record, error);
    if (!made || made->open_columns)
        return nullptr;
    Record managers(made->original.dataManagerInfo());
    for (uInt i = 0; i < managers.nfields(); i++)
        if (own_files(made.get(), managers.subRecord(i).asuInt("SEQNR"), error))
            return nullptr;
    made->open_columns = 1;
    return made;
}

int settle_view(view *to, grove_error *error)
{
    const uint64_t rows = to->rows + to->added;
    close_table(to);
    int code = lock_originals(to, error);
    if (!code)
        code = check_copied(to, error);
    bool renumbered = false;
    if (!code)
        code = describe(to, rows, &renumbered, error);
    if (code)
        return code;
    grove_record_add_files(to->record, to->work.c_str(), renumbered || to->added);
    to->settled = true;
    return 0;
}
} // namespace grove
