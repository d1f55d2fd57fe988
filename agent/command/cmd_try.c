/*
 * cmd_try - "rocewatch try": what is wrong in this fabric, within a minute, with no configuration.
 *
 *      survey: who are they, how are they linked -> a configuration in a directory of our own ->
 *      an agent on it for some polls -> what its database answers -> the directory goes
 *
 * The agent is the same program with the same detectors, so its verdict is that of a real one that
 * has just been started.
 */
#include "agent/command/command.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/answers/common/text.h"
#include "agent/answers/doctor/doctor.h"
#include "agent/answers/incident/incident_view.h"
#include "agent/answers/status/status.h"
#include "agent/answers/doctor/doctor_coverage.h"
#include "agent/command/survey.h"
#include "agent/document/paper.h"
#include "base/log.h"
#include "base/process.h"
#include "config/config.h"

#define SURVEY_NS (15 * NS_PER_S) /* for who they are; a silent one is named */
#define WATCH_NS (40 * NS_PER_S) /* with the survey, less than a minute */
#define LOOK_NS (200 * 1000000LL)

static const struct command_option options[] = {
	SURVEY_OPTIONS,
	{"for", 0, "DURATION", "watch this long (default: 40s)"},
	{0},
};

extern const struct command command_try;

/* SIGINT and SIGTERM end the watch early: what is known by then is told, and nothing stays. */
static volatile sig_atomic_t try_stopped;

static void try_on_signal(int number)
{
	try_stopped = number;
}

struct trial {
	char dir[PATH_MAX];
	char config[PATH_MAX + 32], log[PATH_MAX + 32];
	struct survey survey;
	const struct survey_hosts *hosts;
	int64_t watch_ns;
	pid_t agent; /* 0: none runs */
};

/* ---- the directory --------------------------------------------------------- */

/* In memory where there is such a place. */
static int try_make_dir(struct trial *trial, struct err *e)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};
	for (size_t i = 0; i < rw_countof(places); i++) {
		snprintf(trial->dir, sizeof(trial->dir), "%s/rocewatch-try-XXXXXX", places[i]);
		if (mkdtemp(trial->dir)) {
			snprintf(trial->config, sizeof(trial->config), "%s/rocewatch.yaml",
				trial->dir);
			snprintf(trial->log, sizeof(trial->log), "%s/agent.log", trial->dir);
			return 0;
		}
	}
	const int rc = -errno;
	trial->dir[0] = '\0';
	return err_set(e, rc, "no directory for the trial in /dev/shm or /tmp: %s", strerror(-rc));
}

static void try_remove_dir(const struct trial *trial)
{
	if (!*trial->dir)
		return;
	DIR *dir = opendir(trial->dir);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir)) != NULL)
		if (!str_eq(entry->d_name, ".") && !str_eq(entry->d_name, ".."))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (rmdir(trial->dir) < 0)
		fprintf(stderr, "rocewatch: %s stays: %s\n", trial->dir, strerror(errno));
}

static int try_write_config(FILE *out, void *arg)
{
	const struct trial *trial = arg;
	rw_cleanup(str_done) struct str extra = {0};
	str_addf(&extra,
		"store: { path: \"%s/rocewatch.db\" }\n"
		"defaults: { interval: 2s, slow_interval: 10s }\n",
		trial->dir);
	survey_add_job(&extra, &trial->survey);
	survey_print(out, &trial->survey, trial->hosts, extra.s, true);
	if (fflush(out) != 0 || ferror(out))
		return -EIO;
	return 0;
}

/* ---- the agent ------------------------------------------------------------- */

static int try_start(struct trial *trial, struct err *e)
{
	char program[] = "/proc/self/exe", name[] = "rocewatch", option[] = "-c",
	     command[] = "agent";
	char *const argv[] = {name, option, trial->config, command, NULL};
	struct spawn spawn;
	spawn_begin(&spawn);
	posix_spawn_file_actions_addopen(
		&spawn.files, STDOUT_FILENO, trial->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&spawn.files, STDOUT_FILENO, STDERR_FILENO);
	posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	const int rc = spawn_run(&spawn, &trial->agent, program, argv, environ);
	if (rc == 0)
		return 0;
	trial->agent = 0;
	return err_set(e, rc, "the agent cannot be started: %s", strerror(-rc));
}

/* Until the time is over, or somebody stops us. -EIO when the agent has ended by itself. */
static int try_wait(struct trial *trial, struct err *e)
{
	const int64_t until_ns = mono_now().ns + trial->watch_ns;
	while (mono_now().ns < until_ns && !try_stopped) {
		const struct timespec pause = {0, LOOK_NS};
		nanosleep(&pause, NULL);
		if (waitpid(trial->agent, NULL, WNOHANG) != trial->agent)
			continue;
		char line[512] = "";
		FILE *log = fopen(trial->log, "re");
		while (log && fgets(line, sizeof(line), log))
			;
		if (log)
			fclose(log);
		line[strcspn(line, "\n")] = '\0';
		trial->agent = 0;
		return err_set(e, -EIO, "the agent ended: %s", line);
	}
	return 0;
}

static void try_stop(struct trial *trial)
{
	if (trial->agent <= 0)
		return;
	kill(trial->agent, SIGTERM);
	while (waitpid(trial->agent, NULL, 0) < 0 && errno == EINTR)
		;
	trial->agent = 0;
}

/* ---- what is told ---------------------------------------------------------- */

