/* pcap_rhythm - slices, bursts, and the times of sources in them. */
#include "agent/capture/pcap_rhythm.h"

#include "analyzers/measure/rhythm.h"
#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

#define PACKETS_MAX 1000000
#define SOURCES_MAX 1000
#define SLICES 2048
#define SLICES_MIN 64
#define PERIODS_MIN 8 /* in the slices */
#define SURE 0.5 /* autocorrelation; below it the slices may be too fine for the sampling */
#define ALIKE (1.0 / 3) /* distances of bursts that differ by more are no step */
#define KEPT 0.7 /* of the bursts follow the one before after a step */
#define LAST_SURE 4.0 /* standard errors */
#define BURSTS_MIN 8

struct timed_packet {
	int64_t t_ns;
	uint32_t octets;
	uint16_t source;
};

struct rhythm_address {
	uint8_t bytes[16];
};

struct rhythm_source {
	uint8_t family;
	int64_t last_ns; /* in the burst under way; 0 none */
	size_t n, was_last; /* bursts it took part in; was the last of */
	double sum_s, squares; /* of its last packet against the burst's first one */
};

/* Where a source probably is, by a hash of its address: the index is asked for others only. */
enum { GUESS_BITS = 13 };

struct pcap_rhythm {
	struct timed_packet *v;
	bool disordered; /* .v is not in order of time */
	size_t n, cap;
	struct rhythm_source *sources;
	size_t n_sources, cap_sources;
	struct rhythm_address *addresses; /* of the sources: what is compared for each packet */
	size_t cap_addresses;
	struct smap *index;
	uint16_t guess[1 << GUESS_BITS];
};

struct pcap_rhythm *pcap_rhythm_new(void)
{
	struct pcap_rhythm *rhythm = rw_calloc(1, sizeof(*rhythm));
	rhythm->index = smap_new();
	return rhythm;
}

void pcap_rhythm_free(struct pcap_rhythm *rhythm)
{
	if (!rhythm)
		return;
	smap_free(rhythm->index);
	free(rhythm->v);
	free(rhythm->sources);
	free(rhythm->addresses);
	free(rhythm);
}

/* rhythm_source_of - the number of the source; SOURCES_MAX: there are too many. */
static uint64_t rhythm_source_of(struct pcap_rhythm *rhythm, uint8_t family, const uint8_t src[16])
{
	uint64_t at;
	if (smap_get(rhythm->index, (const char *)src, 16, &at))
		return at;
	if (rhythm->n_sources >= SOURCES_MAX)
		return SOURCES_MAX;
	at = rhythm->n_sources;
	smap_put(rhythm->index, (const char *)src, 16, at);
	rw_grow(rhythm->sources, rhythm->n_sources, rhythm->cap_sources);
	rw_grow(rhythm->addresses, rhythm->n_sources, rhythm->cap_addresses);
	memcpy(rhythm->addresses[at].bytes, src, sizeof(rhythm->addresses[at].bytes));
	rhythm->sources[rhythm->n_sources++] = (struct rhythm_source){.family = family};
	return at;
}

static uint16_t *rhythm_guess(struct pcap_rhythm *rhythm, const uint8_t src[16])
{
	uint64_t half[2];
	memcpy(half, src, sizeof(half));
	const uint64_t mixed = (half[0] ^ (half[1] << 29 | half[1] >> 35)) * 0x9E3779B97F4A7C15ull;
	return &rhythm->guess[mixed >> (64 - GUESS_BITS)];
}

void pcap_rhythm_add(struct pcap_rhythm *rhythm, int64_t t_ns, uint8_t family,
	const uint8_t src[16], uint32_t octets)
{
	if (rhythm->n >= PACKETS_MAX)
		return;
	uint16_t *guess = rhythm_guess(rhythm, src);
	uint64_t at = *guess;
	if (at >= rhythm->n_sources || __builtin_memcmp(&rhythm->addresses[at], src, 16) != 0)
		at = rhythm_source_of(rhythm, family, src);
	if (at == SOURCES_MAX)
		return;
	*guess = (uint16_t)at;
	rhythm->disordered |= rhythm->n > 0 && rhythm->v[rhythm->n - 1].t_ns > t_ns;
	rw_grow(rhythm->v, rhythm->n, rhythm->cap);
	rhythm->v[rhythm->n++] =
		(struct timed_packet){.t_ns = t_ns, .octets = octets, .source = (uint16_t)at};
}

