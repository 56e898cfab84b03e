/* From grid to grid on an emulated device: the definition's numbers, as of the host in test-g2g;
 * the same bits each time; adjointness; what a run copies, and what stays there.
 */
#include "g2g-world.h"
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "../kernels/imaging/g2g/g2g_device.h"
#include "base/text.h"

extern const grove_class grove_class_sought_image,
    grove_class_reconstruct; /* examples/reconstruct */

static const configuration cases[] = {
    {{40, 37}, 2, 3, 1, 1, true, false},   {{33, 50}, 3, 4, 1, 2, false, true},
    {{40, 33}, 4, 8, 1, 1, true, true},    {{50, 36}, 5, 2, 3, 1, false, false},
    {{64, 40}, 6, 2, 1, 1, true, false},   {{48, 64}, 7, 4, 1, 1, true, true},
    {{64, 48}, 7, 8, 2, 3, false, false},  {{50, 61}, 8, 2, 1, 2, false, true},
    {{96, 64}, 8, 5, 1, 1, true, false},   {{40, 44}, 9, 3, 1, 1, true, false},
    {{60, 45}, 16, 2, 2, 1, false, true},  {{51, 60}, 17, 1, 1, 1, true, true},
    {{64, 70}, 24, 1, 1, 2, false, false}, {{65, 64}, 31, 1, 1, 1, true, true},
    {{70, 80}, 32, 2, 1, 1, true, false},  {{24, 24}, 1, 1, 1, 1, true, true},
    {{40, 44}, 13, 2, 1, 1, false, false}, {{50, 52}, 22, 1, 1, 1, false, true},
    {{60, 62}, 27, 1, 1, 1, true, false},  {{64, 66}, 29, 1, 1, 1, false, false},
    {{80, 76}, 34, 1, 1, 1, false, false},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static grove_error *errors;
static grove_device *device;

static void must(int code)
{
    ck_assert_msg(!code, "%s", code ? grove_error_message(errors, 0) : "");
}

static void *room(uint64_t bytes)
{
    void *at = NULL;

    must(grove_device_allocate(device, bytes + 1, &at, errors));
    return at;
}

static void *send(const void *from, uint64_t bytes)
{
    void *at = room(bytes);

    must(grove_device_upload(device, at, from, bytes, errors));
    must(grove_device_ready(device, at, errors));
    return at;
}

/* ---- kernels ---- */

typedef struct {
    grove_g2g_device_sizes sizes;
    void *functions, *entries, *slots, *lists, *in, *out;
    bool are_real;
    int32_t pieces;
} applying;

static void launch(const applying *a, const grove_kernel *kernel, int64_t items, const void *from,
                   void *to, const void *given, size_t bytes, bool double_precision)
{
    grove_args args = {.axes = 1, .inputs = GROVE_G2G_INPUTS, .size = {items}};

    args.in[0].data = (void *)(uintptr_t)from;
    if (kernel != &grove_g2g_pack && kernel != &grove_g2g_arrange) {
        args.in[GROVE_G2G_FUNCTIONS].data = a->functions;
        args.in[GROVE_G2G_ENTRIES].data =
            kernel == &grove_g2g_gather ? (char *)a->lists + a->sizes.begin : a->entries;
        args.in[GROVE_G2G_PIECES].data = a->lists;
    }
    args.out.data = to;
    memcpy(args.state.bytes, given, bytes);
    must(grove_device_launch(device, kernel, &args, double_precision, errors));
}

static void prepare(applying *a, const world *w, const grove_diagonal_entry *entries, int64_t count,
                    int32_t slice)
{
    const grove_lattice *l = &w->lattice;
    const int64_t pair = 2 * (int64_t)w->real, fine = w->fine * w->fine;
    const bool double_ = w->plan->double_precision;

    ck_assert(grove_g2g_device_find_sizes(l, count, &a->sizes));
    a->are_real = grove_g2g_are_real(l, w->functions);
    char *lists = calloc(1, a->sizes.lists + 1);
    a->pieces = grove_g2g_device_divide(l, entries, count, slice ? slice : a->sizes.slice,
                                        (grove_g2g_piece *)(void *)lists,
                                        (int32_t *)(void *)(lists + a->sizes.begin));
    ck_assert_int_le(a->pieces, a->sizes.pieces);
    a->lists = send(lists, a->sizes.lists);
    free(lists);
    a->functions = room(a->sizes.functions);
    a->entries = room(a->sizes.entries);
    a->slots = room(a->sizes.slots);
    const grove_g2g_arrange_state arranged = {.step = {fine * pair, pair},
                                              .support = w->plan->support,
                                              .oversampling = w->plan->oversampling,
                                              .are_real = a->are_real};
    const grove_g2g_pack_state packed = {.blocks = l->blocks,
                                         .support = w->plan->support,
                                         .tile = (int32_t)l->tile,
                                         .are_real = a->are_real,
                                         .count = (int32_t)count};
    void *functions =
             send(w->functions, (uint64_t)(w->plan->functions * w->plan->planes * fine * pair)),
         *given = send(entries, (uint64_t)count * sizeof(*entries));
    launch(a, &grove_g2g_arrange, l->blocks * grove_g2g_numbers(w->plan->support, a->are_real),
           functions, a->functions, &arranged, sizeof(arranged), double_);
    launch(a, &grove_g2g_pack, count, given, a->entries, &packed, sizeof(packed), double_);
    grove_device_release(device, functions, 0);
    grove_device_release(device, given, 0);
}

/* With slots for `slice` pieces at a time. */
static void apply_slices(const applying *a, const world *w, int32_t slice)
{
    const grove_lattice *l = &w->lattice;
    const int64_t pair = 2 * (int64_t)w->real;
    grove_g2g_state given = {.row = grove_gridder_divide_by((int32_t)w->plan->grid[0]),
                             .support = w->plan->support,
                             .tile = (int32_t)l->tile,
                             .tiles = {(int32_t)l->tiles[0], (int32_t)l->tiles[1]},
                             .step = {pair, pair * w->plan->grid[0]}};

    do {
        given.last = a->pieces - given.first < slice ? a->pieces : given.first + slice;
        if (given.last > given.first)
            launch(a, grove_g2g_apply_kernel(given.support, a->are_real, w->plan->double_precision),
                   grove_g2g_lanes(given.support) * (given.last - given.first), a->in, a->slots,
                   &given, sizeof(given), w->plan->double_precision);
        given.adds = given.first > 0;
        launch(a, &grove_g2g_gather, w->cells, a->slots, a->out, &given, sizeof(given),
               w->plan->double_precision);
        given.first = given.last;
    } while (given.first < a->pieces);
}

/* `slice`: 0, as is right. */
static void *on_device(const world *w, const grove_diagonal_entry *entries, int64_t count,
                       const void *in, int32_t slice)
{
    const uint64_t bytes = (uint64_t)(2 * w->cells) * w->real;
    void *out = random_numbers(2 * w->cells, -1, w->real); /* which is overwritten */
    applying a = {0};

    prepare(&a, w, entries, count, slice);
    a.in = send(in, bytes);
    a.out = send(out, bytes);
    apply_slices(&a, w, slice ? slice : a.sizes.slice);
    must(grove_device_download(device, out, a.out, bytes, errors));
    void *const all[] = {a.functions, a.entries, a.slots, a.lists, a.in, a.out};
    for (int k = 0; k < 6; k++)
        grove_device_release(device, all[k], 0);
    return suite_keep(out);
}

static void check_adjoint(const world *w, const grove_diagonal_entry *entries, int64_t count,
                          const void *in, const void *out)
{
    void *other = random_numbers(2 * w->cells, -1, w->real),
         *of_other = on_device(w, entries, count, other, 0);
    const long double complex self = inner(w, in, out);
    const long double tolerance = (w->real == sizeof(double) ? 1e-13L : 1e-5L) * (1 + creall(self));

    ck_assert(creall(self) >= -tolerance && fabsl(cimagl(self)) <= tolerance);
    ck_assert(cabsl(inner(w, other, out) - conjl(inner(w, in, of_other))) <= tolerance);
    free(other);
}

static int by_point(const void *a, const void *b)
{
    const grove_diagonal_entry *x = a, *y = b;

    return x->point < y->point ? -1 : x->point > y->point;
}

/* Many in few cells, of which some touch the edges of the grid; so that tiles have several pieces.
 */
static grove_diagonal_entry *draw_entries(const world *w, int64_t *count)
{
    enum { DRAWN = 700, CELLS = 12 };
    const grove_lattice *l = &w->lattice;
    grove_diagonal_entry *entries = malloc(DRAWN * sizeof(*entries));
    int64_t cell[CELLS], used = 0;

    for (int k = 0; k < CELLS; k++) {
        int64_t at[2];
        for (int d = 0; d < 2; d++) {
            const int64_t last = w->plan->grid[d] - w->plan->support;
            at[d] = k == 0 ? 0 : k == 1 ? last : (int64_t)uniform(0, (double)last + 0.99);
        }
        cell[k] = ((at[1] / l->tile * l->tiles[0] + at[0] / l->tile) * l->tile + at[1] % l->tile) *
                      l->tile +
                  at[0] % l->tile;
    }
    for (int k = 0; k < DRAWN; k++)
        entries[k] =
            (grove_diagonal_entry){(double)(cell[(int)uniform(0, CELLS - 0.01)] * l->blocks +
                                            (int64_t)uniform(0, (double)l->blocks - 0.01)),
                                   uniform(0.1, 1)};
    qsort(entries, DRAWN, sizeof(*entries), by_point);
    for (int k = 0; k < DRAWN; k++)
        if (!used || entries[used - 1].point < entries[k].point)
            entries[used++] = entries[k];
    *count = used;
    return suite_keep(entries);
}

/* The numbers of the host. */
static void check_dense(const world *w, const void *in)
{
    int64_t count;
    grove_diagonal_entry *entries = draw_entries(w, &count);
    void *got = on_device(w, entries, count, in, 0), *again = on_device(w, entries, count, in, 2),
         *host = apply(w, GROVE_ISA_PORTABLE, entries, count, in, &in_order);
    double scale = 0;

    for (int64_t k = 0; k < 2 * w->cells; k++)
        scale = fmax(scale, fabs(get(host, k, w->real)));
    for (int64_t k = 0; k < 2 * w->cells; k++)
        ck_assert_double_eq_tol(get(got, k, w->real), get(host, k, w->real),
                                scale * (w->real == sizeof(double) ? 1e-14 : 3e-6));
    ck_assert_mem_eq(got, again, (size_t)(2 * w->cells) * w->real);
    check_adjoint(w, entries, count, in, got);
    free(host);
}

static void check_configuration(const configuration *c)
{
    grove_gridder_outside outside = {0};
    world w;
    int64_t count;

    begin(&w, c);
    grove_diagonal_entry *entries = entries_of(&w, &w.samples, &in_order, &count, &outside);
    void *in = random_numbers(2 * w.cells, -1, w.real),
         *got = on_device(&w, entries, count + 3, in, 0),
         *again = on_device(&w, entries, count, in, 2);
    int64_t points;
    long double complex *sums = direct(&w, in, &points);
    const double scale = largest(&w, sums),
                 tolerance = scale * (w.real == sizeof(double) ? 1e-14 : 3e-6);
    void *host = apply(&w, GROVE_ISA_PORTABLE, entries, count, in, &in_order);

    ck_assert_int_gt(count, 5);
    ck_assert(outside.samples > 0); /* so entries go to the edges of the grid */
    for (int64_t k = 0; k < w.cells; k++) {
        const long double complex x = get_complex(got, k, w.real);
        ck_assert_double_le((double)cabsl(x - sums[k]), tolerance);
        ck_assert_double_le((double)cabsl(x - get_complex(host, k, w.real)), tolerance);
    }
    ck_assert_mem_eq(got, again, (size_t)(2 * w.cells) * w.real);
    check_dense(&w, in);
    free(entries);
    free(in);
    free(sums);
    free(host);
    end(&w);
}

static void open_device(void)
{
    cuda_testing_reset(0);
    errors = grove_error_new();
    device = cuda_testing_open(0);
}

static void close_device(void)
{
    cuda_testing_close(device);
    grove_error_free(errors);
}

LOOP_TEST(as_defined, 0, CASES)
{
    open_device();
    check_configuration(&cases[_i]);
    close_device();
}

TEST(random_configurations)
{
    open_device();
    each_random_configuration(1, 40, check_configuration);
    close_device();
}

/* Of no entries, and of none that are used. */
LOOP_TEST(nothing_gives_zero, 0, 2)
{
    static const grove_diagonal_entry none[2] = {{-1, 0}, {-1, 0}};
    world w;

    open_device();
    begin(&w, &cases[_i]);
    void *in = random_numbers(2 * w.cells, -1, w.real), *out = on_device(&w, none, 2, in, 0);
    for (int64_t k = 0; k < 2 * w.cells; k++)
        ck_assert_double_eq(get(out, k, w.real), 0);
    free(in);
    end(&w);
    close_device();
}

/* ---- runs ---- */

static void setup(void)
{
    cuda_testing_reset(0);
    cuda_testing_libraries(true);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &grove_class_sought_image, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &grove_class_reconstruct, now.error), 0);
    heap_test_add();
}

