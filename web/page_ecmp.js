/*
 * page_ecmp - load of each leaf towards each spine, over the whole range or window by window with the
 * scrubber. A cell shows its group: imbalance beside what chance alone gives, and the verdict.
 */
import { h } from "./dom.js";
import * as format from "./format.js";
import { known, matches } from "./state.js";
import { rangeChoice, times } from "./trend.js";
import { facts, mark, panel, portLink, quiet, table, time } from "./widgets.js";

const RANGE = "15m"; /* where the address names none */
const PLAY_MS = 500;
const FRAMES = 96; /* windows of a range that can be looked at one by one */

/* The scale of cividis (Nunez et al., 2018): even in lightness, the same for colour-blind readers. */
const SCALE = [[0, 32, 77], [66, 78, 108], [124, 123, 120], [187, 175, 113], [255, 234, 70]];

export function shade(v, top = 1) {
	if (v === null || v === undefined)
		return null;
	const at = Math.max(0, Math.min(1, v / top)) * (SCALE.length - 1);
	const i = Math.min(SCALE.length - 2, Math.floor(at));
	const mix = SCALE[i].map((c, k) => Math.round(c + (SCALE[i + 1][k] - c) * (at - i)));
	return "rgb(" + mix.join(",") + ")";
}

/* The load with the lightest colour: a round value that no cell of the range exceeds. */
export function topOf(whole, history) {
	let most = 0;
	for (const row of whole.rows || [])
		for (const c of row.cells)
			most = Math.max(most, c.utilization_ratio || 0);
	for (const frame of history.frames)
		for (const cells of frame.cells)
			for (const v of cells)
				most = Math.max(most, v || 0);
	return [0.05, 0.1, 0.2, 0.3, 0.5].find((t) => t >= most) || 1;
}

const VERDICTS = { even: ["ok", "EVEN"], skewed: ["critical", "SKEWED"], idle: ["idle", "IDLE"] };

function verdict(row) {
	if (row.windows === 0 && row.windows_idle)
		return mark("idle", "IDLE");
	const [state, word] = VERDICTS[row.verdict] || [known(row.verdict || "unknown"), format.words(row.verdict).toUpperCase()];
	return mark(/chance/.test(row.verdict || "") ? "ok" : state, word);
}

/* --- the time range --- */

/*
 * The matrix of the window that the scrubber stands at, in the shape of the whole one. What a window
 * does not tell (flows, chance, speeds) is known for the whole range.
 */
function windowDoc(ctx) {
	const { at, docs } = ctx.local;
	if (at === null || at === undefined)
		return ctx.data.whole;
	const { history, whole } = ctx.data;
	const frame = history.frames[at];
	if (!frame)
		return whole;
	if (!docs.has(frame))
		docs.set(frame, framed(history, frame, whole));
	return docs.get(frame);
}

function hottest(cells) {
	return Math.max(...cells.filter((v) => v !== null));
}

function framed(history, frame, whole) {
	const rows = history.rows.map((r, i) => {
		const known = whole.rows.find((w) => w.device === r.device && w.group === r.group) || {};
		const over = frame.imbalance_ratio[i] > history.warn_ratio, most = hottest(frame.cells[i]);
		return { ...known, ...r, imbalance_ratio: null, link_imbalance_ratio: frame.imbalance_ratio[i], verdict: frame.verdict[i], windows: 1, windows_idle: 0,
			cells: history.peers.map((peer, k) => ({ ...((known.cells || []).find((c) => c.peer === peer) || {}), rate_bps: null, peer,
				utilization_ratio: frame.cells[i][k], hot: over && frame.cells[i][k] === most })) };
	});
	return { ...whole, peers: history.peers, rows };
}

/* --- the scrubber --- */

function moveTo(ctx, at) {
	const last = ctx.data.history.frames.length - 1;
	ctx.local.at = at === null || last < 0 ? null : Math.max(0, Math.min(last, at));
	ctx.redraw();
}

function play(ctx) {
	const local = ctx.local;
	if (local.timer) {
		clearInterval(local.timer);
		local.timer = null;
		ctx.redraw();
		return;
	}
	const last = ctx.data.history.frames.length - 1;
	if (local.at === null || local.at === undefined || local.at >= last)
		moveTo(ctx, 0);
	local.timer = setInterval(() => {
		if (local.gone || local.at >= last)
			return play(ctx);
		return moveTo(ctx, local.at + 1);
	}, PLAY_MS);
	ctx.redraw();
}

