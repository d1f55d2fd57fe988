/*
 * pipeline - the way of the data: samples -> store and memory -> windows -> analyzers -> findings
 * -> ledger -> store. The same code runs live (time from the loop) and in replay (time from the
 * samples).
 *
 * Windows (t - W, t] end at multiples of the analyzer's stride in sample time, a whole part of its
 * window (analyzers/analyzer.h), so they may overlap. They close one interval after their end, live
 * sooner where all samples came sooner lately (intake_wait_ns); the interval is the largest poll
 * interval of the configured devices (defaults.interval when none is polled). Findings are ordered
 * (window, phase of the analyzer, subject).
 *
 * What keeps live and replay equal:
 *   - a sample that is not newer than its series' newest is a duplicate: counted, neither
 *       stored nor analysed;
 *   - a sample older than a closed window is stored flagged late and never analysed, by replay
 *       neither;
 *   - flow intervals that end inside a closed window are not stored, since a flow row has no
 *       flag to say so;
 *   - the first window is the one that holds the oldest sample; a window in which nothing at
 *       all arrived is not analysed, so a gap of days costs nothing (the targets' states say
 *       that every target is silent);
 *   - at the end of a run (SIGTERM, end of the recording) windows that ended by the newest
 *       sample are closed.
 */
#pragma once

#include "base/base.h"

#include "agent/incident/ledger.h"
#include "analyzers/analyzer.h"
#include "collectors/target/collector.h"
#include "config/config.h"

struct store;
struct pipeline;
struct world_facts;

struct pipeline_counters {
	uint64_t samples, late, duplicates, windows, findings;
	uint64_t refused; /* metric and subject do not fit, or unknown ids */
	uint64_t flows, late_flows;
	uint64_t failed; /* analyzer runs that ended with an error */
	/* samples after which no difference is drawn; that are not plausible */
	uint64_t restarts, suspects;
	uint64_t moved; /* octet counters of ports that came with another value than before */
};

/* @store may be NULL (replay without --db). Config, entities, store and ledger are lent. */
struct pipeline *pipeline_new(const struct config *config, struct entities *entities,
	struct store *store, struct ledger *ledger);
void pipeline_free(struct pipeline *pipeline);
/* pipeline_in_slices - from now on windows are judged in slices of some milliseconds, between which
 * @loop turns; @loop must outlive the pipeline. What calls for a whole state (a reload, the end)
 * finishes them first. */
void pipeline_in_slices(struct pipeline *pipeline, struct loop *loop);
/* Windows under way go on with the new options; a changed window length begins where the last
 * closed window ended. */
void pipeline_reload(struct pipeline *pipeline, const struct config *config);
const struct sink *pipeline_sink(struct pipeline *pipeline); /* for collectors */
/* close the windows that are due; live: each second, replay: by samples */
void pipeline_advance(struct pipeline *pipeline, int64_t now_ns);
void pipeline_finish(
	struct pipeline *pipeline); /* close every window that ended by the newest sample */
/* pipeline_finish_by - the same for as long as a stop may take: no window begins after @until. The
 * others are judged by the next start, from what is stored. */
void pipeline_finish_by(struct pipeline *pipeline, mono_t until);
const struct pipeline_counters *pipeline_counters(const struct pipeline *pipeline);
/* pipeline_class - what the newest window says of the class @priority; NULL: no window yet, or it
 * is not lossless. Lent until the next window. */
const struct world_facts *pipeline_class(const struct pipeline *pipeline, int priority);

/* pipeline_expect - settings that may change, because a person accepted it, in place of those given
 * before. Copied. */
void pipeline_expect(struct pipeline *pipeline, const struct expected_change *changes, size_t n);
/* pipeline_window - what memory holds of (from, to], with each series' last sample before it, for
 * the watch over applied tuning changes. 0 or negative errno. */
int pipeline_window(struct pipeline *pipeline, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret);

/* pipeline_listen - who receives the LLDP neighbors of devices; before any collector has the sink.
 */
