/* Derivatives with respect to parms against differences of the value itself, for coefficients
 * changed one by one; what does not depend, and what has no derivative. The device is the first
 * argument, or GROVE_TEST_DEVICE; else cpu. */
#include "derivative-testing.h"

/* ---- one coefficient ---- */

typedef struct {
    const grove_node *leaf;
    const grove_member *member;
    int64_t at, index[GROVE_MAX_AXES];
} coefficient;

static coefficient coefficient_of(const grove_node *parm, int64_t at)
{
    const grove_node *from = parm->inputs[0].node;
    coefficient c = {.leaf = from->leaf, .member = &from->leaf->members[from->member], .at = at};

    for (int d = c.member->axis_count - 1; d >= 0; d--) {
        c.index[d] = at % c.member->axes[d]->size;
        at /= c.member->axes[d]->size;
    }
    return c;
}

static int64_t coefficients_of(const grove_node *parm)
{
    const grove_node *from = parm->inputs[0].node;
    int64_t count = 1;

    for (int d = 0; d < from->axis_count; d++)
        count *= from->axes[d]->size;
    return count;
}

static int64_t index_along(const grove_node *root, int64_t cell, int kind, const grove_axis **axis)
{
    for (int d = root->axis_count - 1; d >= 0; d--) {
        int64_t index = cell % root->axes[d]->size;
        cell /= root->axes[d]->size;
        if (root->axes[d]->kind == kind) {
            *axis = root->axes[d];
            return index;
        }
    }
    *axis = NULL;
    return 0;
}

/* In which interval the cell lies, and its place there, -1 to 1. */
static int64_t interval_of(const grove_node *root, int64_t cell, int kind, const grove_axis *own,
                           double *x)
{
    const grove_axis *axis;
    int64_t index = index_along(root, cell, kind, &axis);

    *x = 0;
    if (!own->centre || !axis)
        return 0;
    int64_t i = 0;
    while (axis->centre[index] > own->centre[i] + own->width[i] / 2)
        i++;
    *x = 2 * (axis->centre[index] - own->centre[i]) / own->width[i];
    return i;
}

/* How much the parm of the slot's side changes in this cell, where the coefficient changes by 1. */
static double share_of(const coefficient *c, const grove_slot *slot, const grove_node *root,
                       int64_t cell)
{
    double time = 0, freq = 0, share = 1;
    int64_t terms = 1;

    for (int d = 0; d < c->member->axis_count; d++) {
        const grove_axis *own = c->member->axes[d], *axis;
        int64_t here = 0;
        if (own == slot->axis) {
            here = slot->index;
        } else if (own->kind == GROVE_AXIS_STATION && slot->side) {
            here = index_along(root, cell, GROVE_AXIS_BASELINE, &axis);
            here = (slot->side == 'p' ? axis->left : axis->right)[here];
        } else if (!strcmp(own->name, "patch")) {
            const double *group = grove_node_member_data(c->leaf, "group");
            here = (int64_t)group[index_along(root, cell, GROVE_AXIS_SOURCE, &axis)];
        } else if (own->kind == GROVE_AXIS_STATION || own->kind == GROVE_AXIS_SOURCE) {
            here = index_along(root, cell, own->kind, &axis);
        } else if (!strcmp(own->name, "interval")) {
            here = interval_of(root, cell, GROVE_AXIS_TIME, own, &time);
        } else if (!strcmp(own->name, "band")) {
            here = interval_of(root, cell, GROVE_AXIS_FREQ, own, &freq);
        } else {
            terms = own->size;
            here = c->index[d];
        }
        share = here == c->index[d] ? share : 0;
    }
    int64_t term = c->at % terms; /* the trees here have degree 2 in time, 1 in frequency */
    return share * (terms == 6   ? pow(time, (double)(term / 2)) * pow(freq, (double)(term % 2))
                    : terms == 3 ? pow(time, (double)term)
                                 : 1);
}

