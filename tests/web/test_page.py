#!/usr/bin/env python3
"""The web page in a real browser: pure functions, 64 x 64 made-up switches, hostile names, a server that hangs or is gone, a recorded case and a live lab behind `rocewatch web`.
Usage: test_page.py BUILD_DIRECTORY. Exit 77: no browser here."""
import contextlib, http.client, json, os, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fabric"))
from browser import Browser, Failed, binaries, check, need_selenium

need_selenium()
from selenium.webdriver.common.keys import Keys  # noqa: E402
import live_lab  # noqa: E402
from made_up import Fabric  # noqa: E402
from page_server import PageServer  # noqa: E402
from ports import free_port  # noqa: E402
from patience import HANG_S  # noqa: E402

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
WEB = os.path.join(SOURCE, "web")
PAGES = ("overview", "incidents", "tree", "ecmp", "steps", "ports", "tuning", "alerts", "lint", "doctor")
READY = "document.querySelector('main').dataset.shown === (location.hash.replace(/^#\\/?/, '').split(/[/?]/)[0] || 'overview') + ' ready' && document.querySelector('main h1') && !/Loading \\.\\.\\.|Waiting for/.test(document.querySelector('main').innerText)"
HOSTILE = "<img src=x onerror=window.hacked=1>"
figures = []


