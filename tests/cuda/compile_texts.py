"""Compiles texts of kernels with NVRTC, with the default values of tunables, for several compute capabilities.

    python3 compile_texts.py NAME.cuda ...
"""

import ctypes
import sys

TUNABLES = b"#define BLOCK 128\n#define CHANNELS 0\n#define RESIDENT 0\n"


def library():
    for folder in "", "/usr/local/cuda/lib64/", "/opt/cuda/lib64/":
        for version in "13", "12", "11.2":
            try:
                return ctypes.CDLL(f"{folder}libnvrtc.so.{version}")
            except OSError:
                pass
    sys.exit("there is no NVRTC")


def compile_text(nvrtc, path, machine):
    """The compiler's messages; empty: it compiles."""
    with open(path, "rb") as file:
        text = TUNABLES + file.read()
    program = ctypes.c_void_p()
    options = [b"-arch=compute_" + machine, b"-std=c++17", b"-default-device", b"-w"]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, path.encode(), 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() if failed else ""


def main():
    nvrtc, failed = library(), 0
    for path in sys.argv[1:]:
        for machine in b"75", b"90":
            messages = compile_text(nvrtc, path, machine)
            if messages:
                print(path, machine.decode(), messages)
                failed += 1
    print(f"{len(sys.argv) - 1} texts, {failed} failures")
    sys.exit(failed > 0)


main()
