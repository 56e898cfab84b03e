/* Random trees as text: named and nested parts, with and without indices. */
#include "random-tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const classes[RANDOM_OPERATIONS] = {
    [RANDOM_MEMBER] = "member",
    [RANDOM_NUMBER] = "constant",
    [RANDOM_POINT] = "point",
    [RANDOM_PHASE] = "phase",
    [RANDOM_BRIGHTNESS] = "brightness",
    [RANDOM_NEGATE] = "negate",
    [RANDOM_HERMITIAN] = "hermitian",
    [RANDOM_TRANSPOSE] = "transpose",
    [RANDOM_INVERSE] = "inverse",
    [RANDOM_POWER] = "power",
    [RANDOM_SIN] = "sin",
    [RANDOM_COS] = "cos",
    [RANDOM_TAN] = "tan",
    [RANDOM_EXP] = "exp",
    [RANDOM_SQRT] = "sqrt",
    [RANDOM_LOG] = "log",
    [RANDOM_LOG10] = "log10",
    [RANDOM_ABS] = "abs",
    [RANDOM_ARG] = "arg",
    [RANDOM_REAL] = "real",
    [RANDOM_IMAG] = "imag",
    [RANDOM_CONJ] = "conj",
    [RANDOM_SINC] = "sinc",
    [RANDOM_ASIN] = "asin",
    [RANDOM_ACOS] = "acos",
    [RANDOM_ATAN] = "atan",
    [RANDOM_DETERMINANT] = "determinant",
    [RANDOM_TRACE] = "trace",
    [RANDOM_NORM] = "norm",
    [RANDOM_SCALAR] = "scalar",
    [RANDOM_RESHAPE] = "constant",
    [RANDOM_ROTATION] = "rotation",
    [RANDOM_PLAIN] = "divide",
    [RANDOM_ELEMENT] = "select",
    [RANDOM_CELL] = "select",
    [RANDOM_ADD] = "add",
    [RANDOM_SUBTRACT] = "subtract",
    [RANDOM_MULTIPLY] = "multiply",
    [RANDOM_DIVIDE] = "divide",
    [RANDOM_COMPLEX] = "complex",
    [RANDOM_DIAGONAL] = "diagonal",
    [RANDOM_MATRIX] = "matrix",
    [RANDOM_SUM] = "sum",
    [RANDOM_MEAN] = "mean",
    [RANDOM_MIN] = "min",
    [RANDOM_MAX] = "max",
};

const char *random_operation_class(random_operation operation)
{
    return classes[operation];
}

typedef struct {
    random_tree *tree;
    char *at;
    size_t length, room;
    bool letters[2]; /* an index of source axis 0 or 1 was written */
} writer;

