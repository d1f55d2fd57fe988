/* xray_learn - see xray_learn.h. */
#include "analyzers/xray/xray_learn.h"

#include "analyzers/xray/xray_form.h"

enum {
	SAMPLES_MIN = 40, /* below, nothing is tried */
	HELD_TENTHS = 3, /* of the flows are kept apart */
	DECIDED_MIN = 20,
	CONFIRMED_MIN = 2, /* samples beside the one that brought a bit, before it counts */
	CHANGE_SIDE_MIN = 16, /* samples on each side of a change */
	PART_MIN = 400 /* samples of a part, where there are enough */
};
#define CHANCE_NATS 20.7 /* a choice by chance passes one time in 10^9 */
#define CHANGE_NATS 15.0
#define SPRAYED 0.6 /* of what independent choice of each packet would move */

struct xray_model {
	uint8_t family;
	bool without_qp; /* the samples do not tell queue pairs */
	struct xray_bits origin;
	struct xray_span span; /* of what the samples differ in */
	struct xray_bits sure; /* coordinates that enough samples confirm */
	struct xray_form form;
	const uint32_t *member; /* of a label */
};

/* ---- a model at work -------------------------------------------------------------- */

/* The coordinates of a key. False: outside of what the samples span. */
static bool learn_coordinates(
	const struct xray_model *model, const struct xray_bits *key, struct xray_bits *ret)
{
	struct xray_bits rest = *key;
	*ret = (struct xray_bits){{0}};
	if (model->without_qp)
		rest.w[4] &= ~0xFFFFFFull;
	xray_xor(&rest, &model->origin);
	xray_span_reduce(&model->span, &rest, ret);
	return xray_is_zero(&rest);
}

static bool learn_sure(const struct xray_model *model, const struct xray_bits *at)
{
	uint64_t unsure = 0;
	for (size_t i = 0; i < XRAY_WORDS; i++)
		unsure |= at->w[i] & ~model->sure.w[i];
	return unsure == 0;
}

static enum xray_says learn_foretell(
	const struct xray_model *model, const struct xray_bits *key, int *ret_label)
{
	struct xray_bits at;
	*ret_label = -1;
	if (!learn_coordinates(model, key, &at))
		return XRAY_OUTSIDE;
	if (!learn_sure(model, &at))
		return XRAY_UNSURE;
	*ret_label = xray_form_label(&model->form, &at);
	return *ret_label < 0 ? XRAY_UNSURE : XRAY_SAYS;
}

enum xray_says xray_foretell(
	const struct xray_model *model, const struct xray_flow *flow, size_t *ret)
{
	const struct xray_bits key = xray_key(flow);
	int label;
	if (flow->family != model->family)
		return XRAY_OUTSIDE;
	const enum xray_says says = learn_foretell(model, &key, &label);
	if (says == XRAY_SAYS)
		*ret = (size_t)label;
	return says;
}

enum xray_kind xray_kind(const struct xray_model *model)
{
	if (model->form.select == XRAY_MODULO)
		return XRAY_BY_MODULO;
	if (model->form.select == XRAY_MULTIPLY)
		return XRAY_BY_MULTIPLY;
	return model->form.hash ? XRAY_BY_TABLE : XRAY_BY_BITS;
}

const char *xray_hash(const struct xray_model *model, unsigned *ret_fields)
{
	*ret_fields = model->form.fields;
	return model->form.hash;
}

/* ---- samples of one stretch ---------------------------------------------------------- */

struct seen { /* a sample, or a flow of which all samples were put together */
	struct xray_bits key;
	uint16_t label;
	uint32_t at; /* of the sample */
};

struct stretch {
	const struct xray_sample *samples; /* the first */
	size_t n;
	struct arena *arena;
	struct xray_dice dice;
	struct xray_learned *ret;
	uint16_t *label; /* of each sample; UINT16_MAX: a stray */
	struct seen *flows;
	size_t n_flows;
	size_t n_held; /* the first of the flows */
	double chance; /* that two samples have one label */
	size_t most; /* samples of the most frequent label */
};

