/* The lock of classes with serial_io: one call at a time in the whole process, since their
 * libraries are not thread-safe. */
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
