/*
 * units - tests of the page's pure functions. There is no JavaScript engine on the build machines but
 * the browser, so test_page.py imports this file there. run() returns the failures as texts.
 */
import * as dom from "../dom.js";
import * as format from "../format.js";
import * as route from "../route.js";
import * as state from "../state.js";
import { points, sums } from "../chart.js";
import { shade, topOf } from "../page_ecmp.js";
import { seriesOf } from "../page_port.js";
import { forms } from "../page_tuning.js";
import { arrows, branches, layout } from "../page_tree.js";
import * as trend from "../trend.js";

const H = 3600;
const PAGES = [{ name: "tuning" }, { name: "steps", also: "jobs" }, { name: "sheet", within: "tuning", args: 1 }];

/* [function, arguments, expected] */
const ROWS = [
	[format.count, [1234567], "1,234,567"], [format.count, [0], "0"], [format.count, [-1234.5, 1], "-1,234.5"],
	[format.count, [-0.2], "0"], [format.count, [999999.99, 1], "1,000,000"], [format.count, [null], "unknown"],
	[format.count, [undefined], "unknown"], [format.count, [NaN], "unknown"],
	[format.scaled, [297123, "frames/s"], "297 kframes/s"], [format.scaled, [0, "B"], "0 B"], [format.scaled, [999.9999, "B"], "1 KB"],
	[format.rate, [847, "frames/s"], "847 frames/s"], [format.rate, [99999, "frames/s"], "99,999 frames/s"],
	[format.rate, [588333.6, "frames/s"], "588k frames/s"], [format.rate, [1.24e6, "frames/s"], "1.24M frames/s"],
	[format.rate, [0, "packets/s"], "0 packets/s"], [format.rate, [0.0001, "packets/s"], "< 0.01 packets/s"], [format.rate, [null, "packets/s"], "unknown"],
	[format.ratio, [0.071], "7.1 %"], [format.ratio, [1], "100 %"], [format.ratio, [0], "0 %"], [format.ratio, [-1.1e-16], "0 %"],
	[format.ratio, [0.00001], "< 0.01 %"], [format.ratio, [0.0054], "0.54 %"], [format.ratio, [2.5], "250 %"], [format.ratio, [null], "unknown"],
	[format.bytes, [13351053], "13.4 MB"], [format.bytes, [999], "999 B"], [format.bytes, [null], "unknown"],
	[format.bitrate, [400e9], "400 Gbit/s"], [format.bitrate, [68243011695], "68.2 Gbit/s"],
	[format.duration, [0.45], "450 ms"], [format.duration, [0], "0 s"], [format.duration, [59.6], "60 s"], [format.duration, [65], "1 min 5 s"],
	[format.duration, [11 * H + 120], "11 h 2 min"], [format.duration, [3 * 86400], "3 d"], [format.duration, [1.3e-8], "13 ns"],
	[format.duration, [0.0000052], "5.2 µs"], [format.duration, [-65], "-1 min 5 s"], [format.duration, [null], "unknown"],
	[format.dollars, [10548.2], "$10,548"], [format.dollars, [4.5], "$4.5"], [format.dollars, [0], "$0"], [format.perHour, [960], "$960/h"],
	[format.perHour, [null], "no price"],
	[format.moment, ["2026-11-21T03:14:22.5Z"], "2026-11-21 03:14:22Z"], [format.moment, [null], "unknown"], [format.clock, ["nonsense"], "unknown"],
	[format.value, [0.5, "ratio"], "50 %"], [format.value, [null, "ratio"], "unknown"], [format.value, [29933000000, "ns"], "30 s"],
	[format.value, [8, "switches"], "8 switches"], [format.value, [-3, "-"], "-3"], [format.value, ["src_ip", "-"], "src_ip"],
	[format.measured, [0.071, 0, "ratio", "bound"], "at most 7.1 %"], [format.measured, [0.071, 0.02, "ratio", "bound"], "2 % to 7.1 %"],
	[format.measured, [0.071, null, "ratio", "exact"], "7.1 %"], [format.measured, [7, null, "links", "estimated"], "about 7 links"],
	[format.measured, [0, 0, "ratio", "unknown"], "unknown"], [format.measured, [null, null, "ratio", "exact"], "unknown"],
	[format.pauseRate, [1, 1, true], "100 %"], [format.pauseRate, [0, 0.071, false], "at most 7.1 %"],
	[format.pauseRate, [0.2, 0.5, false], "20 % to 50 %"], [format.pauseRate, [null, null, true], "unknown"],
	[format.plural, [1, "switch", "switches"], "1 switch"], [format.plural, [1200, "switch", "switches"], "1,200 switches"],

	[route.parse, ["#/port/leaf1/Eth%2F1?range=6h"], { name: "port", args: ["leaf1", "Eth/1"], query: { range: "6h" } }],
	[route.parse, [""], { name: "overview", args: [], query: {} }], [route.parse, ["#/port/%zz"], { name: "port", args: ["%zz"], query: {} }],
	[route.resolve, [PAGES, { name: "jobs", args: [], query: {} }], { row: PAGES[1], here: { name: "steps", args: [], query: {} } }],
	[route.resolve, [PAGES, { name: "tuning", args: ["a1"], query: { x: "1" } }], { row: PAGES[2], here: { name: "sheet", args: ["a1"], query: { x: "1" } } }],
	[route.resolve, [PAGES, { name: "sheet", args: ["a1"], query: {} }], { row: PAGES[2], here: { name: "sheet", args: ["a1"], query: {} } }],
	[route.resolve, [PAGES, { name: "sheet", args: [], query: {} }], { row: null, here: { name: "sheet", args: [], query: {} } }],
	[route.resolve, [PAGES, { name: "nothing", args: [], query: {} }], { row: null, here: { name: "nothing", args: [], query: {} } }],
	[forms, [{ cli: "a\nb", config_db: { T: { k: "v" } } }], [["cli", "a\nb"], ["config_db", "{\n  \"T\": {\n    \"k\": \"v\"\n  }\n}"]]],
	[forms, [{ cli: null, config_db: null }], []], [forms, ["nv set x"], [["", "nv set x"]]], [forms, [null], []], [forms, [undefined], []],
	[route.to, ["port", ["leaf 1", "Eth/1"], { range: "6h", at: null }], "#/port/leaf%201/Eth%2F1?range=6h"],

	[state.known, ["critical"], "critical"], [state.known, ["down"], "critical"], [state.known, ["something new"], "unknown"], [state.known, [null], "unknown"],
	[state.intervalOf, [[]], 5000], [state.intervalOf, [[0, 9000, 18000]], 9000], [state.intervalOf, [[0, 100, 200]], 5000], [state.intervalOf, [[0, 1e6]], 30000],
	[state.stepOf, [900], 10], [state.stepOf, [86400], 300], [state.stepOf, [604800], 3600],
	[state.matches, [{ a: { b: ["Leaf1"] } }, "leaf1"], true], [state.matches, [{ a: "x" }, "y"], false], [state.matches, [{}, ""], true], [state.matches, [{ a: null }, "null"], false],
	[state.retryAfter, [0, 0], 1000], [state.retryAfter, [3, 0], 8000], [state.retryAfter, [99, 1], 18750],
	[shade, [0], "rgb(0,32,77)"], [shade, [1], "rgb(255,234,70)"], [shade, [null], null], [shade, [0.2, 0.2], "rgb(255,234,70)"],
	[topOf, [{ rows: [{ cells: [{ utilization_ratio: 0.12 }] }] }, { frames: [{ cells: [[null, 0.25]] }] }], 0.3], [topOf, [{ rows: [] }, { frames: [] }], 0.05],
];

