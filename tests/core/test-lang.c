/* The tree language: syntax and meaning. */
#include "tests/common/suite.h"
#include "tree-testing.h"

#include <math.h>

/* The number that `expression` folds to. */
static grove_literal value(const char *expression)
{
    parse(suite_text(LEAVES "x = abs(%s)\n", expression));
    ck_assert_int_eq(input("x", 0)->kind, GROVE_NODE_CONSTANT);
    return *input("x", 0)->constant;
}

static void folds(const char *expression, double number, const char *unit)
{
    grove_literal literal = value(expression);
    char shown[48];

    ck_assert_msg(fabs(literal.number - number) <= 1e-14 * fabs(number), "%s: %.17g", expression,
                  literal.number);
    ck_assert_double_eq(literal.imaginary, 0);
    ck_assert_str_eq(grove_unit_show(shown, literal.unit), unit);
}

/* Both expressions are one and the same node. */
static void same(const char *before, const char *a, const char *b)
{
    char *text = suite_text(LEAVES "%s\nu = sink(%s, obs)\nv = sink(%s, obs)\n", before, a, b);

    parse(text);
    ck_assert_uint_eq(tree->action_count, 2);
    ck_assert_msg(input("u", 0) == input("v", 0), "%s", text);
    ck_assert_int_eq(tree->actions[0]->inputs[0].side, tree->actions[1]->inputs[0].side);
}

/* ---- literals ---- */

TEST(numbers)
{
    folds("60s", 60, "s");
    folds("1.4GHz", 1.4e9, "Hz");
    folds("1.4 GHz", 1.4e9, "Hz");
    folds("25 m", 25, "m");
    folds("-2h", -7200, "s");
    folds("5mJy", 5e-3, "Jy");
    folds("180deg", acos(-1), "rad");
    folds("1e3", 1000, "");
    folds(".5e-3km", 0.5, "m");
    folds("1E+2", 100, "");
    folds("pi", acos(-1), "");
}

TEST(arithmetic)
{
    folds("1 + 2*3 - 4/8", 6.5, "");
    folds("(1 + 2)*3", 9, "");
    folds("10 - 4 - 3", 3, "");
    folds("64 / 4 / 2", 8, "");
    folds("-2^2", -4, "");
    folds("2^-1", 0.5, "");
    folds("2^(1 + 2)", 8, "");
    folds("(2m)^2", 4, "m^2");
    folds("(4m^2)^0.5", 4, "m");
    folds("10 m/s", 10, "m s^-1");
    folds("10 m/s/s", 10, "m s^-2");
    folds("3 km / 2 min", 25, "m s^-1");
    folds("299792458 m/s / 1.5GHz", 299792458 / 1.5e9, "m");
    folds("5 Jy*m^2", 5, "Jy m^2");
    folds("1/4s", 0.25, "Hz");
    folds("3^T", 3, "");
    folds("- -3", 3, "");
}

TEST(complex_numbers)
{
    grove_literal x = value("(1 + 2i) * (3 - 0.5i)");
    ck_assert_double_eq(x.number, 4);
    ck_assert_double_eq(x.imaginary, 5.5);
    x = value("(1 + 2i)^H");
    ck_assert_double_eq(x.number, 1);
    ck_assert_double_eq(x.imaginary, -2);
    x = value("(-4)^0.5");
    ck_assert_double_eq(x.number, 0);
    ck_assert_double_eq(x.imaginary, 2);
    x = value("(1i)^2");
    ck_assert_double_eq_tol(x.number, -1, 1e-15);
    ck_assert_double_eq_tol(x.imaginary, 0, 1e-15);
}

