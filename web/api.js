/*
 * api - documents and the live stream of the server. The access token, when the server asks for one,
 * stays in this browser tab and travels only in the Authorization header.
 */
import { EventReader, intervalOf, retryAfter } from "./state.js";

const BASE = "api/v1/";
const TOKEN = "rocewatch-token";
const DEADLINE_MS = 20000;

export class ApiError extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

export function token() {
	return sessionStorage.getItem(TOKEN);
}

export function setToken(text) {
	if (text)
		sessionStorage.setItem(TOKEN, text);
	else
		sessionStorage.removeItem(TOKEN);
}

function headers(accept) {
	const ret = { Accept: accept };
	if (token())
		ret.Authorization = "Bearer " + token();
	return ret;
}

async function reason(response) {
	try {
		const body = await response.json();
		const error = body.error || body;
		if (typeof error === "string")
			return error;
		return error.message || error.text || response.statusText;
	} catch (e) {
		return response.statusText || "HTTP status " + response.status;
	}
}

/* get - the document at @path. Throws ApiError; its status is 0 when no answer came at all. */
export async function get(path, params = {}, signal) {
	const search = new URLSearchParams();
	for (const name in params)
		if (params[name] !== null && params[name] !== undefined && params[name] !== "")
			search.set(name, params[name]);
	const text = search.toString();
	const limit = AbortSignal.timeout(DEADLINE_MS);
	const either = signal ? AbortSignal.any([signal, limit]) : limit;
	let response;
	try {
		response = await fetch(BASE + path + (text ? "?" + text : ""),
			{ headers: headers("application/json"), signal: either, cache: "no-store" });
	} catch (e) {
		if (signal && signal.aborted)
			throw e;
		throw new ApiError(0, limit.aborted ? "no answer within 20 s" : "the server does not answer");
	}
	if (!response.ok)
		throw new ApiError(response.status, await reason(response));
	return response.json();
}

/* actor - in whose name this token may act: {who, pass}, nulls when it may only read. The pass is good once. */
export function actor() {
	return get("act");
}

/* act - does {do: "ack", id, text ...}; the agent's answer. Throws ApiError, which says why not. */
export async function act(what) {
	const may = await actor();
	if (!may.who)
		throw new ApiError(403, "this token may only read");
	const search = new URLSearchParams(Object.entries({ ...what, pass: may.pass }).filter(([, v]) => v));
	let response;
	try {
		response = await fetch(BASE + "act?" + search, { method: "POST", headers: headers("application/json"), signal: AbortSignal.timeout(DEADLINE_MS), cache: "no-store" });
	} catch (e) {
		throw new ApiError(0, "the server does not answer; whether it was done is not known");
	}
	if (!response.ok)
		throw new ApiError(response.status, await reason(response));
	return response.json();
}

/*
 * Live - the newest frame, kept up to date by the event stream. Calls @changed on each arrival and on
 * each change of the connection. Where the stream is not served, the frame is fetched instead.
 *
 * @link: connecting -> live -> lost (waits, tries again) -> ...; denied: a token is needed.
 */
export class Live {
	constructor(changed) {
		this.changed = changed;
		this.frame = null;
		this.arrivals = []; /* of frames */
		this.heard = 0; /* when the server last said something that holds */
		this.incidents = 0;
		this.link = "connecting";
		this.error = "";
		this.trouble = ""; /* why the server cannot make a frame at present */
		this.retryAt = 0;
		this.attempt = 0;
		this.stopped = true;
	}

	/* Since the server last said that the newest frame holds. */
	silentMs() {
		return this.arrivals.length ? performance.now() - this.heard : 0;
	}

	/* Since the newest frame was made. */
	frameMs() {
		return this.arrivals.length ? performance.now() - this.arrivals[this.arrivals.length - 1] : 0;
	}

	intervalMs() {
		return intervalOf(this.arrivals);
	}

	start() {
		if (!this.stopped)
			return;
		this.stopped = false;
		this.run();
	}

	stop() {
		this.stopped = true;
		if (this.abort)
			this.abort.abort();
		clearTimeout(this.timer);
	}

	/* Tries at once instead of after the wait. */
	retry() {
		this.stop();
		this.attempt = 0;
		this.start();
	}

	set(link, error) {
		this.link = link;
		this.error = error || "";
		this.changed("link");
	}

	take(frame) {
		this.frame = frame;
		this.trouble = "";
		this.heard = performance.now();
		this.arrivals.push(this.heard);
		if (this.arrivals.length > 8)
			this.arrivals.shift();
		this.attempt = 0;
		if (this.link !== "live")
			this.set("live");
		this.changed("frame");
	}

	async run() {
		this.abort = new AbortController();
		const mine = this.abort;
		try {
			const served = await this.stream(mine.signal);
			if (!served)
				await this.poll(mine.signal);
			throw new ApiError(0, "the server ended the stream");
		} catch (e) {
			if (!mine.signal.aborted)
				this.failed(e);
		}
	}

	/*
	 * Called every second: a connection that brings nothing for a long time is given up, and made
	 * again. A server that hangs keeps its sockets open; nobody else would notice.
	 */
	watch() {
		const limit = Math.max(15000, 6 * this.intervalMs());
		if (this.link !== "live" || this.silentMs() < limit)
			return;
		this.failed(new ApiError(0, "no update for " + Math.floor(this.silentMs() / 1000) + " s"));
	}

	failed(e) {
		this.abort.abort();
		if (e.status === 401 || e.status === 403) {
			this.stopped = true;
			this.set("denied", e.message);
			return;
		}
		const wait = retryAfter(this.attempt++, Math.random());
		this.retryAt = performance.now() + wait;
		this.set("lost", e instanceof ApiError ? e.message : "the connection broke");
		this.timer = setTimeout(() => {
			if (!this.stopped)
				this.run();
		}, wait);
	}

	/* False when the server has no event stream. */
	async stream(signal) {
		let response;
		try {
			response = await fetch(BASE + "events",
				{ headers: headers("text/event-stream"), signal, cache: "no-store" });
		} catch (e) {
			throw new ApiError(0, "the server does not answer");
		}
		if (response.status === 404 || response.status === 501)
			return false;
		if (!response.ok)
			throw new ApiError(response.status, await reason(response));
		const events = new EventReader();
		const text = new TextDecoder();
		const reader = response.body.getReader();
		for (;;) {
			const { done, value } = await reader.read();
			if (done)
				return true;
			for (const event of events.feed(text.decode(value, { stream: true })))
				this.event(event);
		}
	}

	event({ event, data }) {
		if (event === "watch")
			this.take(JSON.parse(data));
		if (event === "still" && !this.trouble)
			this.heard = performance.now();
		if (event === "trouble") {
			this.trouble = JSON.parse(data).error || "no frame can be made";
			this.changed("link");
		}
		if (event === "incident") {
			this.incidents++;
			this.changed("incident");
		}
	}

	async poll(signal) {
		for (;;) {
			this.take(await get("watch", {}, signal));
			await new Promise((done) => setTimeout(done, 2000));
			if (signal.aborted)
				return;
		}
	}
}
