/* ch_client - requests, and what ClickHouse's error codes mean for whoever asked.
 * https://clickhouse.com/docs/en/interfaces/http */
#include "db/clickhouse/ch_client.h"

#define CH_WORDS 300 /* bytes shown of what a server says */
#define CH_LEAST_ANSWER (64u << 10)
#define PACK_FROM 4096 /* bytes; shorter ones are not worth it */

/* The answer to a mistake begins "Code: 60, e.displayText() = ..." (dbms/src/Common/ErrorCodes.cpp
 * of ClickHouse names them). */
static const struct {
	int code, error;
} ch_errors[] = {
	{60, -ENOENT}, /* UNKNOWN_TABLE */
	{81, -ENOENT}, /* UNKNOWN_DATABASE */
	{16, -ENOENT}, /* NO_SUCH_COLUMN_IN_TABLE */
	{47, -ENOENT}, /* UNKNOWN_IDENTIFIER */
	{192, -EACCES}, /* UNKNOWN_USER */
	{193, -EACCES}, /* WRONG_PASSWORD */
	{194, -EACCES}, /* REQUIRED_PASSWORD */
	{195, -EACCES}, /* IP_ADDRESS_NOT_ALLOWED */
	{164, -EACCES}, /* READONLY: the user may not write */
	{291, -EACCES}, /* DATABASE_ACCESS_DENIED */
	{516, -EACCES}, /* AUTHENTICATION_FAILED */
	{242, -EROFS}, /* TABLE_IS_READ_ONLY: ZooKeeper is away */
	{243, -ENOSPC}, /* NOT_ENOUGH_SPACE */
	{27, -EBADMSG}, /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
	{33, -EBADMSG}, /* CANNOT_READ_ALL_DATA */
};

static int ch_error(const char *words)
{
	static const char key[] = "Code: ";
	const char *at = strstr(words, key);
	int code = 0;
	if (at)
		code = atoi(at + strlen(key));
	for (size_t i = 0; i < rw_countof(ch_errors); i++)
		if (ch_errors[i].code == code)
			return ch_errors[i].error;
	if (strstr(words, "No space left"))
		return -ENOSPC;
	return -EIO;
}

static int ch_refused(
	const struct ch_client *client, long status, struct str *answer, struct err *e)
{
	const int error = ch_error(str_or(answer->s, ""));
	if (answer->s && client->password)
		text_hide(answer->s, client->password);
	if (answer->n > CH_WORDS)
		answer->s[answer->n = CH_WORDS] = '\0';
	if (answer->s)
		text_clean(answer->s, answer->n + 1, answer->s, answer->n);
	return err_set(e, error, "%s answered with status %ld: %s", client->url, status,
		str_or(answer->s, "nothing"));
}

static void ch_url(const struct ch_client *client, const char *sql, bool bare, struct str *out)
{
	/* the whole answer is made before its status: an error in the middle is an error */
	str_addf(out, "%s/?wait_end_of_query=1&", client->url);
	if (!bare) {
		str_add(out, "database=");
		curl_io_escape(out, client->database);
		str_add(out, "&");
	}
	if (sql) {
		str_add(out, "query=");
		curl_io_escape(out, sql);
	}
}

static int ch_post(const struct ch_client *client, struct curl_post *post, size_t most,
	struct str *ret, struct err *e)
{
	rw_cleanup(str_done) struct str answer = {0};
	struct err why = {0};
	long status = 0;
	post->ask = (struct curl_ask){.url = post->ask.url,
		.username = client->username,
		.password = client->password,
		.tls = client->tls,
		.timeout_ns = client->timeout_ns,
		.stop_fd = client->stop_fd};
	post->answer_max = most;
	if (most < CH_LEAST_ANSWER)
		post->answer_max = CH_LEAST_ANSWER;
	const int rc = curl_io_post(post, &status, &answer, &why);
	if (rc < 0)
		return err_set(e, rc, "%s: %s", client->url, why.text);
	if (status != 200)
		return ch_refused(client, status, &answer, e);
	if (ret)
		str_addn(ret, str_or(answer.s, ""), answer.n);
	return 0;
}

int ch_ask(const struct ch_client *client, const char *sql, bool bare, size_t most, struct str *ret,
	struct err *e)
{
	rw_cleanup(str_done) struct str url = {0};
	struct curl_post post = {.body = sql, .n_body = strlen(sql)};
	ch_url(client, NULL, bare, &url);
	post.ask.url = url.s;
	return ch_post(client, &post, most, ret, e);
}

int ch_insert(
	const struct ch_client *client, const char *sql, const struct str *rows, struct err *e)
{
	static const char *const packed_headers[] = {"Content-Encoding: gzip"};
	rw_cleanup(str_done) struct str url = {0}, packed = {0};
	struct curl_post post = {.body = str_or(rows->s, ""), .n_body = rows->n};
	ch_url(client, sql, false, &url);
	if (client->packed && rows->n >= PACK_FROM) {
		deflate_bytes(DEFLATE_GZIP, rows->s, rows->n, &packed);
		post.body = packed.s;
		post.n_body = packed.n;
		post.headers = packed_headers;
		post.n_headers = 1;
	}
	post.ask.url = url.s;
	return ch_post(client, &post, 0, NULL, e);
}

/* rowbinary - values to bytes and back. */

void rowbinary_put_fixed(struct str *out, uint64_t value, size_t n_bytes)
{
	char bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(value >> (8 * i));
	if (out->n + sizeof(bytes) >= out->cap) {
		str_addn(out, bytes, n_bytes);
		return;
	}
	/* there is room: nearly always. What lies behind the end is overwritten later. */
	memcpy(out->s + out->n, bytes, sizeof(bytes));
	out->n += n_bytes;
	out->s[out->n] = '\0';
}

void rowbinary_put_f64(struct str *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	rowbinary_put_fixed(out, bits, sizeof(bits));
}

void rowbinary_put_text(struct str *out, const char *text)
{
	const size_t n = strlen(text);
	uint64_t length = n;
	while (length >= 0x80) {
		rowbinary_put_fixed(out, (length & 0x7f) | 0x80, 1);
		length >>= 7;
	}
	rowbinary_put_fixed(out, length, 1);
	str_addn(out, text, n);
}

void rowbinary_put_null(struct str *out, bool null)
{
	rowbinary_put_fixed(out, null, 1);
}

uint64_t rowbinary_get_fixed(struct bytes *in, size_t n_bytes)
{
	const uint8_t *p = bytes_take(in, n_bytes);
	uint64_t value = 0;
	for (size_t i = 0; p && i < n_bytes; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

double rowbinary_get_f64(struct bytes *in)
{
	const uint64_t bits = rowbinary_get_fixed(in, sizeof(bits));
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

const char *rowbinary_get_text(struct bytes *in, struct arena *a)
{
	const uint64_t n = bytes_varint(in);
	const uint8_t *p = NULL;
	if (n <= bytes_left(in))
		p = bytes_take(in, (size_t)n);
	else
		in->bad = true;
	if (!p)
		return "";
	return arena_strndup(a, (const char *)p, (size_t)n);
}

bool rowbinary_get_null(struct bytes *in)
{
	return bytes_u8(in) != 0;
}
