/* class_world - from facts to words, and the words as a line. */
#include "analyzers/measure/class_world.h"

#include "db/model/entity.h"
#include "db/model/metric.h"

/* ---- lb_read --------------------------------------------------------------- */

/* lb_read - reads how a device balances. */

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

/* ---- class_world ----------------------------------------------------------- */

/* From this share of sprayed octets on packets say that the class is sprayed. */
#define SPRAYED_SHARE 0.5

const uint16_t class_world_metrics[] = {M_CFG_PFC_ENABLED, M_CFG_CBFC_ENABLED, M_CFG_ECN_ENABLED,
	M_CFG_ECN_RELATIVE, M_CFG_ECN_KMIN, M_CFG_TRIM_ENABLED, M_CFG_LB_MODE, M_PFC_RX_FRAMES,
	M_PFC_TX_FRAMES, M_QUEUE_ECN_MARKED, M_QUEUE_TRIMMED_PACKETS};
const size_t class_world_n_metrics = rw_countof(class_world_metrics);

/* ---- words --------------------------------------------------------------- */

static const char *world_name(const char *const *names, size_t n, int value)
{
	if (value >= 0 && (size_t)value < n)
		return names[value];
	return "unknown";
}

const char *world_source_name(enum world_source source)
{
	static const char *const names[] = {"unknown", "assumed", "declared", "seen", "read back"};
	return world_name(names, rw_countof(names), (int)source);
}

const char *world_lossless_name(enum world_lossless lossless)
{
	static const char *const names[] = {"unknown", "pfc", "credits", "none"};
	return world_name(names, rw_countof(names), (int)lossless);
}

const char *world_ecn_name(enum world_ecn ecn)
{
	static const char *const names[] = {
		"unknown", "off", "on", "absolute", "relative", "mixed"};
	return world_name(names, rw_countof(names), (int)ecn);
}

const char *world_trim_name(enum world_trim trim)
{
	static const char *const names[] = {"unknown", "off", "on"};
	return world_name(names, rw_countof(names), (int)trim);
}

const char *world_paths_name(enum world_paths paths)
{
	if (paths == WORLD_PATHS_MIXED)
		return "mixed";
	if (paths == WORLD_PATHS_UNKNOWN)
		return "unknown";
	return lb_policy_name((enum lb_policy)(paths - WORLD_PATHS_FIRST));
}

/* ---- facts --------------------------------------------------------------- */

static void world_add(double *sum, const struct amount *amount)
{
	if (!amount->known)
		return;
	if (isnan(*sum))
		*sum = 0;
	*sum += amount->value;
}

static void world_count(double setting, unsigned *on, unsigned *off)
{
	*on += setting == 1;
	*off += setting == 0;
}

static void world_add_prio(const struct port_prio *prio, struct world_facts *facts)
{
	world_count(prio->pfc_enabled, &facts->pfc_on, &facts->pfc_off);
	world_count(prio->cbfc_enabled, &facts->credit_on, &facts->credit_off);
	world_count(prio->ecn_enabled, &facts->ecn_on, &facts->ecn_off);
	if (!prio->relative_declared)
		world_count(prio->ecn_relative, &facts->relative, &facts->absolute);
	world_count(prio->trim_enabled, &facts->trim_on, &facts->trim_off);
	facts->kmin_bytes += prio->kmin > 0 && !prio->declared;
	world_add(&facts->pause_frames, &prio->rx_frames);
	world_add(&facts->pause_frames, &prio->tx_frames);
	world_add(&facts->marked, &prio->marked);
	world_add(&facts->trimmed, &prio->trimmed);
}

static void world_add_paths(const struct observed *observed, struct world_facts *facts)
{
	for (size_t i = 0; i < observed->n_devices; i++) {
		enum lb_policy lb;
		bool known;
		const char *text =
			lb_read(observed->window, observed->devices[i].device->name, &lb, &known);
		if (text && known)
			facts->lb[lb]++;
		else if (str_eq(text, "mixed"))
			facts->lb_mixed++;
		else if (text) {
			facts->lb_strange++;
			facts->lb_strange_text = text;
		}
	}
}

