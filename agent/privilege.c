/* privilege - see privilege.h. The only user of libcap-ng. */
#include "agent/privilege.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/str.h"

#define DEFAULT_USER "rocewatch"

/* What getting ready needs beside what is kept: to open files in foreign directories, hand them over, and change the user. */
static const unsigned ready_caps[] = {CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, CAP_SETUID, CAP_SETGID, CAP_SETPCAP};

static bool wants_capture(const struct config *c)
{
	for (size_t k = 0; k < c->n_captures; k++) {
		if (c->captures[k].interface)
			return true;
	}
	return false;
}

static bool wants_netns(const struct config *c)
{
	for (size_t k = 0; k < c->n_captures; k++) {
		if (c->captures[k].netns)
			return true;
	}
	for (size_t k = 0; k < c->n_devices; k++) {
		if (c->devices[k].snmp && c->devices[k].snmp->netns)
			return true;
	}
	return false;
}

static size_t kept_caps(const struct config *c, unsigned v[2])
{
	size_t n = 0;
	if (wants_capture(c))
		v[n++] = CAP_NET_RAW;
	if (wants_netns(c))
		v[n++] = CAP_SYS_ADMIN;
	return n;
}

static void select_caps(const unsigned *a, size_t n_a, const unsigned *b, size_t n_b)
{
	/* capng_clear() forgets what we have, so ask before */
	bool have[64] = {false};
	for (unsigned k = 0; k < 64 && k <= CAP_LAST_CAP; k++)
		have[k] = capng_have_capability(CAPNG_PERMITTED, k);
	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t k = 0; k < n_a; k++) {
		if (have[a[k]])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, a[k]);
	}
	for (size_t k = 0; k < n_b; k++) {
		if (have[b[k]])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, b[k]);
	}
}

int privilege_begin(const struct config *c, struct err *e)
{
	unsigned kept[2];
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot set no_new_privs: %s", strerror(errno));
	if (capng_get_caps_process() != 0)
		return err_set(e, -EPERM, "cannot read our capabilities");
	select_caps(ready_caps, rw_countof(ready_caps), kept, kept_caps(c, kept));
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return err_set(e, -EPERM, "cannot drop capabilities: %s", strerror(errno));
	return 0;
}

/* The store's files and the socket go to the user who will write them; what already has another owner than root stays as it is. */
static void hand_over(const char *path, const char *suffix, uid_t uid, gid_t gid)
{
	rw_cleanup(str_done) struct str name = {0};
	struct stat st;
	str_addf(&name, "%s%s", path, suffix);
	/* by descriptor, so that the file that was looked at is the file that is given away */
	rw_cleanup(closep) int fd = open(name.s, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 || !(S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)))
		return;
	/* the socket's group is who may speak to us: it stays */
	if (fchownat(fd, "", uid, S_ISSOCK(st.st_mode) ? (gid_t)-1 : gid, AT_EMPTY_PATH) < 0)
		log_warn("privilege", "%s cannot be given to the agent's user: %s", name.s, strerror(errno));
}

static int become(const struct config *c, const struct passwd *pw, struct err *e)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
	for (size_t k = 0; k < rw_countof(suffixes); k++)
		hand_over(c->store.path, suffixes[k], pw->pw_uid, pw->pw_gid);
	if (c->socket_path)
		hand_over(c->socket_path, "", pw->pw_uid, pw->pw_gid);
	if (capng_change_id((int)pw->pw_uid, (int)pw->pw_gid, CAPNG_INIT_SUPP_GRP) != 0)
		return err_set(e, -EPERM, "cannot become user %s: %s", pw->pw_name, strerror(errno));
	return 0;
}

static void tell(const char *user, const unsigned *v, size_t n)
{
	rw_cleanup(str_done) struct str b = {0};
	for (size_t k = 0; k < n; k++) {
		if (capng_have_capability(CAPNG_EFFECTIVE, v[k]))
			str_addf(&b, "%s%s", b.n ? ", " : "", capng_capability_to_name((int)v[k]));
	}
	log_info("privilege", "running as %s, capabilities kept: %s", user, b.n ? b.s : "none");
}

int privilege_drop(const struct config *c, struct err *e)
{
	unsigned kept[2];
	size_t n = kept_caps(c, kept);
	const char *wanted = c->user ? c->user : DEFAULT_USER;
	const struct passwd *pw = NULL;
	if (geteuid() == 0) {
		errno = 0;
		pw = getpwnam(wanted);
		if (!pw && c->user)
			return err_set(e, -ENOENT, "user '%s' does not exist; create it, or remove 'user' from the configuration", wanted);
	} else if (c->user) {
		pw = getpwnam(wanted);
		if (!pw || pw->pw_uid != geteuid())
			return err_set(e, -EPERM, "cannot become user '%s': only root can; start as root or as that user", wanted);
		pw = NULL;
	}
	if (capng_get_caps_process() != 0)
		return err_set(e, -EPERM, "cannot read our capabilities");
	if (pw && pw->pw_uid != 0) {
		select_caps(kept, n, NULL, 0);
		int rc = become(c, pw, e);
		if (rc != 0)
			return rc;
		/* store files in a directory the user cannot write would fail at the first checkpoint: say it now */
		rw_cleanup(freep) char *dir = rw_strdup(c->store.path);
		char *slash = strrchr(dir, '/');
		if (slash && slash > dir) {
			*slash = '\0';
			if (access(dir, W_OK) < 0)
				log_warn("privilege", "%s cannot be written by user %s; give it to that user (chown %s %s)", dir, pw->pw_name, pw->pw_name, dir);
		}
	} else {
		select_caps(kept, n, NULL, 0);
		if (capng_apply(CAPNG_SELECT_CAPS) != 0)
			return err_set(e, -EPERM, "cannot drop capabilities: %s", strerror(errno));
	}
	struct passwd *self = getpwuid(geteuid());
	capng_get_caps_process();
	tell(self ? self->pw_name : "an unnamed user", kept, n);
	return 0;
}
