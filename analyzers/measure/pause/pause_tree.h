/*
 * pause_tree - who waits because of a root: its direct and indirect victims.
 */
#ifndef RW_MEASURE_PAUSE_TREE_H
#define RW_MEASURE_PAUSE_TREE_H

#include <stddef.h>

#include "analyzers/measure/pause/pause_blame.h"

enum { PAUSE_TREES = 8 };

/* pause_trees - draw the trees of the PAUSE_TREES strongest of @n roots, all of the net's priority.
 */
void pause_trees(const struct pause_net *net, struct pause_root *roots, size_t n);

/* How far a tree has come: L1 the port alone, L2 its switch makes others wait, L3 at least three
 * switches wait. */
int pause_ladder(const struct pause_root *root);

#endif
