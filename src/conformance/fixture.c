#include "conformance/fixture.h"

#include "base/file.h"
#include "base/text.h"
#include "lang/lang.h"
#include "run/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names that examples may use: `x`, `tau` between 0 and 1, gains, beams, sources, data with flags.
 */
static const char *const preamble[] = {
    "obs = test_observation(array=\"four.array\", phase_centre=\"18h43m00s 45d50m00s\", "
    "start=\"2000-01-01T12:00:00\", duration=3000s, integration=600s, frequency=1.4GHz, "
    "channels=7, channel_width=2MHz)",
    "S = sky_model(\"3C147.lsm.html\")",
    "x[p] = sin(obs.parallactic)",
    "tau = 0.1 / sin(obs.elevation)",
    "gx[p] = gains(obs, kind=sine, seed=1)",
    "gy[p] = gains(obs, kind=random_walk, seed=2)",
    "d1[p] = 0.1 * gains(obs, seed=3)",
    "d2[p] = 0.1i * gains(obs, seed=4)",
    "S0 = constant(2Jy)",
    "G[p] = gains(obs, kind=sine, jones=matrix, seed=5)",
    "E[s,p] = beam_airy(S, obs)",
    "M[p,q] = predict(S, obs)",
    "N[p,q] = noise(obs, sigma=1Jy)",
    "V[p,q] = 1 * obs.data",
};
enum { PREAMBLE = sizeof(preamble) / sizeof(preamble[0]), OBJECTS = 2 /* the first */ };

/* Five sources: points and Gaussians, with polarisation, spectra of both kinds, rotation; two of
 * one patch, one of another, two of none. */
static const char sky[] =
    "format = Name, Type, Patch, Ra, Dec, I, Q, U, V, ReferenceFrequency='1.4e9', "
    "SpectralIndex='[]', "
    "LogarithmicSI, MajorAxis, MinorAxis, Orientation, RotationMeasure\n"
    "a, POINT, west, 18:42:59, +45.50.11, 1\n"
    "b, POINT, , 18:44:00, +45.40.00, 2, 0.1, -0.2, 0.05, , [-0.7, 0.1], true\n"
    "c, GAUSSIAN, west, 18:41:30, +45.55.00, 0.5, 0, 0, 0, , [0.3], false, 8, 4, 30\n"
    "d, GAUSSIAN, , 18:43:30, +46.00.00, 1.5, 0.2, 0.1, 0, , [-0.5], true, 5, 5, 0, 12\n"
    "e, POINT, east, 18:42:00, +45.30.00, -0.25, 0.01, 0, 0\n";

/* Four stations: six baselines. */
static const char array[] = "# name: FOUR\n"
                            "3826577.0 461022.0 5064892.0 25 P0\n"
                            "3827008.0 460412.0 5064542.0 26 P1\n"
                            "3827439.0 461382.0 5064192.0 27 P2\n"
                            "3827870.0 461132.0 5063842.0 28 P3\n";

/* Gains at two times, one of them flagged. */
static const char gains[] = "time (s),station,value_re,value_im\n"
                            "4453444800,P0,1,0.5\n4453444800,P1,0.5,-1\n4453444800,P2,,\n"
                            "4453444800,P3,2,0\n4453447800,P3,1,0.25\n4453447800,P1,0.75,-1\n"
                            "4453447800,P2,1.5,1\n4453447800,P0,2,-0.5\n";

/* An H5parm file: phases of these stations at two times, in s/phase000. Bytes in hexadecimal; *N is
 * N times 0. */