static void world_add_packets(const struct window *window, struct world_facts *facts)
{
	double octets = 0, sprayed = 0, cnp = 0;
	for (size_t i = 0; i < window->n_flows; i++) {
		const struct flow_sample *flow = &window->flows[i];
		if (!flow->total)
			continue;
		octets += (double)flow->octets;
		sprayed += (double)flow->spray_octets;
		cnp += (double)flow->cnp;
	}
	if (octets <= 0)
		return;
	facts->cnp = cnp;
	facts->spray_ratio = sprayed / octets;
}

struct world_facts class_world_blank(const struct fabric *fabric, int priority)
{
	return (struct world_facts){.fabric = fabric,
		.priority = priority,
		.pause_frames = NAN,
		.marked = NAN,
		.trimmed = NAN,
		.cnp = NAN,
		.uet = NAN,
		.srv6 = NAN,
		.spray_ratio = NAN};
}

void class_world_facts(const struct observed *observed, int priority, struct world_facts *ret)
{
	*ret = class_world_blank(observed->fabric, priority);
	for (size_t i = 0; i < observed->n_prios; i++)
		if (observed->prios[i]->priority == priority)
			world_add_prio(observed->prios[i], ret);
	world_add_paths(observed, ret);
	world_add_packets(observed->window, ret);
}

/* ---- facts by name ------------------------------------------------------- */

#define WORLD_LB "lb/"
#define WORLD_STRANGE "strange/"

#define COUNTED(member)                                                                            \
	{                                                                                          \
#member, offsetof(struct world_facts, member), true                                \
	}
#define MEASURED(member)                                                                           \
	{                                                                                          \
#member, offsetof(struct world_facts, member), false                               \
	}
static const struct world_fact {
	const char *name;
	size_t offset;
	bool counted; /* unsigned; else double */
} world_fact_names[] = {COUNTED(pfc_on), COUNTED(pfc_off), COUNTED(credit_on), COUNTED(credit_off),
	COUNTED(ecn_on), COUNTED(ecn_off), COUNTED(relative), COUNTED(absolute),
	COUNTED(kmin_bytes), COUNTED(trim_on), COUNTED(trim_off), COUNTED(lb_mixed),
	MEASURED(pause_frames), MEASURED(marked), MEASURED(trimmed), MEASURED(cnp), MEASURED(uet),
	MEASURED(srv6), MEASURED(spray_ratio)};
#undef COUNTED
#undef MEASURED

static double world_fact_get(const struct world_facts *facts, const struct world_fact *fact)
{
	const char *at = (const char *)facts + fact->offset;
	if (fact->counted)
		return *(const unsigned *)(const void *)at;
	return *(const double *)(const void *)at;
}

void class_world_tell(const struct world_facts *facts, class_fact_fn *fn, void *arg)
{
	rw_cleanup(str_done) struct str name = {0};
	for (size_t i = 0; i < rw_countof(world_fact_names); i++) {
		const double value = world_fact_get(facts, &world_fact_names[i]);
		if (!isnan(value))
			fn(arg, world_fact_names[i].name, value);
	}
	for (unsigned lb = 0; lb < LB_COUNT; lb++) {
		name.n = 0;
		str_addf(&name, WORLD_LB "%s", lb_policy_name((enum lb_policy)lb));
		if (facts->lb[lb])
			fn(arg, name.s, facts->lb[lb]);
	}
	name.n = 0;
	str_addf(&name, WORLD_STRANGE "%s", str_or(facts->lb_strange_text, ""));
	if (facts->lb_strange)
		fn(arg, name.s, facts->lb_strange);
}

static bool world_take_paths(
	struct world_facts *facts, const char *name, double value, struct arena *a)
{
	const bool counts = value >= 0 && value <= UINT32_MAX;
	for (unsigned lb = 0; lb < LB_COUNT && counts; lb++) {
		if (strncmp(name, WORLD_LB, strlen(WORLD_LB)) != 0 ||
			!str_eq(name + strlen(WORLD_LB), lb_policy_name((enum lb_policy)lb)))
			continue;
		facts->lb[lb] = (unsigned)value;
		return true;
	}
	if (!counts || strncmp(name, WORLD_STRANGE, strlen(WORLD_STRANGE)) != 0)
		return false;
	facts->lb_strange = (unsigned)value;
	facts->lb_strange_text = arena_strdup(a, name + strlen(WORLD_STRANGE));
	return true;
}

