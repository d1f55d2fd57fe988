/*
 * app - the frame around all pages: headline, navigation, banners, help, keys. Chooses the page by the
 * address, loads its documents, and draws again when a frame arrives.
 */
import * as api from "./api.js";
import { h, render, touched } from "./dom.js";
import * as format from "./format.js";
import * as route from "./route.js";
import * as state from "./state.js";
import { mark, time, quiet } from "./widgets.js";
import { overview } from "./page_overview.js";
import { incidents } from "./page_incidents.js";
import { incident } from "./page_incident.js";
import { tree } from "./page_tree.js";
import { ecmp } from "./page_ecmp.js";
import { steps } from "./page_steps.js";
import { ports } from "./page_ports.js";
import { device } from "./page_device.js";
import { host } from "./page_host.js";
import { port } from "./page_port.js";
import { tuning, sheet } from "./page_tuning.js";
import { alerts } from "./page_alerts.js";
import { lint } from "./page_lint.js";
import { doctor } from "./page_doctor.js";

/* All pages. Those with a key stand in the navigation. */
const PAGES = [
	{ name: "overview", key: "o", label: "Overview", page: overview },
	{ name: "incidents", key: "i", label: "Incidents", page: incidents },
	{ name: "tree", key: "t", label: "Pause tree", page: tree },
	{ name: "ecmp", key: "e", label: "ECMP", page: ecmp },
	{ name: "steps", also: "jobs", key: "s", label: "Jobs", page: steps },
	{ name: "ports", key: "p", label: "Ports", page: ports },
	{ name: "tuning", key: "u", label: "Tuning", page: tuning },
	{ name: "alerts", also: "silences", key: "a", label: "Alerts", page: alerts },
	{ name: "lint", key: "l", label: "Lint", page: lint },
	{ name: "doctor", key: "d", label: "Doctor", page: doctor },
	{ name: "incident", within: "incidents", args: 1, page: incident },
	{ name: "device", within: "ports", args: 1, page: device },
	{ name: "port", within: "ports", args: 2, page: port },
	{ name: "host", within: "ports", args: 1, page: host },
	{ name: "sheet", within: "tuning", args: 1, page: sheet },
];

const MISSING = { name: "missing", page: {
	title: () => "No such page",
	draw: (ctx) => h("div", {}, h("p", {}, "There is no page with the address ", h("code", {}, location.hash), ". Choose one above, or begin at the ",
		h("a", { href: ctx.link("overview") }, "overview"), "."), quiet("An incident or a sheet that was sent to you may belong to another server.")),
} };

const element = (id) => document.getElementById(id);

const app = {
	here: route.parse(location.hash),
	row: PAGES[0],
	data: null, /* what the page's load() returned */
	error: null,
	loadedAt: 0,
	loading: null, /* AbortController */
	local: {}, /* what the page keeps while it is open */
	filter: "",
	past: null, /* the frame of the time in the address, instead of the live one */
	pastError: null,
	said: "", /* the state that was announced last */
	token: "",
	tokenOpen: false,
};

const live = new api.Live((what) => {
	if (what === "frame")
		frameArrived();
	if (what === "incident" && app.row.page.load)
		reloadSoon();
	if (what === "link")
		linkChanged();
});

function frame() {
	return app.here.query.around ? app.past : live.frame;
}

/* --- what pages get --- */

function link(name, args, query) {
	return route.to(name, args, { ...route.kept(app.here.query), ...query });
}

/* Parameters of a request: those of the page, and the time in the address unless it has its own. */
function params(own) {
	const { around, span } = app.here.query;
	if (!around || (own && (own.since || own.until || own.around)))
		return own;
	return { around, span, ...own };
}

function context() {
	return {
		frame: frame(),
		here: app.here,
		past: Boolean(app.here.query.around),
		old: state.lastKnown(frame(), live.silentMs() > state.FRAMES_MISSED * live.intervalMs(), Boolean(app.here.query.around)),
		data: app.data,
		error: app.error,
		local: app.local,
		filter: app.filter,
		link,
		get: (path, own, signal) => api.get(path, params(own), signal || (app.loading && app.loading.signal)),
		redraw: schedule,
		reload,
		go: (hash) => {
			location.hash = hash;
		},
		/* Changes the query of the address without a new entry in the history. */
		query: (change) => {
			history.replaceState(null, "", route.to(app.here.name, app.here.args, { ...app.here.query, ...change }));
			app.here = route.parse(location.hash);
			schedule();
		},
	};
}

