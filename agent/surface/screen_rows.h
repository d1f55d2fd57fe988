/* screen_rows - the rows of incidents, paused ports and uplinks: columns and orders, as the wall
 * and the lists show them. */
#ifndef RW_SURFACE_SCREEN_ROWS_H
#define RW_SURFACE_SCREEN_ROWS_H

#include "agent/surface/screen_table.h"

extern const struct screen_column screen_incident_columns[], screen_paused_columns[],
	screen_port_columns[];
extern const size_t screen_incident_n_columns, screen_paused_n_columns, screen_port_n_columns;

/* The orders of incidents and of ports; names end with NULL. */
typedef int screen_compare(const void *left, const void *right);
extern const char *const screen_incident_orders[], *const screen_port_orders[];
extern screen_compare *const screen_incident_compares[], *const screen_port_compares[];

/* screen_add_headline - what an incident says in one line. */
void screen_add_headline(struct str *out, const json_t *incident);

#endif
