/* live_files - the directory of a live lab: configuration and secret for an agent, what is true,
 * and what the snmpds need. */
#include "tests/fabric/live_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

const char *live_default_dir(char *buf, size_t size)
{
	snprintf(buf, size, "/tmp/rocewatch-lab-%u", (unsigned)geteuid());
	return buf;
}

/* Files of an earlier run are replaced, its database too: so the directory must be new, or be a
 * lab's by its first line. */
static int directory_is_ours(const char *dir, struct err *e)
{
	struct stat st;
	char first[64] = "";
	if (lstat(".", &st) != 0 || st.st_uid != geteuid())
		return err_set(e, -EPERM, "%s: belongs to another user; choose another --dir", dir);
	rw_cleanup(fclosep) FILE *f = fopen("rocewatch.yaml", "r");
	if (f &&
		(!fgets(first, sizeof(first), f) ||
			strncmp(first, LAB_MARK, strlen(LAB_MARK)) != 0))
		return err_set(e, -EEXIST,
			"%s: has a rocewatch.yaml that no lab wrote; choose another --dir", dir);
	if (!f && access("rocewatch.db", F_OK) == 0)
		return err_set(e, -EEXIST,
			"%s: has a rocewatch.db and no lab's rocewatch.yaml; choose another --dir",
			dir);
	return 0;
}

int live_dir_take(struct lab *l, struct err *e)
{
	static const char *const old[] = {"rocewatch.db", "rocewatch.db-wal", "rocewatch.db-shm",
		"truth.json", "rocewatch.yaml", "lab.sock", "community", "password", "ca.pem"};
	char buf[64];
	const char *dir = l->o->dir ? l->o->dir : live_default_dir(buf, sizeof(buf));
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return err_set(e, -errno, "%s: %s", dir, strerror(errno));
	/* From here on names are relative: a path of any length gives sockets with short ones. */
	if (chdir(dir) != 0 || !getcwd(l->dir, sizeof(l->dir)))
		return err_set(e, -errno, "%s: %s", dir, strerror(errno));
	int rc = directory_is_ours(l->dir, e);
	if (rc != 0)
		return rc;
	l->lock = open("lab.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->lock < 0)
		return err_set(e, -errno, "%s/lab.lock: %s", l->dir, strerror(errno));
	if (flock(l->lock, LOCK_EX | LOCK_NB) != 0)
		return err_set(e, -EBUSY,
			"%s: a lab runs there already; stop it, or choose another --dir", l->dir);
	for (size_t i = 0; i < rw_countof(old); i++)
		unlink(old[i]);
	if (mkdir("run", 0700) != 0 && errno != EEXIST)
		return err_set(e, -errno, "%s/run: %s", l->dir, strerror(errno));
	return 0;
}

/* Written beside and renamed: whoever reads sees the old file or the new one. */
static int file_write(const struct lab *l, const char *name,
	void (*write)(const struct lab *l, FILE *f), struct err *e)
{
	char fresh[64];
	snprintf(fresh, sizeof(fresh), "%s.new", name);
	unlink(fresh);
	const int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f)
		return err_set(e, -errno, "%s/%s: %s", l->dir, name, strerror(errno));
	write(l, f);
	const bool bad = ferror(f) != 0;
	if (fclose(f) != 0 || bad || rename(fresh, name) != 0)
		return err_set(e, -errno, "%s/%s: cannot write: %s", l->dir, name, strerror(errno));
	return 0;
}

static void write_truth(const struct lab *l, FILE *f)
{
	truth_write(&l->r, f);
}
int live_truth_write(const struct lab *l, struct err *e)
{
	return file_write(l, "truth.json", write_truth, e);
}

static int secret_new(struct lab *l, struct err *e)
{
	uint64_t v[2] = {0};
	if (getrandom(v, sizeof(v), 0) != (ssize_t)sizeof(v))
		return err_set(e, -errno, "no random numbers: %s", strerror(errno));
	snprintf(l->secret, sizeof(l->secret), "%016" PRIx64 "%016" PRIx64, v[0], v[1]);
	return 0;
}
static void write_secret(const struct lab *l, FILE *f)
{
	fprintf(f, "%s\n", l->secret);
}
static const char *secret_name(const struct lab *l)
{
	return l->o->face->gnmi ? "password" : "community";
}

