"""A strict reader of the two exposition formats, written from their specifications: OpenMetrics 1.0 and Prometheus text 0.0.4. It refuses what
they forbid, so that a page that passes here is good for any scraper. Standard library only."""
import re

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\Z)')
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Inf|NaN)\Z")
SUFFIX = {"counter": "_total", "info": "_info"}


class Wrong(Exception):
    pass


def want(condition, message, *values):
    if not condition:
        raise Wrong(message % values)


def labels_of(text, line):
    labels, at = {}, 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        want(match, "labels: %r", line)
        want(match[1] not in labels, "label %s twice: %r", match[1], line)
        labels[match[1]] = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], match[2])
        at = match.end()
        want(match[3] or at == len(text), "labels: %r", line)
    return labels


def parse(text, openmetrics):
    """{family: (type, help, [(sample name, labels, value)])}. Families come in one piece, no sample twice, suffixes as the type wants."""
    want(text.endswith("\n"), "the last line has no end")
    lines = text.split("\n")[:-1]
    if openmetrics:
        want(lines and lines[-1] == "# EOF", "no # EOF")
        lines = lines[:-1]
    families, current, seen = {}, None, set()
    for line in lines:
        if line.startswith("# "):
            word, name, rest = (line[2:].split(" ", 2) + ["", ""])[:3]
            want(word in ("HELP", "TYPE", "UNIT"), "comment: %r", line)
            want(word != "UNIT" or openmetrics, "UNIT in the text format: %r", line)
            want(NAME.match(name), "name: %r", line)
            if current != name:
                want(name not in families, "family %s in two pieces", name)
                families[name], current = {"type": None, "help": None, "unit": None, "samples": []}, name
            want(not families[name]["samples"], "%s after samples", line)
            want(families[name][word.lower()] is None, "twice: %r", line)
            families[name][word.lower()] = rest
            if word == "UNIT":
                want(name.endswith("_" + rest), "unit %s is not the end of %s", rest, name)
            continue
        match = SAMPLE.match(line)
        want(match and NUMBER.match(match[3]), "sample: %r", line)
        labels = labels_of(match[2], line)
        family = families.get(current)
        want(family and family["type"], "sample without TYPE: %r", line)
        suffix = SUFFIX.get(family["type"], "") if openmetrics else ""
        want(match[1] == current + suffix, "%s does not belong to %s", match[1], current)
        if openmetrics and family["type"] == "info":
            want(match[3] == "1", "an info is not 1: %r", line)
        if family["type"] == "counter":
            want(match[1].endswith("_total") and float(match[3]) >= 0, "counter: %r", line)
        key = (match[1], tuple(sorted(labels.items())))
        want(key not in seen, "twice: %r", line)
        seen.add(key)
        family["samples"].append((match[1], labels, float(match[3])))
    for name, family in families.items():
        want(family["type"] in ("gauge", "counter", "info"), "%s has the type %r", name, family["type"])
        want(family["help"], "%s has no HELP", name)
    return families


def values(families, sample, **labels):
    """Of all samples of that name with these labels."""
    return [value for family in families.values() for name, has, value in family["samples"]
            if name == sample and all(has.get(k) == v for k, v in labels.items())]
