/* digits - numbers as printf writes them, several times as fast: lines are most of the work of a
 * recording. */
#ifndef FABRIC_DIGITS_H
#define FABRIC_DIGITS_H

#include <stddef.h>
#include <stdint.h>

enum { DIGITS_MAX = 32 };

/* As "%" PRIu64. The text ends where @buf ends; returned is where it begins. */
char *digits_whole(char buf[DIGITS_MAX], uint64_t value);

/* As "%.2f" and "%.2e", byte for byte. */
void digits_fixed2(char buf[DIGITS_MAX], double value);
void digits_scientific2(char buf[DIGITS_MAX], double value);

#endif
