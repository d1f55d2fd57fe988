/*
 * gnmi_server - the fake server from the command line: gnmi_server TABLE [option=value]...
 * Options: listen, cert, key, ca (files), username, password, models (a,b), period_ms, sonic,
 * one_by_one, strict, no_get, no_stream, no_once, no_poll, no_capabilities (1), prebuilt, flood,
 * gzip, fault, fault_calls, fault_round, fault_status, fault_text, fault_bytes, fault_ms. Prints
 * "listening on PORT", and ends when its standard input does, with the count of messages it sent to
 * subscriptions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/fake/gnmi_table.h"

/* Lent until the end. */
static const char *file_text(const char *path)
{
	static char *texts[8];
	static size_t n_texts;
	size_t n;
	char *text = NULL;
	struct err e = {0};
	if (str_read_file(path, 1 << 20, &text, &n, &e) < 0) {
		err_print(stderr, &e);
		exit(2);
	}
	return texts[n_texts++ % rw_countof(texts)] = text;
}

static const char *models[64];

static bool option(struct gnmi_server_options *o, const char *key, char *value)
{
	const struct {
		const char *key;
		const char **text;
		bool *is;
		bool file;
	} rows[] = {
		{"listen", &o->listen},
		{"cert", &o->cert, .file = true},
		{"key", &o->key, .file = true},
		{"ca", &o->ca, .file = true},
		{"username", &o->username},
		{"password", &o->password},
		{"fault_text", &o->fault_text},
		{"sonic", .is = &o->sonic},
		{"one_by_one", .is = &o->one_by_one},
		{"strict", .is = &o->strict_encodings},
		{"no_get", .is = &o->no_get},
		{"no_stream", .is = &o->no_stream},
		{"no_once", .is = &o->no_once},
		{"no_poll", .is = &o->no_poll},
		{"no_capabilities", .is = &o->no_capabilities},
	};
	const long long number = strtoll(value, NULL, 10);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (strcmp(rows[i].key, key) != 0)
			continue;
		if (rows[i].text)
			*rows[i].text = rows[i].file ? file_text(value) : value;
		else
			*rows[i].is = number != 0;
		return true;
	}
	if (strcmp(key, "models") == 0) {
		char *save = NULL;
		for (char *m = strtok_r(value, ",", &save); m && o->n_models < rw_countof(models);
			m = strtok_r(NULL, ",", &save))
			models[o->n_models++] = m;
		o->models = models;
		return true;
	}
	if (strcmp(key, "fault") == 0) {
		while (o->fault < FAULTS && strcmp(gnmi_fault_names[o->fault], value) != 0)
			o->fault++;
		return o->fault < FAULTS;
	}
	if (strcmp(key, "period_ms") == 0)
		o->period_ns = (uint64_t)number * 1000000;
	else if (strcmp(key, "prebuilt") == 0)
		o->prebuilt = (size_t)number;
	else if (strcmp(key, "flood") == 0)
		o->flood = (uint64_t)number;
	else if (strcmp(key, "gzip") == 0)
		o->gzip = number != 0;
	else if (strcmp(key, "fault_calls") == 0)
		o->fault_calls = (unsigned)number;
	else if (strcmp(key, "fault_round") == 0)
		o->fault_round = (uint64_t)number;
	else if (strcmp(key, "fault_status") == 0)
		o->fault_status = (int)number;
	else if (strcmp(key, "fault_bytes") == 0)
		o->fault_bytes = (uint64_t)number;
	else if (strcmp(key, "fault_ms") == 0)
		o->fault_ns = number * 1000000;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct gnmi_server_options o = {.values = gnmi_table_values};
	struct gnmi_table *t = argc > 1 ? gnmi_table_load(argv[1]) : NULL;
	char line[64];
	if (!t)
		return fprintf(stderr, "usage: gnmi_server TABLE [option=value]...\n"), 2;
	o.values_arg = t;
	for (int i = 2; i < argc; i++) {
		char *eq = strchr(argv[i], '=');
		if (eq)
			*eq = '\0';
		if (!eq || !option(&o, argv[i], eq + 1))
			return fprintf(stderr, "gnmi_server: no option '%s'\n", argv[i]), 2;
	}
	struct gnmi_server *s = gnmi_server_new(&o);
	if (!s)
		return fprintf(stderr, "gnmi_server: cannot listen on %s\n",
			       o.listen ? o.listen : "127.0.0.1:0"),
		       1;
	printf("listening on %u\n", gnmi_server_port(s));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	printf("sent %llu messages\n", (unsigned long long)gnmi_server_counts(s).messages);
	gnmi_server_free(s);
	gnmi_table_free(t);
	return 0;
}
