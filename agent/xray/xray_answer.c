/* xray_answer - see xray_answer.h. */
#include "agent/xray/xray_answer.h"

#include <arpa/inet.h>

static const struct {
	const char *word, *why;
} refusals[XRAY_REFUSALS] = {
	[XRAY_LEARNED] = {"learned", "it foretells samples that it was not learned from"},
	[XRAY_TOO_FEW] = {"too_few",
		"too few samples: 40 flows at least, and about 30 for each member"},
	[XRAY_ONE_MEMBER] = {"one_member",
		"all flows left by one member: nothing is chosen here, or the samples are of one "
		"port"},
	[XRAY_MANY_MEMBERS] = {"many_members",
		"more members than a group has: name those of one group with --members"},
	[XRAY_SPRAYED] = {"sprayed",
		"packets of one flow leave by several members: they are spread one by one, and no "
		"hash of the flow decides"},
	[XRAY_CHANGING] = {"changing",
		"the choice changed, and too little is known since the last change"},
	[XRAY_UNLEARNABLE] = {"unlearnable",
		"nothing foretells the samples: a keyed or multiplied hash, adaptive choice, a "
		"table that keeps changing, or a function that is not in the library"},
};
static const char *const kind_words[XRAY_KINDS] = {
	"bits of a linear hash", "table", "modulo", "multiplication"};
static const char *const field_words[XRAY_FIELDS] = {
	"src", "dst", "src_port", "dst_port", "protocol", "dst_qp"};
static const char *const unknown_words[] = {
	[XRAY_OUTSIDE] = "unlike the samples", [XRAY_UNSURE] = "too few samples like it"};

static const char *answer_unit_text(const struct xray_set *set, const struct xray_unit *unit)
{
	if (!*unit->group)
		return unit->device;
	return arena_printf(set->arena, "%s/%s", unit->device, unit->group);
}

/* ---- learning --------------------------------------------------------------- */

static int answer_by_time(const void *left, const void *right)
{
	const struct xray_sample *a = left, *b = right;
	return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

/* Samples of several files come one file after the other. */
static void answer_sort(struct xray_unit *unit)
{
	bool sorted = true;
	for (size_t i = 1; i < unit->n && sorted; i++)
		sorted = unit->samples[i - 1].t_ns <= unit->samples[i].t_ns;
	if (!sorted)
		qsort(unit->samples, unit->n, sizeof(*unit->samples), answer_by_time);
}

/* The unit of this switch, group (NULL: its only one) and family. -1: none; -2: several. */
static int64_t answer_find(
	const struct xray_set *set, const char *device, const char *group, uint8_t family)
{
	int64_t found = -1;
	for (size_t i = 0; i < set->n_units; i++) {
		const struct xray_unit *unit = &set->units[i];
		if (unit->family != family || (device && !str_eq(unit->device, device)) ||
			(group && !str_eq(unit->group, group)))
			continue;
		if (found >= 0)
			return -2;
		found = (int64_t)i;
	}
	return found;
}

/* What the link says of a member, for both families. */
static int answer_link(struct xray_set *set, const struct xray_next *link, struct err *e)
{
	bool known = false;
	for (size_t i = 0; i < set->n_units; i++) {
		struct xray_unit *unit = &set->units[i];
		if (!str_eq(unit->device, link->device) ||
			(link->group && !str_eq(unit->group, link->group)))
			continue;
		known = true;
		const int64_t next = answer_find(set, link->next, link->next_group, unit->family);
		if (next == -2)
			return err_at(e, -EINVAL, set->links_file, link->line, 0,
				"'%.64s' has several groups: say which in next_group", link->next);
		for (size_t m = 0; m < unit->learned.members; m++)
			if (next >= 0 && str_eq(unit->names[unit->learned.member[m]], link->member))
				unit->next[m] = (uint32_t)next;
	}
	if (!known)
		return err_at(e, -EINVAL, set->links_file, link->line, 0,
			"no sample is of the switch '%.64s'", link->device);
	return 0;
}

int xray_learn_all(struct xray_set *set, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; i < set->n_units; i++) {
		struct xray_unit *unit = &set->units[i];
		answer_sort(unit);
		xray_learn(unit->samples, unit->n, set->arena, &unit->learned);
		unit->next = arena_array(set->arena, uint32_t, unit->learned.members + 1);
		memset(unit->next, 0xFF, (unit->learned.members + 1) * sizeof(*unit->next));
	}
	for (size_t i = 0; i < set->n_links && rc == 0; i++)
		rc = answer_link(set, &set->links[i], e);
	return rc;
}

