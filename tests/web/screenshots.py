#!/usr/bin/env python3
"""The pictures in docs/screens, from recorded cases of the simulated fabric, and what each was made of: the files of the page that it shows.
Usage: screenshots.py BUILD_DIRECTORY [NAME ...]   makes them (target docs_screens); somebody looks at them then
       screenshots.py --check                      is each as new as what it shows? (test docs.screens)"""
import collections, hashlib, os, re, shutil, struct, subprocess, sys, tempfile, time, zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
CHECK = sys.argv[1:] == ["--check"]
if not CHECK:
    from browser import Browser, check, need_selenium

    need_selenium()
    from test_page import READY, Web  # noqa: E402
    from patience import HANG_S  # noqa: E402

BEGIN = "2026-11-21T03:00:00Z"
OUT = os.path.join(SOURCE, "docs", "screens")
MADE_OF = os.path.join(OUT, "made-of.tsv")
MOST_BYTES = 150_000

MODULES = {"overview": "page_overview.js", "ecmp": "page_ecmp.js", "incident": "page_incident.js", "tree": "page_tree.js", "port": "page_port.js", "sheet": "page_tuning.js"}
# picture: case, page, dark, width, height, what must be there
SHOTS = {
    "overview-dark": ("pfc-storm", "#/overview", True, 1600, 900, ".incidents a[data-row]"),
    "overview-light": ("dcqcn-off", "#/overview", False, 1600, 900, ".incidents a[data-row]"),
    "heat-map": ("ecmp-fields", "#/ecmp?leaf=leaf2", True, 1600, 900, ".detail table"),
    "incident": ("pfc-storm", "incident", True, 1280, 900, ".story"),
    "pause-tree": ("pfc-storm", "#/tree", False, 1280, 640, ".tree-drawing"),
    "port": ("pfc-storm", "#/port/leaf2/Ethernet2", True, 1600, 900, ".chart canvas"),
    "tuning-sheet": ("tune-late-gather", "sheet", False, 1280, 1500, ".commands code"),
}
RECORD = {"ecmp-fields": ["--packets"]}


def files_of(page):
    """The frame, the style, the page's module, and what it imports: not the other pages."""
    module = MODULES[re.sub("^#/", "", page).split("?")[0].split("/")[0]]
    found, left = {"index.html", "style.css", "app.js", "theme.js"}, [module]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        with open(os.path.join(SOURCE, "web", name)) as f:
            left += re.findall(r'from "\./([\w.]+)"', f.read())
    return sorted(found)


