/* widgets - the parts that several pages share. Each returns a description for render(). */
import { h } from "./dom.js";
import * as format from "./format.js";
import { STATES, known } from "./state.js";

/* mark - a state as sign and word. @word replaces the word: mark("critical", "DOWN"). */
export function mark(state, word) {
	const name = known(state);
	return h("span", { class: "mark " + name },
		h("span", { class: "sign", "aria-hidden": "true" }, STATES[name].sign),
		h("span", {}, word || STATES[name].word));
}

/* time - a time in UTC; the reader's own time is in the tool tip. */
export function time(t, show = format.moment) {
	if (Number.isNaN(format.parseTime(t)))
		return h("span", { class: "quiet" }, format.UNKNOWN);
	const iso = new Date(format.parseTime(t)).toISOString();
	return h("time", { datetime: iso, title: format.localTime(t) }, show(t));
}

export function panel(title, props, ...body) {
	const id = "panel-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
	return h("section", { key: id, ...props, class: "panel " + ((props && props.class) || ""),
		"aria-labelledby": id },
		h("h2", { id }, title, props && props.beside ? h("span", { class: "beside" }, props.beside) : null),
		...body);
}

export function quiet(...text) {
	return h("p", { class: "quiet" }, ...text);
}

/* What a row of pause is to the others. */
export const ROLES = { origin: "ORIGIN", passes: "passes it on", victim: "victim", unknown: "role unknown" };

/* "unknown" is said once, not in each row: what nobody knows. */
function notKnown(names) {
	return names.length ? h("p", { key: "not-known", class: "quiet" }, "Not known here: " + names.join(", ") + ".") : null;
}

/*
 * table - @columns: [{head, cell(row), num, wide}]; a wide column may wrap, a narrow screen drops those
 * with "drop"; one that no row knows is named below. @keyOf makes the identity of a row.
 */
export function table(caption, all, rows, keyOf, props) {
	const unknown = rows.length ? all.filter((c, k) => k && rows.every((row) => c.cell(row) === format.UNKNOWN)) : [];
	const columns = all.filter((c) => !unknown.includes(c));
	/* The roles are those of the elements; a browser forgets them where the style lays a table out anew. */
	const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map((c) =>
		h("th", { scope: "col", role: "columnheader", class: cellClass(c) }, c.head))));
	const body = h("tbody", { role: "rowgroup" }, rows.map((row, i) =>
		h("tr", { key: keyOf ? keyOf(row, i) : i, role: "row", class: props && props.rowClass ? props.rowClass(row) : null },
			columns.map((c, k) => cell(c, k, row)))));
	return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
		h("table", { role: "table", class: (props && props.class) || null },
			h("caption", { class: "hidden" }, caption), head, body),
		notKnown(unknown.map((c) => c.head)));
}

function cellClass(c) {
	return [c.num ? "num" : "", c.wide ? "wide" : "", c.drop ? "drop" : ""].join(" ").trim() || null;
}

function cell(c, k, row) {
	const content = c.cell(row);
	if (k === 0)
		return h("th", { scope: "row", role: "rowheader", class: cellClass(c) }, content);
	return h("td", { role: "cell", class: cellClass(c) }, content);
}

/* bar - a share of one, drawn. The number stands beside it, so it is hidden from screen readers. */
export function bar(share, state, low) {
	const width = (v) => "scaleX(" + Math.max(0, Math.min(1, v || 0)) + ")"; /* moves without a new layout */
	const bound = low !== undefined && low !== null && low !== share;
	return h("span", { class: "bar " + (state || "") + (bound ? " bound" : ""), "aria-hidden": "true" },
		h("span", { class: "fill", style: { transform: width(share) } }),
		bound ? h("span", { class: "fill sure", style: { transform: width(low) } }) : null);
}

/* copy - a command line with a button that copies it. */
export function copy(text, label) {
	return h("div", { class: "command" },
		h("code", {}, text),
		h("button", { type: "button", class: "small", "aria-label": "Copy " + (label || "the command"),
			on: { click: (e) => copyText(text, e.currentTarget) } }, "Copy"));
}

async function copyText(text, button) {
	let said = "Copied";
	try {
		await navigator.clipboard.writeText(text);
	} catch (e) {
		said = copyOldWay(text) ? "Copied" : "Select and copy by hand";
	}
	button.textContent = said;
	setTimeout(() => {
		button.textContent = "Copy";
	}, 1500);
}

