/* pcap_file over files made in memory, whole, cut at every byte and hostile; pcap live on a veth
 * pair in a namespace of its own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "collectors/packet/capture/pcap.h"
#include "collectors/packet/capture/pcap_file.h"
#include "tests/unit/collectors/packet/packets.h"

/* ---- files --------------------------------------------------------------- */

#define T0 1700000000123456789ull

static void make(struct capfile *f, int packets)
{
	struct built b;
	cap_begin(f, 1);
	for (int i = 0; i < packets; i++) {
		struct frame_spec s = spec_write_only(7, (uint32_t)i, 100 + i); /* all paddings */
		frame_build(&s, &b);
		cap_packet(f, 0, T0 + (uint64_t)i * 1000, b.b, b.n, i == 3 ? 64 : 0);
	}
}

static int count(const void *p, size_t n, int *ret_rc, struct pcap_record *last)
{
	struct pcap_reader *r;
	struct pcap_record record;
	struct err e = {0};
	int packets = 0;
	*ret_rc = pcap_reader_memory(p, n, &r, &e);
	if (*ret_rc < 0) {
		assert_true(e.text[0]);
		return 0;
	}
	while ((*ret_rc = pcap_reader_next(r, &record, &e)) > 0) {
		packets++;
		if (last)
			*last = record;
		for (uint32_t i = 0; i < record.n; i++) /* the sanitizer reads along */
			((volatile const uint8_t *)record.p)[i];
	}
	if (*ret_rc < 0)
		assert_true(e.text[0]);
	assert_int_equal(pcap_reader_next(r, &record, &e), 0); /* after the end stays the end */
	pcap_reader_free(r);
	return packets;
}

static const struct {
	const char *what;
	int big, ng, nano;
} forms[] = {
	{"pcap", 0, 0, 0},
	{"pcap, big endian", 1, 0, 0},
	{"pcap, ns", 0, 0, 1},
	{"pcap, ns, big endian", 1, 0, 1},
	{"pcapng", 0, 1, 0},
	{"pcapng, big endian", 1, 1, 0},
	{"pcapng, ns", 0, 1, 1},
	{"pcapng, ns, big endian", 1, 1, 1},
};

static void test_forms(void **state)
{
	for (size_t i = 0; i < rw_countof(forms); i++) {
		struct capfile f = {.big = forms[i].big, .ng = forms[i].ng, .nano = forms[i].nano};
		struct pcap_record last;
		int rc;
		make(&f, 5);
		if (count(f.b, f.n, &rc, &last) != 5 || rc != 0)
			fail_msg("%s: rc %d", forms[i].what, rc);
		int64_t want = (int64_t)(T0 + 4000);
		assert_int_equal(last.t_ns, forms[i].nano ? want : want / 1000 * 1000);
		assert_int_equal(last.link, LINK_ETHERNET);
		assert_int_equal(last.n, last.wire);
		/* the same bytes in a file, in pieces smaller than a record where the pipe wants it
		 */
		char path[] = "/tmp/rw-pcap-XXXXXX";
		int fd = mkstemp(path);
		assert_int_equal(write(fd, f.b, f.n), f.n);
		close(fd);
		struct pcap_reader *r;
		struct err e = {0};
		assert_int_equal(pcap_reader_open(path, &r, &e), 0);
		struct pcap_record record;
		int n = 0;
		while (pcap_reader_next(r, &record, &e) > 0)
			n++;
		assert_int_equal(n, 5);
		pcap_reader_free(r);
		unlink(path);
		free(f.b);
	}
}

/* Cut at every byte: as many records as are whole, and the truth about the end. */
static void test_truncated(void **state)
{
	for (size_t i = 0; i < rw_countof(forms); i++) {
		struct capfile f = {.big = forms[i].big, .ng = forms[i].ng, .nano = forms[i].nano};
		int before = 0, rc;
		make(&f, 4);
		for (size_t n = 1; n <= f.n; n++) {
			uint8_t *exact = malloc(n);
			memcpy(exact, f.b, n);
			int packets = count(exact, n, &rc, NULL);
			free(exact);
			if (packets < before || packets > before + 1)
				fail_msg("%s: %d packets after %d, cut at %zu", forms[i].what,
					packets, before, n);
			/* at the end of a record the file is whole; anywhere else it is not, and
			 * says so */
			if (rc != 0 && rc != -ENODATA &&
				!(n < 24 && (rc == -EINVAL || rc == -EBADMSG)))
				fail_msg("%s: cut at %zu: rc %d", forms[i].what, n, rc);
			if (rc == 0 && packets == before && n > 100)
				fail_msg("%s: cut at %zu: taken for whole", forms[i].what, n);
			before = packets;
		}
		assert_int_equal(before, 4);
		free(f.b);
	}
}