/* What the slots say: the change of the value where the coefficient changes by 1, or by i. */
static double complex *predicted(const grove_derivatives *all, double complex *const *slots,
                                 const coefficient *c, const grove_node *parm, bool imaginary,
                                 int64_t count)
{
    double complex *sum = grove_alloc((size_t)count * sizeof(*sum) + 1);
    int elements = elements_of(all->root);

    for (size_t s = 0; s < all->count; s++) {
        const grove_slot *slot = &all->slots[s];
        bool other = slot->part == (imaginary ? GROVE_PART_REAL : GROVE_PART_IMAGINARY);
        double complex factor = imaginary && slot->part == GROVE_PART_BOTH             ? I
                                : imaginary && slot->part == GROVE_PART_BOTH_CONJUGATE ? -I
                                                                                       : 1;
        if (slot->parm != parm || other)
            continue;
        for (int64_t i = 0; i < count; i++) {
            int64_t cell = i / elements, at = grove_slot_cell(slot, all->root, cell);
            sum[i] += factor * share_of(c, slot, all->root, cell) *
                      slots[s][at * elements + i % elements];
        }
    }
    return suite_keep(sum);
}

/* The value with the coefficient changed. */
static double complex *changed(const coefficient *c, grove_node *root, double re, double im)
{
    grove_probe_change *change = grove_probe_of_parms();
    int64_t count;

    change->parm = grove_node_property(c->leaf, "name");
    change->member = c->member->name;
    change->at = c->at;
    change->number[0] = re;
    change->number[1] = im;
    grove_session_renew(session, c->leaf);
    double complex *numbers = value_of(root, &count);
    change->at = -2;
    grove_session_renew(session, c->leaf);
    return suite_keep(numbers);
}

static double complex *difference(const coefficient *c, grove_node *root, bool imaginary, double h,
                                  int64_t count)
{
    double complex *more = changed(c, root, imaginary ? 0 : h, imaginary ? h : 0);
    double complex *less = changed(c, root, imaginary ? 0 : -h, imaginary ? -h : 0);

    for (int64_t i = 0; i < count; i++)
        more[i] = (more[i] - less[i]) / (2 * h);
    return suite_keep(more);
}

/* Differences over h and h / 2 come nearer by the square of h, and extrapolated they are the
 * derivative to 1e-6. */
static void check_coefficient(const grove_derivatives *all, double complex *const *slots,
                              grove_node *parm, int64_t at, bool imaginary, double h, int64_t count)
{
    coefficient c = coefficient_of(parm, at);
    double complex *said = predicted(all, slots, &c, parm, imaginary, count);
    double complex *wide = difference(&c, all->root, imaginary, h, count);
    double complex *close = difference(&c, all->root, imaginary, h / 2, count);
    double size = norm_of(said, count);
    double far = distance(wide, said, count), near = distance(close, said, count);

    ck_assert_msg(near <= far / 3 + 1e-7 * size + 1e-12,
                  "%s by %s.%s, coefficient %lld: %g off with h, %g with h / 2, of %g",
                  all->root->name, parm->name, imaginary ? "im" : "re", (long long)at, far, near,
                  size);
    for (int64_t i = 0; i < count; i++)
        close[i] += (close[i] - wide[i]) / 3;
    far = distance(close, said, count);
    ck_assert_msg(far <= 1e-6 * size + 1e-9, "%s by %s.%s, coefficient %lld: %g off, of %g",
                  all->root->name, parm->name, imaginary ? "im" : "re", (long long)at, far, size);
}

/* All components of all parms that the value depends on, some coefficients of each. */
static int check_root(const char *name, double h)
{
    grove_derivatives all = derive(name);
    double complex *slots[64] = {NULL};
    int64_t count, some;
    int checked = 0;

    ck_assert_uint_gt(all.count, 0);
    ck_assert_uint_le(all.count, 64);
    open_session(false, 2);
    free(value_of(all.root, &count));
    for (size_t s = 0; s < all.count; s++)
        slots[s] = value_of(all.slots[s].node, &some);
    for (size_t s = 0; s < all.count; s++) {
        grove_node *parm = all.slots[s].parm;
        int64_t coefficients = coefficients_of(parm), step = coefficients / 5 + 1;
        if (s && parm == all.slots[s - 1].parm)
            continue;
        for (int64_t at = (int64_t)s % step; at < coefficients; at += step, checked++)
            for (int k = 0; k <= parm->form.complex_; k++)
                check_coefficient(&all, slots, parm, at, k, h, count);
    }
    for (size_t s = 0; s < all.count; s++)
        free(slots[s]);
    return checked;
}

/* ---- trees ---- */

