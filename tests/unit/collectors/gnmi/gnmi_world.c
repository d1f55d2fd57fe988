/* gnmi_world - see the header. */
#include "tests/unit/collectors/gnmi/gnmi_world.h"

#include <math.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "db/model/metric.h"

static void on_samples(void *arg, const struct sample *v, size_t n)
{
	struct world *w = arg;
	for (size_t i = 0; i < n; i++) {
		rw_grow(w->samples.v, w->samples.n, w->samples.cap);
		w->samples.v[w->samples.n++] = v[i];
	}
	if (w->sampled)
		w->sampled(w);
}

static void on_target(void *arg, const struct target *t)
{
	struct world *w = arg;
	static enum target_state before;
	if (t->state == before && t->state != TARGET_BACKOFF)
		return;
	before = t->state;
	w->ups += t->state == TARGET_UP;
	w->downs += t->state == TARGET_BACKOFF;
	size_t n = strlen(w->reasons);
	if (t->state == TARGET_BACKOFF)
		snprintf(w->reasons + n, sizeof(w->reasons) - n, "%s\n", t->reason);
}

static void on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct world *w = arg;
	snprintf(w->profile, sizeof(w->profile), "%s", profile);
}

static void on_flows(void *arg, const struct flow_sample *v, size_t n)
{
}
static void on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
}
static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}

static void on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct world *w = arg;
	w->reports++;
	w->neighbors[0] = '\0';
	if (n && (*self->sysname || *self->chassis))
		snprintf(w->neighbors, sizeof(w->neighbors), "self                         %s %s\n",
			*self->sysname ? self->sysname : "-", *self->chassis ? self->chassis : "-");
	w->n_outside = 0;
	for (size_t i = 0; i < self->n_ports; i++)
		w->n_outside += self->ports[i].outside;
	for (size_t i = 0; i < n; i++) {
		const size_t at = strlen(w->neighbors);
		snprintf(w->neighbors + at, sizeof(w->neighbors) - at,
			"neighbor                     %-14s %s  %s (%d)  %s (%d)  %s%s%s\n",
			heard[i].port, heard[i].sysname, heard[i].chassis, heard[i].chassis_subtype,
			heard[i].port_id, heard[i].port_subtype, heard[i].port_descr,
			heard[i].kind == NEIGHBOR_HOST ? "" : "  ",
			heard[i].kind == NEIGHBOR_HOST ? "" : neighbor_kind_word(heard[i].kind));
	}
}

static void on_check(void *arg)
{
	struct world *w = arg;
	if (!w->until(w))
		return;
	w->met = true;
	loop_stop(w->loop);
}

static void on_limit(void *arg)
{
	loop_stop(((struct world *)arg)->loop);
}

void world_open(struct world *w, const struct gnmi_server_options *options, const char *table)
{
	memset(w, 0, sizeof(*w));
	/* .reasons has what matters; a log of each stream would bury it */
	log_set_level(LOG_ERROR_);
	w->options = rw_calloc(1, sizeof(*w->options));
	*w->options = *options;
	if (!w->options->values) {
		assert_non_null(w->table = gnmi_table_parse(table, "table"));
		w->options->values = gnmi_table_values;
		w->options->values_arg = w->table;
	}
	assert_non_null(w->server = gnmi_server_new(w->options));
	w->port = gnmi_server_port(w->server);
}

void world_target(struct world *w, const char *device, const char *credentials, const char *gnmi)
{
	rw_cleanup(str_done) struct str text = {0};
	struct err_list errors = {0};
	struct err e = {0};
	str_addf(&text,
		"credentials: { c: { gnmi: { %s } } }\ndevices: [ { name: leaf1, role: leaf, %s, "
		"gnmi: { address: \"127.0.0.1:%u\", credentials: c, %s } } ]\n",
		credentials, device, w->port, gnmi);
	if (config_parse(text.s, text.n, "world.yaml", CONFIG_FULL, NULL, 0, &w->config, &errors) <
		0)
		fail_msg("%s", errors.v[0].text);
	err_list_done(&errors);
	loop_new(&w->loop);
	w->entities = entities_new();
	w->sink = (struct sink){
		w, on_samples, on_flows, on_target, on_device, on_port, on_event, on_neighbors};
	w->check = loop_timer_new(w->loop, on_check, w);
	w->limit = loop_timer_new(w->loop, on_limit, w);
	if (gnmi_target_new(w->loop, w->entities, &w->config->devices[0], w->config, &w->sink,
		    &w->target, &e) < 0)
		fail_msg("%s", e.text);
}