def made_of(name):
    """What a picture shows, as a sum: its row of SHOTS, and those files."""
    digest = hashlib.sha256(repr(SHOTS[name]).encode())
    for file in files_of(SHOTS[name][1]):
        with open(os.path.join(SOURCE, "web", file), "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()[:16]


def recorded_sums():
    with open(MADE_OF) as f:
        return dict(line.split() for line in f)


def old():
    """Pictures that show another page than the one there is, or that are missing."""
    sums = recorded_sums() if os.path.exists(MADE_OF) else {}
    ret = [name for name in SHOTS if sums.get(name) != made_of(name) or not os.path.exists(os.path.join(OUT, name + ".png"))]
    return ret + sorted(set(os.listdir(OUT)) - {name + ".png" for name in SHOTS} - {os.path.basename(MADE_OF)})


def run(argv):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
    check(p.returncode == 0, "%s: %s" % (" ".join(argv[1:4]), p.stderr[:400]))


def recorded(binary, work, name):
    case, db = os.path.join(work, name), os.path.join(work, name + ".db")
    run([binary, "lab", "record", name, "--out", case, "--begin", BEGIN, *([] if name in RECORD else ["--interval", "2s"]), *RECORD.get(name, [])])
    with open(os.path.join(case, "fabric.yaml"), "a") as f:
        f.write("tuning: { min_evidence: 5m }\n")
    run([binary, "replay", "--from", case, "--db", db])
    return db


def first_of(binary, db, *command):
    import json
    p = subprocess.run([binary, "--db", db, *command, "--format", "json"], capture_output=True, text=True, timeout=HANG_S)
    return next(iter(json.loads(p.stdout).values()))[0]["id"]


def pixels(data):
    """Width, height and the rows of a PNG of 8-bit RGB or RGBA, as Chromium writes it (RFC 2083)."""
    at, packed = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            check(depth == 8 and colour in (2, 6), "a PNG of another kind")
        elif kind == b"IDAT":
            packed += body
        at += 12 + n
    size = {2: 3, 6: 4}[colour]
    raw, rows, above = zlib.decompress(packed), [], bytearray(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + width * size])
        for i in range(len(line)):
            a, b, c = line[i - size] if i >= size else 0, above[i], above[i - size] if i >= size else 0
            if kind == 1:
                line[i] = (line[i] + a) & 255
            elif kind == 2:
                line[i] = (line[i] + b) & 255
            elif kind == 3:
                line[i] = (line[i] + (a + b) // 2) & 255
            elif kind == 4:
                pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                line[i] = (line[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        rows.append(bytes(line))
        above = line
    return width, height, [[row[i:i + 3] for i in range(0, len(row), size)] for row in rows]


def smaller(path):
    """The same picture with 256 colours: a sixth of the bytes, and text stays sharp."""
    with open(path, "rb") as f:
        width, height, rows = pixels(f.read())
    counts = collections.Counter(p for row in rows for p in row)
    palette = [colour for colour, _ in counts.most_common(256)]
    index = {colour: i for i, colour in enumerate(palette)}
    for colour in counts:
        if colour not in index:
            index[colour] = min(range(len(palette)), key=lambda i: sum((x - y) ** 2 for x, y in zip(palette[i], colour)))
    packed = zlib.compress(b"".join(b"\0" + bytes(index[p] for p in row) for row in rows), 9)
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", packed) + chunk(b"IEND", b""))


def main():
    binary, wanted = os.path.join(os.path.realpath(sys.argv[1]), "rocewatch"), sys.argv[2:]
    work, webs, b = tempfile.mkdtemp(prefix="screens-"), {}, Browser()
    os.makedirs(OUT, exist_ok=True)
    sums = {name: text for name, text in (recorded_sums() if os.path.exists(MADE_OF) else {}).items() if name in SHOTS}
    try:
        for name, (case, page, dark, width, height, there) in SHOTS.items():
            if wanted and name not in wanted:
                continue
            if case not in webs:
                webs[case] = Web(binary, work, case, ["--db", recorded(binary, work, case)])
            db = os.path.join(work, case + ".db")
            if page == "incident":
                page = "#/incident/" + first_of(binary, db, "incident", "list")
            if page == "sheet":
                page = "#/sheet/" + first_of(binary, db, "tune", "review")
            b.dark(dark)
            b.size(width, height)
            b.open(webs[case].url + page)
            b.wait(name, READY + " && document.querySelector(arguments[0])", 30, there)
            b.wait("fonts and charts", "document.fonts.status === 'loaded'")
            time.sleep(1)  # transitions and charts settle; nothing is decided by this
            path = os.path.join(OUT, name + ".png")
            b.driver.save_screenshot(path)
            smaller(path)
            print("%s %d bytes" % (path, os.path.getsize(path)))
            check(os.path.getsize(path) < MOST_BYTES, "%s is larger than %d bytes" % (name, MOST_BYTES))
            print(b.complaints())
            sums[name] = made_of(name)
    finally:
        with open(MADE_OF, "w") as f:
            f.writelines("%s\t%s\n" % row for row in sorted(sums.items()))
        b.close()
        for web in webs.values():
            web.stop()
        shutil.rmtree(work, ignore_errors=True)


if CHECK:
    stale = old()
    if stale:
        sys.exit("older than what they show: %s. Make them: cmake --build BUILD --target docs_screens, and look at them" % ", ".join(stale))
    SHOTS["overview-dark"] = (*SHOTS["overview-dark"][:2], False, *SHOTS["overview-dark"][3:])
    if old() != ["overview-dark"]:
        sys.exit("a picture that shows something else is not found")
else:
    main()