enum { SIZE = 24, RUN_CHANNELS = 8 };
#define FIELD ", obs, size=24, cell=6arcsec"

/* Visibilities V of a source, functions C, and further lines. */
static void simulate(const char *functions, const char *lines)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char *text =
        grove_format("obs = observe(array=\"%s/data/arrays/wsrt.array\",\n"
                     "  phase_centre=\"05h42m36.1s 49d51m07s\", hour_angle=-0.2h..0.2h,\n"
                     "  integration=360s, frequency=1.4GHz, channels=%d, channel_width=4MHz)\n"
                     "S = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
                     "V[p,q] = sum[s](point(S, obs))\n"
                     "R = sky_grid(obs, size=33, cell=6arcsec)\n"
                     "C = convolution_functions(%s, samples=nearest)\n%s",
                     source, RUN_CHANNELS, source, functions, lines);

    session_test_tree(text);
    free(text);
}

static const struct {
    const char *functions;
    double epsilon;
    bool double_precision;
} runs[] = {
    {"1" FIELD ", oversampling=16", 1e-5, false},
    {"1" FIELD ", oversampling=6, support=13, w_planes=3", 1e-11, true},
    {"beam_airy(R, obs, diameter=25m, freq=1.4GHz)" FIELD ", oversampling=5", 1e-5, false},
    {"beam_airy(R, obs, diameter=25m)" FIELD ", oversampling=3, channels=2, support=8", 1e-9, true},
};
enum { RUNS = sizeof(runs) / sizeof(runs[0]) };

