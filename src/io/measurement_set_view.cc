// Views: a table's new state, prepared beside it.
//
// casacore removes a column's files before it writes its table anew, and empties headers before it
// fills them. Both happen in a view only: a folder inside of the set that has copies of its small
// files and hard links to the others, and is a table by itself.
#include "io/measurement_set_private.h"

#include <casacore/casa/Containers/Record.h>
#include <casacore/casa/IO/AipsIO.h>
#include <casacore/casa/OS/CanonicalConversion.h>
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

// Says in the view's table.dat how many rows there are. After rows were added to a table that was
// unlocked before it was closed, as by Python, only its table.lock does.
int write_rows(const grove::view *made, grove_error *error)
{
    const std::string path = made->prepared() + "/table.dat";
    AipsIO header(path);
    const bool is_long = header.getstart("Table") > 2;
    const off_t at = off_t(header.getpos());
    header.close();
    unsigned char bytes[8];
    size_t count = is_long ? CanonicalConversion::fromLocal(bytes, Int64(made->rows))
                           : CanonicalConversion::fromLocal(bytes, uInt(made->rows));
    int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    bool done = file >= 0 && pwrite(file, bytes, count, at) == ssize_t(count);
    int code = done ? 0 : fail(path, error);
    if (file >= 0)
        close(file);
    return code;
}

// Whether the view's table is one of so many rows. It is opened as others will open it.
int check_rows(const grove::view *made, rownr_t rows, grove_error *error)
{
    const rownr_t found = Table(made->prepared(), TableLock(TableLock::NoLocking)).nrow();
    return found == rows ? 0
                         : grove_fail(error, GROVE_IO,
                                      "%s: it has %llu rows, and what would replace it %llu; it "
                                      "is left as it is",
                                      made->folder.c_str(), (unsigned long long)rows,
                                      (unsigned long long)found);
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

int fill(grove::view *made, grove_error *error)
{
    char **names = grove_folder_read(made->folder.c_str(), error);
    int code = !names                                  ? int(GROVE_IO)
               : mkdir(made->prepared().c_str(), 0777) ? fail(made->prepared(), error)
                                                       : 0;
    for (char **name = names; name && *name; name++) {
        std::string file = *name;
        bool needed =
            starts_with(file, "table.") && file != "table.lock" && file != "table.dat_tmp";
        std::string from = made->folder + "/" + file, to = made->prepared() + "/" + file;
        // Where the file system has no hard links, data are copied as well.
        if (needed && !code && (!starts_with(file, "table.f") || link(from.c_str(), to.c_str())))
            code = copy_file(made, file, error);
    }
    grove_folder_free(names);
    return code;
}

// Why a table cannot be written now; null: it is locked by casacore's own lock, and no other
// program has it open, which would not know of what changes, and write the table as it was.
const char *who_keeps(grove::view *of)
{
    if (!of->original.hasLock(FileLocker::Write) && !of->original.lock(FileLocker::Write, 1))
        return "another program has locked it";
    return of->original.isMultiUsed() ? "another program has it open" : nullptr;
}

// Locks all tables of the run. Who has one of them open may want the lock of another: while the run
// waits, it has none, and what it has copied must be the same afterwards.
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
        if (!why || (!times && !grove_set_has_record_locks(kept->folder.c_str(), true))) {
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
        throw AipsError(file + ": cannot be looked at");
    return here.inode == there.inode;
}

} // namespace

namespace grove
{
void close_table(grove::view *to)
{
    to->table.flush();
    to->table = Table();
}

int remove_files(const view *to, unsigned number, grove_error *error)
{
    int code = 0;
    for (const std::string &file : files_of(to, number))
        if (!code)
            code = remove_file(to, file, error);
    return code;
}

int own_files(grove::view *to, unsigned number, grove_error *error)
{
    int code = 0;
    close_table(to);
    for (const std::string &file : files_of(to, number)) {
        bool shared = is_shared(to, file);
        if (!code && shared)
            code = remove_file(to, file, error);
        if (!code && shared)
            code = copy_file(to, file, error);
    }
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
    if (!settled && !work.empty())
        grove_record_drop(record, work.c_str());
}

std::shared_ptr<view> open_view(const std::string &folder, grove_record *record, grove_error *error)
{
    views.remove_if([](const std::weak_ptr<view> &each) { return each.expired(); });
    for (const auto &each : views) {
        std::shared_ptr<view> known = each.lock();
        if (known->record == record && known->folder == folder && !known->settled)
            return known;
    }
    std::shared_ptr<view> made(new view);
    made->folder = folder;
    made->record = record;
    made->original = Table(folder, TableLock(TableLock::UserNoReadLocking), Table::Update);
    if (lock_originals(made.get(), error))
        return nullptr;
    const char *work = grove_record_work(record, folder.c_str(), GROVE_RECORD_INSIDE, error);
    if (!work)
        return nullptr;
    made->work = work;
    made->rows = made->original.nrow();
    if (check_space(folder, work, error) || fill(made.get(), error) ||
        write_rows(made.get(), error) || check_rows(made.get(), made->rows, error))
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
    bool renumbered = to->table.tableDesc().ncolumn() != to->original.tableDesc().ncolumn() ||
                      to->table.nrow() != to->rows;
    const rownr_t rows = to->rows + to->added;
    to->table.flush();
    to->table = Table();
    int code = lock_originals(to, error);
    if (!code)
        code = check_copied(to, error);
    if (!code)
        code = check_rows(to, rows, error);
    if (code)
        return code;
    grove_record_add_files(to->record, to->work.c_str(), renumbered);
    to->settled = true;
    return 0;
}
} // namespace grove