bool class_world_take(struct world_facts *facts, const char *name, double value, struct arena *a)
{
	for (size_t i = 0; i < rw_countof(world_fact_names); i++) {
		if (!str_eq(name, world_fact_names[i].name))
			continue;
		char *at = (char *)facts + world_fact_names[i].offset;
		if (!world_fact_names[i].counted)
			*(double *)(void *)at = value;
		else if (value >= 0 && value <= UINT32_MAX)
			*(unsigned *)(void *)at = (unsigned)value;
		return true;
	}
	return world_take_paths(facts, name, value, a);
}

/* ---- conclusions --------------------------------------------------------- */

struct world_maker {
	const struct world_facts *facts;
	const struct fabric_class *given; /* of the class, NULL: none */
	struct arena *a;
	struct class_world *world;
};

static void world_differ(struct world_maker *maker, const char *text)
{
	struct class_world *world = maker->world;
	if (world->n_differences < WORLD_DIFFERENCES)
		world->differences[world->n_differences++] = text;
}

static void world_set(struct world_word *word, int value, enum world_source source)
{
	word->value = value;
	word->source = source;
}

/* A statement of the site, or the default behind a key that nobody wrote. */
static enum world_source world_declared(const struct world_maker *maker)
{
	if (maker->facts->fabric->congestion_declared ||
		(maker->given && maker->given->congestion_given))
		return WORLD_DECLARED;
	return WORLD_ASSUMED;
}

static enum congestion_policy world_policy(const struct world_maker *maker)
{
	return class_congestion(maker->facts->fabric, maker->facts->priority);
}

static void world_declare_lossless(struct world_maker *maker)
{
	static const enum world_lossless words[] = {[LOSSLESS_UNSAID] = WORLD_LOSSLESS_UNKNOWN,
		[LOSSLESS_PFC] = WORLD_BY_PFC,
		[LOSSLESS_CREDIT] = WORLD_BY_CREDITS,
		[LOSSLESS_NONE] = WORLD_NOT_LOSSLESS};
	const struct fabric *fabric = maker->facts->fabric;
	const enum world_lossless said = words[class_lossless(fabric, maker->facts->priority)];
	enum world_source source = world_declared(maker);
	if (maker->given && maker->given->lossless)
		source = WORLD_DECLARED;
	if (said)
		world_set(&maker->world->lossless, (int)said, source);
}

static void world_differ_lossless(struct world_maker *maker, enum world_lossless said)
{
	const struct world_facts *facts = maker->facts;
	const struct class_world *world = maker->world;
	const enum world_lossless is = (enum world_lossless)world->lossless.value;
	if (facts->credit_on && facts->pfc_on)
		world_differ(maker,
			arena_printf(maker->a,
				"PFC is on at %u ports of the class and credits at %u: one of them "
				"keeps it lossless",
				facts->pfc_on, facts->credit_on));
	if (world->lossless.source == WORLD_READ && said && said != is)
		world_differ(maker,
			arena_printf(maker->a, "lossless: %s is declared, and %s is read back",
				world_lossless_name(said), world_lossless_name(is)));
	if (facts->pause_frames > 0 && !class_pause_wanted(facts->fabric, facts->priority))
		world_differ(maker,
			arena_printf(maker->a,
				"pause frames are counted, and the class is declared to work "
				"without (congestion: %s)",
				congestion_policy_name(world_policy(maker))));
}

static void world_find_lossless(struct world_maker *maker)
{
	const struct world_facts *facts = maker->facts;
	struct world_word *word = &maker->world->lossless;
	world_declare_lossless(maker);
	const enum world_source by = word->source;
	enum world_lossless said = (enum world_lossless)word->value;
	if (facts->credit_on)
		world_set(word, WORLD_BY_CREDITS, WORLD_READ);
	else if (facts->pfc_on)
		world_set(word, WORLD_BY_PFC, WORLD_READ);
	else if (facts->pfc_off)
		world_set(word, WORLD_NOT_LOSSLESS, WORLD_READ);
	else if (facts->pause_frames > 0 && by != WORLD_DECLARED)
		world_set(word, WORLD_BY_PFC, WORLD_SEEN);
	word->seen = word->value == WORLD_BY_PFC && facts->pause_frames > 0;
	if (by != WORLD_DECLARED)
		said = WORLD_LOSSLESS_UNKNOWN;
	world_differ_lossless(maker, said);
}

