/*
 * scrape - a host whose exporters show counters of NICs as Prometheus text over HTTP. Each interval
 * all its URLs are asked at once, by curl_fetcher's thread; their pages are read one after the
 * other, in pieces, on the loop:
 *
 *      STARTING --an exporter answers--> UP --none answers in time--> BACKOFF --> STARTING
 *
 * It stays UP while at least one exporter answers; what the others lack is its reason.
 */

#include "base/curl_io.h"
#include "base/loop.h"
#include "collectors/scrape/scrape_reader.h"
#include "collectors/target/target.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "config/profile/profile_push.h"

#define SLICE_BYTES (64u << 10) /* of a page that are read in one turn of the loop */

struct scrape;
struct scrape_page { /* one URL */
	struct scrape *scrape;
	struct curl_fetch *fetch; /* until its page was read */
	bool answered, read;
	struct reason why; /* .code REASON_NONE: it answered as it should */
	const char *text; /* of the fetch */
	size_t n;
	bool openmetrics;
};

struct scrape {
	struct target_machine machine;
	const struct config_scraped *place; /* borrowed, as machine.device: its first member */
	struct login_secrets secrets;
	struct curl_fetcher *fetcher;
	struct scrape_reader *reader;
	struct scrape_page *pages;
	size_t n_pages;
	size_t at; /* page that is read; n_pages: none */
	struct loop_timer *step;
	mono_t began;
	struct scrape_counts total; /* since it was made */
	const struct profile *told; /* to sink.device() */
	struct complaint complaint;
};

/* What a status of HTTP means; the first row that fits. */
static const struct {
	long from, to;
	enum reason_code code;
} scrape_statuses[] = {
	{401, 401, REASON_SCRAPE_LOGIN},
	{403, 403, REASON_SCRAPE_LOGIN},
	{404, 404, REASON_SCRAPE_PATH},
};

/* ---- a scrape ends ---------------------------------------------------------- */

static void scrape_session_end(void *owner)
{
	struct scrape *scrape = owner;
	for (size_t i = 0; i < scrape->n_pages; i++) {
		curl_fetch_free(scrape->pages[i].fetch);
		scrape->pages[i] = (struct scrape_page){.scrape = scrape};
	}
	scrape->at = scrape->n_pages;
	loop_timer_stop(scrape->machine.deadline);
	loop_timer_stop(scrape->step);
}

static void scrape_count(struct scrape *scrape)
{
	const struct scrape_counts *counts = scrape_reader_counts(scrape->reader);
	struct scrape_counts *total = &scrape->total;
	total->lines += counts->lines;
	total->bad_lines += counts->bad_lines;
	total->samples += counts->samples;
	total->unknown += counts->unknown;
	total->no_place += counts->no_place;
	total->no_value += counts->no_value;
	total->repeated += counts->repeated;
	total->off_clock += counts->off_clock;
	total->beyond += counts->beyond;
	scrape->machine.state.values += counts->samples;
	scrape->machine.state.varbinds += counts->lines;
}

/* Whose NICs they are, when that is known and new. */
static void scrape_tell_device(struct scrape *scrape)
{
	const struct profile *profile = scrape_reader_profile(scrape->reader);
	if (!profile || profile == scrape->told)
		return;
	scrape->told = profile;
	scrape->machine.sink.device(scrape->machine.sink.arg, scrape->machine.name, profile->name,
		"", "exporters of Prometheus text");
}

/* Why no value came, or which exporter is missing; .code REASON_NONE: all is well. */
static void scrape_explain(const struct scrape *scrape, struct reason *ret)
{
	const struct scrape_counts *counts = scrape_reader_counts(scrape->reader);
	*ret = (struct reason){.code = REASON_NONE};
	for (size_t i = 0; i < scrape->n_pages; i++)
		if (scrape->pages[i].why.code != REASON_NONE)
			*ret = scrape->pages[i].why;
	if (ret->code == REASON_NONE && counts->samples == 0 && counts->unknown > 0)
		reason_set(ret, SCRAPE_UNKNOWN, scrape->machine.address, counts->first_unknown);
	else if (ret->code == REASON_NONE && counts->samples == 0)
		reason_set(ret, SCRAPE_EMPTY, scrape->machine.address);
}