function same(a, b) {
	return JSON.stringify(a) === JSON.stringify(b);
}

function expect(failures, what, got, wanted) {
	if (!same(got, wanted))
		failures.push(what + ": got " + JSON.stringify(got) + ", expected " + JSON.stringify(wanted));
}

const FRAME = { state: "ok", open_incidents: 0, agent: { state: "running", data_age_s: 2 } };

function headline(f) {
	const of = (...args) => state.headline(...args).state;
	expect(f, "no frame yet is unknown", of(null, 0, 5000, false), "unknown");
	expect(f, "a fresh frame is believed", of(FRAME, 1000, 5000, false), "ok");
	expect(f, "three intervals of silence are the limit", of(FRAME, 15000, 5000, false), "ok");
	expect(f, "more is unknown", of(FRAME, 15001, 5000, false), "unknown");
	expect(f, "the past does not grow stale", of(FRAME, 1e9, 5000, true), "ok");
	expect(f, "a frame without state is unknown", of({ agent: {} }, 0, 5000, false), "unknown");
	expect(f, "silence says so", state.headline(FRAME, 60000, 5000, false).silent, true);
	expect(f, "age grows while nothing comes", state.dataAge(FRAME, 3000, false), 5);
	expect(f, "age of a replay stands still", state.dataAge({ agent: { state: "replay", data_age_s: 0 } }, 3000, false), 0);
	expect(f, "age without data is unknown", state.dataAge({ agent: {} }, 0, false), null);
	expect(f, "a running agent's values are the present", state.lastKnown(FRAME, false, false), false);
	expect(f, "a stopped agent's are not", state.lastKnown({ agent: { state: "stopped" } }, false, false), true);
	expect(f, "nor stale ones", state.lastKnown({ agent: { state: "running", stale: true } }, false, false), true);
	expect(f, "a replay is what it is", state.lastKnown({ agent: { state: "replay", stale: true } }, true, false), false);
	const kinds = (agent) => state.banners({ agent }).map((b) => b.kind);
	expect(f, "a running agent has no banner", kinds({ state: "running" }), []);
	expect(f, "a stopped agent has one", kinds({ state: "stopped", stale: true }), ["agent"]);
	expect(f, "a stale store has one", kinds({ state: "running", stale: true }), ["stale"]);
	expect(f, "a broken file and a refused reload have one each", kinds({ state: "running", config_error: "x", reload_refused: { text: "y" } }), ["config", "reload"]);
	expect(f, "the same mistake is reported once", kinds({ state: "running", config_error: "x", reload_refused: { text: "refused: x" } }), ["config"]);
}

