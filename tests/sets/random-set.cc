// What a random set holds, from its seed.
#include "random-set.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

const bool random_writes_safely = true;

const random_fault_info random_faults[RANDOM_FAULTS] = {
    {"nothing wrong", RANDOM_ACCEPTED, ""},
    {"a field that does not exist", RANDOM_REFUSED, "no field "},
    {"a window that does not exist", RANDOM_REFUSED, "no spectral window "},
    {"no rows of the field and window", RANDOM_REFUSED, "no row has field "},
    {"two rows of one time and baseline", RANDOM_REFUSED,
     "have the same time, baseline and interval"},
    {"a baseline in both orders", RANDOM_REFUSED, "occurs in both orders"},
    {"an antenna that does not exist", RANDOM_REFUSED, " has antennas "},
    {"odd correlations", RANDOM_REFUSED, "its correlations are neither"},
    {"a row without time", RANDOM_REFUSED, " has no time"},
    {"a row without an interval", RANDOM_REFUSED, " s; it must be a number above 0"},
    {"a row with another shape", RANDOM_REFUSED, "column DATA "},
    {"a row without data", RANDOM_REFUSED, "column DATA "},
    {"a row without flags", RANDOM_REFUSED, "column FLAG "},
    {"data of double precision", RANDOM_REFUSED, "does not hold complex numbers"},
    {"data of a column that does not exist", RANDOM_REFUSED, "has no column MISSING"},
    {"a sink into UVW", RANDOM_REFUSED, "column UVW does not hold complex numbers"},
    {"a sink into a column of scalars", RANDOM_REFUSED, "SCALAR"},
    {"nothing to add to", RANDOM_REFUSED, "has no column NONE to add to"},
    {"undefined cells to add to", RANDOM_REFUSED, "column MODEL_DATA "},
    {"a new column of a selection", RANDOM_REFUSED, "through a table that refers to it"},
    {"a shared manager", RANDOM_EITHER, "is stored together with others"},
};

const char *const random_expressions[RANDOM_EXPRESSIONS] = {
    "obs.data",         "2.5 * obs.data",
    "obs.data^H",       "obs.data - mean(obs.data, over=time)",
    "1Jy * obs.weight", "1Jy/m * norm(obs.uvw)",
};

const char *const random_modes[3] = {"replace", "add", "subtract"};

uint64_t random_numbers::next()
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

int random_numbers::below(int n)
{
    return int(next() % uint64_t(n));
}

double random_numbers::uniform()
{
    return double(next() >> 11) * 0x1p-53;
}

bool random_numbers::chance(double p)
{
    return uniform() < p;
}