TEST(constants_of_options)
{
    double range[2], radec[2];

    parse("O = observe(hour_angle=-2h..30min, integration=0.5*20s, channels=2^3,\n"
          "            phase_centre=\"6h0m0s -30d0m0s\", array=\"a\\\"b\\\\\\n\")\n"
          "Q = observe(hour_angle=-30deg..0)\nR = observe(hour_angle=-0.5h-30min..2*0.5h)\n"
          "G = gains(O, kind=sine, amplitude=1/4, phase=-pi*1rad)\n"
          "H = gains(O, random_walk, 0.5, seed=7)\n");
    grove_node_range(node("O"), "hour_angle", range);
    ck_assert_double_eq_tol(range[0], -acos(-1) / 6, 1e-15);
    ck_assert_double_eq_tol(range[1], acos(-1) / 24, 1e-15);
    grove_node_range(node("Q"), "hour_angle", range);
    ck_assert_double_eq_tol(range[0], -acos(-1) / 6, 1e-15);
    ck_assert_double_eq(range[1], 0);
    grove_node_range(node("R"), "hour_angle", range);
    ck_assert_double_eq_tol(range[0], -acos(-1) / 12, 1e-15);
    ck_assert_double_eq_tol(range[1], acos(-1) / 12, 1e-15);
    ck_assert_double_eq(grove_node_number(node("O"), "integration"), 10);
    ck_assert_int_eq(grove_node_integer(node("O"), "channels"), 8);
    grove_node_direction(node("O"), "phase_centre", radec);
    ck_assert_double_eq_tol(radec[0], acos(0), 1e-15);
    ck_assert_double_eq_tol(radec[1], -acos(-1) / 6, 1e-15);
    ck_assert_str_eq(grove_node_text(node("O"), "array"), "a\"b\\\n");
    ck_assert_int_eq(grove_node_choice(node("G"), "kind"), 1);
    ck_assert_double_eq(grove_node_number(node("G"), "amplitude"), 0.25);
    ck_assert_double_eq_tol(grove_node_number(node("G"), "phase"), -acos(-1), 1e-15);
}

/* ---- layout of the text ---- */

TEST(layout)
{
    static const char *const texts[] = {
        "V = obs.data*2 + obs.data*3 - obs.data\n",
        "V = obs.data*2\n  + obs.data*3\n  - obs.data",
        "V = obs.data*2 +\n\n  # between\n  obs.data*3 -\nobs.data\r\n",
        "V =\n  obs.data*2 + obs.data*3 - obs.data # end",
        "\n\n\tV = (obs.data\n*\n2 + obs.data*3\n-obs.data\n)\n\n",
        "V = obs.data *(2)+ obs . data*3-obs.data"};
    char *first = NULL;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        parse(suite_text("obs = observe()\n%s\nsink(V, obs, to=\"x.ms\")\n", texts[i]));
        char *shown = grove_tree_show(tree);
        if (first)
            ck_assert_str_eq(shown, first);
        else
            first = suite_keep(grove_strdup(shown));
        free(shown);
    }
}

/* What a tree shows is the tree: its equations, read again, show the same. */
TEST(shown_in_its_own_language)
{
    static const char *const lines[] = {
        "obs = observe(channels=4)",
        "S = sky_model(path=\"a\\\"b\")",
        "G[p] = gains(obs, kind=constant, amplitude=0.25, phase=-30deg)",
        "E[s] = beam_airy(S, obs, diameter=25m)",
        "a[p,q] = obs.data - (2 * obs.data - obs.data / 3)",
        "b[p,q] = G[p] * (-obs.data^H + obs.data)^T * G[q]^H",
        "c[p,q] = G[p]^2 * a[p,q] - -(b[p,q]^H)^T",
        "write = sink(c[p,q], obs, to=\"x.ms\", mode=add)",
        "sink(E[s], obs, to=\"y.ms\")",
    };
    grove_text text = {0};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        grove_text_add(&text, "%s\n", lines[i]);
    parse(text.at);
    free(text.at);
    char *shown = grove_tree_show(tree);
    size_t count = 0;
    for (char *at = shown; *at; at = strchr(at, '\n') + 1)
        count++;
    ck_assert_uint_eq(count, sizeof(lines) / sizeof(lines[0]));
    for (size_t i = 0; i < count; i++) {
        char *line = suite_text("%s  ", lines[i]), *at = strstr(shown, line);
        ck_assert_msg(at && (at == shown || at[-1] == '\n'), "no %s in\n%s", lines[i], shown);
    }
    free(shown);
}