/* The worst imbalance of a window; null when all groups are idle or unknown: crumbs are always uneven. */
export function worst(frame) {
	const seen = frame.imbalance_ratio.filter((v, i) => v !== null && !["idle", "unknown"].includes(frame.verdict[i]));
	return seen.length ? Math.max(...seen) : null;
}

/* The window under the pointer, as long as it is down. */
function drag(ctx, e, n) {
	if (!(e.buttons & 1))
		return;
	const box = e.currentTarget || e.target.closest("svg");
	if (e.type === "pointerdown" && box.setPointerCapture)
		box.setPointerCapture(e.pointerId);
	const { left, width } = box.getBoundingClientRect();
	moveTo(ctx, Math.floor((e.clientX - left) / width * n));
	e.preventDefault();
}

/* Begin, quarters and end of the range, below the bars. */
function axis(frames) {
	const at = [0, 0.25, 0.5, 0.75, 1].map((share) => frames[Math.round(share * (frames.length - 1))].time);
	return h("p", { class: "axis", "aria-hidden": "true" }, at.map((t, i) => h("span", { key: i }, i ? format.clock(t) : format.moment(t))));
}

function strip(ctx) {
	const { frames } = ctx.data.history;
	const warn = ctx.data.history.warn_ratio || 0.2;
	const values = frames.map(worst);
	const top = Math.max(warn * 1.5, ...values.filter((v) => v !== null));
	const width = 100 / Math.max(1, frames.length);
	return h("svg", { class: "history", viewBox: "0 0 100 24", preserveAspectRatio: "none", role: "img",
		"aria-label": "Worst imbalance in each window", on: { pointerdown: (e) => drag(ctx, e, frames.length), pointermove: (e) => drag(ctx, e, frames.length) } },
		values.map((v, i) => h("rect", { key: frames[i].time, x: i * width + width * 0.1, width: width * 0.8,
			y: v === null ? 22 : 24 - Math.max(1, v / top * 24), height: v === null ? 2 : Math.max(1, v / top * 24),
			class: (v === null ? "unseen" : v > warn ? "over" : "even") + (i === ctx.local.at ? " here" : "") },
			h("title", {}, format.moment(frames[i].time) + ": " + (v === null ? "idle or unknown" : "imbalance " + format.ratio(v))))),
		h("line", { x1: 0, x2: 100, y1: 24 - warn / top * 24, y2: 24 - warn / top * 24, class: "limit" }));
}

function scrubber(ctx) {
	const { frames, window_s } = ctx.data.history;
	const { at } = ctx.local;
	const whole = at === null || at === undefined || !frames[at];
	const ends = whole ? null : format.parseTime(frames[at].time) / 1000;
	const text = whole ? "the whole range, mean of busy windows" : format.moment(ends - window_s) + " to " + format.clock(ends);
	if (!frames.length)
		return quiet("No window in this time.");
	return h("div", { key: "scrubber", class: "scrubber" },
		strip(ctx), axis(frames),
		h("input", { id: "scrubber", type: "range", min: 0, max: frames.length - 1, step: 1,
			value: String(whole ? frames.length - 1 : at), "aria-label": "Window", "aria-valuetext": text,
			on: { input: (e) => moveTo(ctx, Number(e.target.value)) } }),
		h("div", { class: "controls" },
			h("button", { type: "button", "aria-pressed": String(Boolean(ctx.local.timer)), on: { click: () => play(ctx) } }, ctx.local.timer ? "■ Stop" : "▶ Play"),
			h("button", { type: "button", "aria-pressed": String(whole), on: { click: () => moveTo(ctx, null) } }, "Whole range"),
			h("span", { id: "window" }, text)));
}

/* --- the matrix --- */

const CELL_W = 64, CELL_H = 34, LABEL_W = 110, HEAD_FLAT = 40, HEAD_TURNED = 84;
const LETTER_W = 7.2, NAME_MOST = 13; /* of the names above the columns */

