/* page_lint - what would be wrong with the fabric before it is changed or a link fails: rings of buffers with their witnesses, findings, and what was taken for granted. */
import { h } from "./dom.js";
import * as format from "./format.js";
import { matches } from "./state.js";
import { copy, facts, mark, panel, portLink, quiet, table } from "./widgets.js";

const FINDINGS = (ctx) => [
	{ head: "Severity", cell: (f) => mark(f.severity) },
	{ head: "Where", cell: (f) => [f.device ? portLink(ctx, f.device, f.port) : "fabric", f.priority === null ? "" : " p" + f.priority] },
	{ head: "What", wide: true, cell: (f) => [f.text, h("span", { class: "under" }, "→ " + f.remedy)] },
	{ head: "Check", drop: true, cell: (f) => format.words(f.check) },
];

function of(found, all) {
	return all ? format.count(found) + " of " + format.count(all) : "not judged";
}

const RINGS = [
	{ head: "Routing", cell: (r) => r.reroute },
	{ head: "Priority", num: true, cell: (r) => (r.priority === null ? "all lossless" : String(r.priority)) },
	{ head: "As it stands", cell: (r) => (r.whole ? mark("critical", "A RING IS POSSIBLE") : mark("ok", "NO RING")) },
	{ head: "With one failure", num: true, cell: (r) => of(r.cyclic_singles, r.singles) },
	{ head: "With two", num: true, cell: (r) => of(r.cyclic_pairs, r.pairs) },
	{ head: "Pairs not judged", num: true, drop: true, cell: (r) => format.count(r.unjudged_pairs) },
];

function witness(w, i) {
	const failed = w.failed.length ? w.failed.join(" and ") + " failed" : "nothing failed";
	return h("li", { key: i }, h("strong", {}, w.reroute), ", ", failed,
		h("ol", {}, w.ring.map((buffer, k) => h("li", { key: k }, buffer, ", packets to ", w.flows[k]))));
}

function lines(title, beside, texts) {
	return texts.length ? panel(title, { beside }, h("ul", {}, texts.map((text) => h("li", { key: text }, text)))) : null;
}

export const lint = {
	title: () => "Lint: before it is changed, and when a link fails",
	every: 300000,
	load: (ctx) => ctx.get("lint"),
	draw: (ctx) => {
		const d = ctx.data;
		const findings = d.findings.filter((f) => matches(f, ctx.filter));
		return h("div", { key: "lint" },
			panel("Verdict", {}, h("p", {}, mark(findings.length ? findings[0].severity : "ok"), " " + d.verdict),
				facts([["Judged", d.source], ["Switches", format.count(d.switches)], ["Links between them", format.count(d.links)],
					["With hosts", format.count(d.leaves)], ["Failures at once, at most", format.count(d.failures)]])),
			d.rings.length ? panel("Rings of buffers", { beside: "failures that make a ring possible, of those that were judged" },
				table("Rings of buffers", RINGS, d.rings, (r) => r.reroute + r.priority)) : null,
			panel("Findings", { beside: format.plural(d.findings.length, "finding") },
				findings.length ? table("Findings", FINDINGS(ctx), findings, (f, i) => f.check + f.text + i) : quiet("Nothing was found.")),
			d.witnesses.length ? panel("Witnesses", { beside: "each buffer waits for the next, the last for the first" },
				h("ul", { class: "rows" }, d.witnesses.map(witness))) : null,
			lines("Assumptions", "what was taken for granted", d.assumptions), lines("Not judged", "and what it would take", d.unjudged),
			copy("rocewatch lint", "the command"));
	},
};
