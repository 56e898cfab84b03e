/* The tree language: settings, files, error messages, and the manual. */
#include "tree-testing.h"

#include "base/file.h"
#include "graph/target.h"
#include "tests/common/suite.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- options and settings ---- */

static const char *const option_text =
    "option n = 3 \"a number\"\noption t = 10s\noption f = \"file\" \"a path\"\noption w = sine\n"
    "option r = -1h..1h\noption l = [1m, 2m]\noption b = false\noption z = none\n"
    "obs = observe(array=$f, channels=$n, integration=$t, hour_angle=$r)\n"
    "G = gains(obs, kind=$w, phase=choose($z, none=1deg, else=$z))\n"
    "w = sink(obs.data, obs, overwrite=$b)\n";

static void sets(const char *name, const char *setting)
{
    grove_setting all = {name, setting};

    if (!parse_with(option_text, &all, 1)) {
        char *messages = grove_error_text(error);
        ck_abort_msg("%s=%s: %s", name, setting, messages);
    }
}

static void refuses(const char *name, const char *setting, const char *message)
{
    grove_setting all = {name, setting};

    ck_assert_ptr_null(parse_with(option_text, &all, 1));
    ck_assert_uint_eq(grove_error_count(error), 1);
    ck_assert_str_eq(grove_error_message(error, 0), message);
}

TEST(settings)
{
    double range[2];

    sets("n", "2*8");
    ck_assert_int_eq(grove_node_integer(node("obs"), "channels"), 16);
    sets("t", "2 min");
    ck_assert_double_eq(grove_node_number(node("obs"), "integration"), 120);
    sets("f", "3");
    ck_assert_str_eq(grove_node_text(node("obs"), "array"), "3");
    sets("f", "../a b/x.y-z");
    ck_assert_str_eq(grove_node_text(node("obs"), "array"), "../a b/x.y-z");
    sets("f", "\"quoted\"");
    ck_assert_str_eq(grove_node_text(node("obs"), "array"), "quoted");
    ck_assert(node("obs")->options[0].value->setting);
    sets("w", "random_walk");
    ck_assert_int_eq(grove_node_choice(node("G"), "kind"), 2);
    sets("r", "-30deg..0");
    grove_node_range(node("obs"), "hour_angle", range);
    ck_assert_double_eq_tol(range[0], -acos(-1) / 6, 1e-15);
    sets("l", "[3 km]");
    sets("l", "3m");
    sets("b", "true");
    ck_assert(grove_node_bool(node("w"), "overwrite"));
    sets("z", "2deg");
    ck_assert_double_eq_tol(grove_node_number(node("G"), "phase"), acos(-1) / 90, 1e-15);
}

TEST(refused_settings)
{
    refuses("nn", "3", "setting nn=3: the tree has no option 'nn'; did you mean 'n'?");
    refuses("n", "abc", "setting n=abc: the option must be a plain number such as 3");
    refuses("n", "3s", "setting n=3s: the option must be a plain number such as 3");
    refuses("n", "none", "setting n=none: the option must be a plain number such as 3");
    refuses("n", "(", "setting n=(: the option must be a plain number such as 3");
    refuses("n", "", "setting n=: the option must be a plain number such as 3");
    refuses("t", "1m", "setting t=1m: the option must be a time such as 10 s");
    refuses("r", "3", "setting r=3: the option must be a range such as -1 h..1 h");
    refuses("r", "1m..2m", "setting r=1m..2m: the option must be a range such as -1 h..1 h");
    refuses("l", "[1s]", "setting l=[1s]: the option must be a list such as [1 m, 2 m]");
    refuses("b", "1", "setting b=1: the option must be true or false");
}

/* ---- files ---- */

static char folder[64];