/* --- loading --- */

async function reload() {
	const page = app.row.page;
	if (!page.load)
		return;
	if (app.loading)
		app.loading.abort();
	const mine = new AbortController();
	app.loading = mine;
	app.loadedAt = performance.now();
	try {
		const data = await page.load(context(), mine.signal);
		if (mine.signal.aborted)
			return;
		app.data = data;
		app.error = null;
	} catch (e) {
		if (mine.signal.aborted)
			return;
		app.error = e;
		if (e.status === 401)
			askToken();
	}
	if (app.loading === mine)
		app.loading = null;
	schedule();
}

/* Many incidents may change in one moment; the page is loaded once then. */
let soon = 0;

function reloadSoon() {
	if (!soon)
		soon = setTimeout(() => {
			soon = 0;
			reload();
		}, 500);
}

async function loadPast() {
	const around = app.here.query.around;
	app.past = null;
	app.pastError = null;
	if (!around)
		return;
	try {
		const past = await api.get("watch", { around });
		if (app.here.query.around === around)
			app.past = past;
	} catch (e) {
		app.pastError = e.message;
	}
	schedule();
}

/* The page of the address, which is put right where it meant another. */
function resolve() {
	const { row, here } = route.resolve(PAGES, app.here);
	if (here.name !== app.here.name)
		history.replaceState(null, "", route.to(here.name, here.args, here.query));
	app.here = here;
	return row || MISSING;
}

function navigate() {
	const before = app.here;
	app.here = route.parse(location.hash);
	const row = resolve();
	const same = row === app.row && before.args.join("\n") === app.here.args.join("\n");
	app.row = row;
	if (!same || before.query.around !== app.here.query.around || before.query.range !== app.here.query.range) {
		app.data = null;
		app.error = null;
		app.local = {};
		app.filter = "";
	}
	if (before.query.around !== app.here.query.around)
		loadPast();
	reload();
	draw();
	if (!same) {
		element("main").scrollTop = 0;
		window.scrollTo(0, 0);
		element("main").focus({ preventScroll: true });
	}
}

/* --- drawing --- */

let scheduled = 0;

function schedule() {
	if (!scheduled)
		scheduled = requestAnimationFrame(() => {
			scheduled = 0;
			draw();
		});
}

function draw() {
	const began = performance.now();
	const before = touched.nodes;
	const ctx = context();
	drawHead();
	render(element("nav"), navigation());
	render(element("main"), content(ctx));
	element("main").dataset.shown = app.row.name + " " + (app.row.page.load && !app.data && !app.error ? "loading" : "ready");
	if (!performance.getEntriesByName("rocewatch content").length && ctx.frame && (!app.row.page.load || app.data))
		performance.mark("rocewatch content"); /* the first drawing with data; tests print it */
	performance.measure("rocewatch update", {
		start: began, end: performance.now(),
		detail: { page: app.row.name, nodes: touched.nodes - before },
	});
	if (performance.getEntriesByName("rocewatch update").length > 200)
		performance.clearMeasures("rocewatch update");
}

function content(ctx) {
	const page = app.row.page;
	const title = page.title(ctx);
	const parts = [h("h1", { key: "title" }, title, h("span", { class: "tag" }, "LAST KNOWN VALUES"))];
	if (app.error)
		parts.push(h("p", { key: "error", class: "error", role: "alert" },
			(app.data ? "Not up to date: " : "This page cannot be shown: ") + app.error.message + " ",
			h("button", { type: "button", on: { click: reload } }, "Try again")));
	if (page.load && !app.data && !(page.early && ctx.frame))
		parts.push(app.error ? null : h("p", { key: "loading", class: "quiet" }, "Loading ..."));
	else if ((!page.load || page.early) && !ctx.frame)
		parts.push(h("p", { key: "loading", class: "quiet" },
			app.pastError ? "No frame of that time: " + app.pastError : "Waiting for the first frame ..."));
	else
		parts.push(page.draw(ctx));
	return h("div", { key: app.row.name + "\n" + app.here.args.join("\n"), class: "page page-" + app.row.name }, parts);
}

