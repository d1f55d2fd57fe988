/* series_track - lean and wide tracks, and the clocks that lean ones share. */
#include "db/series/series_track.h"

#include "db/model/entity.h"

#define LEAN_MOST 4096 /* samples of a lean track */
#define LEAN_FLAGS 64 /* flags of lean tracks are below */
#define CLOCKS_PER_DEVICE 128
#define SMALL 64 /* values: so few are moved down rather than given more room */
#define NARROW_MOST 512 /* samples: a longer wide track is not compared with clocks */

enum { POINT_BYTES = sizeof(int64_t) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint16_t) };

struct track_clock {
	int64_t *t_ns;
	uint32_t first; /* number of t_ns[0]; instants are numbered without end */
	uint32_t head, n, cap; /* instants are [head, n) */
	uint32_t device, next; /* another clock of this device, or NO_CLOCK */
	uint32_t users; /* tracks */
};
#define NO_CLOCK UINT32_MAX

struct track_clocks {
	struct track_clock *v;
	uint32_t n, cap;
	struct map *of_device; /* id of the device -> its clock made last */
	uint16_t *patterns[LEAN_FLAGS][LEAN_FLAGS]; /* [first][others]: LEAN_MOST flags */
};

static const uint64_t zeros[LEAN_MOST];

struct track_clocks *track_clocks_new(void)
{
	struct track_clocks *clocks = rw_calloc(1, sizeof(*clocks));
	clocks->of_device = map_new();
	return clocks;
}

void track_clocks_free(struct track_clocks *clocks)
{
	if (!clocks)
		return;
	for (uint32_t i = 0; i < clocks->n; i++)
		free(clocks->v[i].t_ns);
	for (size_t i = 0; i < LEAN_FLAGS; i++)
		for (size_t k = 0; k < LEAN_FLAGS; k++)
			free(clocks->patterns[i][k]);
	free(clocks->v);
	map_free(clocks->of_device);
	free(clocks);
}

/* ---- clocks -------------------------------------------------------------- */

static int64_t clock_newest(const struct track_clock *clock)
{
	if (clock->n == clock->head)
		return INT64_MIN;
	return clock->t_ns[clock->n - 1];
}

static uint32_t clock_end(const struct track_clock *clock)
{
	return clock->first + clock->n;
}

static void clock_push(struct track_clock *clock, int64_t t_ns)
{
	if (clock->n == clock->cap && clock->head > clock->n / 4) {
		memmove(clock->t_ns, clock->t_ns + clock->head,
			(clock->n - clock->head) * sizeof(*clock->t_ns));
		clock->first += clock->head;
		clock->n -= clock->head;
		clock->head = 0;
	}
	rw_grow(clock->t_ns, clock->n, clock->cap);
	clock->t_ns[clock->n++] = t_ns;
}

/* A clock of @device that nobody uses, without instants; TRACK_WIDE when it has too many. */
static uint32_t clock_idle(struct track_clocks *clocks, uint32_t device)
{
	uint64_t first = NO_CLOCK;
	uint32_t n = 0;
	map_get(clocks->of_device, device, &first);
	for (uint32_t i = (uint32_t)first; i != NO_CLOCK; i = clocks->v[i].next, n++) {
		if (clocks->v[i].users > 0)
			continue;
		clocks->v[i].head = clocks->v[i].n = 0;
		return i;
	}
	if (n >= CLOCKS_PER_DEVICE)
		return TRACK_WIDE;
	rw_grow(clocks->v, clocks->n, clocks->cap);
	clocks->v[clocks->n] = (struct track_clock){.device = device, .next = (uint32_t)first};
	map_put(clocks->of_device, device, clocks->n);
	return clocks->n++;
}

/* The clock of @device whose newest instant is @t_ns; a new one if none is. TRACK_WIDE when the
 * device has too many. */
static uint32_t clock_at(struct track_clocks *clocks, uint32_t device, int64_t t_ns)
{
	uint64_t first = NO_CLOCK;
	map_get(clocks->of_device, device, &first);
	for (uint32_t i = (uint32_t)first; i != NO_CLOCK; i = clocks->v[i].next)
		if (clocks->v[i].users > 0 && clock_newest(&clocks->v[i]) == t_ns)
			return i;
	const uint32_t at = clock_idle(clocks, device);
	if (at != TRACK_WIDE)
		clock_push(&clocks->v[at], t_ns);
	return at;
}

/* May a track whose newest sample is the one before number @end have one at @t_ns now? If so, the
 * clock has that instant. */
