/* Pixels of subgrids through Jones terms, from the numbers of visibilities to images and back; of
 * idg_isa.h. */

INLINE pair load_pair(const real *at, int64_t line)
{
    return (pair){load(at), load(at + line)};
}

INLINE pair multiplied(pair a, pair b)
{
    return (pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* conj(a) b */
INLINE pair conjugate_multiplied(pair a, pair b)
{
    return (pair){a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}

/* Common to the pixels of a subgrid. */
typedef struct {
    const grove_idg_mix *mix;
    real *pixels;          /* of the first number or image */
    const real *term[2];   /* of stations p and q, their first element; NULL: 1 */
    int64_t line, subgrid; /* numbers to imaginary parts, to the next number, image or element */
    int elements;
    bool plain; /* images are the numbers themselves */
    vec sign;   /* -1: all is the conjugate, as where w < 0 */
} pixel_terms;

/* Element i of a station's term at the pixels k. */
INLINE pair load_term(const pixel_terms *t, int station, int i, int64_t k)
{
    const pair of = load_pair(t->term[station] + i * t->subgrid + k, t->line);

    return (pair){of.re, of.im * t->sign};
}

/* J_p^H V J_q, or J_p V J_q^H where `adjoint`; of diagonals element by element. */
INLINE void turn_matrix(const pixel_terms *t, int64_t k, bool adjoint, pair v[4])
{
    pair p[4], q[4], half[4];

    if (t->elements == 2) {
        for (int i = 0; i < 4; i++) {
            const pair a = load_term(t, 0, i / 2, k), b = load_term(t, 1, i % 2, k);
            v[i] = adjoint ? conjugate_multiplied(b, multiplied(a, v[i]))
                           : conjugate_multiplied(a, multiplied(b, v[i]));
        }
        return;
    }
    for (int i = 0; i < 4; i++) {
        p[i] = load_term(t, 0, i, k);
        q[i] = load_term(t, 1, i, k);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            half[2 * i + j] =
                adjoint ? add(multiplied(p[2 * i], v[j]), multiplied(p[2 * i + 1], v[2 + j]))
                        : add(conjugate_multiplied(p[i], v[j]),
                              conjugate_multiplied(p[2 + i], v[2 + j]));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            v[2 * i + j] =
                adjoint ? add(conjugate_multiplied(q[2 * j], half[2 * i]),
                              conjugate_multiplied(q[2 * j + 1], half[2 * i + 1]))
                        : add(multiplied(q[j], half[2 * i]), multiplied(q[2 + j], half[2 * i + 1]));
}

/* Sums of numbers times factors of the mix, [to][from] or, of the adjoint, their conjugates. */
INLINE void mix_numbers(const pixel_terms *t, bool adjoint, const pair *from, pair *to)
{
    const grove_idg_mix *m = t->mix;
    const int inner = adjoint ? m->images : m->visibilities,
              outer = adjoint ? m->visibilities : m->images;

    for (int i = 0; i < outer; i++) {
        to[i] = (pair){splat(0), splat(0)};
        for (int k = 0; k < inner; k++) {
            const double *f = adjoint ? m->factor[k][i] : m->factor[i][k];
            const pair by = {splat((real)f[0]), splat((real)(adjoint ? -f[1] : f[1])) * t->sign};
            if (f[0] != 0 || f[1] != 0)
                to[i] = add(to[i], multiplied(by, from[k]));
        }
    }
}

/* Pixels k through matrices and the mix, times `by`. */
INLINE void turn_matrices(const pixel_terms *t, int64_t k, bool adjoint, pair by)
{
    const grove_idg_mix *m = t->mix;
    pair seen[4], all[4], image[4];

    for (int i = 0; i < 4; i++)
        all[i] = (pair){splat(0), splat(0)};
    for (int c = 0; c < (adjoint ? m->images : m->visibilities); c++)
        seen[c] = load_pair(t->pixels + c * t->subgrid + k, t->line);
    if (adjoint)
        mix_numbers(t, true, seen, image);
    for (int c = 0; c < m->visibilities; c++)
        all[m->element[c]] = adjoint ? image[c] : seen[c];
    turn_matrix(t, k, adjoint, all);
    for (int c = 0; c < m->visibilities; c++)
        seen[c] = all[m->element[c]];
    if (!adjoint)
        mix_numbers(t, false, seen, image);
    for (int c = 0; c < (adjoint ? m->visibilities : m->images); c++) {
        const pair done = multiplied(by, adjoint ? seen[c] : image[c]);
        store(t->pixels + c * t->subgrid + k, done.re);
        store(t->pixels + c * t->subgrid + k + t->line, done.im);
    }
}

/* The same with numbers as terms, or none. */
INLINE void turn_numbers(const pixel_terms *t, int64_t k, bool adjoint, pair by)
{
    const grove_idg_mix *m = t->mix;
    pair from[4], to[4];

    if (t->term[0]) {
        const pair p = load_term(t, 0, 0, k), q = load_term(t, 1, 0, k);
        by = multiplied(by, adjoint ? conjugate_multiplied(q, p) : conjugate_multiplied(p, q));
    }
    for (int c = 0; c < (adjoint ? m->images : m->visibilities); c++)
        from[c] = multiplied(by, load_pair(t->pixels + c * t->subgrid + k, t->line));
    if (!t->plain)
        mix_numbers(t, adjoint, from, to);
    for (int c = 0; c < (adjoint ? m->visibilities : m->images); c++) {
        const pair done = t->plain ? from[c] : to[c];
        store(t->pixels + c * t->subgrid + k, done.re);
        store(t->pixels + c * t->subgrid + k + t->line, done.im);
    }
}

static bool is_plain(const grove_idg_mix *m)
{
    bool plain = m->visibilities == m->images;

    for (int r = 0; r < m->images && plain; r++)
        for (int c = 0; c < m->images; c++)
            plain = plain && m->factor[r][c][0] == (r == c) && m->factor[r][c][1] == 0;
    return plain;
}

/* Pixels from place `at` on times the taper and `turn`. */
INLINE void weigh_vector(const pixel_terms *t, const real *taper, int64_t at, bool adjoint,
                         pair turn)
{
    const vec factor = load(taper);
    const pair by = {turn.re * factor, turn.im * factor};

    if (t->elements > 1)
        turn_matrices(t, at, adjoint, by);
    else
        turn_numbers(t, at, adjoint, by);
}

/* Pixels times the taper, terms and exp(2 pi i w n), from numbers of visibilities to images; or the
 * adjoint. */
static void weigh_pixels(const grove_idg_job *job, bool adjoint)
{
    const grove_idg_tables *t = job->tables;
    const grove_idg_subgrid *s = job->subgrid;
    const grove_idg_plan *p = t->plan;
    const double w = p->grid.bounds.without_w ? 0 : s->w - p->first_w - s->layer * p->step_w,
                 factor = adjoint ? -w : w;
    const real *terms = job->terms, *taper = t->taper;
    const double *n = t->n;
    const int64_t side = t->plan->side, rows = t->mirrored ? side / 2 + 1 : side;
    pixel_terms pixel = {.mix = &t->plan->mix,
                         .pixels = job->pixels,
                         .line = t->line,
                         .subgrid = t->plan->side * 2 * t->line,
                         .elements = job->elements,
                         .plain = is_plain(&t->plan->mix),
                         .sign = splat((real)s->sign)};

    for (int k = 0; k < 2; k++)
        pixel.term[k] = terms ? terms + s->term[k] : NULL;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < used_of(t); k += LANES) {
            doubles at[PARTS];
            pair turn;
            for (int d = 0; d < PARTS; d++)
                at[d] = *(const unaligned *)(n + i * t->line + k + d * PART);
            phasor(fractional_turns(at, factor), &turn.re, &turn.im);
            weigh_vector(&pixel, taper + i * t->line + k, i * 2 * t->line + k, adjoint, turn);
            if (i > 0 && i < side - rows + 1)
                weigh_vector(&pixel, taper + (side - i) * t->line + k, (side - i) * 2 * t->line + k,
                             adjoint, turn);
        }
}
