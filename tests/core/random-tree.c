/* Random trees are built from their leaves up: an operation on existing operands is kept if its
 * numbers are well-behaved. So every subtree is a tree with a known value. */
#include "random-tree.h"

#include <stdlib.h>
#include <string.h>

static uint64_t draw_bits(random_tree *tree)
{
    return random_mix(tree->state++);
}

int random_tree_draw(random_tree *tree, int below)
{
    return (int)((draw_bits(tree) >> 20) % (uint64_t)below);
}

static bool chance(random_tree *tree, int percent)
{
    return random_tree_draw(tree, 100) < percent;
}

/* ---- the data ---- */

static int64_t draw_size(random_tree *tree, const int *sizes, int count)
{
    return chance(tree, 1) ? 0 : sizes[random_tree_draw(tree, count)];
}

static void make_world(random_tree *tree)
{
    static const int times[] = {1, 2, 3, 5, 7}, channels[] = {1, 2, 3, 5, 11, 11},
                     stations[] = {1, 2, 3, 3, 4, 5}, sources[] = {1, 1, 2, 3, 5};
    random_world *w = &tree->world;
    bool longer = chance(tree, 3);

    tree->max_elements = longer ? RANDOM_MAX_ELEMENTS : 4000;
    w->seed = random_tree_draw(tree, 1000000);
    w->size[RANDOM_TIME] = draw_size(tree, times, 5);
    w->size[RANDOM_FREQ] = draw_size(tree, channels, 6);
    w->size[RANDOM_STATION] = draw_size(tree, stations, 6);
    w->size[RANDOM_SOURCE] = draw_size(tree, sources, 5);
    w->size[RANDOM_OTHER_SOURCE] = draw_size(tree, sources, 5);
    if (longer && chance(tree, 50)) {
        w->size[RANDOM_TIME] = 64 + random_tree_draw(tree, 140);
        w->size[RANDOM_STATION] = 1 + random_tree_draw(tree, 3);
    } else if (longer) {
        w->size[RANDOM_FREQ] = 60 + random_tree_draw(tree, 600);
        w->size[RANDOM_STATION] = 2;
    }
    w->layout = random_tree_draw(tree, RANDOM_LAYOUTS);
    w->flagging = random_tree_draw(tree, RANDOM_FLAGGINGS);
    w->size[RANDOM_BASELINE] =
        random_pairs(w->layout, (int)w->size[RANDOM_STATION], w->left, w->right);
}

/* ---- nodes ---- */

static unsigned axes_named(const char *names)
{
    static const char *const all[RANDOM_AXES] = {"source",  "",         "time",
                                                 "station", "baseline", "freq"};
    unsigned axes = 0;

    for (int a = 0; a < RANDOM_AXES; a++)
        if (all[a][0] && strstr(names, all[a]))
            axes |= 1u << a;
    return axes;
}

static const random_value *value_of(const random_tree *tree, const random_node *node, int k)
{
    return &tree->node[node->input[k]].value;
}

/* Adds the node if it can be evaluated; returns its number or -1. */
static int add_node(random_tree *tree, random_node *node)
{
    if (tree->count == RANDOM_MAX_NODES || !random_node_evaluate(tree, node))
        return -1;
    node->named = chance(tree, 40);
    node->declared = chance(tree, 30);
    node->sides = random_sides_of(tree, node);
    tree->node[tree->count] = *node;
    return tree->count++;
}

static int add_member(random_tree *tree, int leaf, int number)
{
    const random_member *m = leaf ? &random_sky_members[number] : &random_set_members[number];
    random_node node = {.operation = RANDOM_MEMBER, .choice = {leaf, number}};
    unsigned axes = axes_named(m->axes);

    for (int i = 0; i < tree->count; i++) /* each once */
        if (tree->node[i].operation == RANDOM_MEMBER && tree->node[i].choice[0] == leaf &&
            tree->node[i].choice[1] == number)
            return i;
    node.value = (random_value){.axes = leaf == 2 ? 1u << RANDOM_OTHER_SOURCE : axes,
                                .shape = m->shape,
                                .elements = m->elements,
                                .complex_ = m->complex_,
                                .may_flag = m->flags};
    return add_node(tree, &node);
}

static long double few_bits(random_tree *tree)
{
    return (random_tree_draw(tree, 127) - 63) / 32.0L;
}

