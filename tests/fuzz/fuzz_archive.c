/* fuzz_archive - a support archive from anyone: its one text stands for every database, and for
 * both readings. It is refused with words, or makes a case that is read again. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/command/try_archive.h"
#include "base/process.h"
#include "collectors/recorded/replay.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = {"CONFIG_DB.json", "APPL_DB.json", "STATE_DB.json",
	"COUNTERS_DB_1.json", "COUNTERS_DB_2.json"};

/* In memory where there is such a place; one for all runs of this process. */
static char folder[64];

static void remove_folder(void)
{
	char path[128];
	for (size_t i = 0; i < rw_countof(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/fabric.yaml", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/samples.tsv", folder);
	unlink(path);
	rmdir(folder);
}

static void make_folder(void)
{
	if (*folder)
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/rw-fuzz-XXXXXX");
	if (!mkdtemp(folder))
		snprintf(folder, sizeof(folder), "/tmp/rw-fuzz-XXXXXX");
	if (access(folder, W_OK) < 0 && !mkdtemp(folder))
		abort();
	path_ask_nobody();
	atexit(remove_folder);
}

static void write_file(const char *name, time_t t, const uint8_t *data, size_t size)
{
	char path[128];
	const struct timespec times[2] = {{t, 0}, {t, 0}};
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	if (!file)
		abort();
	if (size > 0)
		fwrite(data, 1, size, file);
	fclose(file);
	utimensat(AT_FDCWD, path, times, 0);
}

static void read_again(void)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct sample_list samples = {0};
	struct config *config = NULL;
	struct err e = {0};
	char path[128];
	snprintf(path, sizeof(path), "%s/fabric.yaml", folder);
	if (config_load(path, CONFIG_CASE, NULL, 0, &config, &errors) < 0) {
		for (size_t i = 0; i < errors.n; i++)
			err_print(stderr, &errors.v[i]);
		abort();
	}
	config_free(config);
	struct entities *entities = entities_new();
	snprintf(path, sizeof(path), "%s/samples.tsv", folder);
	if (replay_read(path, entities, &samples, &e) < 0) {
		err_print(stderr, &e);
		abort();
	}
	free(samples.v);
	entities_free(entities);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct survey survey = {0};
	struct try_archive facts;
	struct err e = {0};
	make_folder();
	char *dirs[] = {folder};
	for (size_t i = 0; i < rw_countof(files); i++)
		write_file(files[i], 1796000000 + (time_t)i, data, size);
	const int rc = try_archive_read(dirs, 1, folder, &survey, &facts, &e);
	if (rc < 0 && !*e.text)
		abort();
	if (rc == 0)
		read_again();
	survey_done(&survey);
	return 0;
}