/* ---- what was learned -------------------------------------------------------- */

static double answer_ratio(size_t part, size_t whole)
{
	if (whole == 0)
		return NAN;
	return (double)part / (double)whole;
}

static void answer_group(
	const struct xray_set *set, const struct xray_unit *unit, struct xray_group_row *ret)
{
	const struct xray_learned *learned = &unit->learned;
	*ret = (struct xray_group_row){.device = unit->device,
		.group = *unit->group ? unit->group : NULL,
		.family = unit->family,
		.samples = unit->n,
		.flows = learned->flows,
		.members = learned->members,
		.learned = learned->model != NULL,
		.verdict = refusals[learned->refusal].word,
		.why = refusals[learned->refusal].why,
		.right_ratio = answer_ratio(learned->right, learned->decided),
		.decided_ratio = answer_ratio(learned->decided, learned->held),
		.varying = learned->varying,
		.unsure = learned->unsure,
		.moved_ratio = answer_ratio(learned->moved, learned->repeated),
		.changed = TIME_UNKNOWN,
		.changed_sample = COUNT_UNKNOWN};
	if (learned->changed) {
		ret->changed_sample = learned->changed_at + 1;
		if (unit->timed)
			ret->changed = (wall_t){learned->changed_ns};
	}
	if (!learned->model) {
		ret->right_ratio = ret->decided_ratio = NAN;
		return;
	}
	unsigned fields;
	ret->by = kind_words[xray_kind(learned->model)];
	ret->hash = xray_hash(learned->model, &fields);
	ret->fields = arena_array(set->arena, const char *, XRAY_FIELDS);
	for (size_t i = 0; i < XRAY_FIELDS; i++)
		if (fields >> i & 1)
			ret->fields[ret->n_fields++] = field_words[i];
}

/* Half of what independent hashes would reach is left out by no chance. */
static const char *answer_tier_verdict(const struct xray_tiers *tiers, size_t second)
{
	if (tiers->drawn < 1000)
		return "unknown";
	if (tiers->linear && tiers->rank < tiers->bits)
		return "polarised";
	return tiers->least * 2 <= second ? "polarised" : "independent";
}

/* Does a member of @first lead to @second? */
static bool answer_leads(const struct xray_unit *first, size_t second)
{
	for (size_t m = 0; m < first->learned.members; m++)
		if (first->next[m] == second)
			return true;
	return false;
}

static void answer_tiers(const struct xray_set *set, struct xray_learn_answer *ret)
{
	size_t cap = 0;
	for (size_t i = 0; i < set->n_units; i++)
		for (size_t k = 0; k < set->n_units; k++) {
			const struct xray_unit *first = &set->units[i], *second = &set->units[k];
			if (i == k || !first->learned.model || !second->learned.model ||
				!answer_leads(first, k))
				continue;
			struct xray_tiers tiers;
			xray_compare(&first->learned, &second->learned, &tiers);
			arena_grow(set->arena, ret->tiers, ret->n_tiers, cap);
			ret->tiers[ret->n_tiers++] = (struct xray_tier_row){
				answer_unit_text(set, first), answer_unit_text(set, second),
				answer_tier_verdict(&tiers, second->learned.members), tiers.pairs,
				tiers.possible, tiers.least,
				tiers.linear ? tiers.rank : COUNT_UNKNOWN,
				tiers.linear ? tiers.bits : COUNT_UNKNOWN};
		}
}

bool xray_say_learned(struct xray_set *set, struct xray_learn_answer *ret)
{
	size_t learned = 0, polarised = 0;
	*ret = (struct xray_learn_answer){.samples = set->n_samples,
		.left_out = set->n_left_out,
		.groups = arena_array(set->arena, struct xray_group_row, set->n_units + 1)};
	for (size_t i = 0; i < set->n_units; i++) {
		answer_group(set, &set->units[i], &ret->groups[ret->n_groups++]);
		learned += ret->groups[i].learned;
	}
	answer_tiers(set, ret);
	for (size_t i = 0; i < ret->n_tiers; i++)
		polarised += str_eq(ret->tiers[i].verdict, "polarised");
	ret->verdict = arena_printf(set->arena, "%zu of %zu group%s learned", learned, set->n_units,
		str_if(set->n_units != 1, "s"));
	if (polarised)
		ret->verdict = arena_printf(set->arena, "%s; %zu of %zu pairs of tiers polarised",
			ret->verdict, polarised, ret->n_tiers);
	return learned == set->n_units && polarised == 0;
}

