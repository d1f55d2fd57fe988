/* What waits to be written: its order, what is dropped, and that dropping does not look at the
 * rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "db/store/store_records.h"

static uint64_t numbers;

static void push_samples(struct jobs *jobs, size_t n)
{
	const struct sample v[8] = {0};
	struct job *job = job_of_samples(v, n);
	job->number = ++numbers;
	jobs_push(jobs, job);
}

static void push_record(struct jobs *jobs, enum record_kind kind)
{
	static const struct record_entity one = {.id = 1, .device = "leaf1", .port = ""};
	struct store_record record = {.kind = kind};
	if (kind == RECORD_ENTITIES)
		record = (struct store_record){.kind = kind, .entities = {.v = &one, .n = 1}};
	struct job *job = job_of_record(&record);
	job->number = ++numbers;
	jobs_push(jobs, job);
}

/* The list and its chains agree, forwards and backwards. */
static void check_whole(const struct jobs *jobs)
{
	size_t n = 0, in_classes = 0, values = 0;
	uint64_t before = 0;
	const struct job *last = NULL;
	for (const struct job *job = jobs->first; job; job = job->next) {
		assert_true(job->number > before);
		assert_ptr_equal(job->before, last);
		before = job->number;
		values += job->n_values;
		last = job;
		n++;
	}
	assert_ptr_equal(jobs->last, last);
	assert_int_equal(jobs->n_values, values);
	for (int class = 0; class < JOB_CLASSES; class ++) {
		const struct job *end = NULL;
		size_t of_class = 0;
		for (const struct job *job = jobs->classes[class].first; job;
			job = job->class_next) {
			assert_int_equal(job->class, class);
			assert_ptr_equal(job->class_before, end);
			end = job;
			of_class++;
		}
		assert_ptr_equal(jobs->classes[class].last, end);
		assert_int_equal(jobs->classes[class].n, of_class);
		in_classes += of_class;
	}
	assert_int_equal(in_classes, n);
}

static void oldest_values_go(void **state)
{
	struct jobs jobs = {0};
	numbers = 0;
	push_record(&jobs, RECORD_ENTITIES);
	for (int i = 0; i < 5; i++) {
		push_samples(&jobs, 4);
		push_record(&jobs, RECORD_INCIDENT);
	}
	const struct jobs_dropped dropped = jobs_drop_values(&jobs, 9);
	assert_int_equal(dropped.jobs, 3);
	assert_int_equal(dropped.values, 12);
	assert_int_equal(jobs.n_values, 8);
	assert_int_equal(jobs.classes[JOB_KEPT].n, 6);
	assert_int_equal(jobs.classes[JOB_VALUES].first->number, 8);
	check_whole(&jobs);
	jobs_free(&jobs);
}

static void spare_and_newest(void **state)
{
	struct jobs jobs = {0};
	numbers = 0;
	for (int i = 0; i < 10; i++) {
		push_record(&jobs, RECORD_EVENT);
		push_record(&jobs, RECORD_HEALTH);
		push_record(&jobs, RECORD_SILENCE);
	}
	assert_int_equal(jobs_drop_class(&jobs, JOB_SPARE, 4).jobs, 6);
	assert_int_equal(jobs_drop_class(&jobs, JOB_NEWEST, 0).jobs, 10);
	assert_int_equal(jobs.classes[JOB_KEPT].n, 10);
	check_whole(&jobs);
	jobs_free(&jobs);
	check_whole(&jobs);
}

/* What failed comes back to the front, in order; also into an empty queue. */
static void prepended(void **state)
{
	for (int later = 0; later < 2; later++) {
		struct jobs front = {0}, jobs = {0};
		numbers = 0;
		push_samples(&front, 2);
		push_record(&front, RECORD_EVENT);
		push_samples(&front, 1);
		if (later) {
			push_record(&jobs, RECORD_TARGET);
			push_samples(&jobs, 3);
		}
		jobs_prepend(&jobs, &front);
		check_whole(&jobs);
		check_whole(&front);
		assert_null(front.first);
		assert_int_equal(jobs.n_values, later ? 6 : 3);
		struct job *job = jobs_pop(&jobs);
		assert_int_equal(job->number, 1);
		job_free(job);
		jobs_remove(&jobs, jobs.first);
		check_whole(&jobs);
		jobs_free(&jobs);
	}
}

/* 200,000 jobs that cannot be dropped stand before those that can: each drop is one step. A walk
 * over them for each would take hours. */
static void constant_time(void **state)
{
	enum { KEPT = 200000, DROPS = 50000 };
	struct jobs jobs = {0};
	numbers = 0;
	for (int i = 0; i < KEPT; i++)
		push_record(&jobs, RECORD_SILENCE);
	uint64_t dropped = 0;
	for (int i = 0; i < DROPS; i++) {
		push_samples(&jobs, 1);
		dropped += jobs_drop_values(&jobs, 10).jobs;
	}
	assert_int_equal(dropped, DROPS - 10);
	jobs_free(&jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_values_go),
		cmocka_unit_test(spare_and_newest),
		cmocka_unit_test(prepended),
		cmocka_unit_test(constant_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
