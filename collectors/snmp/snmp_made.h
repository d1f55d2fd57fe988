/*
 * snmp_made - pure: what a device's counters were made of in their last reading, and how far each
 * is checked against what is possible. 12 bytes a counter: a large fabric has millions. Polls bring
 * the same counters in the same order, so the one behind the last is tried first; an index is made
 * only when that fails, and lives until the next poll.
 */
#ifndef RW_COLLECTORS_SNMP_MADE_H
#define RW_COLLECTORS_SNMP_MADE_H

#include <stdbool.h>
#include <stdint.h>

struct counter_check;
struct snmp_made;

struct snmp_made *snmp_made_new(void);
void snmp_made_free(struct snmp_made *made); /* NULL is fine */
void snmp_made_begin(struct snmp_made *made); /* a new poll */
/* snmp_made_number - of one metric of one entity; a new one has no parts. Valid for the life of
 * @made. */
uint32_t snmp_made_number(struct snmp_made *made, uint32_t entity, int metric);
/* snmp_made_changed - were the parts others in its last reading? @parts are remembered. */
bool snmp_made_changed(struct snmp_made *made, uint32_t number, uint64_t parts);
/* snmp_made_check - lent until the next call; zeroed at first. */
struct counter_check *snmp_made_check(struct snmp_made *made, uint32_t number);

#endif
