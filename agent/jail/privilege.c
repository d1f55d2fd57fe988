/* privilege - changes the user and drops capabilities; the only file that uses libcap-ng. */
#include "agent/jail/privilege.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"

#define DEFAULT_USER "rocewatch"
#define FILES_ENOUGH 65536 /* as in the systemd unit */
/* Its socket, and more when it is also polled over another protocol or in a namespace. */
#define FILES_PER_DEVICE 3
#define FILES_OWN 64 /* store, log, control socket and its clients */

/* What the start needs beside what is kept: to open files in directories of others, to give them to
 * the agent's user, and to become that user. */
static const unsigned ready_caps[] = {
	CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, CAP_SETUID, CAP_SETGID, CAP_SETPCAP};

static const char *const store_suffixes[] = {"", "-wal", "-shm", ".lock", ".state"};

static bool wants_capture(const struct config *config)
{
	for (size_t k = 0; k < config->n_captures; k++) {
		if (config->captures[k].interface)
			return true;
	}
	return false;
}

bool privilege_wants_netns(const struct config *config)
{
	for (size_t k = 0; k < config->n_captures; k++) {
		if (config->captures[k].netns)
			return true;
	}
	for (size_t k = 0; k < config->n_devices; k++) {
		if (config->devices[k].snmp && config->devices[k].snmp->netns)
			return true;
	}
	return false;
}

#define KEPT_MAX 3

static size_t kept_caps(const struct config *config, bool override, unsigned caps[KEPT_MAX])
{
	size_t n = 0;
	if (override)
		caps[n++] = CAP_DAC_OVERRIDE;
	if (wants_capture(config))
		caps[n++] = CAP_NET_RAW;
	if (privilege_wants_netns(config))
		caps[n++] = CAP_SYS_ADMIN;
	return n;
}

#define CAPS_MAX 64

static void select_caps(const unsigned *kept, size_t n_kept, const unsigned *ready, size_t n_ready)
{
	/* capng_clear() forgets what we have, so ask before */
	bool have[CAPS_MAX] = {false};
	for (unsigned k = 0; k < CAPS_MAX && k <= CAP_LAST_CAP; k++)
		have[k] = capng_have_capability(CAPNG_PERMITTED, k);
	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t k = 0; k < n_kept; k++) {
		if (have[kept[k]])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[k]);
	}
	for (size_t k = 0; k < n_ready; k++) {
		if (have[ready[k]])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, ready[k]);
	}
}

/*
 * Who to become: NULL in *ret for nobody.
 *
 * 1. As root: config.user, which must exist, else "rocewatch" if there is such a user.
 * 2. As somebody else: only the user we are already; -EPERM when another one is asked for.
 */
static int next_user(const struct config *config, const struct passwd **ret, struct err *e)
{
	const char *wanted = str_or(config->user, DEFAULT_USER);
	const bool root = geteuid() == 0;
	const struct passwd *user = NULL;
	*ret = NULL;
	if (root || config->user)
		user = getpwnam(wanted);
	if (root && !user && config->user)
		return err_set(e, -ENOENT,
			"user '%s' does not exist; create it, or remove 'user' from the "
			"configuration",
			wanted);
	if (root && user && user->pw_uid != 0)
		*ret = user;
	if (root || !config->user)
		return 0;
	if (!user || user->pw_uid != geteuid())
		return err_set(e, -EPERM,
			"cannot become user '%s': only root can; start as root or as that user",
			wanted);
	return 0;
}

/* With the effective rights we have now. True for a file that does not exist: open() reports that
 * better. */
static bool privilege_may(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 || errno != EACCES;
}

static bool may_in_directory_of(const char *path)
{
	rw_cleanup(freep) char *dir = rw_strdup(path);
	char *slash = strrchr(dir, '/');
	if (!slash)
		return privilege_may(".", W_OK | X_OK);
	slash[slash == dir] = '\0';
	return privilege_may(dir, W_OK | X_OK);
}

/* The first of the agent's files that plain ownership and mode do not let us use, or NULL. */
static const char *foreign_file(const struct config *config, struct str *name)
{
	for (size_t k = 0; k < rw_countof(store_suffixes); k++) {
		name->n = 0;
		str_addf(name, "%s%s", config->store.path, store_suffixes[k]);
		if (!privilege_may(name->s, R_OK | W_OK))
			return name->s;
	}
	if (!may_in_directory_of(config->store.path))
		return config->store.path;
	if (config->socket_path && !may_in_directory_of(config->socket_path))
		return config->socket_path;
	for (size_t k = 0; k < config->n_files; k++) {
		if (!privilege_may(config->files[k].path, R_OK))
			return config->files[k].path;
	}
	return NULL;
}

