/* import_state - where the moving of an older version's samples stands. For store_import.c. */
#ifndef RW_DB_IMPORT_STATE_H
#define RW_DB_IMPORT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_work; /* store_import.c */

struct import {
	bool known; /* .work says whether there is anything to move */
	struct import_work *work; /* NULL: nothing */
};

#endif