namespace
{

template <typename T> void shuffle(random_numbers &r, std::vector<T> &list)
{
    for (size_t i = list.size(); i > 1; i--)
        std::swap(list[i - 1], list[size_t(r.below(int(i)))]);
}

std::string odd_name(random_numbers &r, const std::string &plain)
{
    static const char *const odd[] = {"",    " ",         "it's",   "a \"b\"", "\xce\xa9 \xc3\xa9",
                                      "a/b", "back\\sl",  "50 %",   "#1",      "[x]:y",
                                      "$x",  "new\nline", "\033[1m"};
    return r.chance(0.3) ? odd[r.below(sizeof(odd) / sizeof(*odd))] : plain;
}

void draw_names(random_numbers &r, random_set &set)
{
    static const char *const paths[] = {"a.ms",   "two words.ms", "it's.ms", "quote\".ms",
                                        "50%.ms", "\xce\xa9.ms",  "[1].ms",  "no-suffix",
                                        "#1.ms",  "-x.ms",        "a,b;c.ms"};
    set.name = paths[r.below(sizeof(paths) / sizeof(*paths))];
    for (int n = 2 + r.below(4), i = 0; i < n; i++)
        set.stations.push_back(odd_name(r, "S" + std::to_string(i)));
    for (int n = 1 + r.below(3), i = 0; i < n; i++)
        set.fields.push_back(odd_name(r, "F" + std::to_string(i)));
}

random_window draw_window(random_numbers &r, int channels)
{
    random_window w;
    double width = 1e6 * (1 + r.below(8)), start = 1e9 + 1e8 * r.below(5);
    bool descending = r.chance(0.3), uneven = r.chance(0.3), negative = r.chance(0.2);
    for (int i = 0; i < channels; i++) {
        w.frequency.push_back(start + width * (uneven ? i * i : i));
        w.width.push_back((negative ? -1 : 1) * width / (1 + uneven * i));
    }
    if (descending)
        std::reverse(w.frequency.begin(), w.frequency.end());
    return w;
}

// Any subset of linear or circular correlations in any order, or Stokes I.
std::vector<int> draw_setup(random_numbers &r)
{
    int first = r.chance(0.5) ? 9 : 5, kind = r.below(10);
    std::vector<int> codes{first, first + 1, first + 2, first + 3};
    if (kind == 0)
        return {1};
    if (kind == 1)
        return {first, first + 3};
    if (kind == 2)
        return {first + 3, first};
    if (kind < 6)
        return codes;
    shuffle(r, codes);
    codes.resize(size_t(1 + r.below(4)));
    return codes;
}

void draw_windows(random_numbers &r, random_set &set)
{
    int channels = r.chance(0.5) ? 1 + r.below(7) : 0; // of all windows
    for (int n = 1 + r.below(3), i = 0; i < n; i++)
        set.windows.push_back(draw_window(r, channels ? channels : 1 + r.below(7)));
    for (int n = channels ? 1 : 1 + r.below(2), i = 0; i < n; i++)
        set.setups.push_back(draw_setup(r));
    // of each window one setup; several descriptions may say the same
    for (size_t w = 0; w < set.windows.size(); w++)
        for (int setup = r.below(int(set.setups.size())), n = 1 + r.chance(0.2), i = 0; i < n; i++)
            set.descriptions.push_back({int(w), setup});
    shuffle(r, set.descriptions);
}

// The descriptions of a window in use.
std::vector<int> descriptions_of(const random_set &set, int window)
{
    std::vector<int> found;
    for (size_t d = 0; d < set.descriptions.size(); d++)
        if (set.descriptions[d].first == window)
            found.push_back(int(d));
    return found;
}

std::vector<std::pair<int, int>> draw_baselines(random_numbers &r, const random_set &set)
{
    std::vector<std::pair<int, int>> baselines;
    bool autos = r.chance(0.4), turned = r.chance(0.3);
    int n = int(set.stations.size());
    for (int p = 0; p < n; p++)
        for (int q = autos ? p : p + 1; q < n; q++)
            baselines.push_back(turned && r.chance(0.5) ? std::make_pair(q, p)
                                                        : std::make_pair(p, q));
    return baselines;
}

void order_rows(random_numbers &r, std::vector<random_row> &rows)
{
    switch (r.below(4)) {
    case 0:
        shuffle(r, rows);
        break;
    case 1:
        std::reverse(rows.begin(), rows.end());
        break;
    case 2:
        std::stable_sort(rows.begin(), rows.end(), [](const random_row &a, const random_row &b) {
            return std::make_pair(a.left, a.right) < std::make_pair(b.left, b.right);
        });
        break;
    default:;
    }
}

void draw_rows(random_numbers &r, random_set &set)
{
    std::vector<std::pair<int, int>> baselines = draw_baselines(r, set);
    double time = 4.9e9 + r.below(1000), holes = r.chance(0.5) ? 0.5 * r.uniform() : 0;
    bool mixed = r.chance(0.3), jitter = r.chance(0.2), uneven = r.chance(0.3);
    bool averaged = r.chance(0.3); // by baselines, each time by itself
    for (int n = 1 + r.below(5), t = 0; t < n; t++) {
        double interval = uneven ? 1 + r.below(20) : 10;
        int scan = r.below(int(set.fields.size()));
        time += interval + (r.chance(0.2) ? 100 : 0);
        for (const auto &pair : baselines)
            for (size_t w = 0; w < set.windows.size(); w++) {
                std::vector<int> ids = descriptions_of(set, int(w));
                random_row row{
                    time,       interval,    scan,         ids[size_t(r.below(int(ids.size())))],
                    pair.first, pair.second, r.chance(0.5)};
                row.interval *= averaged ? 1 + r.below(3) : 1;
                row.interval += jitter ? 4e-4 * r.uniform() : 0;
                row.time += jitter ? 4e-4 * r.uniform() : 0;
                row.field = mixed ? r.below(int(set.fields.size())) : scan;
                if (!r.chance(holes))
                    set.rows.push_back(row);
            }
    }
    order_rows(r, set.rows);
}

bool is_asked_for(const random_set &set, const random_row &row)
{
    return row.field == set.field &&
           set.descriptions[size_t(row.description)].first == set.window &&
           !(set.cross_only && row.left == row.right);
}

void draw_storage(random_numbers &r, random_set &set)
{
    size_t cells = 0;
    std::vector<std::pair<size_t, size_t>> shapes;
    for (const auto &d : set.descriptions)
        shapes.push_back(
            {set.windows[size_t(d.first)].frequency.size(), set.setups[size_t(d.second)].size()});
    for (const auto &shape : shapes)
        cells += shape == shapes[0];
    set.fixed_shape = cells == shapes.size() && r.chance(0.8);
    int kinds = set.fixed_shape ? RANDOM_STORAGES : RANDOM_TILED_COLUMN;
    set.data = random_storage(r.below(kinds));
    set.model = random_storage(r.below(kinds));
    set.flag = random_storage(r.below(kinds));
    set.has_model = r.chance(0.6);
    set.undefined_model = random_writes_safely && set.has_model && !set.fixed_shape &&
                          set.model != RANDOM_INCREMENTAL && r.chance(0.3);
    set.together = false;
    set.has_spectrum = r.chance(0.4);
    set.some_spectrum = false;
    set.form = r.chance(0.5) ? RANDOM_PLAIN : random_form(1 + r.below(RANDOM_FORMS - 1));
    if (set.rows.size() < 2)
        set.form = RANDOM_PLAIN;
    else // casacore cannot read a concatenation with an empty table
        set.rows.front().in_second = !(set.rows.back().in_second = true);
}

void draw_sinks(random_numbers &r, random_set &set)
{
    static const char *const fresh[] = {"NEW",     "two words",     "\xce\xa9", "lower",
                                        "DATA2",   "A-B.c",         "it's",     "MODEL_DATA",
                                        "quote\"", "CORRECTED_DATA"};
    int kind = r.below(4);
    if (kind)
        set.sinks.push_back({fresh[r.below(sizeof(fresh) / sizeof(*fresh))], RANDOM_REPLACE,
                             random_expression(r.below(RANDOM_EXPRESSIONS))});
    if (kind != 1)
        set.sinks.push_back(
            {"DATA", random_mode(r.below(3)), random_expression(r.below(RANDOM_EXPRESSIONS))});
    if (set.sinks.size() > 1 && set.sinks[0].expression == set.sinks[1].expression)
        set.sinks.pop_back(); // one node for both would have one name
    random_sink *first = &set.sinks[0];
    if (set.has_model && first->column == "MODEL_DATA" && !set.undefined_model)
        first->mode = random_mode(r.below(3));
}

void draw_run(random_numbers &r, random_set &set)
{
    set.field = r.below(int(set.fields.size()));
    set.window = r.below(int(set.windows.size()));
    set.cross_only = r.chance(0.2);
    if (!set.rows.empty() && r.chance(0.9)) {
        const random_row &row = set.rows[size_t(r.below(int(set.rows.size())))];
        set.field = row.field;
        set.window = set.descriptions[size_t(row.description)].first;
    }
    draw_sinks(r, set);
    set.tile_times = r.below(4);
    set.tile_channels = r.below(4);
    set.tile_baselines = r.below(4);
    set.threads = 1 + r.below(2);
    set.serial = r.chance(0.3);
    set.double_precision = r.chance(0.3);
}

void spoil_correlations(random_numbers &r, random_set &set)
{
    static const std::vector<std::vector<int>> odd = {
        {1, 2, 3, 4}, {9, 9}, {1, 9}, {9, 8}, {5, 6, 11, 12}, {2}, {13}, {9, 10, 11, 11}};
    for (const auto &d : set.descriptions)
        if (d.first == set.window)
            set.setups[size_t(d.second)] = odd[size_t(r.below(int(odd.size())))];
}

void spoil_row(random_numbers &r, random_set &set, std::vector<random_row *> rows)
{
    shuffle(r, rows);
    random_row *row = rows[0], other = *row;
    switch (set.fault) {
    case RANDOM_SAME_ROW:
        set.rows.push_back(other);
        break;
    case RANDOM_BOTH_ORDERS:
        if (row->left == row->right) {
            set.fault = RANDOM_GOOD;
            break;
        }
        std::swap(other.left, other.right);
        other.time += 1000;
        set.rows.push_back(other);
        break;
    case RANDOM_NO_ANTENNA:
        row->right = r.chance(0.5) ? -1 : int(set.stations.size());
        break;
    case RANDOM_NO_TIME:
        row->time = std::nan("");
        break;
    case RANDOM_NO_INTERVAL:
        // 0 in all rows, of which there may be one, is right
        row->interval = set.seed % 3 == 0                      ? std::nan("")
                        : set.seed % 3 == 1 && rows.size() > 1 ? 0
                                                               : -row->interval;
        break;
    default:;
    }
}

void need_variable_shape(random_set &set, random_storage &kind)
{
    set.fixed_shape = false;
    for (random_storage *each : {&set.data, &set.model, &set.flag})
        if (*each == RANDOM_TILED_COLUMN)
            *each = RANDOM_TILED_SHAPE;
    if (kind == RANDOM_INCREMENTAL) // has the array of an earlier row
        kind = RANDOM_STANDARD;
}

void sink_into(random_set &set, const char *column, random_mode mode)
{
    set.sinks = {{column, mode, RANDOM_COPY}};
}

void spoil_table(random_set &set)
{
    switch (set.fault) {
    case RANDOM_NO_FIELD:
        set.field = set.seed % 2 ? -1 : int(set.fields.size());
        break;
    case RANDOM_NO_WINDOW:
        set.window = set.seed % 2 ? -1 : int(set.windows.size());
        break;
    case RANDOM_ODD_SHAPE:
    case RANDOM_UNDEFINED_DATA:
        need_variable_shape(set, set.data);
        sink_into(set, "NEW", RANDOM_REPLACE);
        break;
    case RANDOM_UNDEFINED_FLAG:
        need_variable_shape(set, set.flag);
        sink_into(set, "NEW", RANDOM_REPLACE);
        break;
    case RANDOM_DOUBLE_COLUMN:
    case RANDOM_NO_COLUMN:
        sink_into(set, "NEW", RANDOM_REPLACE);
        break;
    case RANDOM_REAL_TARGET:
        sink_into(set, "UVW", RANDOM_REPLACE);
        break;
    case RANDOM_SCALAR_TARGET:
        sink_into(set, "SCALAR", RANDOM_REPLACE);
        break;
    case RANDOM_NEW_SELECTED:
        sink_into(set, "NEW", RANDOM_REPLACE);
        break;
    case RANDOM_NOTHING_TO_ADD:
        sink_into(set, "NONE", RANDOM_ADD);
        break;
    case RANDOM_ADD_UNDEFINED:
        set.has_model = set.undefined_model = true;
        need_variable_shape(set, set.model);
        sink_into(set, "MODEL_DATA", RANDOM_ADD);
        break;
    case RANDOM_SHARED_MANAGER:
        set.has_model = set.together = true;
        set.undefined_model = false;
        set.model = set.data = RANDOM_TILED_SHAPE;
        sink_into(set, "MODEL_DATA", RANDOM_REPLACE);
        break;
    default:;
    }
}

// Two of five sets have one, each fault equally often.
random_fault draw_fault(const random_set &set)
{
    uint64_t number = set.seed / 5 * 2 + set.seed % 5;
    random_fault fault =
        set.seed % 5 < 2 ? random_fault(1 + number % (RANDOM_FAULTS - 1)) : RANDOM_GOOD;
    bool unsafe = fault == RANDOM_ADD_UNDEFINED || fault == RANDOM_NEW_SELECTED;
    return unsafe && !random_writes_safely ? RANDOM_GOOD : fault;
}

bool selects(const random_set &set)
{
    return set.form == RANDOM_SELECTION || set.form == RANDOM_NESTED;
}

bool is_new(const random_set &set, const random_sink &sink)
{
    return sink.column != "DATA" && !(sink.column == "MODEL_DATA" && set.has_model);
}

// A row that is wrong is in the set for certain, and met. Selections of rows or columns get no new
// columns.
void choose_form(random_set &set)
{
    bool of_write = set.fault >= RANDOM_ODD_SHAPE;
    if (set.fault && (selects(set) || (of_write && set.form == RANDOM_PROJECTION) ||
                      (of_write && !random_writes_safely)))
        set.form = RANDOM_PLAIN;
    if (set.fault == RANDOM_NEW_SELECTED)
        set.form = RANDOM_SELECTION;
    else if (selects(set) || set.form == RANDOM_PROJECTION)
        for (size_t k = set.sinks.size(); k-- > 0;)
            if (is_new(set, set.sinks[k])) {
                set.sinks[k].column = "DATA";
                set.sinks.resize(1);
            }
    set.writes = set.form == RANDOM_PLAIN || random_writes_safely;
}

void spoil(random_numbers &r, random_set &set)
{
    std::vector<random_row *> rows;
    for (random_row &row : set.rows)
        if (is_asked_for(set, row))
            rows.push_back(&row);
    if (rows.empty()) {
        set.fault = RANDOM_NO_ROW;
        return;
    }
    set.fault = draw_fault(set);
    if (set.fault == RANDOM_NO_ROW) {
        size_t kept = 0;
        for (const random_row &row : set.rows)
            if (!is_asked_for(set, row))
                set.rows[kept++] = row;
        set.rows.resize(kept);
        set.form = RANDOM_PLAIN;
    } else if (set.fault == RANDOM_ODD_CORRELATIONS) {
        spoil_correlations(r, set);
        need_variable_shape(set, set.data);
    } else {
        spoil_row(r, set, rows);
        spoil_table(set);
    }
    choose_form(set);
}
} // namespace

