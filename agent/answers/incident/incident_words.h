/* incident_words - parts of an incident's card in words; from its document alone. Texts are added
 * to
 * @out, nothing when there is nothing to say. */
#ifndef RW_REPORTS_INCIDENT_WORDS_H
#define RW_REPORTS_INCIDENT_WORDS_H

#include <jansson.h>
#include <stddef.h>

struct str;

/* "45s", "11m", "13h", "9d"; "-" for NAN. */
void incident_age_text(char *text, size_t size, double age_s);
/* "high", "medium", "low", "unknown". */
const char *incident_confidence_word(double confidence);
/* "CRITICAL pfc_storm  72drcj3l  open 11m  $960/h ($64 so far)  conf high" */
void incident_add_head(struct str *out, const json_t *incident);
/* "7 switches and 1 host wait.  Job train: 94 % of wall time lost.  Not: incast, deadlock." */
void incident_add_spread(struct str *out, const json_t *incident);
/* "acknowledged by alice: replacing the NIC; assigned to bob", and who silenced it */
void incident_add_owner(struct str *out, const json_t *incident);
/* The texts of a list, with "; " between them. */
void incident_add_list(struct str *out, const json_t *list);

#endif
