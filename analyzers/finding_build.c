/* finding_build - adds the parts of a finding. Its lists double when their length is a power of
 * two. */
#include "analyzers/finding_build.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "analyzers/finding_list.h"

#define PUSH(t, list, count, ...)                                                                  \
	do {                                                                                       \
		if (((count) & ((count)-1)) == 0) {                                                \
			__typeof__(list) wider_ =                                                  \
				arena_array((t)->a, __typeof__(*(list)), (count) ? (count)*2 : 1); \
			if (count)                                                                 \
				memcpy(wider_, (list), (count) * sizeof(*(list)));                 \
			(list) = wider_;                                                           \
		}                                                                                  \
		(list)[(count)++] = __VA_ARGS__;                                                   \
	} while (0)

enum finding_verdict finding_verdict(bool found, bool answered)
{
	if (found)
		return FINDING_OVER;
	if (answered)
		return FINDING_UNDER;
	return FINDING_UNKNOWN;
}

struct draft finding_new(struct finding_list *out, const struct analyzer_in *in,
	const char *analyzer, enum finding_verdict verdict, int64_t hold)
{
	struct draft t = {.f = finding_add(out, in->arena), .a = in->arena};
	t.f->analyzer = analyzer;
	t.f->verdict = verdict;
	t.f->from_ns = in->window->from_ns;
	t.f->to_ns = in->window->to_ns;
	t.f->new_ns = in->stride_ns;
	t.f->hold = (uint32_t)hold;
	return t;
}

bool finding_is_clear(struct finding_list *out, const struct analyzer_in *in, const char *analyzer,
	const char *device, size_t n)
{
	if (!in->follows)
		return false;
	if (out->followed.device != device || out->followed.analyzer != analyzer) {
		out->followed.analyzer = analyzer;
		out->followed.device = device;
		out->followed.yes = in->follows(in->follows_arg, analyzer, device);
	}
	if (out->followed.yes)
		return false;
	out->n_clear += n;
	return true;
}

void finding_subject(struct draft *draft, const struct port_seen *port)
{
	draft->f->device = port->port->device->name;
	draft->f->port = port->port->name;
	draft->f->host = port->port->host;
}

void finding_evidence_at(struct draft *draft, const char *metric, const char *device,
	const char *port, int priority, double value, const char *unit, enum quality quality)
{
	if (isnan(value))
		return;
	PUSH(draft, draft->f->evidence, draft->f->n_evidence,
		(struct evidence){.metric = metric,
			.device = device,
			.port = port,
			.priority = priority,
			.from_ns = draft->f->from_ns,
			.to_ns = draft->f->to_ns,
			.value = value,
			.unit = unit,
			.quality = quality});
}

void finding_evidence(struct draft *draft, const char *metric, const struct port_seen *port,
	int priority, double value, const char *unit, enum quality quality)
{
	finding_evidence_at(draft, metric, port->port->device->name, port->port->name, priority,
		value, unit, quality);
}

void finding_evidence_device(struct draft *draft, const char *metric, const char *device,
	double value, const char *unit, enum quality quality)
{
	finding_evidence_at(draft, metric, device, NULL, PRIO_NONE, value, unit, quality);
}

void finding_amount(struct draft *draft, const char *metric, const struct port_seen *port,
	int priority, const struct amount *amount, const char *unit)
{
	if (amount->known)
		finding_evidence(
			draft, metric, port, priority, amount->value, unit, amount->quality);
}

static __attribute__((format(printf, 2, 0))) const char *finding_build_text_of(
	struct arena *a, const char *fmt, va_list ap)
{
	char buf[512];
	vsnprintf(buf, sizeof(buf), fmt, ap);
	return arena_strdup(a, buf);
}

static __attribute__((format(printf, 3, 0))) void add_reason(
	struct draft *draft, enum reason_sign sign, const char *fmt, va_list ap)
{
	PUSH(draft, draft->f->reasons, draft->f->n_reasons,
		(struct finding_reason){finding_build_text_of(draft->a, fmt, ap), sign});
}

void finding_rests_on(struct draft *draft, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_reason(draft, REASON_FOR, fmt, ap);
	va_end(ap);
}

void finding_against(struct draft *draft, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_reason(draft, REASON_AGAINST, fmt, ap);
	va_end(ap);
}

void finding_unproved(struct draft *draft, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_reason(draft, REASON_OPEN, fmt, ap);
	va_end(ap);
}

void finding_ruled_out(struct draft *draft, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	PUSH(draft, draft->f->ruled_out, draft->f->n_ruled_out,
		finding_build_text_of(draft->a, fmt, ap));
	va_end(ap);
}

void finding_add_role(struct draft *draft, const char *role, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	PUSH(draft, draft->f->roles, draft->f->n_roles,
		(struct finding_role){finding_build_text_of(draft->a, fmt, ap), role});
	va_end(ap);
}

void finding_step(struct draft *draft, const char *text, const char *risk)
{
	PUSH(draft, draft->f->next_steps, draft->f->n_next_steps, (struct next_step){text, risk});
}

void finding_steps(struct draft *draft, enum cause cause, unsigned facts)
{
	const struct cause_step *steps = cause_info(cause)->steps;
	for (size_t i = 0; i < CAUSE_STEPS_MAX && steps[i].text; i++)
		if ((steps[i].needs & ~facts) == 0)
			finding_step(draft, steps[i].text, steps[i].risk);
}

const char *far_end_text(const struct port_seen *near, struct arena *a)
{
	const struct fabric_port *port = near->port;
	if (port->peer)
		return arena_printf(a, "%s:%s", port->peer->device->name, port->peer->name);
	if (!port->host)
		return "its neighbour";
	if (port->host_nic[0])
		return arena_printf(a, "%s (%s)", port->host, port->host_nic);
	return port->host;
}

const char *bitrate_text(double bps, struct arena *a)
{
	char buf[32];
	return arena_strdup(a, unit_bitrate_text(buf, sizeof(buf), (uint64_t)bps));
}
