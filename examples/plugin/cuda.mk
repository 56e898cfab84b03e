# The code for GPUs by hand, from beam_cos3.cu.
#
# Without a GPU, against Grove's sources and a build of them: make check EMULATED=SOURCES BUILD=BUILD
# ... with what nvcc makes of it, in place of the C++ compiler: make check EMULATED=SOURCES BUILD=BUILD PTX=yes

INCLUDES = -I. $(shell $(GROVE_CONFIG) --cflags)

ifdef EMULATED
ifdef PTX
compile = NVCC='$(nvcc)' CXX='$(CXX)' '$(EMULATED)/tests/cuda/ptx_compile.sh' $@
else
compile = $(CXX) -std=c++17 -O2 -fPIC -shared -Wl,-Bsymbolic -Wno-unknown-pragmas -x c++ \
    -include '$(EMULATED)/tests/cuda/emulated.h' -o $@
endif
check: export GROVE_CUDA_DRIVER = $(BUILD)/tests/cuda/.libs/libcuda-emulated.so
check: export GROVE_DEVICE_KERNELS = $(BUILD)/tests/cuda/$(if $(PTX),ptx,kernels)
check: export ASAN_OPTIONS = detect_leaks=0
beam_cos3.fatbin: beam_cos3.cu beam_cos3.h
	$(compile) $(INCLUDES) beam_cos3.cu
else
beam_cos3.fatbin: beam_cos3.cu beam_cos3.h
	$(nvcc) -std=c++17 $(NVCCFLAGS) $(INCLUDES) -fatbin -o $@ beam_cos3.cu
endif
