/*
 * hash_fields - what the ECMP hash of a switch reads, as the switch says itself (cfg.hash_fields).
 * RoCE flows between two addresses differ in their UDP source port only (the destination port is
 * 4791, the destination QP lies deeper): a hash that does not read it puts them all on one link.
 */
#ifndef RW_MEASURE_HASH_FIELDS_H
#define RW_MEASURE_HASH_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

struct window;

/* hash_fields - the newest value in @window; NULL when the device did not say. Lives with the
 * window's entities. */
const char *hash_fields(const struct window *window, const char *device);

/* hash_fields_blind - are all fields of the list known, and none of them tells RoCE flows between
 * two addresses apart? A word that is not known may do so: false. */
bool hash_fields_blind(const char *fields);

/* hash_seed - the seed of the device's hash as read back; false when it is not known. */
bool hash_seed(const struct window *window, const char *device, uint64_t *ret);

#endif
