/* page_tuning - threshold sheets: the list, and one sheet with its changes, commands and proof. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { choice, confidence, copy, facts, incidentLink, mark, panel, portLink, quiet, table, time } from "./widgets.js";

const ADVICE = { change: ["warning", "CHANGE"], fix_first: ["critical", "FIX FIRST"], watch: ["info", "WATCH"], blocked: ["unknown", "BLOCKED"], collect: ["unknown", "COLLECT"], keep: ["ok", "KEEP"] };

function advice(s) {
	const [state, word] = ADVICE[s.advice] || ["unknown", format.words(s.advice).toUpperCase()];
	return mark(state, word);
}

function amount(v, unit) {
	return format.value(v, unit);
}

const LIST = (ctx) => [
	{ head: "Advice", cell: advice },
	{ head: "Sheet", wide: true, cell: (s) => [h("a", { href: ctx.link("sheet", [s.id]), "data-row": true }, s.summary || s.id),
		h("span", { class: "reason" }, s.id + (s.diagnosis ? ", " + format.words(s.diagnosis) : ""))] },
	{ head: "Switch", cell: (s) => portLink(ctx, s.device, null) },
	{ head: "State", cell: (s) => (s.state ? format.words(s.state) : "not recorded") },
	{ head: "Made", drop: true, cell: (s) => time(s.made || s.time) },
	{ head: "Confidence", num: true, drop: true, cell: (s) => format.ratio(s.confidence_ratio) },
];

/* Sheets of the ledger, and what a review of the last day says that is not in it. */
async function sheets(ctx, signal) {
	const notes = [];
	const none = (e) => {
		if (signal.aborted || e.status === 0 || e.status === 401)
			throw e;
		notes.push(e.message); /* the other half can still be shown */
		return { sheets: [] };
	};
	const [kept, review] = await Promise.all([ctx.get("tune/list", {}, signal).catch(none), ctx.get("tune/review", {}, signal).catch(none)]);
	if (review.reason)
		notes.push(review.reason);
	const all = new Map();
	for (const s of [...(review.sheets || []), ...(kept.sheets || [])])
		all.set(s.id, { ...(all.get(s.id) || {}), ...s });
	return { sheets: [...all.values()], notes };
}

export const tuning = {
	title: () => "Tuning sheets",
	every: 60000,
	load: sheets,
	draw: (ctx) => {
		const rows = ctx.data.sheets.filter((s) => matches(s, ctx.filter));
		return h("div", { key: "sheets" }, quiet("rocewatch changes nothing on a switch: a sheet says what to change, why, and how to undo it."),
			ctx.data.notes.map((text) => h("p", { key: text }, mark("unknown", "NO REVIEW"), " ", text)),
			rows.length ? h("div", { "data-rows": true }, table("Tuning sheets", LIST(ctx), rows, (s) => s.id))
				: quiet(ctx.filter ? "None matches the filter." : "No sheet: nothing to change, or too little history yet."));
	},
};

const CHANGES = [
	{ head: "Threshold", cell: (c) => h("strong", {}, c.knob + (c.port_group ? ", " + c.port_group : "")) },
	{ head: "Current", num: true, cell: (c) => amount(c.current, c.unit) },
	{ head: "Proposed", num: true, cell: (c) => h("strong", {}, amount(c.proposed, c.unit)) },
	{ head: "Why", wide: true, cell: (c) => [c.why, c.source ? h("span", { class: "reason" }, c.source) : null] },
];

const EXPECTED = [
	{ head: "Measured", cell: (x) => x.metric },
	{ head: "Now", num: true, cell: (x) => amount(x.now, x.unit) },
	{ head: "Expected", num: true, cell: (x) => h("strong", {}, amount(x.likely, x.unit)) },
	{ head: "Between", num: true, cell: (x) => (x.low === null || x.high === null ? format.UNKNOWN : amount(x.low, x.unit) + " and " + amount(x.high, x.unit)) },
	{ head: "Chance to be worse", num: true, cell: (x) => (x.worse_ratio === null || x.worse_ratio === undefined ? format.UNKNOWN : amount(x.worse_ratio, "ratio")) },
];

const HOLDS = { true: ["ok", "YES"], false: ["critical", "NO"], null: ["unknown", "UNKNOWN"] };

const CHECKS = [
	{ head: "Holds", cell: (c) => mark(...(HOLDS[String(c.ok)] || HOLDS.null)) },
	{ head: "Check", wide: true, cell: (c) => c.text },
	{ head: "Before", num: true, cell: (c) => amount(c.before, c.unit) },
	{ head: "After", num: true, cell: (c) => amount(c.after, c.unit) },
	{ head: "Limit", num: true, cell: (c) => (c.limit === null ? "-" : amount(c.limit, c.unit)) },
];

const EVIDENCE = (ctx) => [
	{ head: "Measured", cell: (e) => e.metric },
	{ head: "Where", cell: (e) => [portLink(ctx, e.device, e.port), e.priority === null || e.priority === undefined ? "" : " p" + e.priority] },
	{ head: "Value", num: true, cell: (e) => format.value(e.value, e.unit) },
	{ head: "Quality", cell: (e) => e.quality || format.UNKNOWN },
];

/*
 * forms - [name, text] of one vendor's entry. Most vendors have one text; SONiC has its commands and the
 * same as a piece of config_db.json. What is null was not written.
 */
export function forms(entry) {
	if (!entry)
		return [];
	if (typeof entry !== "object")
		return [["", String(entry)]];
	return Object.keys(entry).filter((name) => entry[name])
		.map((name) => [name, typeof entry[name] === "object" ? JSON.stringify(entry[name], null, 2) : entry[name]]);
}

