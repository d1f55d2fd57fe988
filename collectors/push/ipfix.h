/*
 * ipfix - IPFIX (RFC 7011) as high-frequency telemetry uses it: templates of each source and
 * observation domain, data records by them. Nothing is interpreted beyond what the wire says:
 *
 *   - The time of a record is element 325 observationTimeNanoseconds (or 324, 323, 322). SONiC
 *     writes nanoseconds since 1970 there (sonic-swss 07dc30d5 crates/countersyncd: the number goes
 *     into OTLP as it is), RFC 7011 6.1.10 says the format of NTP, and some encoders write that
 *     format with the seconds since 1970: the one nearest to the export time of the message is
 *     taken. Without such an element it is that export time, in seconds.
 *   - A field with an enterprise number is a SAI statistic (sonic-swss 00586c68
 *     crates/countersyncd/src/message/saistats.rs; the design document,
 * doc/high-frequency-telemetry of sonic-net/SONiC, has an example with the halves exchanged, which
 * no code writes): type = bits 16 to 30, statistic = bits 0 to 14; bit 31 adds 0x20000000 to the
 * type, bit 15 to the statistic; the element is the index of the object, from 1.
 *   - A data set whose template is not known is counted; RFC 7011 8 lets a collector drop it.
 *   - Over UDP a template may come anew at any time, with other fields; withdrawals must be
 *     ignored there (RFC 7011 8.4), and a template that is not sent anew for long is forgotten.
 *   - The sequence counts data records (RFC 7011 3.1). Who counts messages instead, or nothing, is
 *     recognised: then gaps are gaps of messages, or cannot be known.
 *
 * Bounded: see the enumeration. Who sends more is told no by figures, and costs no more memory. Of
 * sessions and fields a source may have as many as are free: one alone a half, several greedy ones
 * less each, and whoever is new finds room. Sessions that never brought a record are forgotten
 * after half an hour without a message. Loop thread.
 */
#pragma once

#include "base/base.h"
#include "collectors/push/burst.h"

struct entities;
struct push_objects;
struct ipfix_unknown;
struct push_map;
struct sample;
struct ipfix_flow;
struct ipfix;

/* ---- ipfix_sequence -------------------------------------------------------- */

/*
 * ipfix_sequence - what the sequence numbers of a source say of messages that did not arrive. RFC
 * 7011 3.1: the number of data records sent before this message, modulo 2^32. Two habits differ:
 * the number counts messages, or it stays the same. Which one it is follows from the first
 * messages; until then nothing is called lost. Pure.
 */

enum ipfix_habit { IPFIX_COUNTS_RECORDS, IPFIX_COUNTS_MESSAGES, IPFIX_COUNTS_NOTHING };

struct ipfix_sequence { /* all 0 at first */
	bool begun;
	uint32_t last; /* number of the newest message */
	uint64_t records; /* in it */
	bool unknown; /* its records could not be counted */
	unsigned votes[3]; /* in a row, by enum ipfix_habit */
	enum ipfix_habit habit;
};

struct ipfix_gap {
	uint64_t lost; /* records, or messages where those are counted */
	bool reordered; /* it came late, or twice */
	bool uncounted; /* the source does not count */
};

/* ipfix_sequence - a message with this number came, with @records data records. @unknown: it has
 * some that could not be counted. */
void ipfix_sequence(struct ipfix_sequence *sequence, uint32_t number, uint64_t records,
	bool unknown, struct ipfix_gap *ret);

/* ---- ipfix ----------------------------------------------------------------- */

enum {
	IPFIX_SESSIONS = 256, /* sources with their observation domains */
	IPFIX_TEMPLATES = 64, /* of one session */
	IPFIX_FIELDS = 16384, /* of a template: as many as a message of 65,535 bytes could name */
	IPFIX_FIELDS_ALL = 262144, /* of all templates: 8 MiB */
};

struct ipfix_field { /* that holds a number */
	uint32_t offset; /* in the record */
	uint8_t bytes; /* 1 to 8 */
	bool sai; /* .type and .stat are SAI's; else .type is the enterprise number, .stat 0 */
	uint32_t type, stat;
	uint16_t object; /* the element */
};

struct ipfix_template {
	uint16_t id; /* >= 256 */
	bool options; /* its records are about the exporter: they are counted only */
	bool variable; /* fields without a fixed length: records are counted only */
	uint32_t record_bytes; /* at least, when .variable */
	uint16_t time_element; /* 322 to 325; 0 = the message's time */
	uint32_t time_offset;
	struct ipfix_field *fields; /* without the time */
	size_t n_fields;
	uint64_t changes; /* another number for the same id when the fields are others */
	void *user; /* the owner's; free_user() of struct ipfix_options */
};

