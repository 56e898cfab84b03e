/* An OpenCL driver in which one call fails: loaded before the real one, by LD_PRELOAD. CL_FAULT is
 * "FUNCTION NUMBER": the number of the call that fails, from 1 on. */
#define _GNU_SOURCE              1
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fails(const char *function)
{
    static int calls;
    const char *fault = getenv("CL_FAULT");
    const size_t length = strlen(function);

    if (!fault || strncmp(fault, function, length) != 0 || fault[length] != ' ')
        return 0;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != atoi(fault + length + 1))
        return 0;
    fprintf(stderr, "fault: %s\n", fault);
    return 1;
}

/* The function of the real loader of drivers, called with these arguments. */
#define REAL(result, name, parameters, arguments)                                                  \
    result(*real) parameters =                                                                     \
        (result(*) parameters)(size_t)dlsym(dlopen("libOpenCL.so.1", RTLD_LAZY), #name);           \
    return real arguments
#define FAILS(result, name, parameters, arguments, failure)                                        \
    CL_API_ENTRY result CL_API_CALL name parameters;                                               \
    CL_API_ENTRY result CL_API_CALL name parameters                                                \
    {                                                                                              \
        if (fails(#name)) {                                                                        \
            failure;                                                                               \
        }                                                                                          \
        REAL(result, name, parameters, arguments);                                                 \
    }

FAILS(cl_int, clEnqueueNDRangeKernel,
      (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
       const size_t *l, cl_uint n, const cl_event *w, cl_event *e),
      (q, k, d, o, g, l, n, w, e), return CL_OUT_OF_RESOURCES)
FAILS(cl_int, clEnqueueSVMMemcpy,
      (cl_command_queue q, cl_bool b, void *to, const void *from, size_t s, cl_uint n,
       const cl_event *w, cl_event *e),
      (q, b, to, from, s, n, w, e), return CL_OUT_OF_HOST_MEMORY)
FAILS(cl_int, clEnqueueSVMMemFill,
      (cl_command_queue q, void *at, const void *p, size_t s, size_t t, cl_uint n,
       const cl_event *w, cl_event *e),
      (q, at, p, s, t, n, w, e), return CL_OUT_OF_RESOURCES)
FAILS(cl_int, clFinish, (cl_command_queue q), (q), return CL_OUT_OF_RESOURCES)
FAILS(void *, clSVMAlloc, (cl_context c, cl_svm_mem_flags f, size_t s, cl_uint a), (c, f, s, a),
      return NULL)
FAILS(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t s, void *p, cl_int *e),
      (c, f, s, p, e), *e = CL_OUT_OF_RESOURCES;
      return NULL)
FAILS(cl_kernel, clCreateKernel, (cl_program p, const char *n, cl_int *e), (p, n, e),
      *e = CL_OUT_OF_RESOURCES;
      return NULL)
FAILS(cl_program, clCreateProgramWithSource,
      (cl_context c, cl_uint n, const char **t, const size_t *l, cl_int *e), (c, n, t, l, e),
      *e = CL_OUT_OF_HOST_MEMORY;
      return NULL)
FAILS(cl_int, clBuildProgram,
      (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
       void(CL_CALLBACK *f)(cl_program, void *), void *u),
      (p, n, d, o, f, u), return CL_BUILD_PROGRAM_FAILURE)
FAILS(cl_int, clSetKernelArg, (cl_kernel k, cl_uint n, size_t s, const void *v), (k, n, s, v),
      return CL_OUT_OF_RESOURCES)
FAILS(cl_int, clSetKernelExecInfo, (cl_kernel k, cl_kernel_exec_info n, size_t s, const void *v),
      (k, n, s, v), return CL_OUT_OF_RESOURCES)
FAILS(cl_context, clCreateContext,
      (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
       void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *e),
      (p, n, d, f, u, e), *e = CL_OUT_OF_RESOURCES;
      return NULL)
FAILS(cl_command_queue, clCreateCommandQueueWithProperties,
      (cl_context c, cl_device_id d, const cl_queue_properties *p, cl_int *e), (c, d, p, e),
      *e = CL_OUT_OF_RESOURCES;
      return NULL)