static const char solutions[] =
    "894844460d0a1a0a030808*9 ffffffffffffffff6606*6 30*7 313b7dac4f48445202201023036b1023036"
    "b1023036b1023036b780212*4 ffffffffffffffffffffffffffffffff0a0200010000060c000001000173c3"
    "*8 48*74 5a7f6b724f48445202004e0212*4 ffffffffffffffffffffffffffffffff0a0600010002020008"
    "000613000001000870686173653030301c01*7 13*21 115002ed4f48445202004e10100000e904*6 30*7 0"
    "a060001000202000800060e000001000376616c7501*6 06110000010006776569676874c102*7 05*7 138f"
    "35794f48445202014001012400000202010102*7 04*7 02*7 04*7 0314000111203f0008*5 4000340b003"
    "4ff03000005020001030908440000040040*7 e03f*6 f0bf*15 40*6 0840*6 e0bf*6 08c0*8 151200040"
    "000ffffffffffffffffffffffffffffffff0c220000030005000800040000415845530013*3 08*3 02*3 74"
    "696d652c616e740072*116 434863864f48445202010801012400000202010102*7 04*7 02*7 04*7 030c0"
    "0011008000001*5 0800050200010309080c000004000800010101010101010000b6*184 2ebeebf94f48445"
    "202010801011400000201010104*7 04*7 0308000113*3 02*3 050200010309080c0000040008005030503"
    "15032503300ca*204 fd0d8af34f43484b101000003506*6 31*7 060e0000010003616e74d503*8 23cb155"
    "f4f48445202011001011400000201010102*7 02*7 0314000111203f0008*5 4000340b0034ff0300000502"
    "0001030908140000040010*3 80f12297f0410000803c2397f04100be*192 1c5ecba44f43484b0212*4 fff"
    "fffffffffffffffffffffffffffff060f000001000474696d651905*6 ad770b52";

/* Images for examples that name one. */
static const char image_lines[] = "pixels = test_image()\ndirty = 1 * pixels.value\n";

/* Cards of a FITS image of 3 x 2 pixels, four bytes each, about the observation's phase centre. */
static const char *const cards[] = {"SIMPLE  = T",          "BITPIX  = -32",
                                    "NAXIS   = 2",          "NAXIS1  = 3",
                                    "NAXIS2  = 2",          "BUNIT   = 'Jy/pixel'",
                                    "CTYPE1  = 'RA---SIN'", "CTYPE2  = 'DEC--SIN'",
                                    "CRPIX1  = 2.0",        "CRPIX2  = 2.0",
                                    "CDELT1  = -0.01",      "CDELT2  = 0.01",
                                    "CRVAL1  = 280.75",     "CRVAL2  = 45.83333333333333",
                                    "RADESYS = 'ICRS'",     "END"};
static const float fluxes[] = {1, 2, -3, 0.5F, 0, 4};
enum { CARDS = sizeof(cards) / sizeof(cards[0]), FLUXES = sizeof(fluxes) / sizeof(fluxes[0]) };

static int write_fits(const char *path, grove_error *error)
{
    enum { BLOCK = 2880 };
    grove_file *file = grove_file_create(path, error);

    if (!file)
        return grove_error_code(error);
    for (int k = 0; k < BLOCK / 80; k++)
        fprintf(grove_file_stream(file), "%-80s", k < CARDS ? cards[k] : "");
    for (int k = 0; k < BLOCK / 4; k++) {
        uint32_t bits = 0;
        if (k < FLUXES)
            memcpy(&bits, &fluxes[k], sizeof(bits));
        for (int b = 24; b >= 0; b -= 8)
            fputc((int)(bits >> b & 255), grove_file_stream(file));
    }
    return grove_file_commit(file, error);
}

static int write_text(const char *path, const char *text, grove_error *error)
{
    grove_file *file = grove_file_create(path, error);

    if (!file)
        return grove_error_code(error);
    fputs(text, grove_file_stream(file));
    return grove_file_commit(file, error);
}

static int write_hexadecimal(const char *path, const char *text, grove_error *error)
{
    grove_file *file = grove_file_create(path, error);

    if (!file)
        return grove_error_code(error);
    while (*text) {
        char byte[] = {text[0], text[1], 0}, *end;
        long count = *text == '*' ? strtol(text + 1, &end, 10) : 1;
        for (long n = 0; n < count; n++)
            fputc(*text == '*' ? 0 : (int)strtol(byte, NULL, 16), grove_file_stream(file));
        text = *text == '*' ? end : text + 2;
        text += *text == ' ';
    }
    return grove_file_commit(file, error);
}

