/* ecmp_words - members, flows and shares as words. */
#include "agent/reports/ecmp_words.h"

#include <math.h>

#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/text.h"

const char *doc_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	if (s)
		return s;
	return "-";
}

char *doc_pct(char *buf, size_t size, double ratio)
{
	/* One decimal below 100 %: 19.8 % must not read as the limit of 20 %. */
	int decimals = fabs(ratio) < 0.9995 ? 1 : 0;
	/* no "-0.0 %" */
	if (fabs(ratio) < 0.0005)
		ratio = 0;
	if (isnan(ratio))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.*f %%", decimals, 100 * ratio);
	return buf;
}

static const json_t *member_of(const json_t *group, const char *port)
{
	const json_t *members = json_object_get(group, "members");
	for (size_t i = 0; i < json_array_size(members); i++)
		if (str_eq(doc_text(json_array_get(members, i), "port"), port))
			return json_array_get(members, i);
	return NULL;
}

char *doc_member(char *buf, size_t size, const json_t *group, const char *port)
{
	const json_t *m = member_of(group, port);
	const char *peer = NULL;
	if (m)
		peer = json_string_value(json_object_get(m, "peer"));
	if (peer)
		snprintf(buf, size, "%s -> %s", port, peer);
	else
		snprintf(buf, size, "%s", port);
	return buf;
}

static double rate_text(double bps, const char **ret_unit)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
	size_t i = 0;
	for (; bps >= 1000 && i < 4; i++)
		bps /= 1000;
	*ret_unit = units[i];
	return bps;
}

void doc_flow_line(FILE *out, const json_t *object, const char *indent)
{
	double burst = doc_number(object, "burst_bps");
	const char *unit;
	fprintf(out, "%s%s > %s  sport %" JSON_INTEGER_FORMAT "  QP 0x%06llx  ", indent,
		doc_text(object, "src"), doc_text(object, "dst"),
		json_integer_value(json_object_get(object, "src_port")),
		(unsigned long long)json_integer_value(json_object_get(object, "dst_qp")));
	if (isnan(burst))
		fprintf(out, "in-burst rate unknown");
	else {
		burst = rate_text(burst, &unit);
		fprintf(out, "%.3g %s in bursts", burst, unit);
	}
	fprintf(out, "  %" JSON_INTEGER_FORMAT " packets\n",
		json_integer_value(json_object_get(object, "packets")));
}

void doc_packets_line(FILE *out, const json_t *object, const char *indent)
{
	long long n = text_count(object, "packets"), sampling = text_count(object, "sampling");
	if (!n)
		fprintf(out,
			"%sno RoCE packets were captured at its members: their flows are not "
			"known\n",
			indent);
	else if (sampling > 1)
		fprintf(out, "%sobserved, n = %lld packets, 1 in %lld sampled\n", indent, n,
			sampling);
	else
		fprintf(out, "%sobserved, n = %lld packets, every one seen\n", indent, n);
}
