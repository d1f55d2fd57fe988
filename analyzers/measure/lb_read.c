/* lb_read - reads how a device balances. */
#include "analyzers/measure/lb_read.h"

#include <ctype.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

enum { LB_TEXT_MAX = 64 };

/*
 * Words of vendors, by a part of them that tells. The first row that is found counts: "flowlet"
 * before "packet", as in a word that has both. SAI: sai_ars_mode_t, inc/saiars.h (FIXED pins a flow
 * to the port that the hash chose). EOS: `ip hardware fib load-balance distribution dynamic`.
 */
static const struct {
	const char *part;
	enum lb_policy lb;
} lb_parts[] = {
	{"source_rout", LB_SOURCE_ROUTED},
	{"flowlet", LB_FLOWLET},
	{"packet", LB_PACKET},
	{"spray", LB_PACKET},
	{"adaptive", LB_ADAPTIVE},
	{"dynamic", LB_ADAPTIVE},
	{"dlb", LB_ADAPTIVE},
	{"pinned", LB_PINNED},
	{"static", LB_STATIC},
	{"fixed", LB_STATIC},
	{"hash", LB_STATIC},
	{"disabled", LB_STATIC},
};

bool lb_parse(const char *text, enum lb_policy *ret)
{
	char word[LB_TEXT_MAX];
	size_t n = 0;
	for (; text[n] && n < sizeof(word) - 1; n++) {
		word[n] = (char)tolower((unsigned char)text[n]);
		if (word[n] == '-' || word[n] == ' ')
			word[n] = '_';
	}
	word[n] = '\0';
	for (size_t i = 0; i < rw_countof(lb_parts); i++)
		if (strstr(word, lb_parts[i].part)) {
			*ret = lb_parts[i].lb;
			return true;
		}
	return false;
}

const char *lb_read(
	const struct window *window, const char *device, enum lb_policy *ret, bool *ret_known)
{
	const uint32_t entity = entities_find(window->entities, device, "", PRIO_NONE);
	const struct series *series = NULL;
	*ret_known = false;
	if (entity != ENTITY_NONE)
		series = window_series(window, entity, M_CFG_LB_MODE);
	if (!series || !series->n)
		return NULL;
	const char *text = entities_text_get(window->entities, series->value[series->n - 1]);
	if (!text || !*text)
		return NULL;
	*ret_known = lb_parse(text, ret);
	return text;
}

bool lb_contradicts(enum lb_policy declared, enum lb_policy told)
{
	/* where the sender or an operator chooses the path, what the switch would do is of no
	 * matter */
	if (declared == LB_SOURCE_ROUTED || declared == LB_PINNED || declared == told)
		return false;
	/* adaptive does not say whether it moves packets or flowlets */
	const bool adaptive = declared == LB_ADAPTIVE || told == LB_ADAPTIVE;
	return !adaptive || declared == LB_STATIC || told == LB_STATIC;
}

enum lb_policy lb_of_group(const struct window *window, const struct fabric_group *group)
{
	enum lb_policy told;
	bool known;
	if (group->lb_own || !lb_read(window, group->device->name, &told, &known) || !known)
		return group->lb;
	if (lb_contradicts(group->lb, told))
		return told;
	return group->lb;
}
