/*
 * page_tree - who pauses whom. A drawing (origin at the left, those who wait to the right) and the same
 * as a tree of text, which is what the keyboard and screen readers use.
 */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { ROLES, confidence, isSwitch, mark, panel, portLink, quiet } from "./widgets.js";

const COLUMN = 240, ROW = 54, BOX_W = 150, BOX_H = 42, PAD = 12;

/* The party at which the tree begins. */
function rootOf(tree) {
	if ((tree.queues || []).length)
		return tree.host || tree.device;
	return tree.edges.length ? tree.edges[0].paused_by : tree.host || tree.device || "origin";
}

/*
 * What is drawn: who pauses whom and, where a sender that does not slow down is the origin, the switches
 * whose queues it fills, a column further left.
 */
export function arrows(tree) {
	const queues = tree.queues || [];
	if (!queues.length)
		return tree.edges;
	const root = rootOf(tree), fills = new Map();
	for (const q of queues)
		fills.set(q.device, (fills.get(q.device) || 0) + (q.share_ratio || 0));
	const first = [...fills].map(([device, share]) => ({ depth: 1, paused_by: root, waits: device, fill: share, ports: [] }));
	return [...first, ...tree.edges.filter((e) => e.waits !== root).map((e) => ({ ...e, depth: e.depth + 1 }))];
}

/* The boxes of the drawing: each party once, in the column of its smallest depth. */
export function layout(tree) {
	const boxes = new Map();
	const edges = arrows(tree);
	const add = (name, depth) => {
		const box = boxes.get(name);
		if (!box)
			boxes.set(name, { name, depth });
		else if (depth < box.depth)
			box.depth = depth;
	};
	add(rootOf(tree), 0);
	for (const e of edges) {
		add(e.paused_by, e.depth - 1);
		add(e.waits, e.depth);
	}
	const columns = [];
	for (const box of boxes.values())
		(columns[box.depth] = columns[box.depth] || []).push(box);
	const height = Math.max(1, ...columns.filter(Boolean).map((c) => c.length));
	columns.forEach((column, depth) => column.forEach((box, i) => {
		box.x = PAD + depth * COLUMN;
		box.y = PAD + (i + (height - column.length) / 2) * ROW;
	}));
	return { boxes, width: PAD * 2 + (columns.length - 1) * COLUMN + BOX_W, height: PAD * 2 + height * ROW - (ROW - BOX_H) };
}

function level(e) {
	return e.hi_ratio === null || e.hi_ratio === undefined ? e.lo_ratio || 0 : e.hi_ratio;
}

function pressure(e) {
	return format.pauseRate(e.lo_ratio, e.hi_ratio, e.measured);
}

function target(ctx, e) {
	if (!isSwitch(ctx, e.waits)) /* of "hosts" the ports are their names; else it is a switch that nobody configured */
		return e.waits === "hosts" && (e.ports || []).length === 1 ? ctx.link("host", [e.ports[0]]) : null;
	if (e.ports && e.ports.length)
		return ctx.link("port", [e.waits, e.ports[0]]);
	return ctx.link("device", [e.waits]);
}

function edgePath(from, to) {
	const x1 = from.x + BOX_W, y1 = from.y + BOX_H / 2, x2 = to.x, y2 = to.y + BOX_H / 2;
	const bend = (x2 - x1) / 2;
	return "M" + x1 + " " + y1 + " C" + (x1 + bend) + " " + y1 + " " + (x2 - bend) + " " + y2 + " " + x2 + " " + y2;
}

function cut(name) {
	return name.length > 18 ? name.slice(0, 17) + "…" : name;
}

