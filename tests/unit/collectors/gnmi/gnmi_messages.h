/*
 * gnmi_messages - SubscribeResponses as servers send them and as they should not, and what they
 * say. For the tests of both decoders. Notation in gnmi_wire.h; field numbers in proto/gnmi.proto.
 * 1763700000000000000 is the instant of every message that has one.
 */
#ifndef RW_TESTS_GNMI_MESSAGES_H
#define RW_TESTS_GNMI_MESSAGES_H

#include "proto/gnmi.h"

#define T "08 v1763700000000000000 "
#define PREFIX                                                                                     \
	"12( 12('openconfig') 1a( 0a('interfaces') ) 1a( 0a('interface') 12( 0a('name') 12('e1') " \
	") ) 22('leaf1') ) "
#define LEAF(value) "22( 0a( 1a( 0a('x') ) ) 1a( " value ") ) "
#define SAYS(value) T LEAF(value)

static const struct gnmi_message {
	const char *what, *wire, *text; /* text NULL: -EBADMSG */
	bool walks; /* the walker needs no help */
	size_t count; /* of struct gnmi_counts: this one */
	uint64_t is; /* is this much after the message; 0 = not asked */
	bool plain;
} gnmi_messages[] = {
#define COUNT(field) .count = offsetof(struct gnmi_counts, field)
	/* kinds of messages */
	{"sync", "18 01", "sync", true, COUNT(syncs), .is = 1},
	{"sync that is not", "18 00", "", false, COUNT(empty), .is = 1},
	{"no bytes: a keep-alive", "", "", false, COUNT(empty), .is = 1},
	{"an empty notification: a keep-alive", "0a()", "", true, COUNT(empty), .is = 1},
	{"a notification with a time only", "0a(" T ")", "", true, COUNT(empty), .is = 1},
	{"the error of old", "22( 08 0e 12('gone away') )", "error 14 gone away", false,
		COUNT(errors), .is = 1},
	{"an unknown field of the message", "0a(" SAYS("18 05") ") 9a06('new')", "/x = uint 5"},
	{"an update and a sync: the last one holds", "0a(" SAYS("18 05") ") 18 01", "sync"},
	/* kinds of values */
	{"string", "0a(" SAYS("0a('UP')") ")", "/x = string UP", true},
	{"empty string", "0a(" SAYS("0a()") ")", "/x = string ", true},
	{"int", "0a(" SAYS("10 v-5") ")", "/x = int -5", true},
	{"uint, all bits", "0a(" SAYS("18 v18446744073709551615") ")",
		"/x = uint 18446744073709551615", true},
	{"uint, 2^53 + 1", "0a(" SAYS("18 v9007199254740993") ")", "/x = uint 9007199254740993",
		true},
	{"bool", "0a(" SAYS("20 01") ")", "/x = bool true", true},
	{"bytes", "0a(" SAYS("2a( 00 ff )") ")", "/x = bytes 00ff", true},
	{"float", "0a(" SAYS("35 0000c03f") ")", "/x = double 1.5", true},
	{"decimal", "0a(" SAYS("3a( 08 v-1234 10 02 )") ")", "/x = decimal -1234/10^2", true},
	{"decimal without precision", "0a(" SAYS("3a( 08 07 )") ")", "/x = decimal 7/10^0", true},
	{"leaf-list", "0a(" SAYS("42( 0a( 18 01 ) 0a( 0a('b') ) )") ")",
		"/x[#=0] = uint 1\n/x[#=1] = string b", true},
	{"a list in a list", "0a(" SAYS("42( 0a( 42( 0a( 18 01 ) ) ) )") ")", "", true,
		COUNT(bad_lists), .is = 1},
	{"a list that is none", "0a(" SAYS("42( 0a ff )") ")", "", true, COUNT(bad_lists), .is = 1},
	{"any", "0a(" SAYS("4a( 0a('type') 12( 0102 ) )") ")", "/x = proto 0102"},
	{"json", "0a(" SAYS("52('{\"a\":{\"b\":18446744073709551615}}')") ")",
		"/x/a/b = uint 18446744073709551615", true},
	{"json_ietf", "0a(" SAYS("5a('{\"m:a\":\"18446744073709551615\"}')") ")",
		"/x/a = string 18446744073709551615", true},
	{"json that is a leaf", "0a(" SAYS("5a('\"7\"')") ")", "/x = string 7", true},
	{"json that is none", "0a(" SAYS("52('{\"a\":1,')") ")", "", true, COUNT(bad_json),
		.is = 1},
	{"no json at all", "0a(" SAYS("52()") ")", "", true, COUNT(bad_json), .is = 1},
	{"ascii", "0a(" SAYS("62('text')") ")", "/x = ascii text", true},
	{"proto_bytes", "0a(" SAYS("6a( 0102 )") ")", "/x = proto 0102", true},
	{"double", "0a(" SAYS("71 0000000000000240") ")", "/x = double 2.25", true},
	{"a value that says nothing", "0a(" SAYS("") ")", "", true, COUNT(no_value), .is = 1},
	{"a value of a kind to come", "0a(" SAYS("ba01('new')") ")", "", false, COUNT(no_value),
		.is = 1},
	{"no value", "0a(" T "22( 0a( 1a( 0a('x') ) ) ) )", "", true, COUNT(no_value), .is = 1},
	{"two values: the last one holds", "0a(" SAYS("18 05 10 06") ")", "/x = int 6"},
	{"a longer number than need be", "0a(" SAYS("18 8500") ")", "/x = uint 5", true},
	{"a number of more than 64 bits", "0a(" SAYS("18 ffffffffffffffffff7f") ")",
		"/x = uint 18446744073709551615"},
	{"true, in the bits beyond", "0a(" SAYS("20 80808080808080808002") ")", "/x = bool true"},
	/* paths */
	{"prefix and path, origin and target",
		"0a(" T PREFIX "22( 0a( 1a( 0a('state') ) 1a( 0a('mtu') ) ) 1a( 18 05 ) ) )",
		"openconfig:/interfaces/interface[name=e1]/state/mtu = uint 5 target=leaf1", true},
	{"the path's origin holds",
		"0a(" T PREFIX "22( 0a( 12('native') 1a( 0a('x') ) ) 1a( 18 05 ) ) )",
		"native:/interfaces/interface[name=e1]/x = uint 5 target=leaf1", true},
	{"no path: the prefix is it", "0a(" T PREFIX "22( 1a( 18 05 ) ) )",
		"openconfig:/interfaces/interface[name=e1] = uint 5 target=leaf1", true},
	{"no path and no prefix", "0a(" T "22( 0a() 1a( 5a('{\"a\":1}') ) ) )", "/a = uint 1",
		true},
	{"keys in one order",
		"0a(" T "22( 0a( 1a( 0a('q') 12( 0a('a') 12('1') ) 12( 0a('b') 12('2') ) ) ) 1a( "
		"18 05 ) ) )",
		"/q[a=1][b=2] = uint 5", true},
	{"keys in the other",
		"0a(" T "22( 0a( 1a( 0a('q') 12( 0a('b') 12('2') ) 12( 0a('a') 12('1') ) ) ) 1a( "
		"18 05 ) ) )",
		"/q[a=1][b=2] = uint 5", true},
	{"modules",
		"0a(" T "22( 0a( 1a( 0a('oc-if:interface') 12( 0a('oc-if:name') 12('a:b') ) ) ) "
		"1a( 18 05 ) ) )",
		"/interface[name=a:b] = uint 5", true},
	{"names of tables",
		"0a(" T
		"22( 0a( 1a( 0a('Ethernet0:periodic') ) 1a( 0a('oid:0x15') ) ) 1a( 18 05 ) ) )",
		"/Ethernet0:periodic/oid:0x15 = uint 5", true, .plain = true},
	{"the deprecated path",
		"0a(" T "22( 0a( 0a('interfaces') 0a('interface[name=e1]') ) 1a( 18 05 ) ) )",
		"/interfaces/interface[name=e1] = uint 5", true},
	{"both paths: elem holds", "0a(" T "22( 0a( 0a('old') 1a( 0a('new') ) ) 1a( 18 05 ) ) )",
		"/new = uint 5", true},
	{"an element without a name", "0a(" T "22( 0a( 1a() 1a( 0a('x') ) ) 1a( 18 05 ) ) )",
		"/x = uint 5", true},
	{"a path that may not be, beside one that may",
		"0a(" T "22( 0a( 1a( 0a( 1b5b324a ) ) ) 1a( 18 05 ) )" LEAF("18 06") ")",
		"/x = uint 6", true, COUNT(bad_paths), .is = 1},
	{"a prefix that may not be", "0a(" T "12( 1a( 0a( ff ) ) )" LEAF("18 06") LEAF("18 07") ")",
		"", false, COUNT(bad_paths), .is = 2},
	/* notifications */
	{"deletes come first",
		"0a(" T LEAF(
			"18 05") "2a( 1a( 0a('y') ) ) 2a( 1a( 0a('z') 12( 0a('k') 12('*') ) ) ) )",
		"delete /y\ndelete /z[k=*]\n/x = uint 5", true, COUNT(deletes), .is = 2},
	{"a delete of everything under the prefix", "0a(" T PREFIX "2a() )",
		"delete openconfig:/interfaces/interface[name=e1] target=leaf1", true},
	{"atomic", "0a(" T PREFIX "22( 0a( 1a( 0a('x') ) ) 1a( 18 05 ) ) 30 01 )",
		"delete openconfig:/interfaces/interface[name=e1] atomic "
		"target=leaf1\nopenconfig:/interfaces/interface[name=e1]/x = uint 5 atomic "
		"target=leaf1"},
	{"a delete with an origin of its own", "0a(" T PREFIX "2a( 12('native') 1a( 0a('y') ) ) )",
		"delete native:/interfaces/interface[name=e1]/y target=leaf1", true},
	{"atomic, with a delete",
		"0a(" T "12( 1a( 0a('p') ) )" LEAF("18 05") "2a( 1a( 0a('y') ) ) 30 01 )",
		"delete /p atomic\ndelete /p/y\n/p/x = uint 5 atomic"},
	{"duplicates", "0a(" T "22( 0a( 1a( 0a('x') ) ) 1a( 18 05 ) 20 07 ) )", "/x = uint 5 dup=7",
		true, COUNT(duplicates), .is = 7},
	{"no time", "0a(" LEAF("18 05") ")", "/x = uint 5 clock=missing", true, COUNT(odd_clocks),
		.is = 1},
	{"a time in ms", "0a( 08 v1763700000000 " LEAF("18 05") ")", "/x = uint 5 clock=scaled",
		true, COUNT(odd_clocks), .is = 1},
	{"fields in another order", "0a(" LEAF("18 05") T "12( 1a( 0a('p') ) ) )", "/p/x = uint 5"},
	{"a prefix in two pieces",
		"0a(" T "12( 1a( 0a('p') ) ) 12( 1a( 0a('q') ) )" LEAF("18 05") ")",
		"/p/q/x = uint 5"},
	{"a path in two pieces",
		"0a(" T "22( 0a( 1a( 0a('a') ) ) 0a( 1a( 0a('b') ) ) 1a( 18 05 ) ) )",
		"/a/b = uint 5"},
	/* Protobuf would join the two; protobuf-c takes the last member of a oneof. No server sends
	   it. */
	{"two notifications", "0a(" SAYS("18 05") ") 0a(" SAYS("18 06") ")", "/x = uint 6"},
	{"the deprecated value, JSON", "0a(" T "22( 0a( 1a( 0a('x') ) ) 12( 0a('{\"a\":5}') ) ) )",
		"/x/a = uint 5"},
	{"the deprecated value, ASCII", "0a(" T "22( 0a( 1a( 0a('x') ) ) 12( 0a('on') 10 03 ) ) )",
		"/x = ascii on"},
	{"the deprecated value, of a kind to come",
		"0a(" T "22( 0a( 1a( 0a('x') ) ) 12( 0a('on') 10 63 ) ) )", "", false,
		COUNT(no_value), .is = 1},
	{"both values: val holds", "0a(" T "22( 0a( 1a( 0a('x') ) ) 12( 0a('1') ) 1a( 18 02 ) ) )",
		"/x = uint 2"},
	/* extensions */
	{"a registered extension", "0a(" SAYS("18 05") ") 2a( 0a( 08 01 12( 0a0b ) ) )",
		"/x = uint 5 ext=1:0a0b", true},
	{"before the notification, as Go writes it",
		"2a( 0a( 08 01 12( 0a0b ) ) ) 0a(" SAYS("18 05") ")", "/x = uint 5 ext=1:0a0b",
		true},
	{"on both sides: the first", "2a( 0a( 08 01 ) ) 0a(" SAYS("18 05") ") 2a( 0a( 08 02 ) )",
		"/x = uint 5 ext=1:"},
	{"with a sync", "2a( 0a( 08 01 12( 0a0b ) ) ) 18 01", "sync ext=1:0a0b"},
	{"two of them: the first",
		"0a(" SAYS("18 05") ") 2a( 0a( 08 01 12( 0a ) ) ) 2a( 0a( 08 02 12( 0b ) ) )",
		"/x = uint 5 ext=1:0a"},
	{"one of another kind", "0a(" SAYS("18 05") ") 2a( 12( 0801 ) )", "/x = uint 5"},
	/* what is not protobuf */
	{"cut in the length", "0a", NULL, false, COUNT(bad_messages), .is = 1},
	{"cut in the middle", "0a 10 08 01", NULL, false, COUNT(bad_messages), .is = 1},
	{"the first update is right and the second is not", "0a(" SAYS("18 05") "22( 0a ff ) )",
		NULL, false, COUNT(bad_messages), .is = 1},
	{"a length beyond everything", "0a ffffffffffffffffff01", NULL, false, COUNT(bad_messages),
		.is = 1},
	{"a number without an end", "0a(" SAYS("18 ffffffffffffffffffff01") ")", NULL, false,
		COUNT(bad_messages), .is = 1},
	{"a prefix that is a number", "0a( 10 05 )", NULL, false, COUNT(bad_messages), .is = 1},
	{"a group", "0b 0c", NULL, false, COUNT(bad_messages), .is = 1},
	{"text", "'HTTP/1.1 400 Bad Request'", NULL, false, COUNT(bad_messages), .is = 1},
#undef COUNT
};

#endif
