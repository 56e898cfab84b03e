#include "example.h"

#include "base/file.h"
#include "base/text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What examples may name: `x`, `tau` between 0 and 1, gains, beams, sources, data with flags. */
static const char *const preamble[] = {
    "obs = probe()",
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

/* Five sources: points and Gaussians, with polarisation, spectra of both kinds, rotation. */
static const char sky[] =
    "format = Name, Type, Ra, Dec, I, Q, U, V, ReferenceFrequency='1.4e9', SpectralIndex='[]', "
    "LogarithmicSI, MajorAxis, MinorAxis, Orientation, RotationMeasure\n"
    "a, POINT, 18:42:59, +45.50.11, 1\n"
    "b, POINT, 18:44:00, +45.40.00, 2, 0.1, -0.2, 0.05, , [-0.7, 0.1], true\n"
    "c, GAUSSIAN, 18:41:30, +45.55.00, 0.5, 0, 0, 0, , [0.3], false, 8, 4, 30\n"
    "d, GAUSSIAN, 18:43:30, +46.00.00, 1.5, 0.2, 0.1, 0, , [-0.5], true, 5, 5, 0, 12\n"
    "e, POINT, 18:42:00, +45.30.00, -0.25, 0.01, 0, 0\n";

void example_begin(testing *t)
{
    testing_begin(t);
    probe_begin(t);
    testing_file(t, "3C147.lsm.html", sky);
    ck_assert_int_eq(chdir(t->folder), 0);
}

void example_end(testing *t)
{
    ck_assert_int_eq(chdir("/"), 0);
    testing_end(t);
}

const char *const *example_classes(testing *t, size_t *count)
{
    return grove_classes_names(t->classes, count);
}

const grove_class *example_class(testing *t, const char *name)
{
    const grove_class *class_ = grove_classes_find(t->classes, name, t->error);

    ck_assert_msg(class_ != NULL, "class %s: %s", name, grove_error_message(t->error, 0));
    return class_;
}

/* The Measurement Set that the example of `ms` reads. */
static void write_set(testing *t)
{
    if (grove_path_exists("observed.ms"))
        return;
    testing_tree(t, "obs = probe()\nw = sink(obs.data, obs, to=\"observed.ms\")\n");
    int code = probe_run(t, NULL);
    ck_assert_msg(code == 0, "observed.ms: %s", grove_error_message(t->error, 0));
}

static size_t name_length(const char *statement)
{
    return strcspn(statement, "[ =");
}

const char *example_tree(testing *t, const grove_class *class_, const char *more)
{
    static char name[64];
    const char *example = class_->example;
    grove_text text = {0};

    ck_assert_msg(example != NULL, "class %s has no example", class_->name);
    if (strstr(example, "observed.ms"))
        write_set(t);
    snprintf(name, sizeof(name), "%.*s", (int)name_length(example), example);
    for (size_t i = 0; i < sizeof(preamble) / sizeof(preamble[0]); i++) {
        bool same = name_length(preamble[i]) == strlen(name) &&
                    strncmp(preamble[i], name, strlen(name)) == 0;
        if (!same && !(class_->kind == GROVE_CLASS_DATA)) /* leaves are made from nothing */
            grove_text_add(&text, "%s\n", preamble[i]);
    }
    grove_text_add(&text, "%s\n%s", example, more ? more : "");
    testing_tree(t, text.at);
    free(text.at);
    return name;
}

bool example_try(testing *t, const char *more)
{
    grove_text text = {0};

    for (size_t i = 0; i < sizeof(preamble) / sizeof(preamble[0]); i++)
        grove_text_add(&text, "%s\n", preamble[i]);
    grove_text_add(&text, "%s", more);
    bool built = testing_try(t, text.at);
    free(text.at);
    return built;
}

const char *example_object(const grove_input *input)
{
    return !strcmp(input->object, "sky") ? "S" : "obs";
}

char *example_call(const grove_class *class_, const char *name, const char *more)
{
    grove_text text = {0};
    const char *comma = "";

    grove_text_add(&text, "D = obs.data / 100Jy\n%s = %s(", name, class_->name);
    for (const grove_input *in = class_->inputs; in && in->name; in++, comma = ", ") {
        bool real = in->handing == GROVE_AS_REAL || in->handing == GROVE_AS_DOUBLE;
        const char *cell = in->shapes & GROVE_MATRIX ? "D" : "select(D, element=YX)";
        if (in->kind == GROVE_OBJECT)
            grove_text_add(&text, "%s%s", comma, example_object(in));
        else
            grove_text_add(&text, real ? "%sreal(%s)" : "%s%s", comma, cell);
    }
    for (const grove_option *op = class_->options; op && op->name; op++)
        if (!op->initial && op->kind == GROVE_NUMBER)
            grove_text_add(&text, "%s%s=2", comma, op->name);
    grove_text_add(&text, "%s%s)\n", more ? comma : "", more ? more : "");
    return text.at;
}

int example_nodes(const testing *t, const grove_class *class_, grove_node **nodes, int most)
{
    int count = 0;

    for (size_t i = 0; i < t->tree->node_count && count < most; i++)
        if (t->tree->nodes[i]->class_ == class_)
            nodes[count++] = t->tree->nodes[i];
    return count;
}
