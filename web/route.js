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