static void add(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(writer *w, const char *format, ...)
{
    va_list args;

    for (;;) {
        va_start(args, format);
        int n = vsnprintf(w->at + w->length, w->room - w->length, format, args);
        va_end(args);
        if ((size_t)n < w->room - w->length) {
            w->length += (size_t)n;
            return;
        }
        w->room = 2 * w->room + (size_t)n + 256;
        w->at = realloc(w->at, w->room);
    }
}

/* The number, 1 or 0, of the only source axis; -1: none or two. */
static int only_source(unsigned axes)
{
    unsigned sources = axes & 3;

    return sources == 1 ? 0 : sources == 2 ? 1 : -1;
}

static bool has_stations(const random_value *x)
{
    return x->axes >> RANDOM_STATION & 1;
}

/* [s,p] and the like behind a reference; `letters`: source axes too. */
static void add_index(writer *w, const random_value *x, char role, bool letters, bool sides)
{
    int source = letters ? only_source(x->axes) : -1;
    char text[16] = "";
    bool baselines = x->axes >> RANDOM_BASELINE & 1 && sides;

    if (source >= 0) {
        strcat(text, source ? ",t" : ",s");
        w->letters[source] = true;
    }
    if (has_stations(x) && role)
        strcat(text, role == 'p' ? ",p" : ",q");
    if (baselines)
        strcat(text, ",p,q");
    if (text[0])
        add(w, "[%s]", text + 1);
}

static void add_expression(writer *w, int number, char role);

/* A node in an expression: its name, or the expression itself. */
static void add_use(writer *w, int number, char role)
{
    const random_node *node = &w->tree->node[number];
    bool index = random_tree_draw(w->tree, 2);

    if (node->operation == RANDOM_MEMBER) {
        const random_member *m = node->choice[0] ? &random_sky_members[node->choice[1]]
                                                 : &random_set_members[node->choice[1]];
        add(w, "%s.%s", node->choice[0] == 0 ? "obs" : node->choice[0] == 1 ? "A" : "B", m->name);
        add_index(w, &node->value, role, index, index);
    } else if (node->named) {
        add(w, "x%d", number);
        add_index(w, &node->value, role, index || node->declared, index);
    } else {
        add_expression(w, number, role);
    }
}

static void add_number(writer *w, const random_node *node)
{
    static const char *const shapes[] = {
        [GROVE_DIAGONAL] = "diagonal", [GROVE_MATRIX] = "matrix", [GROVE_VECTOR] = "vector"};

    if (node->shape == GROVE_SCALAR) {
        add(w, "(%.17Lg", creall(node->number[0]));
        if (node->value.complex_)
            add(w, " + %.17Lgi", cimagl(node->number[0]));
        add(w, ")");
        return;
    }
    add(w, "constant([");
    for (int e = 0; e < node->elements; e++)
        add(w, "%s%.17Lg", e ? ", " : "", creall(node->number[e]));
    add(w, "], shape=%s)", shapes[node->shape]);
}

/* `over=` and the names of axes, except source axes given as letters. */
static void add_over(writer *w, unsigned over)
{
    static const char *const names[RANDOM_AXES] = {"\"A.source\"", "\"B.source\"", "time",
                                                   "station",      "baseline",     "freq"};
    const char *comma = "";

    add(w, ", over=[");
    for (int a = 0; a < RANDOM_AXES; a++)
        if (over >> a & 1) {
            add(w, "%s%s", comma, names[a]);
            comma = ", ";
        }
    add(w, "]");
}

static void add_reduction(writer *w, const random_node *node, char role)
{
    writer inner = {.tree = w->tree};
    unsigned axes = w->tree->node[node->input[0]].value.axes, over = node->over;
    bool letters = over && !(over & ~3u) && random_tree_draw(w->tree, 3);
    const char *class_ = classes[node->operation];

    add(&inner, "%s", "");
    add_use(&inner, node->input[0], role);
    for (int a = 0; a < 2; a++)
        letters = letters && (!(over >> a & 1) || inner.letters[a] || only_source(axes) == a);
    if (letters) {
        add(w, "%s[%s](%s)", class_, over == 3 ? "s,t" : over == 1 ? "s" : "t", inner.at);
    } else {
        add(w, "%s(%s", class_, inner.at);
        if (over != axes || random_tree_draw(w->tree, 2))
            if (over)
                add_over(w, over);
        add(w, ")");
        for (int a = 0; a < 2; a++)
            w->letters[a] = w->letters[a] || inner.letters[a];
    }
    free(inner.at);
}

static void add_choice(writer *w, const random_node *node, char role)
{
    static const char *const matrix[] = {"XX", "XY", "YX", "YY"};
    static const char *const axes[RANDOM_AXES] = {"\"A.source\"", "\"B.source\"", "time",
                                                  "station",      "baseline",     "freq"};
    const random_value *x = &w->tree->node[node->input[0]].value;
    int64_t index = node->choice[1];

    add(w, "select(");
    add_use(w, node->input[0], role);
    if (node->operation == RANDOM_CELL) {
        if (random_tree_draw(w->tree, 2))
            index -= w->tree->world.size[node->choice[0]];
        add(w, ", axis=%s, index=%lld)", axes[node->choice[0]], (long long)index);
    } else if (x->shape == GROVE_MATRIX && random_tree_draw(w->tree, 2)) {
        add(w, ", element=\"%s\")", matrix[node->choice[0]]);
    } else {
        add(w, ", element=\"%d\")", node->choice[0]);
    }
}

/* An input, seen from its own side, or from `role`. */
static void add_input(writer *w, const random_node *node, int k, char role)
{
    add_use(w, node->input[k], role ? role : node->role[k]);
}

static void add_call(writer *w, const random_node *node, char role)
{
    bool angle = node->operation >= RANDOM_ASIN && node->operation <= RANDOM_ATAN;

    add(w, "%s%s(", angle ? "(" : "", classes[node->operation]);
    for (int k = 0; k < node->inputs; k++) {
        add(w, "%s", k ? ", " : "");
        add_input(w, node, k, role);
    }
    if (node->operation == RANDOM_RESHAPE)
        add(w, ", shape=%s",
            node->shape == GROVE_SCALAR     ? "scalar"
            : node->shape == GROVE_DIAGONAL ? "diagonal"
            : node->shape == GROVE_MATRIX   ? "matrix"
                                            : "vector");
    else if (node->operation == RANDOM_ROTATION)
        add(w, " * 1rad");
    add(w, ")%s", angle ? " / 1rad)" : "");
}

static void add_binary(writer *w, const random_node *node, char sign, char role)
{
    add(w, "(");
    add_input(w, node, 0, role);
    add(w, " %c ", sign);
    add_input(w, node, 1, role);
    add(w, ")");
}

static void add_postfix(writer *w, const random_node *node, const char *postfix, char role)
{
    add(w, "(");
    add_input(w, node, 0, role);
    add(w, ")%s", postfix);
}

static void add_power(writer *w, const random_node *node, char role)
{
    add(w, "(");
    add_input(w, node, 0, role);
    add(w, ")^(%Lg)", creall(node->number[0]));
}

/* `role`: the side from which station values are seen, if it is given for the whole expression. */
static void add_expression(writer *w, int number, char role)
{
    static const char *const smear[] = {"none", "time", "freq", "both"};
    const random_node *node = &w->tree->node[number];

    if (!has_stations(&node->value))
        role = 0;
    switch (node->operation) {
    case RANDOM_NUMBER:
        add_number(w, node);
        return;
    case RANDOM_POINT:
        add(w, "point(%c, obs, smear=%s)", node->choice[0] == 1 ? 'A' : 'B',
            smear[node->choice[1]]);
        return;
    case RANDOM_PHASE:
    case RANDOM_BRIGHTNESS:
        add(w, "%s(%c, obs)", classes[node->operation], node->choice[0] == 1 ? 'A' : 'B');
        if (role)
            add_index(w, &node->value, role, true, false);
        return;
    case RANDOM_NEGATE:
        add(w, "(-");
        add_input(w, node, 0, role);
        add(w, ")");
        return;
    case RANDOM_HERMITIAN:
        add_postfix(w, node, "^H", role);
        return;
    case RANDOM_TRANSPOSE:
        add_postfix(w, node, "^T", role);
        return;
    case RANDOM_INVERSE:
        add_postfix(w, node, "^-1", role);
        return;
    case RANDOM_POWER:
        add_power(w, node, role);
        return;
    case RANDOM_PLAIN:
        add(w, "(");
        add_input(w, node, 0, role);
        add(w, " / 1Jy)");
        return;
    case RANDOM_ARG:
        add(w, "(arg(");
        add_input(w, node, 0, role);
        add(w, ") / 1rad)");
        return;
    case RANDOM_ELEMENT:
    case RANDOM_CELL:
        add_choice(w, node, role);
        return;
    case RANDOM_ADD:
    case RANDOM_SUBTRACT:
    case RANDOM_MULTIPLY:
    case RANDOM_DIVIDE:
        add_binary(w, node, "+-*/"[node->operation - RANDOM_ADD], role);
        return;
    case RANDOM_SUM:
    case RANDOM_MEAN:
    case RANDOM_MIN:
    case RANDOM_MAX:
        add_reduction(w, node, role);
        return;
    default:
        add_call(w, node, role);
    }
}

/* ---- definitions ---- */

static void mark_used(random_tree *tree, int number)
{
    random_node *node = &tree->node[number];

    node->used = true;
    for (int k = 0; k < node->inputs; k++)
        mark_used(tree, node->input[k]);
}

/* Whether a definition of the node can have indices: then each use must have them, too. */
static bool can_declare(const random_tree *tree, int number)
{
    unsigned axes = tree->node[number].value.axes;
    bool sides = axes & (1u << RANDOM_STATION | 1u << RANDOM_BASELINE);

    if ((axes & 3) == 3 || (!(axes & 3) && !sides))
        return false;
    for (int i = number + 1; i <= tree->root && axes >> RANDOM_STATION & 1; i++)
        for (int k = 0; k < tree->node[i].inputs; k++)
            if (tree->node[i].input[k] == number && !tree->node[i].role[k])
                return false;
    return number != tree->root || !(axes >> RANDOM_STATION & 1);
}

static void add_definition(writer *w, int number)
{
    const random_node *node = &w->tree->node[number];
    char role = node->declared && has_stations(&node->value) ? 'p' : 0;

    add(w, "x%d", number);
    if (node->declared)
        add_index(w, &node->value, role, true, true);
    add(w, " = ");
    add_expression(w, number, role && random_tree_draw(w->tree, 2) ? role : 0);
    add(w, "\n");
}

char *random_tree_text(random_tree *tree, int root)
{
    const random_world *world = &tree->world;
    const int64_t *size = world->size;
    writer w = {.tree = tree};

    tree->state = random_mix(tree->seed) + (uint64_t)root;
    tree->root = root;
    for (int i = 0; i < tree->count; i++)
        tree->node[i].used = false;
    mark_used(tree, root);
    tree->node[root].named = true;
    for (int i = 0; i <= root; i++)
        tree->node[i].declared = tree->node[i].declared && can_declare(tree, i);
    add(&w,
        "obs = random_set(seed=%lld, times=%lld, channels=%lld, stations=%lld, layout=%d, "
        "flagging=%d)\n",
        (long long)world->seed, (long long)size[RANDOM_TIME], (long long)size[RANDOM_FREQ],
        (long long)size[RANDOM_STATION], world->layout, world->flagging);
    for (int sky = 1; sky < 3; sky++)
        add(&w, "%c = random_sky(seed=%lld, sources=%lld, flagging=%d)\n", sky == 1 ? 'A' : 'B',
            (long long)world->seed + sky, (long long)size[sky - 1], world->flagging);
    /* definitions may come in any order */
    bool backwards = random_tree_draw(tree, 2);
    for (int k = 0; k <= root; k++) {
        int i = backwards ? root - k : k;
        const random_node *node = &tree->node[i];
        if (node->used && (i == root || (node->named && node->operation != RANDOM_MEMBER)))
            add_definition(&w, i);
    }
    return w.at;
}