function navigation() {
	const current = app.row.within || app.row.name;
	return [
		h("ul", { key: "pages" }, PAGES.filter((p) => p.key).map((p) => h("li", { key: p.name },
			h("a", { href: link(p.name), "aria-current": p.name === current ? "page" : null,
				"aria-keyshortcuts": p.key }, p.label, h("kbd", { "aria-hidden": "true" }, p.key))))),
		h("div", { key: "tools", class: "tools" },
			h("label", { class: "hidden", for: "filter" }, "Filter what is shown"),
			h("input", { id: "filter", type: "search", placeholder: "Filter  /", value: app.filter, autocomplete: "off",
				spellcheck: "false", on: { input: (e) => {
					app.filter = e.target.value;
					schedule();
				} } }),
			h("button", { type: "button", on: { click: openTime } }, "Time"),
			h("button", { type: "button", on: { click: nextTheme } }, "Theme: " + theme()),
			h("button", { type: "button", "aria-keyshortcuts": "?", on: { click: openHelp } }, "Help", h("kbd", { "aria-hidden": "true" }, "?"))),
	];
}

function age(ctx) {
	const seconds = state.dataAge(ctx.frame, live.frameMs(), ctx.past);
	const agent = (ctx.frame && ctx.frame.agent) || {};
	if (agent.state === "replay")
		return h("span", {}, "a replay, as of its last sample");
	const stale = agent.stale || agent.state === "stopped" || live.silentMs() > state.FRAMES_MISSED * live.intervalMs();
	const text = seconds === null ? "age of the data unknown" : "data " + format.duration(Math.floor(seconds * 10) / 10) + " old";
	return h("span", { class: stale && !ctx.past ? "stale" : null }, text);
}

function wallClock(ctx) {
	if (!ctx.frame || !ctx.frame.time)
		return h("span", { class: "clock quiet" }, "time unknown");
	const agent = ctx.frame.agent || {};
	const still = ctx.past || agent.state === "replay";
	const t = format.parseTime(ctx.frame.time) + (still ? 0 : live.frameMs());
	return h("span", { class: "clock" }, time(t / 1000));
}

const LINKS = {
	connecting: ["unknown", "connecting"],
	live: ["ok", "live"],
	lost: ["critical", "connection lost"],
	denied: ["warning", "access token needed"],
};

function linkState(ctx) {
	if (ctx.past)
		return [mark("info", "PAST"), " ", h("a", { href: link(app.here.name, app.here.args, { around: null }) }, "back to live")];
	const silent = live.silentMs() > state.FRAMES_MISSED * live.intervalMs();
	if (live.link === "live" && silent)
		return mark("unknown", "silent");
	const agent = (ctx.frame && ctx.frame.agent) || {};
	if (live.link === "live" && ["replay", "stopped"].includes(agent.state))
		return mark("ok", "connected"); /* the server answers; what it shows is not live */
	const [name, word] = LINKS[live.link];
	return mark(name, word);
}

function drawHead() {
	const ctx = context();
	const now = state.headline(ctx.frame, live.silentMs(), live.intervalMs(), ctx.past);
	const devices = (ctx.frame && ctx.frame.devices) || [];
	const quality = (ctx.frame && ctx.frame.data_quality) || {};
	const money = (ctx.frame && ctx.frame.money) || {};
	document.body.dataset.state = now.state;
	document.body.classList.toggle("last-known", state.lastKnown(ctx.frame, now.silent, ctx.past));
	document.title = state.STATES[now.state].sign + " " + state.STATES[now.state].word + " - " + app.row.page.title(ctx) + " - rocewatch";
	render(element("head"), h("div", { class: "headline " + now.state },
		h("a", { class: "brand", href: link("overview") }, "rocewatch"),
		h("span", { class: "fabric" }, (ctx.frame && ctx.frame.fabric) || ""),
		h("span", { id: "state", class: "state " + now.state },
			h("span", { "aria-hidden": "true", class: "sign" }, state.STATES[now.state].sign), state.STATES[now.state].word),
		h("span", { id: "why", class: "why" }, now.why),
		h("span", { class: "numbers" },
			money.usd_per_hour ? h("strong", { key: "money" }, format.perHour(money.usd_per_hour)) : null,
			devices.length ? h("span", { key: "devices" }, "switches " + format.count(quality.up) + "/" + format.count(devices.length) + " up") : null,
			age(ctx)),
		h("span", { id: "link" }, linkState(ctx)),
		wallClock(ctx)));
	drawBanners(ctx);
	announce(now);
}