static bool clock_follow(struct track_clock *clock, uint32_t end, int64_t t_ns)
{
	if (end == clock_end(clock)) {
		clock_push(clock, t_ns);
		return true;
	}
	return end + 1 == clock_end(clock) && clock_newest(clock) == t_ns;
}

void track_clocks_trim(struct track_clocks *clocks, int64_t edge_ns)
{
	for (uint32_t i = 0; i < clocks->n; i++) {
		struct track_clock *clock = &clocks->v[i];
		/* two stay: a track may be one instant behind the clock */
		while (clock->head + 2 < clock->n && clock->t_ns[clock->head + 2] <= edge_ns)
			clock->head++;
	}
}

void track_clocks_rewind(struct track_clocks *clocks, int64_t t_ns)
{
	for (uint32_t i = 0; i < clocks->n; i++) {
		struct track_clock *clock = &clocks->v[i];
		while (clock->n > clock->head && clock_newest(clock) > t_ns)
			clock->n--;
	}
}

/* ---- columns ------------------------------------------------------------- */

static bool track_is_wide(const struct track *track)
{
	return track->clock == TRACK_WIDE;
}
static int64_t *wide_times(const struct track *track)
{
	return (int64_t *)(void *)track->block;
}
static uint64_t *wide_values(const struct track *track)
{
	return (uint64_t *)(void *)(track->block + sizeof(int64_t) * (size_t)track->cap);
}
static uint32_t *wide_windows(const struct track *track)
{
	return (uint32_t *)(void *)(track->block +
		(sizeof(int64_t) + sizeof(uint64_t)) * (size_t)track->cap);
}
static uint16_t *wide_flags(const struct track *track)
{
	return (uint16_t *)(void *)(track->block +
		(sizeof(int64_t) + sizeof(uint64_t) + sizeof(uint32_t)) * (size_t)track->cap);
}
static uint64_t *lean_values(const struct track *track)
{
	return (uint64_t *)(void *)track->block;
}

static const int64_t *lean_times(const struct track_clocks *clocks, const struct track *track)
{
	const struct track_clock *clock = &clocks->v[track->clock];
	return clock->t_ns + (track->end - (track->n - track->head) - clock->first);
}

static const uint16_t *lean_flags(struct track_clocks *clocks, const struct track *track)
{
	uint16_t **pattern = &clocks->patterns[track->flags_first][track->flags];
	if (!*pattern) {
		*pattern = rw_calloc(LEAN_MOST, sizeof(**pattern));
		(*pattern)[0] = track->flags_first;
		for (size_t i = 1; i < LEAN_MOST; i++)
			(*pattern)[i] = track->flags;
	}
	return *pattern;
}

struct track_run track_run_of(struct track_clocks *clocks, const struct track *track)
{
	const uint32_t head = track->head;
	struct track_run run = {.n = track->n - head, .same = track->last};
	if (run.n == 0)
		return run;
	if (track_is_wide(track)) {
		run.t_ns = wide_times(track) + head;
		run.value = wide_values(track) + head;
		run.window_ms = wide_windows(track) + head;
		run.flags = wide_flags(track) + head;
		return run;
	}
	run.t_ns = lean_times(clocks, track);
	run.flags = lean_flags(clocks, track);
	run.window_ms = (const uint32_t *)(const void *)zeros;
	run.flat = track->same >= run.n && !track->flags && !track->flags_first;
	if (track->block)
		run.value = lean_values(track) + head;
	return run;
}

int64_t track_newest(const struct track_clocks *clocks, const struct track *track)
{
	if (track->n == track->head)
		return INT64_MIN;
	if (track_is_wide(track))
		return wide_times(track)[track->n - 1];
	return lean_times(clocks, track)[track->n - track->head - 1];
}

/* ---- room ---------------------------------------------------------------- */

/* The kept samples of @from become the first ones of @to, which may be in the same block. */
static void wide_move(const struct track *from, const struct track *to)
{
	const size_t n = from->n - from->head;
	memmove(wide_times(to), wide_times(from) + from->head, n * sizeof(int64_t));
	memmove(wide_values(to), wide_values(from) + from->head, n * sizeof(uint64_t));
	memmove(wide_windows(to), wide_windows(from) + from->head, n * sizeof(uint32_t));
	memmove(wide_flags(to), wide_flags(from) + from->head, n * sizeof(uint16_t));
}

static uint32_t cap_for(uint32_t n)
{
	return (n + n / 4 + 4) / 4 * 4; /* whole fours keep every column aligned */
}

