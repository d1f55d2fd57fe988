/* refused - a few senders, those that are refused most. */
#include "collectors/target/refused.h"

void refused_add(struct refused *refused, const char *sender)
{
	size_t i = 0, least = 0;
	for (; i < refused->n && !str_eq(refused->v[i].sender, sender); i++)
		if (refused->v[i].times < refused->v[least].times)
			least = i;
	if (i == REFUSED_SENDERS)
		i = least;
	else if (i == refused->n)
		refused->n++;
	if (!str_eq(refused->v[i].sender, sender)) {
		refused->v[i].before = refused->v[i].times;
		snprintf(refused->v[i].sender, sizeof(refused->v[i].sender), "%s", sender);
	}
	refused->v[i].times++;
}

void refused_figures(
	const struct refused *refused, const char *reason, collector_figure_fn *fn, void *arg)
{
	for (size_t i = 0; i < refused->n; i++) {
		char key[ADDRESS_TEXT_MAX + 40];
		snprintf(key, sizeof(key), "refused:%s:%s", reason, refused->v[i].sender);
		fn(arg, key, "", (double)(refused->v[i].times - refused->v[i].before));
	}
}
