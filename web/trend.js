/*
 * trend - the same time range for every page, what happened in it, and small drawings of how a signal
 * went. The agent keeps each golden signal and each job's throughput once a minute (agent.signal).
 */
import { h } from "./dom.js";
import * as format from "./format.js";
import { stepOf } from "./state.js";
import { choice, panel, time } from "./widgets.js";

export const RANGES = [["15m", "15 min", 900], ["1h", "1 h", 3600], ["6h", "6 h", 21600], ["24h", "24 h", 86400], ["7d", "7 d", 604800]];
export const COMPARES = [["", "Alone"], ["1d", "And yesterday", 86400e3, "yesterday"], ["7d", "And last week", 604800e3, "last week"]];
const SAMPLE_S = 60; /* the agent's distance of two values of a signal */

/* rangeOf - the row of RANGES that the address names, else the page's own. */
export function rangeOf(ctx, own) {
	return RANGES.find((r) => r[0] === ctx.here.query.range) || RANGES.find((r) => r[0] === own);
}

export function compareOf(ctx) {
	return COMPARES.find((c) => c[0] && c[0] === ctx.here.query.compare) || null;
}

/* times - parameters of a request for that range. */
export function times(ctx, own) {
	const [range] = rangeOf(ctx, own);
	return ctx.past ? { around: ctx.here.query.around, span: range } : { since: range };
}

/* Buttons for range and comparison. What is chosen stands in the address, and goes along to other pages. */
export function rangeChoice(ctx, own, compared) {
	const set = (change) => {
		ctx.query(change);
		ctx.reload();
	};
	return [choice("Time range", RANGES, rangeOf(ctx, own)[0], (range) => set({ range })),
		compared ? choice("Compare", COMPARES, (compareOf(ctx) || [""])[0], (compare) => set({ compare })) : null];
}

/* before - the same question, @ms earlier. @doc is the answer to it as it is now. */
export function before(doc, ms) {
	const at = (t) => new Date(format.parseTime(t) - ms).toISOString();
	return { since: at(doc.from), until: at(doc.to) };
}

/* shifted - rows of the past, @ms later; each goes to the time of @rows that is nearest within @near ms, so that both share a line's times. */
export function shifted(past, ms, rows, near) {
	const known = rows.map((r) => format.parseTime(r.time)).sort((a, b) => a - b);
	let at = 0;
	return past.map((r) => {
		const t = format.parseTime(r.time) + ms;
		while (at + 1 < known.length && Math.abs(known[at + 1] - t) <= Math.abs(known[at] - t))
			at++;
		return { ...r, time: new Date(known.length && Math.abs(known[at] - t) <= near ? known[at] : t).toISOString() };
	});
}

function byName(rows) {
	const ret = new Map();
	for (const row of rows || []) {
		if (!ret.has(row.port))
			ret.set(row.port, []);
		ret.get(row.port).push(row);
	}
	return ret;
}

/* Ranges up to an hour are shown as stored; of longer ones the worst of each step: the most of a signal, the least of a throughput. */
async function signalsOf(ctx, seconds, when, signal) {
	const ask = { metric: "agent.signal", ...when };
	if (seconds <= 3600)
		return ctx.get("query", ask, signal);
	const step = stepOf(seconds * 1.6) + "s";
	const [most, least] = await Promise.all([ctx.get("query", { ...ask, step, agg: "max" }, signal), ctx.get("query", { ...ask, port: "job:*", step, agg: "min" }, signal).catch((e) => {
		if (e.status === 404 || e.status === 400)
			return { rows: [] }; /* no job */
		throw e;
	})]);
	return { ...most, rows: [...(most.rows || []).filter((r) => !/^job:/.test(r.port)), ...(least.rows || [])] };
}

/*
 * history - {from, asked, to, step_s, of(name), past(name)}: from the begin of the range, or of what is known; rows of a signal, and of the time it is compared with,
 * already shifted. A database without them gives no rows: they are unknown.
 */
export async function history(ctx, own, signal) {
	const [, , seconds] = rangeOf(ctx, own);
	const compare = compareOf(ctx);
	let doc = { rows: [] }, past = { rows: [] };
	try {
		doc = await signalsOf(ctx, seconds, times(ctx, own), signal);
		if (compare)
			past = await signalsOf(ctx, seconds, before(doc, compare[2]), signal);
	} catch (e) {
		if (e.status !== 404)
			throw e;
	}
	const now = byName(doc.rows), then = byName(past.rows);
	const step_s = doc.step_s || SAMPLE_S;
	const asked = format.parseTime(doc.from), first = (doc.rows || []).reduce((t, r) => Math.min(t, format.parseTime(r.time)), Infinity);
	return { from: compare || first === Infinity ? asked : Math.max(asked, first - step_s * 1000), asked, to: format.parseTime(doc.to), step_s, names: [...now.keys()],
		of: (name) => now.get(name) || [],
		past: (name) => shifted(then.get(name) || [], compare ? compare[2] : 0, now.get(name) || [], step_s * 500) };
}

/* --- what happened --- */

/* Events that explain a step in a curve; an incident has its own span. */
const EVENTS = [[/^change$/, "change"], [/^tune_(accept|appl)/, "sheet"], [/^config_reloaded$/, "configuration"]];

