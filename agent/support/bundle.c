/* bundle - collects the parts, masks them, and writes the archive. */
#include "agent/support/bundle.h"

#include <fcntl.h>
#include <ftw.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/support/secret_mask.h"
#include "base/bytes.h"
#include "base/process.h"
#include "config/config_salvage.h"
#include "db/store/store_state.h"

enum { BUNDLE_WORDS = 12 };

struct bundle_part {
	char name[100]; /* of the file in the bundle */
	const char *what; /* one line of the README */
	/* a program and its words, ended by NULL; [0] NULL: this program with the words behind */
	const char *words[BUNDLE_WORDS];
	int seconds; /* it may take */
};

struct part_limits {
	int64_t time_ns;
	size_t bytes; /* more than that is cut */
	const char *watched; /* a file that the program writes, NULL; */
	int64_t watched_bytes; /* it is ended when the file grows larger */
};

struct part_output {
	struct str out, err; /* owned; part_output_done() */
	int exit; /* of the program; -1: it did not end by itself */
	const char *why; /* .exit == -1: lent, static */
};

#define TAR_NAME_MAX 99 /* bytes of the field "name" that a name may have */

/*
 * bundle_parts - what is in a bundle: the table of parts, and the commands that make them.
 *
 * bundle_parts - rows that are always there, then one for each device that is to be asked.
 */

#define JOURNAL_LINES "5000"

static const struct {
	const char *name, *what;
	const char *words[BUNDLE_WORDS];
	int seconds;
} rows[] = {
	{"version.txt", "version of rocewatch", {NULL, "--version"}, 5},
	{"config-check.txt", "what 'config check' says of the file", {NULL, "config", "check"}, 15},
	{"config-effective.yaml", "the configuration with all defaults, secrets masked",
		{NULL, "config", "show"}, 15},
	{"status.txt", "who answers, how old the data is", {NULL, "status"}, 20},
	{"doctor.txt", "health of the collection, and what to do about it", {NULL, "doctor"}, 20},
	{"doctor.json", "the same as a document", {NULL, "doctor", "--format", "json"}, 20},
	{"db-stat.txt", "the database: what it holds, how it grows", {NULL, "db", "stat"}, 20},
	{"db-stat.json", "the same as a document", {NULL, "db", "stat", "--format", "json"}, 20},
	{"incidents.json", "incidents, also closed ones",
		{NULL, "incident", "list", "--all", "--format", "json"}, 20},
	{"incidents-open.txt", "open incidents, one line each", {NULL, "incident", "list"}, 20},
	{"events.json", "starts, stops, reloads, clock steps and notes",
		{NULL, "event", "list", "--since", "7d", "--format", "json"}, 20},
	{"silences.txt", "maintenance windows", {NULL, "silence", "list"}, 15},
	{"tune.txt", "threshold changes and their states", {NULL, "tune", "list"}, 20},
	{"topology.txt", "the fabric graph", {NULL, "topology", "show"}, 20},
	{"topology-check.txt", "what 'topology check' says of it", {NULL, "topology", "check"}, 20},
	{"alerts.txt", "the receivers of alerts and whether they answer", {NULL, "alert", "list"},
		15},
	{"profiles.txt", "profiles in use and what they collect", {NULL, "profile", "list"}, 15},
	{"unit.txt", "the unit as systemd has it",
		{"systemctl", "show", "--no-pager", "-p",
			"Id,LoadState,ActiveState,SubState,Result,NRestarts,ExecMainStatus,"
			"MainPID,MemoryCurrent,ActiveEnterTimestamp,DropInPaths,FragmentPath"},
		10},
	{"log.txt", "the agent's log: the last " JOURNAL_LINES " lines of the journal",
		{"journalctl", "--no-pager", "--quiet", "-o", "short-iso-precise", "-n",
			JOURNAL_LINES, "-u"},
		20},
	{"timesync.txt", "synchronization of the clock", {"timedatectl", "show", "--no-pager"}, 5},
};

static void part_add_word(struct bundle_part *part, const char *word)
{
	size_t n = 1;
	while (part->words[n])
		n++;
	if (n + 1 < BUNDLE_WORDS)
		part->words[n] = word;
}

