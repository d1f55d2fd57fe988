/* xray_rows - the tables of the answers: their documents, their columns, and the text for people.
 */
#include "agent/document/quantity.h"
#include "agent/xray/xray_answer.h"

#define SHAPE struct xray_group_row
static const struct field xray_group_row_fields[] = {
	TEXT(device, "Switch.", .known = true, .head = "device"),
	TEXT(group, "Its group, where the samples name it.", .head = "group"),
	COUNT(family, "IP version of the flows.", .head = "ip"),
	COUNT(samples, "Samples of it.", .head = "samples"),
	COUNT(flows, "Different flows among those that were learned from.", .head = "flows"),
	COUNT(members, "Members that were seen.", .head = "members"),
	FLAG(learned, "The function is known."),
	TEXT(verdict,
		"learned, too_few, one_member, many_members, sprayed, changing or unlearnable.",
		.known = true, .head = "verdict"),
	TEXT(why, "The same in a sentence.", .known = true),
	TEXT(by, "How a member follows from the hash.", .head = "by"),
	TEXT(hash,
		"A function of the library that fits; others may fit as well. null: any linear "
		"function was taken, or it was refused.",
		.head = "hash"),
	TEXTS(fields, "Fields that this function reads."),
	NUMBER(right_ratio, UNIT_RATIO,
		"Of the flows held back and decided: the share that was foretold rightly. What is "
		"missing to 1 are samples that are wrong.",
		.head = "right"),
	NUMBER(decided_ratio, UNIT_RATIO, "Of the flows held back: the share that was decided.",
		.head = "decided"),
	COUNT(varying, "Independent ways in which the flows differ."),
	COUNT(unsure, "Of these, those seen too rarely: flows that differ so are not decided."),
	NUMBER(moved_ratio, UNIT_RATIO,
		"Of the samples of a flow that was sampled before: the share with another member."),
	TIME(changed, "Since then the function holds; another one held before.", .head = "changed"),
	COUNT(changed_sample, "The same as the number of the sample.", .unknown = true),
};
static SHAPE_OF(xray_group_row, "XrayGroup", "What was learned of a group.");
#undef SHAPE

#define SHAPE struct xray_tier_row
static const struct field xray_tier_row_fields[] = {
	TEXT(first, "Switch that chooses first.", .known = true),
	TEXT(second, "Switch behind it.", .known = true),
	TEXT(verdict, "independent, polarised or unknown.", .known = true),
	COUNT(paths, "Pairs of members that flows take."),
	COUNT(possible, "Pairs of members that there are."),
	COUNT(least, "Members of the second that flows of one member of the first take, at least."),
	COUNT(rank, "Rank of both matrices together; null: not both are linear.", .unknown = true),
	COUNT(bits, "Bits of both; fewer in the rank: polarised, with any seed.", .unknown = true),
};
static SHAPE_OF(xray_tier_row, "XrayTiers", "Two switches, one behind the other.");
#undef SHAPE

#define SHAPE struct xray_learn_answer
static const struct field xray_learn_answer_fields[] = {
	TEXT(verdict, "The result in one sentence.", .known = true),
	COUNT(samples, "Samples that were read."),
	COUNT(left_out, "Samples of other devices or members than those named."),
	ROWS(groups, xray_group_row, "What was learned of each group."),
	ROWS(tiers, xray_tier_row, "Switches one behind the other, by --links."),
};
SHAPE_OF(xray_learn_answer, "XrayLearn", "The hash of each switch, as far as samples tell it.");
#undef SHAPE

#define SHAPE struct xray_flow_row
static const struct field xray_flow_row_fields[] = {
	TEXT(device, "Switch where it begins.", .known = true, .head = "device"),
	TEXT(src, "Source address.", .known = true, .head = "src"),
	TEXT(dst, "Destination address.", .known = true, .head = "dst"),
	COUNT(dst_qp, "Destination queue pair.", .head = "dst_qp"),
	COUNT(src_port, "UDP source port: as given, or as prescribed.", .unknown = true,
		.head = "src_port"),
	COUNT(flow_label, "Flow label of which Linux makes this port; null: it makes it of none.",
		.unknown = true, .head = "flow_label"),
	NUMBER(weight, UNIT_NONE, "Its weight.", .head = "weight"),
	TEXTS(path, "Switches and the members that it leaves by.", .head = "path"),
	TEXT(unknown, "Why the path is not known to its end; null: it is.", .head = "unknown"),
};
static SHAPE_OF(xray_flow_row, "XrayFlow", "Where a flow goes.");
#undef SHAPE

#define SHAPE struct xray_load_row
static const struct field xray_load_row_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(group, "Its group, where the samples name it."),
	COUNT(flows, "Flows through it."),
	COUNT(members, "Its members."),
	NUMBER(before_ratio, UNIT_RATIO,
		"max/mean - 1 of the weights with the ports given; where none are given, with "
		"drawn ones."),
	NUMBER(after_ratio, UNIT_RATIO, "The same with the prescribed ports."),
	TEXT(busiest, "Member that carries most."),
	COUNT(idle, "Members without a flow."),
};
static SHAPE_OF(xray_load_row, "XrayLoad", "What the flows put on a group.");
#undef SHAPE

#define SHAPE struct xray_paths_answer
static const struct field xray_paths_answer_fields[] = {
	TEXT(verdict, "The result in one sentence.", .known = true),
	COUNT(known, "Flows whose path is known to its end."),
	COUNT(unknown, "The others."),
	ROWS(flows, xray_flow_row, "The flows, in the order of the file."),
	ROWS(loads, xray_load_row, "What they put on each group."),
};
SHAPE_OF(xray_paths_answer, "XrayPaths", "Where flows go, and the ports that spread them.");
#undef SHAPE

