/* outside - access(2) asks for modes and owners, open(2) for the wall too. */
#include "agent/base/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

static atomic_bool stands;

void outside_begin(void)
{
	atomic_store(&stands, true);
}

bool outside_stands(void)
{
	return atomic_load(&stands);
}

bool outside_is(const char *path)
{
	if (!outside_stands())
		return false;
	rw_cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 && errno == EACCES && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

const char *outside_hint(const char *path)
{
	return str_if(outside_is(path),
		"; its directory was not in use when this process started, so it is closed: "
		"restart "
		"the agent (docs/security.md)");
}