/* M is a prediction, G gains, E beams and so on: src/conformance/fixture.c. */
static const struct {
    const char *text;
    double h;
    int slots;
} trees[] = {
    {"J[p] = test_parm(\"J\", jones=scalar, init=1.1)\nR[p,q] = J[p] * M * J[q]^H\n", 1e-3, 2},
    {"J[p] = test_parm(\"J\", jones=diagonal, time=40min, init=1)\nR[p,q] = J[p] * M * J[q]^H\n",
     1e-3, 4},
    {"J[p] = test_parm(\"J\", jones=full, time=40min, freq=2MHz)\nR[p,q] = J[p] * M * J[q]^H\n",
     1e-3, 8},
    {"J[p] = test_parm(\"J\", jones=phase, time=1h, degree=2)\nR[p,q] = J[p] * M * J[q]^H\n", 1e-3,
     4},
    {"J[p] = test_parm(\"J\", jones=amplitude, time=1h, freq=2MHz, degree=[2, 1])\n"
     "R[p,q] = J[p] * M * J[q]^H\n",
     1e-3, 4},
    {"J[p] = test_parm(\"J\", jones=rotation)\nR[p,q] = J[p] * M * J[q]^H\n", 1e-3, 2},
    {"J[p] = test_parm(\"J\", jones=leakage)\nR[p,q] = J[p] * M * J[q]^H\n", 1e-3, 4},
    {"J[p] = test_parm(\"J\", jones=delay)\nR[p,q] = J[p] * M * J[q]^H\n", 1e-12, 4},
    {"J[p] = test_parm(\"J\", jones=tec)\nR[p,q] = J[p] * M * J[q]^H\n", 1e-3, 2},
    /* corrections, other orders, two parms */
    {"J[p] = test_parm(\"J\", jones=full, init=2)\nR[p,q] = J[p]^-1 * M * J[q]^-1^H\n", 1e-3, 8},
    {"J[p] = test_parm(\"J\", jones=full)\nK[p] = test_parm(\"K\", jones=diagonal)\n"
     "R[p,q] = J[p] * K[p] * M * K[q]^H * J[q]^H + 2 * M\n",
     1e-3, 12},
    {"J[p] = test_parm(\"J\", jones=full)\nR[p,q] = J[p] * conj(J[p])^T * M * J[q]^T^H\n", 1e-3,
     12},
    {"J[p] = test_parm(\"J\", jones=diagonal)\nR[p,q] = M * J[q]^H\n", 1e-3, 2},
    {"J[p] = test_parm(\"J\", jones=diagonal)\nR[p,q] = J[p] * J[q]^H\n", 1e-3, 4},
    {"J[p] = test_parm(\"J\", jones=scalar, init=2)\n"
     "R[p,q] = real(J[p] * M * J[q]^H) + abs(J[p]) * abs(J[q]) * 1Jy\n",
     1e-3, 4},
    {"J[p] = test_parm(\"J\", jones=scalar, init=2)\nR[p] = arg(J[p]) * log10(J[p]) * J[p]^3\n",
     1e-3, 2},
    {"J[p] = test_parm(\"J\", jones=scalar, init=2)\nR[p,q] = M / J[p] - N / sqrt(J[q])\n", 1e-3,
     2},
    /* numbers: of the array, of stations, in options */
    {"a = test_parm(\"a\", init=3)\nb = test_parm(\"b\", init=2Jy)\n"
     "R[p,q] = sin(a) * M + b * exp(-a) * complex(a, 0)\n",
     1e-3, 2},
    {"w = test_parm(\"w\", init=0.3rad)\nR[s] = beam_gaussian(S, obs, fwhm=w)\n", 1e-3, 1},
    {"w = test_parm(\"w\", init=0.3rad)\n"
     "R[s] = beam_gaussian(none, none, lmn=lmn(S, obs), diameter=25m, freq=obs.freq, fwhm=w)\n",
     1e-3, 1},
    {"w[p] = test_parm(\"w\", init=27m)\nF[s,p] = beam_airy(S, obs, diameter=w[p])\n"
     "R[p,q] = sum[s](F[s,p] * point(S, obs) * F[s,q]^H)\n",
     1e-2, 2},
    {"J[p] = test_parm(\"J\", jones=diagonal)\n"
     "R[p,q] = J[p] * sum[s](E[s,p] * point(S, obs, smear=both) * E[s,q]^H) * J[q]^H\n",
     1e-3, 4},
    {"e[p] = test_parm(\"e\", init=0.1rad)\nP[s,p] = rotation(e[p]) * E[s,p]\n"
     "R[p,q] = sum[s](P[s,p] * point(S, obs) * P[s,q]^H)\n",
     1e-3, 2},
    {"m = test_parm(\"m\", init=0.1)\n"
     "R[p,q] = rotation(m * sqrt(obs.freq / 1GHz)) * M * rotation(m * 1rad)^H\n",
     1e-3, 1},
    /* directions: by rules, and by differences where they are smeared */
    {"l = test_parm(\"l\", init=0.001, step=1e-5)\nm = test_parm(\"m\", init=-0.002, step=1e-5)\n"
     "R[p,q] = sum[s](point(S, obs, lmn=lmn(S, obs) + vector(l, m, 0)))\n",
     1e-7, 2},
    {"l = test_parm(\"l\", init=0.001, step=1e-5)\n"
     "R[p,q] = predict(S, obs, lmn=lmn(S, obs) + vector(l, 0, 0), smear=both)\n",
     1e-7, 1},
    {"l = test_parm(\"l\", init=0.001, step=1e-6)\nm = test_parm(\"m\", init=-0.002, step=10)\n"
     "R[p,q] = sum[s](point(S, obs, lmn=lmn(S, obs) + vector(l, m, 0), smear=both))\n",
     1e-7, 2},
    {"l = test_parm(\"l\", init=0.001)\nR[s,p] = phase(S, obs, lmn=lmn(S, obs) + vector(l, 0, "
     "0))\n",
     1e-7, 1},
    /* fluxes of all sources; a reference station; a sum over baselines: each is a slot */
    {"f[s] = test_parm(\"f\", init=2Jy)\nR[p,q] = predict(S, obs, brightness=f)\n", 1e-3, 5},
    {"f[s] = test_parm(\"f\", init=2Jy)\nB[s] = brightness(S, obs, stokes=vector(f, 0.1 * f, 0, "
     "0))\n"
     "J[p] = test_parm(\"J\", jones=diagonal)\n"
     "R[p,q] = J[p] * sum[s](point(S, obs, brightness=B)) * J[q]^H\n",
     1e-3, 9},
    {"J[s,p] = test_parm(\"J\", jones=diagonal, time=40min)\n"
     "R[p,q] = sum[s](J[s,p] * point(S, obs) * J[s,q]^H)\n",
     1e-3, 20},
    {"J[s,p] = test_parm(\"J\", jones=scalar, init=2)\n"
     "R[p,q] = sum[s](J[s,p] * E[s,p] * point(S, obs) * abs(J[s,q]))\n",
     1e-3, 15},
    /* differences of stations in exponents, which become a term of each */
    {"T[s,p] = test_parm(\"T\", init=0.3)\n"
     "R[p,q] = sum[s](exp(-2i * (T[s,p] - T[s,q]) * 1GHz / obs.freq) * point(S, obs))\n",
     1e-3, 10},
    {"T[p] = test_parm(\"T\", init=0.3)\n"
     "R[p,q] = sum[s](conj(E[s,q]) * exp(2i * (E * T[p] - E * T[q])) * point(S, obs))\n",
     1e-3, 2},
    /* four groups of the five sources */
    {"f[s] = test_parm(\"f\", init=2Jy, groups=patch)\nR[p,q] = predict(S, obs, brightness=f)\n",
     1e-3, 4},
    {"f[s] = test_parm(\"f\", init=2Jy, groups=patch, time=40min, degree=2)\n"
     "R[s,p] = exp(f / 10Jy) * E[s,p]\n",
     1e-3, 1},
    {"J[s,p] = test_parm(\"J\", jones=diagonal, time=40min, groups=patch)\n"
     "R[p,q] = sum[s](J[s,p] * point(S, obs) * J[s,q]^H)\n",
     1e-3, 16},
    {"J[s,p] = test_parm(\"J\", jones=full, groups=patch, freq=4MHz)\n"
     "R[p,q] = sum[s](S.patch(\"west\") * J[s,p] * E[s,p] * point(S, obs) * J[s,q]^H)\n",
     1e-3, 32},
    {"J[p] = test_parm(\"J\", jones=scalar, init=2)\nK[p] = J[p] / select(J[p], axis=station)\n"
     "R[p,q] = K[p] * M * K[q]^H\n",
     1e-3, 8},
    {"J[p] = test_parm(\"J\", jones=diagonal)\nR = sum(J[p] * M * J[q]^H, over=baseline)\n", 1e-3,
     16},
    /* means and sums over what the parm does not vary with */
    {"J[p] = test_parm(\"J\", jones=diagonal)\nR[p,q] = mean(J[p] * V * J[q]^H, over=[time, "
     "freq])\n",
     1e-3, 4},
    {"a = test_parm(\"a\", init=3)\nR = sum(a * V * 1i, over=[time, freq, baseline])\n", 1e-3, 1},
    {"a = test_parm(\"a\", init=3)\nR[p,q] = max(abs(a * M), over=time) + a * 1Jy\n", 1e-3, 1},
    {"J[p] = test_parm(\"J\", jones=diagonal)\n"
     "R[p,q] = select(J[p] * M * J[q]^H, axis=time, index=1, element=XY)\n",
     1e-3, 4},
};
enum { TREES = sizeof(trees) / sizeof(trees[0]) };

