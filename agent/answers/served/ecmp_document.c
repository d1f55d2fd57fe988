/* ecmp_document - how even the ECMP groups are. */
#include "agent/answers/served/ecmp_document.h"

#include "base/str.h"
#include "agent/answers/ecmp/answer.h"

static void ecmp_put(struct report_result *result, const struct shape *shape, const void *answer)
{
	json_decref(result->doc);
	result->doc = shape_json(shape, answer);
	result->answer = answer;
}

static void ecmp_make_heatmap(struct report_result *result)
{
	ecmp_put(result, &ecmp_heatmap_shape, ecmp_heatmap_make(result->answer, result->arena));
}

static void ecmp_make_collisions(struct report_result *result)
{
	ecmp_put(result, &ecmp_collisions_shape,
		ecmp_collisions_make(result->answer, result->arena));
}

const struct ecmp_form ecmp_forms[ECMP_FORMS] = {
	{"groups", &ecmp_groups_view, NULL},
	{"heatmap", &ecmp_heatmap_view, ecmp_make_heatmap},
	{"collisions", &ecmp_collisions_view, ecmp_make_collisions},
};

const struct ecmp_form *ecmp_form_by_name(const char *name)
{
	for (size_t i = 0; i < ECMP_FORMS; i++)
		if (str_eq(ecmp_forms[i].name, name))
			return &ecmp_forms[i];
	return NULL;
}

int ecmp_answer(struct client *client, const struct ecmp_form *form, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	const int rc = report_spine_imbalance.collect(client, ask, ret, e);
	if (rc == 0 && form->make)
		form->make(ret);
	return rc;
}
