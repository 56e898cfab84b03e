/* Work items of TuneBench's kernels, in C, CUDA and OpenCL: one function computes a work item.
 * Where a device compiles kernels when they run, tunables are constants; elsewhere they are read
 * from the arguments, and loops of constant length are chosen among those built ahead. */
#ifndef GROVE_BENCH_TUNE_ITEMS
#define GROVE_BENCH_TUNE_ITEMS

#if defined(GROVE_OPENCL) || defined(__CUDACC_RTC__)
/* Calls f(args, item, LENGTH) with a length that the compiler knows. */
#define WITH_LENGTH(f, args, item, k, name) f(args, item, name)
#else
#define WITH_LENGTH(f, args, item, k, name)                                                        \
    switch ((args)->tuned[k]) {                                                                    \
    case 1:                                                                                        \
        f(args, item, 1);                                                                          \
        break;                                                                                     \
    case 2:                                                                                        \
        f(args, item, 2);                                                                          \
        break;                                                                                     \
    case 4:                                                                                        \
        f(args, item, 4);                                                                          \
        break;                                                                                     \
    case 8:                                                                                        \
        f(args, item, 8);                                                                          \
        break;                                                                                     \
    default:                                                                                       \
        f(args, item, 16);                                                                         \
        break;                                                                                     \
    }
#endif

/* A kernel of items; on the host a range of them. */
#if defined(GROVE_OPENCL)
#define ITEMS(name, count)                                                                         \
    GROVE_FN void GROVE_NAME(name##_all)(const grove_args *args)                                   \
    {                                                                                              \
        const int64_t items = count(args);                                                         \
        for (int64_t item = get_global_id(0); item < items; item += get_global_size(0))            \
            GROVE_NAME(name##_item)(args, item);                                                   \
    }                                                                                              \
    GROVE_OPENCL_KERNEL(name, GROVE_NAME(name##_all))
#elif defined(GROVE_CUDA)
#define ITEMS(name, count)                                                                         \
    extern "C" __global__ void GROVE_NAME(name)(const __grid_constant__ grove_args args)           \
    {                                                                                              \
        const int64_t items = count(&args), step = (int64_t)gridDim.x * blockDim.x;                \
        int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;                             \
        for (; item < items; item += step)                                                         \
            GROVE_NAME(name##_item)(&args, item);                                                  \
    }                                                                                              \
    GROVE_CUDA_EXPORT(GROVE_NAME(name))
#else
#define ITEMS(name, count)                                                                         \
    static void GROVE_NAME(name##_items)(const grove_args *args, int64_t first, int64_t last)      \
    {                                                                                              \
        for (int64_t item = first; item < last; item++)                                            \
            GROVE_NAME(name##_item)(args, item);                                                   \
    }
#endif

/* Numbers of input k and of the output. */
#define INPUT(args, k) ((const real *)(args)->in[k].data)
#define OUTPUT(args)   ((real *)(args)->out.data)
#endif
