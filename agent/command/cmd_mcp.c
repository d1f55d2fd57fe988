/* cmd_mcp - "rocewatch mcp": the documents as tools of the Model Context Protocol, over standard
 * input and output. */
#include "agent/command/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/mcp/mcp.h"
#include "agent/web/web_documents.h"
#include "base/cleanup.h"
#include "base/clock.h"

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
