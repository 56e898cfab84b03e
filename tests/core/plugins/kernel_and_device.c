/* A kernel, and a function that launches kernels. */
#include "plain.h"

static int device(const grove_call *call)
{
    return grove_call_launch(call, &plain_kernel, call->args, call->double_precision);
}

GROVE_CLASS(kernel_and_device) = {GROVE_CLASS_HEAD(kernel_and_device), PLAIN, .device = device};
