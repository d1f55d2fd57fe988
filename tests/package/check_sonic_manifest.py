#!/usr/bin/env python3
"""check_sonic_manifest.py FILE VERSION - the manifest of the SONiC application extension against the fields that SONiC's package manager
reads. It ignores a field that it does not know: a misspelt one would do nothing, so that here it is an error.
Source: sonic-net/sonic-utilities, sonic_package_manager/manifest.py (ManifestSchema), commit 1559e7b5; SONiC application extension HLD."""
import json, re, sys


def version(value):
    return isinstance(value, str) and re.fullmatch(r"\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?", value)


def text(value):
    return isinstance(value, str)


def flag(value):
    return isinstance(value, bool)


def table(value):
    return isinstance(value, dict)


def texts(value):
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def volume(value):
    return texts(value) and all(re.fullmatch(r"[^:]+:/[^:]+:(ro|rw)", v) for v in value)


# A field: its check, or a dictionary of fields; in a list: each of a list. '!': it must be there.
ORDER = {"after": texts, "before": texts}
SCHEMA = {
    "version": version,
    "package": {"!version": version, "!name": text, "description": text, "base-os": table, "depends": texts, "breaks": texts, "init-cfg": table,
                "changelog": table, "debug-dump": text},
    "service": {"!name": text, "requires": texts, "requisite": texts, "wanted-by": texts, "after": texts, "before": texts, "dependent": texts,
                "dependent-of": texts, "post-start-action": text, "pre-shutdown-action": text, "asic-service": flag, "host-service": flag,
                "delayed": flag, "check_up_status": flag, "type": text, "stop-time": text, "warm-shutdown": ORDER, "fast-shutdown": ORDER,
                "syslog": {"support-rate-limit": flag}},
    "container": {"privileged": flag, "volumes": volume, "mounts": [{"!source": text, "!target": text, "!type": text}], "environment": table, "tmpfs": texts},
    "processes": [{"!name": text, "reconciles": flag}],
    "cli": {"mandatory": flag, "show": texts, "config": texts, "clear": texts, "auto-generate-show": flag, "auto-generate-config": flag,
            "auto-generate-show-source-yang-modules": texts, "auto-generate-config-source-yang-modules": texts},
}


def faults(value, schema, path):
    if callable(schema):
        return [] if schema(value) else ["%s: %r is no %s" % (path, value, schema.__name__)]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return ["%s: not a list" % path]
        return [f for i, v in enumerate(value) for f in faults(v, schema[0], "%s[%d]" % (path, i))]
    if not isinstance(value, dict):
        return ["%s: not an object" % path]
    known = {key.lstrip("!"): of for key, of in schema.items()}
    found = ["%s/%s: not a field of SONiC" % (path, key) for key in value if key not in known]
    found += ["%s/%s: missing" % (path, key[1:]) for key in schema if key.startswith("!") and key[1:] not in value]
    return found + [f for key in value if key in known for f in faults(value[key], known[key], "%s/%s" % (path, key))]


def main(path, of):
    with open(path) as f:
        manifest = json.load(f)
    found = faults(manifest, SCHEMA, "")
    if manifest["package"]["version"] != of:
        found.append("/package/version: %s, the program is %s" % (manifest["package"]["version"], of))
    # it can fail: each of these must be found
    for wrong in ({"package": {"name": "x"}}, {"service": {"name": "x", "afer": []}}, {"container": {"privileged": "no"}}, {"container": {"volumes": ["/a"]}}):
        if not faults(wrong, SCHEMA, ""):
            found.append("the check finds nothing wrong with %s" % wrong)
    print("\n".join(found) if found else "the manifest has fields of SONiC only")
    return 1 if found else 0


sys.exit(main(*sys.argv[1:]))
