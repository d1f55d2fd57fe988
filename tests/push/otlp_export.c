/*
 * otlp_export - sends the message in a file to an OTLP/gRPC receiver, by gRPC's own client, and
 * prints the status and the answer: "0 OK 0a02..", "8 text retry". For tests.
 *
 * usage: otlp_export HOST:PORT FILE [METHOD [CA [CERT KEY]]] (METHOD "-": metrics)
 */
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define METRICS "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

static char *file_text(const char *path, size_t *n)
{
	char *text = NULL;
	if (str_read_file(path, 64 << 20, &text, n, NULL) < 0)
		exit(2);
	return text;
}

static grpc_channel_credentials *credentials(int argc, char **argv)
{
	size_t n;
	if (argc < 5)
		return grpc_insecure_credentials_create();
	char *ca = file_text(argv[4], &n), *cert = NULL, *key = NULL;
	grpc_ssl_pem_key_cert_pair pair = {0};
	if (argc > 6) {
		pair.cert_chain = cert = file_text(argv[5], &n);
		pair.private_key = key = file_text(argv[6], &n);
	}
	grpc_channel_credentials *made =
		grpc_ssl_credentials_create(ca, cert ? &pair : NULL, NULL, NULL);
	free(ca);
	free(cert);
	free(key);
	return made;
}

static void print_answer(grpc_byte_buffer *answer)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;
	if (!answer || !grpc_byte_buffer_reader_init(&reader, answer))
		return;
	while (grpc_byte_buffer_reader_next(&reader, &slice)) {
		for (size_t i = 0; i < GRPC_SLICE_LENGTH(slice); i++)
			printf("%02x", GRPC_SLICE_START_PTR(slice)[i]);
		grpc_slice_unref(slice);
	}
	grpc_byte_buffer_reader_destroy(&reader);
}

int main(int argc, char **argv)
{
	const char *method = METRICS;
	size_t n;
	if (argc < 3)
		return 2;
	if (argc > 3 && strcmp(argv[3], "-") != 0)
		method = argv[3];
	char *text = file_text(argv[2], &n);
	grpc_init();
	grpc_channel_credentials *with = credentials(argc, argv);
	grpc_channel *channel = grpc_channel_create(argv[1], with, NULL);
	grpc_completion_queue *queue = grpc_completion_queue_create_for_pluck(NULL);
	const gpr_timespec deadline =
		gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(20, GPR_TIMESPAN));
	grpc_call *call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue,
		grpc_slice_from_static_string(method), NULL, deadline, NULL);
	grpc_slice slice = grpc_slice_from_copied_buffer(text, n);
	grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&slice, 1), *answer = NULL;
	grpc_metadata_array first, trailing;
	grpc_metadata packed = {
		.key = grpc_slice_from_static_string("grpc-internal-encoding-request"),
		.value = grpc_slice_from_static_string("gzip")};
	grpc_metadata_array_init(&first);
	grpc_metadata_array_init(&trailing);
	grpc_status_code code;
	grpc_slice details;
	const grpc_op ops[] = {
		{.op = GRPC_OP_SEND_INITIAL_METADATA,
			.data.send_initial_metadata = {.count = getenv("OTLP_GZIP") != NULL,
				.metadata = &packed}},
		{.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message},
		{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
		{.op = GRPC_OP_RECV_INITIAL_METADATA,
			.data.recv_initial_metadata.recv_initial_metadata = &first},
		{.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &answer},
		{.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
			.data.recv_status_on_client = {.trailing_metadata = &trailing,
				.status = &code,
				.status_details = &details}},
	};
	grpc_call_start_batch(call, ops, rw_countof(ops), call, NULL);
	grpc_completion_queue_pluck(queue, call, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
	char *words = grpc_slice_to_c_string(details);
	printf("%d %s ", code, *words ? words : "OK");
	for (size_t i = 0; i < trailing.count; i++)
		if (grpc_slice_str_cmp(trailing.metadata[i].key, "grpc-status-details-bin") == 0)
			printf("retry ");
	print_answer(answer);
	puts("");

	gpr_free(words);
	grpc_slice_unref(details);
	grpc_slice_unref(slice);
	grpc_byte_buffer_destroy(message);
	grpc_byte_buffer_destroy(answer);
	grpc_metadata_array_destroy(&first);
	grpc_metadata_array_destroy(&trailing);
	grpc_call_unref(call);
	grpc_completion_queue_destroy(queue);
	grpc_channel_destroy(channel);
	grpc_channel_credentials_release(with);
	grpc_shutdown();
	free(text);
	fflush(stdout);
	_Exit(0); /* gRPC's threads may still hold something: not a leak of ours */
}