/* The same bits in other tiles; in single precision nearly the same, differences too. */
static void check_runs(const char *name)
{
    grove_derivatives all = derive(name);
    double complex *slots[64] = {NULL};
    int64_t count;

    for (int k = 0; k < 3; k++) {
        open_session(k == 2, k);
        for (size_t s = 0; s < all.count; s++) {
            double complex *found = value_of(all.slots[s].node, &count);
            double far = k ? distance(found, slots[s], count) : 0;
            double size = k ? norm_of(slots[s], count) : 0;
            ck_assert_msg(k == 2 ? far <= 2e-5 * size : far == 0, "%s, slot %zu, %s: %g of %g",
                          name, s, k == 2 ? "single" : "tiles", far, size);
            if (k)
                free(found);
            else
                slots[s] = found;
        }
    }
    for (size_t s = 0; s < all.count; s++)
        free(slots[s]);
}

LOOP_TEST(a_tree, 0, TREES)
{
    build(trees[_i].text);
    grove_probe_of_parms()->spread = strstr(trees[_i].text, "delay") ? 1e-10 : 0.02;
    if (strstr(trees[_i].text, "lmn"))
        grove_probe_of_parms()->spread = 0;
    ck_assert_msg(check_root("R", trees[_i].h) >= 1, "%s", trees[_i].text);
    check_runs("R");
    ck_assert_msg(derive("R").count == (size_t)trees[_i].slots, "%s: %zu slots, not %d",
                  trees[_i].text, derive("R").count, trees[_i].slots);
}