LOOP_TEST(runs_are_those_of_the_host, 0, RUNS)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2,
                              .double_precision = runs[_i].double_precision);
    grove_counters counters = {0};

    simulate(runs[_i].functions, "P = grid(V" FIELD ", functions=C)\n"
                                 "keep = heap(g2g(g2g(P" FIELD ", functions=C, method=g2g)" FIELD
                                 ", functions=C, method=g2g))\n");
    heap truth = heap_test_run("cpu", options, NULL),
         got = heap_test_run("cuda", options, &counters);
    ck_assert_double_lt(heap_distance(&got, &truth), runs[_i].epsilon);
    ck_assert(!heap_test_helped());
    ck_assert_uint_gt(counters.launches, 0);
}

#define APPLIED "g2g(P" FIELD ", functions=C, method=g2g)"

/* Counters of a run of so many steps of a descent, after the 15 that it begins with; `planes`: what
 * they make of P. */
static grove_counters descend(const char *planes, int steps)
{
    const grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    simulate("1" FIELD ", oversampling=6",
             suite_text("x = sought_image(sky_grid(obs, size=24, cell=6arcsec))\n"
                        "dirty = grid_correction(fft(grid(V" FIELD ", functions=C))" FIELD
                        ", w_terms=false) / 100\n"
                        "P = fft(grid_correction(x.value" FIELD ", w_terms=false))\n"
                        "again = grid_correction(fft(%s)" FIELD ", w_terms=false) / 100\n"
                        "found = reconstruct(x, dirty, again, 3, steps=%d)\n",
                        planes, steps));
    grove_session *session = heap_test_session("cuda", options);
    const int code = grove_session_run(session);
    ck_assert_msg(!code, "%s", code ? grove_error_message(now.error, 0) : "");
    const grove_counters counters = *grove_session_counters(session);
    heap_test_close(session);
    return counters;
}