/* Each expression is shown once: 2^60 terms are 60 lines. */
TEST(shared_expressions_are_shown_once)
{
    grove_text text = {0};

    grove_text_add(&text, "template twice(x) = x * 2 + x / 3\nobs = observe()\nV = ");
    for (int k = 0; k < 60; k++)
        grove_text_add(&text, "twice(");
    grove_text_add(&text, "obs.data");
    for (int k = 0; k < 60; k++)
        grove_text_add(&text, ")");
    grove_text_add(&text, "\nsink(V, obs, to=\"x.ms\")\n");
    parse(text.at);
    free(text.at);
    char *shown = grove_tree_show(tree);
    ck_assert_uint_lt(strlen(shown), 60 * 200);
    ck_assert_ptr_nonnull(strstr(shown, " = obs.data * 2 + obs.data / 3 "));
    free(shown);
}

TEST(keywords_are_names_elsewhere)
{
    parse("option = 2\nrun = option*3\ntemplate = run + 1\ninclude = observe(channels=template)\n");
    ck_assert_int_eq(grove_node_integer(node("include"), "channels"), 7);
}

TEST(operators)
{
    parse(LEAVES "G[p] = gains(obs)\nV = -G[p]^-1 * obs.data / G[q]^H^T + obs.data^3 - 2\n");
    ck_assert_str_eq(node("V")->class_->name, "subtract");
    ck_assert_str_eq(input("V", 0)->class_->name, "add");
    ck_assert_double_eq(input("V", 1)->constant->number, 2);
    const grove_node *left = input_of(input("V", 0), 0), *right = input_of(left, 1);
    ck_assert_str_eq(input_of(input("V", 0), 1)->class_->name, "power");
    ck_assert_str_eq(left->class_->name, "divide");
    ck_assert_int_eq(left->inputs[1].side, 'q');
    ck_assert_str_eq(right->class_->name, "transpose");
    ck_assert_str_eq(input_of(right, 0)->class_->name, "hermitian");
    ck_assert_str_eq(input_of(left, 0)->class_->name, "multiply");
    ck_assert_int_eq(input_of(left, 0)->inputs[0].side, 'p');
    const grove_node *minus = input_of(input_of(left, 0), 0);
    ck_assert_str_eq(minus->class_->name, "negate");
    ck_assert_str_eq(input_of(minus, 0)->class_->name, "inverse");
}

/* ---- names and definitions ---- */

TEST(any_order)
{
    parse("w = sink(V, obs)\nV = twice + obs.data\ntwice = 2*obs.data\nobs = observe()\n");
    ck_assert_uint_eq(grove_error_warnings(error), 0);
    ck_assert_str_eq(input("V", 0)->name, "twice");
    ck_assert_str_eq(node("w")->inputs[0].node->name, "V");
}

TEST(equal_expressions_are_one_node)
{
    same("", "2*obs.data + 1", "(2 * obs.data) + 1");
    same("a = 2*obs.data", "a + 1", "2*obs.data + 1");
    same("G[p] = gains(obs)\nH[p] = gains(obs)", "G[p] * obs.data", "H[p] * obs.data");
    same("G[p] = gains(obs)", "obs.data * G[q]^H", "obs.data * G^H[q]");
    same("G[p] = gains(obs)", "G^-1^H[p] * obs.data", "G[p]^-1^H * obs.data");
    same("d = 25m", "beam_airy(S, obs, diameter=d)", "beam_airy(S, obs, 5*5m)");
}

TEST(unused)
{
    says("obs = observe()\nV = obs.data\nW = 2*V\noption n = 1\n"
         "template t(x) = x + helper\nhelper = 3\nw = sink(V, obs)\n",
         "t.tree:3:1: warning: 'W' is not used by any action\n    W = 2*V\n    ^\n"
         "t.tree:5:10: warning: 't' is not used by any action\n"
         "    template t(x) = x + helper\n             ^\n"
         "t.tree:6:1: warning: 'helper' is not used by any action\n    helper = 3\n    ^~~~~~\n");
    ck_assert_ptr_nonnull(tree);
    says("obs = observe()\n",
         "warning: t.tree: nothing to run: the tree has no action such as sink(...)\n");
    says("obs = observe()\nw = sink(obs.data, obs, none)\n",
         "warning: t.tree: nothing to run: the output of every action is none\n");
    /* What is wrong in an unused definition is an error all the same. */
    parse_with("obs = observe()\nW = 2*U\nw = sink(obs.data, obs)\n", NULL, 0);
    ck_assert_uint_eq(grove_error_count(error), 1);
}