static int add_number(random_tree *tree)
{
    static const int shapes[] = {GROVE_SCALAR,   GROVE_SCALAR, GROVE_SCALAR,
                                 GROVE_DIAGONAL, GROVE_MATRIX, GROVE_VECTOR};
    random_node node = {.operation = RANDOM_NUMBER, .shape = shapes[random_tree_draw(tree, 6)]};
    /* a list is of real numbers */
    bool complex_ = node.shape == GROVE_SCALAR && chance(tree, 50);

    node.elements = node.shape == GROVE_VECTOR ? 2 + random_tree_draw(tree, 4) : node.shape;
    for (int e = 0; e < node.elements; e++)
        node.number[e] = CMPLXL(few_bits(tree), complex_ ? few_bits(tree) + 2.5L : 0);
    node.value =
        (random_value){.shape = node.shape, .elements = node.elements, .complex_ = complex_};
    return add_node(tree, &node);
}

static unsigned source_axis(int sky)
{
    return 1u << (sky == 1 ? RANDOM_SOURCE : RANDOM_OTHER_SOURCE);
}

/* Phases of stations, or brightness matrices. */
static int add_sky(random_tree *tree, int sky, random_operation operation)
{
    random_node node = {.operation = operation, .choice = {sky, 0}};

    if (operation == RANDOM_PHASE)
        node.value =
            (random_value){.axes = 1u << RANDOM_TIME | 1u << RANDOM_STATION | 1u << RANDOM_FREQ,
                           .shape = GROVE_SCALAR,
                           .elements = 1,
                           .complex_ = true};
    else
        node.value =
            (random_value){.axes = random_sky_is_flat(&tree->world, sky) ? 0 : 1u << RANDOM_FREQ,
                           .shape = GROVE_MATRIX,
                           .elements = 4,
                           .complex_ = true,
                           .flux = 1};
    node.value.axes |= source_axis(sky);
    return add_node(tree, &node);
}

static int add_leaf(random_tree *tree)
{
    int which = random_tree_draw(tree, 12);

    if (which > 9)
        return add_sky(tree, 1 + chance(tree, 25), which == 10 ? RANDOM_PHASE : RANDOM_BRIGHTNESS);

    if (which == 0)
        return add_number(tree);
    if (which < 3)
        return add_member(tree, 1 + chance(tree, 25), random_tree_draw(tree, RANDOM_SKY_MEMBERS));
    return add_member(tree, 0, random_tree_draw(tree, RANDOM_SET_MEMBERS));
}

/* ---- forms ---- */

static void keep_form(const random_value *x, random_value *to)
{
    to->shape = x->shape;
    to->elements = x->elements;
    to->complex_ = x->complex_;
    to->flux = x->flux;
}

static void set_form(random_value *to, int shape, bool complex_)
{
    to->shape = shape;
    to->elements = shape;
    to->complex_ = complex_;
}

static bool is_jones(const random_value *x)
{
    return x->shape != GROVE_VECTOR;
}

static bool form_of_power(random_tree *tree, random_node *node, const random_value *x)
{
    static const double exponents[] = {0, 1, 2, 3, 4, -2, -3, 0.5, 1.5, -0.5};
    double n = exponents[random_tree_draw(tree, x->shape == GROVE_MATRIX ? 7 : 10)];

    node->number[0] = n;
    return is_jones(x) && !x->flux;
}

static bool form_of_choice(random_tree *tree, random_node *node, const random_value *x)
{
    random_value *to = &node->value;

    if (node->operation == RANDOM_ELEMENT) {
        node->choice[0] = random_tree_draw(tree, x->elements);
        set_form(to, GROVE_SCALAR, x->complex_);
        return true;
    }
    if (node->operation == RANDOM_RESHAPE) {
        int shapes[] = {x->elements == 1   ? GROVE_SCALAR
                        : x->elements == 2 ? GROVE_DIAGONAL
                                           : GROVE_MATRIX,
                        GROVE_VECTOR};
        to->shape = node->shape = shapes[chance(tree, 50)];
        return to->shape == GROVE_VECTOR || x->elements <= 2 || x->elements == 4;
    }
    int a = random_tree_draw(tree, RANDOM_AXES);
    for (int k = 0; k < RANDOM_AXES && !(x->axes >> a & 1); k++)
        a = (a + 1) % RANDOM_AXES;
    if (!(x->axes >> a & 1) || !tree->world.size[a])
        return false;
    node->choice[0] = a;
    node->choice[1] = random_tree_draw(tree, (int)tree->world.size[a]);
    node->over = 1u << a;
    return true;
}