/* bundle_part_at - row @i for @ask; false behind the last. Texts are borrowed from @ask. */
static bool bundle_part_at(const struct bundle_ask *ask, size_t i, struct bundle_part *ret)
{
	*ret = (struct bundle_part){0};
	if (i < rw_countof(rows)) {
		snprintf(ret->name, sizeof(ret->name), "%s", rows[i].name);
		ret->what = rows[i].what;
		ret->seconds = rows[i].seconds;
		for (size_t k = 0; k < BUNDLE_WORDS; k++)
			ret->words[k] = rows[i].words[k];
		if (str_eq(rows[i].name, "log.txt") || str_eq(rows[i].name, "unit.txt"))
			part_add_word(ret, ask->unit);
		return true;
	}
	i -= rw_countof(rows);
	for (size_t k = 0; k <= i; k++)
		if (!ask->devices || !ask->devices[k])
			return false;
	snprintf(ret->name, sizeof(ret->name), "profile-test-%zu.txt", i + 1);
	ret->what = "what a device answers, counter by counter";
	ret->seconds = 60;
	part_add_word(ret, "profile");
	part_add_word(ret, "test");
	part_add_word(ret, ask->devices[i]);
	return true;
}

/*
 * bundle_system - facts about the machine: kernel, limits, memory, disk, clock. No secrets, no
 * names of other processes.
 *
 * bundle_system - what the kernel says.
 */

enum { FILE_MOST = 16384 };

static void add_file(struct str *out, const char *path)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	struct err e = {0};
	str_addf(out, "\n== %s\n", path);
	if (str_read_file(path, FILE_MOST, &text, &n, &e) == 0)
		str_add(out, text);
	else
		str_addf(out, "not read: %s\n", e.text);
}

static void add_disk(struct str *out, const char *path)
{
	struct statvfs disk;
	if (statvfs(path, &disk) != 0) {
		str_addf(out, "disk of %s: %s\n", path, strerror(errno));
		return;
	}
	const double block = (double)disk.f_frsize;
	str_addf(out, "disk of %s: %s free of %s, %s inodes free\n", path,
		number_size((double)disk.f_bavail * block).s,
		number_size((double)disk.f_blocks * block).s, number_count(disk.f_favail).s);
}

static void add_store_files(struct str *out, const char *db_path)
{
	static const char *const ends[] = {"", "-wal", "-shm", ".lock", ".state"};
	for (size_t i = 0; i < rw_countof(ends); i++) {
		rw_cleanup(str_done) struct str path = {0};
		struct stat st;
		str_addf(&path, "%s%s", db_path, ends[i]);
		if (stat(path.s, &st) != 0)
			str_addf(out, "%s: %s\n", path.s, strerror(errno));
		else
			str_addf(out, "%s: %s bytes, mode %04o, owner %u:%u\n", path.s,
				number_count((uint64_t)st.st_size).s, (unsigned)st.st_mode & 07777,
				(unsigned)st.st_uid, (unsigned)st.st_gid);
	}
}

static void add_store_state(struct str *out, const char *db_path)
{
	static const char *const stages[] = {"stopped", "writing", "waiting"};
	struct store_state state;
	char text[WALL_TEXT_MAX];
	const int rc = store_state_read(db_path, &state);
	if (rc != 0) {
		str_addf(out, "state file of the store: %s\n", strerror(-rc));
		return;
	}
	str_addf(out, "state file of the store: agent %s, pid %d, %s since %s",
		state.running ? "running" : "not running", state.pid, stages[state.stage],
		wall_text(text, (wall_t){state.since_ns}, 0));
	str_addf(out, ", written %s", wall_text(text, (wall_t){state.beat_ns}, 0));
	str_addf(out, ", %s samples wait, %s dropped%s%s\n", number_count(state.pending).s,
		number_count(state.dropped).s, str_if(*state.reason, ": "), state.reason);
}

static void add_clock(struct str *out)
{
	struct timex clock = {0};
	char text[WALL_TEXT_MAX];
	const int state = adjtimex(&clock);
	str_addf(out, "time: %s\n", wall_text(text, wall_now(), 0));
	str_addf(out, "clock: %s, offset %ld %s, largest error %ld us\n",
		state == TIME_ERROR || (clock.status & STA_UNSYNC) ? "not synchronized"
								   : "synchronized",
		clock.offset, clock.status & STA_NANO ? "ns" : "us", clock.maxerror);
}

