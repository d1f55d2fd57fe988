/* capture_files - the merge: a heap of open files, and the files that are still to come. */
#include "collectors/packet/capture/capture_files.h"

#include <sys/stat.h>

struct capture_source {
	const char *path; /* lent */
	size_t order; /* as it was added */
	bool again; /* a regular file: it can be opened again */
	bool has_record; /* .begin_ns is known */
	int64_t begin_ns;
	uint64_t bytes; /* of the file; 0 = not known */
	uint64_t read; /* of it, once it was closed */
	uint64_t drops; /* that the file itself tells, once it was closed */
	bool drops_known;
	/* while it is open */
	struct pcap_reader *reader; /* owned */
	struct pcap_record record; /* the next one, when .loaded */
	bool loaded;
	uint32_t lane;
};

struct capture_files {
	capture_trouble_fn *trouble;
	void *arg;
	struct capture_source *v; /* after the first record was read: by begin */
	size_t n, cap;
	bool begun;
	size_t next; /* in .v: the first one that was not opened yet */
	struct capture_source *heap[CAPTURE_FILES_OPEN];
	size_t n_heap;
	bool taken; /* the first one's record was handed out */
	bool lane_used[CAPTURE_FILES_OPEN];
	struct err
		err; /* of the newest record that could not be read: too large to clear for each */
};

struct capture_files *capture_files_new(capture_trouble_fn *trouble, void *arg)
{
	struct capture_files *files = rw_calloc(1, sizeof(*files));
	files->trouble = trouble;
	files->arg = arg;
	return files;
}

static void capture_source_close(struct capture_source *source)
{
	if (!source->reader)
		return;
	source->read = pcap_reader_offset(source->reader);
	source->drops = pcap_reader_drops(source->reader, &source->drops_known);
	pcap_reader_free(source->reader);
	source->reader = NULL;
	source->loaded = false;
}

void capture_files_free(struct capture_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n; i++)
		capture_source_close(&files->v[i]);
	free(files->v);
	free(files);
}

/* ---- one file ---------------------------------------------------------------- */

/* capture_source_load - the next record of an open file. false: it ended, and is closed. */
static bool capture_source_load(struct capture_files *files, struct capture_source *source)
{
	const int rc = pcap_reader_next(source->reader, &source->record, &files->err);
	source->loaded = rc > 0;
	if (source->loaded)
		return true;
	if (rc < 0)
		files->trouble(files->arg, source->path, rc, &files->err);
	capture_source_close(source);
	return false;
}

static bool capture_source_is_file(const char *path, uint64_t *ret_bytes)
{
	struct stat st;
	*ret_bytes = 0;
	if (str_eq(path, "-") || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	*ret_bytes = (uint64_t)st.st_size;
	return true;
}

int capture_files_add(struct capture_files *files, const char *path, struct err *e)
{
	struct capture_source source = {.path = path, .order = files->n};
	const int rc = pcap_reader_open(path, &source.reader, e);
	if (rc < 0)
		return rc;
	source.again = capture_source_is_file(path, &source.bytes);
	struct err ignored = {0};
	/* damage is reported when the stream reaches it: a regular file is opened again then */
	source.has_record = pcap_reader_next(source.reader, &source.record, &ignored) > 0;
	source.loaded = source.has_record;
	source.begin_ns = source.record.t_ns;
	if (source.again)
		capture_source_close(&source);
	rw_grow(files->v, files->n, files->cap);
	files->v[files->n++] = source;
	return 0;
}

/* ---- the heap ------------------------------------------------------------------ */

/* Files without a record come first, so that their damage is reported. */
static int capture_source_by_begin(const void *left, const void *right)
{
	const struct capture_source *a = left, *b = right;
	if (a->has_record != b->has_record)
		return (a->has_record > b->has_record) - (a->has_record < b->has_record);
	if (a->begin_ns != b->begin_ns)
		return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
	return (a->order > b->order) - (a->order < b->order);
}

static bool capture_source_before(
	const struct capture_source *left, const struct capture_source *right)
{
	if (left->record.t_ns != right->record.t_ns)
		return left->record.t_ns < right->record.t_ns;
	return left->order < right->order;
}

static void capture_heap_down(struct capture_files *files)
{
	struct capture_source *moved = files->heap[0];
	size_t at = 0;
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= files->n_heap)
			break;
		if (child + 1 < files->n_heap &&
			capture_source_before(files->heap[child + 1], files->heap[child]))
			child++;
		if (!capture_source_before(files->heap[child], moved))
			break;
		files->heap[at] = files->heap[child];
		at = child;
	}
	files->heap[at] = moved;
}

