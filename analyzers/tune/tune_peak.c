/* tune_peak - see the header. */
#include "analyzers/tune/tune_peak.h"

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

void peak_fold_reset(struct peak_fold *fold)
{
	for (size_t i = 0; i < CLASSES && fold->classes[i]; i++)
		*fold->classes[i] = (struct peak_class){.window_ms = fold->classes[i]->window_ms};
	fold->max = NAN;
	fold->censored = fold->moved = false;
}

static unsigned tune_peak_bin_of(double bytes)
{
	if (bytes <= FIRST_BYTES)
		return 0;
	const double at = ceil(log2(bytes / FIRST_BYTES) * PER_OCTAVE);
	if (at >= BINS - 1)
		return BINS - 1;
	return (unsigned)at;
}
static struct peak_class *class_of(struct peak_fold *fold, uint32_t window_ms)
{
	for (size_t i = 0; i < CLASSES; i++) {
		if (!fold->classes[i]) {
			fold->classes[i] = arena_new_of(fold->arena, struct peak_class);
			fold->classes[i]->window_ms = window_ms;
			return fold->classes[i];
		}
		if (fold->classes[i]->window_ms == window_ms)
			return fold->classes[i];
	}
	return NULL;
}

/* Is it a window of its own, or the one counted last, told again? */
static bool is_new_window(const struct peak_class *class, int64_t t_ns, double bytes)
{
	if (!class->windows)
		return true;
	if (!class->window_ms)
		return bytes != class->last;
	return t_ns - class->counted_ns >= (int64_t)(SAME_WINDOW * class->window_ms * NS_PER_MS) ||
		bytes < class->last;
}

void peak_fold_add(
	struct peak_fold *fold, int64_t t_ns, double bytes, uint32_t window_ms, double size)
{
	struct peak_class *c = NULL;
	if (isfinite(bytes) && bytes >= 0)
		c = class_of(fold, window_ms);
	if (!c)
		return;
	fold->moved = fold->moved || window_ms || (c->windows && bytes != c->last);
	fold->max = fmax(fold->max, bytes);
	fold->censored = fold->censored || (size > 0 && bytes >= CENSORED_RATIO * size);
	if (is_new_window(c, t_ns, bytes)) {
		c->windows++;
		c->counted_ns = t_ns;
		c->bin[tune_peak_bin_of(bytes)]++;
	} else if (bytes > c->last) { /* the maximum of a window that is still running */
		c->bin[tune_peak_bin_of(c->last)]--;
		c->bin[tune_peak_bin_of(bytes)]++;
	}
	c->last = bytes;
}

static double tune_peak_quantile(const struct peak_class *class)
{
	const unsigned rank = (unsigned)ceil(QUANTILE * class->windows);
	unsigned n = 0;
	for (unsigned i = 0; i < BINS; i++)
		if ((n += class->bin[i]) >= rank)
			return FIRST_BYTES * exp2((double)i / PER_OCTAVE);
	return NAN;
}

struct tune_peak peak_fold_done(const struct peak_fold *fold)
{
	struct tune_peak r = {.max = NAN, .p99 = NAN};
	const struct peak_class *best = NULL;
	for (size_t i = 0; fold && i < CLASSES && fold->classes[i]; i++)
		if (fold->classes[i]->windows &&
			(!best || fold->classes[i]->windows > best->windows ||
				(fold->classes[i]->windows == best->windows &&
					fold->classes[i]->window_ms > best->window_ms)))
			best = fold->classes[i];
	if (!best)
		return r;
	r.max = fold->max;
	r.p99 = fmin(fold->max, tune_peak_quantile(best));
	r.windows = best->windows;
	r.window_ms = best->window_ms;
	r.censored = fold->censored;
	r.standing = !fold->moved;
	return r;
}
