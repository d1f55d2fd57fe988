/* past_internal - the parts of past.h: what the series mean, what an answer holds, and the folder
 * that is written. */
#pragma once

#include "base/base.h"

#include "agent/import/past.h"
#include "collectors/push/push_map.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

/* ---- past_names: a series -> device, port, priority, metric -------------------------------- */

struct past_names;

/* past_names_new - NULL with @e when the profile cannot be had, or says nothing of series. */
struct past_names *past_names_new(const struct past_ask *ask, struct err *e);
void past_names_free(struct past_names *names); /* NULL is fine */

/* past_names_select - adds what selects the names of the profile, or the @part-th of @parts of them
 * (at most past_names_count()): a series selector (PromQL), or a statement (InfluxQL) up to its
 * times. */
void past_names_select(const struct past_names *names, size_t part, size_t parts, struct str *out);
size_t past_names_count(const struct past_names *names);
/* past_names_rule - the first meaning that fits these labels, or the next after @after; NULL: none.
 */
const struct push_rule *past_names_rule(const struct past_names *names,
	const struct push_label *labels, size_t n, const struct push_rule *after);
/* past_names_device - the fabric's name of the device: by its name, its address, or the name of a
 * host of the links. NULL: the fabric has no such; @ret_told is then what the label says, or NULL.
 */
const char *past_names_device(const struct past_names *names, const struct push_rule *rule,
	const struct push_label *labels, size_t n, const struct push_label **ret_told);
/* past_rule_number - of a rule's row in its profile, for struct sample.pad, and back. */
uint16_t past_rule_number(const struct past_names *names, const struct push_rule *rule);
const struct profile_push_value *past_names_value(const struct past_names *names, uint16_t number);

/* ---- past_answer: bytes of a server -> series ---------------------------------------------- */

enum { PAST_LABELS_MAX = 64 }; /* of a series */

struct past_point {
	int64_t t_ns; /* whole milliseconds */
	double value; /* finite */
};
struct past_series { /* lent for the call */
	struct push_label labels[PAST_LABELS_MAX]; /* texts of others; "__name__" is among them */
	size_t n_labels;
	struct past_point *points; /* times grow */
	size_t n, cap;
	uint64_t no_value; /* points that are NaN, infinite or null */
};
/* 0, or a negative errno with @e, which ends the reading. */
typedef int past_series_fn(void *arg, const struct past_series *series, struct err *e);

/* past_answer_read - all series of an answer. -EBADMSG: this is none, or it is not whole;
 * -EREMOTEIO: the server says that it could not. @e says what was read and expected. */
int past_answer_read(enum past_api api, const char *text, size_t n, past_series_fn *fn, void *arg,
	struct err *e);

/* past_answer_complaint - what the server says in an answer of an error, cleaned; "" nothing. */
void past_answer_complaint(const char *text, size_t n, char *buf, size_t size);

/* past_members - the members of @object by their @n names; NULL where there is none. Lent. */
void past_members(json_t *object, const char *const *names, json_t **ret, size_t n);

/* ---- past_case: the folder ------------------------------------------------------------------ */

struct past_row { /* of a metric, over all that was fetched */
	uint64_t series; /* most at once */
	uint64_t samples;
	int64_t first_ns, last_ns;
	int64_t step_ns; /* median, of the request with the most samples; 0 unknown */
	uint64_t step_of; /* samples of that request */
};
struct past_left { /* what was not taken */
	uint64_t strangers, no_place, no_value, repeated, partial, estimated, wraps;
	char stranger[64], misplaced[64]; /* one of each, clean */
};
struct past_case {
	char *dir, *url, *profile, *selector;
	int64_t from_ns, to_ns, done_ns; /* all before .done_ns is there */
	uint64_t bytes; /* of samples.tsv */
	uint64_t samples, requests;
	struct past_row rows[METRIC_COUNT];
	struct past_left left;
};

/* past_case_begin - a new folder, or the one that was begun for the same question: then it has the
 * range and the counts of then, and what was half written is cut off. 0 or negative errno, @e. */
int past_case_begin(
	struct past_case *past, const struct past_ask *ask, const char *selector, struct err *e);
/* past_case_add - appends @samples, in the order of time; all before @done_ns is there then. */
int past_case_add(struct past_case *past, const struct entities *entities,
	const struct sample *samples, size_t n, int64_t done_ns, struct err *e);
void past_case_done(struct past_case *past);