static void try_put_survey(FILE *out, const struct survey *survey)
{
	size_t between = 0;
	for (size_t i = 0; i < survey->n_links; i++)
		between += survey->links[i].b_device && !survey->links[i].problem;
	fprintf(out,
		"SWITCHES     answered %zu of %zu; links %zu, of them between these switches %zu\n",
		survey->n_answered, survey->n, survey->n_links, between);
	for (size_t i = 0; i < survey->n; i++)
		if (!survey->v[i].answered)
			fprintf(out, "             silent: %s\n", survey->v[i].reason);
}

static void try_put_state(FILE *out, const struct status_answer *status)
{
	rw_cleanup(str_done) struct str line = {0};
	verdict_line(&line, status->state, status->state_why);
	fputs("VERDICT      ", out);
	text_put(out, line.s);
	fputc('\n', out);
	for (size_t i = 0; i < status->n_incidents; i++) {
		const struct open_incident *incident = &status->incidents[i];
		fprintf(out, "%-12s %s %s: ", str_if(i == 0, "OPEN"), incident->severity,
			incident->cause);
		text_put(out, text_or_dash(incident->summary));
		fputc('\n', out);
	}
}

/* The worst one, as "incident show" shows it. */
static int try_put_card(
	struct client *client, const struct command_args *args, const char *id, struct err *e)
{
	struct command_args bare = *args;
	json_t *doc = NULL;
	bare.n_given = 0;
	int rc = command_document(client, &bare, "incident/show", "id", id, &doc, e);
	putchar('\n');
	if (rc == 0)
		rc = command_print(&bare, doc, &incident_card_view, e);
	json_decref(doc);
	return rc;
}

static int try_tell(const struct trial *trial, const struct command_args *args, struct err *e)
{
	struct globals globals = *args->g;
	struct client client;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct status_answer status = {0};
	struct doctor_answer doctor = {0};
	globals.config_path = trial->config;
	globals.config_named = true;
	globals.config_given = true;
	int rc = client_open(&client, &globals, trial->watch_ns, e);
	if (rc < 0)
		return rc;
	rc = status_read(&client, a, &status, e);
	if (rc == 0) {
		try_put_survey(stdout, &trial->survey);
		try_put_state(stdout, &status);
	}
	if (rc == 0 && status.n_incidents > 0)
		rc = try_put_card(&client, args, status.incidents[0].id, e);
	if (rc == 0)
		rc = doctor_read(&client, a, &doctor, e);
	if (rc == 0) {
		fputc('\n', stdout);
		coverage_print(stdout, &doctor);
		puts("A trial sees what changes while it watches, not what is usual here.\n"
		     "NEXT         rocewatch config init HOST... --community-file FILE");
		doctor_done(&doctor);
	}
	client_done(&client);
	return rc;
}

/* ---- the command ----------------------------------------------------------- */

static int try_watch(struct trial *trial, const struct command_args *args, struct err *e)
{
	int rc = survey_hosts(&trial->survey, trial->hosts, SURVEY_NS, e);
	if (rc < 0)
		return rc;
	if (trial->survey.n_answered == 0)
		return err_set(e, -EIO, "no switch answered (%zu asked): %s", trial->survey.n,
			trial->survey.v[0].reason);
	rc = try_make_dir(trial, e);
	if (rc == 0)
		rc = file_write(trial->config, try_write_config, trial, e);
	if (rc == 0)
		rc = try_start(trial, e);
	if (rc == 0)
		rc = try_wait(trial, e);
	if (rc == 0)
		rc = try_tell(trial, args, e);
	return rc;
}

static int cmd_try_run(struct command_args *args)
{
	const char *text = command_opt(&command_try, args, "for");
	const struct sigaction action = {.sa_handler = try_on_signal};
	struct err e = {0};
	struct trial trial = {.watch_ns = WATCH_NS};
	rw_cleanup(survey_hosts_done) struct survey_hosts hosts = {0};
	const int code = survey_hosts_read(&command_try, args, 0, &hosts);
	if (code != EXIT_OK)
		return code;
	if (text && (unit_duration(text, &trial.watch_ns, NULL) < 0 || trial.watch_ns <= 0))
		return usage_error(
			&command_try, "--for: '%.40s' is not a duration such as 40s", text);
	trial.hosts = &hosts;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!args->g->verbose)
		log_set_level(LOG_ERROR_);
	const int rc = try_watch(&trial, args, &e);
	try_stop(&trial);
	try_remove_dir(&trial);
	survey_done(&trial.survey);
	if (rc == 0)
		return EXIT_OK;
	err_print(stderr, &e);
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

const struct command command_try = {
	.name = "try",
	.args = "HOST...",
	.summary = "within a minute, with no configuration: what is wrong here",
	.help = "Asks these switches over SNMP or gNMI who they are and how they are linked "
		"(LLDP), "
		"watches them for a while with the detectors of the agent, and tells the verdict, "
		"the worst incident, and what these switches cannot show and why. HOST is "
		"ADDRESS[:PORT], or gnmi:ADDRESS[:PORT]. It needs no configuration and no root, "
		"changes nothing on a "
		"switch, and leaves no file behind. Ctrl-C ends it early with what is known by "
		"then.\n"
		"Exit: 0 told, whatever is wrong; 1 no switch answers.",
	.options = options,
	.examples = {{"try 192.0.2.11 192.0.2.12 192.0.2.21 --community-file community",
			     "watches three switches for forty seconds",
			     .not_run = "asks switches"},
		{"try gnmi:leaf1 --gnmi-user noc --gnmi-password-file pw --for 20s",
			"looks at one over gNMI for twenty seconds", .not_run = "asks switches"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_try_run,
};