function sizes(n) {
	if (n <= 8)
		return { w: 92, h: 50 };
	if (n <= 16)
		return { w: CELL_W, h: CELL_H };
	if (n <= 32)
		return { w: 38, h: 22 };
	return { w: 18, h: 14 };
}

function cellText(c) {
	return c.utilization_ratio === null || c.utilization_ratio === undefined ? "?" : format.count(c.utilization_ratio * 100, 0);
}

/* Imbalance over the single links of a leaf: this is what limit and chance are for. */
function linksOf(row) {
	return row.link_imbalance_ratio === undefined ? row.imbalance_ratio : row.link_imbalance_ratio;
}

function imbalanceText(v) {
	return v === null || v === undefined ? "-" : format.ratio(Math.max(0, v));
}

function cellName(row, c) {
	return row.device + " to " + c.peer + ": " + format.ratio(c.utilization_ratio) + (c.hot ? ", hot" : "");
}

function choose(ctx, row, c) {
	ctx.local.cell = [row.device, c.peer];
	ctx.redraw();
	loadGroup(ctx);
}

function chosen(ctx, doc) {
	const cell = ctx.local.cell;
	if (!cell)
		return null;
	const row = doc.rows.find((r) => r.device === cell[0]);
	const c = row && row.cells.find((x) => x.peer === cell[1]);
	return c ? { row, c } : null;
}

/* Arrow keys move the focus in the grid; only one cell is in the tab order. */
function moveCell(ctx, rows, e) {
	const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
	if (!step)
		return;
	e.preventDefault();
	e.stopPropagation();
	const at = e.currentTarget.querySelector("[data-cell]:focus");
	if (!at)
		return;
	const [r, k] = at.dataset.cell.split(",").map(Number);
	const next = e.currentTarget.querySelector('[data-cell="' + (r + step[0]) + "," + (k + step[1]) + '"]');
	if (next) {
		at.setAttribute("tabindex", "-1");
		next.setAttribute("tabindex", "0");
		next.focus();
	}
}

/* The same description as long as nothing of it changes: a frame then costs nothing here. */
function matrix(ctx, doc) {
	const made = ctx.local.matrix;
	if (made && made.doc === doc && made.filter === ctx.filter && made.cell === ctx.local.cell)
		return made.drawn;
	ctx.local.matrix = { doc, filter: ctx.filter, cell: ctx.local.cell, drawn: matrixDrawn(ctx, doc) };
	return ctx.local.matrix.drawn;
}

const ROWS = 64; /* leaves drawn at once: more than anybody compares, and 15,000 cells are slow to draw */

/* The most uneven ones, and the one that was chosen, in the order of the fabric. */
function shownRows(ctx, rows) {
	const picked = (ctx.local.cell || [])[0];
	const order = [...rows].sort((a, b) => (b.device === picked) - (a.device === picked) || (linksOf(b) || 0) - (linksOf(a) || 0));
	const chosen = new Set(order.slice(0, ROWS));
	return rows.filter((r) => chosen.has(r));
}

