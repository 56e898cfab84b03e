/* Tags of HTML, as sky models use them: attributes mdltype, mdlattr and mdlval. */
#ifndef GROVE_NODES_SKY_HTML_H
#define GROVE_NODES_SKY_HTML_H

#include "nodes/common/scan.h"

typedef struct {
    grove_piece place;                        /* the whole tag, with < and > */
    grove_piece name, type, attribute, value; /* at == NULL: absent; entities not resolved */
    bool closing;                             /* </name> */
    bool empty;                               /* <name/>, or an element without an end tag */
} grove_tag;

/* The '<' of the next tag from `at` on, skipping comments and declarations, or NULL. */
const char *grove_html_find(const char *at);
/* Parses the tag at `at`, a '<'. Returns its end, or NULL when the text ends inside. */
const char *grove_html_read(const char *at, grove_tag *tag);
/* A value that is a string as Python writes it ('A0', u"A0"): entities resolved, without quotes.
 * Caller frees. */
char *grove_html_text(grove_piece value);

#endif
