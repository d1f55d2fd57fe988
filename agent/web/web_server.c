/*
 * web_server - which answer a request gets, and the life of the process.
 *
 * The order of a request: method, address, host, static file, token, then the table of routes. The
 * page itself needs no token: it is part of the program and says nothing of the fabric.
 */
#include "agent/web/web_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/answers/common/served.h"
#include "agent/client/client.h"
#include "agent/client/peek.h"
#include "agent/document/paper.h"
#include "agent/web/api_request.h"
#include "agent/web/http.h"
#include "agent/web/runbook.h"
#include "agent/web/web_act.h"
#include "agent/web/web_documents.h"
#include "agent/web/web_events.h"
#include "base/locked.h"
#include "base/log.h"

/*
 * web_health - the answer to /healthz: does an agent run, and is what it wrote new? Looked at once
 * a second by one thread, answered to any.
 *
 * web_health - does an agent run, and is what it wrote new?
 */

#define ALLOWANCE_NS (10 * NS_PER_S)
#define LOOK_LATE_NS (15 * NS_PER_S)

struct web_health {
	struct peek peek; /* of the thread that looks */
	int64_t old_ns;
	pthread_mutex_t lock;
	int64_t looked_ns; /* monotonic; 0 never */
	int64_t age_ns; /* of the newest sample; -1 none */
	bool well;
	char why[800];
};

/* web_health_new - @db_path is lent until web_health_free(). @config says how often devices are
 * polled: data older than three intervals and 10 s is not new. */
static struct web_health *web_health_new(const char *db_path, const struct config *config)
{
	struct web_health *health = rw_calloc(1, sizeof(*health));
	health->peek.db_path = db_path;
	health->old_ns = 3 * 10 * NS_PER_S + ALLOWANCE_NS;
	if (config)
		health->old_ns = 3 * config_interval(config) + ALLOWANCE_NS;
	health->age_ns = -1;
	pthread_mutex_init(&health->lock, NULL);
	return health;
}

static void web_health_free(struct web_health *health)
{
	if (!health)
		return;
	peek_done(&health->peek);
	pthread_mutex_destroy(&health->lock);
	free(health);
}

/* The age of the newest sample, ns, or a negative errno. */
static int64_t health_age(struct web_health *health, struct err *e)
{
	int64_t newest_ns;
	const int rc = peek_newest(&health->peek, &newest_ns, e);
	if (rc < 0)
		return rc;
	const int64_t age_ns = wall_now().ns - newest_ns;
	if (age_ns < 0)
		return 0;
	return age_ns;
}

/* Fills @why when it is not well. */
static bool health_is_well(
	struct web_health *health, int64_t age_ns, const struct err *e, char *why, size_t size)
{
	char age[32];
	if (age_ns < 0 && age_ns != -ENODATA) {
		snprintf(why, size, "the database cannot be read: %.600s", e->text);
		return false;
	}
	/* No right to look: whoever writes new data runs. */
	if (peek_writer(&health->peek) == 0) {
		snprintf(why, size, "no agent is running: nothing is collected");
		return false;
	}
	if (age_ns < 0) {
		snprintf(why, size, "the agent has written no sample yet");
		return false;
	}
	if (age_ns <= health->old_ns)
		return true;
	snprintf(why, size, "the newest sample is %s old: the agent runs, but no device answers",
		duration_format(age, sizeof(age), age_ns));
	return false;
}

/* web_health_look - reads the database; about once a second, on one thread. */
static void web_health_look(struct web_health *health)
{
	struct err e = {0};
	char why[800] = "";
	const int64_t age_ns = health_age(health, &e);
	const bool well = health_is_well(health, age_ns, &e, why, sizeof(why));
	pthread_mutex_lock(&health->lock);
	health->looked_ns = mono_now().ns;
	health->age_ns = age_ns;
	health->well = well;
	snprintf(health->why, sizeof(health->why), "%s", why);
	pthread_mutex_unlock(&health->lock);
}

