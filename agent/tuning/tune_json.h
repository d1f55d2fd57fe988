/*
 * tune_json - a recommendation and a verification as documents, in both directions. The one place
 * that knows their keys: the store, the control socket and the views use these documents,
 * everything else uses the structs of tune_record.h. What is not known is null in the document and
 * NAN or NULL in the struct. New documents are new references.
 */
#ifndef RW_AGENT_TUNE_JSON_H
#define RW_AGENT_TUNE_JSON_H

#include <jansson.h>
#include "agent/tuning/tune_record.h"

struct arena;

/* TUNE_DOCUMENT_PUBLIC: what people and other programs see. TUNE_DOCUMENT_WHOLE: with "progress",
 * the numbers that only rocewatch needs: for the store and the socket. */
enum tune_document { TUNE_DOCUMENT_PUBLIC, TUNE_DOCUMENT_WHOLE };
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

#endif