static int learn_by_key(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	const int order = memcmp(&a->key, &b->key, sizeof(a->key));
	if (order)
		return order;
	return (a->at > b->at) - (a->at < b->at);
}

static int learn_by_number(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

/* The members of the stretch and the label of each sample. Members with less than a tenth of their
 * share are strays: a port that is not of the group, a sample read wrong. */
static enum xray_refusal learn_members(struct stretch *s)
{
	uint32_t *sorted = rw_calloc(s->n + 1, sizeof(*sorted));
	uint32_t *count = rw_calloc(s->n + 1, sizeof(*count));
	size_t kinds = 0, kept = 0, of_group = 0;
	struct map *labels = map_new();
	for (size_t i = 0; i < s->n; i++)
		sorted[i] = s->samples[i].member;
	qsort(sorted, s->n, sizeof(*sorted), learn_by_number);
	for (size_t i = 0; i < s->n; i++) {
		if (i == 0 || sorted[i] != sorted[kinds - 1])
			sorted[kinds++] = sorted[i];
		count[kinds - 1]++;
	}
	s->ret->member = arena_array(s->arena, uint32_t, kinds + 1);
	for (size_t i = 0; i < kinds; i++) {
		if ((double)count[i] * 10 * (double)kinds < (double)s->n)
			continue;
		map_put(labels, sorted[i], kept);
		s->ret->member[kept++] = sorted[i];
		of_group += count[i];
		if (count[i] > s->most)
			s->most = count[i];
		s->chance += (double)count[i] * count[i];
	}
	s->chance /= (double)of_group * (double)of_group;
	for (size_t i = 0; i < s->n; i++) {
		uint64_t label = UINT16_MAX;
		if (kept <= XRAY_MEMBERS_MAX)
			map_get(labels, s->samples[i].member, &label);
		s->label[i] = (uint16_t)label;
	}
	s->ret->members = kept;
	s->ret->strays = s->n - of_group;
	map_free(labels);
	free(sorted);
	free(count);
	if (kept > XRAY_MEMBERS_MAX)
		return XRAY_MANY_MEMBERS;
	return kept < 2 ? XRAY_ONE_MEMBER : XRAY_LEARNED;
}

/* The label of most of the @n samples of one flow; UINT16_MAX where two have as many. */
static uint16_t learn_agreed(const struct seen *seen, size_t n, uint16_t *count)
{
	uint16_t best = seen[0].label;
	size_t equal = 0;
	for (size_t i = 0; i < n; i++)
		if (++count[seen[i].label] > count[best])
			best = seen[i].label;
	for (size_t i = 0; i < n; i++)
		equal += seen[i].label != best && count[seen[i].label] == count[best];
	for (size_t i = 0; i < n; i++)
		count[seen[i].label] = 0;
	return equal ? UINT16_MAX : best;
}

/* One of each flow, in an order that its bits decide, so that all samples of a flow are on one side
 * of what is held back. */
static void learn_flows(struct stretch *s)
{
	uint16_t *count = rw_calloc(s->ret->members + 1, sizeof(*count));
	size_t n = 0, flows = 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->label[i] != UINT16_MAX)
			s->flows[n++] = (struct seen){
				xray_key(&s->samples[i].flow), s->label[i], (uint32_t)i};
	qsort(s->flows, n, sizeof(*s->flows), learn_by_key);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n &&
			memcmp(&s->flows[i].key, &s->flows[end].key, sizeof(s->flows[i].key)) == 0;
			end++) {
			s->ret->repeated++;
			s->ret->moved += s->flows[end].label != s->flows[end - 1].label;
		}
		struct seen flow = s->flows[i];
		flow.label = learn_agreed(&s->flows[i], end - i, count);
		if (flow.label != UINT16_MAX)
			s->flows[flows++] = flow;
	}
	free(count);
	for (size_t i = flows; i > 1; i--) {
		const size_t k = xray_dice_below(&s->dice, i);
		const struct seen drawn = s->flows[k];
		s->flows[k] = s->flows[i - 1];
		s->flows[i - 1] = drawn;
	}
	s->n_flows = s->ret->flows = flows;
	s->n_held = flows * HELD_TENTHS / 10;
}