static void world_declare_ecn(struct world_maker *maker)
{
	static const enum world_ecn words[] = {[ECN_UNSAID] = WORLD_ECN_UNKNOWN,
		[ECN_ABSOLUTE] = WORLD_ECN_ABSOLUTE,
		[ECN_RELATIVE] = WORLD_ECN_RELATIVE,
		[ECN_OFF] = WORLD_ECN_OFF};
	struct world_word *word = &maker->world->ecn;
	const enum congestion_policy policy = world_policy(maker);
	if (maker->given && maker->given->ecn)
		world_set(word, (int)words[maker->given->ecn], WORLD_DECLARED);
	else if (class_policy_of(policy)->marks)
		world_set(word, WORLD_ECN_ON, world_declared(maker));
	else if (policy == CC_PFC_ONLY)
		world_set(word, WORLD_ECN_OFF, world_declared(maker));
}

static enum world_ecn world_ecn_read(const struct world_facts *facts)
{
	const unsigned bytes = facts->absolute + facts->kmin_bytes;
	if (facts->relative && bytes)
		return WORLD_ECN_MIXED;
	if (facts->relative)
		return WORLD_ECN_RELATIVE;
	if (facts->ecn_off && !facts->ecn_on)
		return WORLD_ECN_OFF;
	if (bytes)
		return WORLD_ECN_ABSOLUTE;
	if (facts->ecn_on)
		return WORLD_ECN_ON;
	return WORLD_ECN_UNKNOWN;
}

static void world_find_ecn(struct world_maker *maker)
{
	struct world_word *word = &maker->world->ecn;
	world_declare_ecn(maker);
	const enum world_ecn said = (enum world_ecn)word->value, is = world_ecn_read(maker->facts);
	const bool marks = maker->facts->marked > 0;
	const bool exact = maker->given && maker->given->ecn;
	/* a device that says no more than that it marks leaves what is declared as it is */
	const bool vague = is == WORLD_ECN_ON && said >= WORLD_ECN_ABSOLUTE;
	if (is && !vague)
		world_set(word, (int)is, WORLD_READ);
	else if (marks && (word->source != WORLD_DECLARED || said == WORLD_ECN_ON))
		world_set(word, WORLD_ECN_ON, WORLD_SEEN);
	word->seen = word->seen || (marks && word->value != WORLD_ECN_OFF);
	const bool off = said == WORLD_ECN_OFF;
	if (word->source == WORLD_READ && exact && said != is && !(is == WORLD_ECN_ON && !off))
		world_differ(maker,
			arena_printf(maker->a, "ECN %s is declared, and %s is read back",
				world_ecn_name(said), world_ecn_name(is)));
	else if (off && marks && exact)
		world_differ(maker, "ECN off is declared, and queues mark");
}

static void world_find_control(struct world_maker *maker)
{
	const struct world_facts *facts = maker->facts;
	struct world_word *word = &maker->world->control;
	const enum congestion_policy policy = world_policy(maker);
	const bool by_packets = facts->uet > 0 && policy != CC_UET;
	world_set(word, (int)policy + 1, world_declared(maker));
	if (word->source == WORLD_ASSUMED && facts->uet > 0 && !(facts->cnp > 0))
		world_set(word, CC_UET + 1, WORLD_SEEN);
	else if (word->source == WORLD_ASSUMED && facts->cnp > 0)
		world_set(word, CC_DCQCN + 1, WORLD_SEEN);
	word->seen = (word->value == CC_DCQCN + 1 && facts->cnp > 0) ||
		(word->value == CC_UET + 1 && facts->uet > 0) ||
		(word->value == CC_MRC + 1 && facts->srv6 > 0);
	if (word->source != WORLD_DECLARED)
		return;
	if (by_packets && !class_any(facts->fabric, CC_UET))
		world_differ(maker,
			arena_printf(maker->a,
				"packets to UDP port 4793 (Ultra Ethernet) are captured, and %s is "
				"declared",
				class_policy_of(policy)->label));
	const bool cnps = facts->cnp > 0 && class_policy_of(policy)->reorders;
	if (cnps && !class_any(facts->fabric, CC_DCQCN))
		world_differ(maker,
			arena_printf(maker->a,
				"CNPs are captured, and %s is declared, which has none",
				class_policy_of(policy)->label));
}

