/* conservation_finding - bytes by class, and the start of every finding of the analyzer
 * conservation. */
#include "analyzers/detect/conservation_finding.h"

#include <math.h>

struct draft conservation_finding(const struct conservation_in *in, enum cause cause,
	enum finding_verdict verdict, struct finding_list *out)
{
	struct draft t = finding_new(out, in->in, "conservation", verdict, in->options->hold);
	t.f->cause = cause;
	t.f->summary = "";
	t.f->severity = SEV_WARNING;
	return t;
}

double classes_rate(const struct conservation_in *in, double octets)
{
	return octets * 1e9 / (double)(in->o->to_ns - in->o->from_ns);
}

void classes_add_port(
	const struct conservation_in *in, const struct port_seen *port, struct classes *classes)
{
	double lossless = NAN, other = NAN;
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++) {
		const bool is = in->o->fabric->lossless_mask >> prio & 1;
		const double octets = port->class_octets[prio];
		if (isnan(octets))
			continue;
		if (is)
			lossless = (isnan(lossless) ? 0 : lossless) + octets;
		else
			other = (isnan(other) ? 0 : other) + octets;
	}
	classes->ports++;
	if (isnan(lossless) || isnan(other))
		return;
	classes->known++;
	classes->lossless += classes_rate(in, lossless);
	classes->other += classes_rate(in, other);
}

bool classes_whole(const struct classes *classes)
{
	return classes->ports && classes->known == classes->ports;
}
double classes_total(const struct classes *classes)
{
	return classes->lossless + classes->other;
}
double classes_other_share(const struct classes *classes)
{
	if (classes_total(classes) > 0)
		return classes->other / classes_total(classes);
	return NAN;
}

bool classes_busy(const struct classes *classes, double capacity, const struct conservation_in *in)
{
	return classes_whole(classes) &&
		classes_total(classes) >
		in->options->load_floor * (capacity > 0 ? capacity : 1e9 / 8);
}
