#!/usr/bin/env python3
"""check_callers.py SOURCE BUILD - no function that nobody calls.

Reads the symbols of all object files under BUILD with nm. A function of the product that no other object needs, and that its own
file does not name a second time, has no caller: it is deleted. Where only tests or the printed pages of docs/ need it, its
declaration says so: the comment at it has the words "for tests" or "for docs". Object files whose source is gone are not looked at.
"""
import os
import pathlib
import re
import subprocess
import sys

SAID = re.compile(r"\bfor[\s*]+(the[\s*]+)?(tests|docs)\b", re.IGNORECASE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
MADE = pathlib.Path("made")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def source_of(source, build, name):
    """The source of an object file, NAME/CMakeFiles/TARGET.dir/FILE.c.o; None: it is not of this tree, or gone. MADE: the build wrote it."""
    found = re.match(r"(.*?)/?CMakeFiles/[^/]+\.dir/(.*)\.o$", str(pathlib.Path(name).relative_to(build)))
    path = found and pathlib.Path(found[1]) / found[2]
    if path and (source / path).is_file():
        return path
    if path and (build / str(path).replace("__", "..")).is_file():
        return MADE
    return None


def read_symbols(source, build):
    """({function: source}, {symbol: is it needed by the product, else by tests}) of the object files of this tree."""
    # os.walk, not rglob: other tests make and delete folders below the build meanwhile
    objects = sorted(os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".o"))
    if not objects:
        sys.exit(f"check_callers: no object file under {build}: build first")
    listing = subprocess.run(["nm", "-A", "-g", *objects], capture_output=True, text=True, check=True).stdout
    functions, needed, sources = {}, {}, {}
    for line in listing.splitlines():
        name, _, rest = line.partition(".o:")
        words = rest.split()
        if name not in sources:
            sources[name] = source_of(source, build, name + ".o")
        path = sources[name]
        if not path:
            continue
        of_product = path.parts[0] != "tests"
        if words[-2] == "U":
            needed[words[-1]] = needed.get(words[-1], False) or of_product
        elif words[-2] == "T" and of_product and path != MADE and words[-1] != "main":
            functions[words[-1]] = path
    return functions, needed


def names_itself(source, path, function):
    """Does the file name the function beside its definition?"""
    text = STRING.sub('""', COMMENT.sub(" ", (source / path).read_text()))
    return len(re.findall(rf"\b{function}\b", text)) > 1


def is_said(headers, function):
    """Does the comment at the declaration say whom it is for?"""
    for text in headers:
        code = COMMENT.sub(lambda found: re.sub(r"\S", " ", found[0]), text)
        found = re.search(rf"\b{function}\(", code)
        if not found:
            continue
        before = max(code.rfind(sign, 0, found.start()) for sign in ";}") + 1
        begin = text.find("\n", before) if before else 0
        end = text.find("\n", code.find(";", found.end()))
        return bool(SAID.search(text[begin:end]))
    return False


def read_headers(source):
    """The texts of all headers of the tree, without what is built below it: other builds come and go there meanwhile."""
    texts = []
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name != "build" and not name.startswith("."))
        texts += [pathlib.Path(folder, name).read_text() for name in sorted(names) if name.endswith(".h")]
    return texts


def main():
    source, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    functions, needed = read_symbols(source, build)
    headers, wrong = None, 0
    for function, path in sorted(functions.items(), key=lambda row: (row[1], row[0])):
        if needed.get(function) or names_itself(source, path, function):
            continue
        if function not in needed:
            print(f"{path}: nobody calls {function}(): delete it")
            wrong += 1
            continue
        if headers is None:
            headers = read_headers(source)
        if not is_said(headers, function):
            print(f"{path}: only tests call {function}(): test what the program calls, or say \"for tests\" where it is declared")
            wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