/* ---- one function for a stretch --------------------------------------------------- */

struct trained {
	struct xray_model *model;
	struct xray_points points;
	struct xray_bits *basis;
	bool *brought; /* the point added a coordinate */
};

static void learn_span(struct stretch *s, struct trained *t)
{
	const struct seen *flows = s->flows + s->n_held;
	const size_t n = s->n_flows - s->n_held;
	t->model = arena_new_of(s->arena, struct xray_model);
	t->points = (struct xray_points){.n = n,
		.n_labels = s->ret->members,
		.at = rw_calloc(n, sizeof(struct xray_bits)),
		.label = rw_calloc(n, sizeof(uint16_t))};
	t->basis = rw_calloc(XRAY_BITS, sizeof(*t->basis));
	t->brought = rw_calloc(n, sizeof(*t->brought));
	t->model->family = s->samples[0].flow.family;
	t->model->member = s->ret->member;
	t->model->origin = flows[0].key;
	t->model->without_qp = true;
	for (size_t i = 0; i < n; i++)
		t->model->without_qp = t->model->without_qp && !(flows[i].key.w[4] & 0xFFFFFF);
	xray_span_init(&t->model->span);
	for (size_t i = 0; i < n; i++) {
		struct xray_bits difference = flows[i].key;
		xray_xor(&difference, &t->model->origin);
		t->brought[i] = xray_span_add(&t->model->span, &difference);
		if (t->brought[i])
			t->basis[t->model->span.rank - 1] = difference;
		learn_coordinates(t->model, &flows[i].key, &t->points.at[i]);
		t->points.label[i] = flows[i].label;
	}
	t->points.rank = s->ret->varying = t->model->span.rank;
}

static void learn_trained_done(struct trained *t)
{
	free(t->points.at);
	free(t->points.label);
	free(t->basis);
	free(t->brought);
}

/* A coordinate counts where samples beside the one that brought it agree. */
static void learn_confirm(struct stretch *s, struct trained *t)
{
	uint32_t right[XRAY_BITS] = {0}, wrong[XRAY_BITS] = {0};
	for (size_t i = 0; i < t->points.n; i++) {
		const int label = xray_form_label(&t->model->form, &t->points.at[i]);
		if (label < 0 || t->brought[i])
			continue;
		for (size_t k = 0; k < t->points.rank; k++)
			if (xray_bit(&t->points.at[i], k)) {
				right[k] += label == t->points.label[i];
				wrong[k] += label != t->points.label[i];
			}
	}
	for (size_t k = 0; k < t->points.rank; k++) {
		if (right[k] >= CONFIRMED_MIN && right[k] >= 3 * wrong[k])
			xray_flip(&t->model->sure, k);
		else
			s->ret->unsure++;
	}
}

/* Does @right of @n happen by chance, where one answer is right with probability @chance?
 * Chernoff's bound by the relative entropy. */
static bool learn_beats_chance(size_t right, size_t n, double chance)
{
	const double share = (double)right / (double)n;
	double nats = share * log(share / chance);
	if (share <= chance)
		return false;
	if (share < 1)
		nats += (1 - share) * log((1 - share) / (1 - chance));
	return nats * (double)n >= CHANCE_NATS;
}

