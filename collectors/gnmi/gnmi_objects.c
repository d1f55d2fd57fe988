/* gnmi_objects - samples of objects that ports and queues refer to by name: a WRED profile, a
 * transceiver. */
#include "collectors/gnmi/gnmi_series.h"

#include <stdio.h>
#include <string.h>
#include "agent/base/str.h"
#include "db/model/metric.h"

/* Which numbers (priorities, queues) a value is of. */
struct object_place {
	enum gnmi_number number;
	uint64_t numbers;
};

/* object_wanted - it has a value, and is no fallback for another property that has one. */
static bool object_wanted(const struct gnmi_feed *feed, const struct gnmi_property *property)
{
	const struct profile_gnmi_value *spec = property->row->spec;
	if (!property->has_value)
		return false;
	if (!spec->fallback)
		return true;
	for (size_t i = 0; i < feed->n_properties; i++) {
		const struct gnmi_property *other = &feed->properties[i];
		const struct profile_gnmi_value *other_spec = other->row->spec;
		if (!other->has_value || other_spec->fallback)
			continue;
		if (other_spec->metric == spec->metric && strcmp(other->name, property->name) == 0)
			return false;
	}
	return true;
}

/* object_shared - does another port refer to the same object, as the ports of a split transceiver
 * do? */
static bool object_shared(const struct gnmi_feed *feed, const struct gnmi_reference *reference)
{
	for (size_t i = 0; i < feed->n_references; i++) {
		const struct gnmi_reference *other = &feed->references[i];
		if (other->port == reference->port || !other->name)
			continue;
		if (str_eq(other->kind, reference->kind) &&
			strcmp(other->name, reference->name) == 0)
			return true;
	}
	return false;
}

/* object_of_port - is the value the port's own? Of an object that several ports share it is so only
 * where the device says which lanes are the port's. */
static bool object_of_port(const struct gnmi_feed *feed, const struct gnmi_reference *reference,
	const struct gnmi_property *property, bool shared)
{
	uint64_t lanes = 0;
	if (reference->port != GNMI_PORT_NONE)
		lanes = feed->decoder->ports.v[reference->port].lanes;
	if (property->has_lane && lanes)
		return (property->lanes & lanes) != 0;
	return !shared || (!property->has_lane && !property->row->spec->alone);
}

static struct object_place object_place_of(
	const struct gnmi_reference *reference, const struct gnmi_property *property)
{
	if (reference->number == GNMI_NUMBER_NONE)
		return (struct object_place){property->number, property->numbers};
	return (struct object_place){reference->number, reference->numbers};
}

static void object_emit_at(struct gnmi_feed *feed, const struct gnmi_converted *value,
	const struct gnmi_series_key *key, int64_t t_ns, struct sample_list *out)
{
	const uint32_t index = gnmi_series_at(feed, key);
	if (index != GNMI_SERIES_NONE)
		gnmi_series_emit(feed, &feed->series[index], value,
			(struct gnmi_sample_info){.t_ns = t_ns}, out);
}

/* object_emit_value - as a sample of the port, or of each priority or queue that refers to it. */
static void object_emit_value(struct gnmi_feed *feed, const struct gnmi_reference *reference,
	const struct gnmi_property *property, const struct gnmi_converted *value, int64_t t_ns,
	struct sample_list *out)
{
	char queue[16];
	const struct object_place place = object_place_of(reference, property);
	struct gnmi_series_key key = {.metric = property->row->spec->metric,
		.port = reference->port,
		.priority = PRIO_NONE};
	if (place.number == GNMI_NUMBER_NONE) {
		object_emit_at(feed, value, &key, t_ns, out);
		return;
	}
	key.queue = queue;
	for (unsigned n = 0; n < 64; n++) {
		if (!(place.numbers >> n & 1))
			continue;
		snprintf(queue, sizeof(queue), "%u", n);
		key.priority = gnmi_series_priority_of(feed, place.number, n);
		object_emit_at(feed, value, &key, t_ns, out);
	}
}

/* object_is_named - does @reference name the object of @property? */
static bool object_is_named(
	const struct gnmi_reference *reference, const struct gnmi_property *property)
{
	return reference->name && str_eq(reference->kind, property->row->spec->of) &&
		strcmp(reference->name, property->name) == 0;
}

