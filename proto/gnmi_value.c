/* gnmi_value - see gnmi.h: what a value is worth as a number, and what a timestamp means. */
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
static int u64_from_text(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	bool negative = n > 1 && p[0] == '-', over = false, fraction = false;
	if (negative)
		i++;
	size_t first = i;
	for (; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(p[i] - '0'), &v))
			over = true;
	}
	if (i == first)
		return -EINVAL;
	if (i < n) {
		if (p[i] != '.' || i + 1 == n)
			return -EINVAL;
		for (i++; i < n; i++) {
			if (p[i] < '0' || p[i] > '9')
				return -EINVAL;
			if (p[i] != '0')
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

int gnmi_value_u64(const struct gnmi_value *v, uint64_t *ret)
{
	switch (v->kind) {
	case GNMI_UINT: *ret = v->u; return 0;
	case GNMI_INT:
		if (v->i < 0)
			return -ERANGE;
		*ret = (uint64_t)v->i;
		return 0;
	case GNMI_BOOL: *ret = v->b; return 0;
	case GNMI_DOUBLE:
		if (!(v->d >= 0 && v->d < 0x1p64) || v->d != floor(v->d)) /* also refuses NAN */
			return -ERANGE;
		*ret = (uint64_t)v->d;
		return 0;
	case GNMI_DECIMAL: return u64_from_decimal(v->i, v->scale, ret);
	case GNMI_STRING:
	case GNMI_ASCII: return u64_from_text(v->p, v->n, ret);
	default: return -EINVAL;
	}
}

static int double_from_text(const char *p, size_t n, double *ret)
{
	char text[NUMBER_TEXT_MAX], *end;
	/* Only what a number looks like reaches strtod, which would also take blanks, hexadecimal
	 * and "infinity". */
	if (n == 0 || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, p, n);
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

int gnmi_value_double(const struct gnmi_value *v, double *ret)
{
	switch (v->kind) {
	case GNMI_UINT: *ret = (double)v->u; return 0;
	case GNMI_INT: *ret = (double)v->i; return 0;
	case GNMI_BOOL: *ret = v->b; return 0;
	case GNMI_DOUBLE:
		if (!isfinite(v->d))
			return -ERANGE;
		*ret = v->d;
		return 0;
	case GNMI_DECIMAL: {
		double d = (double)v->i / pow(10, v->scale); /* 0 when the power is infinite */
		*ret = d;
		return 0;
	}
	case GNMI_STRING:
	case GNMI_ASCII: return double_from_text(v->p, v->n, ret);
	default: return -EINVAL;
	}
}

static char *text_of_bytes(const struct gnmi_value *v, char *buf, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;
	for (size_t i = 0; i < v->n && at + 3 <= size; i++) {
		buf[at++] = digits[(unsigned char)v->p[i] >> 4];
		buf[at++] = digits[(unsigned char)v->p[i] & 15];
	}
	buf[at] = '\0';
	return buf;
}

static char *text_of_text(const struct gnmi_value *v, char *buf, size_t size)
{
	size_t n = v->n < size - 1 ? v->n : size - 1;
	for (size_t i = 0; i < n; i++)
		buf[i] = v->p[i] >= 0x20 && v->p[i] < 0x7f ? v->p[i] : '?';
	buf[n] = '\0';
	return buf;
}

char *gnmi_value_text(const struct gnmi_value *v, char *buf, size_t size)
{
	if (size == 0)
		return buf;
	switch (v->kind) {
	case GNMI_NULL: snprintf(buf, size, "null"); return buf;
	case GNMI_INT: snprintf(buf, size, "%" PRId64, v->i); return buf;
	case GNMI_UINT: snprintf(buf, size, "%" PRIu64, v->u); return buf;
	case GNMI_BOOL: snprintf(buf, size, "%s", v->b ? "true" : "false"); return buf;
	case GNMI_DOUBLE: snprintf(buf, size, "%.17g", v->d); return buf;
	case GNMI_DECIMAL:
		snprintf(buf, size, "%" PRId64 "/10^%" PRIu32, v->i, v->scale);
		return buf;
	case GNMI_STRING:
	case GNMI_ASCII: return text_of_text(v, buf, size);
	case GNMI_BYTES:
	case GNMI_PROTO: return text_of_bytes(v, buf, size);
	}
	buf[0] = '\0';
	return buf;
}

enum gnmi_clock gnmi_clock(int64_t raw, int64_t *ret_ns)
{
	/* 2015 to 2100. In any unit but its own such a number is an instant of 1970 or one after
	 * 2100. */
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
	return raw < first_s * NS_PER_S ? GNMI_CLOCK_EARLY : GNMI_CLOCK_OK;
}