void pipeline_listen(struct pipeline *pipeline,
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *neighbors, size_t n),
	void *arg);
/* pipeline_peer - the LLDP neighbor of a port (@peer_device "host:NAME" for hosts): a dated
 * attribute that wins over what is declared. */
void pipeline_peer(struct pipeline *pipeline, const char *device, const char *port,
	const char *peer_device, const char *peer_port, int64_t t_ns);

/* pipeline_clock_torn - the clock was set since the newest samples were taken: no difference is
 * drawn from them to the next ones. */
void pipeline_clock_torn(struct pipeline *pipeline);

/*
 * pipeline_clock_set - the wall clock was set by @step_ns; no sample that comes now is earlier than
 * @since_ns. No difference is drawn across the step. Set back: what memory holds from after
 * @since_ns is forgotten, what the store holds is flagged late, and the window that @since_ns lies
 * in begins again, so that samples are kept and judged at once.
 */
void pipeline_clock_set(struct pipeline *pipeline, int64_t since_ns, int64_t step_ns);
/*
 * pipeline_watch_clock - live: @now is asked before collectors' samples are taken in, and returns
 * the wall clock; it may call pipeline_clock_set(). A sample from the future, which was timed
 * before the clock was set back, gets that time. NULL, the default: samples are believed.
 */
void pipeline_watch_clock(struct pipeline *pipeline, int64_t (*now)(void *arg), void *arg);

/* What the fabric says of its devices and ports, as dated attributes for the store. At start and
 * after a reload. */
void pipeline_announce(struct pipeline *pipeline, int64_t t_ns);

/* pipeline_feed - replay: samples in time order and flows in order of their end, merged through the
 * windows. May be called slice by slice. */
void pipeline_feed(struct pipeline *pipeline, const struct sample *samples, size_t n,
	const struct flow_sample *flows, size_t n_flows);

/*
 * Priming: samples from the database run through the windows again without being stored a second
 * time, so that a restarted agent has its anchors, its windows under way and its pending stories.
 * Between begin and end feed as in replay.
 *
 * @from_ns   no window that begins earlier is analysed (what was read before is for anchors only)
 * @known_ns  findings of windows that ended by then are in the store already
 */
void pipeline_prime_begin(struct pipeline *pipeline, int64_t from_ns, int64_t known_ns);
void pipeline_prime_end(struct pipeline *pipeline);
/* pipeline_judging - whether a window is being judged, in slices. */
bool pipeline_judging(const struct pipeline *pipeline);
/* How far back priming wants windows, ns: those an incident can be pending for, and one more. */
int64_t pipeline_horizon(const struct pipeline *pipeline);
/* How far before the first of these windows the analyzers look back, ns, and at which metrics
 * (lent): priming wants those as well. */
int64_t pipeline_past(const struct pipeline *pipeline, const uint16_t **ret, size_t *ret_n);
/* pipeline_stored - that finding is in the store already, whatever window it is of: it is not
 * stored again. NULL texts are as good as "". Forgotten when a later window is judged. */
struct finding_name {
	int64_t from_ns, to_ns;
	const char *analyzer, *cause, *device, *port, *group, *host;
	int priority;
};
void pipeline_stored(struct pipeline *pipeline, const struct finding_name *name);
/* pipeline_fed - what is fed is stored elsewhere (by the agents that collected it): samples and
 * flows are judged and not stored. */
void pipeline_fed(struct pipeline *pipeline);
/* The metrics the analyzers read: all that priming needs. Lent. */
size_t pipeline_metrics(const struct pipeline *pipeline, const uint16_t **ret);

/* name_release - names that are not used any more leave memory; the database keeps them as long as
 * its retention says. Loop thread. */

/* pipeline_tend_names - live, about once a second. @mono_ns: monotonic. */
void pipeline_tend_names(struct pipeline *pipeline, int64_t mono_ns);
/* pipeline_names_released - how many names were let go of since the start */
uint64_t pipeline_names_released(const struct pipeline *pipeline);