static void scrape_next(struct scrape *scrape)
{
	const struct target_machine *machine = &scrape->machine;
	int64_t next =
		scrape->began.ns + scrape->place->scrape->interval_ns - loop_now(machine->loop).ns;
	if (next < NS_PER_MS)
		next = NS_PER_MS;
	loop_timer_start(machine->timer, next, 0);
}

static void scrape_over(struct scrape *scrape)
{
	struct target_machine *machine = &scrape->machine;
	struct target *state = &machine->state;
	const mono_t now = loop_now(machine->loop);
	struct reason why;
	size_t n, answered = 0;
	const struct sample *samples = scrape_reader_samples(scrape->reader, &n);
	scrape_count(scrape);
	scrape_explain(scrape, &why);
	for (size_t i = 0; i < scrape->n_pages; i++)
		answered += scrape->pages[i].why.code == REASON_NONE;
	if (answered < scrape->n_pages)
		state->errors++;
	if (answered == 0) {
		target_lost_for(machine, &why);
		return;
	}
	scrape_session_end(scrape);
	scrape_tell_device(scrape);
	if (n > 0 && machine->sink.samples)
		machine->sink.samples(machine->sink.arg, samples, n);
	if (n > 0 || state->n_poll == 0)
		target_polled(state, (double)(now.ns - scrape->began.ns) / (double)NS_PER_S, now,
			wall_now());
	machine->failures = 0;
	target_change(state, TARGET_UP, now, wall_now(), NULL);
	snprintf(state->reason, sizeof(state->reason), "%s", why.text);
	state->reason_code = why.code;
	if (why.code != REASON_NONE)
		complain(&scrape->complaint, now, LOG_WARN_, machine->name, "scrape: %s", why.text);
	else
		complaint_over(&scrape->complaint, now, machine->name, "scrape: all answer again");
	scrape_next(scrape);
	target_report(machine);
}

/* ---- pages are read ---------------------------------------------------------- */

static void scrape_page_done(struct scrape_page *page)
{
	page->read = true;
	curl_fetch_free(page->fetch);
	page->fetch = NULL;
}

/* Is it Prometheus text? One that has no line of the format at all is a page for people. */
static void scrape_page_judge(
	struct scrape_page *page, const struct scrape_counts *counts, uint64_t bad_before)
{
	const uint64_t bad = counts->bad_lines - bad_before;
	if (bad > 0 && counts->samples == 0 && counts->unknown == 0)
		reason_set(&page->why, SCRAPE_NOT_TEXT,
			page->scrape->place->urls[page - page->scrape->pages]);
}

static void scrape_read_next(struct scrape *scrape)
{
	size_t i = 0;
	for (; i < scrape->n_pages; i++)
		if (scrape->pages[i].answered && !scrape->pages[i].read)
			break;
	scrape->at = i;
	if (i < scrape->n_pages) {
		const struct scrape_page *page = &scrape->pages[i];
		scrape_reader_text(scrape->reader, page->text, page->n, page->openmetrics);
		loop_timer_start(scrape->step, 0, 0);
		return;
	}
	for (i = 0; i < scrape->n_pages; i++)
		if (!scrape->pages[i].read)
			return;
	scrape_over(scrape);
}

static void scrape_on_step(void *arg)
{
	struct scrape *scrape = arg;
	struct scrape_page *page = &scrape->pages[scrape->at];
	const struct scrape_counts *counts = scrape_reader_counts(scrape->reader);
	const uint64_t bad_before = counts->bad_lines;
	if (scrape_reader_step(scrape->reader, SLICE_BYTES)) {
		loop_timer_start(scrape->step, 0, 0);
		return;
	}
	scrape_page_judge(page, counts, bad_before);
	scrape_page_done(page);
	scrape_read_next(scrape);
}

/* ---- answers ----------------------------------------------------------------- */

