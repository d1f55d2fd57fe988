/* page_steps - the training rhythm: each job's throughput, step and exchange time, level by level. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
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

export const steps = {
	title: () => "Jobs and their rhythm",
	every: 10000,
	load: (ctx) => ctx.get("steps"),
	draw: (ctx) => {
		const jobs = (ctx.data.jobs || []).filter((j) => matches(j, ctx.filter));
		const levels = (ctx.data.levels || []).filter((l) => matches(l, ctx.filter));
		return h("div", { key: "steps" },
			panel("Jobs", { beside: ctx.data.from ? [time(ctx.data.from), " to ", time(ctx.data.to, format.clock)] : null },
				jobs.length ? table("Jobs", JOBS(ctx), jobs, (j) => j.job) : quiet("No job is configured or seen.")),
			panel("Levels of throughput", {}, levels.length ? table("Levels of throughput", LEVELS, levels, (l, i) => [l.job, l.from, i].join(" "))
				: quiet("No change of throughput was seen in this time.")));
	},
};
