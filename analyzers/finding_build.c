/* finding_build - adds the parts of a finding. Its lists double when their length is a power of
 * two. */
#include "analyzers/finding_build.h"

#include "config/fabric.h"

/* finding_list - lists of findings that grow, sort and merge. */

struct finding *finding_add(struct finding_list *list, struct arena *a)
{
	if (list->n >= list->cap) {
		size_t cap = 16;
		if (list->cap)
			cap = list->cap * 2;
		struct finding *v = arena_array(a, struct finding, cap);
		if (list->n)
			memcpy(v, list->v, list->n * sizeof(*v));
		list->v = v;
		list->cap = cap;
	}
	struct finding *f = &list->v[list->n++];
	*f = (struct finding){
		.priority = PRIO_NONE,
		.hold = 1,
		.confidence_ratio = NAN,
		.coverage_ratio = NAN,
		.loss_ratio = NAN,
		.explained_ratio = NAN,
		.value = NAN,
		.warn = NAN,
	};
	return f;
}

static int finding_list_by_subject(const void *one, const void *other)
{
	const struct finding *x = one, *y = other;
	const char *const left[] = {x->device, x->port, x->host, x->group},
			  *const right[] = {y->device, y->port, y->host, y->group};
	for (size_t i = 0; i < rw_countof(left); i++) {
		const int c = name_compare(str_or(left[i], ""), str_or(right[i], ""));
		if (c)
			return c;
	}
	return x->priority - y->priority;
}

void finding_list_reserve(struct finding_list *list, struct arena *a, size_t more)
{
	if (list->cap - list->n >= more)
		return;
	struct finding *v = arena_array(a, struct finding, list->n + more);
	if (list->n)
		memcpy(v, list->v, list->n * sizeof(*v));
	list->v = v;
	list->cap = list->n + more;
}

void finding_list_sort(struct finding_list *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (finding_list_by_subject(&list->v[i - 1], &list->v[i]) > 0) {
			qsort(list->v, list->n, sizeof(*list->v), finding_list_by_subject);
			return;
		}
}

/* Where @finding goes in @list at or after @from. It is near as a rule: steps that double, then
 * halves. */
static size_t finding_list_position(
	const struct finding *finding, const struct finding_list *list, size_t from)
{
	size_t lo = from, hi = from;
	for (size_t step = 1; hi < list->n && finding_list_by_subject(&list->v[hi], finding) < 0;
		step *= 2) {
		lo = hi + 1;
		hi += step;
	}
	if (!(hi < list->n))
		hi = list->n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (finding_list_by_subject(&list->v[mid], finding) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The findings [@from, @end) of @list; an empty list has no memory. */
static void finding_list_append(
	struct finding_list *out, const struct finding_list *list, size_t from, size_t end)
{
	if (from == end)
		return;
	memcpy(&out->v[out->n], &list->v[from], (end - from) * sizeof(*list->v));
	out->n += end - from;
}

void finding_list_merge(const struct finding_list *few, const struct finding_list *many,
	struct arena *a, struct finding_list *out)
{
	size_t k = 0;
	const size_t n_clear = out->n_clear + few->n_clear + many->n_clear;
	if (few->n == 0 && out->n == 0) {
		*out = *many;
		out->n_clear = n_clear;
		return;
	}
	out->n_clear = n_clear;
	finding_list_reserve(out, a, few->n + many->n);
	for (size_t i = 0; i < few->n; i++) {
		const size_t end = finding_list_position(&few->v[i], many, k);
		finding_list_append(out, many, k, end);
		finding_list_append(out, few, i, i + 1);
		k = end;
	}
	finding_list_append(out, many, k, many->n);
}

/* ---- finding_build ------------------------------------------------------- */

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