/* ---- paths ----------------------------------------------------------------------- */

static int answer_starts(struct xray_set *set, struct err *e)
{
	for (size_t i = 0; i < set->n_flows; i++) {
		struct xray_wanted *wanted = &set->flows[i];
		const int64_t first = answer_find(
			set, wanted->device, wanted->group, wanted->planned.flow.family);
		if (first == -2)
			return err_at(e, -EINVAL, set->flows_file, wanted->line, 0,
				"the samples are of several switches or groups: say in device and "
				"group where the flow begins");
		if (first < 0)
			return err_at(e, -EINVAL, set->flows_file, wanted->line, 0,
				"no sample is of the switch '%.64s' and IPv%u",
				str_or(wanted->device, "switch"), wanted->planned.flow.family);
		wanted->planned.first = (uint32_t)first;
	}
	return 0;
}

static const char *answer_address(struct arena *a, uint8_t family, const uint8_t *bytes)
{
	char text[INET6_ADDRSTRLEN] = "";
	inet_ntop(family == 6 ? AF_INET6 : AF_INET, bytes, text, sizeof(text));
	return arena_strdup(a, text);
}

static const char *answer_why(
	const struct xray_set *set, const struct xray_path *path, bool has_port)
{
	if (!has_port)
		return "no source port, or none that leads along a known path";
	if (path->end == XRAY_SAYS)
		return NULL;
	const struct xray_unit *unit = &set->units[path->stopped_at];
	const char *why = unknown_words[path->end];
	if (!unit->learned.model)
		why = refusals[unit->learned.refusal].word;
	return arena_printf(set->arena, "%s: %s", answer_unit_text(set, unit), why);
}

static void answer_flow(struct xray_set *set, const struct xray_node *nodes,
	const struct xray_planned *planned, struct xray_flow_row *ret)
{
	const struct xray_flow *flow = &planned->flow;
	struct xray_path path = {.end = XRAY_UNSURE};
	if (planned->given)
		path = xray_follow(nodes, planned->first, flow);
	*ret = (struct xray_flow_row){.device = answer_unit_text(set, &set->units[planned->first]),
		.src = answer_address(set->arena, flow->family, flow->src),
		.dst = answer_address(set->arena, flow->family, flow->dst),
		.dst_qp = flow->dst_qp,
		.src_port = planned->given ? flow->src_port : COUNT_UNKNOWN,
		.flow_label = COUNT_UNKNOWN,
		.weight = planned->weight,
		.path = arena_array(set->arena, const char *, XRAY_HOPS_MAX),
		.unknown = answer_why(set, &path, planned->given)};
	/* Linux, rdma_flow_label_to_udp_sport(): the lower 14 bits over 0xC000. */
	if (planned->given && flow->src_port >= 0xC000)
		ret->flow_label = flow->src_port & 0x3FFF;
	for (size_t i = 0; i < path.n; i++) {
		const struct xray_unit *unit = &set->units[path.hop[i].node];
		ret->path[ret->n_path++] = arena_printf(set->arena, "%s:%s", unit->device,
			unit->names[unit->learned.member[path.hop[i].member]]);
	}
}

static void answer_load(const struct xray_unit *unit, const struct xray_load *before,
	const struct xray_load *after, struct xray_load_row *ret)
{
	const struct xray_load *now = after ? after : before;
	const size_t members = unit->learned.members;
	size_t busiest = 0;
	*ret = (struct xray_load_row){.device = unit->device,
		.group = *unit->group ? unit->group : NULL,
		.flows = now->flows,
		.members = members,
		.before_ratio = xray_imbalance(before, members),
		.after_ratio = after ? xray_imbalance(after, members) : NAN};
	for (size_t i = 0; i < members; i++) {
		ret->idle += now->weight[i] <= 0;
		if (now->weight[i] > now->weight[busiest])
			busiest = i;
	}
	if (now->flows)
		ret->busiest = unit->names[unit->learned.member[busiest]];
}

/* Source ports as a stack draws them, for flows that have none yet: what the prescription is
 * compared with. */
static void answer_draw_ports(
	struct xray_set *set, const struct xray_ports *ports, struct xray_planned *flows)
{
	struct xray_dice dice = {0xE7037ED1A0B428DBull};
	for (size_t i = 0; i < set->n_flows; i++) {
		if (flows[i].given)
			continue;
		flows[i].given = true;
		flows[i].flow.src_port = (uint16_t)(ports->low +
			xray_dice_below(&dice, (size_t)ports->high - ports->low + 1));
	}
}