/* bundle_system_add - as text. @db_path: the database, whose disk and files are looked at; NULL. */
static void bundle_system_add(struct str *out, const char *db_path)
{
	struct utsname name;
	if (uname(&name) == 0)
		str_addf(out, "kernel: %s %s %s %s\n", name.sysname, name.release, name.version,
			name.machine);
	str_addf(out, "rocewatch: " RW_VERSION ", built with %s\n", __VERSION__);
	str_addf(out, "C library: %s\n", gnu_get_libc_version());
	str_addf(out, "processors: %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	str_addf(out, "this command runs as uid %u, gid %u\n", (unsigned)getuid(),
		(unsigned)getgid());
	add_clock(out);
	if (db_path) {
		rw_cleanup(str_done) struct str dir = {0};
		const char *slash = strrchr(db_path, '/');
		str_addn(&dir, slash ? db_path : ".", slash ? (size_t)(slash - db_path) + 1 : 1);
		add_disk(out, dir.s);
		add_store_files(out, db_path);
		add_store_state(out, db_path);
	}
	add_disk(out, "/tmp");
	add_file(out, "/etc/os-release");
	add_file(out, "/proc/meminfo");
	add_file(out, "/proc/self/limits");
	add_file(out, "/proc/self/cgroup");
	add_file(out, "/proc/loadavg");
	add_file(out, "/proc/uptime");
	add_file(out, "/proc/sys/net/core/rmem_max");
}

/*
 * part_run - what a program prints, bounded in time and size: a part of the bundle is made by a
 * process of its own, so that a damaged database or a hanging disk costs that part only.
 *
 * part_run - starts a program with its output in files without a name, and waits.
 */

enum { LOOK_MS = 50 };

static const char *part_program(const char *name, char *buf, size_t size)
{
	static const char *const places[] = {"/usr/bin", "/bin"};
	if (strchr(name, '/'))
		return name;
	for (size_t i = 0; i < rw_countof(places); i++)
		if (snprintf(buf, size, "%s/%s", places[i], name) < (int)size &&
			access(buf, X_OK) == 0)
			return buf;
	return NULL;
}

static int64_t part_size(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Why the program must end now; NULL: it may go on. */
static const char *part_over(const struct part_limits *limits, mono_t begun, int out, int err)
{
	struct stat st;
	if (mono_now().ns - begun.ns > limits->time_ns)
		return "it took too long";
	if (part_size(out) > 4 * (int64_t)limits->bytes || part_size(err) > (64 << 20))
		return "it printed too much";
	if (limits->watched && stat(limits->watched, &st) == 0 &&
		st.st_size > limits->watched_bytes)
		return "its file grew too large";
	return NULL;
}

static void part_read(int fd, size_t most, struct str *out)
{
	char buf[65536];
	str_add(out, "");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return;
	for (ssize_t n; out->n < most && (n = read(fd, buf, sizeof(buf))) > 0;)
		str_addn(out, buf, (size_t)n < most - out->n ? (size_t)n : most - out->n);
}

static void part_wait(
	pid_t pid, const struct part_limits *limits, int out, int err, struct part_output *ret)
{
	const mono_t begun = mono_now();
	const int watch = pidfd_open(pid, 0);
	int status = 0;
	ret->exit = -1;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd p = {.fd = watch, .events = POLLIN};
		ret->why = part_over(limits, begun, out, err);
		if (ret->why) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		poll(&p, watch >= 0, LOOK_MS);
	}
	if (watch >= 0)
		close(watch);
	if (!ret->why && WIFEXITED(status))
		ret->exit = WEXITSTATUS(status);
	else if (!ret->why)
		ret->why = "it crashed";
}

/* part_run - 0 with *@ret filled, or a negative errno when the program cannot be started. It is
 * looked for in PATH unless its name has a '/'. Blocks up to the limit of time. */
static int part_run(
	const char *const *argv, const struct part_limits *limits, struct part_output *ret)
{
	char path[512];
	struct spawn spawn;
	pid_t pid;
	*ret = (struct part_output){0};
	const char *program = part_program(argv[0], path, sizeof(path));
	if (!program)
		return -ENOENT;
	rw_cleanup(fclosep) FILE *out = tmpfile(), *err = tmpfile();
	if (!out || !err)
		return -errno;
	spawn_begin(&spawn);
	spawn_own_group(&spawn);
	posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&spawn.files, fileno(out), STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&spawn.files, fileno(err), STDERR_FILENO);
	const int rc = spawn_run(&spawn, &pid, program, (char *const *)(uintptr_t)argv, environ);
	if (rc != 0)
		return rc;
	part_wait(pid, limits, fileno(out), fileno(err), ret);
	part_read(fileno(out), limits->bytes, &ret->out);
	part_read(fileno(err), limits->bytes, &ret->err);
	return 0;
}