static bool learn_holds(struct stretch *s, const struct trained *t)
{
	struct xray_learned *ret = s->ret;
	ret->held = s->n_held;
	ret->decided = ret->right = 0;
	for (size_t i = 0; i < s->n_held; i++) {
		int label;
		if (learn_foretell(t->model, &s->flows[i].key, &label) != XRAY_SAYS)
			continue;
		ret->decided++;
		ret->right += label == s->flows[i].label;
	}
	const double chance = (double)s->most / (double)(s->n - ret->strays);
	return ret->decided >= DECIDED_MIN && ret->decided * 4 >= ret->held &&
		(double)ret->right >= XRAY_FITS * (double)ret->decided &&
		learn_beats_chance(ret->right, ret->decided, chance);
}

/* What was held back votes too, once the function was accepted. */
static void learn_vote_all(struct stretch *s, struct trained *t)
{
	const size_t known = t->points.n;
	t->points.at = rw_realloc(t->points.at, s->n_flows * sizeof(*t->points.at));
	t->points.label = rw_realloc(t->points.label, s->n_flows * sizeof(*t->points.label));
	for (size_t i = 0; i < s->n_held; i++) {
		if (!learn_coordinates(t->model, &s->flows[i].key, &t->points.at[t->points.n]))
			continue;
		t->points.label[t->points.n++] = s->flows[i].label;
	}
	xray_form_vote(&t->model->form, &t->points, s->arena);
	t->points.n = known;
}

static bool learn_try(struct stretch *s, struct trained *t, bool from_library)
{
	bool found;
	if (from_library)
		found = xray_library(&t->points, t->basis, t->model->family, &t->model->form);
	else
		found = xray_linear(&t->points, &s->dice, &t->model->form);
	if (!found)
		return false;
	xray_form_vote(&t->model->form, &t->points, s->arena);
	t->model->sure = (struct xray_bits){{0}};
	s->ret->unsure = 0;
	learn_confirm(s, t);
	if (!learn_holds(s, t))
		return false;
	learn_vote_all(s, t);
	return true;
}

static void learn_function(struct stretch *s)
{
	struct trained t;
	learn_span(s, &t);
	if (t.points.rank > 0 && (learn_try(s, &t, false) || learn_try(s, &t, true)))
		s->ret->model = t.model;
	learn_trained_done(&t);
}

static bool learn_is_sprayed(const struct stretch *s)
{
	return s->ret->repeated >= 30 &&
		(double)s->ret->moved >= SPRAYED * (1 - s->chance) * (double)s->ret->repeated;
}

static void learn_stretch(
	const struct xray_sample *samples, size_t n, struct arena *a, struct xray_learned *ret)
{
	struct stretch s = {.samples = samples,
		.n = n,
		.arena = a,
		.dice = {0x9E3779B97F4A7C15ull},
		.ret = ret,
		.label = rw_calloc(n + 1, sizeof(uint16_t)),
		.flows = rw_calloc(n + 1, sizeof(struct seen))};
	*ret = (struct xray_learned){.samples = n, .refusal = XRAY_TOO_FEW};
	if (n >= SAMPLES_MIN)
		ret->refusal = learn_members(&s);
	if (ret->refusal == XRAY_LEARNED)
		learn_flows(&s);
	if (ret->refusal == XRAY_LEARNED && learn_is_sprayed(&s))
		ret->refusal = XRAY_SPRAYED;
	else if (ret->refusal == XRAY_LEARNED && s.n_flows < SAMPLES_MIN)
		ret->refusal = XRAY_TOO_FEW;
	if (ret->refusal == XRAY_LEARNED) {
		learn_function(&s);
		if (!ret->model)
			ret->refusal = XRAY_UNLEARNABLE;
	}
	free(s.label);
	free(s.flows);
}

/* ---- changes ------------------------------------------------------------------------- */

static double learn_nats(double hits, double n)
{
	const double share = n > 0 ? hits / n : 0;
	if (share <= 0 || share >= 1)
		return 0;
	return hits * log(share) + (n - hits) * log(1 - share);
}

/* Where the share of samples that @model foretells wrongly changes most: the first sample behind
 * it, or @n. By the likelihood ratio of two shares against one (Page 1955, Hinkley 1970). */
