/* gnmi_value - values as numbers and as text, and the unit of a timestamp. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "proto/gnmi.h"

#define NUMBER_TEXT_MAX 400u /* a double needs at most 326 digits and signs in plain notation */

/* Decimal digits, perhaps with a fraction of zeros, as some encode an integer of type decimal64. */
static int u64_from_text(const char *text, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	bool negative = n > 1 && text[0] == '-', over = false, fraction = false;
	if (negative)
		i++;
	size_t first = i;
	for (; i < n && text[i] >= '0' && text[i] <= '9'; i++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			over = true;
	}
	if (i == first)
		return -EINVAL;
	if (i < n) {
		if (text[i] != '.' || i + 1 == n)
			return -EINVAL;
		for (i++; i < n; i++) {
			if (text[i] < '0' || text[i] > '9')
				return -EINVAL;
			if (text[i] != '0')
				fraction = true;
		}
	}
	if (over || fraction || (negative && v != 0))
		return -ERANGE;
	*ret = v;
	return 0;
}

static int u64_from_decimal(int64_t digits, uint32_t scale, uint64_t *ret)
{
	for (; scale > 0 && digits != 0; scale--) {
		if (digits % 10 != 0)
			return -ERANGE;
		digits /= 10;
	}
	if (digits < 0)
		return -ERANGE;
	*ret = (uint64_t)digits;
	return 0;
}

int gnmi_value_u64(const struct gnmi_value *value, uint64_t *ret)
{
	switch (value->kind) {
	case GNMI_UINT: *ret = value->u; return 0;
	case GNMI_INT:
		if (value->i < 0)
			return -ERANGE;
		*ret = (uint64_t)value->i;
		return 0;
	case GNMI_BOOL: *ret = value->b; return 0;
	case GNMI_DOUBLE:
		if (!(value->d >= 0 && value->d < 0x1p64) ||
			value->d != floor(value->d)) /* also refuses NAN */
			return -ERANGE;
		*ret = (uint64_t)value->d;
		return 0;
	case GNMI_DECIMAL: return u64_from_decimal(value->i, value->scale, ret);
	case GNMI_STRING:
	case GNMI_ASCII: return u64_from_text(value->p, value->n, ret);
	default: return -EINVAL;
	}
}

static int double_from_text(const char *string, size_t n, double *ret)
{
	char text[NUMBER_TEXT_MAX], *end;
	/* Only what a number looks like reaches strtod, which would also take blanks, hexadecimal
	 * and "infinity". */
	if (n == 0 || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, string, n);
	text[n] = '\0';
	if (strspn(text, "0123456789+-.eE") < n || text[0] == '+' || strspn(text, "+-.eE") > 1)
		return -EINVAL;
	double d = strtod(text, &end);
	if (end != text + n)
		return -EINVAL;
	if (!isfinite(d))
		return -ERANGE;
	*ret = d;
	return 0;
}

int gnmi_value_double(const struct gnmi_value *value, double *ret)
{
	switch (value->kind) {
	case GNMI_UINT: *ret = (double)value->u; return 0;
	case GNMI_INT: *ret = (double)value->i; return 0;
	case GNMI_BOOL: *ret = value->b; return 0;
	case GNMI_DOUBLE:
		if (!isfinite(value->d))
			return -ERANGE;
		*ret = value->d;
		return 0;
	case GNMI_DECIMAL: {
		double d =
			(double)value->i / pow(10, value->scale); /* 0 when the power is infinite */
		*ret = d;
		return 0;
	}
	case GNMI_STRING:
	case GNMI_ASCII: return double_from_text(value->p, value->n, ret);
	default: return -EINVAL;
	}
}

static char *text_of_bytes(const struct gnmi_value *value, char *buf, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;
	for (size_t i = 0; i < value->n && at + 3 <= size; i++) {
		buf[at++] = digits[(unsigned char)value->p[i] >> 4];
		buf[at++] = digits[(unsigned char)value->p[i] & 15];
	}
	buf[at] = '\0';
	return buf;
}

static char *text_of_text(const struct gnmi_value *value, char *buf, size_t size)
{
	size_t n = size - 1;
	if (value->n < size - 1)
		n = value->n;
	for (size_t i = 0; i < n; i++) {
		if (value->p[i] >= 0x20 && value->p[i] < 0x7f)
			buf[i] = value->p[i];
		else
			buf[i] = '?';
	}
	buf[n] = '\0';
	return buf;
}

static const char *bool_text(bool value)
{
	if (value)
		return "true";
	return "false";
}

char *gnmi_value_text(const struct gnmi_value *value, char *buf, size_t size)
{
	if (size == 0)
		return buf;
	switch (value->kind) {
	case GNMI_NULL: snprintf(buf, size, "null"); return buf;
	case GNMI_INT: snprintf(buf, size, "%" PRId64, value->i); return buf;
	case GNMI_UINT: snprintf(buf, size, "%" PRIu64, value->u); return buf;
	case GNMI_BOOL: snprintf(buf, size, "%s", bool_text(value->b)); return buf;
	case GNMI_DOUBLE: snprintf(buf, size, "%.17g", value->d); return buf;
	case GNMI_DECIMAL:
		snprintf(buf, size, "%" PRId64 "/10^%" PRIu32, value->i, value->scale);
		return buf;
	case GNMI_STRING:
	case GNMI_ASCII: return text_of_text(value, buf, size);
	case GNMI_BYTES:
	case GNMI_PROTO: return text_of_bytes(value, buf, size);
	}
	buf[0] = '\0';
	return buf;
}

enum gnmi_clock gnmi_clock(int64_t raw, int64_t *ret_ns)
{
	/* 2015 to 2100. Read in another unit, a time of these years is in 1970 or after 2100. */
	const int64_t first_s = 1420070400, last_s = 4102444800;
	static const int64_t per_s[] = {1, 1000, 1000000};

	*ret_ns = 0;
	if (raw <= 0)
		return GNMI_CLOCK_MISSING;
	for (size_t i = 0; i < sizeof(per_s) / sizeof(per_s[0]); i++)
		if (raw >= first_s * per_s[i] && raw < last_s * per_s[i]) {
			*ret_ns = raw * (NS_PER_S / per_s[i]);
			return GNMI_CLOCK_SCALED;
		}
	*ret_ns = raw;
	if (raw < first_s * NS_PER_S)
		return GNMI_CLOCK_EARLY;
	return GNMI_CLOCK_OK;
}