static void part_output_done(struct part_output *output)
{
	str_done(&output->out);
	str_done(&output->err);
}

/*
 * tar_write - files as an archive in memory: POSIX ustar (IEEE Std 1003.1-2017, pax, "ustar
 * Interchange Format"), regular files only. Pure; any thread.
 *
 * tar_write - headers of 512 bytes, contents filled up to whole blocks.
 */

enum { BLOCK = 512 };

struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is one block");

static void tar_octal(char *field, size_t size, uint64_t value)
{
	char digits[32];
	snprintf(digits, sizeof(digits), "%0*" PRIo64, (int)size - 1, value);
	memcpy(field, digits, size);
}

/* The sum of all bytes of the header, its own field counted as blanks. */
static void tar_sum(struct tar_header *header)
{
	unsigned sum = 0;
	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += ((const unsigned char *)header)[i];
	tar_octal(header->checksum, sizeof(header->checksum) - 1, sum);
	header->checksum[7] = ' ';
}

static void tar_zeros(struct str *tar, size_t n)
{
	static const char zeros[2 * BLOCK];
	str_addn(tar, zeros, n);
}

/* tar_add - one file with mode 0600. 0, or -ENAMETOOLONG. @time_s: of its last change, since 1970.
 */
static int tar_add(struct str *tar, const char *name, const void *data, size_t n, int64_t time_s)
{
	struct tar_header header;
	const size_t length = strlen(name);
	if (length > TAR_NAME_MAX)
		return -ENAMETOOLONG;
	memset(&header, 0, sizeof(header));
	memcpy(header.name, name, length);
	tar_octal(header.mode, sizeof(header.mode), 0600);
	tar_octal(header.uid, sizeof(header.uid), 0);
	tar_octal(header.gid, sizeof(header.gid), 0);
	tar_octal(header.size, sizeof(header.size), n);
	tar_octal(header.mtime, sizeof(header.mtime), time_s < 0 ? 0 : (uint64_t)time_s);
	header.type = '0';
	memcpy(header.magic, "ustar", 6);
	memcpy(header.version, "00", 2);
	memcpy(header.user, "root", 4);
	memcpy(header.group, "root", 4);
	tar_sum(&header);
	str_addn(tar, (const char *)&header, sizeof(header));
	str_addn(tar, data, n);
	tar_zeros(tar, (BLOCK - n % BLOCK) % BLOCK);
	return 0;
}

enum {
	PART_MOST = 4 << 20, /* bytes of a part */
	CASE_MOST = 48 << 20, /* of the samples of the case */
	CONFIG_MOST = 4 << 20,
	CASE_SECONDS = 60,
	TOTAL_SECONDS = 120,
	CARDS_MOST = 20,
};

struct bundle {
	const struct bundle_ask *ask;
	struct secret_words *words;
	struct secret_mask *mask;
	char self[PATH_MAX], dir[64]; /* of this program; for the case */
	char *config_text, *db_path; /* NULL: not known */
	struct str tar;
	json_t *files, *missing;
	mono_t begun;
	wall_t now;
};

/* ---- adding -------------------------------------------------------------- */

static void bundle_lacks(struct bundle *b, const char *name, const char *why)
{
	rw_cleanup(str_done) struct str clean = {0};
	str_addn(&clean, why, strcspn(why, "\n"));
	secret_mask_text(b->mask, &clean);
	rw_cleanup(freep) char *text = text_clean_copy(str_or(clean.s, ""));
	json_array_append_new(b->missing, json_pack("{s:s, s:s}", "name", name, "why", text));
}

