/* subject - a few rules over the fabric. */
#include "agent/incident/subject.h"

#include <string.h>
#include "agent/base/str.h"

#define JOB_PREFIX "job:" /* the group of an incident about a job is "job:NAME" */
#define ANY_JOB "*" /* where no job is known */

static bool subject_about_job(const struct incident *incident)
{
	return incident->group && strncmp(incident->group, JOB_PREFIX, strlen(JOB_PREFIX)) == 0;
}

/* An analyzer names the host that is linked to the port: another one, and the subject is another.
 */
static bool subject_host_moved(const struct fabric_device *device, const struct incident *incident)
{
	if (!incident->port || !incident->host)
		return false;
	const struct fabric_port *port = fabric_port(device, incident->port);
	if (!port || str_eq(port->host, incident->host))
		return false;
	return port->host || port->peer || port->outsider;
}

static bool subject_group_gone(const struct fabric_device *device, const struct incident *incident)
{
	if (!incident->group || subject_about_job(incident) || device->n_groups == 0)
		return false;
	return !fabric_group(device, incident->group);
}

const char *subject_gone(const struct fabric *fabric, const struct incident *incident)
{
	if (!incident->device)
		return NULL;
	const struct fabric_device *device = fabric_device(fabric, incident->device);
	if (!device)
		return "its device is no longer configured";
	if (subject_host_moved(device, incident))
		return "its host is no longer linked to this port: renamed, or linked elsewhere";
	if (subject_group_gone(device, incident))
		return "its group of links is no longer in the topology";
	return NULL;
}

const char *subject_job_gone(const struct fabric *fabric, const struct incident *incident)
{
	if (!subject_about_job(incident))
		return NULL;
	const char *name = incident->group + strlen(JOB_PREFIX);
	if (strcmp(name, ANY_JOB) == 0)
		return NULL;
	for (size_t k = 0; k < fabric->n_jobs; k++)
		if (str_eq(fabric->jobs[k].name, name))
			return NULL;
	return "its job is no longer known";
}
