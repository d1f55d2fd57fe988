/*
 * format - values as people read them. Pure functions. A value that is not there is "unknown", never 0.
 */
export const UNKNOWN = "unknown";

function absent(v) {
	return v === null || v === undefined || v === "" || Number.isNaN(v);
}

/* Removes the zeros that say nothing: "7.10" is "7.1", "5.0" is "5". */
function trim(text) {
	if (!text.includes("."))
		return text;
	return text.replace(/0+$/, "").replace(/\.$/, "");
}

/* count - a number with a separator of thousands and at most @digits decimals. */
export function count(v, digits = 0) {
	if (absent(v))
		return UNKNOWN;
	const [whole, part] = trim(Math.abs(v).toFixed(digits)).split(".");
	const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
	const text = part ? grouped + "." + part : grouped;
	return v < 0 && /[1-9]/.test(text) ? "-" + text : text;
}

const STEPS = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/* scaled - three digits and a decimal prefix: 297123, "frames/s" is "297 k frames/s". */
export function scaled(v, unit) {
	if (absent(v))
		return UNKNOWN;
	const size = Math.abs(v);
	for (const [step, prefix] of STEPS)
		if (size >= step * 0.9995)
			return trim((v / step).toPrecision(3)).replace(/e\+\d+/, "") + " " + (prefix === "k" && unit[0] === "B" ? "K" : prefix) + unit;
	if (size === 0)
		return "0 " + unit;
	if (size < 0.01)
		return "< 0.01 " + unit;
	return count(v, size < 10 ? 2 : size < 100 ? 1 : 0) + " " + unit;
}

/* rate - events per second. Up to 100,000 with all digits, above with a prefix. */
export function rate(v, unit) {
	if (absent(v))
		return UNKNOWN;
	if (Math.abs(v) >= 1e5)
		return scaled(v, " " + unit).replace(/ ([kMGTP])? /, "$1 ");
	if (v !== 0 && Math.abs(v) < 0.01)
		return "< 0.01 " + unit;
	return count(v, Math.abs(v) < 10 ? 2 : Math.abs(v) < 100 ? 1 : 0) + " " + unit;
}

/* ratio - a share of one as percent. */
export function ratio(v) {
	if (absent(v))
		return UNKNOWN;
	const percent = v * 100;
	const size = Math.abs(percent);
	if (size < 1e-9)
		return "0 %";
	if (size < 0.01)
		return "< 0.01 %";
	return count(percent, size < 1 ? 2 : size < 99.95 ? 1 : 0) + " %";
}

export function bytes(v) {
	if (absent(v))
		return UNKNOWN;
	if (Math.abs(v) < 1000)
		return count(v) + " B";
	return scaled(v, "B");
}

export function bitrate(v) {
	if (absent(v))
		return UNKNOWN;
	return scaled(v, "bit/s");
}

/* duration - seconds, in the two largest units that matter. */
export function duration(s) {
	if (absent(s))
		return UNKNOWN;
	const size = Math.abs(s);
	if (size === 0)
		return "0 s";
	if (size < 1e-6)
		return count(s * 1e9) + " ns";
	if (size < 1e-3)
		return count(s * 1e6, 1) + " µs";
	if (size < 1)
		return count(s * 1e3, size < 0.01 ? 2 : size < 0.1 ? 1 : 0) + " ms";
	if (size < 60)
		return count(s, size < 10 ? 1 : 0) + " s";
	const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
	const at = units.findIndex(([length]) => size >= length);
	const first = Math.floor(size / units[at][0]);
	const rest = at + 1 < units.length ? Math.floor((size % units[at][0]) / units[at + 1][0]) : 0;
	const text = first + " " + units[at][1] + (rest ? " " + rest + " " + units[at + 1][1] : "");
	return s < 0 ? "-" + text : text;
}

export function dollars(v) {
	if (absent(v))
		return UNKNOWN;
	return "$" + count(v, Math.abs(v) < 10 && v !== 0 ? 2 : 0);
}

/* perHour - money per hour; an incident without a price has a dash, not $0. */
export function perHour(v) {
	if (absent(v))
		return "no price";
	return dollars(v) + "/h";
}

/* parseTime - milliseconds since 1970 of an RFC 3339 text or a number of seconds; NaN without. */
export function parseTime(t) {
	if (absent(t))
		return NaN;
	return typeof t === "number" ? t * 1000 : Date.parse(t);
}

function two(n) {
	return String(n).padStart(2, "0");
}

export function clock(t) {
	const d = new Date(parseTime(t));
	if (Number.isNaN(d.getTime()))
		return UNKNOWN;
	return two(d.getUTCHours()) + ":" + two(d.getUTCMinutes()) + ":" + two(d.getUTCSeconds()) + "Z";
}

export function day(t) {
	const d = new Date(parseTime(t));
	if (Number.isNaN(d.getTime()))
		return UNKNOWN;
	return d.getUTCFullYear() + "-" + two(d.getUTCMonth() + 1) + "-" + two(d.getUTCDate());
}

/* moment - date and time, UTC, to the second. */
export function moment(t) {
	if (Number.isNaN(parseTime(t)))
		return UNKNOWN;
	return day(t) + " " + clock(t);
}

/* localTime - the same in the reader's time zone, for the tool tip. */
export function localTime(t) {
	const d = new Date(parseTime(t));
	if (Number.isNaN(d.getTime()))
		return "";
	return "your time: " + d.toLocaleString(undefined, { timeZoneName: "short" });
}

const UNITS = {
	ratio,
	bytes,
	B: bytes,
	"bytes/s": (v) => scaled(v, "B/s"),
	"bit/s": bitrate,
	bps: bitrate,
	s: duration,
	ms: (v) => duration(v / 1e3),
	ns: (v) => duration(v / 1e9),
	usd: dollars,
	"%": (v) => ratio(v / 100),
};

/* value - @v in @unit, as the documents name units. */
export function value(v, unit) {
	if (absent(v))
		return UNKNOWN;
	if (typeof v !== "number")
		return String(v);
	if (UNITS[unit])
		return UNITS[unit](v);
	if (!unit || unit === "-")
		return count(v, Number.isInteger(v) ? 0 : 3);
	if (unit.endsWith("/s"))
		return rate(v, unit);
	return count(v, Math.abs(v) < 100 ? 2 : 0) + " " + unit;
}

/*
 * measured - a value with what is known of it. A bound shows both ends: the truth lies between them.
 * @quality: exact, bound, estimated or unknown.
 */
export function measured(v, low, unit, quality) {
	if (absent(v) || quality === "unknown")
		return UNKNOWN;
	if (quality === "estimated")
		return "about " + value(v, unit);
	if (quality !== "bound")
		return value(v, unit);
	if (absent(low) || low <= 0)
		return "at most " + value(v, unit);
	return value(low, unit) + " to " + value(v, unit);
}

/* pauseRate - a share of the time: 100 % is always paused. */
export function pauseRate(low, high, exact) {
	const hi = absent(high) ? low : high;
	if (absent(hi))
		return UNKNOWN;
	if (exact || absent(low) || low === hi)
		return ratio(hi);
	return low <= 0 ? "at most " + ratio(hi) : ratio(low) + " to " + ratio(hi);
}

/* plural - "1 switch", "2 switches". */
export function plural(n, one, many) {
	return count(n) + " " + (n === 1 ? one : many || one + "s");
}

/* words - an identifier of a document as words: "direct_victim" is "direct victim". */
export function words(id) {
	return absent(id) ? UNKNOWN : String(id).replace(/_/g, " ");
}