struct ipfix_session {
	uint8_t source[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t domain;
	void *user; /* the owner's; not freed here */
};

struct ipfix_counts {
	uint64_t messages, records, values;
	uint64_t bad; /* messages that are no IPFIX, or damaged */
	uint64_t other_versions; /* NetFlow 5 and 9 among them */
	uint64_t templates; /* that came, the same one each time */
	uint64_t changed; /* of these, with other fields than before */
	uint64_t withdrawn, ignored_withdrawals; /* templates; over UDP they are ignored */
	uint64_t expired; /* templates that were not sent anew for long */
	uint64_t refused; /* templates and sessions beyond the bounds */
	uint64_t early; /* data sets whose template is not known */
	uint64_t options; /* records that are about the exporter */
	uint64_t variable; /* data sets with fields of variable length: not read */
	uint64_t lost; /* records (or messages) that the sequence says were lost */
	uint64_t reordered; /* messages that came after a later one, or twice */
	uint64_t uncounted; /* messages of sources that do not count */
};

/* What to do with what comes. All is lent for the call. */
struct ipfix_options {
	void *arg;
	/* Records of one data set, one after the other, template->record_bytes each; their times by
	 * ipfix_time(). */
	void (*records)(void *arg, struct ipfix_session *session, struct ipfix_template *template,
		const uint8_t *data, size_t n, uint32_t export_s);
	/* of .user of a template, which is about to be freed or has new fields */
	void (*free_user)(void *arg, void *user);
	/* a template or a session of @source had no room; NULL: nobody wants to know */
	void (*refused)(void *arg, const uint8_t source[16]);
};

struct ipfix *ipfix_new(const struct ipfix_options *options); /* copied */
void ipfix_free(struct ipfix *ipfix); /* NULL is fine */

/* ipfix_message - one datagram or one message of a stream. @reliable: it came over TCP. 0, -EBADMSG
 * or -ENOTSUP (another version); what came before the damage was handed over. */
int ipfix_message(struct ipfix *ipfix, const uint8_t source[16], const uint8_t *data, size_t n,
	bool reliable, mono_t now);

/* ipfix_time - of a record, in ns since 1970. @export_s: of its message. */
int64_t ipfix_time(const struct ipfix_template *template, const uint8_t *record, uint32_t export_s);

/* ipfix_number - of 1 to 8 bytes in network byte order. */
static inline uint64_t ipfix_number(const uint8_t *p, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value = (value << 8) | p[i];
	return value;
}

/* ipfix_expire - forget templates that were not sent anew for long: three times the time between
 * their last two, 30 min at least, 3 days when they came once; and sessions without a record. */
void ipfix_expire(struct ipfix *ipfix, mono_t now);

const struct ipfix_counts *ipfix_counts(const struct ipfix *ipfix);
size_t ipfix_templates(const struct ipfix *ipfix); /* known now */

/* ipfix_flow - the records of one template: what came in the interval under way, and what the
 * fields mean. Of each field there is at most one sample an interval: the last number of a counter
 * or a level, the greatest one of a peak; each single number goes to the ring (burst). Loop thread.
 */

/* What the fields are looked up in. All are lent for the call. */
struct ipfix_meaning {
	const struct push_map *map;
	const struct push_objects *objects; /* NULL: none is known */
	struct entities *entities;
	const char *device;
};

/* ipfix_flow_new - @burst is lent for the life of the flow; NULL: nothing is kept. */
struct ipfix_flow *ipfix_flow_new(const struct ipfix_template *template, struct burst *burst);

void ipfix_flow_free(struct ipfix_flow *flow); /* NULL is fine */

/* Whom the caller knows by it. Lent. */
void ipfix_flow_belongs(struct ipfix_flow *flow, void *owner);

void *ipfix_flow_owner(const struct ipfix_flow *flow);

/* ipfix_flow_means - look the fields up, again after a reload. */
void ipfix_flow_means(struct ipfix_flow *flow, const struct ipfix_meaning *meaning);

/* ipfix_flow_add - @n records as struct ipfix_options .records has them. @now_ns: what the clock
 * says; a record whose time is more than @off_ns away from it gets that time instead. Returns how
 * many did. */
size_t ipfix_flow_add(struct ipfix_flow *flow, const struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s, int64_t now_ns, int64_t off_ns);

/* ipfix_flow_end - the interval ends: its samples into @ret, which has room for
 * ipfix_flow_fields(). Numbers without a meaning are counted in @unknown. Returns how many. */
size_t ipfix_flow_end(struct ipfix_flow *flow, int64_t interval_ns, struct ipfix_unknown *unknown,
	struct sample *ret);

size_t ipfix_flow_fields(const struct ipfix_flow *flow);

/* ---- what has no meaning ---------------------------------------------------- */
enum { IPFIX_UNKNOWN_NAMES = 24, IPFIX_UNKNOWN_KEY = 64 };

struct ipfix_unknown { /* since the start */
	uint64_t values; /* of statistics that no profile maps */
	uint64_t objects; /* values of objects whose name nobody said */
	uint64_t impossible; /* values that the metric cannot have */
	struct {
		char key[IPFIX_UNKNOWN_KEY]; /* "port_if_in_ucast_pkts", "e33049_7" */
		uint64_t values;
	} names[IPFIX_UNKNOWN_NAMES];
	size_t n_names;
	uint64_t more; /* values of names beyond those */
};
