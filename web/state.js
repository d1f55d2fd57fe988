/*
 * state - what a state is called and how old a frame may be. Pure functions: no document, no clock.
 *
 * A state is never told by colour alone: each has a word and a sign of its own shape.
 */
export const STATES = {
	ok: { word: "OK", sign: "✓" },
	warning: { word: "WARNING", sign: "▲" },
	critical: { word: "CRITICAL", sign: "✖" },
	unknown: { word: "UNKNOWN", sign: "?" },
	idle: { word: "IDLE", sign: "–" },
	info: { word: "INFO", sign: "i" },
};

/* Words of devices, jobs, incidents and sheets, as states of the page. */
const ALSO = {
	up: "ok", down: "critical", running: "ok", stopped: "critical", open: "warning",
	clearing: "warning", closed: "idle", pending: "info", even: "ok", skewed: "critical",
	within_chance: "ok", high: "ok", medium: "warning", low: "unknown",
};

export function known(name) {
	if (name in STATES)
		return name;
	return ALSO[name] || "unknown";
}

/* A page without a frame for so many intervals knows nothing any more. */
export const FRAMES_MISSED = 3;
/* The server sends a frame each second while something changes, and says every 5 s that the last one holds. */
export const LEAST_INTERVAL_MS = 5000;

/* intervalOf - the usual distance of frames: the median of the last ones, between 5 s and 30 s. */
export function intervalOf(arrivals) {
	const gaps = [];
	for (let i = 1; i < arrivals.length; i++)
		gaps.push(arrivals[i] - arrivals[i - 1]);
	if (!gaps.length)
		return LEAST_INTERVAL_MS;
	gaps.sort((a, b) => a - b);
	const median = gaps[Math.floor(gaps.length / 2)];
	return Math.min(30000, Math.max(LEAST_INTERVAL_MS, median));
}

/*
 * headline - the state of the page and why.
 *
 * @frame       the newest frame, null before the first
 * @silent_ms   since the newest frame arrived
 * @interval_ms usual distance of frames
 * @past        the page shows a time in the past: silence means nothing
 */
export function headline(frame, silent_ms, interval_ms, past) {
	if (!frame)
		return { state: "unknown", why: "no data has arrived yet", silent: false };
	if (!past && silent_ms > FRAMES_MISSED * interval_ms)
		return {
			state: "unknown",
			why: "no update from the server for " + Math.floor(silent_ms / 1000) + " s; " +
				"values below are the last known",
			silent: true,
		};
	const state = known(frame.state || "unknown");
	if (frame.state_why)
		return { state, why: frame.state_why, silent: false };
	const agent = frame.agent || {};
	if (state === "unknown")
		return { state, why: agent.stale ? "the data is stale" : "no reason given", silent: false };
	const open = frame.open_incidents;
	if (open)
		return { state, why: open + (open === 1 ? " open incident" : " open incidents"), silent: false };
	return { state, why: state === "ok" ? "no open incident" : "see the signals", silent: false };
}

/* lastKnown - whether the values of the page are old: they are drawn without colour then. */
export function lastKnown(frame, silent, past) {
	const agent = (frame && frame.agent) || {};
	if (past || agent.state === "replay")
		return false;
	return silent || agent.state === "stopped" || agent.stale === true;
}

/* dataAge - seconds since the newest sample: what the frame said and what has passed since. */
export function dataAge(frame, silent_ms, past) {
	const agent = (frame && frame.agent) || {};
	let age = agent.data_age_s;
	if (age === null || age === undefined)
		age = frame && frame.data_quality ? frame.data_quality.newest_sample_age_s : null;
	if (age === null || age === undefined)
		return null;
	if (past || agent.state === "replay")
		return age;
	return age + silent_ms / 1000;
}

/*
 * banners - what must be seen whatever page is open: [{kind, state, title, text}].
 */
