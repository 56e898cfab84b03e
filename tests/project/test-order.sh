#!/bin/sh
# The order of the folders, and of files in a folder: each includes only folders above it, tests nothing of another subject's tests,
# and foreign libraries are only in their places.
cd "${GROVE_SOURCE:-$(dirname "$0")/../..}" || exit 99
find src kernels nodes tests \( -name '*.[chlyu]' -o -name '*.cc' -o -name '*.cu' \) -print |
LC_ALL=C sort | xargs awk '
function fault(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text
    faults++
}

# The room of a file or an included name: a folder of src/, nodes/, kernels/ or tests/, or one of the rooms of
# the headers that are installed: "cell" (cell.h, cell_jones.h, cell_math.h), "plugin" (plugin.h, facts.h, kernel.h, util.h, unstable/), "grove".
function room(name)
{
    if (name ~ /^nodes\/[a-z]*\/service[.]h$/) return "service" # what a subject has for others
    if (name ~ /^(kernels|nodes|tests)\/[^\/]*\//) { # of a subject, or of several
        split(name, part_of, "/")
        return part_of[1] "/" part_of[2]
    }
    if (name ~ /^(src\/)?grove\.h$/) return "grove"
    if (name ~ /^(src\/)?cell(_jones|_math)?\.h$/) return "cell"
    if (name ~ /^(src\/)?((plugin|facts|kernel|util)|unstable\/[a-z]*)\.h$/) return "plugin"
    sub(/^src\//, "", name)
    sub(/\/.*/, "", name)
    return name
}

# May a file in `from` include something in `to`?
function allowed(from, to)
{
    if (from == to) return 1
    if (from ~ /^tests/) return to !~ /^tests/ || to == "tests/common"
    if (to == "cell") return 1
    if (from ~ /^kernels/) return to ~ /^kernels\/(common|simd|cuda|limits)$/
    if (from == "cell") return 0
    if (from == "plugin") return to ~ /^(plugin|grove|base)$/ # base: installed, too
    if (from == "grove" || from == "cli") return to ~ /^(plugin|grove)$/ || (from == "cli" && to == "tune")
    if (from == "grove.c") return to ~ /^(plugin|grove)$/ || (to in level && to != "cli")
    if (from ~ /^(device|run)$/ && to == "kernels/core") return 1
    if (from == "service") return to ~ /^(nodes|base|plugin)/
    if (from == "nodes/plot" && to ~ /^(grove|kernels\/imaging)$/) return 1
    if (from ~ /^nodes/) {
        sub(/^nodes/, "kernels", from)
        return to == from || to ~ /^(plugin|kernels\/(common|simd)|service|nodes\/common)$/ || (to == "base" && name ~ installed)
    }
    if (to ~ /^(plugin|grove)$/) return 1
    return to in level && level[to] < level[from]
}

function foreign(name, pattern, home)
{
    if (name ~ pattern && FILENAME !~ home && FILENAME !~ /^tests/)
        fault("includes <" name ">, which belongs in " home)
}

BEGIN {
    installed = "^base/(error|file|log|memory|text|unit)[.]h$"
    n = split("base device value graph lang plan run report conformance tune cli", order, " ")
    for (k = 1; k <= n; k++)
        level[order[k]] = k
}

FNR == 1 {
    files++
    from = room(FILENAME)
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    name = part[2]
    if (name == "config.h")
        next
    # A name without a folder may be a neighbour of the including file.
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
    if (name !~ /\// && folder != "src/" && (getline line < (folder name)) >= 0) {
        close(folder name)
        next
    }
    if (FILENAME ~ /^(src|tests)/ && name ~ /^\.\.\/(kernels|bench)\//)
        name = substr(name, 4) # beside src/, which is searched
    if (name ~ /^\.\.\//) { # from the folder of the file
        while (sub(/^\.\.\//, "", name))
            sub(/[^\/]*\/$/, "", folder)
        name = folder name
    }
    to = room(name)
    if (!allowed(from, to))
        fault((from ~ /^(cell|plugin|grove)$/ ? FILENAME : from "/") " may not include \"" part[2] "\"")
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, part, /[<>]/)
    name = part[2]
    foreign(name, "^(cuda|cublas|cufft|cusolver|curand|nvrtc)", "^(src/device/|kernels/.*[.]cu$|kernels/cuda/)")
    foreign(name, "^casacore/", "^nodes/sets/measurement_set")
    foreign(name, "^cairo", "^nodes/plot/")
    foreign(name, "^(cblas|lapacke)", "^(src/device/algebra_module|nodes/fit/least_squares_algebra)")
    foreign(name, "^fftw3", "^(src/device/algebra_module|nodes/imaging/fourier)")
    foreign(name, "^jansson", "^src/tune/record")
    foreign(name, "^hdf5", "^nodes/data/hdf5_file")
    foreign(name, "^(fitsio|wcslib/)", "^nodes/imaging/fits/")
}

END {
    printf "%d files, %d faults\n", files, faults
    exit faults || !files
}' || exit 1
# No circle of files within a folder. One noun may have several files: X and X_private or X_hot, and these.
circles=$(find src kernels nodes \( -name '*.[chlyu]' -o -name '*.cc' -o -name '*.cu' \) -print | LC_ALL=C sort | xargs awk '
function noun(name)
{
    sub(/[.][a-z]*$/, "", name)
    sub(/_(private|hot|tiles)$/, "", name)
    if (name ~ /^kernels\/sky\/(gaussian|predict.*)_cuda$/) return "kernels/sky/predict"
    return name in of ? of[name] : name
}

BEGIN {
    n = split("src/cell src/kernel, src/base/text src/base/error, src/graph/graph src/graph/literal," \
        "src/graph/chain src/graph/exponent src/graph/phases, src/graph/derivative src/graph/derivation src/graph/factor_groups," \
        "src/lang/lang src/lang/build, src/plan/program src/plan/rows src/plan/domain, nodes/sky/sky nodes/sky/sky_reader," \
        "nodes/fit/solve nodes/fit/solve_table, nodes/plot/canvas nodes/plot/svg, kernels/sky/predict kernels/sky/predict_grid kernels/sky/predict_job kernels/sky/predict_view," \
        "src/lang/parse src/lang/reader", groups, ",")
    for (k = 1; k <= n; k++) {
        count = split(groups[k], names, " ")
        for (i = 1; i <= count; i++)
            of[names[i]] = names[1]
    }
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
    to = part[2]
    sub(/.*\//, "", to)
    # the same folder: named in full, from src/ on, or without one
    if (part[2] == to || folder to == part[2] || folder to == "src/" part[2])
        print noun(FILENAME), noun(folder to)
}' | tsort 2>&1 >/dev/null)
[ -z "$circles" ] || { echo "$circles"; echo 'FAIL: these files include each other'; exit 1; }