/* Is there a file of the agent that we cannot use without CAP_DAC_OVERRIDE? Tested with the
 * capability switched off for a moment. */
static bool needs_override(const struct config *config)
{
	rw_cleanup(str_done) struct str name = {0};
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE))
		return false;
	const unsigned search = CAP_DAC_READ_SEARCH;
	bool had_search = capng_have_capability(CAPNG_EFFECTIVE, search);
	capng_updatev(CAPNG_DROP, CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, -1);
	const char *foreign = NULL;
	if (capng_apply(CAPNG_SELECT_CAPS) == 0)
		foreign = foreign_file(config, &name);
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE);
	if (had_search)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, search);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0) {
		log_warn("privilege", "CAP_DAC_OVERRIDE cannot be taken back: %s", strerror(errno));
		return false;
	}
	if (foreign)
		log_warn("privilege",
			"keeping CAP_DAC_OVERRIDE, because %s belongs to another user; give it to "
			"root, or name its owner as 'user' in the configuration",
			foreign);
	return foreign != NULL;
}

int privilege_begin(const struct config *config, struct err *e)
{
	unsigned kept[KEPT_MAX];
	const struct passwd *user;
	const int rc = next_user(config, &user, e);
	if (rc != 0)
		return rc;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot set no_new_privs: %s", strerror(errno));
	if (capng_get_caps_process() != 0)
		return err_set(e, -EPERM, "cannot read our capabilities");
	/* Without a user to become this is the last step: keep the override if a file needs it. */
	const bool override = !user && needs_override(config);
	const size_t n_kept = kept_caps(config, override, kept);
	if (user)
		select_caps(kept, n_kept, ready_caps, rw_countof(ready_caps));
	else
		select_caps(kept, n_kept, NULL, 0);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return err_set(e, -EPERM, "cannot drop capabilities: %s", strerror(errno));
	return 0;
}

/* The store's files and the socket go to the user who will write them; a file whose owner is not
 * root keeps it. */
static void privilege_hand_over(const char *path, const char *suffix, uid_t uid, gid_t gid)
{
	rw_cleanup(str_done) struct str name = {0};
	struct stat st;
	str_addf(&name, "%s%s", path, suffix);
	/* by descriptor, so that the file that was checked is the file that is given away */
	rw_cleanup(closep) int fd = open(name.s, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0)
		return;
	const bool is_socket = S_ISSOCK(st.st_mode);
	if (!is_socket && !S_ISREG(st.st_mode))
		return;
	if (is_socket)
		gid = (gid_t)-1; /* its group says who may speak to the agent: it stays */
	if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0)
		log_warn("privilege", "%s cannot be given to the agent's user: %s", name.s,
			strerror(errno));
}

static int privilege_become(const struct config *config, const struct passwd *user, struct err *e)
{
	for (size_t k = 0; k < rw_countof(store_suffixes); k++)
		privilege_hand_over(
			config->store.path, store_suffixes[k], user->pw_uid, user->pw_gid);
	if (config->socket_path)
		privilege_hand_over(config->socket_path, "", user->pw_uid, user->pw_gid);
	if (capng_change_id((int)user->pw_uid, (int)user->pw_gid, CAPNG_INIT_SUPP_GRP) != 0)
		return err_set(
			e, -EPERM, "cannot become user %s: %s", user->pw_name, strerror(errno));
	return 0;
}

static void privilege_log(const unsigned *caps, size_t n)
{
	rw_cleanup(str_done) struct str names = {0};
	for (size_t k = 0; k < n; k++) {
		if (capng_have_capability(CAPNG_EFFECTIVE, caps[k]))
			str_addf(&names, "%s%s", str_if(names.n, ", "),
				capng_capability_to_name((int)caps[k]));
	}
	const struct passwd *self = getpwuid(geteuid());
	const char *user = "an unnamed user";
	if (self)
		user = self->pw_name;
	log_info(
		"privilege", "running as %s, capabilities kept: %s", user, str_or(names.s, "none"));
}

