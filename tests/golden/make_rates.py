#!/usr/bin/env python3
"""make_rates FOLDER - samples.tsv of each case whose samples are told as rates: rates.tsv, one line a series instead of one a sample.

    # any comment, copied
    every 10
    device port priority metric 7000 +500*12 +0*6    a counter, polled every 10 s from 0 s on: it begins at 7000, grows by 500 twelve times, then stands
    device port priority metric 0=1 70=0             a value that is told at 0 s and at 70 s

Fields are separated by tabs, what a series does by blanks. Samples come in the order of their time, those of one time in the order of the series."""
import glob
import os
import sys

import inputs


def series(words, step_s):
    """Pairs of time and value."""
    told = []
    for word in words:
        if "=" in word:
            time, value = word.split("=")
            told.append((int(time), value))
        elif word[0] == "+":
            delta, times = word[1:].split("*")
            for _ in range(int(times)):
                told.append((told[-1][0] + step_s, str(int(told[-1][1]) + int(delta))))
        else:
            told.append((0, word))
    return told


def expanded(path):
    comments, samples, step_s = [], [], None
    with open(path) as f:
        for number, line in enumerate(f, 1):
            try:
                if line[0] == "#":
                    comments.append(line)
                elif line.startswith("every "):
                    step_s = int(line.split()[1])
                else:
                    device, port, priority, metric, words = line.split("\t")
                    samples += [(time, f"{time}\t{device}\t{port}\t{priority}\t{metric}\t{value}\n") for time, value in series(words.split(), step_s)]
            except (ValueError, IndexError, TypeError) as reason:
                sys.exit(f"{path}:{number}: {reason}: the head of {sys.argv[0]} says how a line is written")
    return comments + [sample for _, sample in sorted(samples, key=lambda s: s[0])]


def main():
    for rates in sorted(glob.glob(os.path.join(inputs.SOURCE, "*", "*", "rates.tsv"))):
        with inputs.create(os.path.relpath(os.path.dirname(rates), inputs.SOURCE), "samples.tsv") as f:
            f.writelines(expanded(rates))


if __name__ == "__main__":
    main()