static void scrape_set_failed(struct reason *why, const char *url, const struct curl_got *got)
{
	char text[120];
	text_clean(text, sizeof(text), got->text, got->n);
	switch (got->error) {
	case -ECONNREFUSED: reason_set(why, SCRAPE_REFUSED, url); break;
	case -EHOSTUNREACH: reason_set(why, SCRAPE_NAME, url); break;
	case -ETIMEDOUT: reason_set(why, SCRAPE_TIMEOUT, url); break;
	case -EACCES: reason_set(why, SCRAPE_TLS, url, text); break;
	case -EFBIG: reason_set(why, SCRAPE_TOO_LONG, url); break;
	default: reason_set(why, SCRAPE_FAILED, url, text); break;
	}
}

static void scrape_set_status(struct reason *why, const char *url, long status)
{
	enum reason_code code = REASON_SCRAPE_STATUS;
	for (size_t i = 0; i < rw_countof(scrape_statuses); i++)
		if (status >= scrape_statuses[i].from && status <= scrape_statuses[i].to)
			code = scrape_statuses[i].code;
	switch (code) {
	case REASON_SCRAPE_LOGIN: reason_set(why, SCRAPE_LOGIN, url, (int)status); break;
	case REASON_SCRAPE_PATH: reason_set(why, SCRAPE_PATH, url); break;
	default: reason_set(why, SCRAPE_STATUS, url, (int)status); break;
	}
}

static void scrape_on_answer(void *arg, const struct curl_got *got)
{
	struct scrape_page *page = arg;
	struct scrape *scrape = page->scrape;
	const char *url = scrape->place->urls[page - scrape->pages];
	if (got->error)
		scrape_set_failed(&page->why, url, got);
	else if (got->status != 200)
		scrape_set_status(&page->why, url, got->status);
	if (got->error == -ETIMEDOUT)
		scrape->machine.state.timeouts++;
	if (page->why.code != REASON_NONE) {
		scrape_page_done(page);
	} else {
		page->answered = true;
		page->n = got->n;
		page->text = got->text;
		page->openmetrics = strncmp(got->type, "application/openmetrics-text", 28) == 0;
	}
	if (scrape->at == scrape->n_pages)
		scrape_read_next(scrape);
}

/* ---- asking ------------------------------------------------------------------ */

static int scrape_ask(struct scrape *scrape, struct scrape_page *page, struct err *e)
{
	const struct config_scrape *row = scrape->place->scrape;
	const struct login_secrets *secrets = &scrape->secrets;
	char limit[64];
	snprintf(limit, sizeof(limit), "X-Prometheus-Scrape-Timeout-Seconds: %g",
		(double)row->timeout_ns / (double)NS_PER_S);
	const char *const headers[] = {"Accept: text/plain;version=0.0.4;q=1,*/*;q=0.1", limit};
	struct curl_get get = {.ask = {.url = scrape->place->urls[page - scrape->pages],
				       .timeout_ns = row->timeout_ns,
				       .stop_fd = -1},
		.ca_pem = secrets->ca,
		.cert_pem = secrets->cert,
		.key_pem = secrets->key,
		.headers = headers,
		.n_headers = rw_countof(headers),
		.answer_max = row->max_answer};
	if (row->login) {
		get.ask.username = row->login->username;
		get.ask.password = secrets->password;
		get.ask.token = secrets->token;
		get.ask.tls.skip_verify = row->login->tls_skip_verify;
	}
	return curl_fetch_new(scrape->fetcher, &get, scrape_on_answer, page, &page->fetch, e);
}

static int scrape_secrets(struct scrape *scrape, struct err *e)
{
	const struct config_login *login = scrape->place->scrape->login;
	if (!login)
		return 0;
	return login_secrets_renew(login, &scrape->secrets, e);
}

static int scrape_begin(struct scrape *scrape, struct err *e)
{
	int rc = 0;
	if (!scrape->fetcher)
		scrape->fetcher = curl_fetcher_get(scrape->machine.loop, e);
	if (!scrape->fetcher)
		return -EAGAIN;
	for (size_t i = 0; i < scrape->n_pages && rc == 0; i++)
		rc = scrape_ask(scrape, &scrape->pages[i], e);
	return rc;
}

