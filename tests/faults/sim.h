/*
 * sim - simulated time for code with threads of its own (the store): the clocks stand still until
 * the test moves them, and at any moment one thread runs. The same steps then happen in the same
 * order in every run, and an hour takes milliseconds.
 *
 * The linker's --wrap puts sim in the place of mono_now(), wall_now(), the pthread functions by
 * which threads wait for each other, and write(): log lines are kept (CMakeLists.txt).
 */
#ifndef RW_TESTS_SIM_H
#define RW_TESTS_SIM_H

#include <stddef.h>
#include <stdint.h>

void sim_start(int64_t wall_ns);
void sim_stop(void);
int64_t sim_wall_ns(void);
/* Lets so much time pass; the other threads do what falls due in it. */
void sim_advance(int64_t ns);
/* The clocks go back to where they were: the other threads must not have run meanwhile. */
int64_t sim_mark(void);
void sim_go_back(int64_t mark);
void sim_sleep_us(int64_t us); /* of whichever thread runs */

/* The lines that were logged since sim_start(), and how many bytes they are. */
const char *sim_log(size_t *ret_n);

#endif