function drawBanners(ctx) {
	const rows = state.banners(ctx.frame);
	if (!ctx.past && live.link === "lost") {
		const wait = Math.max(0, Math.ceil((live.retryAt - performance.now()) / 1000));
		rows.unshift({ kind: "link", state: "critical", title: "Connection lost: " + live.error + ".",
			text: wait ? "Next try in " + wait + " s." : "Connecting ...", retry: true });
	}
	if (!ctx.past && live.link === "denied")
		rows.unshift({ kind: "denied", state: "warning", title: "The server asks for an access token.", text: live.error, login: true });
	if (!ctx.past && live.trouble)
		rows.unshift({ kind: "trouble", state: "critical", title: "The server cannot read the state.", text: live.trouble });
	render(element("banners"), rows.map((b) => h("div", { key: b.kind, class: "banner " + b.state, role: "alert" },
		mark(b.state, b.title), " ", b.t ? [time(b.t), " "] : null, b.text, " ",
		b.retry ? h("button", { type: "button", on: { click: () => live.retry() } }, "Try now") : null,
		b.login ? h("button", { type: "button", on: { click: askToken } }, "Enter token") : null)));
}

/* Tells a screen reader of a change, in one sentence and once. */
function announce(now) {
	const text = "State of the fabric: " + state.STATES[now.state].word + ". " + (now.silent ? "No update from the server." : now.why);
	const key = now.state + (now.silent ? "" : now.why);
	if (app.said === key)
		return;
	app.said = key;
	element("announce").textContent = text;
}

/* --- what happens --- */

function frameArrived() {
	schedule();
	const page = app.row.page;
	if (page.load && page.every && !app.here.query.around && !app.loading &&
	    performance.now() - app.loadedAt > page.every)
		reload();
}

function linkChanged() {
	if (live.link === "denied")
		askToken();
	if (live.link === "live" && app.error && !app.loading)
		reload();
	schedule();
}

/* --- dialogs --- */

function openDialog(content) {
	const dialog = element("dialog");
	render(dialog, content);
	if (!dialog.open)
		dialog.showModal();
}

function closeDialog() {
	element("dialog").close();
}

const KEYS = [
	...PAGES.filter((p) => p.key).map((p) => [p.key, p.label]),
	["/", "filter what is shown; Esc clears"],
	["↑ ↓", "from row to row in a list; Enter opens"],
	["← →", "in the heat map: cell to cell; on the scrubber: window to window"],
	["Space", "in the heat map: play and stop"],
	["w", "another time: how it looked then"],
	["?", "this help"],
	["Esc", "close; clear the filter; back to the overview"],
];

function openHelp() {
	openDialog(h("div", { key: "help" }, h("h2", {}, "Help"),
		quiet("Every number comes from the same documents as the command line and the terminal screen."),
		h("dl", { class: "keys" }, KEYS.map(([key, text]) => h("div", { key }, h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)))),
		h("h3", {}, "Words"),
		h("dl", { class: "facts" },
			[["X <-- Y", "Y pauses X. 100 %: X is paused all the time."],
				["we paused", "our switch sent pause to the neighbour (tx). \"paused us\": the neighbour sent it (rx)."],
				["at most", "only PFC frames are counted: the true pause time lies between 0 and this."],
				["imbalance", "load of the hottest uplink over the mean of its group, minus 1."],
				["chance", "the imbalance that an even hash gives for this number of flows."],
				["unknown", "not measured, or too old. Never the same as 0."]].map(([a, b]) =>
				h("div", { key: a }, h("dt", {}, a), h("dd", {}, b)))),
		h("h3", {}, "States"),
		h("p", {}, ["ok", "warning", "critical", "unknown", "idle"].map((s) => h("span", { key: s, class: "gap" }, mark(s)))),
		h("button", { type: "button", class: "primary", on: { click: closeDialog } }, "Close")));
}

function openTime() {
	const now = frame() && frame().time ? new Date(format.parseTime(frame().time)).toISOString().slice(0, 19) : "";
	openDialog(h("form", { key: "time", method: "dialog", on: { submit: showTime } }, h("h2", {}, "How it looked at another time"),
		h("label", { for: "when" }, "Date and time, UTC"),
		h("input", { id: "when", type: "datetime-local", step: "1", value: now }),
		h("p", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Show"),
			app.here.query.around ? h("button", { type: "button", on: { click: () => {
				closeDialog();
				location.hash = link(app.here.name, app.here.args, { around: null });
			} } }, "Back to live") : null,
			h("button", { type: "button", on: { click: closeDialog } }, "Cancel"))));
}