/* Takes what is secret out of @text, and adds it. */
static void bundle_add(struct bundle *b, const char *name, const char *what, struct str *text)
{
	char digest[HMAC_HEX_MAX];
	str_add(text, "");
	secret_mask_text(b->mask, text);
	sha256_hex(text->s, text->n, digest);
	if (tar_add(&b->tar, name, text->s, text->n, b->now.ns / NS_PER_S) != 0) {
		bundle_lacks(b, name, "its name is too long");
		return;
	}
	json_array_append_new(b->files,
		json_pack("{s:s, s:s, s:I, s:s}", "name", name, "what", what, "bytes",
			(json_int_t)text->n, "sha256", digest));
}

/* ---- parts of this program and of others --------------------------------- */

/* This program with the global options that were given, then @words; or another one. */
static void bundle_words(
	const struct bundle *b, const char *const *words, const char *argv[static 2 * BUNDLE_WORDS])
{
	size_t n = 0;
	argv[n++] = words[0] ? words[0] : b->self;
	for (size_t i = 1; words[i]; i++)
		argv[n++] = words[i];
	if (!words[0] && b->ask->config) {
		argv[n++] = "--config";
		argv[n++] = b->ask->config;
	}
	const bool reads = !words[0] && !str_eq(words[1], "config") &&
		!str_eq(words[1], "profile") && !str_eq(words[1], "--version") &&
		!str_eq(words[1], "alert");
	if (reads && b->ask->db) {
		argv[n++] = "--db";
		argv[n++] = b->ask->db;
	}
	argv[n] = NULL;
}

static int64_t bundle_left_ns(const struct bundle *b)
{
	return TOTAL_SECONDS * NS_PER_S - (mono_now().ns - b->begun.ns);
}

static void bundle_add_part(struct bundle *b, const struct bundle_part *part)
{
	const char *argv[2 * BUNDLE_WORDS];
	struct part_limits limits = {part->seconds * NS_PER_S, PART_MOST, NULL, 0};
	rw_cleanup(part_output_done) struct part_output output = {0};
	if (bundle_left_ns(b) < limits.time_ns)
		limits.time_ns = bundle_left_ns(b);
	if (limits.time_ns <= 0) {
		bundle_lacks(b, part->name, "no time was left for it");
		return;
	}
	bundle_words(b, part->words, argv);
	const int rc = part_run(argv, &limits, &output);
	if (rc != 0) {
		rw_cleanup(str_done) struct str why = {0};
		str_addf(&why, "%s: %s", argv[0], strerror(-rc));
		bundle_lacks(b, part->name, why.s);
		return;
	}
	if (output.exit < 0)
		bundle_lacks(b, part->name, output.why);
	else if (output.out.n == 0 && output.err.n > 0)
		bundle_lacks(b, part->name, output.err.s);
	const bool is_json = strstr(part->name, ".json") != NULL;
	if (output.err.n > 0 && !is_json)
		str_addf(&output.out, "\n-- on standard error, exit code %d:\n%s", output.exit,
			output.err.s);
	if (output.out.n > 0)
		bundle_add(b, part->name, part->what, &output.out);
}

/* The cards of open incidents, one after the other, instead of their list only. */
static void bundle_add_cards(struct bundle *b)
{
	static const char *const list[] = {
		NULL, "incident", "list", "--format", "json", "--quiet", NULL};
	const char *argv[2 * BUNDLE_WORDS];
	const struct part_limits limits = {20 * NS_PER_S, PART_MOST, NULL, 0};
	rw_cleanup(part_output_done) struct part_output output = {0};
	json_t *row;
	size_t i;
	bundle_words(b, list, argv);
	if (part_run(argv, &limits, &output) != 0 || !output.out.s)
		return;
	json_t *doc = json_loads(output.out.s, 0, NULL);
	json_array_foreach (json_object_get(doc, "incidents"), i, row) {
		const char *id = json_string_value(json_object_get(row, "id"));
		if (!id || i == CARDS_MOST)
			break;
		struct bundle_part card = {.what = "the card of an open incident, whole",
			.words = {NULL, "incident", "show", id, "--full"},
			.seconds = 15};
		snprintf(card.name, sizeof(card.name), "incidents/%.40s.txt", id);
		bundle_add_part(b, &card);
	}
	json_decref(doc);
}

/* ---- files --------------------------------------------------------------- */

static void bundle_add_config(struct bundle *b)
{
	rw_cleanup(str_done) struct str text = {0};
	if (!b->config_text) {
		bundle_lacks(b, "config-file.yaml",
			"the file cannot be read: secrets that it names are not known");
		return;
	}
	str_add(&text, b->config_text);
	bundle_add(b, "config-file.yaml", "the configuration file as it is, secrets masked", &text);
}

