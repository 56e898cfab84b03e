/* Tags of HTML, as far as sky models need them: attributes mdltype, mdlattr and mdlval. Private to
 * src/io. */
#ifndef GROVE_IO_HTML_H
#define GROVE_IO_HTML_H

#include "io/scan.h"

typedef struct {
    grove_piece place;                        /* all of it, with < and > */
    grove_piece name, type, attribute, value; /* at == NULL: not there; entities not resolved */
    bool closing;                             /* </name> */
    bool empty;                               /* <name/>, or an element that never has an end tag */
} grove_tag;

/* The '<' of the next tag from `at` on, comments and declarations skipped, or NULL. */
const char *grove_html_find(const char *at);
/* Reads the tag at `at`, a '<'. Returns the end of it, or NULL when the text ends inside. */
const char *grove_html_read(const char *at, grove_tag *tag);
/* A value that is a text as Python writes it ('A0', u"A0"): entities resolved, without its quotes.
 * Caller frees. */
char *grove_html_text(grove_piece value);

#endif
