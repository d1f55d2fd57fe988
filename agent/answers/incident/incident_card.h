/*
 * incident_card - one incident on one screen: at most 12 lines of the terminal's width, what
 * happens and what to do first. incident_page prints all of it.
 */
#ifndef RW_REPORTS_INCIDENT_CARD_H
#define RW_REPORTS_INCIDENT_CARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* incident_card_text - the card of a document, as text. @width: columns, at least 60. */
void incident_card_text(FILE *out, const json_t *incident, size_t width, bool color);

#endif
