/* config_discover: heard links take the place of the words "links: discover", and groups follow
 * from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "config/config.h"

#define DEVICES                                                                                    \
	"devices:\n  - { name: leaf1, role: leaf }\n  - { name: leaf2, role: leaf }\n  - { name: " \
	"spine1, role: spine }\n  - { name: spine2, role: spine }\n"

static struct config *parsed(const char *text)
{
	struct err_list errors = {0};
	struct config *c = NULL;
	if (config_parse(text, strlen(text), "test.yaml", CONFIG_CASE, NULL, 0, &c, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "?");
	err_list_done(&errors);
	return c;
}

static struct config *with(const struct config *c, const struct config_link *links, size_t n)
{
	struct err_list errors = {0};
	struct config *ret = NULL;
	if (config_with_links(c, links, n, &ret, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "?");
	err_list_done(&errors);
	return ret;
}

/* "leaf1:up1-spine1:1 ... | leaf1 uplinks: up1 up2" */
static char *graph(const struct config *c)
{
	struct str b = {0};
	str_add(&b, "");
	for (size_t d = 0; d < c->fabric->n_devices; d++) {
		const struct fabric_device *dev = c->fabric->devices[d];
		for (size_t p = 0; p < dev->n_ports; p++) {
			const struct fabric_port *x = dev->ports[p];
			if (x->peer && x->peer->device > dev)
				str_addf(&b, "%s:%s-%s:%s%s ", dev->name, x->name,
					x->peer->device->name, x->peer->name,
					x->discovered ? "" : "!");
			if (x->host)
				str_addf(&b, "%s:%s-%s/%s%s ", dev->name, x->name, x->host,
					x->host_nic, x->discovered ? "" : "!");
			if (x->outsider)
				str_addf(&b, "%s:%s-%s(%s)/%s ", dev->name, x->name,
					neighbor_kind_word(x->outsider_kind), x->outsider,
					x->outsider_port);
		}
	}
	for (size_t d = 0; d < c->fabric->n_devices; d++) {
		const struct fabric_device *dev = c->fabric->devices[d];
		for (size_t g = 0; g < dev->n_groups; g++) {
			str_addf(&b, "| %s %s:", dev->name, dev->groups[g].id);
			for (size_t m = 0; m < dev->groups[g].n_members; m++)
				str_addf(&b, " %s", dev->groups[g].members[m]->name);
			str_add(&b, " ");
		}
	}
	return b.s;
}

static const struct {
	const char *what, *text;
	struct config_link links[6];
	size_t n;
	const char *expect;
	bool discover;
} rows[] = {
	{"groups follow", DEVICES "links: discover\n",
		{{"leaf1:up1", "spine1:1"}, {"leaf1:up2", "spine2:1"}, {"leaf1:1", "host:n1:eth0"}},
		3,
		"leaf1:1-n1/eth0 leaf1:up1-spine1:1 leaf1:up2-spine2:1 | leaf1 uplinks: up1 up2 ",
		true},
	{"nothing heard", DEVICES "links: discover\n", {{0}}, 0, "", true},
	{"a device that is not configured", DEVICES "links: discover\n",
		{{"leaf9:up1", "spine1:1"}, {"leaf1:up2", "spine2:1"}}, 2, "leaf1:up2-spine2:1 ",
		true},
	{"a port twice: the first", DEVICES "links: discover\n",
		{{"leaf1:up1", "spine1:1"}, {"leaf2:up1", "spine1:1"}}, 2, "leaf1:up1-spine1:1 ",
		true},
	{"switches that are not configured, and what may be one", DEVICES "links: discover\n",
		{{"leaf1:up1", "switch:sp9:Eth1/1:2"}, {"leaf1:up2", "unknown:x"},
			{"leaf2:up1", "switch:sp9"}},
		3, "leaf1:up1-switch(sp9)/Eth1/1:2 leaf1:up2-unknown(x)/ leaf2:up1-switch(sp9)/ ",
		true},
	{"an end that is none", DEVICES "links: discover\n",
		{{"leaf1", "spine1:1"}, {"leaf1:1", "host:"}}, 2, "", true},
	{"what was discovered before is replaced, what was declared stays",
		DEVICES "links:\n  - { a: \"leaf1:up1\", b: \"spine1:1\" }\n  - { a: "
			"\"leaf2:up1\", b: \"spine1:2\", source: discovered }\n",
		{{"leaf1:up1", "spine2:7"}, {"leaf2:up2", "spine2:2"}}, 2,
		"leaf1:up1-spine1:1! leaf2:up2-spine2:2 ", true},
	{"ports with colons and quotes", DEVICES "links: discover\n",
		{{"leaf1:et-0/0/0:1", "spine1:a\"b"}}, 1, "leaf1:et-0/0/0:1-spine1:a\"b ", true},
	{"a given group with a port nobody heard of yet",
		DEVICES "links: discover\necmp:\n  - { device: leaf1, group: storage, ports: [up1, "
			"up9] }\n",
		{{"leaf1:up1", "spine1:1"}}, 1, "leaf1:up1-spine1:1 | leaf1 storage: up1 up9 ",
		true},
};

static void test_with_links(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct config *c = parsed(rows[i].text), *d = with(c, rows[i].links, rows[i].n);
		rw_cleanup(freep) char *got = graph(d);
		if (strcmp(got, rows[i].expect) != 0)
			fail_msg("%s: got '%s', expected '%s'", rows[i].what, got, rows[i].expect);
		if (d->fabric->discover != rows[i].discover)
			fail_msg("%s: discover is %d", rows[i].what, d->fabric->discover);

		/* printed, read again: the same graph, and the same links are known as discovered
		 */
		rw_cleanup(freep) char *text = config_text(d);
		struct config *again = parsed(text);
		rw_cleanup(freep) char *same = graph(again);
		assert_string_equal(same, rows[i].expect);
		struct arena *a = arena_new();
		struct config_link *v, *w;
		size_t n = config_discovered(d, a, &v);
		assert_int_equal(config_discovered(again, a, &w), n);
		struct config *third = with(c, v, n); /* @c is as it was */
		rw_cleanup(freep) char *thrice = graph(third);
		assert_string_equal(thrice, rows[i].expect);
		arena_free(a);
		config_free(third);
		config_free(again);
		config_free(d);
		config_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_with_links)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
