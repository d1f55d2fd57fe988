/* page_host - one host: where it is attached, what it is accused of, what it suffers from. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { byOrigin, PAUSE } from "./page_ports.js";
import { copy, facts, mark, panel, portLink, quiet, table, time } from "./widgets.js";

const PORTS = (ctx) => [
	{ head: "Port", cell: (p) => portLink(ctx, p.device, p.port) },
	{ head: "NIC", cell: (p) => p.nic || format.UNKNOWN },
	{ head: "Rail", cell: (p) => p.rail || "-" },
];

const FOUND = (ctx) => [
	{ head: "Severity", cell: (i) => mark(i.severity) },
	{ head: "What", wide: true, cell: (i) => h("a", { href: ctx.link("incident", [i.id]), "data-row": true }, i.headline || i.summary || format.words(i.cause)) },
	{ head: "State", cell: (i) => format.words(i.state) },
	{ head: "Opened", drop: true, cell: (i) => time(i.opened) },
	{ head: "Cost", num: true, cell: (i) => format.perHour(i.usd_per_hour) },
];

function found(ctx, title, rows, none) {
	return panel(title, {}, rows.length ? h("div", { "data-rows": true }, table(title, FOUND(ctx), rows, (i) => i.id)) : quiet(none));
}

export const host = {
	title: (ctx) => "Host " + (ctx.here.args[0] || ""),
	every: 10000,
	load: async (ctx, signal) => {
		const blame = await ctx.get("blame", { name: ctx.here.args[0] }, signal);
		const asked = await Promise.all(blame.ports.map((p) => ctx.get("pause/ports", { device: p.device, port: p.port }, signal).catch(() => ({ ports: [] }))));
		return { blame, pause: asked.flatMap((answer) => answer.ports || []) };
	},
	draw: (ctx) => {
		const { blame, pause } = ctx.data;
		return h("div", { key: blame.entity },
			panel("Attached", {}, facts([["Jobs", blame.jobs.length ? blame.jobs.join(", ") : "none known"]]),
				blame.ports.length ? table("Ports of " + blame.entity, PORTS(ctx), blame.ports, (p) => p.device + " " + p.port) : quiet("No port is known.")),
			found(ctx, "Accused in", blame.incidents, "No incident accuses this host."),
			found(ctx, "Victim of", blame.victim_of, "It is no victim of an incident."),
			panel("Pause at its ports", {}, pause.length ? h("div", { "data-rows": true }, table("Pause at the ports of " + blame.entity, PAUSE(ctx, pause), [...pause].sort(byOrigin(ctx).order),
				(p) => [p.device, p.port, p.priority].join(" "))) : quiet("It neither pauses nor is paused.")),
			copy("rocewatch blame " + blame.entity, "the same on the command line"));
	},
};
