/* route - what stands behind the # of the address: "#/port/leaf1/Ethernet1?range=6h". Pure. */

/* parse - {name, args, query} of the address's hash. */
export function parse(hash) {
	const text = hash.replace(/^#\/?/, "");
	const [path, search] = text.split(/\?(.*)/s);
	const parts = path.split("/").map(decode).filter((p) => p !== "");
	const query = {};
	for (const [name, value] of new URLSearchParams(search || ""))
		query[name] = value;
	return { name: parts[0] || "overview", args: parts.slice(1), query };
}

function decode(part) {
	try {
		return decodeURIComponent(part);
	} catch (e) {
		return part;
	}
}

/* to - the hash of a page: to("port", ["leaf1", "Ethernet1"], {range: "6h"}). */
export function to(name, args = [], query = {}) {
	const path = [name, ...args].map((a) => encodeURIComponent(a)).join("/");
	const search = new URLSearchParams();
	for (const key in query)
		if (query[key] !== null && query[key] !== undefined && query[key] !== "")
			search.set(key, query[key]);
	const text = search.toString();
	return "#/" + path + (text ? "?" + text : "");
}

/* What goes along from page to page: the time that is shown, its range, and what it is compared with. */
const KEPT = ["around", "range", "compare"];

export function kept(query) {
	return Object.fromEntries(KEPT.filter((name) => query[name]).map((name) => [name, query[name]]));
}

/*
 * resolve - the page of an address, and the address as it should stand: {row, here}. "#/tuning/ID" means
 * the sheet within that list, "#/jobs" the page so labelled. @row is null where no page is meant: an
 * address that came by mail must not show another page as if it were the one.
 */
export function resolve(pages, here) {
	const row = pages.find((p) => p.name === here.name || p.also === here.name);
	if (!row)
		return { row: null, here };
	if (here.args.length === (row.args || 0))
		return { row, here: { ...here, name: row.name } };
	const within = pages.find((p) => p.within === row.name && p.args === here.args.length);
	return { row: within || null, here: within ? { ...here, name: within.name } : here };
}