function matrixDrawn(ctx, doc) {
	const found = (doc.rows || []).filter((r) => matches([r.device, r.cells], ctx.filter)), rows = shownRows(ctx, found);
	const peers = doc.peers || [];
	const size = sizes(Math.max(peers.length, rows.length));
	const longest = Math.max(0, ...peers.map((p) => p.length));
	const turned = longest * LETTER_W > size.w; /* names that differ in their last letter must not be cut there */
	const HEAD_H = turned ? HEAD_TURNED : HEAD_FLAT;
	const width = LABEL_W + peers.length * size.w + 150, height = HEAD_H + rows.length * size.h + 4;
	const picked = ctx.local.cell || [];
	const text = size.w >= 30;
	const head = peers.map((p, k) => {
		const x = LABEL_W + k * size.w + size.w / 2 + (turned ? 4 : 0), y = HEAD_H - 10;
		return h("text", { key: "h" + p, class: "label", x, y, "text-anchor": turned ? "start" : "middle", transform: turned ? "rotate(-70 " + x + " " + y + ")" : null },
			p.length > NAME_MOST ? "…" + p.slice(1 - NAME_MOST) : p, h("title", {}, p));
	});
	const body = rows.map((row, r) => h("g", { key: row.device + row.group, role: "row" },
		h("text", { class: "label", x: LABEL_W - 8, y: HEAD_H + r * size.h + size.h / 2 + 4, "text-anchor": "end" }, row.device.slice(0, 14), h("title", {}, row.device)),
		row.cells.map((c, k) => {
			const empty = c.utilization_ratio === null || c.utilization_ratio === undefined;
			return h("g", { key: c.peer, role: "gridcell", class: "cell" + (c.hot ? " hot" : "") + (empty ? " empty" : "") +
					(picked[0] === row.device && picked[1] === c.peer ? " picked" : ""),
				tabindex: ctx.local.cell ? (picked[0] === row.device && picked[1] === c.peer ? "0" : "-1") : r === 0 && k === 0 ? "0" : "-1",
				"data-cell": r + "," + k, "aria-label": cellName(row, c), on: { click: () => choose(ctx, row, c) } },
				h("rect", { x: LABEL_W + k * size.w + 1, y: HEAD_H + r * size.h + 1, width: size.w - 2, height: size.h - 2, fill: shade(c.utilization_ratio, ctx.data.top) }),
				text ? h("text", { x: LABEL_W + k * size.w + size.w / 2, y: HEAD_H + r * size.h + size.h / 2 + 4, "text-anchor": "middle",
					class: (c.utilization_ratio || 0) > 0.48 * ctx.data.top ? "dark" : "light" }, (c.hot ? "▲ " : "") + cellText(c)) : null,
				h("title", {}, cellName(row, c)));
		}),
		h("text", { class: "imbalance", x: LABEL_W + peers.length * size.w + 8, y: HEAD_H + r * size.h + size.h / 2 + 4 }, imbalanceText(row.imbalance_ratio)),
		h("text", { class: "imbalance" + (linksOf(row) > (doc.warn_ratio || 0.2) ? " over" : ""), x: LABEL_W + peers.length * size.w + 78,
			y: HEAD_H + r * size.h + size.h / 2 + 4 }, imbalanceText(linksOf(row)))));
	return h("div", { class: "scroll" }, rows.length < found.length ? quiet(rows.length + " of " + format.count(found.length) + " leaves, the most uneven; the filter finds the others.") : null,
		h("svg", { id: "heatmap", class: "heatmap", viewBox: "0 0 " + width + " " + height, width, height, role: "grid",
		"aria-label": "Load of each leaf towards each spine, percent of line rate; arrow keys move, Enter opens", "aria-rowcount": rows.length, "aria-colcount": peers.length,
		on: { keydown: (e) => {
			moveCell(ctx, rows, e);
			if (e.key === "Enter" && e.target.dataset.cell) {
				const [r, k] = e.target.dataset.cell.split(",").map(Number);
				choose(ctx, rows[r], rows[r].cells[k]);
			}
		} } },
		h("text", { key: "corner", class: "label", x: LABEL_W + peers.length * size.w + 8, y: HEAD_H - 26 }, "max/mean-1 of"),
		h("text", { key: "spines", class: "label", x: LABEL_W + peers.length * size.w + 8, y: HEAD_H - 10 }, "spines"),
		h("text", { key: "links", class: "label", x: LABEL_W + peers.length * size.w + 78, y: HEAD_H - 10 }, "links"), head, body));
}

function legend(top) {
	return h("p", { class: "legend" }, h("span", {}, "0 %"), h("svg", { viewBox: "0 0 100 10", width: 160, height: 12, "aria-hidden": "true", preserveAspectRatio: "none" },
		Array.from({ length: 25 }, (x, i) => h("rect", { key: i, x: i * 4, y: 0, width: 4.2, height: 10, fill: shade(i / 24) }))),
	h("span", {}, format.ratio(top) + " of line rate"), h("span", {}, "▲ hottest of a group above its limit"), h("span", {}, "? unknown"));
}

function asTable(doc) {
	const columns = [{ head: "Leaf", cell: (r) => r.device },
		...doc.peers.map((p) => ({ head: p, num: true, cell: (r) => {
			const c = r.cells.find((x) => x.peer === p);
			return c ? format.ratio(c.utilization_ratio) : "-";
		} })),
		{ head: "Of the spines", num: true, cell: (r) => imbalanceText(r.imbalance_ratio) }, { head: "Of the links", num: true, cell: (r) => imbalanceText(linksOf(r)) }, { head: "Verdict", cell: verdict }];
	return table("Load of each leaf towards each spine", columns, doc.rows, (r) => r.device + r.group);
}

