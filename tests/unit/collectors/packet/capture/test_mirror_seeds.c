/* mirror_seeds: the hash of copies.c, over a capture of which all comes twice, with any seed. It
 * counts a million packets and asks nothing of memory: this program is built without sanitizers,
 * under which fresh tables for each seed took 50 s. test_mirrors and test_copies run copies.c with
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collectors/packet/loss/copies.h"
#include "tests/unit/collectors/packet/capture/mirrored.h"

/* Both steps, with nothing in between. */
static bool copies_take(struct copies *copies, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	struct copies_look look;
	copies_look(copies, packet, origin, t_ns, &look);
	return copies_judge(copies, &look);
}

/* 20,000 seeds over a small capture of which all comes twice. */
static void test_mirror_seeds(void **state)
{
	const struct setting setting = {.qps = 1, .messages = 24, .step_ns = 200, .lag_ns = 4000};
	struct mirrored wire;
	mirrored_fill(&wire, &setting, 8);
	rw_cleanup(freep) struct roce_packet *packets = rw_calloc(wire.n, sizeof(*packets));
	for (size_t i = 0; i < wire.n; i++)
		packets[i] = seen_packet(&wire.seen[i], &setting);
	int wrong = 0;
	for (uint64_t seed = 0; seed < 20000; seed++) {
		struct copies *copies = copies_new(seed * 0xD1B54A32D192ED03ull);
		for (size_t i = 0; i < wire.n; i++)
			copies_learn(copies, &packets[i], NULL, wire.seen[i].t_ns);
		copies_learned(copies);
		for (size_t i = 0; i < wire.n; i++)
			copies_take(copies, &packets[i], NULL, wire.seen[i].t_ns);
		wrong += copies_count(copies)->packets != wire.n / 2;
		copies_free(copies);
	}
	free(wire.seen);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mirror_seeds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
