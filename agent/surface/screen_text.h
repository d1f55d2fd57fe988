/*
 * screen_text - fields of documents as short texts and styles of the screen. Pure. A field that is
 * missing or null is "-".
 */
#ifndef RW_SURFACE_SCREEN_TEXT_H
#define RW_SURFACE_SCREEN_TEXT_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/base/str.h"
#include "agent/surface/canvas.h"

/* screen_style - of a state, severity or status word. */
enum canvas_style screen_style(const char *state);

/* screen_add_ratio - "7.1 %", "105 %", "0 %"; "-" for NAN. */
void screen_add_ratio(struct str *out, double ratio);
/* screen_add_value - a value of a unit with its quality: "<= 7.1 %", "131 ms", "6.8k/s". */
void screen_add_value(struct str *out, double value, const char *unit, const char *quality);
/* screen_add_age - "2s", "6m10s", "8h02m"; "-" for NAN. */
void screen_add_age(struct str *out, double seconds);
/* screen_add_money - "$1,266"; below ten dollars with cents; "-" for NAN. */
void screen_add_money(struct str *out, double usd);
/* screen_add_time - an RFC 3339 field: "2026-11-22 03:14:22Z"; "-". */
void screen_add_time(struct str *out, const json_t *object, const char *key);
/* screen_add_port - "leaf2:Ethernet2 p3", as far as known. */
void screen_add_port(struct str *out, const json_t *row);

/*
 * screen_matches - true when @filter is empty or one of the row's names (device, port, peer, host,
 * job, cause, name, id, state, device:port) matches it. A filter without * ? [ matches any part of
 * a name. Capitals do not count.
 */
bool screen_matches(const char *filter, const json_t *row);

#endif
