/* blame_view - what is found against a host or port, as people read it. */
#include "agent/answers/incident/blame_view.h"

#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/incident/incident_view.h"

#define PORTS_SHOWN 8

/* "node-047  at leaf1:Ethernet47, ... and 7 more  job train" */
static void print_entity(FILE *out, const json_t *doc)
{
	const json_t *ports = json_object_get(doc, "ports"), *o;
	size_t k;
	fprintf(out, "%s", doc_word(doc, "entity"));
	const char *host = doc_word(doc, "host");
	if (*host && !str_eq(host, doc_word(doc, "entity")))
		fprintf(out, "  (%s)", host);
	fprintf(out, "  at ");
	json_array_foreach (ports, k, o)
		if (k < PORTS_SHOWN)
			fprintf(out, "%s%s:%s", str_if(k, ", "), doc_word(o, "device"),
				doc_word(o, "port"));
	if (json_array_size(ports) > PORTS_SHOWN)
		fprintf(out, " and %zu more", json_array_size(ports) - PORTS_SHOWN);
	json_array_foreach (json_object_get(doc, "jobs"), k, o)
		fprintf(out, "%s%s", k ? ", " : "  job ", json_string_value(o));
	fputc('\n', out);
}

static void blame_view_print_card(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *against = json_object_get(doc, "incidents"), *o;
	size_t k;
	print_entity(out, doc);
	if (json_array_size(against) == 0)
		fprintf(out, "no findings\n");
	json_array_foreach (against, k, o) {
		fputc('\n', out);
		if (k == 0)
			incident_card_view.text(out, o, &incident_card_view, color, header);
		else
			fprintf(out, "also %s  %s  %s  %s\n", doc_word(o, "id"),
				doc_word(o, "severity"), doc_word(o, "state"),
				doc_word(o, "headline"));
	}
	json_array_foreach (json_object_get(doc, "victim_of"), k, o) {
		const bool direct = str_eq(doc_word(o, "role"), "direct_victim");
		fprintf(out, "%s%s victim of %s  %s  %s  %s\n", str_if(!k, "\n"),
			direct ? "direct" : "indirect", doc_word(o, "id"), doc_word(o, "severity"),
			doc_word(o, "state"), doc_word(o, "headline"));
	}
}

const struct view blame_view = {.title = "Blame",
	.rows = "incidents",
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = blame_view_print_card,
	.empty = "no findings"};