/* web_health_reply - 200, or 503 with the reason. */
static void web_health_reply(struct web_health *health, struct http_reply *ret)
{
	char text[96];
	pthread_mutex_lock(&health->lock);
	const int64_t since_ns = mono_now().ns - health->looked_ns;
	if (since_ns > LOOK_LATE_NS) {
		web_reply_error(ret, 503, "the database was not looked at for %lld s",
			(long long)(since_ns / NS_PER_S));
	} else if (!health->well) {
		web_reply_error(ret, 503, "%s", health->why);
	} else {
		const int n =
			snprintf(text, sizeof(text), "{\"status\": \"ok\", \"data_age_s\": %.1f}\n",
				(double)health->age_ns / (double)NS_PER_S);
		*ret = (struct http_reply){.status = 200,
			.type = "application/json",
			.body = blob_new(text, (size_t)n)};
	}
	pthread_mutex_unlock(&health->lock);
}

/* web_listen - the listening socket of the web server. */

enum { BACKLOG = 1024 };

static int listen_on(const struct addrinfo *where)
{
	const int on = 1;
	const int fd = socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (where->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	const int rc = -errno;
	close(fd);
	return rc;
}

int web_listen(const char *address, uint16_t port, struct err *e)
{
	char service[8];
	struct addrinfo *found = NULL;
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM};
	const char *numeric = address;
	if (strcmp(address, "localhost") == 0)
		numeric = "127.0.0.1";
	snprintf(service, sizeof(service), "%u", (unsigned)port);
	if (getaddrinfo(numeric, service, &hints, &found) != 0)
		return err_set(e, -EINVAL,
			"'%.64s' is no address to listen on; expected one of this machine, such as "
			"127.0.0.1:9421",
			address);
	const int fd = listen_on(found);
	freeaddrinfo(found);
	if (fd < 0)
		return err_set(e, fd, "cannot listen on %s port %u: %s", address, (unsigned)port,
			strerror(-fd));
	return fd;
}