static void scrape_on_timer(void *arg)
{
	struct scrape *scrape = arg;
	struct target_machine *machine = &scrape->machine;
	struct err e = {0};
	scrape->began = loop_now(machine->loop);
	if (machine->state.state != TARGET_UP) {
		target_change(&machine->state, TARGET_STARTING, scrape->began, wall_now(), NULL);
		target_report(machine);
	}
	scrape_session_end(scrape);
	scrape_reader_begin(scrape->reader, wall_now().ns);
	if (scrape_secrets(scrape, &e) < 0) {
		machine->state.errors++;
		target_lost(machine, SCRAPE_SECRET, e.text);
		return;
	}
	if (scrape_begin(scrape, &e) < 0) {
		machine->state.errors++;
		target_lost(machine, SCRAPE_SETUP, machine->address, e.text);
		return;
	}
	/* libcurl's own limit comes first, and it has a reason */
	target_limit(machine, scrape->place->scrape->timeout_ns + NS_PER_S);
}

static void scrape_on_deadline(void *arg)
{
	struct scrape *scrape = arg;
	scrape->machine.state.timeouts++;
	target_lost(&scrape->machine, SCRAPE_TIMEOUT, scrape->place->urls[0]);
}

/* ---- new, same, update, free --------------------------------------------------- */

static int64_t scrape_interval_ns(const struct target_machine *machine)
{
	return ((const struct config_scraped *)machine->device)->scrape->interval_ns;
}

static bool scrape_serves(const struct profile *profile)
{
	return profile->n_push > 0;
}

static const struct target_hooks scrape_hooks = {.protocol = "scrape",
	.due = scrape_on_timer,
	.deadline = scrape_on_deadline,
	.session_end = scrape_session_end,
	.interval_ns = scrape_interval_ns,
	.profile_serves = scrape_serves,
	.profile_rows = "pushed values",
	.backoff_min_ns = 200 * NS_PER_MS,
	.backoff_max_ns = 60 * NS_PER_S};

static bool scrape_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_scraped)
		return false;
	const struct config_scraped *scraped = &config->scraped[i];
	*ret = (struct collector_place){
		.name = scraped->device.name, .address = scraped->urls[0], .config = scraped};
	return true;
}

static void scrape_close(void *instance)
{
	struct scrape *scrape = instance;
	if (scrape->step)
		scrape_session_end(scrape);
	scrape_reader_free(scrape->reader);
	curl_fetcher_put(scrape->fetcher);
	loop_timer_free(scrape->step);
	login_secrets_done(&scrape->secrets);
	target_done(&scrape->machine);
	free(scrape->pages);
	free(scrape);
}

static void scrape_names_free(void *names)
{
	push_map_free(names);
}

/* Of all hosts together: it is the same for each. */
static const struct push_map *scrape_names(struct profile_set *set)
{
	void **names = profile_set_slot(set, scrape_names_free);
	if (!*names)
		*names = push_map_new(set->profiles);
	return *names;
}

static int scrape_open(
	const struct collector_env *env, const void *config, void **ret, struct err *e)
{
	const struct config_scraped *place = config;
	struct scrape *scrape = rw_calloc(1, sizeof(*scrape));
	struct target_machine *machine = &scrape->machine;
	const struct target_setup setup = {.loop = env->loop,
		.entities = env->entities,
		.device = &place->device,
		.config = env->config,
		.sink = env->sink,
		.host = place->address,
		.port = place->port};
	scrape->place = place;
	const int rc = target_init(machine, &scrape_hooks, scrape, &setup, e);
	if (rc < 0) {
		scrape_close(scrape);
		return rc;
	}
	machine->state.interval_ns = place->scrape->interval_ns;
	scrape->n_pages = scrape->at = place->scrape->n_urls;
	scrape->pages = rw_calloc(scrape->n_pages, sizeof(*scrape->pages));
	for (size_t i = 0; i < scrape->n_pages; i++)
		scrape->pages[i].scrape = scrape;
	scrape->step = loop_timer_new(env->loop, scrape_on_step, scrape);
	scrape->reader =
		scrape_reader_new(env->entities, machine->name, scrape_names(machine->set));
	scrape_reader_ports(scrape->reader, &place->scrape->ports);
	/* now, while we have the rights; the first try reports an error: it may be gone by then */
	scrape_secrets(scrape, NULL);
	target_start_spread(machine, place->scrape->interval_ns);
	*ret = scrape;
	return 0;
}