bool world_until(struct world *w, bool (*until)(struct world *w), int seconds)
{
	w->until = until;
	w->met = false;
	loop_timer_start(w->check, NS_PER_MS, 5 * NS_PER_MS);
	loop_timer_start(w->limit, seconds * NS_PER_S, 0);
	loop_run(w->loop);
	loop_timer_stop(w->check);
	loop_timer_stop(w->limit);
	return w->met;
}

void world_end(struct world *w)
{
	gnmi_target_free(w->target);
	loop_timer_free(w->check);
	loop_timer_free(w->limit);
	if (w->loop)
		loop_free(w->loop);
	entities_free(w->entities);
	config_free(w->config);
	gnmi_server_free(w->server);
	gnmi_table_free(w->table);
	free(w->options);
	free(w->samples.v);
	memset(w, 0, sizeof(*w));
}

bool is_up(struct world *w)
{
	return w->ups > 0;
}
bool is_down(struct world *w)
{
	return w->downs > 0;
}
bool has_mark_samples(struct world *w)
{
	return w->samples.n >= w->mark;
}

static bool fits(const struct world *w, const struct sample *s, const char *metric,
	const char *port, int priority)
{
	const struct entity *e = entity_get(w->entities, s->entity);
	return strcmp(metric_info(s->metric)->name, metric) == 0 && strcmp(e->port, port) == 0 &&
		e->priority == priority;
}

const struct sample *world_last(
	const struct world *w, const char *metric, const char *port, int priority)
{
	for (size_t i = w->samples.n; i-- > 0;)
		if (fits(w, &w->samples.v[i], metric, port, priority))
			return &w->samples.v[i];
	return NULL;
}

size_t world_count(const struct world *w, const char *metric, const char *port, int priority)
{
	size_t n = 0;
	for (size_t i = 0; i < w->samples.n; i++)
		n += fits(w, &w->samples.v[i], metric, port, priority);
	return n;
}

void world_expect(
	const struct world *w, const char *metric, const char *port, int priority, double value)
{
	const struct sample *s = world_last(w, metric, port, priority);
	if (!s)
		fail_msg("no %s of %s priority %d", metric, port, priority);
	double have = sample_number(s->metric, s->value);
	if (fabs(have - value) > 1e-9 * fabs(value))
		fail_msg("%s of %s priority %d is %g, expected %g", metric, port, priority, have,
			value);
}

/* ---- certificates -------------------------------------------------------- */

static char *pem_of(BIO *b)
{
	char *text = NULL, *data;
	long n = BIO_get_mem_data(b, &data);
	text = rw_calloc(1, (size_t)n + 1);
	memcpy(text, data, (size_t)n);
	BIO_free(b);
	return text;
}

static void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(e);
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
}

struct certificate certificate_new(
	const char *subject, const struct certificate *issuer, const char *names, int days)
{
	static long serial = 1;
	struct certificate c = {0};
	X509 *x = X509_new();
	EVP_PKEY *k = EVP_EC_gen("P-256");
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
	X509_gmtime_adj(X509_getm_notBefore(x), -2 * 86400L);
	X509_gmtime_adj(X509_getm_notAfter(x), days * 86400L);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)subject, -1, -1, 0);
	X509_set_issuer_name(
		x, issuer ? X509_get_subject_name(issuer->x) : X509_get_subject_name(x));
	X509_set_pubkey(x, k);
	extend(x, issuer ? issuer->x : x, NID_basic_constraints,
		issuer ? "CA:FALSE" : "critical,CA:TRUE");
	if (names)
		extend(x, issuer ? issuer->x : x, NID_subject_alt_name, names);
	assert_true(X509_sign(x, issuer ? issuer->k : k, EVP_sha256()) > 0);
	BIO *b = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(b, x);
	c.cert = pem_of(b);
	b = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(b, k, NULL, NULL, 0, NULL, NULL);
	c.key = pem_of(b);
	c.x = x;
	c.k = k;
	return c;
}

void certificate_free(struct certificate *c)
{
	free(c->cert);
	free(c->key);
	X509_free(c->x);
	EVP_PKEY_free(c->k);
}

char *file_with(const char *text)
{
	char path[] = "/tmp/rw-gnmi-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return rw_strdup(path);
}

void file_gone(char *path)
{
	unlink(path);
	free(path);
}