static size_t learn_change(
	const struct xray_model *model, const struct xray_sample *samples, size_t n)
{
	uint32_t *missed = rw_calloc(n + 1, sizeof(*missed)),
		 *said = rw_calloc(n + 1, sizeof(*said));
	double best = CHANGE_NATS;
	size_t at = n;
	for (size_t i = 0; i < n; i++) {
		size_t index = 0;
		const bool says = xray_foretell(model, &samples[i].flow, &index) == XRAY_SAYS;
		said[i + 1] = said[i] + says;
		missed[i + 1] = missed[i] + (says && model->member[index] != samples[i].member);
	}
	const double whole = learn_nats(missed[n], said[n]);
	for (size_t i = 1; i < n; i++) {
		if (said[i] < CHANGE_SIDE_MIN || said[n] - said[i] < CHANGE_SIDE_MIN)
			continue;
		const double nats = learn_nats(missed[i], said[i]) +
			learn_nats(missed[n] - missed[i], said[n] - said[i]) - whole;
		if (nats > best) {
			best = nats;
			at = i;
		}
	}
	free(missed);
	free(said);
	return at;
}

/* The samples from @at on by themselves. */
static void learn_since(const struct xray_sample *samples, size_t n, size_t at, struct arena *a,
	struct xray_learned *ret)
{
	learn_stretch(samples + at, n - at, a, ret);
	ret->samples = n;
	ret->changed = true;
	ret->changed_at = at;
	ret->changed_ns = samples[at].t_ns;
	if (ret->model && learn_change(ret->model, samples + at, n - at) < n - at) {
		ret->model = NULL;
		ret->refusal = XRAY_CHANGING;
	}
}

/* No function holds for all samples: one for the last part, or for the first one? */
static void learn_parts(
	const struct xray_sample *samples, size_t n, struct arena *a, struct xray_learned *ret)
{
	const size_t size = n / 4 >= PART_MIN ? n / 4 : n / 2;
	const size_t begins[] = {n - size, 0};
	for (size_t i = 0; i < rw_countof(begins); i++) {
		struct xray_learned part;
		learn_stretch(samples + begins[i], size, a, &part);
		if (!part.model)
			continue;
		const size_t at = learn_change(part.model, samples, n);
		learn_since(samples, n, at < n ? at : n - size, a, ret);
		if (!ret->model && i > 0)
			ret->refusal = XRAY_CHANGING;
		return;
	}
}

void xray_learn(
	const struct xray_sample *samples, size_t n, struct arena *a, struct xray_learned *ret)
{
	learn_stretch(samples, n, a, ret);
	if (ret->refusal == XRAY_UNLEARNABLE)
		learn_parts(samples, n, a, ret);
	else if (ret->model) {
		const size_t at = learn_change(ret->model, samples, n);
		if (at < n)
			learn_since(samples, n, at, a, ret);
	}
}

/* ---- two tiers ------------------------------------------------------------------------- */

enum { TIER_DRAWS = 16384 };

/* What both models know: a flow, and vectors that lead to others. */
struct common {
	struct xray_bits origin;
	size_t n;
	struct xray_bits vector[XRAY_BITS];
};

/* The intersection of both spaces, by Zassenhaus: sums of rows of @first whose rest beside @second
 * is nothing. False: they have no flow in common. */
