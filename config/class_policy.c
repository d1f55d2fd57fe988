/* class_policy - the tables of words, and which one holds for a class. */
#include "config/class_policy.h"

#include "base/cleanup.h"

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