static bool form_of_reduction(random_tree *tree, random_node *node, const random_value *x)
{
    bool ordered = node->operation == RANDOM_MIN || node->operation == RANDOM_MAX;

    if (chance(tree, 20) && !(x->axes >> RANDOM_OTHER_SOURCE & 1)) {
        node->over = x->axes;
    } else {
        for (int a = 0; a < RANDOM_AXES; a++)
            if (x->axes >> a & 1 && chance(tree, 50))
                node->over |= 1u << a;
        if (!node->over)
            return false;
    }
    /* a sum over no sources that may be flagged is flagged; but predict over no sources is zero */
    for (int a = 0; a < RANDOM_TIME; a++)
        if (node->over >> a & 1 && !tree->world.size[a] && x->may_flag)
            return false;
    return !(ordered && x->complex_);
}

/* Sets the form of an operation on one value; false when there is none. */
static bool form_of_one(random_tree *tree, random_node *node)
{
    const random_value *x = value_of(tree, node, 0);
    random_value *to = &node->value;

    keep_form(x, to);
    switch (node->operation) {
    case RANDOM_NEGATE:
    case RANDOM_CONJ:
        return true;
    case RANDOM_HERMITIAN:
    case RANDOM_TRANSPOSE:
        return is_jones(x);
    case RANDOM_INVERSE:
        return is_jones(x) && !x->flux;
    case RANDOM_POWER:
        return form_of_power(tree, node, x);
    case RANDOM_ABS:
    case RANDOM_REAL:
    case RANDOM_IMAG:
        to->complex_ = false;
        return true;
    case RANDOM_ARG:
        to->complex_ = false;
        return !x->flux;
    case RANDOM_SINC:
    case RANDOM_ASIN:
    case RANDOM_ACOS:
    case RANDOM_ATAN:
        return !x->complex_ && x->shape != GROVE_MATRIX && !x->flux;
    case RANDOM_DETERMINANT:
        to->flux *= 2;
        set_form(to, GROVE_SCALAR, x->complex_);
        return is_jones(x) && !x->flux;
    case RANDOM_TRACE:
        set_form(to, GROVE_SCALAR, x->complex_);
        return is_jones(x);
    case RANDOM_NORM:
        set_form(to, GROVE_SCALAR, false);
        return true;
    case RANDOM_SCALAR:
        return x->shape == GROVE_SCALAR;
    case RANDOM_ROTATION:
        set_form(to, GROVE_MATRIX, false);
        return x->shape == GROVE_SCALAR && !x->complex_ && !x->flux;
    case RANDOM_PLAIN:
        to->flux = 0;
        return x->flux == 1;
    case RANDOM_RESHAPE:
    case RANDOM_ELEMENT:
    case RANDOM_CELL:
        return form_of_choice(tree, node, x);
    case RANDOM_SUM:
    case RANDOM_MEAN:
    case RANDOM_MIN:
    case RANDOM_MAX:
        return form_of_reduction(tree, node, x);
    default: /* sin, cos, ... */
        return x->shape != GROVE_MATRIX && !x->flux;
    }
}

static bool form_of_two(const random_tree *tree, random_node *node)
{
    const random_value *a = value_of(tree, node, 0), *b = value_of(tree, node, 1);
    random_value *to = &node->value;
    bool scalars = a->shape == GROVE_SCALAR && b->shape == GROVE_SCALAR;

    keep_form(a->shape >= b->shape ? a : b, to);
    to->complex_ = a->complex_ || b->complex_;
    switch (node->operation) {
    case RANDOM_ADD:
    case RANDOM_SUBTRACT:
        return a->flux == b->flux &&
               (to->shape != GROVE_VECTOR || (a->shape == b->shape && a->elements == b->elements));
    case RANDOM_MULTIPLY:
        to->flux = a->flux + b->flux;
        return to->flux < 2 &&
               (to->shape != GROVE_VECTOR || a->shape == GROVE_SCALAR || b->shape == GROVE_SCALAR);
    case RANDOM_DIVIDE:
        keep_form(a, to);
        to->complex_ = a->complex_ || b->complex_;
        return b->shape == GROVE_SCALAR && !b->flux;
    case RANDOM_COMPLEX:
        to->complex_ = true;
        return scalars && !a->complex_ && !b->complex_ && a->flux == b->flux;
    case RANDOM_DIAGONAL:
        set_form(to, GROVE_DIAGONAL, to->complex_);
        return scalars && a->flux == b->flux;
    default:
        return false;
    }
}