random_set random_set_draw(uint64_t seed)
{
    random_numbers r(seed);
    random_set set = {};
    set.seed = seed;
    draw_names(r, set);
    draw_windows(r, set);
    draw_rows(r, set);
    draw_storage(r, set);
    draw_run(r, set);
    spoil(r, set);
    return set;
}

std::string random_set_describe(const random_set &set)
{
    static const char *const forms[] = {"a table", "some rows of a table",
                                        "some columns of a table", "two tables",
                                        "some rows of two tables"};
    static const char *const kinds[] = {"StandardStMan", "IncrementalStMan", "TiledShapeStMan",
                                        "TiledCellStMan", "TiledColumnStMan"};
    std::string text = "    '" + set.name + "', " + forms[set.form] + ": " +
                       std::to_string(set.rows.size()) + " rows, " +
                       std::to_string(set.stations.size()) + " stations, " +
                       std::to_string(set.fields.size()) + " fields, windows of";
    for (const random_window &w : set.windows)
        text += " " + std::to_string(w.frequency.size());
    text += " channels, descriptions (window:correlations)";
    for (const auto &d : set.descriptions) {
        text += " " + std::to_string(d.first) + ":";
        for (int code : set.setups[size_t(d.second)])
            text += std::to_string(code) + (code == set.setups[size_t(d.second)].back() ? "" : ",");
    }
    text += std::string("; ") + random_faults[set.fault].name + "\n    DATA " + kinds[set.data] +
            ", FLAG " + kinds[set.flag];
    if (set.has_model)
        text += std::string(", MODEL_DATA ") + kinds[set.model] +
                (set.undefined_model ? ", partly undefined" : "") +
                (set.together ? ", in one with DATA" : "");
    text += set.fixed_shape ? ", fixed shapes" : "";
    text += set.has_spectrum ? ", WEIGHT_SPECTRUM" : "";
    char line[200];
    std::snprintf(line, sizeof(line), "; tiles %d %d %d, %d threads%s%s", set.tile_times,
                  set.tile_channels, set.tile_baselines, set.threads, set.serial ? ", serial" : "",
                  set.double_precision ? ", double" : "");
    return text + line;
}
