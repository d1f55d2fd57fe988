/* tune_peak - see the header. */
#include "analyzers/tune/tune_peak.h"

#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"

enum {
	/* lengths of windows told apart: a device changes its own once or twice */
	CLASSES = 4,
	PER_OCTAVE = 16,
	BINS = 24 * PER_OCTAVE + 1, /* from 64 bytes to 1 GB; below and above count at the edges */
};
#define FIRST_BYTES 64.0
#define CENSORED_RATIO 0.98
#define QUANTILE 0.99
#define SAME_WINDOW                                                                                \
	0.9 /* polls of a device's timer come with jitter: nearer than this share of the window is \
	       the same window */

struct peak_class {
	uint32_t window_ms;
	unsigned windows;
	int64_t counted_ns; /* sample the last window was counted at */
	double last;
	unsigned bin[BINS];
};

struct peak_fold {
	struct arena *arena;
	struct peak_class *classes[CLASSES];
	double max;
	bool censored, moved;
};

struct peak_fold *peak_fold_new(struct arena *a)
{
	struct peak_fold *p = arena_new_of(a, struct peak_fold);
	p->arena = a;
	p->max = NAN;
	return p;
}

void peak_fold_reset(struct peak_fold *p)
{
	for (size_t i = 0; i < CLASSES && p->classes[i]; i++)
		*p->classes[i] = (struct peak_class){.window_ms = p->classes[i]->window_ms};
	p->max = NAN;
	p->censored = p->moved = false;
}

static unsigned bin_of(double bytes)
{
	if (bytes <= FIRST_BYTES)
		return 0;
	const double at = ceil(log2(bytes / FIRST_BYTES) * PER_OCTAVE);
	return at >= BINS - 1 ? BINS - 1 : (unsigned)at;
}
static double bin_bytes(unsigned bin)
{
	return FIRST_BYTES * exp2((double)bin / PER_OCTAVE);
}

static struct peak_class *class_of(struct peak_fold *p, uint32_t window_ms)
{
	for (size_t i = 0; i < CLASSES; i++) {
		if (!p->classes[i]) {
			p->classes[i] = arena_new_of(p->arena, struct peak_class);
			p->classes[i]->window_ms = window_ms;
			return p->classes[i];
		}
		if (p->classes[i]->window_ms == window_ms)
			return p->classes[i];
	}
	return NULL;
}

/* Is it a window of its own, or the one counted last, told again? */
static bool is_new_window(const struct peak_class *c, int64_t t_ns, double bytes)
{
	if (!c->windows)
		return true;
	if (!c->window_ms)
		return bytes != c->last;
	return t_ns - c->counted_ns >= (int64_t)(SAME_WINDOW * c->window_ms * NS_PER_MS) ||
		bytes < c->last;
}

void peak_fold_add(struct peak_fold *p, int64_t t_ns, double bytes, uint32_t window_ms, double size)
{
	struct peak_class *c = isfinite(bytes) && bytes >= 0 ? class_of(p, window_ms) : NULL;
	if (!c)
		return;
	p->moved = p->moved || window_ms || (c->windows && bytes != c->last);
	p->max = fmax(p->max, bytes);
	p->censored = p->censored || (size > 0 && bytes >= CENSORED_RATIO * size);
	if (is_new_window(c, t_ns, bytes)) {
		c->windows++;
		c->counted_ns = t_ns;
		c->bin[bin_of(bytes)]++;
	} else if (bytes > c->last) { /* the maximum of a window that is still running */
		c->bin[bin_of(c->last)]--;
		c->bin[bin_of(bytes)]++;
	}
	c->last = bytes;
}

static double quantile(const struct peak_class *c)
{
	const unsigned rank = (unsigned)ceil(QUANTILE * c->windows);
	unsigned n = 0;
	for (unsigned i = 0; i < BINS; i++)
		if ((n += c->bin[i]) >= rank)
			return bin_bytes(i);
	return NAN;
}

struct tune_peak peak_fold_done(const struct peak_fold *p)
{
	struct tune_peak r = {.max = NAN, .p99 = NAN};
	const struct peak_class *best = NULL;
	for (size_t i = 0; p && i < CLASSES && p->classes[i]; i++)
		if (p->classes[i]->windows &&
			(!best || p->classes[i]->windows > best->windows ||
				(p->classes[i]->windows == best->windows &&
					p->classes[i]->window_ms > best->window_ms)))
			best = p->classes[i];
	if (!best)
		return r;
	r.max = p->max;
	r.p99 = fmin(p->max, quantile(best));
	r.windows = best->windows;
	r.window_ms = best->window_ms;
	r.censored = p->censored;
	r.standing = !p->moved;
	return r;
}