static bool track_may_move(const struct track *track)
{
	return track->head > 0 && (track->n <= SMALL || track->head >= track->n / 4);
}

static void wide_room(struct track *track)
{
	if (track->n < track->cap)
		return;
	if (track_may_move(track)) {
		wide_move(track, track);
	} else {
		struct track wider = *track;
		wider.cap = cap_for(track->n - track->head);
		wider.block = rw_realloc(NULL, (size_t)wider.cap * POINT_BYTES);
		if (track->block)
			wide_move(track, &wider);
		free(track->block);
		track->block = wider.block;
		track->cap = wider.cap;
	}
	track->n -= track->head;
	track->head = 0;
}

static void lean_room(struct track *track)
{
	const size_t kept = track->n - track->head;
	if (track->n < track->cap)
		return;
	if (track_may_move(track)) {
		memmove(lean_values(track), lean_values(track) + track->head,
			kept * sizeof(uint64_t));
		track->n -= track->head;
		track->head = 0;
		return;
	}
	track->cap = cap_for(track->n);
	track->block = rw_realloc(track->block, (size_t)track->cap * sizeof(uint64_t));
}

/* From now on its values differ. */
static void lean_unfold(struct track *track)
{
	track->cap = cap_for(track->n);
	track->block = rw_realloc(NULL, (size_t)track->cap * sizeof(uint64_t));
	for (uint32_t i = 0; i < track->n; i++)
		lean_values(track)[i] = track->last;
}

/* ---- lean and wide -------------------------------------------------------- */

static void track_widen(struct track_clocks *clocks, struct track *track)
{
	const struct track_run run = track_run_of(clocks, track);
	struct track wide = *track;
	wide.head = 0;
	wide.n = run.n;
	wide.cap = cap_for(run.n);
	wide.clock = TRACK_WIDE;
	wide.block = rw_realloc(NULL, (size_t)wide.cap * POINT_BYTES);
	for (uint32_t i = 0; i < run.n; i++) {
		wide_times(&wide)[i] = run.t_ns[i];
		wide_values(&wide)[i] = run.same;
		if (run.value)
			wide_values(&wide)[i] = run.value[i];
		wide_flags(&wide)[i] = run.flags[i];
		wide_windows(&wide)[i] = 0;
	}
	clocks->v[track->clock].users--;
	free(track->block);
	*track = wide;
}

/* The clock of @device whose newest instants are those of @run; a new one if none is. */
static uint32_t clock_matching(
	struct track_clocks *clocks, uint32_t device, const struct track_run *run)
{
	uint64_t first = NO_CLOCK;
	map_get(clocks->of_device, device, &first);
	for (uint32_t i = (uint32_t)first; i != NO_CLOCK; i = clocks->v[i].next) {
		const struct track_clock *clock = &clocks->v[i];
		if (clock->users > 0 && clock->n - clock->head >= run->n &&
			memcmp(clock->t_ns + clock->n - run->n, run->t_ns,
				run->n * sizeof(*run->t_ns)) == 0)
			return i;
	}
	const uint32_t at = clock_idle(clocks, device);
	for (uint32_t i = 0; at != TRACK_WIDE && i < run->n; i++)
		clock_push(&clocks->v[at], run->t_ns[i]);
	return at;
}

static bool run_is_plain(const struct track_run *run)
{
	if (run->n == 0 || run->n > NARROW_MOST || run->flags[0] >= LEAN_FLAGS)
		return false;
	for (uint32_t i = 0; i < run->n; i++) {
		const uint16_t flags = run->flags[i];
		if (run->window_ms[i] || flags >= LEAN_FLAGS || (i > 1 && flags != run->flags[1]))
			return false;
	}
	return true;
}

/* A wide track whose samples could be those of a lean one becomes lean. */
static void track_narrow(struct track_clocks *clocks, struct track *track, uint32_t device)
{
	const struct track_run run = track_run_of(clocks, track);
	if (!run_is_plain(&run))
		return;
	const uint32_t clock = clock_matching(clocks, device, &run);
	if (clock == TRACK_WIDE)
		return;
	struct track lean = *track;
	lean.clock = clock;
	lean.end = clock_end(&clocks->v[clock]);
	lean.head = 0;
	lean.n = run.n;
	lean.flags_first = (uint8_t)run.flags[0];
	lean.flags = (uint8_t)run.flags[run.n > 1];
	lean.block = NULL;
	lean.cap = 0;
	if (track->same < run.n) {
		lean_unfold(&lean);
		memcpy(lean.block, run.value, run.n * sizeof(uint64_t));
	}
	clocks->v[clock].users++;
	free(track->block);
	*track = lean;
}