static void bundle_add_environment(struct bundle *b)
{
	rw_cleanup(str_done) struct str text = {0};
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, "ROCEWATCH", strlen("ROCEWATCH")) == 0)
			str_addf(&text, "%s\n", *variable);
	if (text.n > 0)
		bundle_add(b, "environment.txt", "variables ROCEWATCH*", &text);
}

/* Texts only: what is secret in other files cannot be found. */
static void bundle_add_given(struct bundle *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	rw_cleanup(freep) char *data = NULL;
	struct bundle_part part = {0};
	struct err e = {0};
	size_t n = 0;
	snprintf(part.name, sizeof(part.name), "added/%.80s", slash ? slash + 1 : path);
	if (str_read_file(path, PART_MOST, &data, &n, &e) != 0) {
		bundle_lacks(b, part.name, e.text);
		return;
	}
	if (memchr(data, '\0', n)) {
		bundle_lacks(b, part.name, "it is not a text: secrets in it could not be found");
		return;
	}
	rw_cleanup(str_done) struct str text = {0};
	str_addn(&text, data, n);
	bundle_add(b, part.name, "a file that was given with --add", &text);
}

/* ---- the case ------------------------------------------------------------ */

static int bundle_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void bundle_clear(const char *dir)
{
	enum { DEPTH = 4 };
	nftw(dir, bundle_remove, DEPTH, FTW_DEPTH | FTW_PHYS);
}

/* Exports the case to @dir. 0; -EFBIG: its samples are more than fit; -EIO with @why otherwise. */
static int bundle_export(struct bundle *b, const char *dir, const char *since, struct str *why)
{
	const struct bundle_ask *ask = b->ask;
	const char *argv[2 * BUNDLE_WORDS];
	const char *range[BUNDLE_WORDS] = {NULL, "db", "export", dir, "--since", since};
	const char *one[BUNDLE_WORDS] = {NULL, "incident", "export", ask->incident, "--out", dir};
	rw_cleanup(str_done) struct str samples = {0};
	rw_cleanup(part_output_done) struct part_output output = {0};
	struct stat st;
	str_addf(&samples, "%s/samples.tsv", dir);
	struct part_limits limits = {CASE_SECONDS * NS_PER_S, PART_MOST, samples.s, CASE_MOST};
	if (bundle_left_ns(b) < limits.time_ns)
		limits.time_ns = bundle_left_ns(b);
	if (ask->until) {
		range[6] = "--until";
		range[7] = ask->until;
	}
	bundle_words(b, ask->incident ? one : range, argv);
	const int rc = part_run(argv, &limits, &output);
	const bool large = stat(samples.s, &st) == 0 && st.st_size > CASE_MOST;
	if (large)
		return -EFBIG;
	if (rc != 0)
		str_add(why, strerror(-rc));
	else if (output.exit < 0)
		str_add(why, output.why);
	else if (output.exit != 0)
		str_add(why, str_or(output.err.s, "it failed"));
	return rc == 0 && output.exit == 0 ? 0 : -EIO;
}

static void bundle_add_case_files(struct bundle *b, const char *dir)
{
	static const struct {
		const char *file, *name, *what;
	} files[] = {
		{"fabric.yaml", "case/fabric.yaml", "the fabric of the case"},
		{"samples.tsv", "case/samples.tsv",
			"samples: rocewatch replay --from case finds the same again"},
	};
	for (size_t i = 0; i < rw_countof(files); i++) {
		rw_cleanup(str_done) struct str path = {0}, text = {0};
		rw_cleanup(freep) char *data = NULL;
		struct err e = {0};
		size_t n = 0;
		str_addf(&path, "%s/%s", dir, files[i].file);
		if (str_read_file(path.s, CASE_MOST, &data, &n, &e) != 0) {
			bundle_lacks(b, files[i].name, e.text);
			continue;
		}
		str_addn(&text, data, n);
		bundle_add(b, files[i].name, files[i].what, &text);
	}
}

