/* The key of a run, so that another run can continue it. */
#include "run/state.h"

#include "base/text.h"
#include "grove.h"

#include <stdlib.h>

static void add_hash(grove_text *text, const char *name, grove_hash hash)
{
    grove_text_add(text, "%s: %016llx%016llx\n", name, (unsigned long long)hash.a,
                   (unsigned long long)hash.b);
}

bool grove_resume_requested(const grove_session *session)
{
    return session && session->options.resume;
}

int grove_resume_check(const grove_session *session, grove_error *error)
{
    const grove_tree *tree = session->tree;

    if (!session->options.resume)
        return 0;
    for (size_t i = 0; i < tree->action_count; i++)
        if (tree->actions[i]->fit && tree->actions[i]->target)
            return 0;
    return grove_fail(
        error, GROVE_INVALID,
        "--resume: no fit of this tree writes a solution table, and only such fits leave a "
        "checkpoint; the option to of solve writes one (in calibrate.tree: solutions)");
}

char *grove_resume_key(const grove_session *session)
{
    const grove_tree *tree = session->tree;
    grove_hash data = grove_hash_start(), all = grove_hash_start();
    grove_text text = {0};

    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        if (node->kind == GROVE_NODE_LEAF)
            data = grove_hash_join(data, node->identity);
        all = grove_hash_join(all, session->facts[node->id].key);
    }
    grove_text_add(&text, "Grove's version: %s\n", GROVE_VERSION);
    add_hash(&text, "the tree", grove_hash_text(grove_hash_start(), tree->source));
    add_hash(&text, "the settings", grove_hash_text(grove_hash_start(), tree->settings));
    grove_text_add(&text, "the precision: %s\n",
                   session->options.double_precision ? "double" : "single");
    grove_text_add(&text, "the device: %s\n",
                   session->device_count ? session->devices[0]->description : "cpu");
    grove_text_add(&text, "\n");
    add_hash(&text, "the files that are read", data);
    add_hash(&text, "what is computed", all);
    return text.at;
}