/* --- the detail of a cell --- */

async function loadGroup(ctx) {
	const [leaf, spine] = ctx.local.cell;
	const local = ctx.local;
	local.group = null;
	local.groupError = null;
	try {
		const doc = await ctx.get("ecmp/groups", { device: leaf, since: ctx.data.whole.from, until: ctx.data.whole.to });
		if (local.cell[0] === leaf && local.cell[1] === spine)
			local.group = { uplinks: doc.groups.find((g) => g.group === "uplinks"), bundle: doc.groups.find((g) => g.group === "to:" + spine) };
	} catch (e) {
		local.groupError = e.message;
	}
	ctx.redraw();
}

/* Where the imbalance lies against what chance gives: mean to p95 is the band. */
function band(row) {
	const value = linksOf(row);
	const chance = row.expected_by_chance_ratio, p95 = row.expected_p95_ratio;
	if (value === null || value === undefined)
		return quiet("Idle: no imbalance in this time.");
	if (chance === null || chance === undefined)
		return quiet("Imbalance of the links " + format.ratio(Math.max(0, value)) + ". Chance unknown: " + (row.flows_note || "no packets were captured") + ".");
	const top = Math.max(value, p95 || chance, 0.2) * 1.15;
	const x = (v) => 300 * Math.max(0, v) / top;
	const text = "Imbalance of the links " + format.ratio(value) + "; chance alone gives " + format.ratio(chance) + " on average, " + format.ratio(p95) + " in one of 20 windows";
	return h("div", {}, h("svg", { class: "band", viewBox: "0 0 300 34", width: 300, height: 34, role: "img", "aria-label": text },
		h("rect", { class: "axis", x: 0, y: 14, width: 300, height: 4 }),
		h("rect", { class: "chance", x: x(chance), y: 8, width: Math.max(2, x(p95 || chance) - x(chance)), height: 16 }),
		h("path", { class: "actual", d: "M" + x(value) + " 4 L" + (x(value) + 6) + " 30 L" + (x(value) - 6) + " 30 Z" })), h("p", {}, text + "."));
}

const MEMBERS = (ctx, device) => [
	{ head: "Member", cell: (m) => portLink(ctx, device, m.port) },
	{ head: "To", cell: (m) => m.peer || format.UNKNOWN },
	{ head: "Load", num: true, cell: (m) => format.ratio(m.utilization_ratio) },
	{ head: "Rate", num: true, cell: (m) => format.bitrate(m.rate_bps) },
	{ head: "Hottest in", num: true, drop: true, cell: (m) => format.plural(m.windows_hot || 0, "window") },
	{ head: "Link", cell: (m) => mark(m.link === "up" ? "ok" : m.link === "down" ? "critical" : "unknown", (m.link || "unknown").toUpperCase()) },
];

function groupDetail(ctx, title, g, device) {
	if (!g)
		return null;
	return [h("h3", { key: title }, title, " ", verdict(g)),
		h("p", { key: title + "w" }, g.worst_ratio ? "Worst window " + format.ratio(g.worst_ratio) + " at " + format.moment(g.worst_at) + ". " : "",
			format.count(g.windows_over) + " of " + format.plural(g.windows, "busy window") + " above the limit. ",
			g.persistent_member ? g.persistent_member + " is the hottest in " + format.ratio(g.persistent_ratio) + " of them." : ""),
		h("div", { key: title + "t" }, table("Members of " + title, MEMBERS(ctx, device), g.members || [], (m) => m.port))];
}