void privilege_files(const struct config *config)
{
	struct rlimit rl;
	rlim_t wanted = FILES_OWN + FILES_PER_DEVICE * config->n_devices + config->n_captures;
	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return;
	rlim_t most = rl.rlim_max;
	if (most > FILES_ENOUGH && wanted < FILES_ENOUGH)
		most = FILES_ENOUGH;
	if (rl.rlim_cur < most) {
		rl.rlim_cur = most;
		if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
			log_warn("privilege", "cannot raise the limit of open files: %s",
				strerror(errno));
		getrlimit(RLIMIT_NOFILE, &rl);
	}
	if (rl.rlim_cur < wanted)
		log_warn("privilege",
			"at most %llu files may be open, %zu devices can need %llu: some will not "
			"be polled. Raise the hard limit "
			"(ulimit -Hn, or LimitNOFILE= in the unit)",
			(unsigned long long)rl.rlim_cur, config->n_devices,
			(unsigned long long)wanted);
}

/* Store files in a directory that @user cannot write fail at the first checkpoint: warn now. */
static void privilege_check_store(const struct config *config, const struct passwd *user)
{
	rw_cleanup(freep) char *dir = rw_strdup(config->store.path);
	char *slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = '\0';
	if (access(dir, W_OK) < 0)
		log_warn("privilege",
			"%s cannot be written by user %s; give it to that user (chown %s %s)", dir,
			user->pw_name, user->pw_name, dir);
}

int privilege_drop(const struct config *config, struct err *e)
{
	unsigned kept[KEPT_MAX];
	const struct passwd *user;
	int rc = next_user(config, &user, e);
	if (rc != 0)
		return rc;
	if (capng_get_caps_process() != 0)
		return err_set(e, -EPERM, "cannot read our capabilities");
	/* without a user to become, what is there now is what was kept before there were threads */
	const size_t n_kept = kept_caps(config, !user, kept);
	if (user) {
		select_caps(kept, n_kept, NULL, 0);
		rc = privilege_become(config, user, e);
		if (rc != 0)
			return rc;
		privilege_check_store(config, user);
	}
	if (capng_get_caps_process() != 0)
		return err_set(e, -EPERM, "cannot read the capabilities that are left");
	privilege_log(kept, n_kept);
	return 0;
}

int privilege_none(struct err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -errno, "no_new_privs: %s", strerror(errno));
	if (capng_get_caps_process() != 0)
		return err_set(e, -EPERM, "cannot read the capabilities of this process");
	capng_clear(CAPNG_SELECT_ALL);
	/* Taking away from the bounding set needs CAP_SETPCAP; who has none has nothing to lose. */
	if (capng_apply(CAPNG_SELECT_ALL) == 0 || capng_apply(CAPNG_SELECT_CAPS) == 0)
		return 0;
	return err_set(e, -EPERM, "cannot give up the capabilities of this process");
}

static const unsigned lent_caps[] = {CAP_NET_RAW, CAP_SYS_ADMIN};

void privilege_lend(bool raw, bool netns)
{
	const bool wanted[] = {raw, netns};
	if (capng_get_caps_process() != 0)
		return;
	for (size_t k = 0; k < rw_countof(lent_caps); k++) {
		const bool lend = wanted[k] && capng_have_capability(CAPNG_PERMITTED, lent_caps[k]);
		capng_act_t act = CAPNG_DROP;
		if (lend)
			act = CAPNG_ADD;
		capng_update(act, CAPNG_INHERITABLE | CAPNG_AMBIENT, lent_caps[k]);
	}
	/* what is not lent is missing there, and the capture says so */
	const int inheritable = capng_apply(CAPNG_SELECT_CAPS);
	const int ambient = capng_apply(CAPNG_SELECT_AMBIENT);
	if (inheritable != 0 || ambient != 0)
		log_warn("privilege", "the rights that the next process inherits cannot be set: %s",
			strerror(errno));
}

int privilege_end(const char *user, struct err *e)
{
	const struct config wanted = {.user = user};
	const struct passwd *next = NULL;
	if (geteuid() == 0 && next_user(&wanted, &next, e) < 0)
		return -EPERM;
	if (next) {
		if (capng_get_caps_process() != 0)
			return err_set(e, -EPERM, "cannot read the capabilities of this process");
		capng_clear(CAPNG_SELECT_BOTH);
		if (capng_change_id((int)next->pw_uid, (int)next->pw_gid,
			    CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_AMBIENT) != 0)
			return err_set(e, -EPERM, "cannot become user %s", next->pw_name);
	}
	return privilege_none(e);
}
