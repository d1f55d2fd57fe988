/* print_tuning - the tables of docs/tuning.md: the decision table of threshold tuning with its
 * sources, and the safety rules with their gates. */
#include <stdio.h>

#include "analyzers/tune/tune_gate.h"
#include "analyzers/tune/tune_rules.h"

/* "hosts paused, this switch pauses" */
static void print_signs(uint32_t signs)
{
	const char *between = "";
	for (unsigned bit = 0; bit < 32; bit++) {
		const char *name = tune_sign_name(1u << bit);
		if (!(signs & 1u << bit) || !name)
			continue;
		printf("%s%s", between, name);
		between = ", ";
	}
	if (!signs)
		printf("-");
	printf(" | ");
}

static void print_rule(const struct tune_rule *rule)
{
	printf("| %d | ", rule->row);
	if (rule->cause == CAUSE_NONE)
		printf("nothing to advise");
	else
		printf("`%s`", cause_name(rule->cause));
	printf(" | ");
	print_signs(rule->yes);
	print_signs(rule->no);
	print_signs(rule->not_yes);
	if (!rule->certain)
		printf("watch");
	else
		printf("%s", tune_family_name(rule->family));
	printf(" | %.2f |\n", rule->confidence);
}

static void print_rules(void)
{
	printf("### Decision table\n\nThe first rule that fits decides. Confidence is where it "
	       "starts; the quality of the data lowers it.\n\n");
	printf("| row | diagnosis | known to be so | known not to be so | not known to be so | "
	       "change | confidence |\n|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < tune_n_rules; i++)
		print_rule(&tune_rules[i]);
	printf("\n| row | about | source |\n|---|---|---|\n");
	for (int row = 1; row < TUNE_ROWS; row++)
		printf("| %d | %s | %s |\n", row, tune_row(row)->about, tune_row(row)->source);
}

static const char *or_dash(const char *text)
{
	if (text)
		return text;
	return "-";
}

static void print_gates(int rule)
{
	struct tune_gate_row gate;
	const char *between = "";
	for (size_t i = 0; tune_gate_row_at(i, &gate); i++) {
		if (gate.rule != rule)
			continue;
		printf("%s*%s*: %s", between, tune_advice_name(gate.advice), gate.when);
		between = "; ";
	}
	if (!*between)
		printf("-");
}

static void print_safety(void)
{
	struct tune_safety_rule rule;
	printf("\n### Safety rules\n\n");
	printf("| rule | says | kept by | gates | source |\n|---|---|---|---|---|\n");
	for (size_t i = 0; tune_safety_rule_at(i, &rule); i++) {
		printf("| %d | %s | %s | ", rule.number, rule.says, rule.kept_by);
		print_gates(rule.number);
		printf(" | %s |\n", or_dash(rule.source));
	}
}

int main(void)
{
	print_rules();
	print_safety();
	return 0;
}
