/* class_policy - the tables of words, and which one holds for a class. */
#include "config/class_policy.h"

/*
 * Sources: DCQCN (Zhu et al., SIGCOMM 2015); Ultra Ethernet Specification 1.0.1 (UET does without
 * PFC and without order); MRC (Open Compute Project, 2026: SRv6, trimming, PFC off); credit-based
 * flow control of the same Ultra Ethernet Specification, link layer (no pause frames).
 */
static const struct class_policy class_policies[CC_COUNT] = {
	[CC_DCQCN] = {"dcqcn", "DCQCN",
		"switches mark, CNPs slow the sender down, PFC is the last resort", LOSSLESS_PFC,
		.marks = true, .dcqcn = true},
	[CC_PFC_ONLY] = {"pfc_only", "PFC only", "nobody marks; pause alone holds senders back",
		LOSSLESS_PFC},
	[CC_ECN_ONLY] = {"ecn_only", "ECN only", "switches mark, and there is no PFC behind it",
		LOSSLESS_NONE, .marks = true},
	[CC_RTT] = {"rtt_cc", "round-trip time", "senders go by the round trip they measure",
		LOSSLESS_UNSAID},
	[CC_RECEIVER_DRIVEN] = {"receiver_driven", "receiver driven",
		"receivers grant what senders may send", LOSSLESS_UNSAID},
	[CC_UET] = {"uet", "UET",
		"Ultra Ethernet transport: own congestion control, any order, no PFC needed",
		LOSSLESS_UNSAID, .reorders = true},
	[CC_MRC] = {"mrc", "MRC",
		"multipath reliable connections: senders spray, switches trim, PFC is off",
		LOSSLESS_NONE, .reorders = true},
	[CC_CREDIT] = {"credit", "credits",
		"credits on each link (CBFC) keep the class lossless: no pause frames at all",
		LOSSLESS_CREDIT},
};

const char *const congestion_words[] = {
	"dcqcn", "pfc_only", "ecn_only", "rtt_cc", "receiver_driven", "uet", "mrc", "credit", NULL};
const char *const lb_words[] = {
	"static", "flowlet", "packet", "adaptive", "pinned", "source_routed", NULL};
const char *const class_lossless_words[] = {"pfc", "credit", "none", NULL};
const char *const class_ecn_words[] = {"absolute", "relative", "off", NULL};
const char *const class_trust_words[] = {"dscp", "pcp", NULL};

const struct class_policy *class_policy_of(enum congestion_policy policy)
{
	if ((size_t)policy < rw_countof(class_policies))
		return &class_policies[policy];
	return &class_policies[CC_DCQCN];
}

const char *congestion_policy_name(enum congestion_policy policy)
{
	if ((size_t)policy < CC_COUNT)
		return class_policies[policy].word;
	return "?";
}

const char *lb_policy_name(enum lb_policy policy)
{
	if ((size_t)policy < LB_COUNT)
		return lb_words[policy];
	return "?";
}

const char *class_lossless_name(enum class_lossless lossless)
{
	if (lossless > LOSSLESS_UNSAID && lossless <= LOSSLESS_NONE)
		return class_lossless_words[lossless - 1];
	return "?";
}

static const struct fabric_class *class_given(const struct fabric *fabric, int priority)
{
	if (priority >= 0 && priority < FABRIC_CLASSES && fabric->classes[priority].given)
		return &fabric->classes[priority];
	return NULL;
}

enum congestion_policy class_congestion(const struct fabric *fabric, int priority)
{
	const struct fabric_class *given = class_given(fabric, priority);
	if (given && given->congestion_given)
		return given->congestion;
	return fabric->congestion;
}

enum class_lossless class_lossless(const struct fabric *fabric, int priority)
{
	const struct fabric_class *given = class_given(fabric, priority);
	if (given && given->lossless)
		return given->lossless;
	return class_policy_of(class_congestion(fabric, priority))->lossless;
}

bool class_pause_wanted(const struct fabric *fabric, int priority)
{
	const enum class_lossless lossless = class_lossless(fabric, priority);
	return lossless == LOSSLESS_PFC || lossless == LOSSLESS_UNSAID;
}

bool class_marks(const struct fabric *fabric, int priority)
{
	const struct fabric_class *given = class_given(fabric, priority);
	if (given && given->ecn == ECN_OFF)
		return false;
	return class_policy_of(class_congestion(fabric, priority))->marks;
}

bool class_any_marks(const struct fabric *fabric)
{
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (fabric->lossless_mask >> priority & 1 && class_marks(fabric, priority))
			return true;
	return false;
}

bool class_any(const struct fabric *fabric, enum congestion_policy policy)
{
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (fabric->lossless_mask >> priority & 1 &&
			class_congestion(fabric, priority) == policy)
			return true;
	return false;
}

/* ---- maps ------------------------------------------------------------------ */

/* class_number - the number at @p, below @most; NULL: none, else what is behind it. */
static const char *class_number(const char *p, unsigned most, unsigned *ret)
{
	char *end;
	if (!isdigit((unsigned char)*p))
		return NULL;
	const unsigned long number = strtoul(p, &end, 10);
	*ret = (unsigned)number;
	return number < most ? end : NULL;
}

/* class_range - "3" or "3-5" at @p; as class_number. */
static const char *class_range(const char *p, unsigned most, unsigned *first, unsigned *last)
{
	p = class_number(p, most, first);
	*last = *first;
	if (p && *p == '-')
		p = class_number(p + 1, most, last);
	return p && *first <= *last ? p : NULL;
}

int class_map_read(const char *text, unsigned keys, uint8_t *to, struct err *e)
{
	const char *p = text;
	memset(to, CLASS_NO_ROW, keys);
	for (;;) {
		unsigned first, last, value;
		p = class_range(p, keys, &first, &last);
		if (p && *p == ':')
			p = class_number(p + 1, FABRIC_CLASSES, &value);
		else
			p = NULL;
		if (!p || (*p && *p != ','))
			return err_set(e, -EINVAL,
				"'%.64s'; expected rows of 0 to %u and 0 to %d, such as 0-2:0,3:3",
				text, keys - 1, FABRIC_CLASSES - 1);
		memset(to + first, (int)value, last - first + 1);
		if (!*p++)
			return 0;
	}
}

void class_map_text(const uint8_t *map, unsigned keys, struct str *to)
{
	const char *between = "";
	for (unsigned i = 0; i < keys; i++) {
		const unsigned first = i;
		if (map[i] == CLASS_NO_ROW)
			continue;
		while (i + 1 < keys && map[i + 1] == map[first])
			i++;
		str_addf(to, "%s%u", between, first);
		if (i > first)
			str_addf(to, "-%u", i);
		str_addf(to, ":%u", map[first]);
		between = ",";
	}
}

int class_priorities_read(const char *text, uint8_t *ret, struct err *e)
{
	*ret = 0;
	if (str_eq(text, "none"))
		return 0;
	for (const char *p = text;; p++) {
		unsigned first, last;
		p = class_range(p, FABRIC_CLASSES, &first, &last);
		if (!p || (*p && *p != ','))
			return err_set(e, -EINVAL,
				"'%.64s'; expected priorities such as 3,4, or none", text);
		for (unsigned i = first; i <= last; i++)
			*ret |= (uint8_t)(1u << i);
		if (!*p)
			return 0;
	}
}