/* The first form, as in `tune show`; what belongs to another is told by `tune render`. */
function block(entry, label) {
	const written = forms(entry);
	return written.length ? h("div", { key: label }, copy(written[0][1], label)) : quiet("Unknown.");
}

function allForms(id, vendor, entry) {
	if (typeof entry !== "object")
		return null;
	return quiet("As " + forms(entry).map(([name]) => name).join(" and ") + ", with what to heed: ",
		h("code", {}, "rocewatch tune render " + id + " --vendor " + vendor));
}

/* Why there are no commands for some vendors, one sentence each. */
function unwritten(notes, vendors) {
	return Object.keys(notes || {}).filter((v) => Array.isArray(notes[v]) && notes[v].length && vendors.includes(v))
		.map((v) => v + ": " + notes[v].join("; "));
}

/* The commands in one vendor's syntax: those to apply and those to undo. */
function commands(ctx, s) {
	const vendors = Object.keys(s.render || {}).filter((v) => forms(s.render[v]).length);
	const own = s.platform && s.platform.syntax;
	if (!vendors.length)
		return [quiet("No commands: nothing to change, or no syntax is known for this switch."),
			bullets(unwritten(s.render_notes, own ? [own] : Object.keys(s.render_notes || {})))];
	const vendor = vendors.includes(ctx.local.vendor) ? ctx.local.vendor : vendors.includes(own) ? own : vendors[0];
	return [choiceOf(ctx, vendors, vendor, own),
		h("h3", { key: "a" }, "Apply"), block(s.render[vendor], "the commands to apply"),
		h("h3", { key: "u" }, "Undo"), block(s.undo && s.undo[vendor], "the commands to undo"),
		allForms(s.id, vendor, s.render[vendor]),
		bullets(unwritten(s.render_notes, [vendor, own]))];
}

function choiceOf(ctx, vendors, vendor, own) {
	return h("div", { key: "v", class: "controls" }, choice("Syntax", vendors.map((v) => [v, v + (v === own ? " (this switch)" : "")]), vendor, (v) => {
		ctx.local.vendor = v;
		ctx.redraw();
	}), own ? null : h("span", { class: "quiet" }, "platform unknown: check the syntax"));
}

function bullets(rows) {
	if (!rows.length)
		return null;
	return h("ul", { class: "plain" }, rows.map((t, i) => h("li", { key: i }, typeof t === "string" ? t : t.text || "")));
}

export const sheet = {
	title: (ctx) => "Tuning sheet " + (ctx.here.args[0] || ""),
	every: 60000,
	load: async (ctx, signal) => {
		const id = ctx.here.args[0];
		try {
			const doc = await ctx.get("tune/show", { id }, signal);
			return (doc.sheets && doc.sheets[0]) || doc;
		} catch (e) {
			if (e.status !== 404)
				throw e;
			const found = (await sheets(ctx, signal)).sheets.find((s) => s.id === id);
			if (!found)
				throw e;
			return found;
		}
	},
	draw: (ctx) => {
		const s = ctx.data;
		const port = s.ports && s.ports.length === 1 ? s.ports[0] : null;
		return h("div", { key: s.id, class: "card" },
			panel("Proposal", { class: "story" },
				h("p", { class: "facts-line" }, advice(s), h("span", {}, s.state ? format.words(s.state) : "not recorded"), confidence(s.confidence_ratio)),
				h("p", { class: "finding" }, s.summary),
				facts([["Switch", portLink(ctx, s.device, port)], ["Ports", (s.ports || []).length ? s.ports.slice(0, 8).join(", ") + (s.ports.length > 8 ? " and " + (s.ports.length - 8) + " more" : "") : null],
					["Priority", s.priority === null || s.priority === undefined ? null : String(s.priority)], ["Diagnosis", s.diagnosis ? format.words(s.diagnosis) : null],
					["Blocked by", s.blocked_by ? incidentLink(ctx, s.blocked_by) : null], ["Disruption", s.disruption], ["Risk", s.risk], ["Roll back if", s.rollback_if],
					["Buffer cost", s.buffer_cost_bytes === null || s.buffer_cost_bytes === undefined ? null : format.bytes(s.buffer_cost_bytes)],
					["Evidence", s.from ? [time(s.from), " to ", time(s.to)] : null], ["Expires", s.expires ? time(s.expires) : null]])),
			panel("Changes", {}, (s.changes || []).length ? table("Changes", CHANGES, s.changes, (c) => c.knob + (c.port_group || "")) : quiet("No threshold changes."),
				(s.expected || []).length ? [h("h3", { key: "x" }, "Expected effect"), h("div", { key: "xt" }, table("Expected effect", EXPECTED, s.expected, (x, i) => (x.metric || "") + i))] : null,
				s.not_expected ? quiet(s.not_expected) : null),
			panel("Commands", { class: "commands" }, commands(ctx, s)),
			(s.checks || []).length ? panel("Checks", {}, table("Checks", CHECKS, s.checks, (c, i) => i)) : null,
			(s.collect || []).length || (s.next_steps || []).length ? panel("Next", {}, bullets([...(s.collect || []), ...(s.next_steps || [])])) : null,
			panel("Why", { class: "evidence" }, bullets(s.confidence_inputs || []),
				(s.evidence || []).length ? table("Evidence", EVIDENCE(ctx), s.evidence, (e, i) => e.metric + i) : null));
	},
};