/* The clipboard of a page that came by plain HTTP: through a selected text field. */
function copyOldWay(text) {
	const field = document.createElement("textarea");
	field.value = text;
	document.body.appendChild(field);
	field.select();
	const done = document.execCommand("copy");
	field.remove();
	return done;
}

export function portLink(ctx, device, port) {
	if (!device)
		return h("span", { class: "quiet" }, "-");
	if (!port)
		return h("a", { href: ctx.link("device", [device]) }, device);
	return h("a", { href: ctx.link("port", [device, port]) }, device + " " + port);
}

export function isSwitch(ctx, name) {
	return ((ctx.frame && ctx.frame.devices) || []).some((d) => d.name === name);
}

export function hostLink(ctx, name) {
	return h("a", { href: ctx.link("host", [name]) }, name);
}

const SWITCHES = [["down", "critical"], ["unknown", "unknown"], ["up", "ok"]];
const TILES = 64; /* more that are up are folded: nobody looks for one among them */

/* switches - by state with counts, those that need somebody first. */
export function switches(ctx, rows) {
	const of = (status) => rows.filter((d) => (SWITCHES.some(([name]) => name === d.status) ? d.status : "unknown") === status);
	return h("div", {}, SWITCHES.map(([status, state]) => [status, state, of(status)]).filter(([, , some]) => some.length).map(([status, state, some]) => {
		const head = [mark(state, format.count(some.length) + " " + status)];
		const tiles = () => h("ul", { class: "tiles" }, some.map((d) => h("li", { key: d.name, class: state },
			h("a", { href: ctx.link("device", [d.name]), title: d.reason || null }, d.name))));
		return status === "up" && some.length > TILES ? h("details", { key: status, class: "switches", on: { toggle: (e) => {
			ctx.local.tiles = e.target.open;
			ctx.redraw();
		} } }, h("summary", {}, head), ctx.local.tiles ? tiles() : null)
			: h("div", { key: status, class: "switches" }, h("p", {}, head), tiles());
	}));
}

/* entityLink - what a document calls "leaf1", "leaf1:Ethernet1", "node-010" or "host:node-010"; another kind is told, and leads nowhere. */
export function entityLink(ctx, name) {
	const text = String(name);
	const at = text.indexOf(":");
	if (at > 0 && !["host", "switch", "unknown"].includes(text.slice(0, at)))
		return portLink(ctx, text.slice(0, at), text.slice(at + 1));
	if (text.startsWith("host:"))
		return hostLink(ctx, text.slice(5));
	if (isSwitch(ctx, text))
		return portLink(ctx, text, null);
	return text !== format.UNKNOWN && /^[\w.-]+$/.test(text) ? hostLink(ctx, text) : h("span", {}, text);
}

export function incidentLink(ctx, id) {
	if (!id)
		return null;
	return h("a", { href: ctx.link("incident", [id]), class: "id" }, id);
}

export function confidence(v) {
	if (v === null || v === undefined)
		return h("span", { class: "quiet" }, "confidence unknown");
	const word = v >= 0.8 ? "high" : v >= 0.5 ? "medium" : "low";
	return h("span", { title: format.ratio(v) }, "confidence " + word + " (" + format.ratio(v) + ")");
}

/* A definition list from [[name, content], ...]; pairs without content are left out, several that nobody knows are named below. */
export function facts(pairs) {
	const some = pairs.filter((p) => p && p[1] !== null && p[1] !== undefined && p[1] !== "");
	const unknown = some.filter((p) => p[1] === format.UNKNOWN);
	const shown = unknown.length > 2 ? some.filter((p) => !unknown.includes(p)) : some;
	return [h("dl", { key: "facts", class: "facts" }, shown.map(([name, content]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, content)))),
		unknown.length > 2 ? notKnown(unknown.map(([name]) => name)) : null];
}

/* choice - a row of buttons of which one is pressed. */
export function choice(label, options, chosen, choose) {
	return h("div", { class: "choice", role: "group", "aria-label": label },
		options.map(([id, text]) => h("button", { key: id, type: "button", "aria-pressed": String(id === chosen),
			on: { click: () => choose(id) } }, text)));
}