/* The range that was asked for; where it has too many samples, a shorter one of its end. */
static void bundle_add_case(struct bundle *b)
{
	static const char *const shorter[] = {"1h", "20m", "5m", "1m"};
	const struct bundle_ask *ask = b->ask;
	rw_cleanup(str_done) struct str why = {0};
	snprintf(b->dir, sizeof(b->dir), "/tmp/rocewatch-bundle-XXXXXX");
	if (!mkdtemp(b->dir)) {
		bundle_lacks(b, "case/", strerror(errno));
		return;
	}
	int rc = -EFBIG;
	for (size_t i = 0; i < rw_countof(shorter) && rc == -EFBIG; i++) {
		rw_cleanup(str_done) struct str dir = {0};
		const bool fixed = ask->since || ask->incident;
		str_addf(&dir, "%s/%zu", b->dir, i);
		rc = bundle_export(b, dir.s, ask->since ? ask->since : shorter[i], &why);
		if (rc == 0)
			bundle_add_case_files(b, dir.s);
		else if (rc == -EFBIG && (fixed || i + 1 == rw_countof(shorter))) {
			str_addf(&why, "its samples are more than %s; give a shorter range",
				number_size(CASE_MOST).s);
			rc = -EIO;
		} else if (rc == -EFBIG)
			bundle_lacks(b, "case/", "its range was shortened: too many samples");
		bundle_clear(dir.s);
	}
	if (rc != 0)
		bundle_lacks(b, "case/", str_or(why.s, "it failed"));
	bundle_clear(b->dir);
}

/* ---- README and manifest ------------------------------------------------- */

static void bundle_add_readme(struct bundle *b)
{
	rw_cleanup(str_done) struct str text = {0};
	char now[WALL_TEXT_MAX];
	json_t *row;
	size_t i;
	str_addf(&text,
		"# Support bundle of rocewatch " RW_VERSION ", %s\n\n"
		"Please look through these files before you send them to anybody. Known secrets\n"
		"were replaced by MASKED (%s places), but only you know what else is\n"
		"confidential: names of devices, hosts and jobs are in it%s\n\n"
		"Replay the case: rocewatch replay --from case\n\n"
		"Files:\n",
		wall_text(now, b->now, 0), number_count(secret_mask_count(b->mask)).s,
		b->ask->anonymize ? "; IP addresses were\nreplaced, each always by the same one."
				  : ", and IP addresses\n(--anonymize replaces these).");
	json_array_foreach (b->files, i, row)
		str_addf(&text, "- %s: %s\n", json_string_value(json_object_get(row, "name")),
			json_string_value(json_object_get(row, "what")));
	str_add(&text, "- manifest.json: this list with sizes and SHA-256\n");
	if (json_array_size(b->missing) > 0)
		str_add(&text, "\nMissing:\n");
	json_array_foreach (b->missing, i, row)
		str_addf(&text, "- %s: %s\n", json_string_value(json_object_get(row, "name")),
			json_string_value(json_object_get(row, "why")));
	bundle_add(b, "README.md", "what each file is", &text);
}

static json_t *bundle_manifest(const struct bundle *b)
{
	char now[WALL_TEXT_MAX];
	return json_pack("{s:s, s:s, s:I, s:b, s:O, s:O}", "program", "rocewatch " RW_VERSION,
		"created", wall_format(now, b->now, 3), "masked",
		(json_int_t)secret_mask_count(b->mask), "anonymized", (int)b->ask->anonymize,
		"files", b->files, "missing", b->missing);
}

json_t *bundle_plan(const struct bundle_ask *ask)
{
	static const struct {
		const char *name, *what, *from;
	} others[] = {
		{"README.md", "what each file is", ""},
		{"manifest.json", "sizes, SHA-256, and what is missing", ""},
		{"config-file.yaml", "the configuration file as it is, secrets masked", "the file"},
		{"environment.txt", "variables ROCEWATCH*, secrets masked", "the environment"},
		{"system.txt", "kernel, limits, memory, disk, clock, files of the store",
			"/proc, /etc/os-release"},
		{"incidents/ID.txt", "the cards of open incidents, whole",
			"rocewatch incident show"},
		{"case/", "samples of the last hour or as asked, to replay", "rocewatch db export"},
	};
	json_t *parts = json_array();
	struct bundle_part part;
	for (size_t i = 0; i < rw_countof(others); i++)
		json_array_append_new(parts,
			json_pack("{s:s, s:s, s:s}", "name", others[i].name, "what", others[i].what,
				"from", others[i].from));
	for (size_t i = 0; bundle_part_at(ask, i, &part); i++) {
		rw_cleanup(str_done) struct str from = {0};
		str_add(&from, part.words[0] ? part.words[0] : "rocewatch");
		for (size_t k = 1; part.words[k]; k++)
			str_addf(&from, " %s", part.words[k]);
		json_array_append_new(parts,
			json_pack("{s:s, s:s, s:s}", "name", part.name, "what", part.what, "from",
				from.s));
	}
	for (size_t i = 0; ask->added && ask->added[i]; i++)
		json_array_append_new(parts,
			json_pack("{s:s, s:s, s:s}", "name", "added/", "what",
				"a file that was given", "from", ask->added[i]));
	return json_pack("{s:o}", "parts", parts);
}

