/* page_ports - pause time per port and priority, and the way to each switch. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { ROLES, bar, choice, entityLink, mark, panel, quiet, switches, table } from "./widgets.js";

const ASKED = 2000; /* rows asked for: under 1 MB; the filter reaches these */
const MOST = 400; /* rows drawn at once */

/* What is certain counts before what is possible. */
const sure = (p) => Math.max(p.rx_lo_ratio || 0, p.tx_lo_ratio || 0);
const possible = (p) => Math.max(p.rx_hi_ratio || 0, p.tx_hi_ratio || 0);

/* Where pause clearly begins, and what an open incident accuses, stands above those that only wait. */
export function byOrigin(ctx) {
	const at = (i) => i.device + " " + i.port;
	const incidents = ((ctx.frame && ctx.frame.incidents) || []).filter((i) => i.device && i.port);
	const accused = new Map(incidents.map((i) => [at(i), i.id]));
	const of = (p) => ((p.rx_hi_ratio || 0) + (p.tx_hi_ratio || 0) > 0 && accused.get(at(p))) || null;
	const first = (p) => p.origin || of(p) !== null;
	return { of, first, order: (a, b) => first(b) - first(a) || sure(b) - sure(a) || possible(b) - possible(a) };
}

function knownBy(p) {
	if (p.rx_measured && p.tx_measured)
		return "time, measured";
	if (!p.rx_measured && !p.tx_measured)
		return "bound from frames";
	return p.rx_measured ? "in measured, out bound" : "in bound, out measured";
}

/* What makes others wait, though pause does not begin there. @rows hold all rows of a switch that pauses. */
function passing(rows) {
	const at = (p) => p.device + " " + p.priority;
	const pausing = new Set(rows.filter((p) => p.tx_hi_ratio > 0).map(at));
	return (p) => pausing.has(at(p));
}

export const PAUSE = (ctx, rows, origins = byOrigin(ctx), passes = passing(rows)) => [
	{ head: "Port", cell: (p) => h("a", { href: ctx.link("port", [p.device, p.port]), "data-row": true }, p.device + " " + p.port) },
	{ head: "Role", cell: (p) => {
		const word = origins.first(p) ? h("strong", {}, ROLES.origin) : h("span", { class: "quiet" }, passes(p) ? ROLES.passes : ROLES.victim);
		return origins.of(p) ? h("a", { href: ctx.link("incident", [origins.of(p)]) }, word) : word;
	} },
	{ head: "Priority", num: true, cell: (p) => (p.priority === null || p.priority === undefined ? "-" : String(p.priority)) },
	{ head: "Neighbour", cell: (p) => entityLink(ctx, p.peer || format.UNKNOWN) },
	{ head: "Paused us", num: true, cell: (p) => [bar(p.rx_hi_ratio, "pause", p.rx_lo_ratio), format.pauseRate(p.rx_lo_ratio, p.rx_hi_ratio, p.rx_measured)] },
	{ head: "We paused", num: true, cell: (p) => [bar(p.tx_hi_ratio, "pause", p.tx_lo_ratio), format.pauseRate(p.tx_lo_ratio, p.tx_hi_ratio, p.tx_measured)] },
	{ head: "Known by", drop: true, cell: knownBy },
	{ head: "Frames in / out", num: true, drop: true, cell: (p) => format.count(p.rx_frames) + " / " + format.count(p.tx_frames) },
];

function counted(rows, doc) {
	const shown = rows.length > MOST ? ", the first " + MOST + " are shown" : "";
	const asked = doc.total > (doc.ports || []).length ? "; of " + format.plural(doc.total, "row") + " these are the strongest: rocewatch pause ports lists all" : "";
	return format.plural(rows.length, "row") + shown + asked;
}

export const ports = {
	title: () => "Ports by pause time",
	every: 5000,
	load: (ctx) => ctx.get("pause/ports", { all: ctx.here.query.all, top: ASKED }),
	draw: (ctx) => {
		const rows = (ctx.data.ports || []).filter((p) => matches(p, ctx.filter)).sort(byOrigin(ctx).order);
		const devices = ((ctx.frame && ctx.frame.devices) || []).filter((d) => matches(d, ctx.filter));
		return h("div", { key: "ports" },
			h("div", { class: "controls" }, choice("Which ports", [["", "With pause"], ["true", "All"]], ctx.here.query.all || "", (id) => {
				ctx.query({ all: id });
				ctx.reload();
			}), h("span", { class: "quiet" }, counted(rows, ctx.data))),
			ctx.data.observable === false ? h("p", {}, mark("unknown"), " no switch reports pause.")
				: rows.length ? h("div", { "data-rows": true }, table("Pause time per port and priority", PAUSE(ctx, ctx.data.ports), rows.slice(0, MOST), (p) => [p.device, p.port, p.priority].join(" ")))
					: quiet(ctx.filter ? "None matches the filter." : "No port is paused and none pauses."),
			panel("Switches", { class: "devices" }, switches(ctx, devices)));
	},
};
