/* tune_basis - what a sheet rests on, as one number: another number means another sheet. */
#ifndef RW_ANALYZERS_TUNE_BASIS_H
#define RW_ANALYZERS_TUNE_BASIS_H

#include "analyzers/tune/tune.h"

/* tune_basis - hash of the settings read back, the topology, and the names and versions of the
 * platforms. Pure. */
uint64_t tune_basis(const struct tune_in *in);

#endif
