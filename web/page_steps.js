/* page_steps - the training rhythm: each job's throughput, step and exchange time, level by level. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { chart } from "./chart.js";
import { compareOf, history, markList, marks, rangeChoice, times } from "./trend.js";
import { mark, panel, quiet, table, time } from "./widgets.js";

const STATES = { running: ["ok", "RUNNING"], stopped: ["critical", "STOPPED"] };

function now(ctx, job) {
	const j = ((ctx.frame && ctx.frame.jobs) || []).find((x) => x.job === job);
	return j || {};
}

const JOBS = (ctx) => [
	{ head: "Job", cell: (j) => h("strong", {}, j.job) },
	{ head: "State", cell: (j) => mark(...(STATES[j.state || now(ctx, j.job).state] || ["unknown", "UNKNOWN"])) },
	{ head: "Step", num: true, cell: (j) => format.duration(j.step_s === undefined || j.step_s === null ? now(ctx, j.job).step_s : j.step_s) },
	{ head: "Base", num: true, cell: (j) => format.duration(now(ctx, j.job).step_base_s) },
	{ head: "Exchange", num: true, cell: (j) => format.duration(j.exchange_s) },
	{ head: "Busy share", num: true, drop: true, cell: (j) => format.ratio(j.duty_ratio) },
	{ head: "Throughput", num: true, cell: (j) => (j.octets_per_s === null || j.octets_per_s === undefined ? format.UNKNOWN : format.scaled(j.octets_per_s, "B/s")) },
	{ head: "GPUs", num: true, drop: true, cell: (j) => format.count(j.gpus) },
	{ head: "Ports seen", num: true, drop: true, cell: (j) => format.count(j.ports_seen) + " of " + format.count(j.ports) },
	{ head: "Measured at", drop: true, cell: (j) => j.measured_at || format.UNKNOWN },
];

/* A level compared with the one before it: less throughput means longer steps. */
function change(l) {
	if (l.change_ratio === null || l.change_ratio === undefined)
		return h("span", { class: "quiet" }, "first level");
	return h("span", { class: l.change_ratio < -0.03 ? "worse" : null }, (l.change_ratio > 0 ? "+" : "") + format.ratio(l.change_ratio));
}

const LEVELS = [
	{ head: "Job", cell: (l) => l.job },
	{ head: "From", cell: (l) => time(l.from) },
	{ head: "To", cell: (l) => time(l.to) },
	{ head: "Throughput", num: true, cell: (l) => (l.octets_per_s === null ? format.UNKNOWN : format.scaled(l.octets_per_s, "B/s")) },
	{ head: "Change", num: true, cell: change },
	{ head: "Steps take", num: true, cell: (l) => (l.stretch_ratio ? format.count(l.stretch_ratio, 2) + " x the best" : format.UNKNOWN) },
	{ head: "Step", num: true, cell: (l) => format.duration(l.step_s) },
];

const RANGE = "6h"; /* where the address names none */

/* Step and exchange time are kept of the worst job only. */
const WORST = [["step_time", "step"], ["exchange_time", "exchange"]];

function series(trend, compare, name, label) {
	const ret = [{ label, rows: trend.of(name) }];
	if (compare)
		ret.push({ label: label + ", " + compare[3], rows: trend.past(name) });
	return ret;
}

function charts(ctx, jobs) {
	const { trend, marked } = ctx.data, compare = compareOf(ctx);
	const range = [trend.from, trend.to];
	const shown = jobs.map((j) => chart({ title: "Throughput of " + j.job, unit: "bytes/s", range, marks: marked,
		series: [...series(trend, compare, "job:" + j.job + " rate", "throughput"), { label: "its usual level", rows: trend.of("job:" + j.job + " level") }] }));
	const lines = WORST.filter(([name]) => trend.of(name).length).flatMap(([name, label]) => series(trend, compare, name, label));
	if (lines.length)
		shown.push(chart({ title: "Step of the worst job", unit: "s", range, marks: marked, series: lines }));
	return h("div", { class: "charts" }, shown);
}

export const steps = {
	title: () => "Jobs and their rhythm",
	every: 10000,
	load: async (ctx, signal) => {
		const [doc, trend, marked] = await Promise.all([ctx.get("steps", times(ctx, RANGE), signal), history(ctx, RANGE, signal), marks(ctx, RANGE, signal)]);
		return { ...doc, trend, marked };
	},
	draw: (ctx) => {
		const jobs = (ctx.data.jobs || []).filter((j) => matches(j, ctx.filter));
		const levels = (ctx.data.levels || []).filter((l) => matches(l, ctx.filter));
		return h("div", { key: "steps" },
			h("div", { class: "controls" }, rangeChoice(ctx, RANGE, true), h("span", { class: "quiet" }, "times are UTC; a gap is a gap in the data")),
			panel("Jobs", { beside: ctx.data.from ? [time(ctx.data.from), " to ", time(ctx.data.to, format.clock)] : null },
				jobs.length ? table("Jobs", JOBS(ctx), jobs, (j) => j.job) : quiet("No job is configured or seen.")),
			jobs.length ? charts(ctx, jobs) : null, markList(ctx, ctx.data.marked),
			panel("Levels of throughput", {}, levels.length ? table("Levels of throughput", LEVELS, levels, (l, i) => [l.job, l.from, i].join(" "))
				: quiet("No change of throughput was seen in this time.")));
	},
};
