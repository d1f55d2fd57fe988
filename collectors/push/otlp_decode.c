/* otlp_decode - walks over the bytes of an ExportMetricsServiceRequest. */
#include "collectors/push/otlp_decode.h"

/* ---- otlp_wire ------------------------------------------------------------- */

/*
 * otlp_wire - the protobuf wire format, as far as a reader needs it: tags, varints, lengths.
 * Source: protobuf.dev "Encoding". On bytes of others: every function leaves @in bad when it runs
 * over the end. Nothing is copied.
 */

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
static inline uint64_t wire_varint(struct bytes *in)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = bytes_u8(in);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	in->bad = true; /* more than ten bytes */
	return 0;
}
static inline uint64_t wire_fixed64(struct bytes *in)
{
	uint64_t value = 0;
	const uint8_t *p = bytes_take(in, 8);
	if (!p)
		return 0;
	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}
/* A length and so many bytes. */
static inline struct bytes wire_bytes(struct bytes *in)
{
	const uint64_t n = wire_varint(in);
	const uint8_t *p = NULL;
	if (n <= bytes_left(in))
		p = bytes_take(in, (size_t)n);
	else
		in->bad = true;
	if (!p)
		return (struct bytes){.bad = true};
	return bytes_of(p, (size_t)n);
}
/* wire_tag - the next field; false at the end, and when the tag cannot be. */
static inline bool wire_tag(struct bytes *in, uint32_t *ret_field, unsigned *ret_type)
{
	if (bytes_left(in) == 0)
		return false;
	const uint64_t tag = wire_varint(in);
	*ret_field = (uint32_t)(tag >> 3);
	*ret_type = (unsigned)(tag & 7);
	if (tag > UINT32_MAX || *ret_field == 0)
		in->bad = true;
	return !in->bad;
}
/* Over the value of a field that nobody wants. Groups do not exist any more. */
static inline void wire_skip(struct bytes *in, unsigned type)
{
	switch (type) {
	case WIRE_VARINT: wire_varint(in); break;
	case WIRE_FIXED64: bytes_skip(in, 8); break;
	case WIRE_BYTES: wire_bytes(in); break;
	case WIRE_FIXED32: bytes_skip(in, 4); break;
	default: in->bad = true;
	}
}

/* ---- otlp_decode ----------------------------------------------------------- */

/* Field numbers of opentelemetry-proto. */
enum { REQUEST_RESOURCE_METRICS = 1 };
enum { RESOURCE_METRICS_RESOURCE = 1, RESOURCE_METRICS_SCOPES = 2 };
enum { SCOPE_METRICS_METRICS = 2 };
enum {
	METRIC_NAME = 1,
	METRIC_GAUGE = 5,
	METRIC_SUM = 7,
	METRIC_HISTOGRAM = 9,
	METRIC_EXPONENTIAL = 10,
	METRIC_SUMMARY = 11
};
enum { DATA_POINTS = 1, SUM_TEMPORALITY = 2, SUM_MONOTONIC = 3 };
enum {
	POINT_START = 2,
	POINT_TIME = 3,
	POINT_DOUBLE = 4,
	POINT_INT = 6,
	POINT_LABELS = 7,
	POINT_FLAGS = 8
};
enum { TEMPORALITY_CUMULATIVE = 2, FLAG_NO_RECORDED_VALUE = 1 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_BOOL = 2, VALUE_INT = 3, VALUE_DOUBLE = 4 };

/* ---- points ---------------------------------------------------------------- */

static int64_t otlp_time(uint64_t ns)
{
	if (ns > INT64_MAX)
		return INT64_MAX;
	return (int64_t)ns;
}