TEST(choose)
{
    static const char text[] =
        "option beam = airy \"which\"\n" LEAVES "A[s,p] = beam_airy(S, obs)\n"
        "N[s,p] = not_a_class(S, nowhere)\n"
        "E[s,p] = choose($beam, none=1, airy=A[s,p], no=N[s,p],\n"
        "                else=beam_gaussian(S, obs))\n"
        "V = sum[s](E[s,p] * point(S, obs) * E[s,q]^H)\n"
        "sink(V, obs)\n";
    grove_setting none = {"beam", "none"}, other = {"beam", "what"};

    ck_assert_ptr_nonnull(parse_with(text, NULL, 0));
    ck_assert_uint_eq(grove_error_warnings(error), 0);
    ck_assert_str_eq(node("A")->class_->name, "beam_airy");
    ck_assert_ptr_nonnull(parse_with(text, &other, 1));
    ck_assert_str_eq(node("E")->class_->name, "beam_gaussian");
    ck_assert_ptr_nonnull(parse_with(text, &none, 1));
    for (size_t i = 0; i < tree->node_count; i++)
        ck_assert(!tree->nodes[i]->class_ || strncmp(tree->nodes[i]->class_->name, "beam", 4));
}

/* ---- indices ---- */

TEST(roles)
{
    parse(LEAVES "G[p] = gains(obs)\nF[p] = G[p]*G[p]\nB = G[q]^H\n"
                 "V[p,q] = F[p] * obs.data * B\nW = V[p,q] * F[q]^H\n");
    ck_assert_int_eq(node("W")->inputs[1].side, 'q');
    ck_assert_int_eq(node("V")->inputs[1].side, 'q');
    ck_assert_int_eq(input("V", 0)->inputs[0].side, 'p');
    ck_assert_str_eq(input("V", 0)->inputs[0].node->name, "F");
    ck_assert_int_eq(node("F")->inputs[0].side, 0);
    ck_assert_int_eq(node("F")->axis_count, 1);
    ck_assert_int_eq(node("F")->axes[0]->kind, GROVE_AXIS_STATION);
}

TEST(defaults_of_classes)
{
    parse(LEAVES "E[s,p] = beam_airy(S, obs)\nF[s,p] = beam_airy(S, obs, diameter=25m)\n"
                 "P = point(S, obs)\n");
    ck_assert_str_eq(input("E", 0)->name, "obs.diameter");
    ck_assert_double_eq(input("F", 0)->constant->number, 25);
    ck_assert_str_eq(input("P", 0)->name, "S.flux");
    ck_assert_str_eq(input("P", 1)->name, "obs.data");
    ck_assert_str_eq(grove_node_text(node("obs"), "array"), "vla-c");
}

/* The owner of the axis that a sum consumed. */
static const char *summed(const char *name)
{
    ck_assert_int_eq(node(name)->consumed_count, 1);
    return node(name)->consumed[0]->owner->name;
}

TEST(letters)
{
    parse(LEAVES "R = sky_model(\"y\")\n"
                 "T[s,t] = S.flux[t] * R.flux[s]\n" /* R's sources come second in storage */
                 "U[t] = S.flux\n"
                 "a = sum[x](T[x,y])\nb = sum[y](T[x,y])\nc = sum[s](S.flux)\n"
                 "d = sum[g](2 * U[g] * R.flux)\ne = sum[s](sum[t](T[t,s] * U[s]))\n"
                 "f = sum[s,t](T[s,t])\ng = mean[src](U[src])\n"
                 "h = sum[s](R.flux[s]) * sum[s](S.flux[s])\n"
                 "template pick(m) = m.flux[s]\n"
                 "k = sum[s](R.flux[s] * sum[x](A[x]) * sum[x](pick(S)))\n"
                 "W[s,t] = R.flux * S.flux\nl = sum[s](W[s,t])\nA[s] = 3 * S.flux[s]\n"
                 "i = sum(T, over=R.source)\nj = sum(T, over=[S.source, R.source])\n");
    ck_assert_str_eq(summed("a"), "R");
    ck_assert_str_eq(summed("b"), "S");
    ck_assert_str_eq(summed("c"), "S");
    ck_assert_str_eq(summed("d"), "S");
    ck_assert_str_eq(summed("e"), "S");
    ck_assert_str_eq(input("e", 0)->consumed[0]->owner->name, "R");
    ck_assert_int_eq(node("f")->consumed_count, 2);
    ck_assert_str_eq(summed("g"), "S");
    ck_assert_str_eq(input("h", 0)->consumed[0]->owner->name, "R");
    ck_assert_str_eq(input("h", 1)->consumed[0]->owner->name, "S");
    ck_assert_str_eq(summed("k"), "R");
    ck_assert_str_eq(summed("l"), "R");
    ck_assert_int_eq(node("j")->consumed_count, 2);
    ck_assert_int_eq(node("T")->axis_count, 2);
}

