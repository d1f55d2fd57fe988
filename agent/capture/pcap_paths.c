/* pcap_paths - directories of rotated captures. */
#include "agent/capture/pcap_paths.h"

#include <dirent.h>
#include <sys/stat.h>

static void paths_free(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

void pcap_paths_done(struct pcap_paths *paths)
{
	paths_free(paths->v, paths->n);
	paths_free(paths->left_out, paths->n_left_out);
	*paths = (struct pcap_paths){0};
}

static void paths_append(struct pcap_paths *paths, const char *path)
{
	rw_grow(paths->v, paths->n, paths->cap);
	paths->v[paths->n++] = rw_strdup(path);
}

static void paths_leave_out(struct pcap_paths *paths, const char *name)
{
	rw_grow(paths->left_out, paths->n_left_out, paths->cap_left_out);
	paths->left_out[paths->n_left_out++] = rw_strdup(name);
}

/* paths_is_number - "", "12" or ".12": what a rotation puts behind a name. */
static bool paths_is_number(const char *text)
{
	if (*text == '.' && text[1])
		text++;
	return text[strspn(text, "0123456789")] == '\0';
}

bool pcap_paths_is_capture(const char *name)
{
	static const char *const endings[] = {".pcapng", ".pcap", ".cap"};
	for (size_t i = 0; i < rw_countof(endings); i++) {
		const size_t n = strlen(endings[i]);
		for (const char *at = strstr(name, endings[i]); at; at = strstr(at + 1, endings[i]))
			if (paths_is_number(at + n))
				return true;
	}
	return false;
}

static bool paths_is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* One name of a directory. */
static void paths_add_name(struct pcap_paths *paths, const char *directory, const char *name)
{
	const size_t slash = strlen(directory) && directory[strlen(directory) - 1] != '/';
	char *path = NULL;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	if (asprintf(&path, "%s%.*s%s", directory, (int)slash, "/", name) < 0)
		return;
	if (pcap_paths_is_capture(name) && !paths_is_directory(path))
		paths_append(paths, path);
	else
		paths_leave_out(paths, path);
	free(path);
}

int pcap_paths_add(struct pcap_paths *paths, const char *path, struct err *e)
{
	struct dirent **names = NULL;
	const size_t before = paths->n;
	if (strcmp(path, "-") == 0 || !paths_is_directory(path)) {
		paths_append(paths, path);
		return 0;
	}
	const int n = scandir(path, &names, NULL, versionsort);
	if (n < 0)
		return err_set(e, -errno, "%s", strerror(errno));
	for (int i = 0; i < n; i++) {
		paths_add_name(paths, path, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (paths->n == before)
		return err_set(e, -ENOENT,
			"a directory without capture files (names that end in .pcap, .pcapng or "
			".cap)");
	return 0;
}