static bool form_of_matrix(const random_tree *tree, random_node *node)
{
    bool complex_ = false;

    for (int k = 0; k < 4; k++) {
        const random_value *x = value_of(tree, node, k);
        if (x->shape != GROVE_SCALAR || x->flux)
            return false;
        complex_ = complex_ || x->complex_;
    }
    set_form(&node->value, GROVE_MATRIX, complex_);
    return true;
}

/* ---- operations ---- */

/* Station values combined with baselines, or with each other, are seen from p or q. */
static void draw_roles(random_tree *tree, random_node *node)
{
    bool baselines = false, sides = node->inputs > 1 && chance(tree, 40);

    bool p = false, q = false;

    for (int k = 0; k < node->inputs; k++)
        baselines = baselines || value_of(tree, node, k)->axes >> RANDOM_BASELINE & 1;
    for (int k = 0; k < node->inputs && (baselines || sides); k++)
        if (value_of(tree, node, k)->axes >> RANDOM_STATION & 1) {
            bool left =
                node->operation == RANDOM_MULTIPLY && value_of(tree, node, k)->shape == GROVE_SCALAR
                    ? k == 0
                    : chance(tree, 50);
            node->role[k] = left ? 'p' : 'q';
            p = p || node->role[k] == 'p';
            q = q || node->role[k] == 'q';
        }
    if (!baselines && !(p && q))
        memset(node->role, 0, sizeof(node->role));
}

static int inputs_of(random_operation operation)
{
    return operation == RANDOM_MATRIX                             ? 4
           : operation >= RANDOM_ADD && operation < RANDOM_MATRIX ? 2
                                                                  : 1;
}

/* Recent nodes are more likely. */
static int draw_input(random_tree *tree)
{
    int back = random_tree_draw(tree, 3);

    if (chance(tree, 40) || back >= tree->count)
        return random_tree_draw(tree, tree->count);
    return tree->count - 1 - back;
}

/* Whether it is a constant, and a number. */
static bool is_data(const random_tree *tree, int node)
{
    const random_node *n = &tree->node[node];
    bool data = n->operation == RANDOM_MEMBER ||
                (n->operation >= RANDOM_POINT && n->operation <= RANDOM_BRIGHTNESS);

    for (int k = 0; k < n->inputs && !data; k++)
        data = is_data(tree, n->input[k]);
    return data;
}

/* Arithmetic on constants is folded, and a complex constant without imaginary part becomes real:
 * only operations that cannot make it vanish are used. */
static bool folds_well(const random_tree *tree, const random_node *node)
{
    bool data = false, complex_ = false;

    for (int k = 0; k < node->inputs; k++) {
        data = data || is_data(tree, node->input[k]);
        complex_ = complex_ || tree->node[node->input[k]].value.complex_;
    }
    return data || !complex_ || node->operation == RANDOM_NEGATE ||
           node->operation == RANDOM_HERMITIAN || node->operation == RANDOM_TRANSPOSE;
}

static int add_operation(random_tree *tree, random_operation operation)
{
    random_node node = {.operation = operation, .inputs = inputs_of(operation)};
    bool good;

    for (int k = 0; k < node.inputs; k++)
        node.input[k] = draw_input(tree);
    if (node.inputs > 1 && chance(tree, 50)) { /* the last one, on either side */
        int k = random_tree_draw(tree, node.inputs);
        node.input[k] = tree->count - 1;
    }
    draw_roles(tree, &node);
    good = node.inputs == 1   ? form_of_one(tree, &node)
           : node.inputs == 2 ? form_of_two(tree, &node)
                              : form_of_matrix(tree, &node);
    return good && folds_well(tree, &node) && random_sides_fit(tree, &node) ? add_node(tree, &node)
                                                                            : -1;
}

static int combine(random_tree *tree, random_operation operation, int a, char role_a, int b,
                   char role_b)
{
    random_node node = {.operation = operation,
                        .inputs = b < 0 ? 1 : 2,
                        .input = {a, b < 0 ? 0 : b},
                        .role = {role_a, role_b}};

    if (a < 0 || !(b < 0 ? form_of_one(tree, &node) : form_of_two(tree, &node)) ||
        !random_sides_fit(tree, &node))
        return -1;
    return add_node(tree, &node);
}