class Web:
    """`rocewatch web` as a child."""
    def __init__(self, binary, work, name, arguments, port=0):
        self.port_file = os.path.join(work, name + ".port")
        if os.path.exists(self.port_file):
            os.unlink(self.port_file)
        self.log = os.path.join(work, name + ".log")
        with open(self.log, "a") as out:
            self.process = subprocess.Popen([binary, *arguments, "web", "--listen", "127.0.0.1:%d" % port, "--port-file", self.port_file], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.port = live_lab.wait_for(name + " is served", self.ready, 60, 0.05)
        self.url = "http://127.0.0.1:%d/" % self.port

    def ready(self):
        if self.process.poll() is not None:
            with open(self.log) as f:
                raise Failed("rocewatch web ended with %s: %s" % (self.process.returncode, f.read()[-600:]))
        if not os.path.exists(self.port_file):
            return 0
        with open(self.port_file) as f:
            return int(f.read() or 0)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


# --- what holds on every page ---

# Contrast after WCAG 2.2, 1.4.3: 4.5, and 3 for large text. The nearest painted background behind a text counts.
CONTRAST = """
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length && (c.length < 4 || c[3] > 0.9)) return c; } return [255, 255, 255]; };
const bad = new Set();
for (const e of document.querySelectorAll("body *")) {
	if (e.closest("svg, canvas, .hidden, .skip, .plot, noscript, dialog:not([open])") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim())) continue;
	const s = getComputedStyle(e);
	if (s.visibility === "hidden" || s.display === "none" || !e.getClientRects().length) continue;
	const a = light(parse(s.color)), b = light(behind(e));
	const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	const size = parseFloat(s.fontSize), large = size >= 24 || (size >= 18.66 && Number(s.fontWeight) >= 700);
	if (ratio < (large ? 3 : 4.5)) bad.add(e.className + ": " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
}
return [...bad].slice(0, 5);
"""

# Landmarks, one h1, names of controls, captions of tables, no positive tabindex, unique ids.
STRUCTURE = """
const bad = [];
const one = (s) => { const n = document.querySelectorAll(s).length; if (n !== 1) bad.push(n + " of " + s); };
["header", "nav", "main", "main h1", "[aria-live=polite]"].forEach(one);
const name = (e) => (e.getAttribute("aria-label") || e.innerText || e.title || (e.id && document.querySelector("label[for=" + e.id + "]") || {}).innerText || e.textContent || "").trim();
for (const e of document.querySelectorAll("a, button, input, [role=gridcell], [role=img], [role=region]"))
	if (!e.closest("[aria-hidden=true]") && !name(e)) bad.push("no name: " + e.outerHTML.slice(0, 80));
for (const t of document.querySelectorAll("table")) if (!t.caption) bad.push("a table without caption");
for (const t of document.querySelectorAll("th")) if (!t.scope) bad.push("a th without scope");
for (const e of document.querySelectorAll("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) bad.push("tabindex " + e.getAttribute("tabindex"));
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
ids.forEach((id, i) => { if (ids.indexOf(id) !== i) bad.push("id twice: " + id); });
for (const m of document.querySelectorAll(".mark")) if (!/[A-Za-z]{2}/.test(m.innerText)) bad.push("a state without a word");
return bad.slice(0, 6);
"""


# What a person reads, hears or gets by Copy, in the page and in an open dialog. A value that is absent has a word of its own ("unknown",
# "-"); these four are a program's words for what its author forgot.
READ = """
const texts = [document.title, document.body.innerText];
for (const e of document.querySelectorAll("body *"))
	for (const name of ["title", "aria-label", "placeholder", "alt", "href", "datetime"])
		if (e.hasAttribute(name)) texts.push(e.getAttribute(name));
for (const e of document.querySelectorAll("code, pre, .hidden, svg text, input")) texts.push(e.value === undefined ? e.textContent : String(e.value));
return texts.join("\\n");
"""
FORGOTTEN = re.compile(r"\[object|\bundefined\b|\bNaN\b|\bnull\b")


def readable(b, what):
    text = b.js(READ)
    found = FORGOTTEN.search(text)
    check(not found, "%s: the page says: %s" % (what, text[max(0, found.start() - 120):found.end() + 120] if found else ""))


def sound(b, what):
    readable(b, what)
    found = b.js(STRUCTURE)
    check(not found, "%s: %s" % (what, found))
    found = b.js(CONTRAST)
    check(not found, "%s: contrast: %s" % (what, found))
    check(b.js("return !window.hacked"), "%s: a name ran as a script" % what)


def fits(b, what):
    wide = b.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    check(wide <= 1, "%s: %d pixels wider than the screen" % (what, wide))


def go(b, hash_text):
    b.js("location.hash = arguments[0]", hash_text)
    b.wait(hash_text + " is shown", "location.hash === arguments[0] && " + READY, 20, hash_text)
    readable(b, hash_text)


# --- made-up fabrics ---

def units(b, work):
    server = PageServer(WEB, Fabric().document)
    try:
        b.open(server.url)
        ret = b.js_async("return (await import('/tests/units.js')).run()")
        check("error" not in ret, "units: %s" % ret.get("error"))
        check(not ret["failures"], "units: %s" % "; ".join(ret["failures"]))
        check(ret["rows"] > 60, "units: %d rows" % ret["rows"])
    finally:
        server.close()


def large(b, work):
    """64 switches x 64 ports: what the page costs. The figures are printed; how fast this machine is decides nothing."""
    fabric = Fabric()
    fabric.matrix()
    server = PageServer(WEB, fabric.document, interval_s=0.25)
    try:
        for page in ("overview", "ecmp", "ports"):
            b.open(server.url + "#/" + page)
            b.wait("%s of 64 x 64" % page, READY, 30)
            b.wait("frames of " + page, "performance.getEntriesByName('rocewatch update').length > 8", 30)
            paint = b.js("return performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint').startTime")
            content = b.js("return performance.getEntriesByName('rocewatch content')[0].startTime")
            before = {m["name"]: m["value"] for m in b.cdp("Performance.getMetrics")["metrics"]} if b.cdp("Performance.enable") is not None else {}
            seen = b.js("performance.clearMeasures('rocewatch update'); return 0")
            b.wait("more frames of " + page, "performance.getEntriesByName('rocewatch update').length >= 6", 30)
            after = {m["name"]: m["value"] for m in b.cdp("Performance.getMetrics")["metrics"]}
            times = sorted(b.js("return performance.getEntriesByName('rocewatch update').map((e) => e.duration)"))
            nodes = sorted(b.js("return performance.getEntriesByName('rocewatch update').map((e) => e.detail.nodes)"))
            rendering = (after["LayoutDuration"] + after["RecalcStyleDuration"] - before.get("LayoutDuration", 0) - before.get("RecalcStyleDuration", 0)) * 1000 / len(times)
            figures.append("64 x 64 %s: first paint %.0f ms, with data %.0f ms, update %.1f ms median, %.1f ms worst, layout and style %.1f ms each, %d nodes touched of %d" %
                           (page, paint, content, times[len(times) // 2], times[-1], rendering, nodes[len(nodes) // 2], b.js("return document.querySelectorAll('*').length") + seen))
        go(b, "#/ecmp")
        b.wait("frames", "performance.getEntriesByName('rocewatch update').slice(-3).every((e) => e.detail.page === 'ecmp')")
        b.js("performance.clearMeasures('rocewatch update')")
        b.wait("more frames", "performance.getEntriesByName('rocewatch update').length > 6")
        check(b.js("return document.querySelectorAll('#heatmap [data-cell]').length") == 4096, "the heat map has not 64 x 64 cells")
        check(b.js("return performance.getEntriesByName('rocewatch update').slice(1).every((e) => e.detail.nodes < 2000)"), "an update draws the whole heat map again")
        b.size(360, 740)
        for page in PAGES:
            go(b, "#/" + page)
            fits(b, page + " at 360 pixels")
        b.size(3840, 2160)
        go(b, "#/overview")
        fits(b, "overview at 3840 pixels")
        b.size(1440, 900)
        b.quiet("64 x 64", server.url)
    finally:
        server.close()


def hostile(b, work):
    """Every switch is named like an attack; each page, in the dark and in the light."""
    fabric = Fabric(lambda i: HOSTILE + "%d" % i)
    server = PageServer(WEB, fabric.document)
    cell = "#/ecmp?leaf=" + HOSTILE.replace("<", "%3C").replace(">", "%3E").replace(" ", "+").replace("=", "%3D") + "0"
    try:
        for dark in (True, False):
            b.dark(dark)
            b.open(server.url)
            for hash_text in ["#/" + p for p in PAGES] + ["#/incident/made0001", "#/sheet/sheet001", "#/port/%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D1%3E/Ethernet1", "#/device/%3Csvg%20onload%3Dhack()%3E", cell]:
                b.js("location.hash = arguments[0]", hash_text)
                b.wait(hash_text, READY, 20)
                what = "%s, hostile names, %s" % (hash_text[:14], "dark" if dark else "light")
                check(b.js("return document.querySelectorAll('main img, head img, script:not([src])').length") == 0, what + ": markup came from data")
                sound(b, what)
            go(b, "#/overview")
            check(HOSTILE in b.text(), "a hostile name is not shown as it is")
        b.dark(True)
        b.quiet("hostile names", server.url)
    finally:
        server.close()


def lost(b, work):
    """A server that hangs: UNKNOWN. One that goes away: a banner, and back by itself on the same port."""
    port = free_port()
    server = PageServer(WEB, Fabric().document, interval_s=0.2, port=port)
    url = server.url
    b.open(url)
    b.wait("the first frame", "document.querySelector('#state').innerText.includes('WARNING')")
    server.hang = True
    b.js("const real = performance.now.bind(performance); window.ahead = 0; performance.now = () => real() + window.ahead; window.ahead = 16000")
    b.wait("a server that hangs makes the state unknown", "document.querySelector('#state').innerText.includes('UNKNOWN') && /no update from the server for \\d+ s/.test(document.querySelector('#why').innerText)", 5)
    check("LAST KNOWN VALUES" in b.text("h1"), "old values look like new ones")
    b.wait("a stale signal is never OK", "[...document.querySelectorAll('.signals .mark')].every((m) => /WAS |UNKNOWN/.test(m.innerText))", 5)
    check("UNKNOWN" in b.text("#announce"), "a screen reader is not told")
    b.complaints()
    server.close()
    b.js("window.ahead += 20000")
    b.wait("a lost connection is reported", "/Connection lost/.test(document.querySelector('#banners').innerText)", 10)
    b.complaints()
    server = PageServer(WEB, Fabric().document, interval_s=0.2, port=port)
    try:
        b.wait("the page comes back by itself", "!/Connection lost/.test(document.querySelector('#banners').innerText) && document.querySelector('#state').innerText.includes('WARNING')", 20)
        b.complaints()  # refused connections were expected
    finally:
        server.close()


# --- a recorded case behind the real server ---

def run(*argv):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
    check(p.returncode == 0, "%s: %s" % (" ".join(argv[1:3]), p.stderr[:300]))
    return p.stdout


def record(binary, work, scenario="pfc-storm", more=()):
    case, db = os.path.join(work, scenario), os.path.join(work, scenario + ".db")
    shipped = live_lab.shipped(os.path.dirname(binary))
    run(shipped, "lab", "record", "--begin", "1970-01-01T00:00:00Z", scenario, "--out", case, *more)
    with open(os.path.join(case, "fabric.yaml"), "a") as f:
        f.write("tuning: { min_evidence: 5m }\n")
    run(shipped, "replay", "--from", case, "--db", db)
    return db


def tab_to(b, what, script, most=80):
    """Tab until @script holds for the focused element; each element on the way must show the focus. The page
    itself puts the focus on main when another page is opened, and shows none there."""
    for _ in range(most):
        b.key(Keys.TAB)
        state = b.js("const e = document.activeElement; const s = getComputedStyle(e); return {here: Boolean((" + script + ")(e)), seen: e === document.body || e.id === 'main' || s.outlineStyle !== 'none' || e.matches('.cell'), what: e.outerHTML.slice(0, 80)}")
        check(state["seen"], "the focus is not visible on " + state["what"])
        if state["here"]:
            return
    raise Failed("%s: not reached with %d times Tab" % (what, most))


def drill_mouse(b, url):
    b.open(url)
    b.wait("the incident on the overview", "document.querySelector('.incidents a[data-row]')")
    b.click(".incidents a[data-row]")
    b.wait("the card", "location.hash.startsWith('#/incident/') && " + READY)
    text = b.text("main")
    for word in ("node-010", "leaf2", "CRITICAL", "$960/h", "DO NOW", "ethtool", "TIMELINE", "EVIDENCE"):
        check(word.lower() in text.lower(), "the card has no %s: %s" % (word, text[:600]))
    runbook = b.js("return document.querySelector(\"main a[href*='runbooks/']\").href")
    check(runbook == url.split("#")[0].rstrip("/") + "/runbooks/pfc_storm", "the card links to %s" % runbook)
    b.click("main a[href*='#/tree']")
    b.wait("the tree", "location.hash.startsWith('#/tree?incident=') && " + READY)
    check("leaf2" in b.text(".branches") and "<--" in b.text(".branches") and "100 %" in b.text(".branches"), "the tree: %s" % b.text("main"))
    check(b.js("return document.querySelectorAll('.tree-drawing .node').length") >= 6, "the tree is not drawn")
    b.click(".branches a[data-row]")
    b.wait("the port", "location.hash === '#/port/leaf2/Ethernet2' && " + READY)
    b.wait("its charts", "document.querySelectorAll('.chart canvas').length > 4")


def drill_keyboard(b, url):
    b.open(url)
    b.wait("the overview", "document.querySelector('.incidents a[data-row]')")
    b.key("i")
    b.wait("i opens the incidents", "location.hash === '#/incidents' && " + READY + " && document.querySelector('main a[data-row]')")
    tab_to(b, "a row of the list", "(e) => e.matches('main a[data-row]')")
    b.key(Keys.ENTER)
    b.wait("Enter opens the card", "location.hash.startsWith('#/incident/') && " + READY + " && document.querySelector(\"main a[href*='#/tree']\")")
    tab_to(b, "the way to the tree", "(e) => e.matches(\"main a[href*='#/tree']\")")
    b.key(Keys.ENTER)
    b.wait("Enter opens the tree", "location.hash.startsWith('#/tree?incident=') && " + READY + " && document.querySelector('.branches a[data-row]')")
    tab_to(b, "a row of the tree", "(e) => e.matches('.branches a[data-row]')")
    b.key(Keys.ARROW_DOWN)
    check(b.js("return document.activeElement.innerText.startsWith('spine1')"), "the arrow does not go to the next row")
    b.key(Keys.ARROW_UP, Keys.ENTER)
    b.wait("Enter opens the port", "location.hash === '#/port/leaf2/Ethernet2' && document.querySelectorAll('.chart canvas').length > 4")


def keys(b):
    for key, name in zip("otespualdi", ("overview", "tree", "ecmp", "steps", "ports", "tuning", "alerts", "lint", "doctor", "incidents")):
        b.key(key)
        b.wait("key %s" % key, "location.hash === '#/' + arguments[0] && " + READY, 20, name)
        check(b.js("return document.querySelector('nav [aria-current=page]').getAttribute('href')") == "#/" + name, "the navigation does not show " + name)
    b.key("?")
    b.wait("? opens the help", "document.querySelector('dialog').open && /Pause tree/.test(document.querySelector('dialog').innerText)")
    b.key(Keys.ESCAPE)
    b.wait("Esc closes it", "!document.querySelector('dialog').open")
    b.key("w")
    b.wait("w asks for a time", "document.querySelector('dialog').open && document.querySelector('#when').value.startsWith('1970-01-01T00:15')")
    b.key(Keys.ESCAPE)
    b.wait("Esc closes it too", "!document.querySelector('dialog').open")
    before = b.js("return getComputedStyle(document.body).backgroundColor")
    for theme in ("dark", "light", "auto"):
        b.js("[...document.querySelectorAll('nav button')].find((e) => /Theme/.test(e.innerText)).click()")
        check(theme in b.text("nav"), "the theme is not " + theme)
        check((b.js("return getComputedStyle(document.body).backgroundColor") == before) == (theme != "light"), "the colours of theme " + theme)
    b.key("/")
    b.key("no-such-thing")
    b.wait("the filter hides the row", "document.querySelectorAll('main a[data-row]').length === 0")
    b.key(Keys.ESCAPE)
    b.wait("Esc clears the filter", "document.querySelectorAll('main a[data-row]').length > 0")
    b.key(Keys.ESCAPE)
    b.wait("Esc leads to the overview", "location.hash === '#/overview'")


def heat_map(b):
    go(b, "#/ecmp")
    b.wait("the matrix", "document.querySelectorAll('#heatmap [data-cell]').length === 16")
    check(b.js("return document.querySelectorAll('.history rect').length") > 10, "too few windows")
    check(b.js("return document.querySelectorAll('.heatmap .hot').length") == 0, "a cell is hot in a storm without traffic")
    check(b.js("return document.querySelectorAll('.history .over').length") == 0, "crumbs of a storm without traffic are shown as imbalance")
    dragged(b)
    tab_to(b, "the scrubber", "(e) => e.id === 'scrubber'")
    whole = b.text("#window")
    b.key(Keys.ARROW_LEFT)
    b.wait("the arrow moves the scrubber", "document.querySelector('#window').innerText !== arguments[0]", 10, whole)
    check(" to " in b.text("#window"), "the window has no time: %s" % b.text("#window"))
    tab_to(b, "the matrix", "(e) => e.matches('#heatmap [data-cell]')")
    b.key(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    check(b.js("return document.activeElement.dataset.cell") == "1,1", "the arrows do not move in the matrix")
    b.key(Keys.ENTER)
    b.wait("the cell's members", "/leaf2 to spine2/.test(document.querySelector('.detail').innerText) && document.querySelectorAll('.detail tbody tr').length > 2")
    b.key(Keys.SPACE)
    b.wait("space plays", "/Stop/.test(document.querySelector('.scrubber').innerText)")
    b.key(Keys.SPACE)
    b.wait("and stops", "/Play/.test(document.querySelector('.scrubber').innerText)")


def again_and_again(b, url):
    """A page that was left holds no connection: a browser makes six to one server."""
    for turn in range(9):
        b.open(url + "#/ports")
        b.wait("the page, time %d" % turn, READY, 60)
        check("cannot be shown" not in b.text("main"), "opened for the %d. time: %s" % (turn + 1, b.text("main")))


def dragged(b):
    """The time axis goes where the pointer goes, as long as it is down."""
    from selenium.webdriver.common.action_chains import ActionChains
    strip = b.driver.find_element("css selector", ".history")
    width = strip.size["width"]
    times = b.text(".axis").split("\n")
    check(len(times) == 5 and all(re.search(r"\d\d:\d\d:\d\dZ$", t) for t in times), "the axis has no times: %s" % times)
    seen = []
    ActionChains(b.driver).move_to_element_with_offset(strip, 3 - width // 2, 0).click_and_hold().perform()
    for _ in range(2):
        seen.append(b.text("#window"))
        ActionChains(b.driver).move_by_offset(width // 2 - 3, 0).perform()
    ActionChains(b.driver).release().perform()
    seen.append(b.text("#window"))
    ActionChains(b.driver).move_by_offset(-width // 3, 0).perform()
    check(len(set(seen)) == 3 and times[0].split()[1] in seen[0], "dragging shows %s, the axis begins at %s" % (seen, times[0]))
    check(b.text("#window") == seen[2], "it follows a pointer that is up")


def roles(b):
    """Who only waits, and who makes others wait; the page of the host where it began."""
    go(b, "#/ports")
    words = dict(b.js("return [...document.querySelectorAll('main tbody tr')].map((r) => [r.cells[0].innerText, r.cells[1].innerText])"))
    for port, word in (("leaf2 Ethernet2", "ORIGIN"), ("spine1 Ethernet3", "passes it on"), ("spine2 Ethernet3", "victim")):
        check(words.get(port) == word, "%s is called %s, not %s" % (port, words.get(port), word))
    go(b, "#/overview")
    check("passes it on" in b.text(".paused") and "Every uplink is idle" in b.text(".uplinks") and "8 up" in b.text(".devices"), "the wall: %s" % b.text("main"))
    go(b, "#/tree")
    lines = b.js("return [...document.querySelectorAll('.branches .line')].map((e) => e.innerText.replace(/\\s+/g, ' '))")
    for who, word in (("spine1 ", "passes it on"), ("spine2 ", "victim"), ("hosts ", "victim")):
        check(any(line.startswith(who) and line.endswith(word) for line in lines), "the tree does not call %s%s: %s" % (who, word, lines))
    go(b, "#/host/node-010")
    text = b.text("main")
    for word in ("leaf2 Ethernet2", "train", "node-010 pauses leaf2:Ethernet2", "$960/h", "ORIGIN", "rocewatch blame node-010"):
        check(word in text, "the host's page has no %s: %s" % (word, text))
    go(b, "#/doctor")
    check("Not known here: p95, Values/s, Missed." in b.text("main"), "what nobody knows is said in each row: %s" % b.text("main"))


def trends(b, binary, db):
    """The curves of a storm have their step at the onset, and the marks stand at the minute of the command line."""
    ask = lambda *command: json.loads(run(binary, "--db", db, *command, "--format", "json"))
    storm = ask("incident", "list", "--all")["incidents"][0]
    check(storm["first"].startswith("1970-01-01T00:04:00"), "the onset: %s" % storm["first"])
    run(binary, "--db", db, "event", "add", "--text", "optic swapped", "--device", "leaf1", "--at", "1970-01-01T00:02:00Z")
    for hash_text, minute in (("#/overview", "00:06"), ("#/overview?range=1h", "00:05")):
        go(b, hash_text)
        b.wait("the trends of " + hash_text, "[...document.querySelectorAll('.signals svg.spark')].some((e) => e.getAttribute('aria-label').startsWith('pause time, 0 % at 1970-01-01 00:04:00Z, 100 % at 1970-01-01 ' + arguments[0] + ':00Z'))", 20, minute)
    said = dict(l.split(", ", 1) for l in b.js("return [...document.querySelectorAll('.signals svg.spark')].map((e) => e.getAttribute('aria-label'))"))
    check("at 1970" not in said["lossless drops"], "a flat trend has a step: %s" % said)
    go(b, "#/steps")
    b.wait("the job's chart", "document.querySelector('.chart canvas')")
    rows = b.js("return document.querySelector('.chart-box').rwRows.map((r) => [r[0].toISOString().slice(0, 16), r[1]])")
    check({t: v > 1e11 for t, v in rows}.items() >= {"1970-01-01T00:04": True, "1970-01-01T00:06": False}.items(), "the least throughput of two minutes: %s" % rows)
    go(b, "#/steps?range=1h")
    b.wait("each minute", "document.querySelector('.chart-box') && document.querySelector('.chart-box').rwRows.some((r) => r[0].toISOString().startsWith('1970-01-01T00:05'))")
    rows = b.js("return document.querySelector('.chart-box').rwRows.map((r) => [r[0].toISOString().slice(0, 16), r[1]])")
    check({t: v > 1e11 for t, v in rows}.items() >= {"1970-01-01T00:04": True, "1970-01-01T00:05": False}.items(), "the throughput: %s" % rows)
    listed = b.js("return [...document.querySelectorAll('.marks li')].map((e) => [e.querySelector('time').dateTime, e.innerText])")
    check([t[:19] for t, _ in listed] == ["1970-01-01T00:02:00", storm["first"][:19]], "the marks: %s" % listed)
    check("optic swapped" in listed[0][1] and storm["headline"] in listed[1][1], "the marks: %s" % listed)
    inked = """const g = document.querySelector('.chart-box').rwChart, row = g.hidden_ctx_.getImageData(0, 40, g.hidden_.width, 1).data;
        return ["1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z", "1970-01-01T00:03:00Z", arguments[0]].map((t) => row[4 * Math.round(g.toDomXCoord(Date.parse(t)) * devicePixelRatio) + 3]);"""
    ink = b.js(inked, storm["first"])
    check(ink[1] > ink[0] and ink[3] > ink[2], "no mark is drawn where it belongs: %s" % ink)
    b.js("location.hash = '#/steps?range=1h&compare=1d'")
    b.wait("the range goes along", "[...document.querySelectorAll('nav li a')].every((a) => /range=1h/.test(a.href) && /compare=1d/.test(a.href)) && /yesterday/.test(document.querySelector('.chart table').innerText)")
    go(b, "#/port/leaf2/Ethernet2")
    b.wait("the port's charts", "document.querySelectorAll('.chart canvas').length > 4")
    check(storm["headline"] in b.text(".marks") and "optic" not in b.text(".marks"), "the port's marks: %s" % b.text(".marks"))


# --- every page of a recorded case, read ---

def page_names():
    """The names of all pages, from the page's own table."""
    with open(os.path.join(WEB, "app.js")) as f:
        return set(re.findall(r"^\t\{ name: \"(\w+)\"", f.read(), re.M))


def read_pages(b, binary, db):
    """Opens each page there is, and each incident and sheet. Returns the sheets."""
    ask = lambda *command: json.loads(run(binary, "--db", db, *command, "--format", "json"))
    incidents = ask("incident", "list", "--all")["incidents"]
    sheets = ask("tune", "review")["sheets"]
    links = [l for l in ask("topology", "show")["links"] if l["port"]]
    hashes = ["#/" + page for page in PAGES]
    hashes += ["#/incident/" + i["id"] for i in incidents] + ["#/tree?incident=" + i["id"] for i in incidents] + ["#/sheet/" + s["id"] for s in sheets]
    hashes += ["#/device/" + links[0]["device"], "#/port/%s/%s" % (links[0]["device"], links[0]["port"].replace("/", "%2F")), "#/ecmp?leaf=" + links[0]["device"], "#/host/" + links[0]["peer"].split(":")[1], "#/overview?around=1970-01-01T00%3A02%3A00Z"]
    for hash_text in hashes:
        go(b, hash_text)
        check("cannot be shown" not in b.text("main"), "%s: %s" % (hash_text, b.text("main")[:300]))
        sound(b, hash_text)
    for key in "?w":
        b.key(key)
        b.wait("the dialog of " + key, "document.querySelector('dialog').open")
        readable(b, "dialog of " + key)
        b.key(Keys.ESCAPE)
        b.wait("it closes", "!document.querySelector('dialog').open")
    return {re.match(r"#/(\w+)", h).group(1) for h in hashes}, sheets


def sheets(b, work, binary):
    """A case with a sheet: the commands are those of the command line, and each page is read."""
    db = record(binary, work, "tune-late-gather", ("--interval", "2s"))
    web = Web(binary, work, "sheets", ["--db", db])
    try:
        b.open(web.url)
        b.wait("the overview", READY)
        read, found = read_pages(b, binary, db)
        check(read == page_names(), "pages that are not read: %s" % sorted(page_names() ^ read))
        check(found, "the case has no sheet")
        for s in found:
            go(b, "#/sheet/" + s["id"])
            shown = [t.strip() for t in b.js("return [...document.querySelectorAll('.commands code')].map((e) => e.textContent)")]
            for undo in ([], ["--undo"]):
                wanted = run(binary, "--db", db, "tune", "render", s["id"], "--vendor", "sonic", *undo)
                wanted = re.split("\n# (?:the same, as|not written for)", wanted)[0].strip()
                check("mmuconfig" in wanted and wanted in shown, "the commands%s are not those of tune render: %s" % (" to undo" if undo else "", shown))
            check("rocewatch tune render %s --vendor sonic" % s["id"] in shown, "the other form is not told: %s" % shown)
            b.js("location.hash = arguments[0]", "#/tuning/" + s["id"])
            b.wait("an address within the list opens the sheet", "location.hash === '#/sheet/' + arguments[0] && " + READY + " && document.querySelector('.commands code')", 20, s["id"])
        b.js("location.hash = '#/jobs'")
        b.wait("the label of a page is an address, too", "location.hash === '#/steps' && " + READY)
        b.js("location.hash = '#/no-such-page'")
        b.wait("an address without a page says so", "/There is no page/.test(document.querySelector('main').innerText) && document.querySelector('h1').innerText === 'No such page'")
        sound(b, "no such page")
        b.quiet("sheets", web.url)
    finally:
        web.stop()


def recorded(b, work, binary):
    db = record(binary, work)
    web = Web(binary, work, "recorded", ["--db", db])
    try:
        drill_mouse(b, web.url)
        drill_keyboard(b, web.url)
        roles(b)
        again_and_again(b, web.url)
        keys(b)
        heat_map(b)
        trends(b, binary, db)
        for page in PAGES:
            go(b, "#/" + page)
            check("cannot be shown" not in b.text("main"), "%s: %s" % (page, b.text("main")[:300]))
            sound(b, page)
        go(b, "#/doctor")
        check(re.search(r"pfc watchdog\s+watchdog counters", b.text(".coverage")), "the blind spots: %s" % b.text(".coverage"))
        go(b, "#/lint")
        told = json.loads(subprocess.run([binary, "--db", db, "lint", "--format", "json"], capture_output=True, text=True).stdout)
        for said in [told["verdict"]] + [f["text"] for f in told["findings"]] + told["assumptions"] + told["unjudged"]:
            check(said in b.text("main"), "the page lacks '%s': %s" % (said, b.text("main")[:600]))
        check(b.js("return document.querySelectorAll('main table')[0].rows.length") == 1 + len(told["rings"]), "the rings: %s" % b.text("main"))
        go(b, "#/overview?around=1970-01-01T00%3A02%3A00Z")
        b.wait("the time before the fault", "/PAST/.test(document.querySelector('#link').innerText) && /00:02:00Z/.test(document.querySelector('.clock').innerText)")
        check("$960/h" not in b.text(), "the past shows what came later")
        b.quiet("recorded case", web.url)
    finally:
        web.stop()
    named(b, work, binary, db)


def named(b, work, binary, db):
    """A database in which a switch is named like an attack. The configuration in it refuses such a name, and keeps the old one."""
    other = os.path.join(work, "named.db")
    with sqlite3.connect(db) as source, sqlite3.connect(other) as target:
        source.backup(target)
    rows = sqlite3.connect(other)
    for (table,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'fabric_history'").fetchall():
        for column in rows.execute("PRAGMA table_info(\"%s\")" % table).fetchall():
            if "TEXT" in column[2].upper():
                rows.execute("UPDATE \"%s\" SET \"%s\" = replace(\"%s\", 'leaf2', ?) WHERE typeof(\"%s\") = 'text' AND instr(\"%s\", 'leaf2')" % (table, *([column[1]] * 4)), (HOSTILE,))
    rows.commit()
    rows.close()
    web = Web(binary, work, "named", ["--db", other])
    try:
        b.fresh()
        b.open(web.url)
        b.wait("the hostile name is shown", "document.body.innerText.includes(arguments[0])", 20, HOSTILE)
        for page in ("incidents", "overview"):
            go(b, "#/" + page)
            check(HOSTILE in b.text("main"), "%s does not show the name: %s" % (page, b.text("main")[:300]))
        check(b.js("return !window.hacked && !document.querySelector('main img')"), "a name in the database became markup")
        b.quiet("a hostile database", web.url)
    finally:
        web.stop()


# --- a live lab ---

TOKEN = "page-test-token-0123456789"
ACTOR = "page-test-actor-0123456789"


class Lab:
    def __init__(self, build, work):
        # The page is what is looked at: this agent is the shipped one. web.live has a sanitized agent and server.
        self.lab = live_lab.Live(os.path.dirname(live_lab.shipped(build)), os.path.join(work, "live"), "pfc-storm", face="sonic-gnmi", at="6s")
        self.lab.start()

    def serve(self, work):
        self.lab.served()
        tokens = os.path.join(work, "tokens")
        with open(tokens, "w") as f:
            f.write("wall %s\nann %s may:ack\n" % (TOKEN, ACTOR))
        os.chmod(tokens, 0o600)
        with open(self.lab.config, "a") as f:
            f.write("\nhttp: { listen: \"127.0.0.1:%d\", tokens_file: %s }\n" % (free_port(), tokens))
        self.lab.agent()


def send(web, method, path, token=None, **headers):
    """(status, document) of one request."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", web.port, timeout=HANG_S)) as c:
        c.request(method, "/api/v1/act" + path, headers={**({"Authorization": "Bearer " + token} if token else {}), **{k.replace("_", "-"): v for k, v in headers.items()}})
        answer = c.getresponse()
        return answer.status, json.loads(answer.read() or "null")


def attacked(web, incident, show):
    """Who may not act is refused, whatever else is right; then nothing was done."""
    own = "http://127.0.0.1:%d" % web.port
    fresh = lambda: send(web, "GET", "", ACTOR)[1]["pass"]
    ack = lambda given, token=ACTOR, **headers: send(web, "POST", "?do=ack&id=%s&text=attack&pass=%s" % (incident, given), token, **headers)
    check(send(web, "GET", "", TOKEN) == (200, {"who": None, "pass": None}), "a read token gets a pass")
    rows = [("no token", 401, lambda: ack(fresh(), None)), ("a wrong token", 401, lambda: ack(fresh(), ACTOR + "x")), ("a read token", 403, lambda: ack(fresh(), TOKEN)),
            ("a foreign origin", 403, lambda: ack(fresh(), Origin="https://evil.example")),
            ("a hidden origin", 403, lambda: ack(fresh(), Origin="null")), ("another port's origin", 403, lambda: ack(fresh(), Origin=own + "1")),
            ("a foreign site", 403, lambda: ack(fresh(), Sec_Fetch_Site="cross-site")), ("a sibling site", 403, lambda: ack(fresh(), Sec_Fetch_Site="same-site")),
            ("another host", 421, lambda: ack(fresh(), Host="evil.example")), ("no pass", 409, lambda: ack("")), ("a made-up pass", 409, lambda: ack("0" * 32)),
            ("by GET", 400, lambda: send(web, "GET", "?do=ack&id=%s&pass=%s" % (incident, fresh()), ACTOR)),
            ("another name", 400, lambda: send(web, "POST", "?do=ack&id=%s&who=root&pass=%s" % (incident, fresh()), ACTOR)),
            ("another command", 400, lambda: send(web, "POST", "?do=close&id=%s&pass=%s" % (incident, fresh()), ACTOR))]
    for what, wanted, request in rows:
        status, said = request()
        check(status == wanted and "error" in said, "%s: %s %s" % (what, status, said))
    check(not show()["acked_by"] and "attack" not in json.dumps(show()), "an attack was done: %s" % show())
    used = fresh()
    status, said = send(web, "POST", "?do=note&id=%s&text=once&pass=%s" % (incident, used), ACTOR, Origin=own, Sec_Fetch_Site="same-origin")
    check(status == 200, "its own page: %s %s" % (status, said))
    status, said = send(web, "POST", "?do=note&id=%s&text=second-time&pass=%s" % (incident, used), ACTOR, Origin=own, Sec_Fetch_Site="same-origin")
    check(status == 409, "a replayed request: %s %s" % (status, said))
    check("second-time" not in json.dumps(show()), "the replay was done")


def worked(b, web, binary, arguments):
    """The page acknowledges, and the command line says by whom."""
    ask = lambda *command: json.loads(run(binary, *arguments, *command, "--format", "json"))
    incident = b.wait("an open incident", "document.querySelector('.incidents a[data-row]') && document.querySelector('.incidents a[data-row]').hash.split('/')[2]", 60)
    show = lambda: (lambda d: d.get("incident", d))(ask("incident", "show", incident))
    attacked(web, incident, show)
    go(b, "#/incident/" + incident)
    check("Only to read here" in b.text(".work") and not b.text(".work input"), "a read token sees buttons: %s" % b.text(".work"))
    b.js("sessionStorage.setItem('rocewatch-token', arguments[0])", ACTOR)
    b.complaints()
    b.open(web.url + "#/incident/" + incident)
    b.wait("the work", "document.querySelector('#work-text') && /as ann/.test(document.querySelector('.work').innerText)", 30)
    sound(b, "the card of one who may act")
    # The card is drawn anew with each live update: what is looked for may be away for a moment.
    with_found = lambda found, act: "(() => { const e = %s; if (e) { %s } return !!e; })()" % (found, act)
    press = lambda label: b.wait("the button " + label, with_found("[...document.querySelectorAll('.work button')].find((e) => e.innerText.startsWith(arguments[0]))", "e.click()"), 30, label)
    press("Assign")
    b.wait("a text is asked for", "/first/.test((document.querySelector('.work [role=alert]') || { innerText: '' }).innerText)")
    for label, text in (("Acknowledge", "optic is ordered"), ("Assign", "network team"), ("Silence", "optic is ordered")):
        b.wait("the field", with_found("document.querySelector('#work-text')", "e.value = arguments[0]"), 30, text)
        press(label)
        b.wait(label + " is done", "document.querySelector('.work [role=status]') && document.querySelector('#work-text').value === ''", 30)
    i = show()
    check(i["acked_by"].startswith("ann (via ") and i["ack_note"] == "optic is ordered" and i["assigned_to"] == "network team", "incident show: %s" % i)
    silences = ask("silence", "list")["silences"]
    check(len(silences) == 1 and silences[0]["by"].startswith("ann (via ") and silences[0]["device"] == i["subject"]["device"], "silence list: %s" % silences)
    b.wait("the card says it, too", "/ann \\(via/.test(document.querySelector('.timeline').innerText)", 30)
    b.js("sessionStorage.setItem('rocewatch-token', arguments[0])", TOKEN)


def live(b, work, binary, lab):
    arguments = ["-c", lab.lab.config]
    web = Web(binary, work, "live", arguments)
    try:
        b.open(web.url)
        b.wait("a token is asked for", "document.querySelector('dialog').open && document.querySelector('#token')")
        b.complaints()  # 401 was expected
        b.key("wrong-token-0123456789", Keys.ENTER)
        b.wait("a wrong token is refused", "document.querySelector('dialog').open && /refused/.test(document.querySelector('dialog').innerText)")
        b.complaints()
        b.js("document.querySelector('#token').value = ''; document.querySelector('#token').focus()")
        b.key(TOKEN, Keys.ENTER)
        b.wait("the right one is taken", "/live/.test(document.querySelector('#link').innerText) && document.querySelector('.signals tbody tr')")
        check(TOKEN not in b.js("return location.href + document.cookie + JSON.stringify(localStorage)"), "the token is kept where it should not be")
        b.js("window.sameDocument = true")
        first = b.text(".signals")
        b.wait("a live update arrives without a reload", "window.sameDocument && document.querySelector('.signals').innerText !== arguments[0]", 30, first)
        b.wait("the storm is seen", "[...document.querySelectorAll('.signals tr')].some((r) => /pause/.test(r.innerText) && /WARNING|CRITICAL/.test(r.innerText))", 60)
        for page in PAGES:
            go(b, "#/" + page)
            check("cannot be shown" not in b.text("main"), "live %s: %s" % (page, b.text("main")[:300]))
        go(b, "#/port/leaf2/Ethernet2")
        b.wait("charts of the live port", "document.querySelectorAll('.chart canvas').length > 2", 30)
        go(b, "#/ports")
        b.wait("the origin stands first", "/^leaf2 Ethernet2\\s+ORIGIN/.test(document.querySelector('main tbody tr').innerText)", 60)
        go(b, "#/overview")
        worked(b, web, binary, arguments)
        b.complaints()  # refusals were expected
        b.quiet("live", web.url)
        port = web.port
        web.stop()
        b.wait("the server is gone", "/Connection lost/.test(document.querySelector('#banners').innerText)", 20)
        web = Web(binary, work, "live", arguments, port)
        b.wait("and back", "/live/.test(document.querySelector('#link').innerText)", 40)
        b.complaints()
        os.kill(lab.lab.agent_process.pid, signal.SIGKILL)
        lab.lab.agent_process.wait()
        b.wait("a dead agent is unknown, and says so", "document.querySelector('#state').innerText.includes('UNKNOWN') && /agent is stopped/i.test(document.querySelector('#banners').innerText) && /LAST KNOWN/.test(document.querySelector('h1').innerText)", 30)
        b.quiet("a dead agent", web.url)
    finally:
        web.stop()


def main():
    if len(sys.argv) < 2:
        print("usage: %s BUILD_DIRECTORY [PART ...]" % sys.argv[0], file=sys.stderr)
        sys.exit(2)
    binaries()
    signal.signal(signal.SIGTERM, lambda n, frame: sys.exit(128 + n))
    build, wanted = os.path.realpath(sys.argv[1]), sys.argv[2:]
    binary = os.path.join(build, "rocewatch")
    work, began = tempfile.mkdtemp(prefix="page-"), time.monotonic()
    lab, b, done = None, None, []
    try:
        if not wanted or "live" in wanted:
            lab = Lab(build, work)
        b = Browser()
        parts = [("units", units), ("recorded", lambda b, w: recorded(b, w, binary)), ("sheets", lambda b, w: sheets(b, w, binary)), ("large", large), ("hostile", hostile), ("lost", lost), ("live", lambda b, w: live(b, w, binary, lab))]
        for name, part in parts:
            if wanted and name not in wanted:
                continue
            if lab and lab.lab.agent_process is None:
                lab.serve(work)
            start = time.monotonic()
            b.fresh()
            part(b, work)
            done.append("%s %.0f s" % (name, time.monotonic() - start))
    except (Failed, live_lab.Failed, subprocess.TimeoutExpired) as e:
        if b:
            b.driver.save_screenshot(os.path.join(work, "failed.png"))
        print("FAILED: %s\n%s (logs and failed.png in %s)" % (e, "; ".join(figures), work), file=sys.stderr)
        sys.exit(1)
    finally:
        if b:
            b.close()
        if lab:
            live_lab.Live.stop([lab.lab])
    shutil.rmtree(work)
    print("\n".join(figures))
    print("passed in %.0f s: %s" % (time.monotonic() - began, ", ".join(done)))


if __name__ == "__main__":
    main()
