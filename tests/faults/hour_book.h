/* hour_book - the record of what was handed to a store, and its comparison with the file. */
#ifndef RW_TESTS_HOUR_BOOK_H
#define RW_TESTS_HOUR_BOOK_H

#include "db/model/entity.h"
#include "db/model/metric.h"
#include "tests/faults/hour.h"

enum book_kind {
	BOOK_SAMPLES,
	/* rows of their own: each exactly once */
	BOOK_EVENT,
	BOOK_FINDING,
	BOOK_FLOW,
	BOOK_FABRIC,
	BOOK_DEVICE,
	BOOK_PORT,
	/* states, replaced by newer ones of the same key */
	BOOK_INCIDENT,
	BOOK_HEALTH,
	BOOK_TARGET,
	BOOK_ALERT,
	BOOK_KINDS
};

struct book;
struct book *book_new(void);
void book_free(struct book *book);

/* Each adds one thing. Names are copied: ids of entities are the store's business. */
void book_samples(
	struct book *book, const struct entities *entities, const struct sample *samples, size_t n);
void book_row(struct book *book, enum book_kind kind, int64_t t_ns, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void book_state(struct book *book, enum book_kind kind, int64_t t_ns, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The number by which the store knows the newest thing, and the one at @i from 0. */
void book_number(struct book *book, uint64_t number);
uint64_t book_get_number(const struct book *book, uint64_t i);
uint64_t book_count(const struct book *book);
/* Things from @committed on need not be there, and may be. */
void book_forgive(struct book *book, uint64_t committed);

struct book_bounds {
	uint64_t committed; /* so many things must be there */
	int64_t floor_ns; /* what is older may be gone, ... */
	int64_t pin_from_ns, pin_to_ns; /* ... except for samples from here to there */
};
void book_compare(struct book *book, const char *path, const struct book_bounds *bounds,
	struct hour_check *ret);
uint64_t book_content(const char *path);

#endif