static double otlp_real(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* From the first attribute to the last one, with what stands between them. */
static void otlp_point_labels(struct bytes *in, const uint8_t *tag, struct otlp_point *point)
{
	wire_skip(in, WIRE_BYTES);
	if (!point->labels.p)
		point->labels = bytes_of(tag, 0);
	point->labels.end = in->p;
}

static bool otlp_point_read(struct bytes in, struct otlp_point *point)
{
	uint32_t field;
	unsigned type;
	const uint8_t *tag = in.p;
	*point = (struct otlp_point){0};
	bool missing = false;
	for (; wire_tag(&in, &field, &type); tag = in.p) {
		if (field == POINT_LABELS && type == WIRE_BYTES) {
			otlp_point_labels(&in, tag, point);
		} else if (field == POINT_TIME && type == WIRE_FIXED64) {
			point->t_ns = otlp_time(wire_fixed64(&in));
		} else if (field == POINT_START && type == WIRE_FIXED64) {
			point->start_ns = otlp_time(wire_fixed64(&in));
		} else if (field == POINT_DOUBLE && type == WIRE_FIXED64) {
			point->number = (struct push_number){.real = otlp_real(wire_fixed64(&in))};
			point->has_value = true;
		} else if (field == POINT_INT && type == WIRE_FIXED64) {
			point->number = (struct push_number){
				.whole = true, .integer = (int64_t)wire_fixed64(&in)};
			point->has_value = true;
		} else if (field == POINT_FLAGS && type == WIRE_VARINT) {
			missing = wire_varint(&in) & FLAG_NO_RECORDED_VALUE;
		} else {
			wire_skip(&in, type);
		}
	}
	if (missing)
		point->has_value = false;
	return bytes_ok(&in);
}

/* The points of a gauge or sum; @wanted false, or another kind: only how many. */
static int otlp_points(struct bytes in, const struct otlp_metric *metric, bool wanted,
	const struct otlp_events *events)
{
	uint32_t field;
	unsigned type;
	uint64_t unread = 0;
	struct otlp_point point;
	while (wire_tag(&in, &field, &type)) {
		if (field != DATA_POINTS || type != WIRE_BYTES) {
			wire_skip(&in, type);
			continue;
		}
		const struct bytes bytes = wire_bytes(&in);
		if (!bytes_ok(&in))
			break;
		if (!wanted) {
			unread++;
			continue;
		}
		if (!otlp_point_read(bytes, &point))
			return -EBADMSG;
		events->point(events->arg, &point);
	}
	if (!bytes_ok(&in))
		return -EBADMSG;
	if (unread > 0)
		events->unread(events->arg, metric, unread);
	return 0;
}

/* ---- metrics --------------------------------------------------------------- */

/* What is said of a sum stands behind its points. */
static bool otlp_sum_read(struct bytes in, struct otlp_metric *metric)
{
	uint32_t field;
	unsigned type;
	uint64_t temporality = 0;
	while (wire_tag(&in, &field, &type)) {
		if (field == SUM_TEMPORALITY && type == WIRE_VARINT)
			temporality = wire_varint(&in);
		else
			wire_skip(&in, type);
	}
	metric->kind = OTLP_DELTA_SUM;
	if (temporality == TEMPORALITY_CUMULATIVE)
		metric->kind = OTLP_SUM;
	return bytes_ok(&in);
}

static bool otlp_kind_of(uint32_t field, enum otlp_kind *ret)
{
	switch (field) {
	case METRIC_GAUGE: *ret = OTLP_GAUGE; return true;
	case METRIC_SUM: *ret = OTLP_SUM; return true;
	case METRIC_HISTOGRAM: *ret = OTLP_HISTOGRAM; return true;
	case METRIC_EXPONENTIAL: *ret = OTLP_EXPONENTIAL_HISTOGRAM; return true;
	case METRIC_SUMMARY: *ret = OTLP_SUMMARY; return true;
	default: return false;
	}
}

static bool otlp_metric_name(struct bytes in, struct bytes *ret)
{
	uint32_t field;
	unsigned type;
	*ret = (struct bytes){0};
	while (wire_tag(&in, &field, &type)) {
		if (field == METRIC_NAME && type == WIRE_BYTES)
			*ret = wire_bytes(&in);
		else
			wire_skip(&in, type);
	}
	return bytes_ok(&in);
}

static int otlp_metric_data(
	struct bytes data, struct otlp_metric *metric, const struct otlp_events *events)
{
	if (metric->kind == OTLP_SUM && !otlp_sum_read(data, metric))
		return -EBADMSG;
	const bool number = metric->kind <= OTLP_DELTA_SUM;
	const bool wanted = events->metric(events->arg, metric) && number;
	return otlp_points(data, metric, wanted, events);
}

static int otlp_metric_read(struct bytes in, const struct otlp_events *events)
{
	uint32_t field;
	unsigned type;
	struct otlp_metric metric = {0};
	int rc = 0;
	if (!otlp_metric_name(in, &metric.name))
		return -EBADMSG;
	while (rc == 0 && wire_tag(&in, &field, &type)) {
		if (type != WIRE_BYTES || !otlp_kind_of(field, &metric.kind)) {
			wire_skip(&in, type);
			continue;
		}
		const struct bytes data = wire_bytes(&in);
		if (bytes_ok(&in))
			rc = otlp_metric_data(data, &metric, events);
	}
	if (!bytes_ok(&in))
		return -EBADMSG;
	return rc;
}

/* ---- resources and scopes ---------------------------------------------------- */

static int otlp_scope_read(struct bytes in, const struct otlp_events *events)
{
	uint32_t field;
	unsigned type;
	int rc = 0;
	while (rc == 0 && wire_tag(&in, &field, &type)) {
		if (field != SCOPE_METRICS_METRICS || type != WIRE_BYTES) {
			wire_skip(&in, type);
			continue;
		}
		const struct bytes metric = wire_bytes(&in);
		if (bytes_ok(&in))
			rc = otlp_metric_read(metric, events);
	}
	if (!bytes_ok(&in))
		return -EBADMSG;
	return rc;
}

static int otlp_resource_find(struct bytes in, struct bytes *ret)
{
	uint32_t field;
	unsigned type;
	*ret = (struct bytes){0};
	while (wire_tag(&in, &field, &type)) {
		if (field == RESOURCE_METRICS_RESOURCE && type == WIRE_BYTES)
			*ret = wire_bytes(&in);
		else
			wire_skip(&in, type);
	}
	if (!bytes_ok(&in))
		return -EBADMSG;
	return 0;
}

static int otlp_resource_read(struct bytes in, const struct otlp_events *events)
{
	uint32_t field;
	unsigned type;
	struct bytes resource;
	int rc = otlp_resource_find(in, &resource);
	if (rc < 0)
		return rc;
	events->resource(events->arg, resource);
	while (rc == 0 && wire_tag(&in, &field, &type)) {
		if (field != RESOURCE_METRICS_SCOPES || type != WIRE_BYTES) {
			wire_skip(&in, type);
			continue;
		}
		const struct bytes scope = wire_bytes(&in);
		if (bytes_ok(&in))
			rc = otlp_scope_read(scope, events);
	}
	if (!bytes_ok(&in))
		return -EBADMSG;
	return rc;
}

int otlp_decode(const uint8_t *data, size_t n, const struct otlp_events *events)
{
	struct bytes in = bytes_of(data, n);
	uint32_t field;
	unsigned type;
	int rc = 0;
	while (rc == 0 && wire_tag(&in, &field, &type)) {
		if (field != REQUEST_RESOURCE_METRICS || type != WIRE_BYTES) {
			wire_skip(&in, type);
			continue;
		}
		const struct bytes resource = wire_bytes(&in);
		if (bytes_ok(&in))
			rc = otlp_resource_read(resource, events);
	}
	if (!bytes_ok(&in))
		return -EBADMSG;
	return rc;
}

/* ---- labels ------------------------------------------------------------------ */

/* The text of an AnyValue; false when it has none. */
static bool otlp_label_value(struct bytes in, char text[32], struct push_label *label)
{
	uint32_t field;
	unsigned type;
	label->value = NULL;
	while (wire_tag(&in, &field, &type)) {
		if (field == VALUE_STRING && type == WIRE_BYTES) {
			const struct bytes value = wire_bytes(&in);
			label->value = (const char *)value.p;
			label->n_value = bytes_left(&value);
			continue;
		}
		if (field == VALUE_INT && type == WIRE_VARINT)
			snprintf(text, 32, "%lld", (long long)wire_varint(&in));
		else if (field == VALUE_BOOL && type == WIRE_VARINT)
			snprintf(text, 32, "%s", wire_varint(&in) ? "true" : "false");
		else if (field == VALUE_DOUBLE && type == WIRE_FIXED64)
			snprintf(text, 32, "%.10g", otlp_real(wire_fixed64(&in)));
		else {
			wire_skip(&in, type);
			continue;
		}
		label->value = text;
		label->n_value = strlen(text);
	}
	return bytes_ok(&in) && label->value;
}

static bool otlp_label_read(struct bytes in, char text[32], struct push_label *label)
{
	uint32_t field;
	unsigned type;
	bool valued = false;
	*label = (struct push_label){0};
	while (wire_tag(&in, &field, &type)) {
		if (type != WIRE_BYTES || (field != PAIR_KEY && field != PAIR_VALUE)) {
			wire_skip(&in, type);
			continue;
		}
		const struct bytes part = wire_bytes(&in);
		if (!bytes_ok(&in))
			return false;
		if (field == PAIR_VALUE) {
			valued = otlp_label_value(part, text, label);
			continue;
		}
		label->key = (const char *)part.p;
		label->n_key = bytes_left(&part);
	}
	return bytes_ok(&in) && valued && label->key;
}

void otlp_labels_of(struct bytes bytes, enum otlp_labels_in where, struct otlp_labels *ret)
{
	uint32_t field;
	unsigned type;
	ret->n = ret->beyond = 0;
	if (!bytes.p)
		return;
	while (wire_tag(&bytes, &field, &type)) {
		if (field != (uint32_t)where || type != WIRE_BYTES) {
			wire_skip(&bytes, type);
			continue;
		}
		const struct bytes pair = wire_bytes(&bytes);
		if (!bytes_ok(&bytes))
			return;
		if (ret->n == OTLP_LABELS_MAX)
			ret->beyond++;
		else
			ret->n += otlp_label_read(pair, ret->text[ret->n], &ret->v[ret->n]);
	}
}

/* ---- the answer ---------------------------------------------------------------- */

static size_t otlp_put_varint(uint8_t *out, uint64_t value)
{
	size_t n = 0;
	while (value >= 0x80) {
		out[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[n++] = (uint8_t)value;
	return n;
}

size_t otlp_answer(uint8_t buf[OTLP_ANSWER_MAX], uint64_t refused, const char *message)
{
	uint8_t inner[OTLP_ANSWER_MAX];
	size_t n = 0, n_message = strlen(message), out = 0;
	if (refused == 0 && n_message == 0)
		return 0;
	if (n_message > OTLP_MESSAGE_MAX)
		n_message = OTLP_MESSAGE_MAX;
	if (refused > 0) {
		inner[n++] = 1 << 3 | WIRE_VARINT; /* rejected_data_points */
		n += otlp_put_varint(inner + n, refused);
	}
	if (n_message > 0) {
		inner[n++] = 2 << 3 | WIRE_BYTES; /* error_message */
		n += otlp_put_varint(inner + n, n_message);
		memcpy(inner + n, message, n_message);
		n += n_message;
	}
	buf[out++] = 1 << 3 | WIRE_BYTES; /* partial_success */
	out += otlp_put_varint(buf + out, n);
	memcpy(buf + out, inner, n);
	return out + n;
}
