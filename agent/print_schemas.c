/*
 * print_schemas - the schemas of the documents whose answers have a shape, printed at each build:
 *
 *   print_schemas COMMON FOLDER     COMMON is agent/schema/common.schema.json, of the others
 *
 * Writes FOLDER/NAME.schema.json for each document below, and common.schema.json with the types
 * that they share.
 */
#include <jansson.h>

#include "agent/ranks/rank_answer.h"
#include "agent/xray/xray_answer.h"
#include "agent/answers/counters/counters_document.h"
#include "agent/answers/ecmp/answer.h"
#include "agent/answers/links/answer.h"
#include "agent/answers/lint/answer.h"
#include "agent/answers/pause/answer.h"
#include "agent/answers/spine/answer.h"
#include "agent/answers/steps/steps_document.h"
#include "agent/answers/topology/topology_views.h"
#include "agent/answers/tuning/answer.h"

#define COMMON "common.schema.json"

/* What the document of every report begins with (agent/answers/common/report_frame.h), and what a
 * comparison adds. */
struct frame {
	const char *report, *fabric;
	wall_t since, until;
	const char *state, *verdict;
	json_t *problems;
	const char **missing;
	size_t n_missing;
	json_t *figures;
};
#define SHAPE struct frame
static const struct field frame_fields[] = {
	TEXT(report, "Name of the report.", .known = true),
	TEXT(fabric, "Name of the fabric.", .known = true),
	TIME(since, "Begin of its range.", .known = true),
	TIME(until, "End of its range.", .known = true),
	TEXT(state, "State of the worst problem.", .known = true, .type = "check_state"),
	TEXT(verdict, "The result in one line.", .known = true),
	TREE(problems, "Problem", "What is wrong, the worst first.", .known = true, .list = true),
	TEXTS(missing, "Data that was not there, in words."),
	TREE(figures, "Figure", "The numbers worth comparing.", .known = true, .list = true),
};
static SHAPE_OF(frame, "Frame", "");
#undef SHAPE

struct compared {
	json_t *compare;
};
#define SHAPE struct compared
static const struct field compared_fields[] = {
	TREE(compare, "Compare", "The same report over other ranges.", .list = true,
		.optional = true),
};
static SHAPE_OF(compared, "Compared", "");
#undef SHAPE

static const struct printed {
	const char *name, *about; /* about: NULL, as the shape says */
	const struct shape *shape;
	bool framed, compared;
} documents[] = {
	{"report-links", NULL, &links_answer_shape, true, true},
	{"report-pause", NULL, &pause_answer_shape, true, true},
	{"report-spine-imbalance", NULL, &spine_answer_shape, true, true},
	{"pause-tree", NULL, &pause_tree_answer_shape, false, false},
	{"pause-ports", NULL, &pause_ports_answer_shape, false, false},
	{"topology-show", NULL, &topo_answer_shape, false, false},
	{"topology-check", NULL, &topology_audit_shape, false, false},
	{"lint", NULL, &lint_answer_shape, false, false},
	{"import-collectives", NULL, &rank_answer_shape, false, false},
	{"xray-learn", NULL, &xray_learn_answer_shape, false, false},
	{"xray-predict", NULL, &xray_paths_answer_shape, false, false},
	{"xray-prescribe", NULL, &xray_paths_answer_shape, false, false},
	{"report-tuning", NULL, &tuning_answer_shape, true, true},
	{"ecmp-groups", "Imbalance of each ECMP group with the chance baseline.",
		&spine_answer_shape, true, false},
	{"ecmp-heatmap", NULL, &ecmp_heatmap_shape, false, false},
	{"ecmp-collisions", NULL, &ecmp_collisions_shape, false, false},
	{"counters", NULL, &counters_answer_shape, false, false},
	{"steps", NULL, &steps_answer_shape, false, false},
};

static int print_file(const char *folder, const char *name, json_t *schema)
{
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s/%s", folder, name);
	FILE *out = fopen(path.s, "w");
	int rc = -1;
	if (out) {
		rc = json_dumpf(schema, out, JSON_INDENT(2));
		fputc('\n', out);
		rc = fclose(out) == 0 ? rc : -1;
	}
	if (rc < 0)
		fprintf(stderr, "print_schemas: %s could not be written\n", path.s);
	json_decref(schema);
	return rc;
}

static int print_document(const char *folder, const struct printed *document)
{
	rw_cleanup(str_done) struct str file = {0};
	json_t *schema = json_object(), *own = json_object();
	str_addf(&file, "%s.schema.json", document->name);
	json_object_set_new(
		schema, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
	json_object_set_new(schema, "$id", json_string(file.s));
	json_object_set_new(schema, "title", json_string(document->name));
	json_object_set_new(schema, "description",
		json_string(str_or(document->about, document->shape->about)));
	json_object_set_new(schema, "type", json_string("object"));
	if (document->framed)
		shape_schema(schema, &frame_shape, COMMON);
	if (document->compared)
		shape_schema(schema, &compared_shape, COMMON);
	shape_schema(schema, document->shape, COMMON);
	json_object_set_new(schema, "additionalProperties", json_false());
	shape_schema_types(own, NULL, document->shape, COMMON);
	if (json_object_size(own) > 0)
		json_object_set(schema, "$defs", own);
	json_decref(own);
	return print_file(folder, file.s, schema);
}

/* A member that no row tells, and a key twice, stop the build. */
static bool print_checked(const struct shape *shape)
{
	rw_cleanup(str_done) struct str wrong = {0};
	bool ok = shape_check(shape, &wrong);
	if (!ok)
		fprintf(stderr, "print_schemas: %s", wrong.s);
	for (size_t i = 0; i < shape->n_fields; i++)
		if (shape->fields[i].shape && !print_checked(shape->fields[i].shape))
			ok = false;
	return ok;
}

int main(int argc, char **argv)
{
	json_error_t e;
	if (argc != 3) {
		fputs("usage: print_schemas COMMON FOLDER\n", stderr);
		return 2;
	}
	json_t *common = json_load_file(argv[1], 0, &e);
	if (!common) {
		fprintf(stderr, "print_schemas: %s:%d: %s\n", argv[1], e.line, e.text);
		return 1;
	}
	int rc = 0;
	for (size_t i = 0; i < rw_countof(documents) && rc == 0; i++) {
		shape_schema_types(NULL, json_object_get(common, "$defs"), documents[i].shape, "");
		if (!print_checked(documents[i].shape))
			rc = -1;
		else
			rc = print_document(argv[2], &documents[i]);
	}
	if (rc == 0)
		rc = print_file(argv[2], COMMON, common);
	else
		json_decref(common);
	return rc < 0;
}
