// Random Measurement Sets, read and written by trees in sessions, and compared with an evaluation
// from their columns that shares no code with Grove. What must be refused is refused with one
// message, and nothing changes then.
//
// GROVE_RANDOM_SET=SEED takes one set; GROVE_RANDOM_SETS=COUNT that many fresh ones.
#include "grove.h"
#include "random-set.h"

#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/Logging/NullLogSink.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace
{
enum { FIXED_SETS = 120, FRESH_SETS = 30, MAX_FAILURES = 5 };

grove_library *library;
uint64_t current;

struct {
    int sets, accepted, refused, faults[RANDOM_FAULTS][2], forms[RANDOM_FORMS];
    int storages[RANDOM_STORAGES], expressions[RANDOM_EXPRESSIONS], modes[3];
    long numbers;
} coverage;

// ---- trees ----

std::string quoted(const std::string &text)
{
    std::string to = "\"";
    for (char each : text)
        to += each == '"' || each == '\\' ? std::string("\\") + each : std::string(1, each);
    return to + "\"";
}

std::string tree_of(const random_set &set, const std::string &path)
{
    std::string text = "obs = ms(" + quoted(path) + ", field=" + std::to_string(set.field) +
                       ", spectral_window=" + std::to_string(set.window);
    if (set.fault == RANDOM_DOUBLE_COLUMN || set.fault == RANDOM_NO_COLUMN)
        text += set.fault == RANDOM_NO_COLUMN ? ", column=\"MISSING\"" : ", column=\"DOUBLE\"";
    text += set.cross_only ? ", autocorrelations=false)\n" : ")\n";
    for (size_t k = 0; k < set.sinks.size(); k++) {
        const random_sink &sink = set.sinks[k];
        std::string n = std::to_string(k);
        text += "x" + n + " = " + random_expressions[sink.expression] + "\n";
        if (set.writes)
            text += "w" + n + " = sink(x" + n + ", obs, column=" + quoted(sink.column) +
                    ", mode=" + random_modes[sink.mode] + ", overwrite=true)\n";
    }
    return text;
}

struct running {
    std::unique_ptr<grove_error, decltype(&grove_error_free)> error{grove_error_new(),
                                                                    grove_error_free};
    grove_tree *tree = nullptr;
    grove_session *session = nullptr;

    ~running()
    {
        grove_session_free(session);
        grove_tree_free(tree);
    }
    std::string message() const
    {
        char *text = grove_error_text(error.get());
        std::string copy = text ? text : "";
        free(text);
        return copy;
    }
};

bool start(const random_set &set, const std::string &text, running &run)
{
    grove_session_options options = {};
    options.size = sizeof(options);
    options.double_precision = set.double_precision;
    options.memory = 64 << 20;
    options.threads = set.threads;
    options.device = "cpu";
    options.tile_times = set.tile_times;
    options.tile_channels = set.tile_channels;
    options.tile_baselines = set.tile_baselines;
    options.serial = set.serial;
    run.tree =
        grove_library_parse(library, text.c_str(), "random.tree", nullptr, 0, run.error.get());
    if (run.tree)
        run.session = grove_session_new(run.tree, &options, run.error.get());
    return run.session != nullptr;
}

// ---- values ----

// `place`: the number of each of its baselines in the part, which has them ascending. Where most
// rows are missing, those of the same times may be neighbours.
std::string compare_axes(const random_part &part, const grove_value *value,
                         std::vector<size_t> &place)
{
    for (int k = 0; k < grove_value_axes(value); k++) {
        int64_t size = 0;
        std::string name = grove_value_axis(value, k, &size);
        const double *at = grove_value_coordinates(value, k);
        const std::vector<double> *wanted = name == "time"   ? &part.times
                                            : name == "freq" ? &part.frequency
                                                             : nullptr;
        if (size != int64_t(wanted ? wanted->size() : part.baselines.size()))
            return "axis " + name + " has " + std::to_string(size) + " cells";
        for (size_t i = 0; i < size_t(size); i++) {
            if (wanted && std::fabs(at[i] - (*wanted)[i]) > 1e-6)
                return "axis " + name + " at " + std::to_string(i) + " is wrong";
            if (wanted)
                continue;
            const std::pair<int, int> pair(grove_value_stations(value, k, 'p')[i],
                                           grove_value_stations(value, k, 'q')[i]);
            const auto found = std::find(part.baselines.begin(), part.baselines.end(), pair);
            place.push_back(size_t(found - part.baselines.begin()));
            if (found == part.baselines.end() ||
                std::find(place.begin(), place.end() - 1, place.back()) != place.end() - 1)
                return "baseline " + std::to_string(i) + " is wrong";
        }
    }
    if (place.size() != part.baselines.size())
        return "it has no axis of baselines";
    const auto missing = std::count(part.row.begin(), part.row.end(), -1);
    if (size_t(missing) * 2 <= part.row.size() && !std::is_sorted(place.begin(), place.end()))
        return "baselines are in another order";
    return "";
}

std::string compare_numbers(const random_part &part, const random_result &x, const double *numbers,
                            const unsigned char *flags, int64_t count,
                            const std::vector<size_t> &place)
{
    size_t channels = part.frequency.size(), n = size_t(x.elements), row = channels * n;
    for (size_t at = 0, k = 0; at < x.at.size(); at++) {
        if (!x.has_frequency && at / n % channels)
            continue;
        const size_t baseline = at / row % place.size();
        const size_t i = at - baseline * row + place[baseline] * row;
        if (int64_t(k) >= count)
            return "too few numbers";
        std::complex<double> is(numbers[2 * k], numbers[2 * k + 1]);
        bool flagged = flags && flags[k];
        k++;
        if (!x.known[i])
            continue;
        if (flagged != bool(x.flag[i]))
            return "number " + std::to_string(i) + (flagged ? " is flagged" : " is not flagged");
        if (!flagged && !(std::abs(is - x.at[i]) <= 1e-6 * x.size[i]))
            return "number " + std::to_string(i) + " is wrong";
        coverage.numbers++;
    }
    return "";
}

std::string compare_value(const random_part &part, const random_sink &sink, running &run,
                          const std::string &name)
{
    grove_value *value = nullptr;
    int64_t count = 0;
    if (grove_session_value(run.session, name.c_str(), &value))
        return run.message();
    random_result x = random_set_evaluate(part, sink.expression);
    double *numbers = grove_value_numbers(value, &count, run.error.get());
    unsigned char *flags = grove_value_flagged(value, run.error.get());
    std::vector<size_t> place;
    std::string fault = compare_axes(part, value, place);
    if (fault.empty() && grove_value_elements(value) != x.elements)
        fault = "cells have " + std::to_string(grove_value_elements(value)) + " elements";
    if (fault.empty())
        fault = compare_numbers(part, x, numbers, flags, count, place);
    free(numbers);
    free(flags);
    grove_value_unref(value);
    return fault.empty() ? "" : "value of " + name + ": " + fault;
}

// ---- sets ----

bool is_target(const random_set &set, const std::string &column)
{
    std::string name = column.substr(column.rfind('/') + 1);
    return std::any_of(set.sinks.begin(), set.sinks.end(),
                       [&](const random_sink &sink) { return sink.column == name; });
}

// That no columns but those written have changed, come or gone.
std::string compare_rest(const random_set &set, const random_columns &before,
                         const random_columns &now, bool targets)
{
    for (const auto &each : before)
        if (targets || !is_target(set, each.first)) {
            auto found = now.find(each.first);
            if (found == now.end())
                return each.first + " is gone";
            if (found->second != each.second)
                return each.first + " has changed";
        }
    for (const auto &each : now)
        if (!before.count(each.first) && (targets || !is_target(set, each.first)))
            return each.first + " has come";
    return "";
}

std::vector<std::string> names_in(const std::string &folder)
{
    std::vector<std::string> names;
    for (const auto &each : std::filesystem::directory_iterator(folder))
        names.push_back(each.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string check_refusal(const random_set &set, const running &run, const std::string &message)
{
    std::string text = run.message();
    size_t count = 0, at = 0;
    for (; (at = text.find(": error: ", at)) != std::string::npos; at++)
        count++;
    coverage.refused++;
    coverage.faults[set.fault][1]++;
    if (text.find(message) == std::string::npos)
        return "wanted a message with '" + message + "', not: " + text;
    if (count != 1)
        return std::to_string(count) + " messages: " + text;
    return "";
}

// Whether the hermitian of the data lacks a correlation that the set has: XY without YX, or RL
// without LR, and the other way round.
bool hermitian_lacks(const random_set &set, const random_part &part)
{
    int crossed = 0;
    for (int code : part.codes)
        crossed += code == 6 || code == 7 || code == 10 || code == 11;
    return crossed == 1 &&
           std::any_of(set.sinks.begin(), set.sinks.end(),
                       [](const random_sink &s) { return s.expression == RANDOM_HERMITIAN; });
}

// Runs the tree; returns what is wrong, and whether the set was written.
std::string run_tree(const random_set &set, const std::string &path, const random_part &part,
                     bool *written)
{
    random_fault_info fault =
        random_faults[part.empty() && (!set.fault || set.fault == RANDOM_NEW_SELECTED)
                          ? RANDOM_NO_ROW
                          : set.fault];
    if (fault.verdict != RANDOM_REFUSED && hermitian_lacks(set, part))
        fault = {"", RANDOM_REFUSED, "the visibilities come from a set without"};
    running run;
    bool good = start(set, tree_of(set, path), run);
    if (good && fault.verdict != RANDOM_REFUSED)
        for (size_t k = 0; k < set.sinks.size(); k++) {
            if (set.sinks[k].expression == RANDOM_COPY) // a member, no node
                continue;
            std::string wrong = compare_value(part, set.sinks[k], run, "x" + std::to_string(k));
            if (!wrong.empty())
                return wrong;
        }
    *written = good && set.writes && !grove_session_run(run.session);
    if (*written && fault.verdict == RANDOM_REFUSED)
        return "it runs";
    if (*written || (good && !set.writes))
        return "";
    if (fault.verdict == RANDOM_ACCEPTED)
        return "refused: " + run.message();
    return check_refusal(set, run, fault.message);
}

std::string check(const random_set &set, const std::string &folder)
{
    std::string path = random_set_make(set, folder), fault;
    bool written = false;
    random_columns before = random_set_columns(path);
    std::vector<std::string> names = names_in(folder);
    bool readable =
        random_faults[set.fault].verdict != RANDOM_REFUSED || set.fault == RANDOM_NEW_SELECTED;
    random_part part = readable ? random_set_read(set, path) : random_part();
    fault = run_tree(set, path, part, &written);
    if (!fault.empty())
        return fault;
    if (names_in(folder) != names)
        return "files are left beside the set";
    random_columns now = random_set_columns(path);
    fault = compare_rest(set, before, now, !written);
    for (size_t k = 0; written && fault.empty() && k < set.sinks.size(); k++) {
        fault = random_set_compare(part, set.sinks[k], path, before);
        if (!fault.empty())
            fault = "column " + set.sinks[k].column + ": " + fault;
    }
    if (written) {
        coverage.accepted++;
        coverage.faults[set.fault][0]++;
    }
    return fault;
}

void cover(const random_set &set)
{
    coverage.sets++;
    coverage.forms[set.form]++;
    coverage.storages[set.data]++;
    for (const random_sink &sink : set.sinks) {
        coverage.expressions[sink.expression]++;
        coverage.modes[sink.mode]++;
    }
}

bool take(uint64_t seed, bool talk)
{
    std::string parent = std::filesystem::temp_directory_path().string() + "/grove-sets-XXXXXX";
    std::string fault;
    current = seed;
    random_set set = random_set_draw(seed);
    cover(set);
    if (!mkdtemp(&parent[0]))
        return false;
    try {
        fault = check(set, parent);
    } catch (const std::exception &error) {
        fault = std::string("the test itself: ") + error.what();
    }
    std::filesystem::remove_all(parent);
    if (talk || !fault.empty())
        std::printf("set %" PRIu64 ": %s\n    GROVE_RANDOM_SET=%" PRIu64
                    " tests/sets/test-random-sets\n%s\n%s",
                    seed, fault.empty() ? "good" : fault.c_str(), seed,
                    random_set_describe(set).c_str(), tree_of(set, set.name).c_str());
    std::fflush(stdout);
    return fault.empty();
}

// ---- the whole ----

bool report(bool fixed)
{
    bool missing = false;
    auto list = [&](const char *what, const int *counts, int n) {
        std::printf("; %s", what);
        for (int i = 0; i < n; i++) {
            std::printf(" %d", counts[i]);
            missing = missing || !counts[i];
        }
    };
    std::printf("%d sets: %d written, %d refused, %ld numbers compared", coverage.sets,
                coverage.accepted, coverage.refused, coverage.numbers);
    list("forms", coverage.forms, RANDOM_FORMS);
    list("storages", coverage.storages, RANDOM_STORAGES);
    list("expressions", coverage.expressions, RANDOM_EXPRESSIONS);
    list("modes", coverage.modes, 3);
    std::printf("\nwritten, refused:\n");
    for (int i = 0; i < RANDOM_FAULTS; i++) {
        std::printf("    %4d %4d %s\n", coverage.faults[i][0], coverage.faults[i][1],
                    random_faults[i].name);
        bool drawn =
            (i != RANDOM_ADD_UNDEFINED && i != RANDOM_NEW_SELECTED) || random_writes_safely;
        missing = missing || (drawn && !(coverage.faults[i][0] + coverage.faults[i][1]));
    }
    if (missing && fixed)
        std::printf("something above is never covered\n");
    return !missing || !fixed;
}

void crashed(int number)
{
    char line[100];
    int n = std::snprintf(line, sizeof(line), "signal %d in GROVE_RANDOM_SET=%" PRIu64 "\n", number,
                          current);
    if (write(2, line, size_t(n)) != n)
        _exit(2);
    signal(number, SIG_DFL);
    raise(number);
}

int take_all(const char *many)
{
    random_numbers mix(uint64_t(std::time(nullptr)) ^ uint64_t(getpid()) << 32);
    // Without a request, the same sets in every run.
    uint64_t base = many ? mix.next() >> 20 : FIXED_SETS + 1;
    int failures = 0, fresh = many ? std::atoi(many) : FRESH_SETS;
    for (int i = 0; i < FIXED_SETS && failures < MAX_FAILURES; i++)
        failures += !take(uint64_t(i) + 1, false);
    bool covered = report(true) || failures;
    std::printf("more sets: seeds from %" PRIu64 "\n", base);
    for (int i = 0; i < fresh && failures < MAX_FAILURES; i++)
        failures += !take(base + uint64_t(i), false);
    if (fresh)
        report(false);
    return failures + !covered;
}
} // namespace

int main()
{
    const char *one = getenv("GROVE_RANDOM_SET"), *many = getenv("GROVE_RANDOM_SETS");
    casacore::LogSinkInterface *quiet =
        new casacore::NullLogSink(casacore::LogFilter(casacore::LogMessage::SEVERE));
    casacore::LogSink::globalSink(quiet);
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    signal(SIGFPE, crashed);
    library = grove_library_new(nullptr);
    int failures = one ? !take(strtoull(one, nullptr, 0), true) : take_all(many);
    grove_library_free(library);
    return failures != 0;
}
