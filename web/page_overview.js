/* page_overview - the wall: jobs, golden signals, incidents by money, who pauses, hot uplinks, events. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { STATES, byMoney, known, matches } from "./state.js";
import { history, rangeChoice, rangeOf, spark } from "./trend.js";
import { ROLES, bar, hostLink, mark, panel, portLink, quiet, switches, table, time } from "./widgets.js";

const RANGE = "6h"; /* where the address names none */

const JOB_STATE = { running: ["ok", "RUNNING"], stopped: ["critical", "STOPPED"], unknown: ["unknown", "UNKNOWN"] };

/* Of what is not live any more; what was not known then is not known now. */
function was(word) {
	return word === STATES.unknown.word ? word : "WAS " + word;
}

function job(ctx, j) {
	const [now, name] = JOB_STATE[j.state] || JOB_STATE.unknown;
	const state = ctx.old ? "unknown" : now, word = ctx.old ? was(name) : name;
	const change = j.change_ratio;
	const changed = change === null || change === undefined ? null
		: (change >= 0 ? "+" : "") + format.count(change * 100, 1) + " %";
	return h("li", { key: j.job, class: "job " + state },
		h("a", { href: ctx.link("steps"), class: "name" }, j.job), mark(state, word),
		typeof j.step_s === "number" ? [h("span", { class: "big" }, "step ", h("strong", {}, format.duration(j.step_s))), h("span", { class: "quiet" }, "base " + format.duration(j.step_base_s))]
			: h("span", { class: "quiet" }, "step not seen"),
		changed ? h("span", { class: change > 0.03 ? "worse" : "quiet" }, changed) : null,
		typeof j.exchange_s === "number" ? h("span", { class: "quiet" }, "exchange " + format.duration(j.exchange_s)) : null,
		j.since ? h("span", { class: "quiet" }, "since ", time(j.since, format.clock)) : null,
		ctx.data ? spark(ctx.data, ctx.data.of("job:" + j.job + " rate"), { name: "throughput of " + j.job, unit: "bytes/s", past: ctx.data.past("job:" + j.job + " rate") }) : null);
}

function jobs(ctx) {
	const rows = ctx.frame.jobs || [];
	if (!rows.length)
		return null;
	return h("ul", { key: "jobs", class: "jobs", "aria-label": "Jobs" },
		rows.filter((j) => matches(j, ctx.filter)).map((j) => job(ctx, j)));
}

function signalWhere(ctx, s) {
	const subject = s.subject || {};
	const text = s.where || "";
	const parts = [];
	if (s.incident)
		parts.push(h("a", { key: "i", href: ctx.link("incident", [s.incident]) }, text || "incident " + s.incident));
	else if (subject.device)
		parts.push(h("a", { key: "p", href: subject.port ? ctx.link("port", [subject.device, subject.port])
			: ctx.link("device", [subject.device]) }, text || [subject.device, subject.port].filter(Boolean).join(" ")));
	else if (text)
		parts.push(h("span", { key: "t" }, text));
	if (s.why)
		parts.push(h("span", { key: "w", class: "reason" }, s.why));
	return parts;
}

function baseline(s) {
	if (s.baseline === null || s.baseline === undefined)
		return h("span", { class: "quiet" }, format.UNKNOWN);
	const span = s.baseline_from ? "the median from " + format.moment(s.baseline_from) + " to " + format.moment(s.baseline_to) + "; times of incidents are left out" : "";
	return h("span", { title: span }, format.value(s.baseline, s.unit));
}

function trendOf(ctx, s) {
	if (!ctx.data)
		return null;
	const base = s.baseline_from ? [format.parseTime(s.baseline_from), format.parseTime(s.baseline_to)] : null;
	return spark(ctx.data, ctx.data.of(s.name), { name: s.signal, unit: s.unit, base, past: ctx.data.past(s.name) });
}

const SIGNALS = (ctx) => [
	{ head: "Signal", cell: (s) => s.signal },
	{ head: "Now", num: true, cell: (s) => {
		const open = s.value === 0 && typeof s.limit === "number" && ["warning", "critical"].includes(known(s.state));
		const text = format.measured(s.value, s.value_low, s.unit, s.quality) + (open ? " now" : ""); /* nothing of what is open in this window */
		return h("strong", { class: text === format.UNKNOWN ? "quiet" : null }, text);
	} },
	{ head: "Baseline", num: true, drop: true, cell: baseline },
	{ head: ctx.data && ctx.data.from > ctx.data.asked ? "Since " + format.clock(ctx.data.from / 1000) : "Last " + rangeOf(ctx, RANGE)[1], drop: true, cell: (s) => trendOf(ctx, s) },
	{ head: "State", cell: (s) => (ctx.old ? mark("unknown", was(STATES[known(s.state)].word)) : mark(s.state)) },
	{ head: "Where and why", wide: true, cell: (s) => signalWhere(ctx, s) },
];

/* Nothing counts it, and no incident is about it: that is said once for all of them, not as a row each. */
function isUnmeasured(s) {
	return known(s.state) === "unknown" && (s.value === null || s.value === undefined) && !s.incident;
}

function unmeasured(rows) {
	return rows.length ? h("p", { class: "quiet unmeasured" }, "Not measured here: ", rows.map((s, k) => [k ? "; " : "", h("strong", {}, s.signal), s.why ? " (" + s.why + ")" : ""])) : null;
}

