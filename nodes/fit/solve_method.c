/* The method of a fit, and its memory. */
#include "nodes/fit/solve_search.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>

/* Above MANY_UNKNOWNS lm takes seconds and more: 4 s with 1568 unknowns, beyond 10 minutes with
 * 5632, where alternating steps took 2 s. */
enum {
    MAX_UNKNOWNS = 20000,
    MANY_UNKNOWNS = 1000,
    MANY_TERMS = 3,      /* of polynomials: with 4, gains took 40 steps, with 5 up to 460 */
    TILE_BYTES = 8 << 20 /* of a value in a usual tile */
};

/* The largest domain, by the bytes of its matrices, and all unknowns. */
typedef struct {
    int64_t unknowns, blocks, block, all; /* block: unknowns of the largest */
    double bytes;
} domain_sizes;

static domain_sizes count(const solve *s)
{
    domain_sizes most = {0};

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

/* Of a batch, in bytes. */
typedef struct {
    double matrices, sums, weights; /* weights: of a robust fit */
    double jones;                   /* terms of factors, where it is and was evaluated */
    double tile, tile_weights;      /* sums and weights of a part of it */
    double medians;                 /* of the residuals of domains in parts */
    double locals;                  /* normal equations of baselines on their way into matrices */
} batch_bytes;

static batch_bytes memory_of(const grove_node *node, const solve *s, const domain_sizes *most)
{
    const grove_axis *baseline = grove_node_input_axis(node, SOLVE_DATA, GROVE_AXIS_BASELINE);
    int64_t domains = s->batch < s->cut[SOLVE_TIME].count ? s->batch : s->cut[SOLVE_TIME].count;
    double rows = baseline ? (double)baseline->size : 1, cells[SOLVE_CUTS], stretches[SOLVE_CUTS];
    bool matrices = !(s->direct && s->method == SOLVE_STEFCAL);
    batch_bytes bytes = {.locals = solve_locals_bytes(s)};

    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        const solve_cut *own = &s->cut[cut];
        double all = (double)own->first[own->count], part = (double)own->segments[own->count];
        double share = cut == SOLVE_TIME ? (double)domains / (double)own->count : 1;
        cells[cut] = all * share;
        stretches[cut] = (s->each[cut] ? all : part) * share;
    }
    if (matrices)
        bytes.matrices = most->bytes * (double)domains * (double)s->cut[SOLVE_FREQ].count;
    if (solve_needs_joint(s, true, most->unknowns))
        bytes.matrices += grove_least_squares_bytes(&most->unknowns, 1) *
                          (s->errors ? (double)(domains * s->cut[SOLVE_FREQ].count) : 1);
    double value = 8 * rows * cells[1] * grove_node_input_form(node, SOLVE_DATA)->shape;
    double times = 1 + fmax(1, TILE_BYTES / value); /* of a tile */
    if (s->robust) {
        const int data = grove_node_input_form(node, SOLVE_DATA)->shape;
        const double row = cells[1] * sizeof(float) * solve_robust_elements(s, data);
        bytes.weights = (double)grove_node_rows_bytes(node, rows * cells[0], row);
        bytes.tile_weights = (double)grove_node_rows_bytes(node, rows * fmin(cells[0], times), row);
        bytes.medians = sizeof(grove_median) * (double)domains * (double)s->cut[SOLVE_FREQ].count;
    }
    if (!s->group_count)
        return bytes;
    double row = 8 * rows * stretches[1] * (double)grove_compression_size(s->form, s->group_count);
    bytes.sums = row * stretches[0];
    bytes.tile = row * fmin(stretches[0], times);
    bytes.jones = (s->robust ? 3 : 2) * stretches[0] * stretches[1] * (double)s->stations * 2 *
                  s->group_count * 4 * sizeof(double complex);
    return bytes;
}

bool solve_uses_stefcal(const solve *s)
{
    return s->direct && (s->method == SOLVE_AUTO || s->method == SOLVE_STEFCAL);
}

bool solve_keeps_sums(const solve *s)
{
    return s->group_count && (solve_uses_stefcal(s) || solve_searched(s));
}

/* Domains come in parts where they do not fit the memory. Robust fits sum their data again and
 * again, with weights that each look at a tile finds. */