static bool scrape_texts_same(
	const char *const *left, size_t n_left, const char *const *right, size_t n_right)
{
	bool same = n_left == n_right;
	for (size_t i = 0; i < n_left && same; i++)
		same = str_eq(left[i], right[i]);
	return same;
}

static bool scrape_same(const void *instance, const void *place, const struct config *config)
{
	const struct scrape *scrape = instance;
	const struct config_scraped *now = place;
	const struct config_scrape *is = scrape->place->scrape, *wanted = now->scrape;
	if (!target_same(&scrape->machine, &now->device, config) ||
		!scrape_texts_same(scrape->place->urls, is->n_urls, now->urls, wanted->n_urls))
		return false;
	if (is->interval_ns != wanted->interval_ns || is->timeout_ns != wanted->timeout_ns ||
		is->max_answer != wanted->max_answer)
		return false;
	return scrape_texts_same(is->ports.v, is->ports.n, wanted->ports.v, wanted->ports.n) &&
		login_same(is->login, wanted->login);
}

static void scrape_update(void *instance, const void *place, const struct config *config)
{
	struct scrape *scrape = instance;
	scrape->place = place;
	target_update(&scrape->machine, &scrape->place->device, config);
	scrape_reader_ports(scrape->reader, &scrape->place->scrape->ports);
}

static const struct target *scrape_state(const void *instance)
{
	return &((const struct scrape *)instance)->machine.state;
}

static void scrape_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	const struct target *state = scrape_state(instance);
	const struct scrape_counts *total = &((const struct scrape *)instance)->total;
	char key[REASON_TEXT_MAX + 16];
	snprintf(key, sizeof(key), "trouble/%s", state->reason);
	if (state->state == TARGET_UP && *state->reason)
		fn(arg, key, "", 1);
	fn(arg, "lines", "", (double)total->lines);
	fn(arg, "bad_lines", "", (double)total->bad_lines);
	fn(arg, "samples", "", (double)total->samples);
	fn(arg, "unknown", "", (double)total->unknown);
	fn(arg, "no_place", "", (double)total->no_place);
	fn(arg, "no_value", "", (double)total->no_value);
	fn(arg, "repeated", "", (double)total->repeated);
	fn(arg, "off_clock", "", (double)total->off_clock);
	fn(arg, "beyond", "", (double)total->beyond);
}

static bool scrape_group_told(const struct scrape *scrape, const struct profile_push_group *group)
{
	size_t zero, rows = 0;
	for (size_t i = 0; i < group->n_values; i++)
		rows += scrape_reader_rows(scrape->reader, &group->values[i], &zero);
	return rows > 0;
}

/* Of the exporters that told anything, each name that their profile knows. */
static void scrape_values(const void *instance, collector_value_fn *fn, void *arg)
{
	const struct scrape *scrape = instance;
	const struct profiles *profiles = scrape->machine.set->profiles;
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		for (size_t k = 0; k < profile->n_push; k++) {
			const struct profile_push_group *group = profile->push[k];
			if (!scrape_group_told(scrape, group))
				continue;
			for (size_t m = 0; m < group->n_values; m++) {
				const struct profile_push_value *value = &group->values[m];
				struct collector_value told = {.table = group->name,
					.how = "scrape",
					.path = value->name,
					.what = metric_info((unsigned)value->metric)->name,
					.doc = str_or(value->doc, ""),
					.type = "",
					.trouble = ""};
				told.rows = scrape_reader_rows(scrape->reader, value, &told.zero);
				fn(arg, &told);
			}
		}
	}
}

extern const struct collector collector_scrape;
const struct collector collector_scrape = {.name = "scrape",
	.role = COLLECTS_DEVICE,
	.family = "scrape",
	.place = scrape_place,
	.open = scrape_open,
	.same = scrape_same,
	.update = scrape_update,
	.close = scrape_close,
	.state = scrape_state,
	.figures = scrape_figures,
	.values = scrape_values};