static int listen_names(int fd, char *host, socklen_t n_host, char *port, socklen_t n_port)
{
	struct sockaddr_storage own;
	socklen_t n = sizeof(own);
	if (getsockname(fd, (struct sockaddr *)&own, &n) < 0)
		return -errno;
	if (getnameinfo((struct sockaddr *)&own, n, host, n_host, port, n_port,
		    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return -EINVAL;
	return 0;
}

/* web_listen_url - "http://127.0.0.1:9421" of the socket; @buf of at least 80 bytes. */
static char *web_listen_url(int fd, const char *scheme, char *buf, size_t size)
{
	char host[64] = "?", port[8] = "0";
	listen_names(fd, host, sizeof(host), port, sizeof(port));
	if (strchr(host, ':'))
		snprintf(buf, size, "%s://[%s]:%s", scheme, host, port);
	else
		snprintf(buf, size, "%s://%s:%s", scheme, host, port);
	return buf;
}

uint16_t web_listen_port(int fd)
{
	char host[64], port[8] = "0";
	unsigned number = 0;
	if (listen_names(fd, host, sizeof(host), port, sizeof(port)) == 0 &&
		sscanf(port, "%5u", &number) == 1)
		return (uint16_t)number;
	return 0;
}

#define API_PREFIX "/api/v1/"
#define ANSWER_NS (120 * NS_PER_S) /* for sending, beside the time for making */
#define STREAM_BEHIND_NS (30 * NS_PER_S)
#define STREAM_BEHIND_BYTES ((size_t)1 << 20)
#define PEM_MAX 1048576
#define KEY_MAX 65536

enum { SPARE_FILES = 64 };

struct web_server {
	const struct web_options *options;
	int fd;
	struct http *http;
	struct web_documents *documents;
	struct web_events *events;
	struct web_health *health;
	struct web_subject *subjects; /* of the rows, in order of the table */
	size_t n_subjects;
	struct blob *openapi;
	char *cert, *key; /* PEM; NULL without TLS */
	pthread_mutex_t lock; /* of guard and refusals */
	struct web_guard *guard;
	struct complaint refusals;
	struct web_passes passes; /* of the HTTP thread */
};

struct web_call {
	struct web_server *server;
	struct http_ticket *ticket;
	const struct http_request *request;
	const struct api_target *target;
	bool head, acts; /* a POST of WEB_ACT_PATH */
};

/* ---- routes -------------------------------------------------------------- */

static enum http_outcome server_answer_bytes(struct http_reply *ret, const char *type,
	const void *bytes, size_t n, const char *etag, const char *if_none_match)
{
	*ret = (struct http_reply){.status = 200, .type = type, .etag = etag};
	if (api_etag_matches(if_none_match, etag)) {
		ret->status = 304;
		ret->fixed = "";
		return HTTP_ANSWERED;
	}
	ret->fixed = bytes;
	ret->n_fixed = n;
	return HTTP_ANSWERED;
}

/* A page of our own, without a secret: it needs no token, as the files of the web page. */
static enum http_outcome server_runbook(
	struct web_call *call, const struct web_file *runbook, struct http_reply *ret)
{
	rw_cleanup(str_done) struct str html = {0};
	runbook_html_add(&html, runbook, false);
	server_answer_bytes(ret, "text/html; charset=utf-8", NULL, 0, runbook->etag,
		call->request->if_none_match);
	if (ret->status == 200)
		ret->body = blob_new(html.s, html.n);
	return HTTP_ANSWERED;
}

static enum http_outcome server_healthz(struct web_call *call, struct http_reply *ret)
{
	web_health_reply(call->server->health, ret);
	return HTTP_ANSWERED;
}

static enum http_outcome server_openapi(struct web_call *call, struct http_reply *ret)
{
	const struct blob *text = call->server->openapi;
	return server_answer_bytes(ret, "application/json", text->bytes, text->n, text->etag,
		call->request->if_none_match);
}

static enum http_outcome server_events(struct web_call *call, struct http_reply *ret)
{
	*ret = (struct http_reply){.status = 200, .type = "text/event-stream", .fixed = ""};
	if (call->head)
		return HTTP_ANSWERED;
	/* Streams do not end by themselves: they leave room for requests. */
	if (web_events_readers(call->server->events) >=
		call->server->options->http.max_connections / 2) {
		web_reply_error(ret, 503, "too many event streams are open");
		ret->retry_after_s = 30;
		return HTTP_ANSWERED;
	}
	web_events_join(call->server->events, call->ticket);
	return HTTP_STREAMS;
}

/* One document for all scrapers of a format. */
static enum http_outcome server_metrics(struct web_call *call, struct http_reply *ret)
{
	web_documents_ask(call->server->documents, call->ticket,
		web_metrics_subject(call->request->accept), NULL, 0, NULL);
	return HTTP_WAITS;
}

/* The name of the token when it may act. */
static bool server_actor(struct web_call *call, char who[WEB_WHO_MAX])
{
	struct web_server *server = call->server;
	pthread_mutex_lock(&server->lock);
	const int rc =
		web_guard_actor(server->guard, call->request->authorization, who, WEB_WHO_MAX);
	pthread_mutex_unlock(&server->lock);
	return rc == 0;
}

/* GET: who would act, and a pass for one request; nulls where the token may only read. */
static enum http_outcome server_pass(struct web_call *call, struct http_reply *ret)
{
	char who[WEB_WHO_MAX], pass[WEB_PASS_TEXT];
	const bool may = server_actor(call, who);
	if (may && web_pass_give(&call->server->passes, who, mono_now(), pass) < 0) {
		web_reply_error(ret, 503, "no randomness for a pass");
		return HTTP_ANSWERED;
	}
	json_t *doc = may ? json_pack("{s:s, s:s}", "who", who, "pass", pass)
			  : json_pack("{s:n, s:n}", "who", "pass");
	rw_cleanup(freep) char *text = json_dumps(doc, JSON_COMPACT);
	json_decref(doc);
	*ret = (struct http_reply){
		.status = 200, .type = "application/json", .body = blob_new(text, strlen(text))};
	return HTTP_ANSWERED;
}

/* POST: the parameters, and whose token it is, go to the agent. */
static enum http_outcome server_act(struct web_call *call, struct http_reply *ret)
{
	const struct api_target *target = call->target;
	const struct served_ask ask = {.given = target->given, .n_given = target->n_given};
	struct served_given given[API_PARAMS_MAX + 1];
	char who[WEB_WHO_MAX];
	struct err e = {0};
	if (!server_actor(call, who)) {
		web_reply_error(ret, 403,
			"this token may only read; one whose line in http.tokens_file ends with "
			"may:ack may act");
		return HTTP_ANSWERED;
	}
	if (!web_pass_take(&call->server->passes, who, served_get(&ask, "pass"), mono_now())) {
		web_reply_error(ret, 409,
			"the pass is missing, too old or was used; GET " WEB_ACT_PATH
			" gives a new one");
		return HTTP_ANSWERED;
	}
	if (served_get(&ask, "who")) {
		web_reply_error(ret, 400, "who acts is what the token says");
		return HTTP_ANSWERED;
	}
	if (target->n_given)
		memcpy(given, target->given, target->n_given * sizeof(*given));
	given[target->n_given] = (struct served_given){.name = "who", .value = who};
	const size_t n = target->n_given + 1;
	const int rc = web_check_params(web_act_subject.row, given, n, &e);
	if (rc < 0) {
		web_reply_err(ret, rc, &e);
		return HTTP_ANSWERED;
	}
	web_documents_ask(call->server->documents, call->ticket, &web_act_subject, given, n, NULL);
	return HTTP_WAITS;
}

static const struct server_route {
	const char *path;
	enum http_outcome (*answer)(struct web_call *call, struct http_reply *ret);
} server_routes[] = {
	{"/healthz", server_healthz},
	{"/metrics", server_metrics},
	{"/api/v1/events", server_events},
	{"/api/v1/openapi.json", server_openapi},
	{WEB_ACT_PATH, server_pass},
};

/* The nearest path of the API, for a mistyped one. */
static enum http_outcome server_unknown(struct web_call *call, struct http_reply *ret)
{
	const struct web_server *server = call->server;
	const char *path = call->target->path;
	const char *near = NULL;
	if (strncmp(path, API_PREFIX, sizeof(API_PREFIX) - 1) == 0) {
		rw_cleanup(freep) const char **names =
			rw_calloc(server->n_subjects + 1, sizeof(*names));
		for (size_t i = 0; i < server->n_subjects; i++)
			names[i] = server->subjects[i].row->path;
		near = str_nearest(path + sizeof(API_PREFIX) - 1, names, server->n_subjects);
	}
	if (near)
		web_reply_error(ret, 404, "there is no '%.200s'; did you mean '" API_PREFIX "%s'?",
			path, near);
	else
		web_reply_error(ret, 404,
			"there is no '%.200s'; /api/v1/openapi.json lists what there is", path);
	return HTTP_ANSWERED;
}

static const struct web_subject *server_subject(const struct web_server *server, const char *path)
{
	const size_t n = sizeof(API_PREFIX) - 1;
	if (strncmp(path, API_PREFIX, n) != 0)
		return NULL;
	for (size_t i = 0; i < server->n_subjects; i++)
		if (str_eq(server->subjects[i].row->path, path + n))
			return &server->subjects[i];
	return NULL;
}

static enum http_outcome server_document(
	struct web_call *call, const struct web_subject *subject, struct http_reply *ret)
{
	const struct api_target *target = call->target;
	struct err e = {0};
	const int rc = web_check_params(subject->row, target->given, target->n_given, &e);
	if (rc < 0) {
		web_reply_err(ret, rc, &e);
		return HTTP_ANSWERED;
	}
	web_documents_ask(call->server->documents, call->ticket, subject, target->given,
		target->n_given, call->request->if_none_match);
	return HTTP_WAITS;
}

static enum http_outcome server_route(struct web_call *call, struct http_reply *ret)
{
	if (call->acts)
		return server_act(call, ret);
	for (size_t i = 0; i < rw_countof(server_routes); i++) {
		if (!str_eq(server_routes[i].path, call->target->path))
			continue;
		if (call->target->n_given == 0)
			return server_routes[i].answer(call, ret);
		web_reply_error(ret, 400, "%s takes no parameters; read '%.64s'",
			server_routes[i].path, call->target->given[0].name);
		return HTTP_ANSWERED;
	}
	const struct web_subject *subject = server_subject(call->server, call->target->path);
	if (subject)
		return server_document(call, subject, ret);
	return server_unknown(call, ret);
}

/* ---- who may ask --------------------------------------------------------- */

/* Whom what stands before every route refuses; a page that is asked without a token is no attack.
 */
static void server_refused(const struct web_call *call, const char *why)
{
	struct web_server *server = call->server;
	pthread_mutex_lock(&server->lock);
	complain(&server->refusals, mono_now(), LOG_WARN_, "web",
		"a request from %s was refused: %s", http_address(call->ticket), why);
	pthread_mutex_unlock(&server->lock);
}

static bool server_knows_token(const struct web_call *call)
{
	const char *given = call->request->authorization;
	pthread_mutex_lock(&call->server->lock);
	const bool known = web_guard_token(call->server->guard, given);
	pthread_mutex_unlock(&call->server->lock);
	if (!known && given)
		server_refused(call, "its token is wrong");
	return known;
}

static bool server_knows_host(struct web_server *server, const struct http_request *request)
{
	pthread_mutex_lock(&server->lock);
	const bool known =
		!request->host_twice && web_guard_knows_host(server->guard, request->host);
	pthread_mutex_unlock(&server->lock);
	return known;
}

static bool server_admits(void *arg, const struct sockaddr *peer)
{
	struct web_server *server = arg;
	pthread_mutex_lock(&server->lock);
	const bool admitted = web_guard_admits(server->guard, peer);
	pthread_mutex_unlock(&server->lock);
	return admitted;
}

/* A page of another site makes a browser ask with what the browser may: its place in the network.
 * To open this page from a link there is fine, to ask for data is not. */
static bool server_is_cross_site(const struct web_call *call)
{
	const struct http_request *request = call->request;
	if (!str_eq(request->fetch_site, "cross-site"))
		return false;
	return !str_eq(request->fetch_mode, "navigate") || !web_file_find(call->target->path);
}

/* What only a request that acts must pass. */
static bool server_refuses_act(const struct web_call *call, struct http_reply *ret)
{
	if (!call->acts)
		return false;
	if (!web_act_is_own(call->request)) {
		web_reply_error(
			ret, 403, "a page of another site asks; act from this server's own page");
		return true;
	}
	if (!call->request->has_body)
		return false;
	web_reply_error(ret, 413, "expected parameters in the address, and no body");
	return true;
}

/* What stands before every route; true when @ret holds the answer already. */
static bool server_refuses(struct web_call *call, struct api_target *target, struct http_reply *ret)
{
	static const char methods[] = "GET, HEAD, OPTIONS";
	const struct http_request *request = call->request;
	struct err e = {0};
	const bool options = str_eq(request->method, "OPTIONS");
	call->head = str_eq(request->method, "HEAD");
	const bool post = str_eq(request->method, "POST");
	const int rc = api_target_read(request->target, target, &e);
	call->acts = post && rc == 0 && str_eq(target->path, WEB_ACT_PATH);
	if (!options && !call->head && !call->acts && !str_eq(request->method, "GET")) {
		web_reply_error(ret, 405, "nothing can be changed here; expected GET");
		ret->allow = methods;
		return true;
	}
	if (rc < 0) {
		web_reply_err(ret, rc, &e);
		if (rc == -E2BIG)
			ret->status = 414;
		return true;
	}
	if (!server_knows_host(call->server, request)) {
		server_refused(call, "its Host header does not name this server");
		web_reply_error(ret, 421,
			"the Host header does not name this server; add the name to http.hosts "
			"when it should");
		return true;
	}
	if (server_is_cross_site(call)) {
		server_refused(call, "a page of another site made it");
		web_reply_error(ret, 403,
			"a page of another site asks; open this server's own page instead");
		return true;
	}
	if (server_refuses_act(call, ret))
		return true;
	if (!options)
		return false;
	*ret = (struct http_reply){.status = 204, .allow = methods, .fixed = ""};
	return true;
}

static enum http_outcome server_answer(void *arg, struct http_ticket *ticket,
	const struct http_request *request, struct http_reply *ret)
{
	struct web_server *server = arg;
	struct api_target target;
	struct web_call call = {
		.server = server, .ticket = ticket, .request = request, .target = &target};
	if (server_refuses(&call, &target, ret))
		return HTTP_ANSWERED;
	const struct web_file *file = web_file_find(target.path);
	if (file)
		return server_answer_bytes(ret, file->type, file->begin,
			(size_t)(file->end - file->begin), file->etag, request->if_none_match);
	const struct web_file *runbook = runbook_of_path(target.path);
	if (runbook)
		return server_runbook(&call, runbook, ret);
	if (!server_knows_token(&call)) {
		web_reply_error(ret, 401,
			"a token is needed: send the header 'Authorization: Bearer TOKEN'");
		ret->authenticate = "Bearer realm=\"rocewatch\"";
		return HTTP_ANSWERED;
	}
	return server_route(&call, ret);
}

static void server_stream_ended(void *arg, struct http_ticket *ticket)
{
	struct web_server *server = arg;
	web_events_leave(server->events, ticket);
}

/* ---- start and reload ---------------------------------------------------- */

static int server_key_is_private(const char *path, struct err *e)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return err_at(e, -errno, path, 0, 0, "http.tls.key: %s", strerror(errno));
	if (st.st_mode & 07)
		return err_at(e, -EACCES, path, 0, 0,
			"http.tls.key has mode %04o: everybody can read it; run chmod o=",
			(unsigned)st.st_mode & 07777);
	return 0;
}

static int server_read_pem(
	const struct config_http *http, char **ret_cert, char **ret_key, struct err *e)
{
	size_t n;
	*ret_cert = *ret_key = NULL;
	if (!http->cert)
		return 0;
	int rc = server_key_is_private(http->key, e);
	if (rc == 0)
		rc = str_read_file(http->cert, PEM_MAX, ret_cert, &n, e);
	if (rc == 0)
		rc = locked_read_file(http->key, KEY_MAX, ret_key, &n, e);
	if (rc == 0)
		return 0;
	free(rw_take(*ret_cert));
	return rc;
}

static int server_start_http(
	struct web_server *server, const char *cert, const char *key, struct err *e)
{
	const struct config_http *http = &server->options->http;
	const struct http_limits limits = {.connections = http->max_connections,
		.request_ns = http->request_timeout_ns,
		.answer_ns = http->request_timeout_ns + ANSWER_NS,
		.stream_ns = STREAM_BEHIND_NS,
		.stream_bytes = STREAM_BEHIND_BYTES};
	const struct http_handler handler = {.arg = server,
		.answer = server_answer,
		.stream_ended = server_stream_ended,
		.admits = server_admits};
	return http_start(server->fd, cert, key, &limits, &handler, &server->http, e);
}

/* Every connection is closed; the listening socket stays, so that no client is refused. */
static void server_stop_http(struct web_server *server)
{
	if (!server->http)
		return;
	http_refuse(server->http);
	web_documents_refuse(server->documents);
	web_events_end(server->events);
	http_stop(server->http);
	server->http = NULL;
	web_documents_admit(server->documents);
}

static int server_swap_tls(struct web_server *server, char *cert, char *key, struct err *e)
{
	if (str_eq(cert, server->cert) && str_eq(key, server->key)) {
		free(cert);
		locked_free(key);
		return 0;
	}
	server_stop_http(server);
	int rc = server_start_http(server, cert, key, e);
	if (rc < 0) {
		struct err again;
		free(cert);
		locked_free(key);
		if (server_start_http(server, server->cert, server->key, &again) < 0)
			log_error("web", "%s", again.text);
		return rc;
	}
	free(server->cert);
	locked_free(server->key);
	server->cert = cert;
	server->key = key;
	return 0;
}

static int server_reload(struct web_server *server, struct err *e)
{
	struct config_http http = server->options->http;
	struct web_guard *guard = NULL;
	char *cert, *key;
	int rc = server->options->reread(&http, server->options->arg, e);
	if (rc == 0)
		rc = server_read_pem(&http, &cert, &key, e);
	if (rc < 0)
		return rc;
	rc = web_guard_new(&http, &guard, e);
	if (rc < 0) {
		free(cert);
		locked_free(key);
		return rc;
	}
	rc = server_swap_tls(server, cert, key, e);
	if (rc < 0) {
		web_guard_free(guard);
		return rc;
	}
	pthread_mutex_lock(&server->lock);
	struct web_guard *before = server->guard;
	server->guard = guard;
	pthread_mutex_unlock(&server->lock);
	web_guard_free(before);
	return 0;
}

static void server_add_subject(void *arg, const struct served_document *row)
{
	struct web_server *server = arg;
	server->subjects[server->n_subjects++] = (struct web_subject){
		.path = row->path, .type = "application/json", .quick = row->quick, .row = row};
}

static void server_count_row(void *arg, const struct served_document *row)
{
	++*(size_t *)arg;
}

static void server_tables(struct web_server *server)
{
	size_t n = 0;
	served_each(server_count_row, &n);
	server->subjects = rw_calloc(n + 1, sizeof(*server->subjects));
	served_each(server_add_subject, server);
	json_t *doc = web_openapi();
	char *text = json_dumps(doc, JSON_INDENT(2));
	server->openapi = blob_new(text, strlen(text));
	free(text);
	json_decref(doc);
}

static int write_port(FILE *out, void *arg)
{
	fprintf(out, "%u\n", *(unsigned *)arg);
	return 0;
}

/* Says where it listens: people and tests read it. */
static int server_announce(struct web_server *server, struct err *e)
{
	char url[96];
	const struct web_options *options = server->options;
	unsigned port = web_listen_port(server->fd);
	const char *scheme = "http";
	if (server->cert)
		scheme = "https";
	web_listen_url(server->fd, scheme, url, sizeof(url));
	if (options->child)
		log_info("web", "listening on %s", url);
	else
		fprintf(stderr, "listening on %s\n", url);
	if (!options->port_file)
		return 0;
	return file_write(options->port_file, write_port, &port, e);
}

/* Each connection is a file; a login shell's 1024 are few. */
static void server_files(const struct config_http *http)
{
	struct rlimit files;
	const rlim_t wanted = http->max_connections + SPARE_FILES;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= wanted)
		return;
	files.rlim_cur = wanted;
	if (files.rlim_max < wanted)
		files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= wanted)
		return;
	log_warn("web",
		"http.max_connections is %u, but this process may open %llu files; raise the limit "
		"(LimitNOFILE= in the unit)",
		http->max_connections, (unsigned long long)files.rlim_cur);
}

