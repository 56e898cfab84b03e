/* A kernel that tests how cells are found, as tests/cuda/probe.cu. Indices are of the first cells
 * whose numbers the state has, and bytes from the beginning of two inputs. */
#define where_all GROVE_NAME(where_all)

GROVE_FN void where_all(const grove_args *args)
{
    const int64_t *at = (const int64_t *)(const void *)args->state.bytes;
    const int thread = (int)get_global_id(0);
    int64_t *out = (int64_t *)args->out.data + 10 * thread, n;
    grove_cell cell;

    if (thread >= 16)
        return;
    n = at[thread] < args->walk.cells ? at[thread] : args->walk.cells - 1;
    grove_cell_find(&cell, args, n < 0 ? 0 : n);
    for (int d = 0; d < 8; d++)
        out[d] = cell.index[d];
    out[8] = cell.in[0] - (const char *)args->in[0].data;
    out[9] = cell.in[1] - (const char *)args->in[1].data;
}

GROVE_OPENCL_KERNEL(where, where_all)