static struct number_text rows_percent(double ratio)
{
	struct number_text text = {"-"};
	if (!isnan(ratio))
		snprintf(text.s, sizeof(text.s), "%.1f %%", 100 * ratio);
	return text;
}

static void rows_group_text(FILE *out, const struct xray_group_row *row)
{
	fprintf(out, "%s%s%s (IPv%llu): %s, %s samples, %llu members\n", row->device,
		str_if(row->group, "/"), str_or(row->group, ""), (unsigned long long)row->family,
		row->verdict, number_count(row->samples).s, (unsigned long long)row->members);
	if (row->learned) {
		fprintf(out, "  by %s", row->by);
		for (size_t i = 0; i < row->n_fields; i++)
			fprintf(out, "%s%s", i ? ", " : " of ", row->fields[i]);
		fprintf(out, "%s%s\n  of the flows held back %s decided, of these %s as foretold\n",
			str_if(row->hash, "; fits: "), str_or(row->hash, ""),
			rows_percent(row->decided_ratio).s, rows_percent(row->right_ratio).s);
	} else {
		fprintf(out, "  %s\n", row->why);
	}
	if (row->unsure)
		fprintf(out, "  %llu of %llu ways in which the flows differ were seen too rarely\n",
			(unsigned long long)row->unsure, (unsigned long long)row->varying);
	if (row->changed_sample != COUNT_UNKNOWN) {
		char time[WALL_TEXT_MAX] = "";
		if (row->changed.ns != TIME_UNKNOWN.ns)
			wall_text(time, row->changed, 3);
		fprintf(out, "  the choice changed at sample %s%s%s\n",
			number_count(row->changed_sample).s, str_if(*time, ", "), time);
	}
}

static void rows_learn_text(
	FILE *out, const void *answer, const struct view *view, bool color, bool header)
{
	const struct xray_learn_answer *a = answer;
	fprintf(out, "%s\n", a->verdict);
	for (size_t i = 0; i < a->n_groups; i++) {
		fputc('\n', out);
		rows_group_text(out, &a->groups[i]);
	}
	for (size_t i = 0; i < a->n_tiers; i++) {
		const struct xray_tier_row *row = &a->tiers[i];
		fprintf(out, "%s%s > %s: %s, %llu of %llu pairs of members", str_if(i == 0, "\n"),
			row->first, row->second, row->verdict, (unsigned long long)row->paths,
			(unsigned long long)row->possible);
		if (row->bits != COUNT_UNKNOWN)
			fprintf(out, ", rank %llu of %llu", (unsigned long long)row->rank,
				(unsigned long long)row->bits);
		fputc('\n', out);
	}
}

static void rows_flow_text(FILE *out, const struct xray_flow_row *row)
{
	fprintf(out, "%s > %s", row->src, row->dst);
	if (row->dst_qp)
		fprintf(out, " QP 0x%06llx", (unsigned long long)row->dst_qp);
	if (row->src_port != COUNT_UNKNOWN)
		fprintf(out, " port %llu", (unsigned long long)row->src_port);
	fprintf(out, ":");
	for (size_t i = 0; i < row->n_path; i++)
		fprintf(out, "%s%s", i ? " > " : " ", row->path[i]);
	if (row->unknown)
		fprintf(out, "%s not known (%s)", str_if(row->n_path, ", then"), row->unknown);
	fputc('\n', out);
}

static void rows_paths_text(
	FILE *out, const void *answer, const struct view *view, bool color, bool header)
{
	const struct xray_paths_answer *a = answer;
	fprintf(out, "%s\n\n", a->verdict);
	for (size_t i = 0; i < a->n_flows; i++)
		rows_flow_text(out, &a->flows[i]);
	for (size_t i = 0; i < a->n_loads; i++) {
		const struct xray_load_row *row = &a->loads[i];
		fprintf(out, "%s%s%s%s: %s flows on %llu members, max/mean-1 %s",
			str_if(i == 0, "\n"), row->device, str_if(row->group, "/"),
			str_or(row->group, ""), number_count(row->flows).s,
			(unsigned long long)row->members, rows_percent(row->before_ratio).s);
		if (!isnan(row->after_ratio))
			fprintf(out, ", prescribed %s", rows_percent(row->after_ratio).s);
		if (row->busiest)
			fprintf(out, ", busiest %s, %llu idle", row->busiest,
				(unsigned long long)row->idle);
		fputc('\n', out);
	}
}

static const struct shape_table learn_table = {.shape = &xray_group_row_shape};
static const struct shape_table paths_table = {.shape = &xray_flow_row_shape};

static const void *rows_learn(const void *answer, size_t *ret_n)
{
	const struct xray_learn_answer *a = answer;
	*ret_n = a->n_groups;
	return a->groups;
}

static const void *rows_paths(const void *answer, size_t *ret_n)
{
	const struct xray_paths_answer *a = answer;
	*ret_n = a->n_flows;
	return a->flows;
}

const struct view xray_learn_view = {.title = "xray learn",
	.empty = "no samples",
	.table = &learn_table,
	.table_rows = rows_learn,
	.answer_text = rows_learn_text};
const struct view xray_paths_view = {.title = "xray paths",
	.empty = "no flows",
	.table = &paths_table,
	.table_rows = rows_paths,
	.answer_text = rows_paths_text};
