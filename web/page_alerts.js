/* page_alerts - who is called: receivers and what they got, and what is silenced. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { choice, copy, incidentLink, mark, panel, quiet, table, time } from "./widgets.js";

const ANSWERS = { ok: "ok", failing: "critical" };

const RECEIVERS = [
	{ head: "Receiver", cell: (r) => r.receiver },
	{ head: "Kind", drop: true, cell: (r) => r.kind },
	{ head: "State", cell: (r) => mark(ANSWERS[r.state] || "unknown", (r.state || "unknown").toUpperCase()) },
	{ head: "From severity", drop: true, cell: (r) => (r.min_severity ? mark(r.min_severity) : "any") },
	{ head: "Wait", num: true, cell: (r) => format.count(r.queued) },
	{ head: "Took", num: true, cell: (r) => format.count(r.sent) },
	{ head: "Failed", num: true, drop: true, cell: (r) => format.count(r.failed) },
	{ head: "Last took one", cell: (r) => (r.last_success ? time(r.last_success) : "never") },
	{ head: "Answered last", wide: true, cell: (r) => r.error || "-" },
];

const ALERTS = (ctx) => [
	{ head: "Receiver", cell: (a) => a.receiver },
	{ head: "Incident", cell: (a) => incidentLink(ctx, a.incident) },
	{ head: "Got", cell: (a) => (a.state ? [format.words(a.state), " ", a.severity ? mark(a.severity) : null] : "nothing yet") },
	{ head: "At", drop: true, cell: (a) => (a.sent_at ? time(a.sent_at) : "-") },
	{ head: "Waits", cell: (a) => (a.pending ? [format.words(a.pending), " since ", time(a.pending_since)] : "-") },
	{ head: "Answered last", wide: true, cell: (a) => a.error || "-" },
];

const STATES = { active: "warning", scheduled: "info", ended: "idle", expired: "idle" };

const SILENCES = [
	{ head: "Silence", cell: (s) => h("span", { class: "id" }, s.id) },
	{ head: "State", cell: (s) => mark(STATES[s.state] || "unknown", (s.state || "unknown").toUpperCase()) },
	{ head: "What", wide: true, cell: (s) => ["device", "port", "host", "job", "cause"].filter((k) => s[k]).map((k) => k + " " + s[k]).join(", ") },
	{ head: "By", cell: (s) => s.by || "-" },
	{ head: "Until", cell: (s) => time(s.until) },
	{ head: "Why", wide: true, cell: (s) => s.why || "-" },
	{ head: "Ended by", drop: true, cell: (s) => s.ended_by || "-" },
];

export const alerts = {
	title: () => "Alerts and silences",
	every: 10000,
	load: async (ctx, signal) => {
		const [sent, silenced] = await Promise.all([ctx.get("alerts", {}, signal), ctx.get("silences", { all: ctx.here.query.all }, signal)]);
		return { receivers: sent.receivers || [], alerts: sent.alerts || [], silences: silenced.silences || [] };
	},
	draw: (ctx) => {
		const { receivers, alerts: sent, silences } = ctx.data;
		const of = (rows) => rows.filter((r) => matches(r, ctx.filter));
		return h("div", { key: "alerts" },
			panel("Receivers", {}, receivers.length ? table("Receivers", RECEIVERS, of(receivers), (r) => r.receiver)
				: quiet("No receiver is configured: nobody is called. Section alerts: of the configuration names them.")),
			panel("What they got", {}, sent.length ? table("What they got", ALERTS(ctx), of(sent), (a) => a.receiver + " " + a.incident) : quiet("Nothing was sent.")),
			panel("Silences", {},
				h("div", { class: "controls" }, choice("Which silences", [["", "In force or planned"], ["true", "All"]], ctx.here.query.all || "", (all) => {
					ctx.query({ all });
					ctx.reload();
				})),
				silences.length ? table("Silences", SILENCES, of(silences), (s) => s.id) : quiet("Nothing is silenced."),
				copy("rocewatch silence add --device NAME --for 2h --why TEXT", "the command to silence")));
	},
};
