/* page_doctor - health of the collection: what to do, targets, captures, the store. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { copy, facts, mark, panel, portLink, quiet, table, time } from "./widgets.js";

const TARGETS = (ctx) => [
	{ head: "Target", cell: (t) => portLink(ctx, t.name, null) },
	{ head: "State", cell: (t) => mark(t.status === "up" ? "ok" : t.status === "down" ? "critical" : "unknown", (t.status || "unknown").toUpperCase()) },
	{ head: "Protocol", drop: true, cell: (t) => t.protocol || format.UNKNOWN },
	{ head: "Age", num: true, cell: (t) => format.duration(t.age_s) },
	{ head: "p95", num: true, drop: true, cell: (t) => format.duration(t.poll_p95_s) },
	{ head: "Values/s", num: true, cell: (t) => format.count(t.values_per_s) },
	{ head: "Missed", num: true, cell: (t) => format.count(t.missed_polls) },
	{ head: "Timeouts", num: true, drop: true, cell: (t) => format.count(t.timeouts) },
	{ head: "Notes", wide: true, cell: (t) => [t.reason || (Array.isArray(t.notes) ? t.notes.join("; ") : t.notes) || "", t.do ? h("span", { class: "reason" }, t.do) : null] },
];

const CAPTURES = [
	{ head: "Capture", cell: (c) => c.name },
	{ head: "From", drop: true, cell: (c) => c.interface || format.UNKNOWN },
	{ head: "Frames", num: true, cell: (c) => format.count(c.frames) },
	{ head: "RoCE", num: true, cell: (c) => format.count(c.roce_packets) },
	{ head: "In tunnels", num: true, drop: true, cell: (c) => format.count(c.tunneled_packets) },
	{ head: "Copies", num: true, drop: true, cell: (c) => format.count(c.copies) },
	{ head: "Dropped", num: true, cell: (c) => format.count(c.kernel_drops) },
	{ head: "Notes", wide: true, cell: (c) => c.notes || "" },
];

/* A cause that a switch cannot show, for want of what; those of many switches stand once. */
export function blindOf(coverage) {
	const rows = new Map();
	for (const c of coverage || [])
		for (const b of c.blind || []) {
			const missing = (b.missing || []).map((m) => m.what).join(", ");
			const key = b.cause + "\n" + missing;
			if (!rows.has(key))
				rows.set(key, { cause: b.cause, missing, instead: b.reported_by, devices: [] });
			rows.get(key).devices.push(...c.devices);
		}
	return [...rows.values()].sort((a, b) => b.devices.length - a.devices.length || a.cause.localeCompare(b.cause));
}

const BLIND = (n) => [
	{ head: "Cause", cell: (b) => format.words(b.cause) },
	{ head: "Missing", wide: true, cell: (b) => b.missing || format.UNKNOWN },
	{ head: "Shown as", drop: true, cell: (b) => (b.instead ? format.words(b.instead) : "-") },
	{ head: "Where", wide: true, cell: (b) => (b.devices.length === n ? "all switches" : b.devices.slice(0, 8).join(", ") + (b.devices.length > 8 ? " and " + (b.devices.length - 8) + " more" : "")) },
];

function coverage(ctx, doc) {
	const all = doc.coverage || [];
	if (!all.length)
		return null;
	const rows = blindOf(all).filter((b) => matches(b, ctx.filter));
	const silent = all.filter((c) => c.delivers === false).flatMap((c) => c.devices);
	const n = all.reduce((sum, c) => sum + c.devices.length, 0);
	return panel("Blind for", { class: "coverage", beside: "causes that these switches cannot show, and what is missing" },
		silent.length ? h("p", {}, mark("unknown"), " nothing is known of ", silent.slice(0, 12).join(", "), silent.length > 12 ? " and " + (silent.length - 12) + " more" : "") : null,
		rows.length ? table("Blind for", BLIND(n), rows, (b) => b.cause + b.missing)
			: silent.length < n ? h("p", {}, mark("ok"), silent.length ? " every cause can be seen on the others." : " every cause can be seen.") : null);
}

function todo(doc) {
	const rows = doc.todo || [];
	return panel("To do", { class: "todo" }, rows.length ? h("ul", { class: "rows" }, rows.map((t, i) => h("li", { key: t.subject + i },
		mark(t.severity), " ", h("strong", {}, t.subject), " ", t.what, t.do ? h("span", { class: "under" }, "→ " + t.do) : null)))
		: h("p", {}, mark("ok"), " The collection is well: nothing to do."));
}

export const doctor = {
	title: () => "Doctor: health of the collection",
	every: 5000,
	load: (ctx) => ctx.get("doctor"),
	draw: (ctx) => {
		const d = ctx.data;
		const store = d.store || {}, process = d.process || {}, quality = d.data_quality || {};
		const targets = (d.targets || []).filter((t) => matches(t, ctx.filter));
		const order = { down: 0, unknown: 1 };
		targets.sort((a, b) => (order[a.status] ?? 2) - (order[b.status] ?? 2));
		return h("div", { key: "doctor" }, todo(d),
			panel("Targets", { beside: format.plural((d.targets || []).length, "target") }, table("Targets", TARGETS(ctx), targets, (t) => t.name)),
			coverage(ctx, d),
			(d.captures || []).length ? panel("Captures", {}, table("Captures", CAPTURES, d.captures, (c) => c.name)) : null,
			h("div", { class: "columns" },
				panel("Agent", {}, facts([["Running for", format.duration(process.up_s)], ["Memory", format.bytes(process.rss_bytes)],
					["Samples", format.count(quality.samples)], ["Suspect", format.count(quality.suspect_samples)], ["Late", format.count(quality.late_samples)],
					["Duplicate", format.count(quality.duplicate_samples)], ["Refused", format.count(quality.refused_samples)], ["Failed windows", format.count(quality.failed_windows)]])),
				panel("Store", {}, facts([["Path", store.path], ["Size", format.bytes(store.size_bytes)], ["From", time(store.from)], ["To", time(store.to)],
					["Last commit", format.duration(store.last_commit_age_s)], ["Waiting", store.pending_samples === null ? format.UNKNOWN : format.plural(store.pending_samples, "sample")],
					["Dropped", format.count(store.dropped_samples)], ["Free disk", format.bytes(store.disk_free_bytes) + " (" + format.ratio(store.disk_free_ratio) + ")"]]),
				copy("rocewatch doctor", "the command"))));
	},
};