static void test_hostile(void **state)
{
	int rc;
	struct capfile f = {0};
	make(&f, 3);
	/* a record that claims 4 GiB */
	size_t second = 24 + 16 + (size_t)(f.b[24 + 8] | f.b[24 + 9] << 8);
	memset(f.b + second + 8, 0xff, 4);
	assert_int_equal(count(f.b, f.n, &rc, NULL), 1);
	assert_int_equal(rc, -EBADMSG);
	f.n = 0;
	f.ng = 1;
	make(&f, 3);
	size_t first = 28 + 20; /* the first packet block */
	uint8_t keep[8];
	memcpy(keep, f.b + first, 8);
	static const struct {
		const char *what;
		size_t at;
		uint8_t v[4];
	} rows[] = {
		{"length 0", 4, {0, 0, 0, 0}},
		{"length 13", 4, {13, 0, 0, 0}},
		{"length 4 GiB", 4, {0xfc, 0xff, 0xff, 0xff}},
		{"length beyond the limit", 4, {0, 0, 0, 2}},
		{"unknown interface", 8, {9, 0, 0, 0}},
		{"capture longer than the block", 20, {0, 1, 0, 0}},
		{"length 12", 4, {12, 0, 0, 0}},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		uint8_t old[4];
		memcpy(old, f.b + first + rows[i].at, 4);
		memcpy(f.b + first + rows[i].at, rows[i].v, 4);
		if (count(f.b, f.n, &rc, NULL) != 0 || rc != -EBADMSG)
			fail_msg("%s: rc %d", rows[i].what, rc);
		memcpy(f.b + first + rows[i].at, old, 4);
	}
	assert_int_equal(count(f.b, f.n, &rc, NULL), 3);
	/* a damage behind two good ones */
	f.b[f.n - 4] ^= 0x40;
	assert_int_equal(count(f.b, f.n, &rc, NULL), 2);
	assert_int_equal(rc, -EBADMSG);
	free(f.b);
}

static void test_interfaces(void **state)
{
	/* Two link types and clocks in one file; a new section begins the numbering anew, in the
	 * other byte order. */
	struct capfile f = {.ng = 1};
	struct built b;
	struct pcap_record last;
	int rc;
	cap_begin(&f, 1);
	cap_interface(&f, 113, 9);
	cap_interface(&f, 101, 0x80 | 20);
	frame_build(&(struct frame_spec){.opcode = 4, .link = 113}, &b);
	f.nano = 1;
	cap_packet(&f, 1, T0, b.b, b.n, 0);
	assert_int_equal(count(f.b, f.n, &rc, &last), 1);
	assert_int_equal(last.link, LINK_SLL);
	assert_int_equal(last.t_ns, T0);
	cap_packet(&f, 2, 3ull << 20 | 1 << 19, b.b + 16, b.n - 16, 0); /* ticks of 2^-20 s */
	assert_int_equal(count(f.b, f.n, &rc, &last), 2);
	assert_int_equal(last.link, LINK_RAW_IP);
	assert_int_equal(last.t_ns, 3500000000);
	f.big = 1;
	f.nano = 0;
	cap_begin(&f, 276);
	cap_packet(&f, 0, T0, b.b, b.n, 0);
	assert_int_equal(count(f.b, f.n, &rc, &last), 3);
	assert_int_equal(rc, 0);
	assert_int_equal(last.link, LINK_SLL2);
	free(f.b);
}

static void test_no_captures(void **state)
{
	static const struct {
		const char *what, *path;
		int rc;
		const char *says;
	} rows[] = {
		{"missing", "/nonexistent/x.pcap", -ENOENT, "no such file"},
		{"directory", "/tmp", -EISDIR, "directory"},
		{"empty", "/dev/null", -ENODATA, "empty"},
		{"text", "/proc/self/status", -EINVAL, "not a capture"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct pcap_reader *r;
		struct err e = {0};
		int rc = pcap_reader_open(rows[i].path, &r, &e);
		if (rc != rows[i].rc || !strstr(e.text, rows[i].says) ||
			!str_eq(e.file, rows[i].path))
			fail_msg("%s: rc %d, '%s' '%s'", rows[i].what, rc, e.file, e.text);
	}
	int rc;
	assert_int_equal(count("\x1f\x8b\x08\x00 gzip", 8, &rc, NULL), 0);
	assert_int_equal(rc, -EINVAL);
}

/* ---- live ---------------------------------------------------------------- */

#define INTERVAL (500 * NS_PER_MS)

struct live {
	struct loop *loop;
	struct entities *entities;
	struct capture *capture;
	struct loop_timer *poll, *deadline;
	int ns, sender, ifindex; /* the test's namespace; a packet socket in it */
	uint64_t packets, octets, ce, gaps, rows, totals;
	int64_t last_to;
	bool contiguous, timed_out;
	enum target_state want_state;
	uint64_t want_packets, want_totals;
};

static void sh(const char *command)
{
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

/* Runs @command in the test's namespace and comes back. */
static void in_namespace(struct live *v, const char *command)
{
	int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(v->ns, CLONE_NEWNET), 0);
	sh(command);
	assert_int_equal(setns(back, CLONE_NEWNET), 0);
	close(back);
}

static void sender_open(struct live *v)
{
	int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(v->ns, CLONE_NEWNET), 0);
	v->sender = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	v->ifindex = (int)if_nametoindex("rwa");
	assert_int_equal(setns(back, CLONE_NEWNET), 0);
	close(back);
	assert_true(v->sender >= 0 && v->ifindex > 0);
}

