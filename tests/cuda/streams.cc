// Streams: queued work runs when somebody waits for it, or at any time before.
#include "tests/common/emulation.h"

#include <deque>
#include <time.h>
#include <vector>

namespace emulated
{
namespace
{
struct operation {
    std::function<result()> run;
    std::shared_ptr<event> waits; // until this has been recorded so often
    uint64_t version = 0;
};
} // namespace

struct stream {
    std::deque<operation> queue;
    uint64_t priority = 0;
    double seconds = 0; // that its operations took
};

namespace
{
std::vector<stream *> streams;
result lost = success;

// Of this thread: what else the machine does is no work of a stream.
double processor_seconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool can_run(const stream *s)
{
    const operation *first = s->queue.empty() ? nullptr : &s->queue.front();

    return first && (!first->waits || first->waits->done >= first->version);
}

// One operation of any stream that can go on; false when none can. Streams have priorities that
// change now and then: far-off orders come up more often than by choosing each time.
bool step()
{
    stream *s = nullptr;

    if (draw(6) == 0)
        for (stream *each : streams)
            each->priority = draw(~(uint64_t)0);
    for (stream *each : streams)
        if (can_run(each) && (!s || each->priority > s->priority))
            s = each;
    if (!s)
        return false;
    operation first = std::move(s->queue.front());
    s->queue.pop_front();
    if (first.run && lost == success) {
        double began = processor_seconds();
        result code = first.run();
        s->seconds += processor_seconds() - began;
        if (code != success)
            lose(code);
    }
    return true;
}
} // namespace

result sticky()
{
    return lost;
}

void lose(result code)
{
    lost = code;
}

stream *stream_new()
{
    streams.push_back(new stream);
    control.streams++;
    return streams.back();
}

bool stream_is(const void *handle)
{
    for (stream *s : streams)
        if (s == handle)
            return true;
    return false;
}

void stream_free(stream *which)
{
    stream_finish(which);
    for (size_t k = 0; k < streams.size(); k++)
        if (streams[k] == which) {
            streams.erase(streams.begin() + (long)k);
            control.streams--;
            delete which;
            return;
        }
}

void stream_push(stream *which, std::function<result()> run)
{
    which->queue.push_back({std::move(run), nullptr, 0});
}

void stream_wait(stream *which, std::shared_ptr<event> what)
{
    which->queue.push_back({nullptr, what, what->recorded});
}

void stream_record(stream *which, std::shared_ptr<event> what)
{
    uint64_t version = ++what->recorded;

    stream_push(which, [what, which, version] {
        if (what->done < version)
            what->done = version;
        what->seconds = which->seconds;
        return success;
    });
    // Records are never lost, so that nobody waits for ever after a fault.
    if (lost != success)
        what->done = version;
}

result run_until(const std::function<bool()> &done)
{
    while (!done() && lost == success)
        if (!step())
            return launch_timeout; // they wait for each other
    return lost;
}

result stream_finish(stream *which)
{
    return run_until([which] { return which->queue.empty(); });
}

result run_some()
{
    uint64_t order = control.seed % 8, max = order == 0 ? ~(uint64_t)0 : 0;

    if (order > 4)
        max = draw(4);
    for (uint64_t k = 0; k < max; k++)
        if (!step())
            break;
    return lost;
}
} // namespace emulated