function incidents(f) {
	const rows = [{ id: "new", severity: "warning", opened: "2026-01-02T00:00:00Z" }, { id: "money", severity: "info", usd_per_hour: 5, opened: "2026-01-01T00:00:00Z" },
		{ id: "critical", severity: "critical", usd_per_hour: null, opened: "2026-01-01T00:00:00Z" }, { id: "old", severity: "warning", opened: "2026-01-01T00:00:00Z" }];
	expect(f, "money, then severity, then the newer", rows.sort(state.byMoney).map((r) => r.id), ["money", "critical", "new", "old"]);
}

function events(f) {
	const reader = new state.EventReader();
	const text = "retry: 2000\n\n: comment\nid: 1\nevent: watch\ndata: {\"a\":1,\ndata: \"b\":2}\n\nevent: incident\r\ndata: {}\r\n\r\ndata: x\n\n";
	const got = [];
	for (const piece of text.match(/.{1,3}/gs)) /* wherever the network cuts it */
		got.push(...reader.feed(piece));
	expect(f, "events in pieces of three", got, [{ event: "watch", data: "{\"a\":1,\n\"b\":2}" }, { event: "incident", data: "{}" }, { event: "message", data: "x" }]);
}

function series(f) {
	const rows = [{ time: "2026-01-01T00:00:00Z", value: 1, priority: 3 }, { time: "2026-01-01T00:00:10Z", value: null, priority: 3 },
		{ time: "2026-01-01T00:00:20Z", value: 3, priority: 3 }, { time: "2026-01-01T00:00:00Z", value: 0, priority: 4 }];
	const list = seriesOf("m", "in", 8, rows);
	expect(f, "priorities without a value but 0 are left out", list.map((s) => s.label), ["in p3"]);
	const drawn = points(list);
	expect(f, "a gap stays a gap", drawn.map((r) => r[1]), [8, null, 24]);
	expect(f, "sums leave gaps out", sums(drawn, 0), { n: 2, mean: 16, high: 24, last: 24 });
	expect(f, "no value is unknown, not 0", sums([[0, null]], 0), { n: 0, mean: null, high: null, last: null });
	const paused = [{ label: "paused us", factor: 1e-9, most: 1, rows: [{ time: "2026-01-01T00:00:00Z", value: 1.012e9 }, { time: "2026-01-01T00:00:10Z", value: 0.5e9 }] }];
	expect(f, "a second has one second of pause", points(paused).map((r) => r[1]), [1, 0.5]);
	expect(f, "all 0: one line remains", seriesOf("m", "in", 1, [{ time: "2026-01-01T00:00:00Z", value: 0, priority: 3 }]).length, 1);
	expect(f, "nothing collected: no line", seriesOf("m", "in", 1, [{ time: "2026-01-01T00:00:00Z", value: null, priority: 3 }]).length, 0);
}

