"""The Markdown pages of the project, as the tests of the docs read them: fenced blocks, directives in comments, headings, links. Debian's python3."""
import glob, os, re


class Block:
    def __init__(self, page, line, words, lines):
        self.page, self.line, self.lines = page, line, lines  # line: of the first line inside the fence, from 1
        self.language, _, self.note = words.strip().partition(" ")


class Page:
    def __init__(self, root, name):
        self.name = name
        with open(os.path.join(root, name)) as f:
            self.text = f.read()
        self.lines = self.text.split("\n")
        self.blocks, self.directives, self.prose = [], [], []  # directives: (line, word, rest); prose: (line, text) outside of fences
        self._read()

    def _read(self):
        fence = None
        for number, line in enumerate(self.lines, 1):
            mark = re.match(r"\s*(`{3,})(.*)$", line)
            if fence:
                if mark and mark[1] == fence[0] and not mark[2].strip():
                    self.blocks.append(Block(self, fence[1], fence[2], self.lines[fence[1] - 1:number - 1]))
                    fence = None
                continue
            if mark:
                fence = (mark[1], number + 1, mark[2])
                continue
            said = re.fullmatch(r"\s*<!-- (world|let|wait): (.*?) -->\s*", line)
            if said:
                self.directives.append((number, said[1], said[2]))
            self.prose.append((number, line))
        if fence:
            raise SystemExit("%s:%d: this block has no end" % (self.name, fence[1] - 1))

    def anchors(self):
        """As GitHub makes them of headings; a repeated one gets -1, -2 ..."""
        found = {}
        for _, line in self.prose:
            heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
            if heading:
                plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
                slug = re.sub(r"[^\w\- ]", "", plain.replace("`", "").lower()).replace(" ", "-")
                n = found.setdefault(slug, 0)
                found[slug] += 1
                if n:
                    found["%s-%d" % (slug, n)] = 1
        named = re.findall(r"<a (?:id|name)=\"([^\"]+)\"", self.text)
        return set(found) | set(named)


def pages(root):
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    for pattern in ("docs/**/*.md", "tests/*/README.md"):
        names += sorted(os.path.relpath(p, root) for p in glob.glob(os.path.join(root, pattern), recursive=True))
    return [Page(root, name) for name in names]
