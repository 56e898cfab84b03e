// NVRTC, as far as the device module uses it: the real one, where it is installed, makes PTX, which
// is translated to C++ and compiled (ptx_compile.sh, in the folder GROVE_SOURCE), which takes
// seconds. Without NVRTC, python3 or that folder there is no compiler.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{
enum { FAILED = 6 };

using program = void *;
std::map<program, std::string> binaries;

void *find(const char *name)
{
    static void *library;

    for (const char *file : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"})
        for (const char *folder : {"", "/usr/local/cuda/lib64/", "/opt/cuda/lib64/"})
            if (!library)
                library = dlopen((std::string(folder) + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : nullptr;
}

template <typename... types> int call(const char *name, types... arguments)
{
    void *function = find(name);

    return function ? ((int (*)(types...))function)(arguments...) : FAILED;
}

// The shared object of a PTX.
bool translate(const std::string &ptx, std::string *binary)
{
    char folder[] = "/tmp/grove-nvrtc-XXXXXX";

    if (!mkdtemp(folder))
        return false;
    const std::string name = std::string(folder) + "/kernel";
    std::ofstream(name + ".ptx") << ptx.c_str();
    bool done =
        !system(("sh \"$GROVE_SOURCE/tests/cuda/ptx_compile.sh\" " + name + ".fatbin").c_str());
    std::ifstream file(name + ".fatbin", std::ios::binary);
    *binary = std::string(std::istreambuf_iterator<char>(file), {});
    for (const char *ending : {".ptx", ".cc", ".fatbin"})
        unlink((name + ending).c_str());
    rmdir(folder);
    return done;
}
} // namespace

extern "C" {
int nvrtcVersion(int *major, int *minor)
{
    static const bool translates = getenv("GROVE_SOURCE") && !system("python3 -c '' 2>/dev/null");

    if (!translates)
        return FAILED;
    return call("nvrtcVersion", major, minor);
}

int nvrtcCreateProgram(program *made, const char *text, const char *name, int headers,
                       const char *const *header, const char *const *include)
{
    return call("nvrtcCreateProgram", made, text, name, headers, header, include);
}

int nvrtcCompileProgram(program which, int count, const char *const *options)
{
    std::vector<std::string> own(options, options + count);
    std::vector<const char *> texts;
    size_t size = 0;

    for (std::string &option : own) {
        if (option.rfind("-arch=sm_", 0) == 0)
            option.replace(0, 9, "-arch=compute_");
        texts.push_back(option.c_str());
    }
    int code = call("nvrtcCompileProgram", which, count, (const char *const *)texts.data());
    if (!code)
        code = call("nvrtcGetPTXSize", which, &size);
    std::string ptx(size, 0);
    if (!code)
        code = call("nvrtcGetPTX", which, &ptx[0]);
    return code ? code : translate(ptx, &binaries[which]) ? 0 : FAILED;
}

int nvrtcGetProgramLogSize(program which, size_t *size)
{
    return call("nvrtcGetProgramLogSize", which, size);
}

int nvrtcGetProgramLog(program which, char *log)
{
    return call("nvrtcGetProgramLog", which, log);
}

int nvrtcGetCUBINSize(program which, size_t *size)
{
    *size = binaries[which].size();
    return 0;
}

int nvrtcGetCUBIN(program which, char *binary)
{
    memcpy(binary, binaries[which].data(), binaries[which].size());
    return 0;
}

int nvrtcDestroyProgram(program *which)
{
    binaries.erase(*which);
    return call("nvrtcDestroyProgram", which);
}
}