/* A list of absolute paths; missing ones stay unchanged. Free each and the list. */
static char **absolute(const char *const *folders)
{
    size_t count = 0;

    while (folders && folders[count])
        count++;
    char **list = grove_alloc((count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        char *path = realpath(folders[i], NULL);
        list[i] = path ? path : grove_strdup(folders[i]);
    }
    return list;
}

static void free_list(char **list)
{
    for (char **at = list; at && *at; at++)
        free(*at);
    free(list);
}

static int make_folder(grove_fixture *fixture, grove_error *error)
{
    const char *parent = getenv("TMPDIR");
    char *pattern = grove_format("%s/grove-test-XXXXXX", parent && *parent ? parent : "/tmp");
    char *made = mkdtemp(pattern);

    fixture->folder = made ? realpath(made, NULL) : NULL;
    int code =
        fixture->folder ? 0 : grove_fail(error, GROVE_IO, "%s: cannot make this folder", pattern);
    free(pattern);
    return code;
}

/* Changes to the folder in which relative paths of the tree are looked up. */
static int enter(grove_fixture *fixture, grove_error *error)
{
    const char *tree = fixture->test ? fixture->test->tree : NULL;
    char *path = tree ? grove_path_next_to(tree, ".") : grove_strdup(fixture->folder);
    int code = 0;

    fixture->came_from = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fixture->came_from < 0 || chdir(path))
        code = grove_fail(error, GROVE_IO, "%s: cannot work in this folder", path);
    free(path);
    return code;
}

static int read_tree(grove_fixture *fixture, grove_error *error)
{
    if (!fixture->test || !fixture->test->tree)
        return 0;
    fixture->text = grove_file_read(fixture->test->tree, 1 << 24, true, NULL, error);
    return fixture->text ? 0 : grove_error_code(error);
}

grove_fixture *grove_fixture_new(const char *const *plugin_folders, const char *const *data_folders,
                                 const grove_class_test *test, grove_error *error)
{
    grove_fixture *fixture = grove_alloc(sizeof(*fixture));
    char **folders = absolute(plugin_folders);

    fixture->test = test;
    fixture->came_from = -1;
    fixture->error = grove_error_new();
    fixture->data_folders = absolute(data_folders);
    fixture->classes = grove_classes_new((const char *const *)folders);
    free_list(folders);
    int code = read_tree(fixture, error);
    if (!code)
        code = make_folder(fixture, error);
    if (!code)
        code = enter(fixture, error);
    if (!code)
        return fixture;
    grove_fixture_free(fixture);
    return NULL;
}

void grove_fixture_free(grove_fixture *fixture)
{
    if (!fixture)
        return;
    if (fixture->came_from >= 0 && fchdir(fixture->came_from))
        grove_fail(fixture->error, GROVE_IO, "cannot go back to the former folder");
    if (fixture->came_from >= 0)
        close(fixture->came_from);
    grove_tree_free(fixture->tree);
    grove_error_free(fixture->error);
    grove_classes_free(fixture->classes);
    if (fixture->folder)
        grove_path_remove(fixture->folder, NULL);
    free_list(fixture->data_folders);
    free(fixture->folder);
    free(fixture->text);
    free(fixture);
}

/* Writes the preamble's files and registers its classes, when first needed: a user's tree does not
 * need them. */
static int prepare(grove_fixture *fixture)
{
    if (fixture->prepared)
        return 0;
    int code = grove_probe_register(fixture->classes, fixture->error);
    if (!code)
        code = write_text("3C147.lsm.html", sky, fixture->error);
    if (!code)
        code = write_text("four.array", array, fixture->error);
    if (!code)
        code = write_text("gains.csv", gains, fixture->error);
    if (!code)
        code = write_fits("model.fits", fixture->error);
    if (!code)
        code = write_hexadecimal("gains.h5", solutions, fixture->error);
    fixture->prepared = !code;
    return code;
}

