/*
 * incident_card - one incident on one screen: what happens and what to do first, in as many lines
 * as the terminal has. incident_page prints all of it.
 */
#ifndef RW_REPORTS_INCIDENT_CARD_H
#define RW_REPORTS_INCIDENT_CARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* incident_card_text - the card of a document, as text. @width: columns, at least 60. @height:
 * lines; what is longer is cut at words, with three dots, but never what to do, and below 12 lines
 * no more. 0: nothing is cut. */
void incident_card_text(FILE *out, const json_t *incident, size_t width, size_t height, bool color);

#endif
