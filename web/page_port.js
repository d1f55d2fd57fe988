/* page_port - one port over time: load, pause, ECN marks, drops, queue watermarks. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { stepOf } from "./state.js";
import { chart } from "./chart.js";
import { before, compareOf, markList, marks, rangeChoice, rangeOf, shifted, times } from "./trend.js";
import { entityLink, facts, mark, panel, portLink, quiet } from "./widgets.js";

const RANGE = "15m"; /* where the address names none */

/*
 * What is asked for: one request per metric. "instead": only where the metric before it has no value,
 * such as PFC frames where the switch does not measure pause time.
 */
const CHARTS = [
	{ title: "Load", unit: "bit/s", metrics: [["port.in_octets", "in", 8], ["port.out_octets", "out", 8]], rate: true },
	{ title: "Pause time", unit: "ratio", note: "share of a second", most: 1, metrics: [["pfc.rx_pause_ns", "paused us", 1e-9], ["pfc.tx_pause_ns", "we paused", 1e-9]], rate: true },
	{ title: "Pause frames", unit: "frames/s", metrics: [["pfc.rx_frames", "received", 1], ["pfc.tx_frames", "sent", 1]], rate: true },
	{ title: "ECN marks", unit: "packets/s", metrics: [["queue.ecn_marked", "marked", 1]], rate: true },
	{ title: "Drops and errors", unit: "frames/s", metrics: [["port.in_discards", "in discards", 1], ["port.out_discards", "out discards", 1],
		["queue.drops", "queue drops", 1], ["pg.drops", "ingress drops", 1], ["port.in_errors", "in errors", 1]], rate: true },
	{ title: "Queue watermarks", unit: "bytes", metrics: [["queue.watermark_bytes", "queue", 1], ["pg.shared_watermark_bytes", "shared buffer", 1],
		["pg.headroom_watermark_bytes", "headroom", 1]], rate: false },
];

function ask(ctx, metric, rate) {
	const [device, port] = ctx.here.args;
	const [, , seconds] = rangeOf(ctx, RANGE);
	return { metric, device, port, rate: rate ? "true" : null, step: stepOf(seconds) + "s", agg: rate ? null : "max", ...times(ctx, RANGE) };
}

/* One series per metric and priority; priorities without any value are left out. */
export function seriesOf(metric, label, factor, rows) {
	const groups = new Map();
	for (const row of rows) {
		const key = row.priority === null || row.priority === undefined ? "" : " p" + row.priority;
		if (!groups.has(key))
			groups.set(key, []);
		groups.get(key).push(row);
	}
	const all = [...groups].map(([key, list]) => ({ label: label + key, factor, rows: list }));
	const moved = all.filter((s) => s.rows.some((r) => r.value));
	const some = all.filter((s) => s.rows.some((r) => typeof r.value === "number"));
	return (moved.length ? moved : some.slice(0, 1)).slice(0, 6);
}

/* The lines of the time it is compared with, at the place of today's. */
async function pastOf(ctx, question, doc, [, , ms, word], [, label, factor], signal) {
	const past = await ctx.get("query", { ...question, around: null, span: null, ...before(doc, ms) }, signal);
	return seriesOf(question.metric, label, factor, shifted(past.rows || [], ms, [], 0)).map((s) => ({ ...s, label: s.label + ", " + word }));
}

async function loadChart(ctx, spec, signal) {
	const compare = compareOf(ctx);
	let asked = null;
	const lists = await Promise.all(spec.metrics.map(async ([metric, label, factor]) => {
		try {
			const question = ask(ctx, metric, spec.rate);
			const doc = await ctx.get("query", question, signal);
			asked = [format.parseTime(doc.from), format.parseTime(doc.to)];
			const past = compare ? await pastOf(ctx, question, doc, compare, [metric, label, factor], signal) : [];
			return [...seriesOf(metric, label, factor, doc.rows || []), ...past].map((s) => ({ ...s, most: spec.most }));
		} catch (e) {
			if (e.status === 404 || e.status === 400)
				return []; /* this device does not have it */
			throw e;
		}
	}));
	return { ...spec, series: lists.flat().slice(0, 6), range: asked };
}

function step(ctx, by) {
	const [device, port] = ctx.here.args;
	const links = (ctx.data.topology && ctx.data.topology.links) || [];
	const names = links.flatMap((l) => [l.device === device ? l.port : null, l.peer === device ? l.peer_port : null]).filter(Boolean)
		.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
	const next = names[names.indexOf(port) + by];
	return next ? h("a", { key: by, class: "button", href: ctx.link("port", [device, next]) }, by < 0 ? "← " + next : next + " →") : null;
}

function about(ctx) {
	const [device, port] = ctx.here.args;
	const links = (ctx.data.topology && ctx.data.topology.links) || [];
	const mine = links.find((l) => l.device === device && l.port === port);
	const theirs = links.find((l) => l.peer === device && l.peer_port === port);
	const link = mine || (theirs && { peer: theirs.device, peer_port: theirs.port, speed_bps: theirs.speed_bps, state: theirs.state });
	const pause = (ctx.data.pause.ports || []).filter((p) => p.port === port && p.device === device);
	const incidents = ((ctx.frame && ctx.frame.incidents) || []).filter((i) => i.device === device && i.port === port);
	return panel("Now", {}, facts([
		["Switch", portLink(ctx, device, null)],
		["Neighbour", link ? [entityLink(ctx, link.peer), " ", link.peer_port || ""] : format.UNKNOWN],
		["Speed", link ? format.bitrate(link.speed_bps) : format.UNKNOWN],
		["Link", link ? mark(link.state === "up" ? "ok" : link.state === "down" ? "critical" : "unknown", (link.state || "unknown").toUpperCase()) : format.UNKNOWN],
		...pause.map((p) => ["Pause, priority " + p.priority, "paused us " + format.pauseRate(p.rx_lo_ratio, p.rx_hi_ratio, p.rx_measured) +
			"; we paused " + format.pauseRate(p.tx_lo_ratio, p.tx_hi_ratio, p.tx_measured)]),
		["Open incident", incidents.length ? incidents.map((i) => h("a", { key: i.id, href: ctx.link("incident", [i.id]) }, mark(i.severity), " ", i.headline || i.summary)) : null],
	]));
}

export const port = {
	title: (ctx) => "Port " + ctx.here.args.join(" "),
	every: 10000,
	load: async (ctx, signal) => {
		const [device, name] = ctx.here.args;
		const mine = (s) => s.device === device && (!s.port || s.port === name);
		const [topology, pause, marked, ...charts] = await Promise.all([ctx.get("topology/show", {}, signal).catch(() => null),
			ctx.get("pause/ports", { device, port: name, all: "true" }, signal).catch(() => ({ ports: [] })),
			marks(ctx, RANGE, signal, mine), ...CHARTS.map((spec) => loadChart(ctx, spec, signal))]);
		return { topology, pause, marked, charts };
	},
	draw: (ctx) => {
		const some = ctx.data.charts.some((c) => c.series.length);
		return h("div", { key: ctx.here.args.join(" ") },
			about(ctx),
			h("div", { class: "controls" }, rangeChoice(ctx, RANGE, true), step(ctx, -1), step(ctx, 1), h("span", { class: "quiet" }, "times are UTC; a gap is a gap in the data")),
			markList(ctx, ctx.data.marked),
			some ? h("div", { class: "charts" }, ctx.data.charts.map((c) => chart({ ...c, marks: ctx.data.marked })))
				: quiet("No sample of this port in this time."));
	},
};