static void world_find_trim(struct world_maker *maker)
{
	const struct world_facts *facts = maker->facts;
	struct world_word *word = &maker->world->trim;
	if (world_policy(maker) == CC_MRC)
		world_set(word, WORLD_TRIM_ON, world_declared(maker));
	if (facts->trim_on)
		world_set(word, WORLD_TRIM_ON, WORLD_READ);
	else if (facts->trim_off)
		world_set(word, WORLD_TRIM_OFF, WORLD_READ);
	else if (facts->trimmed > 0 && !word->value)
		world_set(word, WORLD_TRIM_ON, WORLD_SEEN);
	word->seen = word->value == WORLD_TRIM_ON && facts->trimmed > 0;
	if (word->value == WORLD_TRIM_OFF && world_policy(maker) == CC_MRC)
		world_differ(maker, "MRC is declared, and the queues of the class do not trim");
}

/* The word of most devices, and whether all agree. */
static int world_paths_told(const struct world_facts *facts, bool *ret_one)
{
	int told = 0;
	unsigned kinds = 0;
	for (int lb = 0; lb < LB_COUNT; lb++) {
		if (!facts->lb[lb])
			continue;
		kinds++;
		if (!told || facts->lb[lb] > facts->lb[told - WORLD_PATHS_FIRST])
			told = lb + WORLD_PATHS_FIRST;
	}
	*ret_one = kinds == 1 && !facts->lb_mixed;
	if (facts->lb_mixed && !told)
		told = WORLD_PATHS_MIXED;
	return told;
}

static void world_differ_paths(struct world_maker *maker, enum lb_policy said)
{
	const struct world_facts *facts = maker->facts;
	for (int lb = 0; lb < LB_COUNT; lb++)
		if (facts->lb[lb] && lb_contradicts(said, (enum lb_policy)lb))
			world_differ(maker,
				arena_printf(maker->a,
					"load balancing %s is declared, and %u device%s report%s "
					"%s",
					lb_policy_name(said), facts->lb[lb],
					str_if(facts->lb[lb] > 1, "s"),
					str_if(facts->lb[lb] == 1, "s"),
					lb_policy_name((enum lb_policy)lb)));
	if (facts->lb_strange)
		world_differ(maker,
			arena_printf(maker->a,
				"load balancing \"%.40s\" is read back, a word that is not known",
				facts->lb_strange_text));
}

static void world_find_paths(struct world_maker *maker)
{
	const struct world_facts *facts = maker->facts;
	const struct fabric *fabric = facts->fabric;
	struct world_word *word = &maker->world->paths;
	const enum lb_policy said = fabric->lb;
	bool one;
	const int told = world_paths_told(facts, &one);
	const bool sprayed = facts->spray_ratio > SPRAYED_SHARE;
	world_set(word, (int)said + WORLD_PATHS_FIRST, WORLD_ASSUMED);
	if (fabric->lb_declared)
		word->source = WORLD_DECLARED;
	const bool chosen = said == LB_SOURCE_ROUTED || said == LB_PINNED;
	if (told && !one)
		world_set(word, WORLD_PATHS_MIXED, WORLD_READ);
	else if (told &&
		(!fabric->lb_declared ||
			lb_contradicts(said, (enum lb_policy)(told - WORLD_PATHS_FIRST)) ||
			(!chosen && told == word->value)))
		world_set(word, told, WORLD_READ);
	else if (sprayed && !fabric->lb_declared)
		world_set(word, LB_PACKET + WORLD_PATHS_FIRST, WORLD_SEEN);
	word->seen = sprayed &&
		(word->value == LB_PACKET + WORLD_PATHS_FIRST ||
			word->value == LB_ADAPTIVE + WORLD_PATHS_FIRST ||
			word->value == LB_SOURCE_ROUTED + WORLD_PATHS_FIRST);
	if (fabric->lb_declared)
		world_differ_paths(maker, said);
}

