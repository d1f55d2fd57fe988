/* ecmp_document - how even the ECMP groups are. */
#include "agent/reports/ecmp_document.h"

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/reports/ecmp_views.h"

const struct ecmp_form ecmp_forms[ECMP_FORMS] = {
	{"groups", NULL, &ecmp_groups_view},
	{"heatmap", ecmp_heatmap_json, &ecmp_heatmap_view},
	{"collisions", ecmp_collisions_json, &ecmp_collisions_view},
};

const struct ecmp_form *ecmp_form_by_name(const char *name)
{
	for (size_t i = 0; i < ECMP_FORMS; i++)
		if (str_eq(ecmp_forms[i].name, name))
			return &ecmp_forms[i];
	return NULL;
}

int ecmp_document(struct client *client, const struct ecmp_form *form, const struct report_ask *ask,
	json_t **ret, struct err *e)
{
	rw_cleanup(report_result_done) struct report_result result = {0};
	const int rc = report_spine_imbalance.collect(client, ask, &result, e);
	if (rc < 0)
		return rc;
	if (form->make)
		*ret = form->make(result.doc);
	else
		*ret = json_incref(result.doc);
	return 0;
}
