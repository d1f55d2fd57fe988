/*
 * dom - draws a page from a description, and changes only what differs from the last description.
 *
 * h() describes an element, render() makes the document equal to the description. Elements with a
 * key are kept when their place changes, so focus, scroll position and selection survive an update.
 *
 * Text always becomes a text node. Nothing here or elsewhere in the page writes markup from data:
 * a device named "<img onerror=...>" is shown with these letters.
 */
const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "selected", "open", "indeterminate"]);

/* Counts what render() touched; the browser test prints it. */
export const touched = { nodes: 0 };

function flatten(children, ret) {
	for (const child of children) {
		if (child === null || child === undefined || child === false || child === true)
			continue;
		if (Array.isArray(child))
			flatten(child, ret);
		else if (typeof child === "object")
			ret.push(child);
		else
			ret.push({ tag: "#", text: String(child), key: undefined });
	}
	return ret;
}

/*
 * h - describes an element. @props: attributes; "class"; "on": {event: function}; "style": {property:
 * value}; "key": its identity among its siblings; "hook": {create, update, remove}, called with the
 * element when it is made, after each update, and before it goes. null and false: no attribute.
 */
export function h(tag, props, ...children) {
	const p = props || {};
	return { tag, props: p, key: p.key, children: flatten(children, []) };
}

function setProperty(dom, name, value) {
	if (dom[name] !== value)
		dom[name] = value;
}

function setAttribute(dom, name, value) {
	touched.nodes++;
	if (PROPERTIES.has(name) && name in dom)
		setProperty(dom, name, value === null || value === undefined ? "" : value);
	else if (value === null || value === undefined || value === false)
		dom.removeAttribute(name);
	else
		dom.setAttribute(name, value === true ? "" : value);
}

function setStyle(dom, before, after) {
	for (const name in before)
		if (!(name in after))
			dom.style.removeProperty(name);
	for (const name in after)
		if (before[name] !== after[name])
			dom.style.setProperty(name, after[name]);
}

/* One listener per event and element; it calls the newest function. */
function setListeners(dom, after) {
	if (!dom.rwListeners)
		dom.rwListeners = {};
	for (const name in dom.rwListeners)
		if (!(name in after))
			dom.rwListeners[name] = null;
	for (const name in after) {
		if (!(name in dom.rwListeners))
			dom.addEventListener(name, (e) => {
				const fn = dom.rwListeners[name];
				if (fn)
					fn(e);
			});
		dom.rwListeners[name] = after[name];
	}
}

function setProps(dom, before, after) {
	for (const name in before)
		if (!(name in after) && !["key", "on", "style", "hook"].includes(name))
			setAttribute(dom, name, null);
	for (const name in after) {
		const value = after[name];
		if (name === "key" || name === "hook")
			continue;
		if (name === "on")
			setListeners(dom, value);
		else if (name === "style")
			setStyle(dom, before.style || {}, value);
		else if (PROPERTIES.has(name) || before[name] !== value)
			setAttribute(dom, name, value);
	}
	if (before.on && !after.on)
		setListeners(dom, {});
}

function create(node, svg) {
	touched.nodes++;
	if (node.tag === "#") {
		node.dom = document.createTextNode(node.text);
		return node.dom;
	}
	const inSvg = svg || node.tag === "svg";
	const dom = inSvg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
	node.dom = dom;
	for (const child of node.children)
		dom.appendChild(create(child, inSvg));
	setProps(dom, {}, node.props); /* after the children: <select value> needs its options */
	if (node.props.hook && node.props.hook.create)
		node.props.hook.create(dom);
	return dom;
}

function discard(node) {
	if (node.tag === "#")
		return;
	for (const child of node.children)
		discard(child);
	if (node.props.hook && node.props.hook.remove)
		node.props.hook.remove(node.dom);
}

function update(before, after, svg) {
	const dom = before.dom;
	after.dom = dom;
	if (before === after)
		return;
	if (after.tag === "#") {
		if (before.text !== after.text) {
			touched.nodes++;
			dom.nodeValue = after.text;
		}
		return;
	}
	const inSvg = svg || after.tag === "svg";
	updateChildren(dom, before.children, after.children, inSvg);
	setProps(dom, before.props, after.props);
	if (after.props.hook && after.props.hook.update)
		after.props.hook.update(dom);
}

function identity(node, counts) {
	if (node.key !== undefined)
		return node.tag + " " + node.key;
	const n = counts.get(node.tag) || 0;
	counts.set(node.tag, n + 1);
	return node.tag + "\u0000" + n;
}

function sameShape(before, after) {
	if (before.length !== after.length)
		return false;
	for (let i = 0; i < before.length; i++)
		if (before[i].tag !== after[i].tag || before[i].key !== after[i].key)
			return false;
	return true;
}

function updateChildren(parent, before, after, svg) {
	if (sameShape(before, after)) {
		for (let i = 0; i < after.length; i++)
			update(before[i], after[i], svg);
		return;
	}
	const old = new Map();
	let counts = new Map();
	for (const node of before)
		old.set(identity(node, counts), node);
	counts = new Map();
	const kept = new Map();
	for (const node of after) {
		const id = identity(node, counts);
		if (old.has(id)) {
			kept.set(node, old.get(id));
			old.delete(id);
		}
	}
	for (const node of old.values()) {
		discard(node);
		parent.removeChild(node.dom);
	}
	let cursor = parent.firstChild;
	for (const node of after) {
		const match = kept.get(node);
		if (match)
			update(match, node, svg);
		else
			create(node, svg);
		if (node.dom === cursor)
			cursor = cursor.nextSibling;
		else
			parent.insertBefore(node.dom, cursor);
	}
}

/* render - makes the content of @root what @content (one description or a list) says. */
export function render(root, content) {
	const after = flatten([content], []);
	if (!root.rwContent)
		root.replaceChildren(); /* what the file had for the time before the first drawing */
	updateChildren(root, root.rwContent || [], after, false);
	root.rwContent = after;
}
