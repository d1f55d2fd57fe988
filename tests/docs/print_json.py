#!/usr/bin/env python3
"""print_json.py BUILD - the part of docs/json.md that is printed from the schemas: each document and each shared part as a table of its keys."""
import os, re, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "schema"))
import schemas  # noqa: E402

# Documents that are no command's, and where they come from.
BY_HTTP = {"act": "GET /api/v1/act", "counters": "GET /api/v1/counters", "ecmp-history": "GET /api/v1/ecmp/history", "error": "any path below /api/v1 that fails", "healthz": "GET /healthz"}
SCALARS = {"time": "time", "seconds": "s", "nanoseconds": "ns", "bytes": "bytes", "bits_per_second": "bit/s", "bytes_per_second": "bytes/s", "ratio": "ratio", "usd": "US$",
           "id": "id", "priority": "priority", "severity": "severity", "check_state": "state"}
PLAIN = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}


def anchor(name):
    return "#" + re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-")


def part(reference):
    name = reference.rsplit("/", 1)[1]
    return SCALARS.get(name) or "[%s](%s)" % (name, anchor(name))


def type_of(node):
    """In a few words: the unit where there is one, a link to the keys of an object."""
    if "anyOf" in node:
        words = [type_of(one) for one in node["anyOf"] if one.get("type") != "null"]
        return "%s, or null" % ", ".join(words)
    if "$ref" in node:
        return part(node["$ref"])
    kind = node.get("type")
    if isinstance(kind, list):
        if kind[0] == "array":
            return "list of %s, or null" % type_of(node["items"])
        return "%s, or null" % PLAIN[kind[0]]
    if kind == "array":
        return "list of %s" % type_of(node["items"])
    if kind == "object":
        inner = node.get("additionalProperties")
        return "by name: %s" % type_of(inner) if isinstance(inner, dict) else "by name"
    return PLAIN.get(kind, "any")


def keys(node):
    if "properties" not in node:
        return
    required = set(node.get("required", []))
    print("| key | type | meaning |\n|---|---|---|")
    for key, value in node["properties"].items():
        type_text = type_of(value) + ("" if key in required else ", may be absent")
        print("| `%s` | %s | %s |" % (key, type_text, value.get("description", "").replace("|", "\\|")))
    extra = node.get("additionalProperties")
    if isinstance(extra, dict):
        print("| others | %s | %s |" % (type_of(extra), extra.get("description", "").replace("|", "\\|")))
    print()


def source(name):
    if name in BY_HTTP:
        return "`%s`" % BY_HTTP[name]
    shared = [words for words, form in schemas.SHARED.items() if form == name]
    if name == "check":
        shared = ["check NAME"]
    known = [c.replace("-", " ", 1) for c in [name]]
    if name.startswith(("report-", "import-")) or name.startswith("query-"):
        known = [name.replace("-", " ", 1)]
    if name == "query-list":
        known = ["query --list"]
    if name.startswith("support-bundle"):
        known = [name.replace("bundle-", "bundle --")]
    if name == "watch":
        known = ["watch --once"]
    return ", ".join("`rocewatch %s`" % words for words in shared or known)


def main():
    read = schemas.Schemas(sys.argv[1])
    names = [n for n in read.names() if n not in ("common", "rocewatch.yaml", "config-show")]
    print("\n## Documents\n")
    for name in names:
        schema = read.by_id[name + schemas.ENDING]
        print("### %s\n\n%s: %s\n" % (name, source(name), schema["description"]))
        if "$ref" in schema:
            print("Its keys are those of %s.\n" % part(schema["$ref"]))
        keys(schema)
        for inner, node in schema.get("$defs", {}).items():
            print("#### %s\n\n%s\n" % (inner, node["description"]))
            keys(node)
    print("## Shared parts\n")
    for name, node in read.by_id["common" + schemas.ENDING]["$defs"].items():
        if "properties" in node:
            print("### %s\n\n%s\n" % (name, node["description"]))
            keys(node)
    return 0


if __name__ == "__main__":
    sys.exit(main())