function drawing(ctx, tree) {
	const { boxes, width, height } = layout(tree);
	const origin = rootOf(tree), all = arrows(tree);
	const edges = all.filter((e) => boxes.get(e.paused_by) && boxes.get(e.waits)).map((e, i) => {
		const from = boxes.get(e.paused_by), to = boxes.get(e.waits);
		return h("g", { key: "e" + i, class: "edge " + (e.fill !== undefined ? "fills" : e.measured ? "" : "bound") },
			h("path", { d: edgePath(from, to), "stroke-width": (1 + 5 * Math.min(1, e.fill === undefined ? level(e) : e.fill)).toFixed(1) }),
			h("title", {}, e.fill === undefined ? e.waits + " <-- " + e.paused_by + ": " + pressure(e) : e.paused_by + " fills queues of " + e.waits));
	});
	const nodes = [...boxes.values()].map((b) => {
		const edge = all.find((e) => e.waits === b.name);
		const role = b.name === origin ? "origin" : isSwitch(ctx, b.name) ? "switch" : "host";
		const shape = h("g", {}, h("rect", { x: b.x, y: b.y, width: BOX_W, height: BOX_H, rx: role === "switch" ? 5 : 21 }),
			h("text", { x: b.x + BOX_W / 2, y: b.y + 18, "text-anchor": "middle" }, (role === "origin" ? "✖ " : "") + cut(b.name)),
			h("text", { class: "pressure", x: b.x + BOX_W / 2, y: b.y + 34, "text-anchor": "middle" }, edge && edge.fill !== undefined ? "queue: " + format.ratio(edge.fill) : edge ? pressure(edge) : role === "origin" ? "origin" : ""));
		const href = edge ? target(ctx, edge) : tree.port ? ctx.link("port", [tree.device, tree.port]) : null;
		return h("g", { key: b.name, class: "node " + role },
			href ? h("a", { href, tabindex: "-1" }, shape) : shape, h("title", {}, b.name));
	});
	return h("div", { class: "scroll" }, h("svg", { class: "tree-drawing", viewBox: "0 0 " + width + " " + height,
		width, height, role: "img", "aria-label": "Drawing of the pause tree; the list below has the same content" },
		edges, nodes));
}

/* The rows of the text: parents before children. */
export function branches(tree) {
	const below = (name, depth) => tree.edges.filter((e) => e.paused_by === name && e.depth === depth);
	const branch = (e) => ({ edge: e, children: e.depth < 16 ? below(e.waits, e.depth + 1).map(branch) : [] });
	return tree.edges.filter((e) => e.depth === 1).map(branch);
}

function portsText(e) {
	const ports = e.ports || [];
	return ports.slice(0, 6).join(", ") + (ports.length > 6 ? " and " + (ports.length - 6) + " more" : "");
}

function victimsText(e) {
	if (e.role || e.victims === null || e.victims === undefined)
		return null; /* its role says more */
	if (typeof e.victims === "object")
		return (e.victims.length ? "victims: " + e.victims.slice(0, 8).join(", ") : null);
	return typeof e.victims === "number" ? format.plural(e.victims, "victim") : String(e.victims);
}

function item(ctx, { edge, children }, i) {
	return h("li", { key: edge.waits + edge.depth + i },
		h("span", { class: "line" },
			h(target(ctx, edge) ? "a" : "span", { href: target(ctx, edge), "data-row": target(ctx, edge) ? true : null }, h("strong", {}, edge.waits), " ", portsText(edge) === edge.waits ? "" : portsText(edge)),
			h("span", { class: "arrow" }, " <-- "), h("span", {}, edge.paused_by),
			h("strong", { class: "num" }, pressure(edge)),
			h("span", { class: "quiet" }, [edge.measured ? "measured" : "bound from frames",
				edge.confidence ? "confidence " + (typeof edge.confidence === "number" ? format.ratio(edge.confidence) : edge.confidence) : null,
				edge.role ? ROLES[edge.role] || format.words(edge.role) : null, victimsText(edge)].filter(Boolean).join(", "))),
		children.length ? h("ul", {}, children.map((c, k) => item(ctx, c, k))) : null);
}