static int pcap_rhythm_by_time(const void *left, const void *right)
{
	const struct timed_packet *a = left, *b = right;
	return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

/* ---- the step ---------------------------------------------------------------- */

/* The period in the first slices of @slice_ns; false: none is sure. */
static bool pcap_rhythm_try(const struct pcap_rhythm *rhythm, int64_t slice_ns, struct period *ret)
{
	double octets[SLICES] = {0};
	const int64_t first_ns = rhythm->v[0].t_ns;
	size_t n = (size_t)((rhythm->v[rhythm->n - 1].t_ns - first_ns) / slice_ns);
	if (n > SLICES)
		n = SLICES;
	if (n < SLICES_MIN)
		return false;
	int64_t end_ns = first_ns + slice_ns;
	for (size_t i = 0, k = 0; i < rhythm->n; i++) {
		for (; k < n && rhythm->v[i].t_ns >= end_ns; k++)
			end_ns += slice_ns;
		if (k >= n)
			break;
		octets[k] += rhythm->v[i].octets;
	}
	return rhythm_period(octets, n, slice_ns, ret) && ret->confidence_ratio >= SURE &&
		ret->period_ns * PERIODS_MIN <= (int64_t)n * slice_ns;
}

/* ---- bursts -------------------------------------------------------------------- */

struct bursts {
	int64_t gap_ns; /* silence that ends one */
	int64_t first_ns, last_ns; /* of the one under way; first 0: none yet */
	int64_t before_ns; /* beginning of the one before */
	double period_s, sum_s;
	size_t steps, n;
	double exchange_s;
};

/* Each source's last packet of the burst goes into its sums. */
static void burst_end(struct pcap_rhythm *rhythm, struct bursts *bursts)
{
	struct rhythm_source *last = NULL;
	for (size_t i = 0; i < rhythm->n_sources; i++) {
		struct rhythm_source *source = &rhythm->sources[i];
		if (!source->last_ns)
			continue;
		const double after_s =
			(double)(source->last_ns - bursts->first_ns) / (double)NS_PER_S;
		source->sum_s += after_s;
		source->squares += after_s * after_s;
		source->n++;
		if (!last || source->last_ns > last->last_ns)
			last = source;
	}
	if (last)
		last->was_last++;
	for (size_t i = 0; i < rhythm->n_sources; i++)
		rhythm->sources[i].last_ns = 0;
	bursts->n++;
	bursts->exchange_s += (double)(bursts->last_ns - bursts->first_ns) / (double)NS_PER_S;
}

static void burst_begin(struct bursts *bursts, int64_t t_ns)
{
	const double distance_s = (double)(t_ns - bursts->before_ns) / (double)NS_PER_S;
	if (bursts->before_ns && fabs(distance_s / bursts->period_s - 1) < ALIKE) {
		bursts->sum_s += distance_s;
		bursts->steps++;
	}
	bursts->before_ns = bursts->first_ns = t_ns;
}

static struct bursts pcap_rhythm_bursts(struct pcap_rhythm *rhythm, const struct period *period)
{
	for (size_t i = 0; i < rhythm->n_sources; i++) {
		struct rhythm_source *source = &rhythm->sources[i];
		source->last_ns = 0;
		source->n = source->was_last = 0;
		source->sum_s = source->squares = 0;
	}
	struct bursts bursts = {.gap_ns = (period->period_ns - period->exchange_ns) / 2,
		.period_s = (double)period->period_ns / (double)NS_PER_S};
	for (size_t i = 0; i < rhythm->n; i++) {
		const struct timed_packet *packet = &rhythm->v[i];
		const bool ends = bursts.first_ns && packet->t_ns - bursts.last_ns > bursts.gap_ns;
		if (ends)
			burst_end(rhythm, &bursts);
		if (ends || !bursts.first_ns)
			burst_begin(&bursts, packet->t_ns);
		bursts.last_ns = packet->t_ns;
		rhythm->sources[packet->source].last_ns = packet->t_ns;
	}
	return bursts;
}

/* The finest slices that show a period which the bursts of the whole capture keep. The noise of a
 * few packets may look like one in slices too fine for them; bursts do not keep that. */
static bool pcap_rhythm_step(
	struct pcap_rhythm *rhythm, struct period *ret_period, struct bursts *ret_bursts)
{
	static const int64_t slices_ms[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
	for (size_t i = 0; i < rw_countof(slices_ms); i++) {
		if (!pcap_rhythm_try(rhythm, slices_ms[i] * 1000000, ret_period))
			continue;
		*ret_bursts = pcap_rhythm_bursts(rhythm, ret_period);
		if (ret_bursts->steps >= PERIODS_MIN &&
			(double)ret_bursts->steps >= KEPT * (double)ret_bursts->n)
			return true;
	}
	return false;
}

/* ---- who is last ------------------------------------------------------------------ */

static double source_mean(const struct rhythm_source *source)
{
	return source->sum_s / (double)source->n;
}

static double source_variance(const struct rhythm_source *source)
{
	const double mean = source_mean(source);
	return fmax(0, source->squares / (double)source->n - mean * mean) / (double)source->n;
}

static void pcap_rhythm_last(const struct pcap_rhythm *rhythm, const struct bursts *bursts,
	struct pcap_rhythm_found *ret)
{
	const struct rhythm_source *last = NULL, *next = NULL;
	for (size_t i = 0; i < rhythm->n_sources; i++) {
		const struct rhythm_source *source = &rhythm->sources[i];
		if (source->n < BURSTS_MIN || source->n * 2 < bursts->n)
			continue;
		ret->sources++;
		if (!last || source_mean(source) > source_mean(last)) {
			next = last;
			last = source;
		} else if (!next || source_mean(source) > source_mean(next)) {
			next = source;
		}
	}
	if (!next)
		return;
	const double by_s = source_mean(last) - source_mean(next);
	const double error_s = sqrt(source_variance(last) + source_variance(next));
	ret->last_known = by_s > LAST_SURE * error_s && by_s > 0;
	ret->last_by_s = by_s;
	ret->last_share = (double)last->was_last / (double)bursts->n;
	ret->last_family = last->family;
	memcpy(ret->last_src, &rhythm->addresses[last - rhythm->sources], sizeof(ret->last_src));
}

void pcap_rhythm_find(struct pcap_rhythm *rhythm, struct pcap_rhythm_found *ret)
{
	struct period period;
	struct bursts bursts;
	*ret = (struct pcap_rhythm_found){.found = false};
	if (rhythm->n < SLICES_MIN)
		return;
	if (rhythm->disordered)
		qsort(rhythm->v, rhythm->n, sizeof(*rhythm->v), pcap_rhythm_by_time);
	rhythm->disordered = false;
	if (!pcap_rhythm_step(rhythm, &period, &bursts))
		return;
	ret->found = true;
	ret->step_s = bursts.sum_s / (double)bursts.steps;
	ret->exchange_s = bursts.exchange_s / (double)bursts.n;
	ret->confidence_ratio = period.confidence_ratio;
	ret->steps = bursts.steps;
	pcap_rhythm_last(rhythm, &bursts, ret);
}

/* ---- its part of the document ---------------------------------------------- */

static void rhythm_sentence(json_t *document, const struct pcap_rhythm_found *found)
{
	char host[INET6_ADDRSTRLEN], later[32], step[32];
	pcap_address_text(host, found->last_family, found->last_src);
	duration_format(later, sizeof(later), (int64_t)(found->last_by_s * (double)NS_PER_S));
	duration_format(step, sizeof(step), (int64_t)(found->step_s * (double)NS_PER_S));
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LAST_FINISHER,
		"%s finishes last in %.0f %% of the steps of %s, %s after the next host", host,
		found->last_share * 100, step, later);
	json_object_set_new(row, "host", json_string(host));
	json_object_set_new(row, "later_by_s", json_real(found->last_by_s));
	json_object_set_new(row, "n", json_integer((json_int_t)found->steps));
}

/* The step and who finishes it last; nothing where the capture shows no step. */
void pcap_put_rhythm(json_t *document, struct pcap_reading *reading)
{
	struct pcap_rhythm_found found;
	pcap_rhythm_find(reading->rhythm, &found);
	/* 16 MiB that the rows of the report will take */
	pcap_rhythm_free(reading->rhythm);
	reading->rhythm = pcap_rhythm_new();
	if (!found.found)
		return;
	json_t *o = json_object();
	json_object_set_new(o, "step_s", json_real(found.step_s));
	json_object_set_new(o, "period_s", json_real(found.step_s));
	json_object_set_new(o, "exchange_s", json_real(found.exchange_s));
	/* of a sample, the first and the last packet of a burst are hardly ever there */
	double burst_s = NAN, duty = NAN;
	if (pcap_sampling(reading) == 1) {
		burst_s = found.exchange_s;
		duty = fmin(1, burst_s / found.step_s);
	}
	json_object_set_new(o, "burst_s", json_number_or_null(burst_s));
	json_object_set_new(o, "duty_ratio", json_number_or_null(duty));
	json_object_set_new(o, "confidence_ratio", json_real(found.confidence_ratio));
	pcap_count_put(o, "steps", found.steps);
	pcap_count_put(o, "sources", found.sources);
	json_t *last = json_null();
	if (found.last_known) {
		last = json_object();
		pcap_address_put(last, "src", found.last_family, found.last_src);
		json_object_set_new(last, "later_by_s", json_real(found.last_by_s));
		json_object_set_new(last, "share", json_real(found.last_share));
		rhythm_sentence(document, &found);
	}
	json_object_set_new(o, "last_finisher", last);
	json_object_set_new(document, "rhythm", o);
}
