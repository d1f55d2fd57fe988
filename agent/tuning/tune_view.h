/*
 * tune_view - review sheets, verifications and what-if answers for people: one walk over the
 * document, one page (text, markdown, html). From the JSON form alone, so that it prints the
 * same from a file as from a database. The exact numbers stand beside the readable ones: somebody
 * has to approve them.
 */
#pragma once

#include "agent/document/writer.h"

extern const struct view tune_list_view; /* rows "sheets": one line each */
/* Whole documents: {sheets: [...]}, one verification, one what-if answer. Their csv has the rows
 * "sheets", "effects" and "expected". */
extern const struct view tune_sheets_view;
extern const struct view tune_verify_view;
extern const struct view tune_whatif_view;