export function banners(frame) {
	const agent = (frame && frame.agent) || {};
	const ret = [];
	if (agent.state === "stopped")
		ret.push({ kind: "agent", state: "critical", title: "The agent is stopped.",
			text: "Nothing is collected. Start it: systemctl start rocewatch" });
	if (agent.state === "cannot_tell")
		ret.push({ kind: "agent", state: "unknown", title: "Cannot tell whether the agent runs.",
			text: "No right to read the lock file of the database. Judge by the age of the data." });
	const stuck = (agent.store || {}).state === "waiting";
	if (stuck)
		ret.push({ kind: "store", state: "critical", title: "The agent polls, but cannot write.",
			text: (agent.store.reason || "") + " Values are as of " + (agent.data_time || "never") + ".", t: agent.store.since });
	if (agent.stale && agent.state === "running" && !stuck)
		ret.push({ kind: "stale", state: "critical", title: "The data is stale.",
			text: "The agent runs but stores nothing. Run: rocewatch doctor" });
	if (agent.config_error)
		ret.push({ kind: "config", state: "warning", title: "The configuration file is broken.",
			text: agent.config_error + " The configuration in force is used." });
	const told = agent.config_error && ((agent.reload_refused || {}).text || "").includes(agent.config_error);
	if (agent.reload_refused && !told)
		ret.push({ kind: "reload", state: "warning", title: "A reload was refused.",
			text: agent.reload_refused.text || "", t: agent.reload_refused.t });
	return ret;
}

const SEVERITY = { critical: 3, warning: 2, info: 1 };

/* byMoney - order of incidents: what costs most first, then severity, then the newer one. */
export function byMoney(a, b) {
	const money = (b.usd_per_hour || 0) - (a.usd_per_hour || 0);
	if (money)
		return money;
	const severity = (SEVERITY[b.severity] || 0) - (SEVERITY[a.severity] || 0);
	if (severity)
		return severity;
	return Date.parse(b.opened) - Date.parse(a.opened);
}

/* matches - whether one of the texts in @row (any depth) has @filter in it. Empty matches all. */
export function matches(row, filter) {
	if (!filter)
		return true;
	const wanted = filter.toLowerCase();
	const seen = (v) => {
		if (v === null || v === undefined)
			return false;
		if (typeof v === "object")
			return Object.values(v).some(seen);
		return String(v).toLowerCase().includes(wanted);
	};
	return seen(row);
}

/*
 * retryAfter - milliseconds until connection attempt @n (from 0): doubling from 1 s to 15 s, and up
 * to a quarter more, so that a wall of screens does not come back in one moment. @random: 0..1.
 */
export function retryAfter(n, random) {
	return Math.min(15000, 1000 * 2 ** Math.min(n, 10)) * (1 + random / 4);
}

/* stepOf - seconds between the points of a chart of @span_s: about 300 points, no less than 10 s. */
export function stepOf(span_s) {
	const wanted = span_s / 300;
	for (const step of [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200])
		if (step >= wanted)
			return step;
	return 14400;
}

/* Reads a Server-Sent Events stream piece by piece: feed(text) returns the events that are complete. */
export class EventReader {
	constructor() {
		this.rest = "";
		this.event = "";
		this.data = [];
	}

	feed(text) {
		const ret = [];
		const lines = (this.rest + text).split("\n");
		this.rest = lines.pop();
		for (const raw of lines)
			this.line(raw.replace(/\r$/, ""), ret);
		return ret;
	}

	line(line, ret) {
		if (line === "") {
			if (this.data.length)
				ret.push({ event: this.event || "message", data: this.data.join("\n") });
			this.event = "";
			this.data = [];
			return;
		}
		const colon = line.indexOf(":");
		if (colon === 0)
			return;
		const field = colon < 0 ? line : line.slice(0, colon);
		const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (field === "event")
			this.event = text;
		if (field === "data")
			this.data.push(text);
	}
}