/* The queues that a sender fills, in words. */
function queues(ctx, tree) {
	const rows = tree.queues || [];
	if (!rows.length)
		return null;
	return h("ul", { key: "queues", class: "plain" }, rows.map((q, i) => h("li", { key: i }, "fills the queue of ", portLink(ctx, q.device, q.port),
		q.host ? " to " + q.host : "", " (" + format.ratio(q.share_ratio) + " of the pressure)")));
}

const ORIGINS = { sender: "a sender that does not slow down", host: "the host pauses its port", queue: "a full queue", switch: "a switch" };

function one(ctx, tree, i) {
	const name = tree.host || [tree.device, tree.port].filter(Boolean).join(" ") || "origin unknown";
	const share = tree.share_ratio;
	return panel("Origin " + name, { key: "tree" + i, class: "tree" },
		h("p", { class: "facts-line" }, mark(tree.clear === false ? "unknown" : "critical", tree.clear === false ? "CANDIDATE" : "ORIGIN"),
			h("strong", {}, name), tree.device ? h("span", {}, "at ", portLink(ctx, tree.device, tree.port)) : null,
			h("span", {}, tree.role === "suspect" ? "a suspect, not proven" : ORIGINS[tree.origin] || format.words(tree.origin)), h("span", {}, "priority " + tree.priority),
			tree.level ? h("span", {}, "spread " + tree.level) : null,
			h("span", {}, format.plural(tree.switches, "switch", "switches") + ", " + format.plural(tree.hosts, "host")),
			typeof tree.confidence === "number" ? confidence(tree.confidence) : h("span", {}, "confidence " + (tree.confidence || format.UNKNOWN)),
			share === null || share === undefined ? null : h("span", {}, format.ratio(share) + " of the pressure")),
		tree.why ? h("p", {}, tree.incident ? h("a", { href: ctx.link("incident", [tree.incident]) }, tree.why) : tree.why) : null,
		queues(ctx, tree),
		tree.clear === false && tree.role !== "suspect" ? quiet("No clear origin: the next cause is nearly as strong.") : null,
		tree.edges.length ? drawing(ctx, tree) : null,
		h("ul", { class: "branches", "data-rows": true, "aria-label": "X <-- Y: Y pauses X" },
			branches(tree).map((b, k) => item(ctx, b, k))));
}

export const tree = {
	title: (ctx) => (ctx.here.query.incident ? "Pause tree of incident " + ctx.here.query.incident : "Pause tree"),
	every: 5000,
	load: (ctx) => ctx.get("pause/tree", { incident: ctx.here.query.incident, priority: ctx.here.query.priority }),
	draw: (ctx) => {
		const doc = ctx.data;
		const shown = (doc.trees || []).filter((t) => matches(t, ctx.filter));
		const cycles = doc.cycles || [];
		return h("div", { key: "trees" },
			h("p", { class: "facts-line" }, ctx.here.query.incident ? h("a", { class: "button", href: ctx.link("incident", [ctx.here.query.incident]) }, "Incident " + ctx.here.query.incident) : null,
				doc.from ? h("span", {}, format.moment(doc.from) + " to " + format.clock(doc.to)) : null,
				h("span", {}, "X <-- Y: Y pauses X; 100 % is always"),
				h("span", {}, doc.lossless_drops === null || doc.lossless_drops === undefined ? "lossless drops unknown" : format.count(doc.lossless_drops) + " lossless drops"),
				cycles.length ? mark("critical", "RING OF PAUSE: DEADLOCK") : doc.observable === false ? null : h("span", {}, "no ring (no deadlock)")),
			doc.observable === false ? h("p", {}, mark("unknown"), " no switch reports pause: nothing can be said.") : null,
			doc.differs_because ? h("p", { key: "differs" }, mark("unknown", "DIFFERS"), " from the incident: " + doc.differs_because) : null,
			cycles.map((c, i) => h("p", { key: "c" + i, class: "error" }, "Ring: " + JSON.stringify(c).replace(/[[\]{}"]/g, " "))),
			shown.length ? shown.map((t, i) => one(ctx, t, i)) : doc.observable === false ? null : quiet("No port waits for another in this time."));
	},
};