/* ---- trees ---- */

static int parse(grove_fixture *fixture, const char *text, const grove_class *class_, bool own)
{
    const grove_class_test *test = fixture->test;

    grove_tree_free(fixture->tree);
    grove_error_clear(fixture->error);
    fixture->node_count = 0;
    fixture->tree =
        grove_lang_parse(text, own ? test->tree : "example", fixture->classes,
                         own ? test->settings : NULL, own ? test->setting_count : 0, NULL,
                         (const char *const *)fixture->data_folders, fixture->error);
    if (!fixture->tree)
        return grove_error_code(fixture->error);
    for (size_t i = 0; i < fixture->tree->node_count; i++)
        if (fixture->tree->nodes[i]->class_ == class_ && fixture->node_count < GROVE_FIXTURE_NODES)
            fixture->nodes[fixture->node_count++] = fixture->tree->nodes[i];
    return 0;
}

int grove_fixture_parse(grove_fixture *fixture, const char *text, const grove_class *class_)
{
    return parse(fixture, text, class_, false);
}

static size_t name_length(const char *statement)
{
    return strcspn(statement, "[ =");
}

/* Whether two statements define the same name. */
static bool defines_same(const char *a, const char *b)
{
    return name_length(a) == name_length(b) && !strncmp(a, b, name_length(a));
}

/* Adds lines of the preamble, without a definition that `example` makes itself. */
static void add_preamble(grove_text *text, const char *example, int lines)
{
    for (int i = 0; i < lines; i++)
        if (!defines_same(preamble[i], example))
            grove_text_add(text, "%s\n", preamble[i]);
}

/* Leaves without inputs get no lines. A leaf that replaces one of the objects gets the other
 * object, but not the rest, which may need more members than it has. */
static int lines_for(const grove_class *class_, const char *example)
{
    if (!grove_class_is_data(class_))
        return PREAMBLE;
    if (!class_->inputs || !class_->inputs[0].name)
        return 0;
    for (int i = 0; i < OBJECTS; i++)
        if (defines_same(preamble[i], example))
            return OBJECTS;
    return PREAMBLE;
}

/* Writes the Measurement Set that examples may read. */
static int write_set(grove_fixture *fixture)
{
    grove_text text = {0};

    if (grove_path_exists("observed.ms"))
        return 0;
    add_preamble(&text, "w", PREAMBLE);
    grove_text_add(&text, "w = sink(obs.data, obs, to=\"observed.ms\")\n");
    int code = parse(fixture, text.at, NULL, false);
    free(text.at);
    return code ? code : grove_fixture_run(fixture, NULL);
}

int grove_fixture_take(grove_fixture *fixture, const grove_class *class_, const char *more)
{
    const char *example = class_->example ? class_->example : "";
    grove_text text = {0};
    int code = 0;

    if (fixture->text) {
        grove_text_add(&text, "%s\n%s", fixture->text, more ? more : "");
    } else {
        code = prepare(fixture);
        if (!code && strstr(example, "observed.ms"))
            code = write_set(fixture);
        add_preamble(&text, example, lines_for(class_, example));
        if (strstr(example, "(dirty"))
            grove_text_add(&text, "%s", image_lines);
        grove_text_add(&text, "%s\n%s", example, more ? more : "");
    }
    if (!code)
        code = parse(fixture, text.at, class_, fixture->text != NULL);
    free(text.at);
    return code;
}

const char *grove_fixture_object(const grove_port *input)
{
    return grove_equal(input->object, "sky") ? "S" : "obs";
}

int grove_fixture_try(grove_fixture *fixture, const char *statements, const grove_class *class_)
{
    grove_text text = {0};
    int code = fixture->text ? GROVE_INVALID : prepare(fixture);

    if (code)
        return code;
    add_preamble(&text, "again", PREAMBLE);
    grove_text_add(&text, "D = obs.data / 100Jy\n%s", statements);
    code = parse(fixture, text.at, class_, false);
    free(text.at);
    return code;
}

