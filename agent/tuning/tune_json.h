/*
 * tune_json - recommendations and verifications as documents, in both directions, by tables of
 * their members. The one place that knows their keys: the store, the control socket and the pages
 * use these documents, everything else uses the structs of tune_record.h. What is not known is null
 * in the document and NAN or NULL in the struct. New documents are new references.
 */
#pragma once

#include <jansson.h>

#include "agent/document/shape.h"
#include "agent/tuning/tune_record.h"
#include "base/base.h"

/* A verification as its document tells it. */
struct verified_side {
	int64_t from_ns, to_ns;
	size_t windows;
	double drops; /* NAN unknown */
};
struct verified_left_out {
	size_t disturbed, idle, unmatched;
};
struct verification {
	const char *id;
	enum verify_verdict verdict;
	const char *why;
	enum verify_match match;
	double window_s;
	struct verified_side before, after;
	struct verified_left_out left_out;
	struct verify_effect *effects;
	size_t n_effects;
	const char **ports_worse, **ports_better;
	size_t n_ports_worse, n_ports_better, ports_tested;
	const char *pause_quality, *recorded;
};
extern const struct shape verification_shape;

/* A sheet as its document tells it: a record, and what follows from it. */
struct tune_due {
	int64_t t_ns;
	const char *why;
};
struct tune_progress;
struct tune_paper {
	struct tune_record r;
	struct tune_progress *progress; /* the numbers that only rocewatch needs; NULL */
	bool is_accepted, is_rejected, is_applied, is_verified;
	struct tune_due *rollback_due;
	struct verification *verification;
	const char *verdict;
	const char *change; /* all changes in one line */
};
extern const struct shape tune_paper_shape;
extern const struct shape tune_change_shape;
extern const struct shape tune_expect_shape;

/* TUNE_DOCUMENT_PUBLIC: what people and other programs see. TUNE_DOCUMENT_WHOLE: with "progress",
 * the numbers that only rocewatch needs: for the store and the socket. TUNE_DOCUMENT_SHOWN: public,
 * and with all changes in one line. */
enum tune_document { TUNE_DOCUMENT_PUBLIC, TUNE_DOCUMENT_WHOLE, TUNE_DOCUMENT_SHOWN };
json_t *tune_record_json(const struct tune_record *record, enum tune_document which);

/* tune_record_parse - a record that owns all it says, for tune_record_free(); NULL: @document is
 * not a whole record. What it does not say is not known. */
struct tune_record *tune_record_parse(const json_t *document);
/* tune_record_load - the same from the text of a document. */
struct tune_record *tune_record_load(const char *text);
/* tune_record_copy - for tune_record_free(). */
struct tune_record *tune_record_copy(const struct tune_record *record);

json_t *tune_verified_json(const struct tune_verified *verified);
/* tune_verified_parse - in @a; NULL: it has no verdict. */
const struct tune_verified *tune_verified_parse(const json_t *document, struct arena *a);