static void send_frame(struct live *v, const struct frame_spec *s)
{
	struct built b;
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_ifindex = v->ifindex, .sll_halen = 6};
	frame_build(s, &b);
	assert_int_equal(sendto(v->sender, b.b, b.n, 0, (struct sockaddr *)&to, sizeof(to)), b.n);
}

static void on_flows(void *arg, const struct flow_sample *f, size_t n)
{
	struct live *v = arg;
	assert_true(n >= 1 && f[0].total);
	assert_true(f[0].to_ns > f[0].from_ns);
	assert_true(f[0].to_ns % INTERVAL == 0 || f[0].to_ns - f[0].from_ns < INTERVAL);
	if (v->totals && f[0].from_ns != v->last_to)
		v->contiguous = false;
	v->last_to = f[0].to_ns;
	v->totals++;
	v->rows += n - 1;
	v->packets += f[0].packets;
	v->octets += f[0].octets;
	v->ce += f[0].ce;
	v->gaps += f[0].psn_gaps;
}

static void on_poll(void *arg)
{
	struct live *v = arg;
	if (capture_state(v->capture)->state == v->want_state && v->packets >= v->want_packets &&
		v->totals >= v->want_totals)
		loop_stop(v->loop);
}

static void on_deadline(void *arg)
{
	struct live *v = arg;
	v->timed_out = true;
	loop_stop(v->loop);
}

static void wait_for(struct live *v, const char *what, enum target_state state, uint64_t packets,
	uint64_t totals)
{
	v->want_state = state;
	v->want_packets = packets;
	v->want_totals = totals;
	loop_timer_start(v->poll, 10 * NS_PER_MS, 10 * NS_PER_MS);
	loop_timer_start(v->deadline, 30 * NS_PER_S, 0);
	loop_run(v->loop);
	loop_timer_stop(v->poll);
	loop_timer_stop(v->deadline);
	if (v->timed_out)
		fail_msg("waited in vain for: %s (state %s '%s', %lu packets, %lu rows of totals)",
			what, target_state_name(capture_state(v->capture)->state),
			capture_state(v->capture)->reason, v->packets, v->totals);
}

/* The effective capabilities, taken away and given back; the permitted ones stay. */
static void rights(bool have)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	assert_int_equal(syscall(SYS_capget, &h, d), 0);
	for (int i = 0; i < 2; i++)
		d[i].effective = have ? d[i].permitted : 0;
	assert_int_equal(syscall(SYS_capset, &h, d), 0);
}