static void capture_heap_push(struct capture_files *files, struct capture_source *source)
{
	size_t at = files->n_heap++;
	while (at > 0) {
		const size_t parent = (at - 1) / 2;
		if (!capture_source_before(source, files->heap[parent]))
			break;
		files->heap[at] = files->heap[parent];
		at = parent;
	}
	files->heap[at] = source;
}

/* ---- opening in time -------------------------------------------------------------- */

static uint32_t capture_lane_take(struct capture_files *files)
{
	uint32_t lane = 0;
	while (files->lane_used[lane])
		lane++;
	files->lane_used[lane] = true;
	return lane;
}

static void capture_source_open(struct capture_files *files, struct capture_source *source)
{
	struct err e = {0};
	int rc = 0;
	if (!source->reader)
		rc = pcap_reader_open(source->path, &source->reader, &e);
	if (rc < 0) {
		files->trouble(files->arg, source->path, rc, &e);
		return;
	}
	if (!source->loaded && !capture_source_load(files, source))
		return;
	source->lane = capture_lane_take(files);
	capture_heap_push(files, source);
}

/* Open what begins before the next record. */
static void capture_files_open_due(struct capture_files *files)
{
	while (files->next < files->n && files->n_heap < CAPTURE_FILES_OPEN) {
		struct capture_source *source = &files->v[files->next];
		const bool due = files->n_heap == 0 || !source->has_record ||
			source->begin_ns <= files->heap[0]->record.t_ns;
		if (!due)
			return;
		files->next++;
		capture_source_open(files, source);
	}
}

/* capture_files_step - the record that was handed out is done with: its file goes on. */
static void capture_files_step(struct capture_files *files)
{
	struct capture_source *source = files->heap[0];
	files->taken = false;
	if (!capture_source_load(files, source)) {
		files->lane_used[source->lane] = false;
		files->heap[0] = files->heap[--files->n_heap];
	}
	if (files->n_heap > 1)
		capture_heap_down(files);
}

const struct pcap_record *capture_files_next(struct capture_files *files)
{
	if (!files->begun && files->n)
		qsort(files->v, files->n, sizeof(*files->v), capture_source_by_begin);
	files->begun = true;
	if (files->taken)
		capture_files_step(files);
	capture_files_open_due(files);
	if (files->n_heap == 0)
		return NULL;
	struct capture_source *source = files->heap[0];
	source->record.origin.interface += source->lane * PCAP_INTERFACES_MAX;
	files->taken = true;
	return &source->record;
}

/* ---- what is known of the files ------------------------------------------------------ */

size_t capture_files_count(const struct capture_files *files)
{
	return files->n;
}

const char *capture_files_path(const struct capture_files *files, size_t i)
{
	return files->v[i].path;
}

bool capture_files_begin(const struct capture_files *files, int64_t *ret_ns)
{
	bool known = false;
	for (size_t i = 0; i < files->n; i++) {
		const struct capture_source *source = &files->v[i];
		if (!source->has_record || (known && source->begin_ns >= *ret_ns))
			continue;
		*ret_ns = source->begin_ns;
		known = true;
	}
	return known;
}

static void capture_source_end(const struct capture_source *source, bool *known, int64_t *ret_ns)
{
	struct pcap_reader *reader = NULL;
	struct pcap_record record;
	struct err ignored = {0};
	if (pcap_reader_open(source->path, &reader, &ignored) < 0)
		return;
	while (pcap_reader_next(reader, &record, &ignored) > 0) {
		if (!*known || record.t_ns > *ret_ns)
			*ret_ns = record.t_ns;
		*known = true;
	}
	pcap_reader_free(reader);
}

bool capture_files_end(const struct capture_files *files, int64_t *ret_ns)
{
	bool known = false;
	for (size_t i = 0; i < files->n; i++) {
		if (!files->v[i].again)
			return false;
		capture_source_end(&files->v[i], &known, ret_ns);
	}
	return known;
}

uint64_t capture_files_drops(const struct capture_files *files, bool *known)
{
	uint64_t sum = 0;
	*known = false;
	for (size_t i = 0; i < files->n; i++) {
		const struct capture_source *source = &files->v[i];
		bool said = source->drops_known;
		if (source->reader)
			sum += pcap_reader_drops(source->reader, &said);
		else
			sum += source->drops;
		*known |= said;
	}
	return sum;
}

uint64_t capture_files_read(const struct capture_files *files)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < files->n; i++) {
		if (files->v[i].reader)
			sum += pcap_reader_offset(files->v[i].reader);
		else if (i < files->next)
			sum += files->v[i].read;
	}
	return sum;
}

uint64_t capture_files_bytes(const struct capture_files *files)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < files->n; i++) {
		if (!files->v[i].again)
			return 0;
		sum += files->v[i].bytes;
	}
	return sum;
}