static int server_start(struct web_server *server, struct err *e)
{
	const struct web_options *options = server->options;
	const struct config_http *http = &options->http;
	int rc = web_guard_new(http, &server->guard, e);
	if (rc == 0)
		rc = server_read_pem(http, &server->cert, &server->key, e);
	if (rc < 0)
		return rc;
	server_files(http);
	server_tables(server);
	server->fd = web_listen(http->address, http->port, e);
	if (server->fd < 0)
		return server->fd;
	server->health = web_health_new(options->db_path, options->config);
	web_health_look(server->health);
	server->documents =
		web_documents_new(options->globals, options->db_path, http->request_timeout_ns);
	server->events = web_events_new(options->globals, options->db_path);
	if (!server->documents || !server->events)
		return err_set(e, -EAGAIN, "cannot start a thread");
	if (options->close_up)
		rc = options->close_up(options->arg, e);
	if (rc == 0)
		rc = server_start_http(server, server->cert, server->key, e);
	if (rc < 0)
		return rc;
	return server_announce(server, e);
}

/* ---- the loop ------------------------------------------------------------ */

static void server_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void server_hangup(struct web_server *server)
{
	struct err e = {0};
	if (server_reload(server, &e) < 0) {
		log_error("web", "reload refused, going on as before: %s%s%s", e.file,
			str_if(*e.file, ": "), e.text);
		return;
	}
	log_info("web", "configuration, tokens and certificate read again");
}

