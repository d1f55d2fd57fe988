/*
 * otlp_take - what both doors of OTLP (gRPC, HTTP) do with a message: give it to the feed, or say
 * why it is not taken. The doors run on threads of their libraries; the implementation locks.
 */
#pragma once

#include "base/base.h"

#include "collectors/push/otlp_decode.h"

enum otlp_verdict {
	OTLP_TAKEN, /* .answer is ExportMetricsServiceResponse */
	OTLP_BUSY, /* too much: again after .retry_s */
	OTLP_BAD, /* no such message: never again */
	OTLP_LARGE, /* larger than what is accepted */
};

struct otlp_reply {
	enum otlp_verdict verdict;
	unsigned retry_s;
	char message[OTLP_MESSAGE_MAX]; /* for the sender's log; "" */
	uint8_t answer[OTLP_ANSWER_MAX];
	size_t n_answer;
};

struct otlp_door {
	void *arg;
	/* One message as it came, of the connection @fd (the number given to the door); @packed: by
	 * gzip or zlib. Any thread. */
	void (*take)(void *arg, int fd, const uint8_t *data, size_t n, bool packed,
		struct otlp_reply *ret);
	size_t max_message;
	unsigned max_connections;
};