function trends(f) {
	const list = [[0, 0], [60e3, 0], [120e3, 1], [180e3, 1], [600e3, 1]];
	expect(f, "a step is between its neighbours", trend.jump(list), [[60e3, 0], [120e3, 1]]);
	expect(f, "a ramp has no step", trend.jump([[0, 0], [60e3, 1], [120e3, 2], [180e3, 3]]), null);
	expect(f, "nothing changes: no step", trend.jump([[0, 1], [60e3, 1]]), null);
	expect(f, "a gap cuts the line", trend.runs(list, 60).map((r) => r.length), [4, 1]);
	expect(f, "a band needs five values", trend.band(list, 0, 180e3), null);
	expect(f, "a band leaves the ends out", trend.band([...Array(20).keys()].map((v) => [v, v === 7 ? 900 : 5]), 0, 19), [5, 5]);
	const rows = [{ time: "2026-01-02T00:00:00.042Z", value: 1 }, { time: "2026-01-02T00:01:00.084Z", value: 1 }];
	expect(f, "yesterday stands under today", trend.shifted([{ time: "2026-01-01T00:01:00.300Z", value: 7 }, { time: "2026-01-01T00:09:00Z", value: 8 }], 86400e3, rows, 30e3).map((r) => r.time),
		["2026-01-02T00:01:00.084Z", "2026-01-02T00:09:00.000Z"]);
	const incident = { id: "abc", first: "2026-01-01T00:04:00Z", closed: null, headline: "storm", severity: "critical", subject: { device: "leaf2", port: "E2" } };
	const happened = [{ t: "2026-01-01T00:03:00Z", kind: "change", text: "new optic", device: "leaf1", who: "al" }, { t: "2026-01-01T00:04:20Z", kind: "incident", text: "open" }];
	expect(f, "marks in order of time", trend.marksOf([incident], happened).map((m) => [m.kind, m.t, m.text]), [["change", Date.UTC(2026, 0, 1, 0, 3), "al: new optic"], ["incident", Date.UTC(2026, 0, 1, 0, 4), "storm"]]);
	expect(f, "marks of one switch", trend.marksOf([incident], happened, (s) => s.device === "leaf2").map((m) => m.id), ["abc"]);
}

function trees(f) {
	const tree = { host: "h1", edges: [{ depth: 1, waits: "leaf2", paused_by: "h1" }, { depth: 2, waits: "spine1", paused_by: "leaf2" },
		{ depth: 2, waits: "spine2", paused_by: "leaf2" }, { depth: 3, waits: "leaf1", paused_by: "spine1" }] };
	const { boxes } = layout(tree);
	expect(f, "one box each", [...boxes.keys()], ["h1", "leaf2", "spine1", "spine2", "leaf1"]);
	expect(f, "columns by depth", boxes.get("h1").x < boxes.get("leaf2").x && boxes.get("spine1").x === boxes.get("spine2").x, true);
	const root = branches(tree);
	expect(f, "the tree", [root.length, root[0].children.length, root[0].children[0].children[0].edge.waits], [1, 2, "leaf1"]);
	const sender = { host: "h1", device: "leaf2", queues: [{ device: "leaf1", share_ratio: 0.4 }, { device: "leaf1", share_ratio: 0.2 }],
		edges: [{ depth: 1, waits: "h1", paused_by: "leaf2" }, { depth: 1, waits: "spine1", paused_by: "leaf1" }] };
	expect(f, "a sender fills queues, and is not drawn as its own victim", arrows(sender).map((e) => [e.paused_by, e.waits, e.depth, Math.round((e.fill || 0) * 10)]),
		[["h1", "leaf1", 1, 6], ["leaf1", "spine1", 2, 0]]);
	expect(f, "it stands at the left", layout(sender).boxes.get("h1").x < layout(sender).boxes.get("leaf1").x, true);
	const ring = { edges: [{ depth: 1, waits: "a", paused_by: "b" }, { depth: 1, waits: "b", paused_by: "a" }] };
	expect(f, "a ring ends", branches(ring).length, 2);
}

function drawing(f) {
	const root = document.createElement("div");
	document.body.appendChild(root);
	const list = (names) => dom.h("ul", {}, names.map((n) => dom.h("li", { key: n }, dom.h("button", {}, n))));
	dom.render(root, list(["a", "b", "c"]));
	const b = root.querySelectorAll("li")[1];
	b.firstChild.focus();
	dom.render(root, list(["c", "b", "d"]));
	expect(f, "keyed order", [...root.querySelectorAll("li")].map((li) => li.textContent), ["c", "b", "d"]);
	expect(f, "a kept element is the same", root.querySelectorAll("li")[1] === b, true);
	expect(f, "and keeps the focus", document.activeElement === b.firstChild, true);
	const before = dom.touched.nodes;
	dom.render(root, list(["c", "b", "d"]));
	expect(f, "the same description touches nothing", dom.touched.nodes - before, 0);
	dom.render(root, dom.h("p", { title: "<b>" }, "<img src=x onerror=alert(1)>"));
	expect(f, "text is text", [root.querySelectorAll("img").length, root.textContent], [0, "<img src=x onerror=alert(1)>"]);
	let said = [];
	dom.render(root, dom.h("button", { on: { click: () => said.push(1) } }));
	dom.render(root, dom.h("button", { on: { click: () => said.push(2) } }));
	root.firstChild.click();
	expect(f, "the newest listener, once", said, [2]);
	root.remove();
}

export function run() {
	const failures = [];
	for (const [fn, args, wanted] of ROWS)
		expect(failures, fn.name + "(" + JSON.stringify(args).slice(1, -1) + ")", fn(...args), wanted);
	for (const part of [headline, incidents, events, series, trends, trees, drawing])
		part(failures);
	return { failures, rows: ROWS.length };
}