void track_drop(struct track_clocks *clocks, struct track *track)
{
	if (track->n > track->head && !track_is_wide(track))
		clocks->v[track->clock].users--;
	free(track->block);
	*track = (struct track){
		.entity = track->entity, .metric = track->metric, .clock = TRACK_WIDE};
}

/* ---- one more sample ------------------------------------------------------- */

static void track_begin(struct track_clocks *clocks, struct track *track, uint32_t device,
	const struct sample *sample)
{
	track_drop(clocks, track);
	if (sample->window_ms == 0 && sample->flags < LEAN_FLAGS)
		track->clock = clock_at(clocks, device, sample->t_ns);
	if (track_is_wide(track))
		return;
	clocks->v[track->clock].users++;
	track->end = clock_end(&clocks->v[track->clock]) - 1;
}

static bool lean_takes(
	struct track_clocks *clocks, const struct track *track, const struct sample *sample)
{
	const uint32_t kept = track->n - track->head;
	if (sample->window_ms || sample->flags >= LEAN_FLAGS || kept >= LEAN_MOST)
		return false;
	if (kept > 1 && sample->flags != track->flags)
		return false;
	return clock_follow(&clocks->v[track->clock], track->end, sample->t_ns);
}

static void lean_add(struct track *track, const struct sample *sample)
{
	if (track->n == track->head)
		track->flags_first = (uint8_t)sample->flags;
	track->flags = (uint8_t)sample->flags;
	track->end++;
	if (!track->block && track->n > 0 && sample->value != track->last)
		lean_unfold(track);
	if (track->block) {
		lean_room(track);
		lean_values(track)[track->n] = sample->value;
	}
	track->n++;
}

static void wide_add(struct track *track, const struct sample *sample)
{
	wide_room(track);
	wide_times(track)[track->n] = sample->t_ns;
	wide_values(track)[track->n] = sample->value;
	wide_windows(track)[track->n] = sample->window_ms;
	wide_flags(track)[track->n] = sample->flags;
	track->n++;
}

void track_add(struct track_clocks *clocks, struct track *track, uint32_t device,
	const struct sample *sample)
{
	if (track->n == track->head)
		track_begin(clocks, track, device, sample);
	else if (!track_is_wide(track) && !lean_takes(clocks, track, sample))
		track_widen(clocks, track);
	if (track_is_wide(track))
		wide_add(track, sample);
	else
		lean_add(track, sample);
	if (sample->value != track->last || track->same == 0)
		track->same = 1;
	else if (track->same < UINT16_MAX)
		track->same++;
	track->last = sample->value;
}

/* ---- fewer samples ---------------------------------------------------------- */

static void lean_cut(struct track *track, uint32_t gone)
{
	const uint32_t kept = track->n - track->head - gone;
	if (gone > 0)
		track->flags_first = track->flags;
	if (track->block && track->same < kept) {
		track->head += gone;
		return;
	}
	free(track->block);
	track->block = NULL;
	track->cap = track->head = 0;
	track->n = kept;
}

void track_trim(struct track_clocks *clocks, struct track *track, uint32_t device, int64_t edge_ns)
{
	if (track->n == track->head)
		return;
	if (!track_is_wide(track) && track->end + 1 < clock_end(&clocks->v[track->clock]))
		track_widen(clocks, track); /* its series has stopped, the clock goes on */
	const struct track_run run = track_run_of(clocks, track);
	uint32_t gone = 0;
	while (gone + 1 < run.n && run.t_ns[gone + 1] <= edge_ns)
		gone++;
	if (!track_is_wide(track)) {
		lean_cut(track, gone);
		return;
	}
	track->head += gone;
	if (gone > 0)
		track_narrow(clocks, track, device);
}

void track_rewind(struct track_clocks *clocks, struct track *track, int64_t t_ns)
{
	const struct track_run run = track_run_of(clocks, track);
	uint32_t kept = run.n;
	while (kept > 0 && run.t_ns[kept - 1] > t_ns)
		kept--;
	if (kept == run.n)
		return;
	if (kept == 0) {
		track_drop(clocks, track);
		return;
	}
	if (run.value)
		track->last = run.value[kept - 1];
	track->same = 1; /* not counted again: it is at least that */
	if (!run.value && kept < UINT16_MAX)
		track->same = (uint16_t)kept;
	track->end -= run.n - kept;
	track->n -= run.n - kept;
}
