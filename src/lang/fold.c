#include "lang/fold.h"

#include <complex.h>
#include <math.h>
#include <string.h>

const char *grove_fold_describe(grove_arena *arena, const grove_literal *literal)
{
    const char *shown = grove_literal_show(arena, literal);
    char unit[48];

    switch (literal->kind) {
    case GROVE_LITERAL_NONE:
    case GROVE_LITERAL_BOOL:
        return grove_arena_format(arena, "the word %s", shown);
    case GROVE_LITERAL_NUMBER:
        return grove_arena_format(arena, "%s (%s)", grove_unit_describe(unit, literal->unit),
                                  shown);
    case GROVE_LITERAL_TEXT:
        return grove_arena_format(arena, "a %s (%s)", literal->word ? "word" : "text", shown);
    case GROVE_LITERAL_RANGE:
        return grove_arena_format(arena, "a range (%s)", shown);
    case GROVE_LITERAL_LIST:
        return "a list";
    }
    return shown;
}

static const grove_literal *fault(grove_fold *fold, const char *format, const char *a,
                                  const char *b)
{
    const char *mark = strchr(format, '@');

    /* Replaces the first @ by a, the second by b. */
    fold->fault = "";
    for (const char *with = a; mark; with = b) {
        fold->fault = grove_arena_format(fold->arena, "%s%.*s%s", fold->fault, (int)(mark - format),
                                         format, with);
        format = mark + 1;
        mark = strchr(format, '@');
    }
    fold->fault = grove_arena_format(fold->arena, "%s%s", fold->fault, format);
    return NULL;
}

static const grove_literal *number(grove_fold *fold, double complex value, grove_unit unit,
                                   bool hours)
{
    grove_literal literal = {.kind = GROVE_LITERAL_NUMBER,
                             .number = creal(value),
                             .imaginary = cimag(value),
                             .complex_ = cimag(value) != 0,
                             .unit = unit,
                             .hours = hours};

    if (!isfinite(literal.number) || !isfinite(literal.imaginary)) {
        fold->fault = "the result is out of range";
        return NULL;
    }
    return grove_arena_copy(fold->arena, &literal, sizeof(literal));
}

/* In place of CMPLX, which clang with glibc does not have. */
static double complex make_complex(double re, double im)
{
    union {
        double parts[2];
        double complex number;
    } value = {.parts = {re, im}};

    return value.number;
}

static double complex value_of(const grove_literal *literal)
{
    return make_complex(literal->number, literal->imaginary);
}

static const grove_literal *sum(grove_fold *fold, char op, const grove_literal *a,
                                const grove_literal *b)
{
    double complex right = value_of(b);

    if (!grove_unit_equal(a->unit, b->unit)) {
        const char *left = grove_fold_describe(fold->arena, a);
        const char *second = grove_fold_describe(fold->arena, b);
        return op == '+' ? fault(fold, "cannot add @ to @", second, left)
                         : fault(fold, "cannot subtract @ from @", second, left);
    }
    return number(fold, value_of(a) + (op == '+' ? right : -right), a->unit, a->hours && b->hours);
}

static bool units_in_range(grove_unit a, grove_unit b, int sign)
{
    int sums[] = {a.m + sign * b.m, a.s + sign * b.s, a.Jy + sign * b.Jy, a.rad + sign * b.rad,
                  a.K + sign * b.K};

    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        if (sums[i] > 100 || sums[i] < -100)
            return false;
    return true;
}

static const grove_literal *product(grove_fold *fold, char op, const grove_literal *a,
                                    const grove_literal *b)
{
    if (!units_in_range(a->unit, b->unit, op == '*' ? 1 : -1)) {
        fold->fault = "the unit has too large a power";
        return NULL;
    }
    if (op == '*')
        return number(fold, value_of(a) * value_of(b), grove_unit_multiply(a->unit, b->unit),
                      (a->hours && grove_unit_is_none(b->unit)) ||
                          (b->hours && grove_unit_is_none(a->unit)));
    if (value_of(b) == 0) {
        fold->fault = "division by zero";
        return NULL;
    }
    return number(fold, value_of(a) / value_of(b), grove_unit_divide(a->unit, b->unit),
                  a->hours && grove_unit_is_none(b->unit));
}

/* 1 + 0i stays a complex number. `result`: NULL: there is none. */
static const grove_literal *as_complex_as(grove_fold *fold, const grove_literal *a,
                                          const grove_literal *b, const grove_literal *result)
{
    grove_literal literal;

    if (!result || (!a->complex_ && !b->complex_))
        return result;
    literal = *result;
    literal.complex_ = true;
    return grove_arena_copy(fold->arena, &literal, sizeof(literal));
}

