# Sourced by run-tests and quickstart, in the source folder: installs what a build needs.
#
# grove_dependencies build|all: on Debian and its like, installs the packages that are missing when
# this user may (root, or sudo without a password), otherwise prints which ones to install. Returns
# non-zero when something indispensable is missing. "all" adds what only the full
# tests use.

grove_needed='gcc g++ make autoconf automake libtool pkg-config flex bison libc6-dev liberfa-dev libxxhash-dev libjansson-dev libblas-dev liblapack-dev libfftw3-dev check'
grove_wanted='libcairo2-dev fonts-dejavu-core casacore-dev libhdf5-dev libcfitsio-dev wcslib-dev ocl-icd-opencl-dev
    libclfft-dev libclblast-dev'
grove_full='clang clang-format python3-casacore casacore-data-observatories casacore-data-tai-utc casacore-tools
    libxml2-utils python3-numpy python3-astropy python3-h5py python3-venv wsclean pocl-opencl-icd'

# Those of the arguments that are not installed.
grove_lacking()
{
    for package; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed*) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# clang's sanitizer and fuzzer libraries, whose package carries clang's version.
grove_clang_runtime()
{
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
    [ -n "$version" ] && apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1 &&
        echo "libclang-rt-$version-dev"
}

grove_apt()
{
    if [ "$(id -u)" = 0 ]; then
        DEBIAN_FRONTEND=noninteractive apt-get "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive apt-get "$@"
    fi
}

grove_dependencies()
{
    if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
        absent=
        for tool in cc make autoreconf libtoolize pkg-config flex bison; do
            command -v $tool >/dev/null 2>&1 || absent="$absent $tool"
        done
        pkg-config --exists erfa 2>/dev/null || absent="$absent erfa(library)"
        [ -z "$absent" ] && return 0
        echo "Needed, and not found:$absent" >&2
        echo 'Their names in your system may differ; on Debian the packages are:' >&2
        echo "    $grove_needed" >&2
        echo "and for all features: $grove_wanted" >&2
        return 1
    fi

    wanted=$grove_wanted
    [ "$1" = all ] && wanted="$wanted $grove_full $(grove_clang_runtime)"
    # shellcheck disable=SC2086
    lacking=$(grove_lacking $grove_needed $wanted)
    [ -z "$lacking" ] && return 0

    if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then
        echo "Installing: $lacking"
        grove_apt update -qq || echo 'apt-get update failed; trying with the lists there are' >&2
        # The clang runtime's name is known only once the lists are there.
        # shellcheck disable=SC2046
        [ "$1" = all ] && lacking="$lacking $(grove_lacking $(grove_clang_runtime))"
        # shellcheck disable=SC2086
        grove_apt install -y -qq --no-install-recommends $lacking >/dev/null ||
            for package in $lacking; do
                grove_apt install -y -qq --no-install-recommends "$package" >/dev/null ||
                    echo "$package could not be installed" >&2
            done
    else
        echo 'Missing packages. Install them with:' >&2
        echo "    sudo apt-get install --no-install-recommends $lacking" >&2
    fi
    # shellcheck disable=SC2086
    lacking=$(grove_lacking $grove_needed)
    [ -z "$lacking" ] && return 0
    echo "Grove cannot be built without: $lacking" >&2
    return 1
}
