/* replay_capture - reads the capture files of a case into flow rows. Intervals are aligned to
 * multiples of their length, as those of a live capture. */
#include "collectors/recorded/replay_capture.h"

#include <unistd.h>
#include "collectors/packet/capture/capture_analysis.h"
#include "collectors/packet/capture/pcap_file.h"
#include "collectors/packet/frame/roce_parse.h"

#define YAML_MAX (1u << 20)
/* Of one case: an hour at 1 s, and so many more for each packet. Two packets that lie days apart
 * are not worth a million rows; beyond, only intervals with packets have rows. */
#define INTERVALS_FREE 3600
#define INTERVALS_A_PACKET 20
#define INTERVALS_MAX 1000000

static void free_config(struct config **config)
{
	config_free(*config);
}
static void free_reader(struct pcap_reader **reader)
{
	pcap_reader_free(*reader);
}

/*
 * capture.yaml is read by the configuration's own schema, so that its mistakes are reported as
 * everywhere; the devices it may name are appended, which leaves its line numbers alone.
 */
static int read_yaml(
	const char *dir, const struct config *config, struct config **ret, struct err *e)
{
	rw_cleanup(str_done) struct str path = {0}, text = {0};
	rw_cleanup(freep) char *yaml = NULL;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	str_addf(&path, "%s/capture.yaml", dir);
	if (access(path.s, F_OK) < 0 && errno == ENOENT)
		return 0;
	int rc = str_read_file(path.s, YAML_MAX, &yaml, &n, e);
	if (rc != 0)
		return rc;
	str_addn(&text, yaml, n);
	str_addf(&text, "\nfabric: %s\ndevices:\n", config->fabric->name);
	for (size_t k = 0; k < config->fabric->n_devices; k++)
		str_addf(&text, "  - { name: \"%s\", role: %s }\n",
			config->fabric->devices[k]->name,
			device_role_name(config->fabric->devices[k]->role));
	rc = config_parse(text.s, text.n, path.s, CONFIG_CASE, NULL, 0, ret, &errors);
	if (rc != 0 && errors.n > 0)
		*e = errors.v[0];
	return rc;
}

static int open_packets(const char *dir, const char *name, struct pcap_reader **ret,
	struct str *path, struct err *e)
{
	static const char *const suffixes[] = {"pcap", "pcapng"};
	for (size_t k = 0; k < rw_countof(suffixes); k++) {
		str_done(path);
		*path = (struct str){0};
		str_addf(path, "%s/capture-%s.%s", dir, name, suffixes[k]);
		if (access(path->s, F_OK) == 0)
			return pcap_reader_open(path->s, ret, e);
	}
	return err_at(e, -ENOENT, path->s, 0, 0,
		"no file for capture '%s' of capture.yaml; expected a .pcap or .pcapng", name);
}

static enum flow_dir replay_direction(const struct config_capture *capture)
{
	const enum flow_dir mirrored = flow_dir_of(capture->mirrored);
	if (mirrored != FLOW_DIR_UNKNOWN)
		return mirrored;
	return flow_dir_of(capture->direction);
}

static int64_t replay_capture_interval_end(int64_t t_ns, int64_t interval_ns)
{
	return (t_ns / interval_ns + 1) * interval_ns;
}

/* One capture of the case, while it is read. */
struct replay_stream {
	struct capture_analysis *analysis;
	int64_t interval_ns, to_ns; /* of the interval under way */
	uint32_t entity;
	enum flow_dir dir;
};

static void take_rows(struct flow_list *out, const struct replay_stream *stream)
{
	struct flow_sample rows[FLOW_ROWS_MAX];
	const struct flow_rows_of of = {.from_ns = stream->to_ns - stream->interval_ns,
		.to_ns = stream->to_ns,
		.entity = stream->entity,
		.dir = stream->dir};
	size_t n = flow_rows(stream->analysis, &of, rows);
	for (size_t k = 0; k < n; k++) {
		rw_grow(out->v, out->n, out->cap);
		out->v[out->n++] = rows[k];
	}
	capture_analysis_next(stream->analysis);
}

/* When the captures of the case ran: from the first packet of any to the last of any. */
struct capture_span {
	int64_t first_ns, last_ns;
	uint64_t packets;
	bool any;
};

static void span_take(struct capture_span *span, int64_t t_ns)
{
	if (!span->any || t_ns < span->first_ns)
		span->first_ns = t_ns;
	if (!span->any || t_ns > span->last_ns)
		span->last_ns = t_ns;
	span->packets++;
	span->any = true;
}

