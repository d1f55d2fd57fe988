/* clickhouse_server - a ClickHouse server of a test's own: on loopback, in a temporary directory,
 * with a configuration of its own. It can be killed and started again. */
#ifndef RW_TESTS_CLICKHOUSE_SERVER_H
#define RW_TESTS_CLICKHOUSE_SERVER_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "db/clickhouse/ch_client.h"

/* Debian's, or the one that RW_CLICKHOUSE_SERVER names. */
static inline const char *clickhouse_program(void)
{
	const char *named = getenv("RW_CLICKHOUSE_SERVER");
	if (named)
		return named;
	return "/usr/sbin/clickhouse-server";
}

struct clickhouse_server {
	char dir[64], url[64];
	int port, tcp_port;
	pid_t pid;
};

static inline int free_port(void)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static inline void server_file(
	const struct clickhouse_server *server, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", server->dir, name);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static inline void server_config(const struct clickhouse_server *server, const char *password)
{
	char text[2048];
	snprintf(text, sizeof(text),
		"<yandex><logger><level>error</level><console>1</console></logger>"
		"<http_port>%d</http_port><tcp_port>%d</tcp_port>"
		"<listen_host>127.0.0.1</listen_host><path>%s/data/</path>"
		"<tmp_path>%s/data/tmp/</tmp_path><users_config>%s/users.xml</users_config>"
		"<default_profile>default</default_profile>"
		"<default_database>default</default_database>"
		"<mark_cache_size>16777216</mark_cache_size><timezone>UTC</timezone></yandex>",
		server->port, server->tcp_port, server->dir, server->dir, server->dir);
	server_file(server, "config.xml", text);
	snprintf(text, sizeof(text),
		"<yandex><profiles><default></default></profiles><users><default>"
		"<password>%s</password><networks><ip>127.0.0.1</ip></networks>"
		"<profile>default</profile><quota>default</quota></default></users>"
		"<quotas><default></default></quotas></yandex>",
		password);
	server_file(server, "users.xml", text);
}

static inline struct ch_client server_client(
	const struct clickhouse_server *server, const char *database, const char *password)
{
	return (struct ch_client){.url = server->url,
		.database = database,
		.username = "default",
		.password = password,
		.timeout_ns = 60 * NS_PER_S,
		.stop_fd = -1};
}

/* Starts it and waits until it answers. */
static inline void server_start(struct clickhouse_server *server, const char *password)
{
	const struct ch_client client = server_client(server, "default", password);
	struct err e = {0};
	char config[128], log[128];
	snprintf(config, sizeof(config), "--config-file=%s/config.xml", server->dir);
	snprintf(log, sizeof(log), "%s/log", server->dir);
	server->pid = fork();
	if (server->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with the test, however that ends */
		const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, 1);
		dup2(fd, 2);
		execl(clickhouse_program(), clickhouse_program(), config, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; ch_ask(&client, "SELECT 1", true, 0, NULL, &e) != 0; i++) {
		if (i > 600)
			fail_msg("%s", e.text);
		usleep(100000);
	}
}

static inline void server_kill(struct clickhouse_server *server)
{
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	server->pid = 0;
}

/* False: it is not installed. */
static inline bool server_make(struct clickhouse_server *server, const char *password)
{
	char data[128];
	if (access(clickhouse_program(), X_OK) != 0)
		return false;
	snprintf(server->dir, sizeof(server->dir), "/tmp/rw-ch-XXXXXX");
	assert_non_null(mkdtemp(server->dir));
	snprintf(data, sizeof(data), "mkdir -p %s/data/tmp", server->dir);
	assert_int_equal(system(data), 0);
	server->port = free_port();
	server->tcp_port = free_port();
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", server->port);
	server_config(server, password);
	curl_io_begin();
	server_start(server, password);
	return true;
}

static inline void server_done(struct clickhouse_server *server)
{
	char remove[128];
	if (server->pid)
		server_kill(server);
	snprintf(remove, sizeof(remove), "rm -r %s", server->dir);
	assert_int_equal(system(remove), 0);
}

/* One number. */
static inline long long server_count(
	const struct clickhouse_server *server, const char *database, const char *sql)
{
	const struct ch_client client = server_client(server, database, NULL);
	rw_cleanup(str_done) struct str answer = {0};
	struct err e = {0};
	if (ch_ask(&client, sql, false, CURL_ANSWER_MAX, &answer, &e) != 0)
		fail_msg("%s: %s", sql, e.text);
	return atoll(str_or(answer.s, "-1"));
}

#endif