/* marksOf - [{kind, t, until, text, id, severity}] in order of time; .until is null for a moment, and for an incident that is open. */
export function marksOf(incidents, events, of) {
	const ret = incidents.filter((i) => !of || of(i.subject || i)).map((i) => ({ kind: "incident", t: format.parseTime(i.first || i.opened),
		until: i.closed ? format.parseTime(i.closed) : null, text: i.headline || i.summary || format.words(i.cause), id: i.id, severity: i.severity }));
	for (const e of events) {
		const row = EVENTS.find(([pattern]) => pattern.test(e.kind));
		if (row && (!of || !e.device || of(e)))
			ret.push({ kind: row[1], t: format.parseTime(e.t), until: null, text: (e.who ? e.who + ": " : "") + (e.text || format.words(e.kind)), id: null, severity: "info" });
	}
	return ret.sort((a, b) => a.t - b.t);
}

/* marks - the same, asked for in the page's range. @of: which subjects count; all when not given. */
export async function marks(ctx, own, signal, of) {
	const when = times(ctx, own);
	const none = (e) => {
		if (e.status === 404 || e.status === 400)
			return {};
		throw e;
	};
	const [incidents, events] = await Promise.all([ctx.get("incidents", { all: "true", ...when }, signal).catch(none), ctx.get("event/list", when, signal).catch(none)]);
	return marksOf(incidents.incidents || [], events.events || [], of);
}

/* The marks of the charts as a list: what is drawn is told, too. */
export function markList(ctx, list) {
	if (!list.length)
		return null;
	return panel("Marked in the charts", { class: "marks" }, h("ul", { class: "rows" }, list.map((m, k) => h("li", { key: m.t + m.text + k },
		time(m.t / 1000), m.until ? [" to ", time(m.until / 1000, format.clock)] : null, " ", h("strong", {}, m.kind + (m.kind === "incident" && !m.until ? ", open" : "")), " ",
		m.id ? h("a", { href: ctx.link("incident", [m.id]) }, m.text) : m.text))));
}

/* --- small drawings --- */

/* values - [[ms, value]] of the rows that were measured. */
export function values(rows) {
	return rows.filter((r) => typeof r.value === "number").map((r) => [format.parseTime(r.time), r.value]);
}

/* runs - @list cut where more than two steps are missing: a gap is no line. */
export function runs(list, step_s) {
	const ret = [];
	list.forEach((p, i) => {
		if (!i || p[0] - list[i - 1][0] > 2500 * step_s)
			ret.push([]);
		ret[ret.length - 1].push(p);
	});
	return ret;
}

/* jump - the two neighbours between which the value changed most, when that is most of all that it changed; else null. */
export function jump(list) {
	let most = 0, at = -1, low = Infinity, high = -Infinity;
	list.forEach(([, v], i) => {
		low = Math.min(low, v);
		high = Math.max(high, v);
		if (i && Math.abs(v - list[i - 1][1]) > most) {
			most = Math.abs(v - list[i - 1][1]);
			at = i;
		}
	});
	return at > 0 && most > 0.6 * (high - low) && most > 0.05 * Math.max(Math.abs(low), Math.abs(high)) ? [list[at - 1], list[at]] : null;
}

/* band - where the signal was in its baseline's time, without the lowest and highest tenth: [low, high], null with fewer than 5 values. */
export function band(list, from, to) {
	const base = list.filter(([t]) => t >= from && t <= to).map(([, v]) => v).sort((a, b) => a - b);
	if (base.length < 5)
		return null;
	return [base[Math.floor(base.length * 0.1)], base[Math.ceil(base.length * 0.9) - 1]];
}

function told(list, parts, unit) {
	const show = (v) => format.value(v, unit);
	const steps = jump(list);
	const all = list.map((p) => p[1]);
	const gaps = parts.length - 1;
	return (steps ? steps.map(([t, v]) => show(v) + " at " + format.moment(t / 1000)).join(", ") + "; " : "") +
		"lowest " + show(Math.min(...all)) + ", highest " + show(Math.max(...all)) + (gaps ? "; " + format.plural(gaps, "gap") : "");
}

const WIDE = 104, HIGH = 26;

/* spark - how a signal went: @rows of history(), @spec: {name, unit, base: [from, to] or null, past}. */
export function spark(trend, rows, spec) {
	const list = values(rows), past = values(spec.past || []);
	if (!list.length)
		return h("span", { class: "quiet" }, "no history");
	const parts = runs(list, trend.step_s), usual = spec.base ? band(list, ...spec.base) : null;
	const top = Math.max(...list.map((p) => p[1]), ...past.map((p) => p[1])) || 1;
	const x = (t) => Math.round((t - trend.from) / (trend.to - trend.from) * WIDE * 10) / 10;
	const y = (v) => Math.round((HIGH - 2 - Math.max(0, v) / top * (HIGH - 4)) * 10) / 10;
	const path = (part) => "M" + part.map(([t, v]) => x(t) + " " + y(v)).join("L") + (part.length === 1 ? "h1" : "");
	const text = told(list, parts, spec.unit);
	return h("svg", { class: "spark", viewBox: "0 0 " + WIDE + " " + HIGH, width: WIDE, height: HIGH, role: "img", "aria-label": spec.name + ", " + text },
		h("title", {}, text),
		usual ? h("rect", { class: "usual", x: 0, y: y(usual[1]) - 1, width: WIDE, height: y(usual[0]) - y(usual[1]) + 2 }) : null,
		parts.slice(1).map((part, i) => h("rect", { class: "gap", x: x(parts[i][parts[i].length - 1][0]), y: 0, width: Math.max(1, x(part[0][0]) - x(parts[i][parts[i].length - 1][0])), height: HIGH })),
		runs(past, trend.step_s).map((part) => h("path", { class: "past", d: path(part) })),
		parts.map((part) => h("path", { class: "line", d: path(part) })));
}
