/* Classes of serial_io: one function of one of them at a time in the whole process,
 * since the libraries that they stand on may not be called from two threads at once. */
#include "graph/graph.h"

#include <pthread.h>

static pthread_mutex_t serial = PTHREAD_MUTEX_INITIALIZER;

void grove_class_lock(const grove_class *class_)
{
    if (class_->serial_io)
        pthread_mutex_lock(&serial);
}

void grove_class_unlock(const grove_class *class_)
{
    if (class_->serial_io)
        pthread_mutex_unlock(&serial);
}