/* May every interval of the span have a row? */
static bool span_is_filled(const struct capture_span *span, int64_t interval_ns)
{
	const int64_t intervals = (span->last_ns - span->first_ns) / interval_ns;
	if (intervals >= INTERVALS_MAX)
		return false;
	return (uint64_t)intervals <= INTERVALS_FREE + span->packets * INTERVALS_A_PACKET;
}

static int replay_capture_read_span(const char *dir, const struct config_capture *capture,
	struct capture_span *span, struct err *e)
{
	rw_cleanup(str_done) struct str path = {0};
	rw_cleanup(free_reader) struct pcap_reader *reader = NULL;
	struct pcap_record record;
	int rc = open_packets(dir, capture->name, &reader, &path, e);
	if (rc != 0)
		return rc;
	while ((rc = pcap_reader_next(reader, &record, e)) == 1)
		span_take(span, record.t_ns);
	return rc;
}

static void replay_analysis_done(struct capture_analysis *analysis)
{
	if (analysis->flows)
		capture_analysis_end(analysis);
}

/*
 * Intervals in which this capture saw nothing have a row of totals too, as they have live: "no
 * packets on this member" is what an analyzer needs to know. Only while the captures ran: before
 * and after, nothing is known.
 */
static int read_packets(const char *dir, const struct config_capture *capture,
	const struct capture_span *span, struct entities *entities, struct flow_list *out,
	struct err *e)
{
	rw_cleanup(str_done) struct str path = {0};
	rw_cleanup(free_reader) struct pcap_reader *reader = NULL;
	rw_cleanup(replay_analysis_done) struct capture_analysis analysis = {0};
	struct pcap_record record;
	int rc = open_packets(dir, capture->name, &reader, &path, e);
	if (rc != 0 || !span->any)
		return rc;
	struct replay_stream stream = {.analysis = &analysis,
		.interval_ns = capture->interval_ns,
		.to_ns = replay_capture_interval_end(span->first_ns, capture->interval_ns),
		.entity = entities_intern(entities, str_or(capture->device, "capture"),
			str_or(capture->port, capture->name), PRIO_NONE),
		.dir = replay_direction(capture)};
	const bool fill = span_is_filled(span, capture->interval_ns);
	/* the same seed every time: else two replays of one case could refuse different flows when
	 * the table is full */
	const struct analysis_options options = {.flow_limit = FLOW_TABLE_LIMIT,
		.sampling = capture->sampling,
		.seed = hash_bytes(capture->name, strlen(capture->name), 0)};
	capture_analysis_init(&analysis, &options);
	while ((rc = pcap_reader_next(reader, &record, e)) == 1) {
		struct roce_packet packet;
		while (record.t_ns >= stream.to_ns) {
			take_rows(out, &stream);
			if (fill)
				stream.to_ns += stream.interval_ns;
			else
				stream.to_ns = replay_capture_interval_end(
					record.t_ns, stream.interval_ns);
		}
		roce_parse(record.link, record.p, record.n, record.wire, 0, &packet);
		capture_analysis_packet(&analysis, &packet, &record.origin, record.t_ns);
	}
	if (rc < 0)
		return rc;
	const int64_t end_ns = replay_capture_interval_end(span->last_ns, stream.interval_ns);
	for (; stream.to_ns <= end_ns; stream.to_ns += stream.interval_ns) {
		take_rows(out, &stream);
		if (!fill)
			break;
	}
	return 0;
}

int replay_captures(const char *dir, const struct config *config, struct entities *entities,
	struct flow_list *out, struct err *e)
{
	rw_cleanup(free_config) struct config *captures = NULL;
	struct capture_span span = {0};
	int rc = read_yaml(dir, config, &captures, e);
	size_t n = 0;
	if (rc == 0 && captures)
		n = captures->n_captures;
	for (size_t k = 0; rc == 0 && k < n; k++)
		rc = replay_capture_read_span(dir, &captures->captures[k], &span, e);
	for (size_t k = 0; rc == 0 && k < n; k++)
		rc = read_packets(dir, &captures->captures[k], &span, entities, out, e);
	if (rc != 0)
		out->n = 0;
	else if (out->n > 1)
		qsort(out->v, out->n, sizeof(*out->v), flow_end_order);
	return rc;
}