void class_world_of(const struct world_facts *facts, struct arena *a, struct class_world *ret)
{
	struct world_maker maker = {.facts = facts, .a = a, .world = ret};
	*ret = (struct class_world){.priority = facts->priority};
	if (facts->priority >= 0 && facts->priority < FABRIC_CLASSES &&
		facts->fabric->classes[facts->priority].given)
		maker.given = &facts->fabric->classes[facts->priority];
	world_find_lossless(&maker);
	world_find_ecn(&maker);
	world_find_control(&maker);
	world_find_trim(&maker);
	world_find_paths(&maker);
}

/* ---- the line ------------------------------------------------------------ */

static const char *world_by(
	const struct world_word *word, const char *what, const char *seen, struct arena *a)
{
	const char *source = world_source_name(word->source);
	if (word->seen && word->source != WORLD_SEEN)
		return arena_printf(a, "%s (%s, %s)", what, source, seen);
	if (word->seen)
		return arena_printf(a, "%s (%s)", what, seen);
	return arena_printf(a, "%s (%s)", what, source);
}

static const char *world_lossless_text(const struct class_world *world, struct arena *a)
{
	static const char *const texts[] = {[WORLD_LOSSLESS_UNKNOWN] = "lossless: unknown",
		[WORLD_BY_PFC] = "lossless by PFC",
		[WORLD_BY_CREDITS] = "lossless by credits",
		[WORLD_NOT_LOSSLESS] = "not lossless"};
	if (!world->lossless.value)
		return texts[WORLD_LOSSLESS_UNKNOWN];
	return world_by(&world->lossless, texts[world->lossless.value], "pause frames seen", a);
}

static const char *world_ecn_text(const struct class_world *world, struct arena *a)
{
	if (!world->ecn.value)
		return "ECN: unknown";
	const char *what =
		arena_printf(a, "ECN %s", world_ecn_name((enum world_ecn)world->ecn.value));
	if (world->ecn.value == WORLD_ECN_ON)
		what = "ECN on, bytes or shares unknown";
	return world_by(&world->ecn, what, "marks seen", a);
}

static const char *world_control_text(const struct class_world *world, struct arena *a)
{
	const enum congestion_policy policy = (enum congestion_policy)(world->control.value - 1);
	const char *label = class_policy_of(policy)->label;
	const char *seen = "CNPs seen";
	if (policy == CC_UET)
		seen = "UDP port 4793 seen";
	else if (policy == CC_MRC)
		seen = "RoCE in SRv6 seen";
	if (world->control.source == WORLD_ASSUMED)
		return arena_printf(a, "congestion control: unknown (%s assumed)", label);
	return world_by(&world->control, label, seen, a);
}

static const char *world_paths_text(const struct class_world *world, struct arena *a)
{
	static const char *const texts[] = {[LB_STATIC] = "static hash",
		[LB_FLOWLET] = "flowlets",
		[LB_PACKET] = "packet spraying",
		[LB_ADAPTIVE] = "adaptive routing",
		[LB_PINNED] = "pinned paths",
		[LB_SOURCE_ROUTED] = "source routed"};
	if (world->paths.value == WORLD_PATHS_MIXED)
		return "load balancing differs between devices (read back)";
	const char *text = texts[world->paths.value - WORLD_PATHS_FIRST];
	if (world->paths.source == WORLD_ASSUMED)
		return arena_printf(a, "load balancing: unknown (%s assumed)", text);
	return world_by(&world->paths, text, "sprayed packets seen", a);
}

static const char *world_trim_text(const struct class_world *world, struct arena *a)
{
	if (world->trim.value != WORLD_TRIM_ON)
		return NULL; /* most switches cannot: silence is short */
	return world_by(&world->trim, "trimming", "trimmed packets seen", a);
}

const char *class_world_words(const struct class_world *world, struct arena *a)
{
	const char *line = arena_printf(a, "%s, %s, %s, %s", world_lossless_text(world, a),
		world_ecn_text(world, a), world_control_text(world, a), world_paths_text(world, a));
	const char *trim = world_trim_text(world, a);
	if (trim)
		line = arena_printf(a, "%s, %s", line, trim);
	return line;
}

const char *class_world_line(const struct class_world *world, struct arena *a)
{
	return arena_printf(a, "priority %d: %s", world->priority, class_world_words(world, a));
}
