#!/usr/bin/env python3
"""test_yaml.py EXAMPLE PAGE BUILD - the schema of rocewatch.yaml takes the example configuration and each example of docs/configuration.md,
and refuses an unknown key, a wrong word, a number without unit and a text for a list in them."""
import copy, os, re, sys

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import schemas  # noqa: E402

NAME = "rocewatch.yaml"


class Loader(yaml.SafeLoader):
    """YAML 1.2, as editors and rocewatch read it: on, off, yes and no are words."""


Loader.yaml_implicit_resolvers = {first: [(tag, rule) for tag, rule in rules if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
                                  for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


def main():
    read = schemas.Schemas(sys.argv[3])
    with open(sys.argv[1]) as f:
        example = yaml.load(f, Loader)
    with open(sys.argv[2]) as f:
        blocks = re.findall(r"^```yaml\n(.*?)^```$", f.read(), re.S | re.M)
    wrong = ["%s: %s" % (sys.argv[1], m) for m in read.mistakes(NAME, example)]
    for block in blocks:
        wrong += ["%s%s" % (block, m) for m in read.mistakes(NAME, yaml.load(block, Loader))]
    if len(blocks) < 20:
        wrong.append("only %d examples in %s" % (len(blocks), sys.argv[2]))
    for path, value in (("fabrik", "a"), ("devices.0.rolle", "leaf"), ("devices.0.role", "leave"), ("defaults.interval", 10), ("lossless.priorities", "3"),
                        ("analyzers", {"ecmp_inbalance": {}}), ("credentials.noc.snmp.community", "public")):
        planted = copy.deepcopy(example)
        *steps, last = path.split(".")
        at = planted
        for step in steps:
            at = at[int(step) if step.isdigit() else step]
        at[last] = value
        if not read.mistakes(NAME, planted):
            wrong.append("%s: %r is not refused" % (path, value))
    print("\n".join(wrong) or "%d examples" % len(blocks))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
