/* cmd_web - "rocewatch web": page, JSON API, event stream and metrics over HTTP. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/command/command.h"
#include "agent/exporter/metrics.h"
#include "agent/jail/privilege.h"
#include "agent/jail/sandbox.h"
#include "agent/mcp/mcp.h"
#include "agent/web/http.h"
#include "agent/web/web_documents.h"
#include "agent/web/web_server.h"
#include "base/curl_io.h"
#include "base/log.h"
#include "config/address.h"
#include "config/config.h"
#include "db/series/history.h"

#define DEFAULT_PORT 9421
#define DEFAULT_CONNECTIONS 2000
#define DEFAULT_TIMEOUT_NS (30 * NS_PER_S)
#define CHILD_NICE 5 /* who asks for many documents takes less from polls */
#define CHILD_MEMORY ((rlim_t)4 << 30) /* a document that grows without end takes nobody along */

static const struct command_option web_options[] = {
	{"listen", 0, "ADDR:PORT",
		"serve here in place of http.listen; port 0 is any free one (default: "
		"127.0.0.1:9421)"},
	{"port-file", 0, "FILE", "write the port to this file when the server is ready"},
	{"child", 0, NULL, "started by an agent: ends with it, keeps no rights"},
	{0},
};

extern const struct command command_web;

struct cmd_web {
	const struct globals *g;
	struct config *config, *before; /* before: lent to what was read from it */
	const char *db_path;
	bool child; /* of an agent, which writes the database */
	uint64_t index_inode; /* of the database, when files were closed */
};

static const struct config_http web_defaults = {.address = "127.0.0.1",
	.port = DEFAULT_PORT,
	.max_connections = DEFAULT_CONNECTIONS,
	.request_timeout_ns = DEFAULT_TIMEOUT_NS};

/* A database that was copied here comes without the site's tokens and addresses. */
static bool cmd_web_uses_config(const struct globals *g)
{
	return !g->db || g->config_given;
}

static void cmd_web_http(const struct cmd_web *web, struct config_http *ret)
{
	*ret = web_defaults;
	if (cmd_web_uses_config(web->g) && web->config && web->config->http)
		*ret = *web->config->http;
}

static int cmd_web_reread(struct config_http *ret, void *arg, struct err *e)
{
	struct cmd_web *web = arg;
	const struct config_http had = *ret;
	struct client client;
	const int rc = client_open(&client, web->g, NS_PER_S, e);
	if (rc < 0)
		return rc;
	if (client.config_error && !(client.config && client.config->http)) {
		err_set(e, -EINVAL, "%s", client.config_error);
		client_done(&client);
		return -EINVAL;
	}
	config_free(web->before);
	web->before = web->config;
	web->config = client.config;
	client.config = NULL;
	client_done(&client);
	cmd_web_http(web, ret);
	/* The socket is open already. */
	ret->address = had.address;
	ret->port = had.port;
	ret->max_connections = had.max_connections;
	ret->request_timeout_ns = had.request_timeout_ns;
	const char *unsafe = config_http_unsafe(ret);
	if (unsafe)
		return err_set(e, -EINVAL, "http: %s", unsafe);
	return 0;
}

/* --listen; port 0 is allowed here. */
static int cmd_web_listen(
	const char *text, struct arena *a, struct config_http *http, struct err *e)
{
	const size_t n = strlen(text);
	const bool any = n > 2 && strcmp(text + n - 2, ":0") == 0;
	const char *host = text;
	if (any)
		host = arena_strndup(a, text, n - 2);
	struct network ignored;
	if (address_split(a, host, DEFAULT_PORT, &http->address, &http->port, e) < 0)
		return -EINVAL;
	if (!address_is_local(http->address) && network_parse(http->address, &ignored) < 0)
		return err_set(e, -EINVAL,
			"--listen: '%.64s' is no address of this machine; expected one such as "
			"127.0.0.1:9421",
			text);
	if (any)
		http->port = 0;
	return 0;
}

/* The agent is gone, or went while we started: so do we. */
static int cmd_web_be_child(struct err *e)
{
	(void)!nice(CHILD_NICE);
	const pid_t parent = getppid();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		raise(SIGTERM);
	const struct rlimit memory = {.rlim_cur = CHILD_MEMORY, .rlim_max = CHILD_MEMORY};
	if (!RW_SANITIZED) /* its shadow memory is no memory */
		setrlimit(RLIMIT_AS, &memory);
	log_set_plain(true);
	return privilege_none(e);
}

/* Before any thread. Also by hand: whoever serves is asked by strangers. */
static int cmd_web_close_files(struct cmd_web *web, const char *port_file, struct err *e)
{
	rw_cleanup(sandbox_paths_done) struct sandbox_paths paths = {0};
	int rc = http_prepare(e);
	if (rc < 0)
		return rc;
	curl_io_begin(); /* for a history in ClickHouse */
	rc = sandbox_self(e);
	if (rc < 0)
		return rc;
	web->index_inode = sandbox_index_inode(web->db_path);
	sandbox_of_web(web->config, web->g->config_path, web->db_path, web->child, &paths);
	sandbox_add_beside(&paths, port_file, SANDBOX_WRITE);
	return sandbox_files(SANDBOX_WEB, &paths, e);
}

