/* NVIDIA's libraries, opened when first used. The functions needed are declared here, so that no
 * header of theirs is needed to build. */
#ifndef GROVE_DEVICE_CUDA_LIBRARIES_H
#define GROVE_DEVICE_CUDA_LIBRARIES_H

#include "device/cuda/driver.h"
#include <stdbool.h>

enum { CUDA_BLAS, CUDA_FFT, CUDA_SOLVER, CUDA_COMPILER, CUDA_LIBRARIES };

typedef struct {
    float re, im;
} cuda_single;
typedef struct {
    double re, im;
} cuda_double;
typedef struct cublasContext *cuda_blas;
typedef struct cusolverDnContext *cuda_solver;
typedef struct _nvrtcProgram *cuda_program;

enum {
    CUBLAS_AS_IT_IS = 0,
    CUBLAS_CONJUGATE = 2,
    CUFFT_SINGLE = 0x29,
    CUFFT_DOUBLE = 0x69,
    CUSOLVER_UPPER = 1
};

/* library, field name, symbol, arguments; all return a status, 0 for success. */
/* clang-format off */
#define CUDA_LIBRARY_FUNCTIONS(f) \
    f(CUDA_BLAS, blas_create, "cublasCreate_v2", (cuda_blas *)) \
    f(CUDA_BLAS, blas_destroy, "cublasDestroy_v2", (cuda_blas)) \
    f(CUDA_BLAS, blas_stream, "cublasSetStream_v2", (cuda_blas, cuda_stream)) \
    f(CUDA_BLAS, blas_single, "cublasCgemmStridedBatched", \
      (cuda_blas, int, int, int, int, int, const cuda_single *, const void *, int, long long, \
       const void *, int, long long, const cuda_single *, void *, int, long long, int)) \
    f(CUDA_BLAS, blas_double, "cublasZgemmStridedBatched", \
      (cuda_blas, int, int, int, int, int, const cuda_double *, const void *, int, long long, \
       const void *, int, long long, const cuda_double *, void *, int, long long, int)) \
    f(CUDA_FFT, fft_plan, "cufftPlanMany", \
      (int *, int, int *, int *, int, int, int *, int, int, int, int)) \
    f(CUDA_FFT, fft_destroy, "cufftDestroy", (int)) \
    f(CUDA_FFT, fft_stream, "cufftSetStream", (int, cuda_stream)) \
    f(CUDA_FFT, fft_single, "cufftExecC2C", (int, void *, void *, int)) \
    f(CUDA_FFT, fft_double, "cufftExecZ2Z", (int, void *, void *, int)) \
    f(CUDA_SOLVER, solver_create, "cusolverDnCreate", (cuda_solver *)) \
    f(CUDA_SOLVER, solver_destroy, "cusolverDnDestroy", (cuda_solver)) \
    f(CUDA_SOLVER, solver_stream, "cusolverDnSetStream", (cuda_solver, cuda_stream)) \
    f(CUDA_SOLVER, solver_size, "cusolverDnDpotrf_bufferSize", \
      (cuda_solver, int, int, double *, int, int *)) \
    f(CUDA_SOLVER, solver_factor, "cusolverDnDpotrf", \
      (cuda_solver, int, int, double *, int, double *, int, int *)) \
    f(CUDA_SOLVER, solver_solve, "cusolverDnDpotrs", \
      (cuda_solver, int, int, int, const double *, int, double *, int, int *)) \
    f(CUDA_COMPILER, compiler_version, "nvrtcVersion", (int *major, int *minor)) \
    f(CUDA_COMPILER, program_create, "nvrtcCreateProgram", \
      (cuda_program *, const char *text, const char *name, int headers, \
       const char *const *, const char *const *)) \
    f(CUDA_COMPILER, program_compile, "nvrtcCompileProgram", \
      (cuda_program, int options, const char *const *)) \
    f(CUDA_COMPILER, program_log_size, "nvrtcGetProgramLogSize", (cuda_program, size_t *)) \
    f(CUDA_COMPILER, program_log, "nvrtcGetProgramLog", (cuda_program, char *)) \
    f(CUDA_COMPILER, program_size, "nvrtcGetCUBINSize", (cuda_program, size_t *)) \
    f(CUDA_COMPILER, program_binary, "nvrtcGetCUBIN", (cuda_program, char *)) \
    f(CUDA_COMPILER, program_destroy, "nvrtcDestroyProgram", (cuda_program *))
/* clang-format on */

typedef struct {
    bool tried[CUDA_LIBRARIES], found[CUDA_LIBRARIES];
#define CUDA_LIBRARY_FIELD(library, name, symbol, arguments) int(*name) arguments;
    CUDA_LIBRARY_FUNCTIONS(CUDA_LIBRARY_FIELD)
#undef CUDA_LIBRARY_FIELD
    cuda_blas blas; /* handles, created when first used */
    cuda_solver solver;
} cuda_libraries;

/* Whether a library is present with all functions that are used. The environment variable
 * GROVE_CUDA_LIBRARIES names one file for all of them, or is "none". If GROVE_CUDA_DRIVER is set
 * and GROVE_CUDA_LIBRARIES is not, there are none. */
bool cuda_libraries_have(cuda_libraries *libraries, int which);
/* "cuBLAS", ... */
const char *cuda_libraries_name(int which);
/* GROVE_MISSING, with a message that names the missing library and the remedy. */
int cuda_libraries_fail(int which, const char *device, grove_error *error);
/* "cuBLAS, cuFFT" or "none": those present. */
void cuda_libraries_describe(cuda_libraries *libraries, char *text, size_t size);

#endif
