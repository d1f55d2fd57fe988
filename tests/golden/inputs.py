"""inputs - how the inputs of golden cases are made: a generator (make_*.py FOLDER) writes into FOLDER, in the build tree, what the tests read; the
answers stand in the source.

inputs.py --check FOLDER    every file made there is, byte for byte, what inputs.sha256 says
inputs.py --update FOLDER   writes inputs.sha256 anew"""
import hashlib
import os
import sys

SOURCE = os.path.dirname(os.path.abspath(__file__))
SUMS = os.path.join(SOURCE, "inputs.sha256")
ANSWERS = ("expected.txt", "findings.txt")


def target():
    if len(sys.argv) != 2:
        sys.exit(f"{sys.argv[0]}: give the folder to write the cases into; the build does: cmake --build BUILD --target golden_inputs")
    return sys.argv[1]


def answered(case):
    return any(os.path.exists(os.path.join(SOURCE, case, answer)) for answer in ANSWERS)


def path(case, name):
    return os.path.join(target(), case, name)


def create(case, name, mode="w"):
    """Opens a file of a case to write it. A case that nobody answers would never be run: refused."""
    if not answered(case):
        sys.exit(f"{sys.argv[0]}: nothing answers case {case}: touch {' or '.join(ANSWERS)} in tests/golden/{case}, then update (tests/golden/CMakeLists.txt)")
    if os.path.lexists(os.path.join(SOURCE, case, name)):
        sys.exit(f"{sys.argv[0]}: {name} of case {case} is made here and stands in tests/golden as well: remove it there")
    os.makedirs(os.path.join(target(), case), exist_ok=True)
    if os.path.islink(path(case, name)):  # it was written by hand when the build was configured
        os.unlink(path(case, name))
    return open(path(case, name), mode)


def sums(folder):
    """Made files only: those written by hand are links."""
    for place, _, names in sorted(os.walk(folder)):
        case = os.path.relpath(place, folder)
        for name in sorted(names):
            file = os.path.join(place, name)
            if not os.path.islink(file) and answered(case):
                with open(file, "rb") as f:
                    yield f"{hashlib.sha256(f.read()).hexdigest()}  {case}/{name}\n"


def main(what, folder):
    made = list(sums(folder))
    if what == "--update":
        with open(SUMS, "w") as f:
            f.writelines(made)
        return
    with open(SUMS) as f:
        known = f.readlines()
    wrong = sorted({line.split()[1] for line in set(made) ^ set(known)})
    if wrong:
        sys.exit("made otherwise than inputs.sha256 says, or made on one side only; if that is meant, build golden_inputs_update:\n" + "\n".join(wrong))
    print(f"{len(made)} files as inputs.sha256 says")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("--check", "--update"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