static int cmd_web_close_up(void *arg, struct err *e)
{
	return sandbox_calls(SANDBOX_WEB, NULL, e);
}

static const char *cmd_web_outdated(void *arg)
{
	const struct cmd_web *web = arg;
	if (!web->child || sandbox_index_inode(web->db_path) == web->index_inode)
		return NULL;
	return "the agent opened the database anew";
}

static int cmd_web_serve(
	struct cmd_web *web, const struct client *client, const struct command_args *args)
{
	/* Without the section http of a file with mistakes, everything would be shown to
	 * everybody. */
	if (client->config_error && cmd_web_uses_config(args->g) &&
		!(web->config && web->config->http)) {
		fprintf(stderr, "%s\n", client->config_error);
		return EXIT_USAGE;
	}
	const char *listen = command_opt(&command_web, args, "listen");
	struct arena *a = arena_new();
	struct err e = {0};
	struct web_options options = {.globals = args->g,
		.db_path = client->db_path,
		.config = web->config,
		.port_file = command_opt(&command_web, args, "port-file"),
		.child = web->child,
		.reread = cmd_web_reread,
		.close_up = cmd_web_close_up,
		.outdated = cmd_web_outdated,
		.arg = web};
	cmd_web_http(web, &options.http);
	int rc = 0;
	if (listen)
		rc = cmd_web_listen(listen, a, &options.http, &e);
	const char *unsafe = NULL;
	if (rc == 0)
		unsafe = config_http_unsafe(&options.http);
	if (unsafe)
		rc = err_set(&e, -EINVAL, "http: %s", unsafe);
	web->db_path = client->db_path;
	if (rc == 0)
		rc = cmd_web_close_files(web, options.port_file, &e);
	if (rc == 0)
		rc = web_server_run(&options, &e);
	arena_free(a);
	if (rc < 0)
		return command_exit(rc, &e);
	return EXIT_OK;
}

static int cmd_web_run(struct command_args *args)
{
	struct cmd_web web = {
		.g = args->g, .child = command_opt(&command_web, args, "child") != NULL};
	struct client client;
	struct err e = {0};
	int rc = 0;
	if (web.child)
		rc = cmd_web_be_child(&e);
	if (rc == 0)
		rc = client_open(&client, args->g, NS_PER_S, &e);
	if (rc < 0)
		return command_exit(rc, &e);
	web.config = client.config;
	client.config = NULL;
	command_warn(&client, args->g);
	history_close(client.history); /* each document opens its own */
	client.history = NULL;
	const int code = cmd_web_serve(&web, &client, args);
	client_done(&client);
	config_free(web.config);
	config_free(web.before);
	return code;
}

