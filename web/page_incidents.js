/* page_incidents - the list of incidents with filters: state, severity, and what is typed. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { byMoney, matches } from "./state.js";
import { choice, hostLink, mark, portLink, quiet, table, time } from "./widgets.js";

const SHOWN = [["open", "Open now"], ["closed", "Closed"], ["all", "All"]];
const SEVERITIES = [["", "Any severity"], ["critical", "Critical"], ["warning", "Warning"], ["info", "Info"]];

function isOpen(i) {
	return i.state !== "closed";
}

function wanted(ctx, i) {
	const { show = "open", severity = "" } = ctx.here.query;
	if (show === "open" && !isOpen(i))
		return false;
	if (show === "closed" && isOpen(i))
		return false;
	if (severity && i.severity !== severity)
		return false;
	return matches(i, ctx.filter);
}

const columns = (ctx) => [
	{ head: "Severity", cell: (i) => mark(i.severity) },
	{ head: "What", wide: true, cell: (i) => [
		h("a", { href: ctx.link("incident", [i.id]), "data-row": true }, i.headline || i.summary || format.words(i.cause)),
		h("span", { class: "reason" }, format.words(i.cause) + ", " + i.id)] },
	{ head: "Where", cell: (i) => {
		const s = i.subject || i;
		return [portLink(ctx, s.device, s.port), s.host ? h("span", { class: "reason" }, hostLink(ctx, s.host)) : null];
	} },
	{ head: "State", cell: (i) => format.words(i.state) },
	{ head: "Opened", drop: true, cell: (i) => time(i.opened) },
	...((ctx.here.query.show || "open") === "open" ? [] : [{ head: "Closed", drop: true, cell: (i) => (i.closed ? time(i.closed) : "-") }]),
	{ head: "Cost", num: true, cell: (i) => [format.perHour(i.usd_per_hour),
		h("span", { class: "reason" }, i.usd_total ? format.dollars(i.usd_total) + " so far" : "")] },
	{ head: "Confidence", num: true, drop: true, cell: (i) => format.ratio(i.confidence_ratio) },
	{ head: "Owner", drop: true, cell: (i) => i.assigned_to || i.acked_by || "nobody" },
];

export const incidents = {
	title: () => "Incidents",
	every: 5000,
	load: (ctx) => ctx.get("incidents", { all: "true" }).catch((e) => {
		if (e.status === 400)
			return ctx.get("incidents");
		throw e;
	}),
	draw: (ctx) => {
		const all = ctx.data.incidents || [];
		const rows = all.filter((i) => wanted(ctx, i)).sort(byMoney);
		const { show = "open", severity = "" } = ctx.here.query;
		return h("div", { key: "list" },
			h("div", { class: "controls" },
				choice("Which incidents", SHOWN, show, (id) => ctx.query({ show: id })),
				choice("Severity", SEVERITIES, severity, (id) => ctx.query({ severity: id })),
				h("span", { class: "quiet" }, format.plural(rows.length, "incident") + " of " + format.count(all.length))),
			rows.length ? h("div", { "data-rows": true }, table("Incidents", columns(ctx), rows, (i) => i.id))
				: quiet(show === "open" && !all.some(isOpen) ? "No incident is open." : "None matches these filters."));
	},
};
