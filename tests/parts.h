/* parts - a program of several test programs, each of which its first argument names
 * (tests/CMakeLists.txt: rw_part). */
#ifndef RW_TESTS_PARTS_H
#define RW_TESTS_PARTS_H

struct part {
	const char *name;
	int (*run)(void); /* its main() */
};

/* Made when the build is configured; the last one has no name. */
extern const struct part parts[];

#endif
