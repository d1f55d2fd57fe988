/* page_incident - one incident: the story in a few lines first, the evidence behind it, the timeline. */
import { act, actor } from "./api.js";
import { h } from "./dom.js";
import * as format from "./format.js";
import { confidence, copy, entityLink, facts, hostLink, incidentLink, mark, panel, portLink, quiet, table, time } from "./widgets.js";

function texts(list) {
	return (list || []).map((t) => (typeof t === "string" ? t : t.text)).filter(Boolean);
}

function list(rows, name) {
	return rows.length ? h("ul", { class: "plain" }, rows.map((t, i) => h("li", { key: i + t }, t))) : quiet(name);
}

function subject(i) {
	const s = i.subject || {};
	const port = s.port ? s.device + ":" + s.port : s.device;
	return { host: s.host, port };
}

function head(i) {
	const open = i.state !== "closed";
	const since = i.age_s !== null && i.age_s !== undefined ? format.duration(i.age_s) : null;
	return h("p", { class: "facts-line" }, mark(i.severity), h("strong", {}, format.words(i.cause)),
		h("span", {}, i.id), h("span", {}, format.words(i.state) + (since && open ? " for " + since : "")),
		h("strong", { class: "money" }, format.perHour(i.usd_per_hour)),
		i.usd_total ? h("span", {}, format.dollars(i.usd_total) + " so far") : null, confidence(i.confidence_ratio));
}

/* Commands for the NIC or switch at hand, ready to be copied; then what else can be done. */
function doNow(i) {
	const commands = i.commands || [], steps = i.next_steps || [];
	if (!commands.length && !steps.length)
		return quiet("No step is suggested.");
	return [h("div", { key: "commands" }, commands.map((c, k) => h("div", { key: k, class: "command-of" },
		h("p", {}, h("strong", {}, "On " + c.where), c.effect ? ": " + c.effect : "", c.risk ? h("span", { class: "quiet" }, " (" + c.risk + ")") : null),
		copy(c.command, "the command for " + c.where)))),
	steps.length ? h("ol", { key: "steps", class: "steps" }, steps.map((s, k) => h("li", { key: k }, s.text,
		s.risk ? h("span", { class: "reason" }, "risk: " + s.risk) : null))) : null];
}

function worldOf(ctx, i) {
	const roles = i.roles || [];
	const of = (role) => roles.filter((r) => r.role === role).map((r) => r.entity);
	const links = (names) => names.slice(0, 24).map((n, k) => h("span", { key: n }, k ? ", " : "", entityLink(ctx, n)));
	const more = (names) => (names.length > 24 ? " and " + (names.length - 24) + " more" : "");
	const groups = [["Culprit", of("culprit")], ["Suspect", of("suspect")], ["Direct victims", of("direct_victim")], ["Indirect victims", of("indirect_victim")]];
	return facts(groups.map(([name, names]) => [name, names.length ? [links(names), more(names)] : null]));
}

const EVIDENCE = (ctx) => [
	{ head: "Measured", cell: (e) => e.metric },
	{ head: "Where", cell: (e) => [portLink(ctx, e.device, e.port), e.priority === null || e.priority === undefined ? "" : " p" + e.priority] },
	{ head: "Value", num: true, cell: (e) => format.value(e.value, e.unit) },
	{ head: "Quality", cell: (e) => e.quality || format.UNKNOWN },
	{ head: "From", drop: true, cell: (e) => time(e.from) },
	{ head: "To", drop: true, cell: (e) => time(e.to, format.clock) },
];

const LOSS = [
	{ head: "Job", cell: (l) => l.job },
	{ head: "Moves less", num: true, cell: (l) => format.ratio(l.loss_ratio) },
	{ head: "Before", num: true, cell: (l) => format.scaled(l.octets_per_s_before, "B/s") },
	{ head: "Now", num: true, cell: (l) => format.scaled(l.octets_per_s, "B/s") },
	{ head: "Step before", num: true, drop: true, cell: (l) => format.duration(l.step_before_s) },
	{ head: "Step now", num: true, drop: true, cell: (l) => format.duration(l.step_s) },
	{ head: "Due to this", num: true, cell: (l) => format.ratio(l.share_ratio) },
];