static void set_memory(grove_node *node, const solve *s, const domain_sizes *most)
{
    batch_bytes bytes = memory_of(node, s, most);
    double sums = 2 * bytes.sums + bytes.jones,
           fixed = bytes.matrices + bytes.locals + bytes.tile_weights + bytes.medians;
    bool once = s->group_count && !s->robust;

    grove_node_set_memory(node,
                          (uint64_t)(bytes.matrices + bytes.locals + bytes.sums + bytes.weights));
    grove_node_set_parts(
        node, (uint64_t)(fixed + (solve_keeps_sums(s) ? sums : bytes.tile + bytes.jones)),
        once ? (uint64_t)(fixed + sums) : 0);
    if (s->robust && !s->group_count)
        grove_node_set_repeats(node);
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

/* Polynomials of complex numbers of stations: times a phase that all stations share and that turns,
 * they are about polynomials still, and the data hardly determine it. */
static bool turns_slowly(const solve *s)
{
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        if (p->complex_ && p->station && (p->time.terms > MANY_TERMS || p->freq.terms > MANY_TERMS))
            return true;
    }
    return false;
}

/* More that grove check says of a fit; the caller frees it. */
static char *warn(const grove_node *node, const solve *s)
{
    const char *name = grove_node_name(node);
    int delay, tec;

    if (solve_searched(s) > 1 && !solve_finds_pair(s, &delay, &tec))
        return grove_format(
            "\n    %s: there are %d delays and TEC, and only the start of the first is searched "
            "for; the start values of the others must give phases over the band that are right "
            "within half a turn: take them from= a table, or from a separate fit before",
            name, solve_searched(s));
    if (turns_slowly(s))
        return grove_format(
            "\n    %s: complex polynomials of such degrees may take hundreds of steps, since the "
            "data hardly determine a phase that turns for all stations; amplitude and phase as "
            "separate polynomials, a[p] * exp(1i * x[p]), take few",
            name);
    return grove_strdup("");
}

static void report(grove_node *node, const solve *s, const domain_sizes *most)
{
    int64_t domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count;
    char *subsets = s->method == SOLVE_ALTERNATING
                        ? grove_format(" in %d turns of %lld blocks with at most %lld unknowns",
                                       s->subsets, (long long)most->blocks, (long long)most->block)
                        : grove_strdup("");
    char *warning = warn(node, s);
    bool slow = s->group_count && s->method == SOLVE_AUTO && !s->direct;

    grove_node_note(node,
                    "%s: method: %s%s; %lld solution domain%s, %lld unknown numbers (at most %lld "
                    "in a domain)\n    %s: %s%s%s%s%s",
                    grove_node_name(node), name_of(s), subsets, (long long)domains,
                    domains == 1 ? "" : "s", (long long)most->all, (long long)most->unknowns,
                    grove_node_name(node),
                    s->why ? "data are not compressed: " : "data are compressed once for a tile",
                    s->why ? s->why : "", slow ? "; stefcal, which is often faster, requires " : "",
                    slow ? s->indirect : "", warning);
    free(warning);
    free(subsets);
}

/* Advice on how to take less memory for matrices. */
static void advise(grove_node *node, const solve *s)
{
    bool alternates = s->subsets > 1 && s->method != SOLVE_ALTERNATING;
    const char *advice = "parms whose intervals end together more often take less";

    if (s->method == SOLVE_ALTERNATING && s->errors)
        advice = "errors=false takes less";
    else if (s->batch > 1)
        advice = "batch=1 takes less";
    else if (s->robust)
        advice = "robust=none takes less";
    else if (alternates)
        advice = "method=alternating takes less";
    grove_node_set_advice(node, advice);
}

int solve_choose_method(grove_node *node, solve *s)
{
    domain_sizes most = count(s);

    if (s->method == SOLVE_AUTO && !s->direct && s->subsets > 1 && most.block > MANY_UNKNOWNS) {
        s->method = SOLVE_ALTERNATING;
        most = count(s);
    }
    if (s->method == SOLVE_ALTERNATING && s->subsets < 2)
        return grove_node_fail_option(
            node, "method",
            "alternating is for parms with different intervals, but these have the same");
    if (s->method == SOLVE_ALTERNATING && s->errors && most.unknowns > MAX_UNKNOWNS)
        return grove_node_fail_option(
            node, "errors",
            "%lld unknown numbers of a domain are fitted alternately (method: alternating), but "
            "errors require the matrix of all of them, at most %d; make the intervals of all parms "
            "end together more often",
            (long long)most.unknowns, (int)MAX_UNKNOWNS);
    if (most.block > MAX_UNKNOWNS)
        return grove_node_fail(
            node, GROVE_INVALID,
            "%lld unknown numbers would be solved for together in one solution domain, but at most "
            "%d are possible; make the intervals of all parms end together more often%s",
            (long long)most.block, (int)MAX_UNKNOWNS,
            s->subsets > 1 && s->method == SOLVE_LM ? ", or try method=alternating" : "");
    set_memory(node, s, &most);
    advise(node, s);
    report(node, s, &most);
    return 0;
}
