/*
 * base - what every file stands on: the plain parts of the C library, and of this room what nearly
 * all files use. A header of the product includes it first; a .c file has it with its headers. What
 * only some need (POSIX, loop, log, statistics) they name themselves.
 */
#pragma once

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/number.h"
#include "base/str.h"
#include "base/text_clean.h"
