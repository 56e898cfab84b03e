/* By which method a fit is done, and what memory it takes. */
#include "nodes/solve.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>

enum { MAX_UNKNOWNS = 20000 };

/* The largest domain, by the bytes of its matrices, and all unknowns. */
typedef struct {
    int64_t unknowns, blocks, block, all; /* block: unknowns of the largest */
    double bytes;
} census;

static census count(const solve *s)
{
    census most = {0};

    for (int64_t t = 0; t < s->cut[SOLVE_TIME].count; t++)
        for (int64_t f = 0; f < s->cut[SOLVE_FREQ].count; f++) {
            solve_domain d;
            int64_t *unknowns, block = 0;
            solve_domain_begin(s, &d, t, f);
            int64_t blocks = solve_count_blocks(s, &d, &unknowns);
            double bytes = grove_least_squares_bytes(unknowns, blocks);
            for (int64_t i = 0; i < blocks; i++)
                block = unknowns[i] > block ? unknowns[i] : block;
            most.block = block > most.block ? block : most.block;
            most.unknowns = d.unknowns > most.unknowns ? d.unknowns : most.unknowns;
            most.blocks = blocks > most.blocks ? blocks : most.blocks;
            most.bytes = bytes > most.bytes ? bytes : most.bytes;
            most.all += d.unknowns;
            free(unknowns);
            solve_domain_end(&d);
        }
    return most;
}

/* Of a batch: the matrices, the sums, the weights of a robust fit. */
static uint64_t memory_of(const grove_node *node, const solve *s, const census *most)
{
    const grove_axis *baseline = grove_node_input_axis(node, SOLVE_DATA, GROVE_AXIS_BASELINE);
    int64_t domains = s->batch < s->cut[SOLVE_TIME].count ? s->batch : s->cut[SOLVE_TIME].count;
    double rows = baseline ? (double)baseline->size : 1, cells = 1, stretches = 1, share = 1;

    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        const solve_cut *own = &s->cut[cut];
        double all = (double)own->first[own->count], part = (double)own->segments[own->count];
        share = cut == SOLVE_TIME ? (double)domains / (double)own->count : 1;
        cells *= all * share;
        stretches *= (s->each[cut] ? all : part) * share;
    }
    double sums = s->group_count ? 8 * rows * stretches *
                                       (double)grove_compression_size(s->form, s->group_count)
                                 : 0;
    double weights = s->robust ? rows * cells * SOLVE_ELEMENTS * sizeof(float) : 0;
    bool matrices = !(s->direct && s->method == SOLVE_STEFCAL);
    double bands = (double)s->cut[SOLVE_FREQ].count;
    return (uint64_t)(sums + weights) +
           (matrices ? (uint64_t)(most->bytes * (double)domains * bands) : 0);
}

static const char *name_of(const solve *s)
{
    static const char *const names[] = {[SOLVE_LM] = "lm",
                                        [SOLVE_BLOCK] = "block",
                                        [SOLVE_STEFCAL] = "stefcal",
                                        [SOLVE_ALTERNATING] = "alternating"};

    if (s->method == SOLVE_AUTO)
        return s->direct ? "stefcal, then lm where that is slow" : "lm";
    return names[s->method];
}

static void tell(grove_node *node, const solve *s, const census *most)
{
    int64_t domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count;
    char *turns = s->method == SOLVE_ALTERNATING
                      ? grove_format(" in %d turns of %lld blocks with at most %lld unknowns",
                                     s->turns, (long long)most->blocks, (long long)most->block)
                      : grove_strdup("");

    grove_node_note(node,
                    "%s: method: %s%s; %lld solution domain%s, %lld unknown numbers (at most %lld "
                    "in a domain)\n    %s: %s%s",
                    grove_node_name(node), name_of(s), turns, (long long)domains,
                    domains == 1 ? "" : "s", (long long)most->all, (long long)most->unknowns,
                    grove_node_name(node),
                    s->why ? "data are not compressed: " : "data are compressed once for a tile",
                    s->why ? s->why : "");
    free(turns);
}

/* What takes less memory than the matrices do. */
static void advise(grove_node *node, const solve *s)
{
    bool alternates = s->turns > 1 && s->method != SOLVE_ALTERNATING;

    grove_node_set_advice(node, s->batch > 1 ? "batch=1 takes less"
                                : alternates ? "method=alternating takes less"
                                             : "parms whose intervals end together more often take "
                                               "less");
}

int solve_choose_method(grove_node *node, solve *s)
{
    census most = count(s);

    if (s->method == SOLVE_AUTO && !s->direct && s->turns > 1 && most.block > MAX_UNKNOWNS) {
        s->method = SOLVE_ALTERNATING;
        most = count(s);
    }
    if (s->method == SOLVE_ALTERNATING && s->turns < 2)
        return grove_node_fail_option(node, "method",
                                      "alternating is for parms of different intervals, which take "
                                      "turns; these have the same");
    if (s->method == SOLVE_ALTERNATING && s->errors)
        return grove_node_fail_option(
            node, "errors",
            "%lld unknown numbers of a domain are fitted in turns (method: alternating), and "
            "errors "
            "would be without those of the others; fit one parm after the other, or make the "
            "intervals of all parms end together more often",
            (long long)most.unknowns);
    if (most.block > MAX_UNKNOWNS)
        return grove_node_fail(node, GROVE_INVALID,
                               "%lld unknown numbers that are solved for together in one solution "
                               "domain, at most %d; make the intervals of all parms end together "
                               "more often%s",
                               (long long)most.block, (int)MAX_UNKNOWNS,
                               s->turns > 1 && s->method == SOLVE_LM ? ", or try method=alternating"
                                                                     : "");
    grove_node_set_memory(node, memory_of(node, s, &most));
    advise(node, s);
    tell(node, s, &most);
    return 0;
}