const struct command command_web = {
	.name = "web",
	.summary = "web page, JSON API, event stream and /metrics over HTTP",
	.help = "Serves the documents of the other commands until SIGTERM. The agent "
		"starts it by itself when the configuration has a section http. With --db FILE it "
		"shows a copied database, on this machine only.\n"
		"SIGHUP reads tokens, certificate and allowed networks again.\n"
		"An address outside this machine needs http.tls and http.tokens_file; 'insecure: "
		"true' in the section http does without.\n"
		"Exit: 0 stopped as asked, 1 could not start, 2 bad usage or configuration.",
	.options = web_options,
	.takes = TAKES_DB,
	.examples = {{"web --listen 127.0.0.1:9421", "serves the configured database here",
			     .not_run = "runs until it is stopped"},
		{"web --db copy.db --listen 127.0.0.1:0 --port-file port",
			"serves a copied database at a free port, which stands in the file",
			.not_run = "runs until it is stopped"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_web_run,
};

/* cmd_mcp - "rocewatch mcp": the documents as tools of the Model Context Protocol, over standard
 * input and output. */

/* What has been read of standard input and not been answered. */
struct mcp_input {
	char *buf;
	size_t n, cap;
	bool skipping; /* the rest of a line that is too long */
};

enum { READ_STEP = 65536 };

static int mcp_put(char *reply)
{
	rw_cleanup(freep) char *text = reply;
	if (!text)
		return 0;
	fputs(text, stdout);
	fputc('\n', stdout);
	if (fflush(stdout) != 0)
		return -EIO;
	return 0;
}

/* Answers the whole lines that are there. */
static int mcp_lines(struct mcp *mcp, struct mcp_input *in)
{
	size_t at = 0;
	int rc = 0;
	while (rc == 0) {
		const char *newline = memchr(in->buf + at, '\n', in->n - at);
		if (!newline)
			break;
		const size_t n = (size_t)(newline - in->buf) - at;
		if (!in->skipping)
			rc = mcp_put(mcp_answer(mcp, in->buf + at, n));
		in->skipping = false;
		at += n + 1;
	}
	in->n -= at;
	memmove(in->buf, in->buf + at, in->n);
	return rc;
}

/* A line without end is answered once, and the rest of it is not kept. */
static int mcp_bound(struct mcp_input *in)
{
	if (in->n <= MCP_LINE_MAX)
		return 0;
	const bool told = in->skipping;
	in->n = 0;
	in->skipping = true;
	if (told)
		return 0;
	return mcp_put(mcp_answer_too_long());
}

static int mcp_serve(struct mcp *mcp)
{
	struct mcp_input in = {.cap = MCP_LINE_MAX + READ_STEP};
	int rc = 0;
	in.buf = rw_calloc(in.cap, 1);
	while (rc == 0) {
		const ssize_t n = read(STDIN_FILENO, in.buf + in.n, READ_STEP);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		in.n += (size_t)n;
		rc = mcp_lines(mcp, &in);
		if (rc == 0)
			rc = mcp_bound(&in);
	}
	/* a last message without a newline */
	if (rc == 0 && in.n > 0 && !in.skipping)
		rc = mcp_put(mcp_answer(mcp, in.buf, in.n));
	free(in.buf);
	return rc;
}

/* A wrong -c is reported at once; the database may appear later. */
static int mcp_look(const struct globals *globals)
{
	struct client client;
	struct err e = {0};
	const int rc = command_open(&client, globals, NS_PER_S, &e);
	if (rc == 0) {
		client_done(&client);
		return 0;
	}
	err_print(stderr, &e);
	return rc;
}

static int cmd_mcp_run(struct command_args *args)
{
	struct mcp mcp = {.base = args->g, .make = web_make};
	if (mcp_look(args->g) == -EINVAL)
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	if (mcp_serve(&mcp) < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

const struct command command_mcp = {
	.name = "mcp",
	.summary = "documents for AI assistants (Model Context Protocol, stdio)",
	.help = "A client starts this program and writes one JSON-RPC message a line to its "
		"standard input. Each document of the JSON API is a tool; none of them changes "
		"anything. It also serves a copied database: rocewatch mcp --db COPY.db. "
		"docs/mcp.md says how to register it.",
	.takes = TAKES_DB,
	.examples = {{"mcp </dev/null", "starts, finds no message and ends"},
		{"mcp --db copy.db </dev/null", "does the same on a copied database"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_mcp_run,
};

/* cmd_metrics - "rocewatch metrics": the page that /metrics serves, for a file that another
 * exporter reads (node_exporter's textfile collector), and for looking at it. */

#define SPAN_NS (15 * 60 * NS_PER_S)
enum { TOP_MAX = 10000 };

extern const struct command command_metrics;

static const struct command_option metrics_options[] = {
	{"openmetrics", 0, NULL, "OpenMetrics 1.0 in place of the Prometheus text format 0.0.4"},
	{"top", 0, "N", "subjects per family (default 20)"},
	{"all-ports", 0, NULL, "counters of every port, not only of ports that stand out"},
	{NULL, 0, NULL, NULL},
};

static int cmd_metrics_run(struct command_args *args)
{
	const struct command *c = &command_metrics;
	const char *top = command_opt(c, args, "top");
	struct metrics_options o = {.openmetrics = command_opt(c, args, "openmetrics") != NULL,
		.all_ports = command_opt(c, args, "all-ports") != NULL};
	struct err e = {0};
	struct client client;
	int64_t number;
	if (top) {
		const int rc = unit_int(top, &number, &e);
		if (rc < 0 || number < 1 || number > TOP_MAX)
			return usage_error(
				c, "--top: '%.64s' is not a number from 1 to %d", top, TOP_MAX);
		o.top = (size_t)number;
	}
	int r = command_open(&client, args->g, SPAN_NS, &e);
	if (r == 0) {
		r = metrics_print(stdout, &client, &o, &e);
		client_done(&client);
	}
	if (r == 0)
		return EXIT_OK;
	if (e.text[0])
		err_print(stderr, &e);
	if (r == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

const struct command command_metrics = {
	.name = "metrics",
	.summary = "the page of /metrics as text, for Prometheus and others",
	.help = "Prints the metrics that the web server serves at /metrics. To have node_exporter "
		"serve them, write them to a file of its textfile directory once a minute: "
		"rocewatch metrics > F.tmp && mv F.tmp F.prom. docs/metrics-exported.md lists all "
		"families.",
	.options = metrics_options,
	.takes = TAKES_DB,
	.examples = {{"metrics > rocewatch.prom", "writes the page for node_exporter"},
		{"metrics --openmetrics --top 5 --all-ports",
			"prints OpenMetrics with five subjects a family and all ports"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_metrics_run,
};