/* Functions, entries and pieces are there from the first step on, and grids stay there: a further
 * step copies what it would copy without g2g. */
TEST(a_step_copies_nothing_for_g2g)
{
    const grove_counters one = descend(APPLIED, 1), more = descend(APPLIED, 3),
                         one_without = descend("P", 1), more_without = descend("P", 3);

    ck_assert_uint_gt(more.launches - one.launches, more_without.launches - one_without.launches);
    ck_assert_uint_eq(more.bytes_up - one.bytes_up, more_without.bytes_up - one_without.bytes_up);
    ck_assert_uint_eq(more.bytes_down - one.bytes_down,
                      more_without.bytes_down - one_without.bytes_down);
    ck_assert_uint_gt(one.bytes_up, one_without.bytes_up);
}

/* What grid accumulates is known too late for a descent; g2g, which is not, is named instead. */
TEST(gridding_does_not_follow_a_descent)
{
    simulate("1" FIELD ", oversampling=6",
             "x = sought_image(sky_grid(obs, size=24, cell=6arcsec))\n"
             "P = fft(grid_correction(x.value" FIELD ", w_terms=false))\n"
             "seen = g2g(P" FIELD ", functions=C, method=degrid)\n"
             "again = grid_correction(fft(seen)" FIELD ", w_terms=false) / 100\n"
             "found = reconstruct(x, again, again, 3, steps=1)\n");
    grove_session *session = heap_test_session("cuda", GROVE_SESSION_OPTIONS(.threads = 1));
    ck_assert_int_ne(grove_session_run(session), 0);
    const char *said = grove_error_message(now.error, 0);
    ck_assert_msg(strstr(said, "'seen' depends on fitted parms") &&
                      strstr(said, "g2g(..., method=g2g)"),
                  "%s", said);
    heap_test_close(session);
}

/* Few visibilities for the cells of a large grid, which a core passes over faster than it degrids
 * and grids them; a GPU does not. */
TEST(gpus_choose_by_their_own_costs)
{
    const char *note = NULL;

    simulate("1" FIELD ", oversampling=6",
             "P = grid(V, obs, size=400, cell=6arcsec, w_terms=false)\n"
             "y = g2g(P, obs, size=400, cell=6arcsec, w_terms=false, oversampling=6)\n");
    for (size_t k = 0; k < now.tree->node_count && !note; k++)
        note = now.tree->nodes[k]->note ? strstr(now.tree->nodes[k]->note, "method: ") : NULL;
    ck_assert_ptr_nonnull(note);
    ck_assert_msg(strstr(note, "method: degrid, which takes less time"), "%s", note);
    ck_assert_msg(strstr(note, "on a GPU such as an H100 about"), "%s", note);
    ck_assert_msg(strstr(note, " on a core"), "%s", note);
}

CUDA_SUITE(600, setup, session_test_end)
