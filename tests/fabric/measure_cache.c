/* measure_cache - see measure_cache.h. */
#include "tests/fabric/measure_cache.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAGIC UINT64_C(0x33656863616c7772) /* "rwlache3" */

struct head {
	uint64_t magic, endless, n_ports, n_switches;
	double duration_ns, host_end_ns, flow_p50_ns, flow_p99_ns, flow_bytes;
};

static uint64_t fnv(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* Everything but where the cache is and when the fault begins, which the fine grain does not know.
 * A scenario is zeroed before it is filled in, so that what lies between its members is zero too.
 */
static bool file_name(const struct scenario *s, char *buf, size_t size)
{
	struct scenario key;
	struct stat st;
	if (!s->cache_dir)
		return false;
	memcpy(&key, s, sizeof(key));
	key.cache_dir = NULL;
	key.at_ns = 0;
	uint64_t h = fnv(UINT64_C(0xcbf29ce484222325), &key, sizeof(key));
	if (stat("/proc/self/exe", &st) != 0)
		return false;
	h = fnv(h, &st.st_size, sizeof(st.st_size));
	h = fnv(h, &st.st_mtim, sizeof(st.st_mtim));
	return snprintf(buf, size, "%s/%s-%016" PRIx64, s->cache_dir, s->name, h) < (int)size;
}

static bool needed(const struct scenario *s, enum state state)
{
	return state == STATE_OK || (state == STATE_FAULT && s->n_faults > 0) ||
		(state == STATE_CHECKPOINT && s->checkpoint_every_ns > 0);
}

static bool read_one(FILE *f, struct measured *m)
{
	struct head h;
	if (fread(&h, sizeof(h), 1, f) != 1 || h.magic != MAGIC || h.n_ports > 1000000 ||
		h.n_switches > 100000)
		return false;
	*m = (struct measured){.duration_ns = h.duration_ns,
		.endless = h.endless,
		.host_end_ns = h.host_end_ns,
		.flow_p50_ns = h.flow_p50_ns,
		.flow_p99_ns = h.flow_p99_ns,
		.flow_bytes = h.flow_bytes,
		.n_ports = h.n_ports,
		.n_switches = h.n_switches};
	m->ports = rw_calloc(m->n_ports, sizeof(*m->ports));
	m->pool_peak = rw_calloc(m->n_switches, sizeof(*m->pool_peak));
	return fread(m->ports, sizeof(*m->ports), m->n_ports, f) == m->n_ports &&
		fread(m->pool_peak, sizeof(*m->pool_peak), m->n_switches, f) == m->n_switches;
}

bool measure_cache_read(const struct scenario *s, struct measured m[STATES][VARIANTS])
{
	char path[PATH_MAX];
	rw_cleanup(fclosep) FILE *f = file_name(s, path, sizeof(path)) ? fopen(path, "rb") : NULL;
	bool good = f != NULL;
	for (unsigned state = 0; good && state < STATES; state++)
		for (unsigned v = 0; good && needed(s, (enum state)state) && v < VARIANTS; v++)
			good = read_one(f, &m[state][v]);
	for (unsigned state = 0; f && !good && state < STATES; state++)
		for (unsigned v = 0; v < VARIANTS; v++)
			measured_done(&m[state][v]);
	return good;
}

void measure_cache_write(const struct scenario *s, struct measured m[STATES][VARIANTS])
{
	char path[PATH_MAX], temporary[PATH_MAX + 32];
	if (!file_name(s, path, sizeof(path)))
		return;
	mkdir(s->cache_dir, 0777);
	snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
	FILE *f = fopen(temporary, "wb");
	bool good = f != NULL;
	for (unsigned state = 0; good && state < STATES; state++)
		for (unsigned v = 0; good && needed(s, (enum state)state) && v < VARIANTS; v++) {
			const struct measured *x = &m[state][v];
			const struct head h = {MAGIC, x->endless, x->n_ports, x->n_switches,
				x->duration_ns, x->host_end_ns, x->flow_p50_ns, x->flow_p99_ns,
				x->flow_bytes};
			good = fwrite(&h, sizeof(h), 1, f) == 1 &&
				fwrite(x->ports, sizeof(*x->ports), x->n_ports, f) == x->n_ports &&
				fwrite(x->pool_peak, sizeof(*x->pool_peak), x->n_switches, f) ==
					x->n_switches;
		}
	if (f && fclose(f) != 0)
		good = false;
	if (!good || rename(temporary, path) != 0)
		unlink(temporary);
}
