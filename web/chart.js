/*
 * chart - a time series drawn by dygraphs. A gap in the data is a gap in the line. Beneath each drawing
 * stands a table of the same series (newest, mean, highest), for those who do not see it.
 */
/* global Dygraph */
import { h } from "./dom.js";
import * as format from "./format.js";
import { quiet, table } from "./widgets.js";

/* The colours stand in style.css (--series0 ...); each line has its own dashes too. */
const SERIES_MAX = 6;
const DASHES = [null, [7, 3], [2, 2], [10, 3, 2, 3], [14, 4], [4, 4]];

/* points - rows [time, value of the first series, ...] from [{label, rows: [{time, value}], factor, most}].
 * A counter that is read a moment late shows more than there can be: @most is all. */
export function points(series) {
	const at = new Map();
	series.forEach((s, i) => {
		for (const row of s.rows) {
			const t = format.parseTime(row.time);
			if (!at.has(t))
				at.set(t, new Array(series.length).fill(null));
			if (typeof row.value === "number")
				at.get(t)[i] = Math.min(row.value * (s.factor || 1), s.most === undefined ? Infinity : s.most);
		}
	});
	return [...at.entries()].sort((a, b) => a[0] - b[0]).map(([t, values]) => [new Date(t), ...values]);
}

/* sums - what the table shows of one series: null where nothing was measured. */
export function sums(rows, i) {
	let n = 0, sum = 0, high = null, last = null;
	for (const row of rows) {
		const v = row[i + 1];
		if (v === null)
			continue;
		n++;
		sum += v;
		last = v;
		if (high === null || v > high)
			high = v;
	}
	return { n, mean: n ? sum / n : null, high, last };
}

function colours() {
	const style = getComputedStyle(document.documentElement);
	const of = (name) => style.getPropertyValue(name).trim();
	return { axis: of("--quiet"), grid: of("--line"), series: Array.from({ length: SERIES_MAX }, (x, i) => of("--series" + i)) };
}

function options(spec, readout) {
	const { axis, grid, series } = colours();
	const show = (v) => format.value(v, spec.unit);
	return {
		labels: ["time", ...spec.series.map((s) => s.label)],
		colors: series, series: Object.fromEntries(spec.series.map((s, i) => [s.label, { strokePattern: DASHES[i % DASHES.length] }])),
		legend: "never", labelsUTC: true, connectSeparatedPoints: false, strokeWidth: 1.6, drawGapEdgePoints: true, includeZero: true,
		gridLineColor: grid, axisLineColor: axis, axisLabelFontSize: 12, xRangePad: 4,
		dateWindow: spec.range, animatedZooms: false,
		axes: { y: { axisLabelFormatter: (v) => axisText(v, spec.unit), axisLabelWidth: 76 }, x: { axisLabelFormatter: axisTime } },
		highlightCallback: (e, x, at) => {
			readout.textContent = format.moment(x / 1000) + "   " + at.map((p) => p.name + " " + show(p.yval)).join(",  ");
		},
		unhighlightCallback: () => {
			readout.textContent = "";
		},
	};
}

/* The unit of a rate stands in the title; elsewhere there is room for the number only. */
function unitInTitle(unit) {
	return unit.endsWith("/s") && unit !== "bit/s";
}

function short(v, unit) {
	return unitInTitle(unit) ? format.rate(v, "").trim() : format.value(v, unit);
}

function axisText(v, unit) {
	if (v === 0)
		return "0";
	return unitInTitle(unit) ? format.scaled(v, "").trim() : format.value(v, unit);
}

function axisTime(date, granularity, opts) {
	return Dygraph.dateAxisLabelFormatter(date, granularity, opts);
}

/* The legend of dygraphs writes style attributes, which the page's policy refuses; the table is ours. */
function withoutLegend() {
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter((p) => p.prototype.toString() !== "Legend Plugin");
}

/* Marks stand behind the lines: an incident as a span, a change or a sheet as an upright line. */
function drawMarks(dom, canvas, area, g) {
	const style = getComputedStyle(document.documentElement);
	const edge = (t) => Math.max(area.x, Math.min(area.x + area.w, g.toDomXCoord(t)));
	canvas.save();
	for (const m of dom.rwMarks || []) {
		const x = edge(m.t), till = m.kind === "incident" ? edge(m.until || Infinity) : x;
		canvas.fillStyle = style.getPropertyValue(m.severity === "critical" ? "--critical" : m.kind === "incident" ? "--warning" : "--info").trim();
		canvas.globalAlpha = 0.16;
		canvas.fillRect(x, area.y, till - x, area.h);
		canvas.globalAlpha = 0.9;
		if (x > area.x && x < area.x + area.w)
			canvas.fillRect(x - 1, area.y, 2, area.h);
	}
	canvas.restore();
}

function start(dom, spec) {
	withoutLegend();
	const readout = document.createElement("p");
	readout.className = "readout";
	readout.setAttribute("aria-hidden", "true");
	const plot = document.createElement("div");
	plot.className = "plot";
	dom.append(plot, readout);
	dom.rwRows = spec.rows;
	dom.rwMarks = spec.marks;
	dom.rwChart = new Dygraph(plot, spec.rows, { ...options(spec, readout), underlayCallback: (canvas, area, g) => drawMarks(dom, canvas, area, g) });
}

/*
 * chart - @spec: {title, unit, series: [{label, rows, factor, most}], range: [from, to] in ms, note, marks: of
 * marksOf()}. The chart is made once and then given new rows.
 */
export function chart(spec) {
	const rows = points(spec.series);
	const seen = spec.series.map((s, i) => ({ label: s.label, ...sums(rows, i) }));
	const show = (v) => short(v, spec.unit);
	const some = seen.some((s) => s.n);
	const full = { ...spec, rows };
	return h("figure", { key: spec.title, class: "chart" },
		h("figcaption", {}, h("strong", {}, spec.title), h("span", { class: "quiet" }, " " + (unitInTitle(spec.unit) ? spec.unit : "")), spec.note ? h("span", { class: "quiet" }, " " + spec.note) : null),
		some ? h("div", { key: "plot" + spec.series.length, class: "chart-box", "aria-hidden": "true", hook: {
			create: (dom) => requestAnimationFrame(() => {
				if (dom.isConnected && typeof Dygraph !== "undefined")
					start(dom, full);
			}),
			update: (dom) => {
				if (dom.rwChart && JSON.stringify([dom.rwRows, dom.rwMarks]) !== JSON.stringify([rows, spec.marks])) {
					dom.rwRows = rows;
					dom.rwMarks = spec.marks;
					dom.rwChart.updateOptions({ file: rows, dateWindow: spec.range });
				}
			},
			remove: (dom) => dom.rwChart && dom.rwChart.destroy(),
		} }) : quiet("Not collected, or no sample in this time: unknown."),
		some ? table(spec.title, [
			{ head: "Series", cell: (s) => [h("span", { class: "key key" + seen.indexOf(s), "aria-hidden": "true" }), s.label] },
			{ head: "Newest", num: true, cell: (s) => show(s.last) }, { head: "Mean", num: true, cell: (s) => show(s.mean) },
			{ head: "Highest", num: true, cell: (s) => show(s.high) },
		], seen, (s) => s.label) : null);
}