/* ---- what does not depend, and what has no derivative ---- */

TEST(nothing)
{
    build("J[p] = test_parm(\"J\", jones=full, fixed=true)\nK[p] = test_parm(\"K\", jones=full)\n"
          "R[p,q] = J[p] * M * J[q]^H\nT = R\n");
    size_t before = fixture->tree->node_count;
    ck_assert_uint_eq(derive("R").count, 0);
    ck_assert_uint_eq(fixture->tree->node_count, before);
    ck_assert_uint_eq(derive("M").count, 0);
}

/* Nodes are shared: a second time nothing is made. */
TEST(merged)
{
    build("J[p] = test_parm(\"J\", jones=full)\nR[p,q] = J[p] * M * J[q]^H\n");
    grove_derivatives first = derive("R");
    size_t before = fixture->tree->node_count;
    grove_derivatives second = derive("R");

    ck_assert_uint_eq(fixture->tree->node_count, before);
    for (size_t s = 0; s < first.count; s++)
        ck_assert_ptr_eq(first.slots[s].node, second.slots[s].node);
}

/* ---- classes of plugins ---- */

static const char *express_cast(const grove_node *leaf)
{
    (void)leaf;
    return "cast_value(parm, parm.value)";
}

/* Values of parms may take their coefficients through a cast, as complex numbers here. */
TEST(cast_coefficients)
{
    grove_class value = *grove_classes_find(fixture->classes, "parm_value", error);
    grove_class leaf = *grove_classes_find(fixture->classes, "parm", error);
    grove_port inputs[] = {value.inputs[0], value.inputs[1], {0}};

    inputs[1].handing = GROVE_AS_COMPLEX;
    value.name = "cast_value";
    value.inputs = inputs;
    leaf.name = "cast_parm";
    leaf.expression = express_cast;
    ck_assert_int_eq(grove_classes_add(fixture->classes, &value, error), 0);
    ck_assert_int_eq(grove_classes_add(fixture->classes, &leaf, error), 0);
    build("w = cast_parm(\"w\", axes=none, init=0.3rad)\nR[s] = beam_gaussian(S, obs, fwhm=w)\n");
    const grove_node *parm = node_of("w");
    ck_assert_int_eq(parm->inputs[0].node->kind, GROVE_NODE_CAST);
    ck_assert_uint_eq(derive("R").count, 1);
}