/* The group that is most uneven, after the prescription where there is one; NULL: none has flows.
 */
static const struct xray_load_row *answer_worst(
	const struct xray_paths_answer *answer, bool prescribed)
{
	const struct xray_load_row *worst = NULL;
	double most = -1;
	for (size_t i = 0; i < answer->n_loads; i++) {
		const struct xray_load_row *row = &answer->loads[i];
		const double ratio = prescribed ? row->after_ratio : row->before_ratio;
		if (ratio > most) {
			most = ratio;
			worst = row;
		}
	}
	return worst;
}

static void answer_verdict(struct xray_set *set, const struct xray_ports *ports, bool reached,
	struct xray_paths_answer *ret)
{
	const struct xray_load_row *worst = answer_worst(ret, ports != NULL);
	struct arena *a = set->arena;
	ret->verdict = arena_printf(a, "%s of %zu flow%s with a known path",
		number_count(ret->known).s, ret->n_flows, str_if(ret->n_flows != 1, "s"));
	if (worst && !ports)
		ret->verdict = arena_printf(a, "%s; most uneven: %s, max/mean-1 %.1f %%",
			ret->verdict, worst->device, 100 * worst->before_ratio);
	if (worst && ports)
		ret->verdict = arena_printf(a,
			"%s; most uneven: %s, max/mean-1 %.1f %% after %.1f %%, goal of %.1f %% %s",
			ret->verdict, worst->device, 100 * worst->after_ratio,
			100 * worst->before_ratio, 100 * ports->goal,
			reached ? "reached" : "missed");
}

int xray_ports_read(const char *range, const char *goal, struct xray_ports *ret, struct err *e)
{
	unsigned low, high;
	int end = 0;
	struct err why = {0};
	*ret = (struct xray_ports){.low = 0xC000, .high = UINT16_MAX, .goal = 0.02};
	if (goal && unit_ratio(goal, &ret->goal, &why) < 0)
		return err_set(e, -EINVAL, "goal: %s", why.text);
	if (!range)
		return 0;
	if (sscanf(range, "%5u-%5u%n", &low, &high, &end) != 2 || range[end] || low > high ||
		high > UINT16_MAX)
		return err_set(
			e, -EINVAL, "ports: '%.32s' is not a range such as 49152-65535", range);
	ret->low = (uint16_t)low;
	ret->high = (uint16_t)high;
	return 0;
}

int xray_say_paths(struct xray_set *set, const struct xray_ports *ports,
	struct xray_paths_answer *ret, bool *ret_good, struct err *e)
{
	struct arena *a = set->arena;
	struct xray_node *nodes = arena_array(a, struct xray_node, set->n_units + 1);
	struct xray_planned *flows = arena_array(a, struct xray_planned, set->n_flows + 1);
	struct xray_load *after = NULL;
	bool reached = true;
	const int rc = answer_starts(set, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < set->n_units; i++)
		nodes[i] = (struct xray_node){&set->units[i].learned, set->units[i].next};
	for (size_t i = 0; i < set->n_flows; i++)
		flows[i] = set->flows[i].planned;
	if (ports)
		answer_draw_ports(set, ports, flows);
	const struct xray_load *before = xray_loads(nodes, set->n_units, flows, set->n_flows, a);
	if (ports) {
		xray_prescribe(nodes, set->n_units, flows, set->n_flows, ports->low, ports->high);
		after = xray_loads(nodes, set->n_units, flows, set->n_flows, a);
	}
	*ret = (struct xray_paths_answer){
		.flows = arena_array(a, struct xray_flow_row, set->n_flows + 1),
		.loads = arena_array(a, struct xray_load_row, set->n_units + 1)};
	for (size_t i = 0; i < set->n_flows; i++) {
		struct xray_flow_row *row = &ret->flows[ret->n_flows++];
		answer_flow(set, nodes, &flows[i], row);
		ret->known += row->unknown == NULL;
		ret->unknown += row->unknown != NULL;
	}
	for (size_t i = 0; i < set->n_units; i++) {
		struct xray_load_row *row = &ret->loads[ret->n_loads++];
		answer_load(&set->units[i], &before[i], after ? &after[i] : NULL, row);
		reached = reached && !(ports && row->after_ratio > ports->goal);
	}
	answer_verdict(set, ports, reached, ret);
	*ret_good = reached && ret->unknown == 0;
	return 0;
}