/* "again = class(...)" with D (data / 100Jy), or one element of it, for all value inputs, with
 * mandatory options, and with `more` ("smear=both", may be NULL). */
static bool take_call(grove_fixture *fixture, const grove_class *class_, const char *more)
{
    grove_text text = {0};
    const char *comma = "";

    grove_text_add(&text, "again = %s(", class_->name);
    for (const grove_port *in = class_->inputs; in && in->name; in++, comma = ", ") {
        bool real = in->handing == GROVE_AS_REAL || in->handing == GROVE_AS_DOUBLE;
        const char *cell = in->shapes & GROVE_MATRIX ? "D" : "select(D, element=YX)";
        if (in->kind == GROVE_OBJECT)
            grove_text_add(&text, "%s%s", comma, grove_fixture_object(in));
        else
            grove_text_add(&text, real ? "%sreal(%s)" : "%s%s", comma, cell);
    }
    for (const grove_port *op = class_->options; op && op->name; op++)
        if (!op->initial && op->kind == GROVE_NUMBER)
            grove_text_add(&text, "%s%s=2", comma, op->name);
    grove_text_add(&text, "%s%s)\n", more ? comma : "", more ? more : "");
    int code = grove_fixture_try(fixture, text.at, class_);
    free(text.at);
    return !code && fixture->node_count;
}

/* Choice word number `number` over all options of the class, as "option=word". */
static bool word_number(const grove_class *class_, int number, char *setting, size_t bytes)
{
    for (const grove_port *op = class_->options; op && op->name; op++)
        for (const char *at = op->kind == GROVE_CHOICE ? op->choices : ""; *at;) {
            size_t length = strcspn(at, " ");
            if (!number--) {
                snprintf(setting, bytes, "%s=%.*s", op->name, (int)length, at);
                return true;
            }
            at += length + strspn(at + length, " ");
        }
    return false;
}

bool grove_fixture_next(grove_fixture *fixture, const grove_class *class_, int *number)
{
    char setting[128];

    if (!(*number)++)
        return !grove_fixture_take(fixture, class_, NULL);
    while (word_number(class_, *number - 2, setting, sizeof(setting))) {
        if (take_call(fixture, class_, setting))
            return true;
        ++*number;
    }
    return false;
}

bool grove_fixture_take_flagged(grove_fixture *fixture, const grove_class *class_)
{
    if (!take_call(fixture, class_, NULL))
        return false;
    fixture->node_count = 0;
    for (size_t i = 0; i < fixture->tree->node_count; i++)
        if (fixture->tree->nodes[i]->class_ == class_ &&
            !strcmp(fixture->tree->nodes[i]->name, "again"))
            fixture->nodes[fixture->node_count++] = fixture->tree->nodes[i];
    return fixture->node_count == 1;
}

/* ---- sessions ---- */

grove_session *grove_fixture_session(grove_fixture *fixture, const grove_session_options *options)
{
    const grove_session_options plain =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true);

    return grove_session_new(fixture->tree, options ? options : &plain, fixture->error);
}

grove_value *grove_fixture_value(grove_session *session, grove_node *node)
{
    grove_value *value = NULL;
    int code = grove_session_evaluate(session, node, NULL, 0, &value);

    if (!code)
        code = grove_session_wait(session);
    if (code && value) {
        grove_value_unref(value);
        value = NULL;
    }
    return value;
}

int grove_fixture_run(grove_fixture *fixture, const grove_session_options *options)
{
    grove_session *session = grove_fixture_session(fixture, options);
    int kept, nothing;

    if (!session)
        return grove_error_code(fixture->error);
    fflush(stdout);
    kept = dup(1);
    nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, 1);
    int code = grove_session_run(session);
    fflush(stdout);
    if (kept >= 0)
        dup2(kept, 1);
    close(kept);
    close(nothing);
    grove_session_free(session);
    return code;
}