static int open_large_sky(grove_node *node)
{
    const grove_axis source = {.name = "source", .size = 513};

    return grove_node_add_axis(node, &source);
}

TEST(too_many_cells)
{
    const grove_class sky = {GROVE_CLASS_HEAD(large_sky), .doc = "For tests.",
                             .kind = GROVE_CLASS_DATA, .object = "sky",
                             .data = &(const grove_data_functions){.open = open_large_sky}};
    grove_derivatives all;

    ck_assert_int_eq(grove_classes_add(fixture->classes, &sky, error), 0);
    build("L = large_sky()\nf[s] = test_parm(\"f\", sky=L, init=1)\nR = sum(f, over=source)\n");
    ck_assert_int_ne(grove_tree_derive(fixture->tree, node_of("R"), NULL, 0, &all, error), 0);
    char *said = suite_messages(error);
    ck_assert_msg(strstr(said, "each of its 513 needs a derivative; at most 512") != NULL, "%s",
                  said);
}

static void add_cells(const grove_args *args, int64_t first, int64_t last)
{
    (void)args, (void)first, (void)last;
}

/* The first two of three parts have other units: no derivative, and not the third part alone. */
TEST(parts_do_not_add)
{
    static const grove_kernel kernel = {"three", add_cells, add_cells};
    static const grove_port inputs[] = {{"a", GROVE_VALUE_NUMBER, "any number"},
                                        {"b", GROVE_VALUE_NUMBER, "any number"},
                                        {"c", GROVE_VALUE_NUMBER, "any number"},
                                        {0}};
    const grove_class three = {GROVE_CLASS_HEAD(three), .doc = "For tests.", .inputs = inputs,
                               .kernel = &kernel, .tangent = "a: da * 1m; b: db * 1s; c: dc"};
    grove_derivatives all;

    ck_assert_int_eq(grove_classes_add(fixture->classes, &three, error), 0);
    build("a = test_parm(\"a\", init=1)\nR = three(a, a, a)\n");
    ck_assert_int_ne(grove_tree_derive(fixture->tree, node_of("R"), NULL, 0, &all, error), 0);
    char *said = suite_messages(error);
    ck_assert_msg(strstr(said, "'R' with respect to parm 'a': ") != NULL, "%s", said);
    ck_assert_msg(strstr(said, "a length") != NULL, "%s", said);
}

static const struct {
    const char *text, *said;
} bad[] = {
    {"J[p] = test_parm(\"J\", jones=scalar, time=40min)\n"
     "R[p,q] = mean(J[p] * M * J[q]^H, over=time)\n",
     "example:17:10: error: derivative of 'R' with respect to parm 'J': 'R' combines cells along "
     "time"},
    {"a = test_parm(\"a\", init=1, freq=2MHz)\nR[p,q] = select(a * M, axis=freq)\n",
     "combines cells along freq"},
    {"a = test_parm(\"a\", init=1)\nR[s] = brightness(S, obs, feed=a)\n",
     "example:17:32: error: derivative of 'R' with respect to parm 'a': 'feed' of 'R' chooses or "
     "counts"},
    {"a[p] = test_parm(\"a\", init=1)\nR[p] = gains(obs, kind=sine, station=a)\n",
     "'station' of 'R' chooses or counts"},
};

LOOP_TEST(faults, 0, sizeof(bad) / sizeof(bad[0]))
{
    grove_derivatives all;

    build(bad[_i].text);
    ck_assert_int_ne(grove_tree_derive(fixture->tree, node_of("R"), NULL, 0, &all, error), 0);
    char *said = suite_messages(error);
    ck_assert_msg(strstr(said, bad[_i].said) != NULL, "%s: %s", bad[_i].text, said);
}

int main(int argc, char **argv)
{
    return run_tests(argc, argv);
}