static void enter(void)
{
    setup();
    snprintf(folder, sizeof(folder), "/tmp/grove-test-lang-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void leave(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    grove_path_remove(folder, NULL);
    unsetenv("GROVE_TREE_PATH");
    teardown();
}

static void write_file(const char *path, const char *text)
{
    char *parent = suite_keep(grove_path_next_to(path, ""));

    grove_folder_make(parent, NULL);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static grove_tree *load(const char *path, const char *const *folders)
{
    grove_tree_free(tree);
    grove_error_clear(error);
    tree = grove_lang_load(path, classes, NULL, 0, folders, NULL, error);
    return tree;
}

TEST(includes)
{
    static const char *const folders[] = {"lib", NULL};

    write_file("sub/main.tree", "include \"part.tree\"\ninclude \"common.tree\"\n"
                                "include \"other.tree\"\nsink(V, obs)\n");
    write_file("sub/part.tree", "include \"deep/more.tree\"\nV = 2*obs.data\nnot_used = 3\n");
    write_file("sub/deep/more.tree", "include \"../part.tree\"\ninclude \"../main.tree\"\n"
                                     "first = sink(obs.data, obs)\n");
    write_file("lib/common.tree", "obs = observe(channels=$n)\n");
    write_file("env/other.tree", "option n = 5\ninclude \"common.tree\"\n");
    setenv("GROVE_TREE_PATH", "nowhere:env", 1);
    ck_assert_ptr_nonnull(load("sub/main.tree", folders));
    ck_assert_uint_eq(grove_error_warnings(error), 0);
    ck_assert_int_eq(grove_node_integer(node("obs"), "channels"), 5);
    ck_assert_uint_eq(tree->action_count, 2);
    ck_assert_str_eq(tree->actions[0]->name, "first");
    ck_assert_str_eq(tree->folder, "sub");
    ck_assert_ptr_nonnull(load("other.tree", folders)); /* in GROVE_TREE_PATH */
    ck_assert_ptr_null(load("nowhere.tree", folders));
    ck_assert_str_eq(grove_error_message(error, 0),
                     "nowhere.tree: there is no such file; "
                     "searched: the current folder, nowhere, env, lib");
}

/* Nothing is written in place of a file that an option names, whatever its class says of it. */
TEST(files_that_options_name)
{
    write_file("in.txt", "data");
    parse("obs = ms(\"in.txt\")\nsink(obs.data, obs)\n");
    ck_assert(grove_tree_check_output(tree, "./in.txt", true, error) != 0);
    ck_assert_str_eq(grove_error_message(error, 0), "./in.txt: is an input of this run (./in.txt), "
                                                    "which is never replaced; choose another path");
}

TEST(faults_of_all_files)
{
    write_file("main.tree",
               "include \"part.tree\"\ninclude \"none.tree\"\na = unknown\nb = c = d\n");
    write_file("part.tree", "x = 1 +\ny = 3m + 2s\nsink(y, obs)\n");
    ck_assert_ptr_null(load("main.tree", NULL));
    ck_assert_str_eq(
        suite_messages(error),
        "main.tree:2:9: error: there is no file 'none.tree'; searched: the folder of the file\n    "
        "include \"none.tree\"\n            ^~~~~~~~~~~\nmain.tree:3:5: error: unknown name "
        "'unknown'\n    a = unknown\n        ^~~~~~~\nmain.tree:4:7: error: unexpected '='; "
        "expected an operator or the end of the line\n    b = c = d\n          ^\npart.tree:1:8: "
        "error: unexpected end of the line; expected a value\n    x = 1 +\n           "
        "^\npart.tree:2:8: error: cannot add a time (2 s) to a length (3 m)\n    y = 3m + 2s\n     "
        "      ^\npart.tree:3:9: error: unknown name 'obs'\n    sink(y, obs)\n            ^~~\n");
}

TEST(unreadable_files)
{
    ck_assert_ptr_null(load("nothing.tree", NULL));
    ck_assert_ptr_null(load(".", NULL));
    ck_assert_ptr_null(load("/nothing/at/all", NULL));
    ck_assert_uint_eq(grove_error_count(error), 1);
    write_file("self.tree", "include \"self.tree\"\ninclude \"./self.tree\"\ninclude \".\"\n");
    ck_assert_ptr_null(load("self.tree", NULL));
    ck_assert_uint_eq(grove_error_count(error), 1);
}

TEST(options_are_listed)
{
    write_file("main.tree", "option sky = \"a b\" \"the sky\"\ninclude \"more.tree\"\n"
                            "option integration = 10 s\nV = nonsense(\n  )\n");
    write_file("more.tree", "option hour_angle = -2h..2h \"when\"\n");
    char *text = grove_lang_options("main.tree", NULL, error);
    ck_assert_str_eq(text, "sky         = \"a b\"   the sky\n"
                           "hour_angle  = -2h..2h   when\n"
                           "integration = 10 s\n");
    free(text);
    ck_assert_ptr_null(grove_lang_options("none.tree", NULL, error));
    ck_assert_uint_eq(grove_error_count(error), 1);
}

/* ---- faults ---- */

static char *cut(char **at, const char *mark)
{
    char *begin = *at, *end = strstr(begin, mark);

    ck_assert_msg(end, "no %s in tree-faults.txt", mark);
    *end = 0;
    *at = end + strlen(mark);
    return begin;
}

TEST(faults)
{
    const char *source = getenv("GROVE_SOURCE");
    char *path = suite_keep(grove_path_join(source ? source : ".", "tests/core/tree-faults.txt"));
    char *all = suite_keep(grove_file_read(path, 1 << 20, true, NULL, NULL)), *at = all;
    int count = 0;

    ck_assert_msg(all, "%s", path);
    cut(&at, "====.\n");
    for (; *at; count++) {
        char *text = cut(&at, "\n--\n"), *expected = cut(&at, "====\n");
        parse_with(text, NULL, 0);
        ck_assert_ptr_null(tree);
        ck_assert_str_eq(suite_messages(error), expected);
    }
    ck_assert_int_gt(count, 40);
}

/* ---- the manual ---- */

/* Every indented block of docs/language.md that begins with "# NAME.tree" is a tree without faults.
 */
TEST(manual)
{
    const char *source = getenv("GROVE_SOURCE");
    char *path = suite_keep(grove_path_join(source ? source : ".", "docs/language.md"));
    char *all = suite_keep(grove_file_read(path, 1 << 20, true, NULL, NULL)), *line = all;
    grove_text block = {0};
    bool inside = false;
    int count = 0;

    ck_assert_msg(all, "%s", path);
    for (char *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        *end = 0;
        if (!inside && !strncmp(line, "    # ", 6) && grove_ends_with(line, ".tree"))
            inside = true;
        if (inside && line[0] && line[0] != ' ') {
            parse(block.at);
            ck_assert_uint_eq(grove_error_warnings(error), 0);
            block.length = 0;
            inside = false;
            count++;
        } else if (inside) {
            grove_text_add(&block, "%s\n", line);
        }
    }
    ck_assert_int_eq(count, 4);
    free(block.at);
}

/* ---- sizes ---- */

static char *repeat(const char *before, const char *piece, int times, const char *after)
{
    grove_text text = {0};

    grove_text_add(&text, "%s", before);
    for (int i = 0; i < times; i++)
        grove_text_add(&text, "%s", piece);
    grove_text_add(&text, "%s", after);
    return text.at;
}

static void fails_once(char *text, const char *message)
{
    parse_with(text, NULL, 0);
    ck_assert_uint_eq(grove_error_count(error), 1);
    ck_assert_str_eq(grove_error_message(error, 0), message);
    free(text);
}

static char *chain_of(int definitions)
{
    grove_text text = {0};

    for (int i = 0; i < definitions; i++)
        grove_text_add(&text, "a%d = -a%d\n", i, i + 1);
    grove_text_add(&text, "a%d = 1\n", definitions);
    return text.at;
}

static void set_stack(rlim_t bytes)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_STACK, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &limit), 0);
}