static void test_live(void **state)
{
	struct live v = {.contiguous = true};
	int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (unshare(CLONE_NEWNET)) {
		close(back);
		print_message("no right to make a network namespace: skipped\n");
		skip();
	}
	v.ns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(back, CLONE_NEWNET), 0);
	const char *up = "ip link add rwa type veth peer name rwb && ip link set rwa up && ip link "
			 "set rwb up";

	char netns[64];
	snprintf(netns, sizeof(netns), "/proc/self/fd/%d", v.ns);
	struct config_capture c = {.name = "test",
		.interface = "rwb",
		.netns = netns,
		.device = "leaf1",
		.port = "swp1",
		.direction = "in",
		.sampling = 1,
		.snaplen = 128,
		.buffer_bytes = 1 << 20,
		.interval_ns = INTERVAL};
	struct sink sink = {.arg = &v, .flows = on_flows};
	struct err e = {0};
	assert_int_equal(loop_new(&v.loop), 0);
	v.entities = entities_new();
	v.poll = loop_timer_new(v.loop, on_poll, &v);
	v.deadline = loop_timer_new(v.loop, on_deadline, &v);

	/* Not there yet: it waits, and finds it when it comes. */
	assert_int_equal(capture_open(v.loop, v.entities, &c, &sink, &v.capture, &e), 0);
	assert_int_equal(capture_state(v.capture)->state, TARGET_BACKOFF);
	assert_true(strstr(capture_state(v.capture)->reason, "rwb") != NULL);
	in_namespace(&v, up);
	wait_for(&v, "the interface to be found", TARGET_UP, 0, 0);
	assert_true(capture_same(v.capture, &c));
	struct config_capture other = c;
	other.sampling = 2;
	assert_false(capture_same(v.capture, &other));

	/* Untagged, tagged, QinQ, IPv6; noise is not counted; own direction only. Octets are whole
	 * frames though the capture is cut. */
	sender_open(&v);
	uint64_t octets = 0;
	for (uint32_t i = 0; i < 200; i++) {
		struct frame_spec s = spec_write_only(7 + i % 4, i / 4 + (i >= 100 ? 5 : 0), 1000);
		s.n_vlan = (int)(i % 4 % 3);
		s.v6 = i % 4 == 3;
		s.src_port = (uint16_t)(50000 + i % 4);
		s.tos = i < 20 ? 0x6b : 0x6a;
		struct built b;
		frame_build(&s, &b);
		octets += b.n;
		send_frame(&v, &s);
		s.dst_port = 4000;
		send_frame(&v, &s);
	}
	wait_for(&v, "200 packets", TARGET_UP, 200, 0);
	assert_int_equal(v.packets, 200);
	assert_int_equal(v.octets, octets);
	assert_int_equal(v.ce, 20);
	assert_int_equal(v.gaps, 4);
	assert_true(v.rows >= 4);
	/* Silence is reported, too, interval by interval. */
	wait_for(&v, "intervals of silence", TARGET_UP, 200, v.totals + 3);
	assert_int_equal(v.packets, 200);
	assert_true(v.contiguous);

	/* Down and up again, without the rights to open anew: the old handle is revived. */
	struct frame_spec s = spec_write_only(7, 900, 100);
	in_namespace(&v, "ip link set rwb down");
	rights(false);
	wait_for(&v, "the loss to be seen", TARGET_BACKOFF, 0, 0);
	rights(true);
	in_namespace(&v, "ip link set rwb up");
	rights(false);
	wait_for(&v, "the return", TARGET_UP, 0, 0);
	send_frame(&v, &s);
	wait_for(&v, "a packet over the old handle", TARGET_UP, 201, 0);
	rights(true);
	/* Gone and made anew. */
	close(v.sender);
	in_namespace(&v, "ip link del rwa");
	wait_for(&v, "the interface to vanish", TARGET_BACKOFF, 0, 0);
	in_namespace(&v, up);
	wait_for(&v, "the new interface", TARGET_UP, 0, 0);
	sender_open(&v);
	send_frame(&v, &s);
	wait_for(&v, "a packet over the new interface", TARGET_UP, 202, 0);

	/* What was captured shortly before the end is not lost. */
	send_frame(&v, &s);
	wait_for(&v, "the end", TARGET_UP, 202, v.totals + 1);
	capture_free(v.capture);
	assert_int_equal(v.packets, 203);
	assert_int_equal(entities_find(v.entities, "leaf1", "swp1", PRIO_NONE) != ENTITY_NONE, 1);

	/* Our own namespace was never left behind. */
	struct stat a, b;
	assert_int_equal(fstat(back, &a), 0);
	assert_int_equal(stat("/proc/thread-self/ns/net", &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	close(v.sender);
	close(v.ns);
	close(back);
	loop_timer_free(v.poll);
	loop_timer_free(v.deadline);
	loop_free(v.loop);
	entities_free(v.entities);
}

extern const struct collector collector_pcap;

static void test_refused(void **state)
{
	struct loop *l;
	struct entities *t = entities_new();
	struct sink sink = {0};
	struct capture *c;
	struct err e = {0};
	assert_int_equal(loop_new(&l), 0);
	struct config_capture config = {.name = "rocks", .interface = "lo", .interval_ns = 0};
	assert_int_equal(capture_open(l, t, &config, &sink, &c, &e), -EINVAL);
	assert_true(strstr(e.text, "rocks") != NULL);
	/* what listens is a capture of another collector */
	struct collector_place place;
	struct config_capture listens = {.name = "sflow", .listen = "127.0.0.1:6343"};
	const struct config whole = {.captures = &listens, .n_captures = 1};
	assert_true(collector_pcap.place(&whole, 0, &place));
	assert_null(place.config);
	loop_free(l);
	entities_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms),
		cmocka_unit_test(test_truncated), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_interfaces), cmocka_unit_test(test_no_captures),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_live)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
