/* The sequence of tiles of a program: time slowest, then freq, then baseline. Tiles can become
 * smaller during a run. */
#ifndef GROVE_PLAN_TILE_H
#define GROVE_PLAN_TILE_H

#include "plan/program.h"

/* A tile: its first cells, counted from the begin of the program's block, and its size. */
typedef struct {
    int64_t first[GROVE_CUTS], count[GROVE_CUTS];
} grove_tile;

grove_tile grove_tile_begin(const grove_program *program);
/* Advances to the next tile; false after the last. */
bool grove_tile_advance(const grove_program *program, grove_tile *tile);
/* How many there are. */
int64_t grove_tile_count(const grove_program *program);
/* Which device has this time, counted from the begin of the program's block, and where its share
 * ends; 0 where devices have no shares. Tiles end there, too. */
int grove_tile_device(const grove_program *program, int64_t time, int64_t *end);
/* The tile that begins there, counted from the begin of the program's block. */
grove_tile grove_tile_at(const grove_program *program, const int64_t first[GROVE_CUTS]);
/* Of a program whose tiles divide domains: whether it is the last of one. */
bool grove_tile_ends_domain(const grove_program *program, const grove_tile *tile);
/* The most tiles that a domain has. */
int64_t grove_tile_parts(const grove_program *program);
/* A tile as a part of the program's space. */
grove_block grove_tile_block(const grove_program *program, const grove_tile *tile);
/* Halves this and later tiles along one axis. False when that is impossible: there is one cell, the
 * order of tiles would change, or `gathers` is set, since accumulated results belong to tiles cut
 * along the same axes. Values kept from larger tiles are then useless. */
bool grove_tile_halve(grove_program *program, grove_tile *tile, bool gathers, uint64_t budget);

#endif