TEST(deep_trees)
{
    char *text;

    parse_with("", NULL, 0);
    ck_assert_ptr_nonnull(tree);
    fails_once(repeat("a = ", "(", 100000, ""), "brackets nest more than 200 deep");
    fails_once(repeat("a = 1", "^H", 100000, ""),
               "nested more than 200 deep; give parts of it names");
    fails_once(repeat("a = ", "-", 1000, "1"), "nested more than 200 deep; give parts of it names");
    fails_once(repeat("a = ", "-", 100000, "1"), "nested too deeply; give parts of it names");
    set_stack(64 << 20); /* sanitizers take more of it */
    fails_once(chain_of(5000), "definitions build on each other more than 1000 deep");
    text = chain_of(999);
    parse(text);
    set_stack(128 << 10);
    fails_once(text, "the tree nests too deeply here for a stack of 128 KiB");
    set_stack(8 << 20);
    text = repeat("a = 1", " + 1", 20000, "\nobs = observe(channels=a)\n");
    parse(text);
    ck_assert_int_eq(grove_node_integer(node("obs"), "channels"), 20001);
    free(text);
}

TEST(growing_trees)
{
    grove_text text = {0};

    grove_text_add(&text, "template t0(x) = x + 1\n");
    for (int i = 1; i < 60; i++)
        grove_text_add(&text, "template t%d(x) = t%d(x) + t%d(2*x)\n", i, i - 1, i - 1);
    grove_text_add(&text, "a = t59(1)\n");
    fails_once(text.at, "the tree grows too large here: more than 200000 expressions");
}

SUITE(60, enter, leave)