/* ---- templates ---- */

TEST(templates)
{
    same("template corrupt(J, x) = J[p] * x * J[q]^H\nG[p] = gains(obs)", "corrupt(G, obs.data)",
         "G[p] * obs.data * G[q]^H");
    same("template corrupt(J, x) {\n  a = J[p] * x\n  b = a * J[q]^H\n}\nG[p] = gains(obs)",
         "corrupt(x=obs.data, J=G)", "G[p] * obs.data * G[q]^H");
    same("template t(x, n=2, m=n+1) = x*n + m", "t(obs.data)", "obs.data*2 + 3");
    same("template t(x, n=2, m=n+1) = x*n + m", "t(obs.data, m=7)", "obs.data*2 + 7");
    same("template t(x) { y = x*k }\nk = 5", "t(obs.data)", "obs.data*5");
    same("template t(x) = x*2\ntemplate w(x) = t(t(x))", "w(obs.data)", "obs.data*2*2");
    same("template flux(model) { A[s] = model.flux }", "sum[s](flux(S)[s])", "sum[s](S.flux)");
    same("template b(which) { B[s,p] = choose(which, airy=beam_airy(S, obs), none=1) }\n"
         "template c(w) = b(w)",
         "c(airy)[s,p] * obs.data", "beam_airy(S, obs)[p] * obs.data");
    same("template k(kind) = gains(obs, kind=kind)", "k(sine)", "gains(obs, kind=sine)");
}

TEST(names_inside_templates)
{
    parse("obs = observe()\n"
          "template t(x) {\n  half = x/2\n  out = half + 1\n}\nV = t(obs.data)\nW = t(V)\n");
    ck_assert_str_eq(node("V")->inputs[0].node->name, "V.half");
    ck_assert_str_eq(node("W")->inputs[0].node->name, "W.half");
}

/* ---- actions ---- */

static void actions_are(const char *text, const char *names)
{
    grove_text found = {0};

    parse(text);
    for (size_t i = 0; i < tree->action_count; i++)
        grove_text_add(&found, "%s ", tree->actions[i]->name);
    ck_assert_str_eq(found.at ? found.at : "", names);
    free(found.at);
}

TEST(actions)
{
    const char *three = "obs = observe()\na = sink(obs.data, obs)\n"
                        "b = sink(2*obs.data, obs, to=\"x\")\nc = sink(obs.data, obs)\n";

    actions_are(three, "a b c ");
    actions_are(suite_text("run c, b [cycles=3]\n%s", three), "c b ");
    ck_assert_int_eq(tree->cycles, 3);
    ck_assert_uint_eq(grove_error_warnings(error), 1); /* a does not run */
    actions_are("obs = observe()\na = sink(obs.data, obs, to=none)\nsink(obs.data, obs, to=null)\n",
                "sink#2 ");
    actions_are("obs = observe()\nV = obs.data\nc = choose(yes, yes=sink(V, obs), no=none)\n"
                "d = choose(no, yes=sink(V, obs), no=none)\n",
                "c ");
    actions_are("obs = observe()\n"
                "template t(V) {\n  early = sink(V, obs)\n  late = sink(2*V, obs)\n}\n"
                "t(obs.data)\n",
                "t.early t.late ");
    actions_are("obs = observe()\na = sink(obs.data, obs, to=none)\nb = sink(obs.data, obs)\n"
                "run a, b\n",
                "b ");
}

SUITE(60, setup, teardown)
