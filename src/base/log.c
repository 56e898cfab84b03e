#include "base/log.h"

#include "base/memory.h"
#include "base/text.h"
#include "unstable/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct grove_progress {
    char *title, *unit, *note; /* note: the present work, or NULL */
    double total, done, began, drawn, rate, rate_time, rate_done;
    bool terminal;
};

static struct {
    pthread_mutex_t lock;
    grove_progress *progress; /* the progress bar on the terminal, or NULL */
    void (*watch)(const char *message);
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void clear_bar(const grove_progress *progress)
{
    if (progress && progress->terminal && progress->drawn > 0)
        fputs("\r\033[K", stderr);
}

static void draw(grove_progress *progress, double now)
{
    char rate[32], rest[32], done[32], total[32];
    double part = progress->total > 0 ? progress->done / progress->total : 1;
    double left = progress->rate > 0 ? (progress->total - progress->done) / progress->rate : 0;

    if (part > 1)
        part = 1;
    grove_show_count(rate, progress->rate);
    grove_show_seconds(rest, left);
    const char *note = progress->note ? progress->note : "";
    if (progress->terminal) {
        char bar[25] = {0};
        int width = note[0] ? 10 : 24;
        for (int i = 0; i < width; i++)
            bar[i] = i < (int)(width * part) ? '=' : i == (int)(width * part) ? '>' : ' ';
        fprintf(stderr, "\r\033[K%s [%s] %3.0f%%  %s %s/s  %s left%s%s", progress->title, bar,
                100 * part, rate, progress->unit, progress->rate > 0 ? rest : "?",
                note[0] ? "  " : "", note);
        fflush(stderr);
    } else {
        fprintf(stderr, "grove: %s: %s of %s %s, %.0f%%, %s %s/s, %s left%s%s\n", progress->title,
                grove_show_count(done, progress->done), grove_show_count(total, progress->total),
                progress->unit, 100 * part, rate, progress->unit, progress->rate > 0 ? rest : "?",
                note[0] ? "; " : "", note);
    }
    progress->drawn = now;
}

static void draw_at_times(grove_progress *progress, double now)
{
    double last = progress->drawn > 0 ? progress->drawn : progress->began;

    if (now - last > (progress->terminal ? 0.1 : 10))
        draw(progress, now);
}

void grove_log(grove_log_level level, const char *format, ...)
{
    va_list args;
    grove_text text = {0};

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    char *shown = grove_shown(text.at ? text.at : "", "\n");
    if (state.watch)
        state.watch(shown);
    pthread_mutex_lock(&state.lock);
    clear_bar(state.progress);
    fprintf(stderr, "grove: %s%s\n",
            level == GROVE_LOG_ERROR     ? "error: "
            : level == GROVE_LOG_WARNING ? "warning: "
                                         : "",
            shown);
    if (state.progress && state.progress->terminal && state.progress->drawn > 0)
        draw(state.progress, grove_now());
    pthread_mutex_unlock(&state.lock);
    free(shown);
    free(text.at);
}

void grove_log_watch(void (*watch)(const char *message))
{
    state.watch = watch;
}

grove_progress *grove_progress_new(const char *title, const char *unit, double total)
{
    grove_progress *progress = grove_alloc(sizeof(*progress));

    progress->title = grove_shown(title, "");
    progress->unit = grove_strdup(unit);
    progress->total = total;
    progress->began = progress->rate_time = grove_now();
    progress->terminal = isatty(STDERR_FILENO);
    pthread_mutex_lock(&state.lock);
    state.progress = progress;
    pthread_mutex_unlock(&state.lock);
    return progress;
}

void grove_progress_advance(grove_progress *progress, double by)
{
    double now = grove_now();

    if (!progress)
        return;
    pthread_mutex_lock(&state.lock);
    progress->done += by;
    double since = now - progress->rate_time;
    if (since > 0.5 || progress->rate == 0) { /* averaged over some seconds */
        /* counted work may be taken back */
        double rate = since > 0 ? (progress->done - progress->rate_done) / since : 0;
        rate = rate > 0 ? rate : 0;
        double weight = progress->rate == 0 ? 1 : since / (since + 3);
        progress->rate += weight * (rate - progress->rate);
        progress->rate_time = now;
        progress->rate_done = progress->done;
    }
    draw_at_times(progress, now);
    pthread_mutex_unlock(&state.lock);
}

void grove_progress_note(const char *format, ...)
{
    va_list args;
    grove_text text = {0};

    pthread_mutex_lock(&state.lock);
    if (state.progress) {
        va_start(args, format);
        grove_text_add_v(&text, format, args);
        va_end(args);
        free(state.progress->note);
        state.progress->note = text.at;
        draw_at_times(state.progress, grove_now());
    }
    pthread_mutex_unlock(&state.lock);
}

void grove_progress_free(grove_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&state.lock);
    clear_bar(progress);
    if (state.progress == progress)
        state.progress = NULL;
    pthread_mutex_unlock(&state.lock);
    free(progress->title);
    free(progress->unit);
    free(progress->note);
    free(progress);
}

/* ---- Ctrl-C ---- */

static atomic_int interrupted; /* lock-free, so that signal handlers may use it */

static void on_signal(int number)
{
    if (interrupted) {
        signal(number, SIG_DFL);
        raise(number);
    }
    interrupted = 1;
}

void grove_interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool grove_interrupted(void)
{
    return interrupted != 0;
}

void grove_interrupt_set(bool set)
{
    interrupted = set;
}
