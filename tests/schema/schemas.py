"""schemas - the schemas of a build (agent/schema, and those printed from the answers) read and applied. Schemas(build).mistakes(name, document) lists what of a document its schema does not allow."""
import json, os, warnings

import jsonschema

ENDING = ".schema.json"
# Documents of the same form, by the words of their commands; `calc ecn` and others have a schema of their own name, calc-ecn.
SHARED = {
    "incident ack": "incident-change", "incident assign": "incident-change", "incident note": "incident-change", "incident close": "incident-change",
    "incident merge": "incident-change", "tune accept": "tune-decision", "tune reject": "tune-decision", "tune applied": "tune-decision",
    "silence add": "silence-change", "silence expire": "silence-change",
}


def name_of(words):
    """The schema of a command: "pause tree" has pause-tree, all checks have check."""
    if words.startswith("check "):
        return "check"
    return SHARED.get(words, words.replace(" --", "-").replace(" ", "-"))


def deepest(error):
    """Of `this or null` the mistake in `this`."""
    branches = [e for e in error.context if not (e.validator == "type" and e.validator_value == "null")]
    if not branches:
        return [error]
    return [leaf for e in branches for leaf in deepest(e)]


class Schemas:
    def __init__(self, build):
        """@build: the build directory, which holds the folder of schemas."""
        folder = os.path.join(build, "schema")
        self.by_id, self.validators = {}, {}
        for file in sorted(os.listdir(folder)):
            if file.endswith(ENDING):
                with open(os.path.join(folder, file)) as f:
                    self.by_id[file] = json.load(f)

    def names(self):
        return [file[:-len(ENDING)] for file in self.by_id]

    def validator(self, name):
        if name not in self.validators:
            schema = self.by_id[name + ENDING]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # its successor is not in Debian 12
                resolver = jsonschema.RefResolver(name + ENDING, schema, store=dict(self.by_id))
            self.validators[name] = jsonschema.Draft202012Validator(schema, resolver=resolver)
        return self.validators[name]

    def mistakes(self, name, document):
        if name + ENDING not in self.by_id:
            return ["there is no schema %s%s" % (name, ENDING)]
        out = {}
        for error in self.validator(name).iter_errors(document):
            for leaf in deepest(error):
                path = ".".join("[]" if isinstance(step, int) else step for step in leaf.absolute_path)
                text = leaf.message if len(leaf.message) < 160 else "... " + leaf.message[-150:]
                out.setdefault("%s: %s" % (path or "(top)", text), None)
        return list(out)