static bool object_of_device(const struct profile_gnmi_value *spec)
{
	return spec->of && metric_info((unsigned)spec->metric)->scope == SCOPE_DEVICE;
}

/* object_has - is @property a value of the object, and of this port? */
static bool object_has(const struct gnmi_feed *feed, const struct gnmi_reference *reference,
	const struct gnmi_property *property, bool shared)
{
	return object_is_named(reference, property) && !object_of_device(property->row->spec) &&
		object_wanted(feed, property) && object_of_port(feed, reference, property, shared);
}

/* object_folds - do these become one value, as the lanes of a transceiver do? */
static bool object_folds(const struct gnmi_property *left, const struct gnmi_property *right)
{
	const struct profile_gnmi_value *a = left->row->spec;
	const struct profile_gnmi_value *b = right->row->spec;
	return a->fold != FOLD_SUM && a->fold == b->fold && a->metric == b->metric &&
		left->numbers == right->numbers;
}

static void object_fold(const struct profile_gnmi_value *spec, struct gnmi_converted *to,
	struct gnmi_converted value)
{
	const bool is_double = metric_info((unsigned)spec->metric)->type == TYPE_F64;
	bool is_less = value.u < to->u;
	if (is_double)
		is_less = value.d < to->d;
	if (is_less == (spec->fold == FOLD_MIN))
		*to = value;
}

/* object_emit - the values of the object that @reference names. Of those that fold, the first one
 * speaks for all. */
static void object_emit(struct gnmi_feed *feed, const struct gnmi_reference *reference,
	int64_t t_ns, struct sample_list *out)
{
	if (!reference->name)
		return;
	const bool shared = object_shared(feed, reference);
	for (size_t i = 0; i < feed->n_properties; i++) {
		const struct gnmi_property *property = &feed->properties[i];
		if (!object_has(feed, reference, property, shared))
			continue;
		struct gnmi_converted value = property->value;
		bool first = true;
		for (size_t k = 0; k < feed->n_properties && first; k++) {
			const struct gnmi_property *other = &feed->properties[k];
			if (k == i || !object_folds(property, other) ||
				!object_has(feed, reference, other, shared))
				continue;
			first = k > i;
			object_fold(property->row->spec, &value, other->value);
		}
		if (first)
			object_emit_value(feed, reference, property, &value, t_ns, out);
	}
}

/* object_device_value - of all objects that any place refers to; false when there is none, or when
 * they differ and have no word for it. */
static bool object_device_value(
	const struct gnmi_feed *feed, const struct gnmi_row *row, struct gnmi_converted *ret)
{
	bool any = false, differ = false;
	for (size_t i = 0; i < feed->n_references; i++)
		for (size_t k = 0; k < feed->n_properties; k++) {
			const struct gnmi_property *property = &feed->properties[k];
			if (property->row != row || !property->has_value ||
				!object_is_named(&feed->references[i], property))
				continue;
			differ |= any && property->value.u != ret->u;
			*ret = property->value;
			any = true;
		}
	if (!differ)
		return any;
	if (metric_info((unsigned)row->spec->metric)->type != TYPE_TEXT)
		return false;
	ret->u = entities_text_of(feed->decoder->entities, feed->decoder->device, "mixed");
	return true;
}

/* object_emit_device - a setting of the whole device is one sample. */
static void object_emit_device(
	struct gnmi_feed *feed, const struct gnmi_row *row, int64_t t_ns, struct sample_list *out)
{
	const struct gnmi_series_key key = {
		.metric = row->spec->metric, .port = GNMI_PORT_NONE, .priority = PRIO_NONE};
	struct gnmi_converted value = {0};
	if (object_device_value(feed, row, &value))
		object_emit_at(feed, &value, &key, t_ns, out);
}

void gnmi_objects_emit(struct gnmi_feed *feed, int64_t t_ns, struct sample_list *out)
{
	for (size_t i = 0; i < feed->n_references; i++)
		object_emit(feed, &feed->references[i], t_ns, out);
	for (size_t i = 0; i < feed->n_rows; i++)
		if (object_of_device(feed->rows[i].spec))
			object_emit_device(feed, &feed->rows[i], t_ns, out);
}