function signals(ctx) {
	const all = ctx.frame.signals || [];
	const rows = ctx.old ? all : all.filter((s) => !isUnmeasured(s));
	const window = ctx.frame.window;
	const beside = window && window.from ? [" ", time(window.from, format.clock), " to ", time(window.to, format.clock)] : null;
	return panel("Golden signals", { class: "signals", beside },
		table("Golden signals", SIGNALS(ctx), rows, (s) => s.name || s.signal,
			{ rowClass: (s) => "row-" + known(s.state) }),
		unmeasured(all.filter((s) => !rows.includes(s))),
		h("div", { class: "controls" }, rangeChoice(ctx, RANGE, true)));
}

export function incidentRow(ctx, i) {
	const where = [i.host, i.device && i.port ? i.device + " " + i.port : i.device, i.job ? "job " + i.job : null].filter(Boolean);
	return h("li", { key: i.id, class: "incident " + known(i.severity) },
		h("a", { href: ctx.link("incident", [i.id]), "data-row": true },
			mark(i.severity),
			h("span", { class: "text" }, i.headline || i.summary || format.words(i.cause)),
			h("strong", { class: "money" }, format.perHour(i.usd_per_hour))),
		h("span", { class: "under" },
			[format.words(i.cause), ...where, "open " + format.duration(i.age_s),
				i.confidence_ratio === undefined || i.confidence_ratio === null ? null : "confidence " + format.ratio(i.confidence_ratio),
				i.acked_by ? "acknowledged by " + i.acked_by : "not acknowledged",
				i.assigned_to ? "assigned to " + i.assigned_to : null, i.silenced ? "silenced: " + i.silenced : null]
				.filter(Boolean).map((text) => h("span", { key: text }, text))));
}

function incidents(ctx) {
	const rows = (ctx.frame.incidents || []).filter((i) => matches(i, ctx.filter)).sort(byMoney);
	const total = ctx.frame.open_incidents;
	const money = ctx.frame.money || {};
	return panel("Open incidents", { class: "incidents", beside: [format.count(total) + " open",
		money.usd_per_hour ? ", " + format.perHour(money.usd_per_hour) + ", " + format.dollars(money.usd_total) + " so far" : null] },
		rows.length ? h("ul", { class: "rows", "data-rows": true }, rows.map((i) => incidentRow(ctx, i)))
			: quiet(total ? "None matches the filter." : "No incident is open."));
}

/* The sentence; a host in it leads to its page. */
function pausedText(ctx, p) {
	const text = p.sentence || (p.direction === "tx" ? "we paused " : "paused by ") + (p.host || p.peer || "the neighbour");
	const [before, ...after] = p.host ? text.split(p.host) : [text];
	return after.length ? [before, hostLink(ctx, p.host), after.join(p.host)] : text;
}

function paused(ctx) {
	const rows = (ctx.frame.paused || []).filter((p) => matches(p, ctx.filter));
	return panel("Top paused, by origin", { class: "paused" },
		rows.length ? h("ul", { class: "rows bars", "data-rows": true }, rows.map((p) => h("li", {
			key: [p.device, p.port, p.priority, p.direction].join(" ") },
			h("a", { href: ctx.link("port", [p.device, p.port]), "data-row": true }, p.device + " " + p.port + " p" + p.priority),
			bar(p.pause_ratio, "pause", p.quality === "bound" ? p.pause_ratio_low || 0 : undefined),
			h("span", { class: "num" }, format.pauseRate(p.pause_ratio_low, p.pause_ratio, p.quality !== "bound")),
			h("span", { class: "under" }, h("strong", {}, ROLES[p.role] || ""), " ", pausedText(ctx, p),
				p.incident ? [", ", h("a", { href: ctx.link("tree", [], { incident: p.incident }) }, "tree")] : null))))
			: quiet(ctx.filter ? "None matches the filter." : "No port is paused."));
}

function uplinks(ctx) {
	const rows = (ctx.frame.uplinks || []).filter((u) => !u.idle && matches(u, ctx.filter));
	return panel("Busiest uplinks", { class: "uplinks", beside: h("a", { href: ctx.link("ecmp") }, "heat map") },
		rows.length ? h("ul", { class: "rows bars", "data-rows": true }, rows.map((u) => h("li", { key: u.device + " " + u.port },
			h("a", { href: ctx.link("port", [u.device, u.port]), "data-row": true }, u.device + " " + u.port),
			bar(u.utilization_ratio, "load"),
			h("span", { class: "num" }, format.ratio(u.utilization_ratio)),
			h("span", { class: "under" }, "to " + (u.peer || format.UNKNOWN)))))
			: quiet("Every uplink is idle."));
}

function events(ctx) {
	const rows = ctx.frame.events || [];
	return panel("Recent events", { class: "events" },
		rows.length ? h("ul", { class: "rows" }, rows.map((e, i) => h("li", { key: [e.t, e.kind, e.text, i].join(" ") },
			time(e.t, format.clock), " ", h("strong", {}, format.words(e.kind)), " ", e.text || "",
			e.device ? [" ", portLink(ctx, e.device, e.port)] : null)))
			: quiet("No event is recorded."));
}

function devices(ctx) {
	return panel("Switches", { class: "devices" }, switches(ctx, (ctx.frame.devices || []).filter((d) => matches(d, ctx.filter))));
}

export const overview = {
	title: () => "Overview",
	early: true, /* the frame is shown before the trends are there */
	every: 30000,
	load: (ctx, signal) => history(ctx, RANGE, signal),
	draw: (ctx) => h("div", { key: "wall", class: "wall" }, jobs(ctx),
		h("div", { key: "a", class: "stack a" }, signals(ctx), events(ctx)),
		h("div", { key: "b", class: "stack b" }, incidents(ctx)),
		h("div", { key: "c", class: "stack c" }, paused(ctx), uplinks(ctx), devices(ctx))),
};
