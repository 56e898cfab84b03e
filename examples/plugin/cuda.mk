# The code for GPUs: beam_cos3.fatbin, which lies beside beam_cos3.so. Machine code for compute 9.0, and what the
# driver compiles for others from 7.5 on.
#
# Without a GPU, against Grove's sources and a build of them: make check EMULATED=SOURCES BUILD=BUILD

NVCC ?= nvcc
NVCCFLAGS ?= -O3 -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90
INCLUDES = -I. $(shell $(PKG_CONFIG) --cflags grove)

.DEFAULT_GOAL := all
all: beam_cos3.so beam_cos3.fatbin

ifdef EMULATED
emulated = GROVE_CUDA_DRIVER='$(BUILD)/tests/cuda/.libs/libcuda-emulated.so' ASAN_OPTIONS=detect_leaks=0
beam_cos3.fatbin: beam_cos3.cu
	$(CXX) -std=c++17 -O2 -fPIC -shared -Wl,-Bsymbolic -Wno-unknown-pragmas $(INCLUDES) \
	    -x c++ -include '$(EMULATED)/tests/cuda/emulated.h' -o $@ beam_cos3.cu
else
beam_cos3.fatbin: beam_cos3.cu
	$(NVCC) -std=c++17 $(NVCCFLAGS) $(INCLUDES) -fatbin -o $@ beam_cos3.cu
endif

check: check-cuda
check-cuda: beam_cos3.so beam_cos3.fatbin
	$(emulated) GROVE='$(GROVE)' sh ./test-cuda.sh

install: install-cuda
install-cuda: beam_cos3.fatbin
	install -d '$(DESTDIR)$(shell $(PKG_CONFIG) --variable=nodedir grove)'
	install -m 644 beam_cos3.fatbin '$(DESTDIR)$(shell $(PKG_CONFIG) --variable=nodedir grove)'

clean: clean-cuda
clean-cuda:
	rm -f beam_cos3.fatbin

.PHONY: all check-cuda install-cuda clean-cuda