function links(ctx, i) {
	const s = i.subject || {};
	const rows = [];
	if (/pause|pfc|receiver|dcqcn|ecn|incast|deadlock|storage/.test(i.cause || ""))
		rows.push(["tree", "Pause tree of this incident", ctx.link("tree", [], { incident: i.id })]);
	if (/ecmp|asymmetry|capacity|route|rail/.test(i.cause || ""))
		rows.push(["ecmp", "ECMP heat map", ctx.link("ecmp", [], s.device ? { leaf: s.device } : {})]);
	if (s.device && s.port)
		rows.push(["port", "Port " + s.device + " " + s.port, ctx.link("port", [s.device, s.port])]);
	else if (s.device)
		rows.push(["device", "Switch " + s.device, ctx.link("device", [s.device])]);
	if (i.cause) // the site's own page, else the one that is served beside this one
		rows.push(["runbook", "Runbook", /^https?:\/\//.test(i.runbook || "") ? i.runbook : "runbooks/" + encodeURIComponent(i.cause)]);
	if (i.opened && !ctx.past)
		rows.push(["then", "The wall when it opened", ctx.link("overview", [], { around: i.opened })]);
	return h("p", { class: "links" }, rows.map(([key, text, href]) => h("a", { key, href, class: "button" }, text)));
}

/* What must be seen first: who, how bad, what to do, why, and what could not be proved. */
function story(ctx, i) {
	const s = subject(i);
	const lines = [["finding", i.headline !== i.summary ? i.headline : null], ["summary", i.summary]].filter(([, text]) => text);
	const why = texts((i.reasons_for || []).length ? i.reasons_for : i.confidence_inputs);
	const against = texts(i.reasons_against), not = texts(i.not_proved);
	return panel("The story", { class: "story" }, head(i),
		lines.map(([key, text]) => h("p", { key, class: key === "finding" || lines.length === 1 ? "finding" : null }, text)),
		facts([["Culprit", [s.host ? h("strong", {}, hostLink(ctx, s.host)) : null, s.host && s.port ? " at " : "",
			s.port ? portLink(ctx, i.subject.device, i.subject.port) : s.host ? "" : "no single place",
			i.subject && i.subject.priority !== null && i.subject.priority !== undefined ? " priority " + i.subject.priority : ""]],
			["Jobs", (i.jobs || []).length ? i.jobs.join(", ") + (i.gpus_affected ? ", " + format.plural(i.gpus_affected, "GPU") : "") : null],
			["Owner", i.assigned_to || i.acked_by ? (i.assigned_to || i.acked_by) + (i.ack_note ? ": " + i.ack_note : "") : "nobody yet"],
			["Silenced", i.silenced], ["Part of", i.parent ? incidentLink(ctx, i.parent) : null]]),
		links(ctx, i),
		h("h3", {}, "Do now"), doNow(i),
		h("div", { class: "columns" },
			h("div", {}, h("h3", {}, "Why"), list(why, "No reason is recorded.")),
			against.length ? h("div", {}, h("h3", {}, "Lowers confidence"), list(against, "")) : null,
			h("div", {}, h("h3", {}, "Ruled out"), list(texts(i.ruled_out), "Nothing was ruled out.")),
			h("div", {}, h("h3", {}, "Not proved"), list(not, "No open point is recorded."))));
}

/* What can be done to an incident here, in the name of the token: [do, button, what the text is, is it needed]. */
const ACTS = [["ack", "Acknowledge", "note", false], ["note", "Note", "note", true], ["assign", "Assign", "person or team", true], ["silence", "Silence for 2 h", "why", true]];

/* A silence is for the place and the cause of this incident, not for all that may come. */
function silenceOf(i) {
	const s = i.subject || {};
	return { device: s.device, port: s.port, host: s.device ? null : s.host, cause: i.cause, for: "2h" };
}

async function doIt(ctx, i, name, needs) {
	const text = document.getElementById("work-text").value.trim();
	const { local } = ctx;
	local.said = null;
	local.wrong = needs && !text ? "Type the " + ACTS.find((a) => a[0] === name)[2] + " first." : null;
	if (!local.wrong)
		try {
			await act({ do: name, text, ...(name === "silence" ? silenceOf(i) : { id: i.id }) });
			local.said = "Done.";
			document.getElementById("work-text").value = "";
			await ctx.reload();
		} catch (e) {
			local.wrong = "Not done: " + e.message;
		}
	ctx.redraw();
}

function work(ctx, i) {
	const { may } = ctx.data;
	if (ctx.past)
		return null;
	if (!may.who)
		return panel("Work", { class: "work" }, quiet("Only to read here. A token whose line ends with may:ack may act; or on the command line:"), copy("rocewatch incident ack " + i.id, "the command to acknowledge"));
	return panel("Work", { class: "work", beside: "as " + may.who },
		h("div", { class: "controls" }, h("label", { for: "work-text" }, "Text"), h("input", { id: "work-text", type: "text", maxlength: 500, autocomplete: "off" }),
			ACTS.map(([name, label, , needs]) => h("button", { key: name, type: "button", on: { click: () => doIt(ctx, i, name, needs) } }, label))),
		ctx.local.wrong ? h("p", { key: "wrong", class: "error", role: "alert" }, ctx.local.wrong) : null,
		ctx.local.said ? h("p", { key: "said", role: "status" }, ctx.local.said) : null);
}

function timeline(ctx, rows) {
	return panel("Timeline", { class: "timeline" },
		rows.length ? h("ol", { class: "timeline" }, rows.map((r, k) => h("li", { key: r.t + k },
			time(r.t), " ", r.kind ? h("strong", {}, format.words(r.kind) + " ") : null, r.text || "",
			r.who ? h("span", { class: "quiet" }, " by " + r.who) : null)))
			: quiet("Nothing is recorded."));
}

function changed(i) {
	const rows = texts(i.changed_before);
	return rows.length ? [h("h3", { key: "h" }, "Changed shortly before"), h("ul", { key: "l", class: "plain" }, rows.map((t, k) => h("li", { key: k }, t)))] : null;
}

export const incident = {
	title: (ctx) => "Incident " + (ctx.here.args[0] || ""),
	every: 5000,
	load: async (ctx) => {
		const id = ctx.here.args[0];
		const [show, timeline, may] = await Promise.all([ctx.get("incident/show", { id }), ctx.get("incident/timeline", { id }),
			ctx.data ? ctx.data.may : actor()]);
		return { show: show.incident || show, timeline: timeline.timeline || [], may };
	},
	draw: (ctx) => {
		const i = ctx.data.show;
		const loss = i.loss || [];
		return h("div", { key: i.id, class: "card" }, story(ctx, i), work(ctx, i), timeline(ctx, ctx.data.timeline),
			panel("Impact", {}, loss.length ? table("Loss per job", LOSS, loss, (l) => l.job) : quiet("No loss was measured."),
				i.explained_ratio === null || i.explained_ratio === undefined ? null
					: quiet("This incident accounts for " + format.ratio(i.explained_ratio) + " of the measured slowdown.")),
			panel("Who is affected", {}, worldOf(ctx, i)),
			panel("Evidence", { class: "evidence" }, changed(i),
				(i.evidence || []).length ? table("Evidence", EVIDENCE(ctx), i.evidence, (e, k) => e.metric + k) : quiet("No evidence is recorded."),
				facts([["Onset", time(i.first)], ["Opened", time(i.opened)], ["Closed", i.closed ? time(i.closed) : "still open"],
					["Windows", format.count(i.windows)], ["Samples present", format.ratio(i.coverage_ratio)]]),
				copy("rocewatch incident export " + i.id + " --out DIR", "the export command")));
	},
};
