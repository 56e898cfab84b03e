#include "gpu-bench.h"
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 99 };

void gpu_must(const gpu_bench *b, int code)
{
    if (!code)
        return;
    fflush(stdout);
    fprintf(stderr, "grove %s: %s\n", b->program, grove_error_message(b->error, 0));
    exit(1);
}

void gpu_must_have(bool there)
{
    if (!there) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
}

void *gpu_make_room(const gpu_bench *b, size_t bytes)
{
    void *at = NULL;

    gpu_must(b, grove_device_allocate(b->device, bytes, &at, b->error));
    return at;
}

void *gpu_send(const gpu_bench *b, const void *from, size_t bytes)
{
    void *at = gpu_make_room(b, bytes);

    gpu_must(b, grove_device_upload(b->device, at, from, bytes, b->error));
    gpu_must(b, grove_device_ready(b->device, at, b->error));
    return at;
}

double gpu_draw(void)
{
    static uint64_t counter;

    return grove_random_uniform(grove_random_bits(3, counter++, 0, 0, 0)) - 0.5;
}

/* The same million numbers, repeated. */
void *gpu_send_random(const gpu_bench *b, int64_t numbers, bool double_)
{
    enum { PART = 1 << 20 };
    size_t each = double_ ? 8 : 4, bytes = (size_t)numbers * each;
    size_t part = (size_t)(numbers < PART ? numbers : PART) * each;
    void *host = bench_allocate(part, 1), *at = gpu_make_room(b, bytes);

    for (size_t k = 0; k < part / each; k++)
        if (double_)
            ((double *)host)[k] = gpu_draw();
        else
            ((float *)host)[k] = (float)gpu_draw();
    for (size_t done = 0; done < bytes; done += part)
        gpu_must(b, grove_device_upload(b->device, (char *)at + done, host,
                                        bytes - done < part ? bytes - done : part, b->error));
    gpu_must(b, grove_device_ready(b->device, at, b->error));
    free(host);
    return at;
}

double gpu_time(const gpu_bench *b, void (*queue)(const gpu_bench *b, void *context), void *context)
{
    grove_device *device = b->device;
    double seconds[MAX_ROUNDS], spent = 0;
    int round = 0;

    queue(b, context); /* the first launch loads the code */
    gpu_must(b, grove_device_wait(device, b->error));
    if (b->counted)
        return 0;
    for (; round < b->rounds && (round == 0 || spent < 10 * b->min); round++) {
        int64_t done = 0, next = 1;
        double start = bench_wall_seconds(), taken = 0;
        while (taken < b->min) {
            for (int64_t k = 0; k < next; k++)
                queue(b, context);
            gpu_must(b, grove_device_wait(device, b->error));
            done += next;
            next = done;
            taken = bench_wall_seconds() - start;
        }
        seconds[round] = taken / (double)done;
        spent += taken;
    }
    return bench_median(seconds, round);
}

typedef struct {
    const grove_kernel *kernel;
    const grove_args *args;
    bool double_;
} launches;

static void launch(const gpu_bench *b, void *context)
{
    const launches *l = context;

    gpu_must(b, grove_device_launch(b->device, l->kernel, l->args, l->double_, b->error));
}

double gpu_time_launches(const gpu_bench *b, const grove_kernel *kernel, const grove_args *args,
                         bool double_)
{
    launches l = {kernel, args, double_};

    return gpu_time(b, launch, &l);
}

bool gpu_begins(gpu_bench *b, const char *name)
{
    if (b->counted)
        return ++b->row == b->counted;
    if (b->part && !strstr(name, b->part))
        return false;
    if (b->ends <= 0 || bench_wall_seconds() < b->ends)
        return true;
    printf("| %s | no time left |\n", name);
    b->late++;
    return false;
}

/* The time that the binding limit alone would take. */
static double bound(const gpu_bench *b, const gpu_counts *c, bool double_, const char **name)
{
    static const char *const names[] = {"memory", "single", "double", "tensor cores"};
    double doubles = c->in_double + (double_ ? c->operations : 0);
    double tensor = b->tensor[double_];
    double times[] = {c->bytes / b->memory, double_ ? 0 : c->operations / b->multiply_adds[0],
                      doubles / b->multiply_adds[1], tensor > 0 ? c->on_tensor / tensor : 0};
    int max = 0;

    for (int k = 1; k < 4; k++)
        max = times[k] > times[max] ? k : max;
    *name = names[max];
    return times[max];
}

void gpu_print(const gpu_bench *b, const char *name, bool double_, double seconds,
               const gpu_counts *counts)
{
    const char *limit, *precision = double_ ? "double" : "single";

    if (b->counted) {
        printf("%s\t%s\t%.0f\t%.0f\t%g\n", name, precision, counts->cells, counts->bytes,
               counts->aim);
        return;
    }
    double min = bound(b, counts, double_, &limit);
    printf("| %s | %s | %.4g | %.3g | %.3g | %.3g | %.3g | %.0f %% of %s |", name, precision,
           1e3 * seconds, counts->operations, counts->in_double, counts->on_tensor, counts->bytes,
           100 * min / seconds, limit);
    if (counts->cells > 0)
        printf(" %.4g |", counts->cells / seconds / 1e9);
    else
        printf(" |");
}

void gpu_finish(const gpu_bench *b, const grove_args *args)
{
    printf("\n");
    fflush(stdout);
    for (int k = 0; k < args->inputs; k++)
        grove_device_release(b->device, args->in[k].data, 0);
    grove_device_release(b->device, args->out.data, 0);
    grove_device_release(b->device, (void *)(uintptr_t)args->table, 0);
}