static void write_credentials(const struct lab *l, FILE *f)
{
	if (!l->o->face->gnmi)
		fprintf(f, "  lab: { snmp: { version: 2c, community_file: \"%s/community\" } }\n",
			l->dir);
	else if (l->o->tls)
		fprintf(f,
			"  lab: { gnmi: { username: " LAB_USER
			", password_file: \"%s/password\", tls: { ca: \"%s/ca.pem\" } } }\n",
			l->dir, l->dir);
	else
		fprintf(f,
			"  lab: { gnmi: { username: " LAB_USER
			", password_file: \"%s/password\", tls: { off: true } } }\n",
			l->dir);
}

/* A machine that serves and watches eight switches may be busy: a poll that comes late is better
 * than none. */
#define LATE_POLL "deadline: 10s, "

static void write_device(const struct live_node *n, FILE *f)
{
	const struct live_gnmi_face *g = n->tables.face->gnmi;
	fprintf(f,
		"  - { name: %s, role: %s, %s%s%s%s: { address: \"%s:%d\", %scredentials: lab } "
		"}\n",
		n->tables.name,
		recorder_switch(&n->lab->r, n->device)->kind == NODE_LEAF ? "leaf" : "spine",
		g && g->profile ? "profile: " : "", g && g->profile ? g->profile : "",
		g && g->profile ? ", " : "", g ? "gnmi" : "snmp", n->address,
		g ? g->port : LAB_PORT, g ? "" : LATE_POLL);
}

static void write_config(const struct lab *l, FILE *f)
{
	const struct passwd *pw = getpwuid(geteuid());
	char interval[32], slow[32];
	unit_duration_text(interval, sizeof(interval), (int64_t)l->o->interval_ns);
	unit_duration_text(slow, sizeof(slow), (int64_t)fmax(5 * l->o->interval_ns, 5e9));
	fprintf(f,
		LAB_MARK " %s: an agent's configuration for the fabric it serves.\n# Begin with: "
			 "rocewatch -c %s/rocewatch.yaml agent\nfabric: lab\n",
		l->s->name, l->dir);
	if (pw)
		fprintf(f, "user: %s\n", pw->pw_name);
	fprintf(f, "store: { path: \"%s/rocewatch.db\", quota: 1GB }\ncredentials:\n", l->dir);
	write_credentials(l, f);
	/* Speeds and thresholds are read in the slow round: often, so that a fault in them shows
	 * while one watches. */
	fprintf(f, "defaults: { interval: %s, slow_interval: %s, timeout: 1s }\ndevices:\n",
		interval, slow);
	for (size_t i = 0; i < l->n_nodes; i++)
		write_device(&l->nodes[i], f);
	live_push_config(l, f);
	fabric_write_links(&l->r, f);
	/* Shorter windows than a site would choose: the lab is for watching. */
	fprintf(f,
		"analyzers:\n  ecmp_imbalance: { window: 5s, hold: 3 }\ntuning: { min_evidence: 1m "
		"}\n");
}

int live_files_write(struct lab *l, struct err *e)
{
	int rc = secret_new(l, e);
	if (rc == 0)
		rc = file_write(l, secret_name(l), write_secret, e);
	if (rc == 0)
		rc = file_write(l, "rocewatch.yaml", write_config, e);
	return rc == 0 ? live_truth_write(l, e) : rc;
}

int live_conf_write(const struct live_node *n, struct err *e)
{
	char path[160];
	snprintf(path, sizeof(path), "run/%s.conf", n->tables.name);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	rw_cleanup(fclosep) FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f)
		return err_set(e, -errno, "%s/%s: %s", n->lab->dir, path, strerror(errno));
	fprintf(f,
		"agentAddress udp:%s:%d\nrocommunity %s 127.0.0.0/8\nsysName %s\nsysDescr "
		"%s\nsysObjectID %s\nsysServices 72\nmaster agentx\nagentXSocket "
		"unix:run/%s.agentx\n"
		"agentXTimeout 2\nagentXRetries 0\n",
		n->address, LAB_PORT, n->lab->secret, n->tables.name, n->tables.face->descr,
		n->tables.face->object_id, n->tables.name);
	return 0;
}