function showTime() {
	const when = element("when").value;
	if (when)
		location.hash = link(app.here.name, app.here.args, { around: when + (when.length === 16 ? ":00Z" : "Z") });
}

/* The page and the stream both ask the server, and either may hear first that the token is wrong. */
function askToken() {
	const dialog = element("dialog");
	const why = api.token() ? "The server refused the token." : "";
	if (dialog.open && app.tokenOpen)
		return;
	app.tokenOpen = true;
	openDialog(h("form", { key: "token", method: "dialog", on: { submit: takeToken } }, h("h2", {}, "Access token"),
		why ? h("p", { class: "error", role: "alert" }, why) : null,
		h("label", { for: "token" }, "Token of this server"),
		h("input", { id: "token", type: "password", autocomplete: "current-password", required: true }),
		quiet("It stays in this browser tab and is forgotten when the tab is closed."),
		h("p", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Log in"))));
}

function takeToken() {
	app.tokenOpen = false;
	api.setToken(element("token").value.trim());
	live.retry();
	loadPast();
	reload();
}

/* --- theme --- */

const THEMES = ["auto", "dark", "light"];

function theme() {
	return document.documentElement.dataset.theme || "auto";
}

function nextTheme() {
	const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
	if (next === "auto") {
		delete document.documentElement.dataset.theme;
		localStorage.removeItem("rocewatch-theme");
	} else {
		document.documentElement.dataset.theme = next;
		localStorage.setItem("rocewatch-theme", next);
	}
	draw();
}

/* --- keys --- */

function typing(target) {
	if (target.tagName === "INPUT")
		return target.type !== "range" && target.type !== "checkbox";
	return ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/* Up and down move between the rows of a list that is marked with data-rows. */
function moveRow(e) {
	const list = e.target.closest && e.target.closest("[data-rows]");
	if (!list)
		return false;
	const links = [...list.querySelectorAll("a[data-row]")];
	const at = links.indexOf(e.target);
	if (at < 0)
		return false;
	const next = links[at + (e.key === "ArrowDown" ? 1 : -1)];
	if (next)
		next.focus();
	e.preventDefault();
	return true;
}

function escape() {
	if (app.filter) {
		app.filter = "";
		element("filter").blur();
		draw();
		return;
	}
	if (document.activeElement && document.activeElement.id === "filter") {
		document.activeElement.blur();
		return;
	}
	location.hash = link("overview");
}

function key(e) {
	if (e.ctrlKey || e.altKey || e.metaKey || e.defaultPrevented)
		return;
	if (element("dialog").open)
		return; /* the browser closes a dialog on Esc */
	if (e.key === "Escape")
		return escape();
	if (typing(e.target))
		return;
	if ((e.key === "ArrowDown" || e.key === "ArrowUp") && moveRow(e))
		return;
	const row = PAGES.find((p) => p.key === e.key);
	if (row) {
		location.hash = link(row.name);
	} else if (e.key === "/") {
		element("filter").focus();
		e.preventDefault();
	} else if (e.key === "?") {
		openHelp();
	} else if (e.key === "w") {
		openTime();
	} else if (app.row.page.key) {
		app.row.page.key(context(), e);
	}
}

function start() {
	element("dialog").addEventListener("close", () => {
		app.tokenOpen = false;
	});
	window.addEventListener("hashchange", navigate);
	document.addEventListener("keydown", key);
	app.row = resolve();
	loadPast();
	reload();
	draw();
	live.start();
	/* A page that is left may be kept for the way back, with its connections, of which a browser makes few to one server. */
	window.addEventListener("pagehide", () => {
		live.stop();
		if (app.loading)
			app.loading.abort();
	});
	window.addEventListener("pageshow", (e) => {
		if (e.persisted)
			live.start();
	});
	let old = false;
	setInterval(() => {
		live.watch();
		if (context().old !== old)
			draw(); /* what is shown has just become the last known */
		else
			drawHead();
		old = context().old;
	}, 1000);
}

start();