static const grove_literal *power(grove_fold *fold, const grove_literal *a, const grove_literal *b)
{
    bool real = a->imaginary == 0;
    grove_unit unit;

    if (!grove_unit_is_none(b->unit) || b->imaginary != 0)
        return fault(fold, "a power must be a plain real number, got @",
                     grove_fold_describe(fold->arena, b), "");
    if (!grove_unit_power(a->unit, b->number, &unit))
        return fault(fold, "@ cannot be raised to the power @", grove_fold_describe(fold->arena, a),
                     grove_literal_show(fold->arena, b));
    if (value_of(a) == 0 && b->number < 0) {
        fold->fault = "division by zero";
        return NULL;
    }
    if (real && a->number < 0 && 2 * b->number == rint(2 * b->number) &&
        b->number != rint(b->number)) {
        double sign = fmod(b->number + 1.5, 2) == 0 ? 1 : -1; /* i^(2b), exactly */
        return number(fold, make_complex(0, sign * pow(-a->number, b->number)), unit, false);
    }
    if (real && (a->number >= 0 || b->number == rint(b->number)))
        return number(fold, pow(a->number, b->number), unit, false);
    return number(fold, cpow(value_of(a), b->number), unit, false);
}

static const grove_literal *range(grove_fold *fold, const grove_literal *a, const grove_literal *b)
{
    bool zero_a = value_of(a) == 0 && grove_unit_is_none(a->unit);
    bool zero_b = value_of(b) == 0 && grove_unit_is_none(b->unit);
    const grove_literal *named = zero_a ? b : a;
    grove_literal literal = {.kind = GROVE_LITERAL_RANGE, .number = a->number, .to = b->number};

    if (a->imaginary != 0 || b->imaginary != 0) {
        fold->fault = "a range goes from a real number to another";
        return NULL;
    }
    if (!zero_a && !zero_b && !grove_unit_equal(a->unit, b->unit))
        return fault(fold, "a range cannot go from @ to @", grove_fold_describe(fold->arena, a),
                     grove_fold_describe(fold->arena, b));
    literal.unit = named->unit;
    literal.hours = zero_a ? b->hours : zero_b ? a->hours : a->hours && b->hours;
    literal.text = grove_arena_format(fold->arena, "%s..%s", grove_literal_show(fold->arena, a),
                                      grove_literal_show(fold->arena, b));
    return grove_arena_copy(fold->arena, &literal, sizeof(literal));
}

void grove_fold_refuse(grove_fold *fold, char op, const char *a, const char *b)
{
    switch (op) {
    case '+':
        fault(fold, "cannot add @ to @", b, a);
        break;
    case '-':
        fault(fold, "cannot subtract @ from @", b, a);
        break;
    case '*':
        fault(fold, "cannot multiply @ by @", a, b);
        break;
    case '/':
        fault(fold, "cannot divide @ by @", a, b);
        break;
    case '^':
        fault(fold, "cannot raise @ to the power of @", a, b);
        break;
    default:
        fault(fold, "a range cannot go from @ to @", a, b);
    }
}

/* One after the other. A path that begins in a setting starts where that does. */
static const grove_literal *join(grove_fold *fold, const grove_literal *a, const grove_literal *b)
{
    grove_literal literal = {.kind = GROVE_LITERAL_TEXT, .setting = a->setting};

    literal.text = grove_arena_format(fold->arena, "%s%s", a->text, b->text);
    return grove_arena_copy(fold->arena, &literal, sizeof(literal));
}

const grove_literal *grove_fold_binary(grove_fold *fold, char op, const grove_literal *a,
                                       const grove_literal *b)
{
    if (op == '+' && a->kind == GROVE_LITERAL_TEXT && b->kind == GROVE_LITERAL_TEXT)
        return join(fold, a, b);
    if (a->kind != GROVE_LITERAL_NUMBER || b->kind != GROVE_LITERAL_NUMBER) {
        grove_fold_refuse(fold, op, grove_fold_describe(fold->arena, a),
                          grove_fold_describe(fold->arena, b));
        return NULL;
    }
    switch (op) {
    case '+':
    case '-':
        return as_complex_as(fold, a, b, sum(fold, op, a, b));
    case '*':
    case '/':
        return as_complex_as(fold, a, b, product(fold, op, a, b));
    case '^':
        return power(fold, a, b);
    default:
        return range(fold, a, b);
    }
}

const grove_literal *grove_fold_negate(grove_fold *fold, const grove_literal *a)
{
    grove_literal *result;

    if (a->kind != GROVE_LITERAL_NUMBER)
        return fault(fold, "cannot negate @", grove_fold_describe(fold->arena, a), "");
    result = grove_arena_copy(fold->arena, a, sizeof(*a));
    result->number = -a->number;
    result->imaginary = a->imaginary != 0 ? -a->imaginary : 0;
    if (a->text)
        result->text = a->text[0] == '-' ? grove_arena_text(fold->arena, a->text + 1)
                                         : grove_arena_format(fold->arena, "-%s", a->text);
    return result;
}

const grove_literal *grove_fold_conjugate(grove_fold *fold, const grove_literal *a)
{
    grove_literal *result;

    if (a->kind != GROVE_LITERAL_NUMBER)
        return fault(fold, "cannot conjugate @", grove_fold_describe(fold->arena, a), "");
    if (a->imaginary == 0)
        return a;
    result = grove_arena_copy(fold->arena, a, sizeof(*a));
    result->imaginary = -a->imaginary;
    result->text = NULL;
    return result;
}
