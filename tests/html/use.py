#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""use.py FOLDER [--keep FOLDER]: the pages of a folder as their reader uses them, in a headless
Chromium.  A line for each check: "ok TEXT" or "not ok TEXT"; --keep: screenshots go there.

FOLDER has findings.html (a loop, a finding that costs time, sources), rest.html (one below the threshold),
hostile.html, fences.html, race.html (confirmed), ranges.html, ten.html (ten thousand operations) and any others, which have to open without
an error."""
import glob
import os
import struct
import sys
import tempfile
import zlib

from browser import Browser

KEEP = sys.argv[3] if len(sys.argv) > 3 else None


def ok(text, good, note=""):
    print("ok" if good else "not ok", text)
    if not good and note != "":
        print(f"#   {str(note)[:400]}")


def rows_of(path):
    """How many different rows of pixels a screenshot has: an empty field has few."""
    with open(path, "rb") as file:
        png = file.read()
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IDAT":
            packed += png[at + 8:at + 8 + length]
        elif kind == b"IHDR":
            width, height = struct.unpack(">II", png[at + 8:at + 16])
        at += 12 + length
    raw = zlib.decompress(packed)
    row = len(raw) // height
    return len({raw[i * row:(i + 1) * row] for i in range(height)})


class Reader:
    def __init__(self, folder):
        self.folder, self.shots = folder, tempfile.mkdtemp()
        self.browser = Browser(tempfile.mkdtemp())

    def open(self, name):
        self.name = name
        self.browser.open(f"{self.folder}/{name}.html")
        self.browser.frame()

    def shot(self, name, selector=None):
        path = f"{KEEP or self.shots}/{name}.png"
        self.browser.screenshot(path, selector)
        return path

    def value(self, expression):
        self.browser.frame()
        return self.browser.run(f"return {expression}")

    def view(self):
        return self.value("[cufence.timeline.view.start, cufence.timeline.span]")

    def quiet(self):
        errors = self.browser.errors()
        ok(f"{self.name}: no error on the console", not errors, errors)


def pixel(reader, x, y):
    """The color of a place of the timeline, by a copy: reading would make a canvas slow."""
    return reader.value("(() => { const c = document.createElement('canvas').getContext('2d',"
                        " { willReadFrequently: true }), r = cufence.timeline.painter.ratio;"
                        f" c.drawImage(cufence.timeline.canvas, {x} * r, {y} * r, 1, 1, 0, 0, 1, 1);"
                        " return Array.from(c.getImageData(0, 0, 1, 1).data); })()")


def check_findings(reader):
    browser = reader.browser
    reader.open("findings")
    ok("the headline counts findings", browser.text("h1").startswith("1 finding"), browser.text("h1"))
    said = browser.text("#headline span")
    ok("and says what the only one is, and costs", "waited for the device" in said and " host wait" in said, said)
    card = browser.text(".finding")
    for part in ("cudaFree waited", "blocking-free", "of each turn", "high", "Example, CUDA C++",
                 "cudaFreeAsync", "PyTorch", "free_in_loop.cu:22", "free_in_loop.cu:33"):
        ok(f"the finding says {part}", part in card, card)
    title = reader.value("document.querySelector('.message').title")
    ok("over it is the kernel's whole name", title.startswith("cufence::accumulate("), title)
    title = reader.value("(cufence.timeline.describe(cufence.run.items.category.indexOf(0)), document.querySelector("
                         "'.details h3, #details h3').title)")
    ok("and over a kernel of the timeline", title.startswith("cufence::"), title)
    if os.path.exists(f"{reader.folder}/sources"):
        ok("the line is shown and marked", "cudaFree(scratch)" in browser.text(".line.here"),
           browser.text(".line.here"))
    ok("the account adds up", reader.value("[...document.querySelectorAll('.account')].every(a => Math.abs("
                                           "[...a.querySelectorAll('.bar .cause')].reduce((s, c) => s + "
                                           "Number(c.style.flexGrow), 0) - 1) < 1e-6)"))
    ok("findings come first", reader.value("[...document.querySelectorAll('main > section')].map(s => s.id)"
                                           ".join(' ')") == "overview findings time timeline about")
    path = reader.shot("findings")
    ok("the page is drawn", rows_of(path) > 100)


def check_narrow(reader):
    reader.browser.narrow()
    reader.open("findings")
    ok("a narrow page is not wider than its window", reader.value(
        "innerWidth === 420 && document.documentElement.scrollWidth <= innerWidth"))
    ok("and gives the timeline most of its width", reader.value(
        "cufence.timeline.painter.plot > cufence.timeline.painter.width * 0.6"))
    reader.shot("narrow", "#chart")
    reader.browser.narrow(400)
    ok("its navigation is there at 400 px, in full", reader.value(
        "[...document.querySelectorAll('.top nav a')].every(a => { const r = a.getBoundingClientRect();"
        " return r.width > 0 && r.left >= 0 && r.right <= 400; }) && document.documentElement.scrollWidth <= 400"))
    reader.shot("narrow-top")
    reader.browser.click(".top nav a[href='#timeline']")
    ok("and leads below the bar", reader.value(
        "document.getElementById('timeline-title').getBoundingClientRect().top >="
        " document.querySelector('.top').getBoundingClientRect().bottom"))
    reader.browser.wide()


def check_code(reader):
    """Names in backticks are code, whole, and no backtick is left in what people read."""
    reader.open("race")
    left = reader.value("(() => { const w = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);"
                        " const all = []; while (w.nextNode()) if (w.currentNode.data.includes('`') &&"
                        " !w.currentNode.parentElement.closest('pre')) all.push(w.currentNode.data); return all; })()")
    ok("no backtick is left", left == [], left)
    codes = reader.value("[...document.querySelectorAll('.fix p code')].map(e => e.textContent)")
    ok("a fix names kernels as code", "scale" in codes, codes)


def check_rest(reader):
    reader.open("rest")
    rest = "document.querySelector('.more').nextSibling"
    ok("what is below the threshold is hidden", reader.value(f"{rest}.hidden") and
       reader.browser.text(".more") == "1 hidden: 1 would save little", reader.browser.text(".more"))
    reader.browser.keys(*["tab"] * 2)
    reader.browser.run("document.querySelector('.more').focus()")
    reader.browser.keys("enter")
    ok("and shown when asked for", reader.value(f"!{rest}.hidden && {rest}.children.length > 0"))


def check_worst(reader):
    browser = reader.browser
    before = reader.view()
    browser.click(".primary")
    worst, after = reader.value("cufence.timeline.view.worst"), reader.view()
    ok("a click shows the worst instance", worst and after != before
       and after[0] <= worst["start"] and after[0] + after[1] >= worst["end"], [worst, after])
    ok("it is selected and described", "cudaFree" in browser.text(".details h3"),
       browser.text(".details"))
    ok("with what it waited for", "accumulate on stream 15" in browser.text(".details"),
       browser.text(".details"))
    ok("the timeline has the focus", reader.value("document.activeElement === cufence.timeline.canvas"))
    top = reader.value("document.getElementById('timeline').getBoundingClientRect().top")
    ok("and is in view", -10 < top < 300, top)
    reader.shot("worst", "#chart")
    browser.run("[...document.querySelectorAll('.link')].pop().click()")
    ok("its links lead on", browser.text(".details h3") == "accumulate", browser.text(".details"))


def check_keys(reader):
    browser = reader.browser
    browser.run("cufence.timeline.canvas.focus()")
    browser.keys("0")
    whole = reader.view()
    ok("0 shows all", whole[0] <= reader.value("cufence.run.start") and
       whole[0] + whole[1] >= reader.value("cufence.run.stop"), whole)
    browser.keys("+", "+")
    closer = reader.view()
    ok("+ zooms in", closer[1] < 0.5 * whole[1], closer)
    browser.keys("right")
    moved = reader.view()
    ok("an arrow moves", moved[0] > closer[0] and moved[1] == closer[1], moved)
    browser.keys("-")
    ok("- zooms out", reader.view()[1] > moved[1])
    browser.keys("escape", "0", "down", "down", ".")
    first = reader.value("cufence.timeline.view.item")
    browser.keys(".")
    ok("a lane's items are reached one after the other", first >= 0 and
       reader.value("cufence.timeline.view.item") == first + 1, first)
    ok("and said to those who do not see them", "stream" in reader.value(
        "document.getElementById('timeline-said').textContent"))
    browser.keys("l")
    ok("L leads to the call that submitted it", reader.value(
        "cufence.run.isCall(cufence.timeline.view.item)"))
    browser.keys("1")
    ok("1 leads to the first finding", reader.value("cufence.timeline.view.finding") == 1)
    browser.keys("?")
    ok("? shows the keys", reader.value("!document.querySelector('.keys').hidden"))
    browser.keys("?")


def check_mouse(reader):
    browser = reader.browser
    browser.run("cufence.timeline.fit(); cufence.timeline.clear()")
    whole = reader.view()
    browser.wheel("#chart .plot canvas", 100, 0, -200)
    ok("the wheel zooms", reader.view()[1] < whole[1], reader.view())
    before = reader.view()
    browser.press("#chart .plot canvas", 0, 0, (-120, 0))
    after = reader.view()
    ok("dragging moves", after[0] > before[0] and after[1] == before[1], [before, after])
    browser.run("cufence.timeline.fit(); const t = cufence.timeline, i = t.run.items;"
                "t.show(i.start[t.run.calls + 5], i.stop[t.run.calls + 5])")
    place = reader.value("(() => { const t = cufence.timeline, p = t.painter, i = t.run.calls + 5;"
                         "return [p.x((t.run.items.start[i] + t.run.items.stop[i]) / 2) - p.width / 2,"
                         "p.laneMiddle(t.run.lanes[t.run.laneOf(i)]) - p.viewHeight / 2]; })()")
    browser.press("#chart .plot canvas", round(place[0]), round(place[1]))
    ok("a click selects what is there", reader.value("cufence.timeline.view.item") == reader.value(
        "cufence.run.calls + 5"), place)


def check_search(reader):
    browser = reader.browser
    browser.type("#chart input[type=search]", "accum")
    wanted = reader.value("Array.from(cufence.run.items.name).filter(n => "
                          "cufence.run.names[n] === 'accumulate').length")
    ok("a search counts what it finds", browser.text(".matches") == f"{wanted} matches",
       [wanted, browser.text(".matches")])
    browser.run("cufence.timeline.select(-1)")
    browser.type("#chart input[type=search]", "\ue007")
    first = reader.value("cufence.timeline.view.item")
    browser.type("#chart input[type=search]", "\ue007")
    second = reader.value("cufence.timeline.view.item")
    ok("and goes from one to the next in time", reader.value(
        f"cufence.timeline.nameOf({first}) === 'accumulate' && cufence.timeline.nameOf({second}) ==="
        f" 'accumulate' && cufence.run.items.start[{first}] < cufence.run.items.start[{second}]"),
       [first, second])


def check_names(reader):
    """The tables of names, against the items, and what a click on a name does."""
    browser = reader.browser
    row = browser.run("return document.querySelector('.names tbody tr').innerText").split()
    ok("what takes the device longest comes first", row[0] == "accumulate" and row[1] == "30", row)
    browser.run("cufence.timeline.clear(); window.scrollTo(0, 0)")
    browser.click(".names .link")
    ok("a name leads to where it is", reader.value("cufence.timeline.nameOf(cufence.timeline.view.item)")
       == "accumulate" and browser.text(".matches") == "30 matches", browser.text(".matches"))


def check_link(reader):
    """A finding that is linked to is open, also one that is hidden otherwise."""
    path = os.path.abspath(f"{reader.folder}/rest.html")
    hidden = reader.value("document.querySelector('.more').nextSibling.querySelector('.finding').id")
    reader.browser.ask("POST", "/url", {"url": "about:blank"})
    reader.browser.ask("POST", "/url", {"url": f"file://{path}#{hidden}"})
    ok("a link opens its finding", reader.value(f"document.getElementById('{hidden}').open && "
                                                f"document.getElementById('{hidden}').offsetHeight > 0"))


def check_turns(reader):
    reader.browser.run("cufence.timeline.clear(); cufence.timeline.fit()")
    row = "(26 + 10)"
    turns = reader.value("cufence.run.loops[0].turns.length")
    ok("the ruler has the loop's turns", turns == 31, turns)
    one = reader.value("(() => { const t = cufence.run.loops[0].turns, x = i => cufence.timeline.painter.x("
                       "(t[i] * 0.4 + t[i + 1] * 0.6)); return [x(4), x(5)]; })()")
    ok("and shades every other one", pixel(reader, one[0], row) != pixel(reader, one[1], row), one)


def check_theme(reader):
    ground = "getComputedStyle(document.body).backgroundColor"
    before, drawn = reader.value(ground), pixel(reader, 2, 2)
    reader.browser.click("#theme")
    ok("light turns dark", before != reader.value(ground) and drawn != pixel(reader, 2, 2),
       [before, drawn])
    reader.shot("dark")
    reader.browser.click("#theme")
    ok("and back", before == reader.value(ground))


def check_keyboard(reader):
    """All that a mouse reaches has its place among what Tab goes through."""
    reader.open("findings")
    reader.browser.keys("tab")
    ok("Tab begins with a way to the findings", reader.value("document.activeElement.className") == "skip")
    reached = set()
    for _ in range(40):
        reader.browser.keys("tab")
        reached.add(reader.value("document.activeElement.tagName + '.' + document.activeElement.className"))
    for wanted in ("SUMMARY.", "BUTTON.primary", "INPUT.", "CANVAS."):
        ok(f"Tab reaches {wanted}", wanted in reached, reached)


def check_hostile(reader):
    reader.open("hostile")
    ok("no script of a name runs", reader.value("window.hacked === undefined && document.scripts.length")
       == 3, reader.value("document.scripts.length"))
    ok("nor does one become an element", reader.value("document.querySelectorAll('img, iframe, b.x').length")
       == 0)
    names = reader.value("cufence.run.names.join() + cufence.run.lanes.map(l => l.label).join()")
    ok("names are shown as they are", "</script><script>" in names, names)
    ok("but for what is invisible", "\u202e" not in names and "\\u202e" in names, names)
    ok("also among findings", "</script>" in reader.browser.text(".finding"),
       reader.browser.text(".finding"))
    reader.shot("hostile")


# How far the columns of lanes are off their items: in a strip of 20 pixels, as part of what strips have
# on average, and in sum.
COLUMNS = """
const t = cufence.timeline, p = t.painter, run = cufence.run, { start, stop } = run.items;
const whole = run.stop - run.start, strip = 20;
let worst = 0, off = 0, items = 0;
for (const [from, part] of [[0, 1], [0.31, 0.4], [0.8, 0.15]]) {
    t.show(run.start + whole * from, run.start + whole * (from + part));
    t.draw();
    for (const lane of run.lanes) {
        const wanted = new Float64Array(p.plot / strip + 1), got = wanted.slice();
        const { start: begin, perPixel } = t.view, column = time => (time - begin) / perPixel;
        for (let i = lane.first; i < lane.end; i++)
            for (let x = Math.max(0, column(start[i])), end = Math.min(p.plot, column(stop[i])); x < end;) {
                const next = Math.min(end, (Math.floor(x / strip) + 1) * strip);
                wanted[x / strip | 0] += next - x;
                x = next;
                items++;
            }
        p.columns.fill(0);
        p.boxes = [];
        p.visit(lane);
        for (let x = 0; x < p.plot; x++)
            for (let c = 0; c < 4; c++)
                got[x / strip | 0] += p.columns[x * 4 + c] / perPixel;
        const all = list => list.reduce((sum, part) => sum + part, 0);
        const one = all(wanted) / wanted.length;
        if (p.boxes.length || !one)
            continue;
        wanted.forEach((sum, i) => worst = Math.max(worst, Math.abs(sum - got[i]) / one));
        off = Math.max(off, Math.abs(all(wanted) - all(got)) / all(wanted));
    }
}
return [worst, off, items];
"""


def check_columns(reader):
    """Items narrower than a pixel: blocks represent them, and are as busy."""
    reader.open("ten")
    worst, off, items = reader.browser.run(COLUMNS)
    ok("columns are as busy as the items", items > 10000 and worst < 0.25 and off < 0.02,
       [worst, off, items])


def check_fences(reader):
    reader.open("fences")
    ok("fences are counted", "fences 38" in reader.browser.text(".legend"),
       reader.browser.text(".legend"))
    drawn = "(() => { let n = 0; const p = cufence.timeline.painter, d = p.drawArrow;" \
            " p.drawArrow = (...a) => { n++; d.apply(p, a); }; cufence.timeline.draw();" \
            " delete p.drawArrow; return n; })()"
    arrows = reader.value(drawn)
    ok("and drawn", arrows >= 38, arrows)
    reader.browser.click("#chart .legend input")
    ok("unless not wanted", reader.value(drawn) < arrows - 30)


def check_race(reader):
    reader.open("race")
    ok("a finding that was confirmed says so", reader.value(
        "[...document.querySelectorAll('.finding .badge')].map(e => e.innerText)"
        ".includes('confirmed')"))


def check_ranges(reader):
    browser = reader.browser
    reader.open("ranges")
    ok("named ranges have a key", "named range" in browser.text("#chart .legend"))
    browser.run("cufence.timeline.select(cufence.run.calls + cufence.run.operations)")
    said = browser.text("#chart .details")
    ok("a range says its name, thread and length", "step" in said and " on ranges of " in said and "named range" in said
       and "submitted" not in said, said)
    browser.keys("l")
    ok("and leads to no call", reader.value("cufence.timeline.view.item") == reader.value(
        "cufence.run.calls + cufence.run.operations"))
    browser.type("#chart input[type=search]", "overlaps")
    ok("a search finds it", browser.text(".matches") == "1 match", browser.text(".matches"))
    ok("ranges have a table of names", "Named ranges" in browser.text("#names"))
    reader.shot("ranges", "#chart")


def main():
    reader = Reader(sys.argv[1])
    try:
        check_findings(reader)
        check_worst(reader)
        check_keys(reader)
        check_mouse(reader)
        check_search(reader)
        check_names(reader)
        check_turns(reader)
        check_theme(reader)
        check_narrow(reader)
        check_code(reader)
        reader.quiet()
        check_rest(reader)
        check_link(reader)
        check_keyboard(reader)
        check_hostile(reader)
        reader.quiet()
        check_fences(reader)
        check_race(reader)
        check_ranges(reader)
        reader.quiet()
        check_columns(reader)
        for path in sorted(glob.glob(f"{reader.folder}/*.html")):
            reader.open(os.path.basename(path)[:-5])
            reader.quiet()
    finally:
        reader.browser.close()


main()
