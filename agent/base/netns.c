/* netns - enters a network namespace and returns from it (setns(2)). */
#include "agent/base/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/str.h"

int netns_enter(const char *name, int *ret_back, struct err *e)
{
	*ret_back = -1;
	if (!name)
		return 0;

	char path[512];
	snprintf(path, sizeof(path), "%s%s", str_if(!strchr(name, '/'), "/run/netns/"), name);
	rw_cleanup(closep) int there = open(path, O_RDONLY | O_CLOEXEC);
	if (there < 0 && errno == ENOENT)
		return err_set(e, -ENODEV, "network namespace %s does not exist (%s)", name, path);
	if (there < 0)
		return err_set(e, -errno, "cannot open network namespace %s (%s): %s", name, path,
			strerror(errno));

	int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (back < 0)
		return err_set(
			e, -errno, "cannot open our own network namespace: %s", strerror(errno));
	if (setns(there, CLONE_NEWNET) < 0) {
		const int code = -errno;
		close(back);
		if (code == -ENOSYS) /* the sandbox of an agent that began without namespaces */
			return err_set(e, code,
				"cannot enter network namespace %s: none was configured when the "
				"agent started; restart it",
				name);
		return err_set(e, code, "cannot enter network namespace %s: %s%s", name,
			strerror(-code), str_if(code == -EPERM, " (needs CAP_SYS_ADMIN)"));
	}
	*ret_back = back;
	return 0;
}

void netns_leave(int back)
{
	if (back < 0)
		return;
	if (setns(back, CLONE_NEWNET) < 0) {
		log_error("netns", "cannot return to the agent's network namespace: %s",
			strerror(errno));
		abort();
	}
	close(back);
}