static bool learn_common(
	const struct xray_model *first, const struct xray_model *second, struct common *ret)
{
	struct xray_span *rests = rw_calloc(1, sizeof(*rests));
	struct xray_bits row_of[XRAY_BITS]; /* by number of the rest: the row it came from */
	xray_span_init(rests);
	ret->n = 0;
	for (size_t i = 0; i < first->span.rank; i++) {
		struct xray_bits rest = first->span.row[i], used = {{0}};
		xray_span_reduce(&second->span, &rest, NULL);
		if (xray_span_add(rests, &rest)) {
			row_of[rests->rank - 1] = first->span.row[i];
			continue;
		}
		ret->vector[ret->n] = first->span.row[i];
		xray_span_reduce(rests, &rest, &used);
		for (size_t k = 0; k < rests->rank; k++)
			if (xray_bit(&used, k))
				xray_xor(&ret->vector[ret->n], &row_of[k]);
		ret->n++;
	}
	struct xray_bits rest = first->origin, used = {{0}};
	xray_xor(&rest, &second->origin);
	xray_span_reduce(&second->span, &rest, NULL);
	xray_span_reduce(rests, &rest, &used);
	ret->origin = first->origin;
	for (size_t k = 0; k < rests->rank; k++)
		if (xray_bit(&used, k))
			xray_xor(&ret->origin, &row_of[k]);
	free(rests);
	return xray_is_zero(&rest);
}

static struct xray_bits learn_draw(const struct common *common, struct xray_dice *dice)
{
	struct xray_bits key = common->origin;
	uint64_t chance = 0;
	for (size_t i = 0; i < common->n; i++) {
		if (i % 64 == 0)
			chance = xray_dice_throw(dice);
		if (chance >> (i % 64) & 1)
			xray_xor(&key, &common->vector[i]);
	}
	return key;
}

/* What a vector adds to the value of a model. */
static uint32_t learn_adds(const struct xray_model *model, const struct xray_bits *vector)
{
	struct xray_bits rest = *vector, at = {{0}};
	xray_span_reduce(&model->span, &rest, &at);
	return xray_form_value(&model->form, &at);
}

/* The rank of both matrices over what both know. */
static unsigned learn_rank(const struct xray_model *first, const struct xray_model *second,
	const struct common *common)
{
	struct xray_span *values = rw_calloc(1, sizeof(*values));
	xray_span_init(values);
	for (size_t i = 0; i < common->n; i++) {
		const struct xray_bits both = {
			{(uint64_t)learn_adds(first, &common->vector[i]) << 16 |
				learn_adds(second, &common->vector[i])}};
		xray_span_add(values, &both);
	}
	const unsigned rank = (unsigned)values->rank;
	free(values);
	return rank;
}

void xray_compare(
	const struct xray_learned *first, const struct xray_learned *second, struct xray_tiers *ret)
{
	const struct xray_model *one = first->model, *two = second->model;
	struct xray_dice dice = {0xD1B54A32D192ED03ull};
	bool *met = rw_calloc(first->members * second->members, sizeof(*met));
	size_t *of_one = rw_calloc(first->members, sizeof(*of_one));
	bool *used = rw_calloc(first->members, sizeof(*used));
	struct common *common = rw_calloc(1, sizeof(*common));
	const bool meet = learn_common(one, two, common);
	*ret = (struct xray_tiers){
		.possible = first->members * second->members, .least = second->members};
	for (size_t i = 0; meet && i < TIER_DRAWS; i++) {
		const struct xray_bits key = learn_draw(common, &dice);
		int from, to;
		if (learn_foretell(one, &key, &from) != XRAY_SAYS ||
			learn_foretell(two, &key, &to) != XRAY_SAYS)
			continue;
		ret->drawn++;
		used[from] = true;
		bool *pair = &met[(size_t)from * second->members + (size_t)to];
		of_one[from] += !*pair;
		ret->pairs += !*pair;
		*pair = true;
	}
	for (size_t i = 0; i < first->members; i++)
		if (used[i] && of_one[i] < ret->least)
			ret->least = of_one[i];
	ret->linear = xray_kind(one) == XRAY_BY_BITS && xray_kind(two) == XRAY_BY_BITS;
	if (ret->linear && meet) {
		ret->rank = learn_rank(one, two, common);
		ret->bits = one->form.width + two->form.width;
	}
	free(common);
	free(met);
	free(of_one);
	free(used);
}