/* A Jones term of a station, of a source or of both. */
static int draw_jones(random_tree *tree, int sky)
{
    static const int stations[] = {6, 7, 8, 9, 10, 11, 16}, sources[] = {0, 0, 1, 3};
    int a = add_member(tree, 0, stations[random_tree_draw(tree, 7)]);

    if (chance(tree, 60))
        return combine(tree, RANDOM_MULTIPLY, a, 0,
                       add_member(tree, sky, sources[random_tree_draw(tree, 4)]), 0);
    return a;
}

static char role_for(const random_tree *tree, int node, char role)
{
    return tree->node[node].value.axes >> RANDOM_STATION & 1 ? role : 0;
}

/* sum[s](J[s,p] * point(S, obs) * K[s,q]^H), which becomes predict. */
static void add_visibilities(random_tree *tree)
{
    random_node point = {.operation = RANDOM_POINT,
                         .choice = {1 + chance(tree, 20), random_tree_draw(tree, 4)}};
    int sky = point.choice[0], x;

    point.value =
        (random_value){.axes = 1u << (sky == 1 ? RANDOM_SOURCE : RANDOM_OTHER_SOURCE) |
                               1u << RANDOM_TIME | 1u << RANDOM_BASELINE | 1u << RANDOM_FREQ,
                       .shape = GROVE_MATRIX,
                       .elements = 4,
                       .complex_ = true,
                       .flux = 1};
    x = add_node(tree, &point);
    for (int side = 0; side < 2 && x >= 0; side++) {
        int jones = chance(tree, 80) ? draw_jones(tree, sky) : -1;
        if (jones < 0)
            continue;
        bool across = !side && chance(tree, 5) && tree->node[jones].value.shape == GROVE_SCALAR;
        if (side || across) {
            int turned = combine(tree, RANDOM_HERMITIAN, jones, 0, -1, 0);
            x = combine(tree, RANDOM_MULTIPLY, x, 0, turned,
                        turned < 0 ? 0 : role_for(tree, turned, across ? 'p' : 'q'));
        } else {
            x = combine(tree, RANDOM_MULTIPLY, jones, role_for(tree, jones, 'p'), x, 0);
        }
    }
    if (x < 0)
        return;
    if (tree->node[x].value.may_flag && !tree->world.size[sky - 1])
        return;
    random_node sum = {
        .operation = RANDOM_SUM, .inputs = 1, .input = {x}, .over = source_axis(sky)};
    keep_form(&tree->node[x].value, &sum.value);
    x = add_node(tree, &sum);
    if (x >= 0 && chance(tree, 70))
        combine(tree, RANDOM_PLAIN, x, 0, -1, 0);
}

static random_operation draw_operation(random_tree *tree)
{
    int which = random_tree_draw(tree, 100), first = RANDOM_NEGATE, last = RANDOM_MAX;

    if (which < 20) {
        first = last = RANDOM_MULTIPLY;
    } else if (which < 35) {
        first = RANDOM_SUM;
    } else if (which < 43) {
        first = last = RANDOM_CELL;
    } else if (which < 53) {
        first = RANDOM_ADD;
        last = RANDOM_MATRIX;
    }
    return (random_operation)(first + random_tree_draw(tree, last - first + 1));
}

/* A member cannot be named. */
bool random_tree_is_root(const random_tree *tree, int node)
{
    return tree->node[node].operation != RANDOM_MEMBER && is_data(tree, node);
}

random_tree *random_tree_new(uint64_t seed)
{
    random_tree *tree = calloc(1, sizeof(*tree));

    tree->seed = seed;
    tree->state = random_mix(seed) ^ 0x5eed;
    make_world(tree);
    for (int leaves = 2 + random_tree_draw(tree, 4); leaves > 0; leaves--)
        add_leaf(tree);
    if (chance(tree, 40))
        add_visibilities(tree);
    while (tree->count == 0)
        add_member(tree, 0, random_tree_draw(tree, RANDOM_SET_MEMBERS));
    int wanted = tree->count + 2 + random_tree_draw(tree, 11);
    for (int tries = 0; tries < 200 && tree->count < wanted; tries++) {
        if (chance(tree, 10))
            add_leaf(tree);
        add_operation(tree, draw_operation(tree));
    }
    tree->root = tree->count - 1;
    while (tree->root && !random_tree_is_root(tree, tree->root))
        tree->root--;
    if (random_tree_is_root(tree, tree->root))
        return tree;
    random_tree_free(tree);
    return random_tree_new(random_mix(seed));
}

void random_tree_free(random_tree *tree)
{
    for (int i = 0; tree && i < tree->count; i++)
        random_value_free(&tree->node[i].value);
    free(tree);
}
