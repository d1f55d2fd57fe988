/* page_device - one switch: whether it answers, its links, its incidents, its paused ports. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { entityLink, facts, mark, panel, quiet, table } from "./widgets.js";
import { PAUSE } from "./page_ports.js";

const LINKS = (ctx) => [
	{ head: "Port", cell: (l) => h("a", { href: ctx.link("port", [l.device, l.port]), "data-row": true }, l.port) },
	{ head: "Neighbour", cell: (l) => entityLink(ctx, l.peer || format.UNKNOWN) },
	{ head: "Its port", cell: (l) => l.peer_port || format.UNKNOWN },
	{ head: "Speed", num: true, cell: (l) => format.bitrate(l.speed_bps) },
	{ head: "Link", cell: (l) => mark(l.state === "up" ? "ok" : l.state === "down" ? "critical" : "unknown", (l.state || "unknown").toUpperCase()) },
	{ head: "Known by", drop: true, cell: (l) => l.source || format.UNKNOWN },
];

/* The links of one switch, seen from its side. */
function linksOf(doc, name) {
	const rows = [];
	for (const l of (doc && doc.links) || []) {
		if (l.device === name)
			rows.push(l);
		else if (l.peer === name)
			rows.push({ ...l, device: name, port: l.peer_port, peer: l.device, peer_port: l.port });
	}
	return rows.sort((a, b) => String(a.port).localeCompare(String(b.port), undefined, { numeric: true }));
}

export const device = {
	title: (ctx) => "Switch " + (ctx.here.args[0] || ""),
	every: 10000,
	load: async (ctx) => {
		const [topology, pause] = await Promise.all([ctx.get("topology/show").catch(() => null), ctx.get("pause/ports", { device: ctx.here.args[0] })]);
		return { topology, pause };
	},
	draw: (ctx) => {
		const name = ctx.here.args[0];
		const d = ((ctx.frame && ctx.frame.devices) || []).find((x) => x.name === name) || {};
		const links = linksOf(ctx.data.topology, name).filter((l) => matches(l, ctx.filter));
		const paused = (ctx.data.pause.ports || []).filter((p) => p.device === name && matches(p, ctx.filter));
		const open = ((ctx.frame && ctx.frame.incidents) || []).filter((i) => i.device === name);
		return h("div", { key: name },
			panel("Collection", {}, facts([["State", mark(d.status === "up" ? "ok" : d.status === "down" ? "critical" : "unknown", (d.status || "unknown").toUpperCase())],
				["Reason", d.reason], ["Age of its data", format.duration(d.age_s)], ["Protocol", d.protocol], ["Address", d.address],
				["Interval", format.duration(d.interval_s)], ["Timeouts", format.count(d.timeouts)], ["Errors", format.count(d.errors)]])),
			open.length ? panel("Open incidents", {}, h("ul", { class: "rows", "data-rows": true }, open.map((i) => h("li", { key: i.id },
				h("a", { href: ctx.link("incident", [i.id]), "data-row": true }, mark(i.severity), " ", i.headline || i.summary))))) : null,
			panel("Pause", {}, paused.length ? h("div", { "data-rows": true }, table("Pause of " + name, PAUSE(ctx, ctx.data.pause.ports), paused, (p) => p.port + " " + p.priority)) : quiet("No port of this switch is paused or pauses.")),
			panel("Links", {}, links.length ? h("div", { "data-rows": true }, table("Links of " + name, LINKS(ctx), links, (l) => l.port)) : quiet("No link is known.")));
	},
};