function detail(ctx, doc) {
	const pick = chosen(ctx, doc);
	if (!pick)
		return panel("Cell", { class: "detail" }, quiet("Choose a cell: click, or Tab to the matrix, arrow keys, Enter."));
	const { row, c } = pick;
	const group = ctx.local.group;
	return panel(row.device + " to " + c.peer, { class: "detail", key: "detail" },
		facts([["Load", format.ratio(c.utilization_ratio)], ["Rate", c.rate_bps === null ? null : format.bitrate(c.rate_bps) + " of " + format.bitrate(c.speed_bps)],
			["Links", format.count(c.links)], ["Leaf's verdict", verdict(row)], ["Effective flows", row.flows_estimate === null ? "unknown: no packets captured" : format.count(row.flows_estimate, 1)],
			["Windows", doc !== ctx.data.whole ? null : format.count(row.windows) + " busy, " + format.count(row.windows_idle) + " idle, " + format.count(row.windows_unknown) + " unknown"],
			["Above the limit since", row.over_since ? time(row.over_since) : null]]),
		band({ ...row, flows_note: group && group.uplinks ? group.uplinks.flows_note : null }),
		ctx.local.groupError ? h("p", { class: "error" }, ctx.local.groupError) : null,
		group ? [groupDetail(ctx, "Links to " + c.peer, group.bundle, row.device), groupDetail(ctx, "All uplinks of " + row.device, group.uplinks, row.device)]
			: quiet("Loading the members ..."),
		h("p", { class: "links" }, incidentOf(ctx, row.device)));
}

function incidentOf(ctx, device) {
	const rows = ((ctx.frame && ctx.frame.incidents) || []).filter((i) => i.device === device && /ecmp|asymmetry|capacity|route/.test(i.cause));
	return rows.map((i) => h("a", { key: i.id, class: "button", href: ctx.link("incident", [i.id]) }, "Incident " + i.id + ": " + format.words(i.cause)));
}

export const ecmp = {
	title: () => "ECMP load, leaf to spine",
	every: 15000,
	load: async (ctx, signal) => {
		const time = times(ctx, RANGE);
		const [whole, history] = await Promise.all([ctx.get("ecmp/heatmap", time, signal), ctx.get("ecmp/history", { ...time, frames: FRAMES }, signal)]);
		const local = ctx.local;
		/* the scrubber keeps its place in time when the range moves on */
		const was = ctx.data && local.at !== null && local.at !== undefined ? ctx.data.history.frames[local.at] : null;
		local.at = was ? history.frames.findIndex((f) => f.time === was.time) : null;
		if (local.at < 0)
			local.at = null;
		local.docs = new Map();
		if (ctx.here.query.leaf && !local.cell)
			local.wanted = ctx.here.query.leaf;
		return { whole, history, top: topOf(whole, history) };
	},
	key: (ctx, e) => {
		if (!ctx.data)
			return;
		if (e.key === " " && e.target.tagName !== "BUTTON" && e.target.tagName !== "A") {
			e.preventDefault();
			play(ctx);
		}
	},
	draw: (ctx) => {
		const doc = windowDoc(ctx);
		const { whole } = ctx.data;
		if (ctx.local.wanted && !ctx.local.cell) {
			const row = whole.rows.find((r) => r.device === ctx.local.wanted);
			ctx.local.wanted = null;
			if (row && row.cells.length)
				choose(ctx, row, row.cells.find((c) => c.hot) || row.cells[0]);
		}
		return h("div", { key: "ecmp", class: "ecmp", hook: { remove: () => {
			ctx.local.gone = true;
			clearInterval(ctx.local.timer);
		} } },
			h("div", { key: "controls", class: "controls" }, rangeChoice(ctx, RANGE), h("strong", {}, whole.verdict || ""),
			h("span", { class: "quiet" }, "busy " + format.ratio(whole.busy_ratio) + ", samples present " + format.ratio(whole.coverage_ratio) + ", limit " + format.ratio(whole.warn_ratio)),
			h("button", { type: "button", "aria-pressed": String(Boolean(ctx.local.table)), on: { click: () => {
				ctx.local.table = !ctx.local.table;
				ctx.redraw();
			} } }, "As table")),
			scrubber(ctx),
			h("div", { key: "both", class: "both" },
				h("div", { class: "map" }, !doc.rows || !doc.rows.length ? quiet("The fabric has no leaf with more than one uplink.")
						: [ctx.local.table ? h("div", { key: "table" }, asTable(doc)) : h("div", { key: "matrix" }, matrix(ctx, doc)), h("div", { key: "legend" }, legend(ctx.data.top))]),
				doc.rows ? detail(ctx, doc) : null));
	},
};
