/*
 * capture_files - several capture files as one stream of records, in the order of time.
 *
 * A merge of readers by the time of their next record; equal times keep the order in which the
 * files were added. A file is opened when the stream reaches its first record and closed at its
 * end, so that a hundred rotated files need one or two descriptors. When more than
 * CAPTURE_FILES_OPEN files overlap, the later ones wait until one ends, and their first records
 * come late. Within a file the order is the file's own.
 *
 * Interfaces are numbered over all files. Files that overlap in time have numbers of their own; a
 * file that begins after another one has ended takes over its numbers: it is the same capture,
 * rotated. Clocks are believed: files of hosts whose clocks differ are merged by what they say.
 * One thread.
 */
#pragma once

#include "base/base.h"

#include "collectors/packet/capture/pcap_file.h"

#define CAPTURE_FILES_OPEN 64u

struct capture_files;

/* capture_trouble_fn - a file could not be read to its end. @code: of pcap_reader_open() or
 * pcap_reader_next(). What came before counts. */
typedef void capture_trouble_fn(void *arg, const char *path, int code, const struct err *e);

/* capture_files_new - @trouble is called from capture_files_next(). */
struct capture_files *capture_files_new(capture_trouble_fn *trouble, void *arg);
void capture_files_free(struct capture_files *files); /* NULL is fine */

/* capture_files_add - look at the first record of @path ("-" is standard input; the text is lent).
 * All files are added before the first record is read. 0, or the error of pcap_reader_open(): the
 * file is then no part of the stream. Damage behind the header is told by capture_files_next(). */
int capture_files_add(struct capture_files *files, const char *path, struct err *e);

/* capture_files_next - the next record, lent until the next call; NULL at the end of all files. */
const struct pcap_record *capture_files_next(struct capture_files *files);

/* Of the files that were added, in the order of their first records. */
size_t capture_files_count(const struct capture_files *files);
const char *capture_files_path(const struct capture_files *files, size_t i);

/* capture_files_begin - the earliest first record; false: no file has a record. */
bool capture_files_begin(const struct capture_files *files, int64_t *ret_ns);
/*
 * capture_files_end - the latest record. Reads all files through. false: no file has a record, or
 * one of them cannot be read twice (a pipe).
 */
bool capture_files_end(const struct capture_files *files, int64_t *ret_ns);

/* capture_files_drops - pcap_reader_drops() over all files, as far as they were read. */
uint64_t capture_files_drops(const struct capture_files *files, bool *known);

/* Bytes read so far, and of all files; the latter is 0 when a pipe is among them. */
uint64_t capture_files_read(const struct capture_files *files);
uint64_t capture_files_bytes(const struct capture_files *files);
