/* Products as lists of factors: opened through brackets, hermitians and inverses, and put together
 * again. */
#ifndef GROVE_GRAPH_CHAIN_H
#define GROVE_GRAPH_CHAIN_H

#include "graph/graph.h"

/* A value that is no product itself, and whether it is conjugated or inverted. */
typedef struct {
    grove_node *node; /* behind casts */
    char side;        /* its station: 'p' or 'q'; 0: none, or baselines */
    bool adjoint, inverse;
    bool scalar;
    bool unity; /* a source of 1 Jy in place of 1 */
} grove_factor;

enum { GROVE_MAX_FACTORS = 64 };

typedef struct {
    grove_factor at[GROVE_MAX_FACTORS];
    int count;
    double constant[2]; /* the product of the plain numbers */
    bool too_many;
} grove_chain;

/* Adds the factors of a value in their order. (A B)^H is B^H A^H, and so is the conjugate of
 * scalars and diagonals; the same with ^-1. Quotients, exponentials and the other spellings in
 * graph/exponent.h are opened only where the value varies along `axis`, else unchanged; NULL:
 * anywhere. */
void grove_chain_open(grove_chain *product, grove_edge edge, const grove_axis *axis);
/* The same for a value inside of a factor, such as a term of a sum. */
void grove_chain_open_inside(grove_chain *product, const grove_factor *outer, grove_edge edge,
                             const grove_axis *axis);
/* The same for term k of `sum`, with its sign. */
void grove_chain_open_term(grove_chain *product, const grove_factor *sum, int k,
                           const grove_axis *axis);
/* The same, inside of `outer` unless that is NULL; values for which `whole` is true are not opened.
 */
void grove_chain_open_but(grove_chain *product, const grove_factor *outer, grove_edge edge,
                          const grove_axis *axis, grove_node_test *whole, void *context);
void grove_chain_scale(grove_chain *product, double re, double im);
void grove_chain_add(grove_chain *product, const grove_factor *factor);
/* `adjoint` of the factor's adjoint: false also where that is the value itself. */
bool grove_factor_adjoint(const grove_factor *factor);

/* Puts diagonal(a, d) in place of matrix(a, 0, 0, d), unless no other factor is a matrix. */
void grove_chain_find_diagonals(grove_chain *product);

/* The adjoints of the factors from the last to the first, and of the constant. */
grove_chain grove_chain_mirror(const grove_chain *product);

/* Whether it is a constant without unit, and not 0. */
bool grove_node_is_plain_number(const grove_node *node);
/* The value whose adjoint the node is, or NULL: ^H, the conjugate of a scalar, of a diagonal, or of
 * a transpose. */
const grove_edge *grove_node_adjoint_of(const grove_node *node);
/* Whether it is a sum of two terms: +, -, and a complex number of its parts. */
bool grove_node_is_sum(const grove_node *node);

/* Sorts scalars by content, regardless of their names and their order in the text. */
void grove_chain_sort(grove_chain *product);
/* The order of two products that are sorted: negative, 0 or positive. */
int grove_chain_compare(const grove_chain *a, const grove_chain *b);

/* A call of the operator of a role with one value, or two. *failed is set if it cannot be made; if
 * it is set already, nothing is made. The result is seen from the station of the values. */
grove_operand grove_chain_call(grove_role role, grove_operand a, grove_operand b,
                               const grove_place *place, bool *failed);
/* The same of the product; a value that is NOTHING is left out. */
grove_operand grove_chain_multiply(grove_operand a, grove_operand b, const grove_place *place,
                                   bool *failed);
grove_operand grove_chain_number(grove_tree *tree, double re, double im, grove_unit unit,
                                 grove_precision precision, const grove_place *place);

/* The product of the factors, with brackets from the left, ((A B) C), or from the right. NOTHING if
 * there are none. *failed is set if a product cannot be made. */
grove_operand grove_chain_make(const grove_chain *product, bool from_left, const grove_place *place,
                               bool *failed);
/* The same, from the left, with the constant of the product. */
grove_operand grove_chain_make_all(grove_tree *tree, const grove_chain *product,
                                   grove_precision precision, const grove_place *place,
                                   bool *failed);
/* The same for the right of a baseline: if a factor is an adjoint, as the hermitian of the product
 * of the others' adjoints, so that it is the left product's: (A B)^H. */
grove_operand grove_chain_make_right(const grove_chain *product, bool from_left,
                                     const grove_place *place, bool *failed);

#endif
