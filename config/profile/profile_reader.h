/*
 * profile_reader - what the files that read a profile share: the place of each mistake, and small
 * values. For files of this room only.
 */
#pragma once

#include "base/base.h"
#include "config/profile/profile_read.h"
#include "config/yaml.h"

struct reader {
	struct arena *a;
	const char *file;
	struct err_list *errors;
	size_t n_before;
	struct profile *p;
	struct profile_draft *draft;
};

void reader_wrong(struct reader *reader, int line, int col, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void reader_wrong_node(struct reader *reader, const struct yaml_node *node, const char *expected);

/* KEYS - must be a section whose keys are all in the list; what is unknown is reported with the
 * nearest known one. */
bool reader_keys(struct reader *reader, const struct yaml_node *node, const char *const *known,
	size_t n_known, const char *what);
#define KEYS(r, n, what, ...)                                                                      \
	reader_keys((r), (n), (const char *const[]){__VA_ARGS__},                                  \
		rw_countof(((const char *const[]){__VA_ARGS__})), (what))

/* Values of a section; a wrong one is reported. reader_value, reader_text: NULL when absent.
 * number, oid: false when absent or wrong. */
const struct yaml_node *reader_value(const struct yaml_node *map, const char *key);
const char *reader_text(
	struct reader *reader, const struct yaml_node *map, const char *key, bool required);
bool reader_number_at(
	struct reader *reader, const struct yaml_node *node, uint64_t max, uint64_t *ret);
bool reader_number(struct reader *reader, const struct yaml_node *map, const char *key,
	uint64_t max, uint64_t *ret);
bool reader_bool(struct reader *reader, const struct yaml_node *map, const char *key);
/* the key "width": 32 or 64 bits of a counter; 0 when it is absent or wrong */
unsigned reader_width(struct reader *reader, const struct yaml_node *map);
/* a duration in nanoseconds; 0 when it is absent or wrong */
int64_t reader_duration(struct reader *reader, const struct yaml_node *map, const char *key);
bool reader_oid(struct reader *reader, const struct yaml_node *node, struct profile_oid *ret);

/* A copy in the arena; NULL when absent or wrong. */
const char *reader_copy(
	struct reader *reader, const struct yaml_node *map, const char *key, bool required);
/* A list of at most @max; NULL when absent or wrong. */
const struct yaml_node *reader_list(struct reader *reader, const struct yaml_node *map,
	const char *key, size_t max, const char *expected);
static inline size_t reader_n(const struct yaml_node *list) /* 0 for NULL */
{
	if (list)
		return list->n;
	return 0;
}
/* Its texts, copied; what is no text is reported. @list may be NULL. */
const char **reader_texts(
	struct reader *reader, const struct yaml_node *list, const char *expected, size_t *ret_n);
/* The position of a word among @words, or the metric of a name; -1 when wrong. */
int reader_word(struct reader *reader, const struct yaml_node *node, const char *const *words,
	size_t n_words, const char *expected);
int reader_metric(struct reader *reader, const struct yaml_node *node);

/* "unit" and "divide": value = raw * mul / div, and times the cell size with .cells. */
struct reader_unit {
	const char *name;
	uint64_t mul;
	bool cells;
};
struct reader_scale {
	uint64_t mul, div;
	bool cells;
};
void reader_scale(struct reader *reader, const struct yaml_node *map,
	const struct reader_unit *units, size_t n_units, const char *expected,
	struct reader_scale *ret);

/* reader_fold - the key "fold", of a metric (-1: none) that is neither a counter nor a whole
 * number; FOLD_SUM when it is not there. */
enum profile_fold reader_fold(struct reader *reader, const struct yaml_node *node, int metric);
/* reader_fold_whole - the same, of whole numbers too. */
enum profile_fold reader_fold_whole(
	struct reader *reader, const struct yaml_node *node, int metric);

/* reader_evidence - the key "evidence" of @map; @otherwise when it is not there.
 * reader_inherited - the key "inherited" of @map; empty when it is not there. */
struct profile_evidence reader_evidence(
	struct reader *reader, const struct yaml_node *map, struct profile_evidence otherwise);
void reader_inherited(
	struct reader *reader, const struct yaml_node *map, struct profile_inherited *ret);

/* reader_part - what a word in an index stands for. */
enum profile_part reader_part(const char *word);

/* The parts of a profile, each in its file. */
void profile_gnmi_read(struct reader *reader, const struct yaml_node *node);
void profile_push_read(struct reader *reader, const struct yaml_node *node);
void profile_tune_read(struct reader *reader, const struct yaml_node *node);
