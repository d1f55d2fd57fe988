/* digits - scaled to whole numbers of two more digits. Where the rounding could fall either way,
 * and for what is too large, too small or not a number, printf decides. */
#include "tests/fabric/digits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEAR_HALF 1e-6
#define POWERS 28 /* 10^27 is the last power that a long double of 64 bits holds exactly */

char *digits_whole(char buf[DIGITS_MAX], uint64_t value)
{
	char *at = buf + DIGITS_MAX - 1;
	*at = '\0';
	do
		*--at = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return at;
}

void digits_fixed2(char buf[DIGITS_MAX], double value)
{
	const double scaled = fabs(value) * 100, part = scaled - floor(scaled);
	if (!(scaled < 1e9) || fabs(part - 0.5) < NEAR_HALF) {
		snprintf(buf, DIGITS_MAX, "%.2f", value);
		return;
	}
	char whole[DIGITS_MAX];
	const uint64_t hundredths = (uint64_t)(scaled + 0.5);
	const char *text = digits_whole(whole, hundredths / 100);
	const size_t n = strlen(text);
	if (signbit(value))
		*buf++ = '-';
	memcpy(buf, text, n);
	buf[n] = '.';
	buf[n + 1] = (char)('0' + hundredths / 10 % 10);
	buf[n + 2] = (char)('0' + hundredths % 10);
	buf[n + 3] = '\0';
}

void digits_scientific2(char buf[DIGITS_MAX], double value)
{
	static const long double powers[POWERS] = {1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L,
		1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
		1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
	int exponent = 2; /* of the value, negative, times -1; plus two more digits */
	while (exponent < POWERS && (long double)value * powers[exponent] < 100)
		exponent++;
	const long double scaled = exponent < POWERS ? (long double)value * powers[exponent] : 0;
	const long double part = scaled - floorl(scaled);
	const unsigned digits = scaled < 1000 ? (unsigned)(scaled + 0.5L) : 0;
	/* a value from 1 on, one that rounds up to four digits, and none that is positive */
	if (digits < 100 || digits > 999 || exponent < 3 || fabsl(part - 0.5L) < NEAR_HALF) {
		snprintf(buf, DIGITS_MAX, "%.2e", value);
		return;
	}
	const unsigned tens = (unsigned)exponent - 2;
	const char text[] = {(char)('0' + digits / 100), '.', (char)('0' + digits / 10 % 10),
		(char)('0' + digits % 10), 'e', '-', (char)('0' + tens / 10),
		(char)('0' + tens % 10), '\0'};
	memcpy(buf, text, sizeof(text));
}