/* ---- the file ------------------------------------------------------------ */

static int bundle_save(int fd, const struct str *packed)
{
	for (size_t done = 0; done < packed->n;) {
		const ssize_t n = write(fd, packed->s + done, packed->n - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			done += (size_t)n;
	}
	return fsync(fd) == 0 || errno == EINVAL ? 0 : -errno;
}

static void bundle_begin(struct bundle *b)
{
	const char *config = b->ask->config ? b->ask->config : "/etc/rocewatch/rocewatch.yaml";
	size_t n = 0;
	struct err e = {0};
	const ssize_t length = readlink("/proc/self/exe", b->self, sizeof(b->self) - 1);
	if (length > 0)
		b->self[length] = '\0';
	b->begun = mono_now();
	b->now = wall_now();
	b->files = json_array();
	b->missing = json_array();
	b->words = secret_words_new();
	secret_words_environment(b->words);
	if (str_read_file(config, CONFIG_MOST, &b->config_text, &n, &e) == 0) {
		secret_words_config(b->words, b->config_text);
		b->db_path = config_salvage_store(b->config_text, n);
	}
	if (b->ask->db) {
		free(b->db_path);
		b->db_path = rw_strdup(b->ask->db);
	}
	b->mask = secret_mask_new(b->words, b->ask->anonymize);
}

static void bundle_done(struct bundle *b)
{
	if (b->config_text)
		explicit_bzero(b->config_text, strlen(b->config_text));
	free(b->config_text);
	free(b->db_path);
	secret_mask_free(b->mask);
	secret_words_free(b->words);
	json_decref(b->files);
	json_decref(b->missing);
	str_done(&b->tar);
}

static void bundle_collect(struct bundle *b)
{
	struct bundle_part part;
	rw_cleanup(str_done) struct str system = {0};
	bundle_system_add(&system, b->db_path);
	bundle_add(b, "system.txt", "kernel, limits, memory, disk, clock, files of the store",
		&system);
	bundle_add_config(b);
	bundle_add_environment(b);
	for (size_t i = 0; bundle_part_at(b->ask, i, &part); i++)
		bundle_add_part(b, &part);
	bundle_add_cards(b);
	bundle_add_case(b);
	for (size_t i = 0; b->ask->added && b->ask->added[i]; i++)
		bundle_add_given(b, b->ask->added[i]);
	bundle_add_readme(b);
}

int bundle_write(const char *path, const struct bundle_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(bundle_done) struct bundle b = {.ask = ask};
	rw_cleanup(str_done) struct str packed = {0};
	/* first: two minutes of work for a name that is taken would be a pity */
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return err_at(e, -EEXIST, path, 0, 0, "exists already; give another name");
	if (fd < 0)
		return err_at(e, -errno, path, 0, 0, "cannot write: %s", strerror(errno));
	bundle_begin(&b);
	bundle_collect(&b);
	json_t *manifest = bundle_manifest(&b);
	rw_cleanup(freep) char *text = json_dumps(manifest, JSON_INDENT(2));
	tar_add(&b.tar, "manifest.json", text, strlen(text), b.now.ns / NS_PER_S);
	tar_zeros(&b.tar, 2 * BLOCK); /* behind the last file */
	deflate_bytes(DEFLATE_GZIP, b.tar.s, b.tar.n, &packed);
	int rc = bundle_save(fd, &packed);
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0) {
		unlink(path);
		json_decref(manifest);
		return err_at(e, rc, path, 0, 0, "cannot write: %s", strerror(-rc));
	}
	*ret = manifest;
	return 0;
}
