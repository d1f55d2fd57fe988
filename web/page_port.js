/* page_port - one port over time: load, pause, ECN marks, drops, queue watermarks. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { stepOf } from "./state.js";
import { chart } from "./chart.js";
import { choice, entityLink, facts, mark, panel, portLink, quiet } from "./widgets.js";

const RANGES = [["15m", "15 min", 900], ["1h", "1 h", 3600], ["6h", "6 h", 21600], ["24h", "24 h", 86400], ["7d", "7 d", 604800]];

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

function rangeOf(ctx) {
	return RANGES.find((r) => r[0] === ctx.here.query.range) || RANGES[0];
}

function ask(ctx, metric, rate) {
	const [device, port] = ctx.here.args;
	const [range, , seconds] = rangeOf(ctx);
	const time = ctx.past ? { around: ctx.here.query.around, span: range } : { since: range };
	return { metric, device, port, rate: rate ? "true" : null, step: stepOf(seconds) + "s", agg: rate ? null : "max", ...time };
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

async function loadChart(ctx, spec, signal) {
	const lists = await Promise.all(spec.metrics.map(async ([metric, label, factor]) => {
		try {
			const doc = await ctx.get("query", ask(ctx, metric, spec.rate), signal);
			return seriesOf(metric, label, factor, doc.rows || []).map((s) => ({ ...s, most: spec.most }));
		} catch (e) {
			if (e.status === 404 || e.status === 400)
				return []; /* this device does not have it */
			throw e;
		}
	}));
	return { ...spec, series: lists.flat().slice(0, 6) };
}

/* The part of @spec's times that all charts share, so that they stand under one another. */
function rangeMs(charts) {
	let from = Infinity, to = -Infinity;
	for (const c of charts)
		for (const s of c.series)
			for (const row of s.rows) {
				const t = format.parseTime(row.time);
				from = Math.min(from, t);
				to = Math.max(to, t);
			}
	return from < to ? [from, to] : null;
}

function step(ctx, by) {
	const [device, port] = ctx.here.args;
	const links = (ctx.data.topology && ctx.data.topology.links) || [];
	const names = links.flatMap((l) => [l.device === device ? l.port : null, l.peer === device ? l.peer_port : null]).filter(Boolean)
		.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
	const next = names[names.indexOf(port) + by];
	return next ? h("a", { key: by, class: "button", href: ctx.link("port", [device, next], { range: ctx.here.query.range }) }, by < 0 ? "← " + next : next + " →") : null;
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
		["Neighbour", link ? [/^host:/.test(link.peer) ? link.peer.slice(5) : entityLink(ctx, link.peer), " ", link.peer_port || ""] : format.UNKNOWN],
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
		const [topology, pause, ...charts] = await Promise.all([ctx.get("topology/show", {}, signal).catch(() => null),
			ctx.get("pause/ports", { device, port: name, all: "true" }, signal).catch(() => ({ ports: [] })),
			...CHARTS.map((spec) => loadChart(ctx, spec, signal))]);
		return { topology, pause, charts };
	},
	draw: (ctx) => {
		const range = rangeMs(ctx.data.charts);
		return h("div", { key: ctx.here.args.join(" ") },
			about(ctx),
			h("div", { class: "controls" }, choice("Time range", RANGES, rangeOf(ctx)[0], (id) => {
				ctx.query({ range: id });
				ctx.reload();
			}), step(ctx, -1), step(ctx, 1), h("span", { class: "quiet" }, "times are UTC; a gap is a gap in the data")),
			range ? h("div", { class: "charts" }, ctx.data.charts.map((c) => chart({ ...c, range })))
				: quiet("No sample of this port in this time."));
	},
};