static bool server_is_outdated(const struct web_server *server)
{
	const struct web_options *options = server->options;
	const char *why = NULL;
	if (options->outdated)
		why = options->outdated(options->arg);
	if (why)
		log_warn("web", "%s: the web server starts anew", why);
	return why != NULL;
}

static int server_loop(struct web_server *server, const sigset_t *set)
{
	const struct timespec turn = {.tv_sec = 1};
	for (;;) {
		const int signum = sigtimedwait(set, NULL, &turn);
		if (signum == SIGTERM || signum == SIGINT)
			return 0;
		if (server_is_outdated(server))
			return -ESTALE;
		if (signum == SIGHUP)
			server_hangup(server);
		if (server->http)
			http_sweep(server->http);
		web_documents_sweep(server->documents);
		web_health_look(server->health);
	}
}

/* False when a thread cannot be stopped in time. */
static bool server_stop(struct web_server *server)
{
	server_stop_http(server);
	if (!web_events_free(server->events) || !web_documents_free(server->documents))
		return false;
	web_health_free(server->health);
	web_guard_free(server->guard);
	blob_put(server->openapi);
	free(server->subjects);
	free(server->cert);
	locked_free(server->key);
	if (server->fd >= 0)
		close(server->fd);
	pthread_mutex_destroy(&server->lock);
	return true;
}

int web_server_run(const struct web_options *options, struct err *e)
{
	struct web_server server = {.options = options, .fd = -1};
	sigset_t set;
	server_signals(&set);
	pthread_mutex_init(&server.lock, NULL);
	int rc = server_start(&server, e);
	if (rc == 0 && server_loop(&server, &set) < 0)
		rc = err_set(e, -ESTALE, "stopped, to start anew");
	if (server_stop(&server))
		return rc;
	/* A document is still made: nothing is written, so nothing is lost. */
	log_info("web", "stopped while a document was being made");
	_exit(rc < 0);
}
