#!/usr/bin/env python3
"""test_reports.py BUILD CASES - the html that leaves the house by mail: each report, the card of an incident, a tuning sheet. None runs a script or
asks anybody for anything, and Chromium shows each in 600 pixels without scrolling sideways, light and dark, with letters that can be read."""
import json, os, re, subprocess, sys, tempfile

import browser
from browser import check
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

GOLDEN = os.path.abspath(sys.argv[2])  # the inputs of golden cases
ENV = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}

# What is wider than the page, and text whose contrast with the ground behind it is below 3.
LOOK = """
const wide = document.documentElement.scrollWidth, room = document.documentElement.clientWidth;
const outside = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > room + 1 && !e.closest('svg'))
    .map((e) => e.tagName + ': ' + e.textContent.slice(0, 60));
const parts = (c) => c.match(/[\\d.]+/g).map(Number);
const light = (c) => { const [r, g, b] = parts(c).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; const p = parts(c); if (p.length < 4 || p[3] > 0) return c; } return 'rgb(255,255,255)'; };
const faint = [...document.querySelectorAll('p, td, th, h1, h2, li, pre, div')].filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).map((e) => {
    const a = light(getComputedStyle(e).color), b = light(ground(e));
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.slice(0, 40)];
}).filter((p) => p[0] < 3);
return {wide, room, outside, faint, title: document.title, text: document.body.innerText.length};
"""


def run(binary, *args):
    p = subprocess.run([binary, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=ENV)
    check(p.returncode == 0, "%s: exit %d: %s" % (" ".join(args), p.returncode, p.stderr))
    return p.stdout


def pages(binary, folder):
    """Name and html of each page."""
    shown = {}
    for case in ("replay/captured", "replay/skew", "tune/ecn-late"):
        path = os.path.join(GOLDEN, *case.split("/"))
        db = os.path.join(folder, case.replace("/", "-") + ".db")
        run(binary, "replay", path, "--db", db)
        ask = lambda *args: run(binary, "--db", db, *args, "--format", "html")  # noqa: E731
        for incident in json.loads(run(binary, "--db", db, "incident", "list", "--all", "--format", "json"))["incidents"][:2]:
            shown["%s incident %s" % (case, incident["cause"])] = ask("incident", "show", incident["id"])
        shown[case + " incident list"] = ask("incident", "list", "--all")
        for report in re.findall(r"^  ([a-z][a-z-]+)  +\S", run(binary, "help", "report"), re.M):
            shown["%s report %s" % (case, report)] = ask("report", report)
        if case.startswith("tune"):
            shown[case + " sheet"] = ask("tune", "review")
    return shown


def harmless(name, page):
    check(page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), name + ": not a whole page")
    check(not re.search(r"<(script|iframe|object|embed|link|img|form|base)\b|\son[a-z]+=|javascript:|@import|url\(", page, re.I), name + ": it runs or fetches something")
    for tag, where in re.findall(r"<(\w+)[^>]*\s(?:src|href|xlink:href|action)\s*=\s*[\"']?([^\"'>\s]*)", page):
        check(tag == "a" and where.startswith(("http://", "https://")), "%s: <%s> leads to %s" % (name, tag, where))


def main():
    browser.need_selenium()
    browser.binaries()
    binary = os.path.join(sys.argv[1], "rocewatch")
    with tempfile.TemporaryDirectory() as folder:
        shown = pages(binary, folder)
        check(len(shown) > 15 and any("spine-imbalance" in n for n in shown) and any("sheet" in n for n in shown), "pages: %s" % sorted(shown))
        window = browser.Browser(600, 900, dark=False)
        try:
            for name, page in shown.items():
                harmless(name, page)
                path = os.path.join(folder, "page.html")
                with open(path, "w") as f:
                    f.write(page)
                window.fresh()
                window.open("file://" + path)
                for dark in (False, True):
                    window.dark(dark)
                    seen = window.js(LOOK)
                    where = "%s, %s" % (name, "dark" if dark else "light")
                    check(seen["text"] > 20 and seen["title"], where + ": empty")
                    check(seen["wide"] <= seen["room"], "%s: %d pixels wide: %s" % (where, seen["wide"], seen["outside"][:3]))
                    check(not seen["outside"], "%s: outside: %s" % (where, seen["outside"][:3]))
                    check(not seen["faint"], "%s: faint: %s" % (where, seen["faint"][:3]))
                asked = [u for u in window.network() if not u.startswith(("file://", "about:", "data:"))]
                check(not asked and not window.complaints(), "%s asked for %s" % (name, asked))
        finally:
            window.close()
        print("%d pages: nothing fetched, none wider than 600 pixels" % len(shown))


try:
    main()
except browser.Failed as failure:
    sys.exit("failed: %s" % failure)
