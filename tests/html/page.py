#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page.py CUFENCE PAGES NAME...: what the pages PAGES/NAME.html hold, against the databases NAME.db that
they were made of.  Needs no browser.  A line for each check: "ok NAME: TEXT" or "not ok NAME: TEXT"."""
import base64
import bisect
import hashlib
import html.parser
import json
import sqlite3
import subprocess
import sys
import zlib


class Page(html.parser.HTMLParser):
    """Its elements, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.styles, self.policy, self.inside = [], [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        if tag in ("script", "style"):
            self.inside = (self.scripts if tag == "script" else self.styles)
            self.inside.append([attrs, ""])

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside is not None:
            self.inside[-1][1] += data


NAME = ""


def ok(text, good):
    print("ok" if good else "not ok", f"{NAME}: {text}")


def same(text, wanted, got):
    ok(text, wanted == got)
    if wanted != got:
        print(f"#   wanted {str(wanted)[:300]}\n#   got    {str(got)[:300]}")


def numbers(data):
    """Zigzag varints, as analyzer/html/html_pack.h says."""
    raw, at = zlib.decompress(base64.b64decode(data), -15), 0
    while at < len(raw):
        value = shift = 0
        while True:
            value |= (raw[at] & 127) << shift
            shift += 7
            at += 1
            if raw[at - 1] < 128:
                break
        yield value >> 1 ^ -(value & 1)


def read_timeline(data, lanes):
    """(items as (start, end, name, category, amount, link, lane), calls, ranges likewise, arrows by
    kind, the rest)."""
    get = numbers(data)

    def column(count):
        return [next(get) for _ in range(count)]

    base, found = next(get), {"call": [], "operation": [], "range": []}
    for index, lane in enumerate(lanes):
        count = lane["count"]
        kind = "range" if lane.get("ranges") else "operation" if lane["stream"] else "call"
        starts, lengths, names, categories, amounts = (column(count) for _ in range(5))
        links = [-1] * count if kind == "range" else column(count)
        time, link, items = base, -1, []
        for i in range(count):
            start = time + starts[i]
            time = start + lengths[i]
            link = links[i] + (link if lane["stream"] else 0)
            items.append((start, time, names[i], categories[i], amounts[i], link, index))
        found[kind] += items
    items, arrows = found["call"] + found["operation"], []
    for _ in range(3):
        count, to, pairs = next(get), 0, []
        for step in column(count):
            to += step
            pairs.append(to)
        arrows.append([(pair + back, pair) for pair, back in zip(pairs, column(count))])
    return items, len(found["call"]), found["range"], arrows, list(get)


def check_markup(page):
    same("the scripts are the page's own", ["report-data", "texts-data", "timeline-data", None],
         [attrs.get("id") for attrs, _ in page.scripts])
    same("only the last of them runs", [None], [attrs.get("type") for attrs, _ in page.scripts
                                                if attrs.get("type") in (None, "module")])
    for kind, list_ in (("script", page.scripts[-1:]), ("style", page.styles)):
        digest = base64.b64encode(hashlib.sha256(list_[0][1].encode()).digest()).decode()
        ok(f"the policy names the {kind}", f"{kind}-src 'sha256-{digest}'" in page.policy)
    ok("the policy allows nothing else", page.policy.startswith("default-src 'none'; ")
       and "unsafe" not in page.policy)
    fetched = [(tag, value) for tag, attrs in page.tags for name, value in attrs.items()
               if name in ("src", "srcset", "data", "action", "poster")
               or name == "href" and not value.startswith("#") or name.startswith("on")]
    same("nothing is fetched, and nothing runs by an attribute", [], fetched)


def check_report(cufence, db, report):
    wanted = subprocess.run([cufence, "report", "--format", "json", "--level", "possible", db],
                            capture_output=True, check=True).stdout
    same("the report is the JSON report", json.loads(wanted), report)


def outermost(database):
    parent = dict(database.execute("SELECT id, parent FROM call"))

    def climb(call):
        while parent.get(call) is not None:
            call = parent[call]
        return call
    return climb


def check_ranges(database, texts, ranges):
    rows = database.execute("SELECT r.name, h.name, r.start, coalesce(r.end, p.end) FROM range r JOIN process p"
                            " ON p.id = r.process JOIN thread h ON h.id = r.thread").fetchall()
    lanes = texts["lanes"]
    same("ranges: all of them, with name and time", sorted((name, start, end) for name, _, start, end in rows),
         sorted((texts["names"][item[2]], *item[:2]) for item in ranges))
    ok("ranges of one lane do not overlap", all(
        a[6] != b[6] or a[1] <= b[0] for a, b in zip(ranges, ranges[1:])))
    ok("they stand above the calls of their thread", all(
        lanes[item[6]]["label"].partition(" of ")[2] == next(
            lane["label"] for lane in lanes[item[6]:] if not lane.get("ranges")) for item in ranges))


def check_items(database, texts, items, calls):
    label = "ifnull((SELECT kn.label FROM kernel_name kn WHERE kn.kernel = k.id), k.name)"
    rows = database.execute(f"SELECT o.start, o.end, {label}, o.kind FROM operation o LEFT JOIN"
                            " kernel k ON k.id = o.kernel WHERE o.start NOT NULL").fetchall()
    kinds = {"kernel": 0, "memcpy": 1, "peer": 1, "memset": 2, "graph": 3}
    names = texts["names"]
    same("operations: all of them, with kind and time",
         sorted((start, end, kinds[kind]) for start, end, _, kind in rows),
         sorted((start, end, category) for start, end, _, category, *_ in items[calls:]))
    same("kernels have their names", sorted((start, name) for start, _, name, _ in rows if name),
         sorted((item[0], names[item[2]]) for item in items[calls:] if item[3] == 0))
    rows = database.execute("SELECT enter, coalesce(exit, (SELECT end FROM process p WHERE p.id ="
                            " c.process)) FROM call c WHERE parent IS NULL").fetchall()
    same("calls: the outermost, with their time", sorted(rows), sorted(item[:2] for item in items[:calls]))
    climb = outermost(database)
    enter = dict(database.execute("SELECT id, enter FROM call"))
    rows = database.execute("SELECT start, call FROM operation WHERE start NOT NULL").fetchall()
    same("operations know the calls that submitted them",
         sorted((start, enter[climb(call)] if call else -1) for start, call in rows),
         sorted((item[0], items[item[5]][0] if item[5] >= 0 else -1) for item in items[calls:]))
    waits = database.execute("SELECT call, waited FROM wait").fetchall()
    held = {}
    for call, waited in waits:
        held[enter[climb(call)]] = held.get(enter[climb(call)], 0) + waited
    same("calls have the time that the device held them", sorted(held.items()),
         sorted((item[0], item[4]) for item in items[:calls] if item[4]))


def check_arrows(database, items, arrows):
    climb = outermost(database)
    enter = dict(database.execute("SELECT id, enter FROM call"))
    start = dict(database.execute("SELECT id, start FROM operation"))
    work = {}
    for stream, call, began in database.execute("SELECT stream, call, start FROM operation WHERE call"
                                                " NOT NULL AND start NOT NULL ORDER BY call, start"):
        work.setdefault(stream, []).append((call, began))
    wanted = set()
    for record, recorded, wait, waiting in database.execute(
            "SELECT w.record, r.stream, w.call, c.stream FROM event_wait w JOIN call c ON c.id = w.call"
            " JOIN call r ON r.id = w.record JOIN call_type t ON t.id = c.type JOIN call_kind k ON"
            " k.name = t.kind WHERE k.family = 'event_wait' AND r.stream <> c.stream"):
        before, after = work.get(recorded, []), work.get(waiting, [])
        i, j = bisect.bisect_left(before, (record, -1)), bisect.bisect_left(after, (wait, -1))
        if i and j < len(after):
            wanted.add((before[i - 1][1], after[j][1]))
    same("fences: from the work before the record to the work after the wait", wanted,
         {(items[a][0], items[b][0]) for a, b in arrows[0]})
    same("waits: from the operation to the call", sorted((start[op], enter[climb(call)]) for op, call in
         set(database.execute("SELECT op, call FROM wait WHERE op NOT NULL"))),
         sorted((items[a][0], items[b][0]) for a, b in arrows[1]))
    same("what the device held but no event", sorted((start[a], start[b]) for a, b in set(database.execute(
        "SELECT behind, op FROM hold WHERE behind NOT NULL AND reason <> 'event'"))),
        sorted((items[a][0], items[b][0]) for a, b in arrows[2]))
    return len(wanted)


def check_turns(database, rest):
    loops = database.execute("SELECT turns, start, until FROM loop ORDER BY process").fetchall()
    for turns, start, until in loops:
        count = rest.pop(0)
        steps, rest = rest[:count], rest[count:]
        same("the loop's turns, and where the last one ends", (turns + 1, start, until),
             (count, steps[0], sum(steps)))
    same("nothing is left over", [], rest)


def check_findings(database, texts, items):
    spans = True
    for number, said in texts["findings"].items():
        rule, = database.execute("SELECT rule FROM finding WHERE id = ?", (number,)).fetchone()
        worst = said["worst"]
        inside = [items[i] for i in worst["items"]]
        spans = spans and (worst["start"] == worst["end"] or any(
            item[0] < worst["end"] and item[1] > worst["start"] for item in inside))
        ok(f"{rule} says how to fix it, in C++ and PyTorch", "(" in said["cpp"] and said["pytorch"])
        ok(f"{rule} has its cost and its places", said["cost"] and "at" in [row[0] for row in
                                                                          said["lines"]])
        tests = [text for label, text in said["lines"] if label == "test"]
        same(f"{rule} says what confirm found out", [row[0] for row in database.execute(
            "SELECT replace(replace(c.result, 'order-missing', 'order missing, conflict not shown'), '-', ' ')"
            " || ': ' || c.how FROM finding_place p"
            " JOIN confirmation c ON c.fingerprint = p.fingerprint WHERE p.finding = ? ORDER BY p.id",
            (number,))], tests)
    ok("worst instances hold what they are about", spans)


def check_page(cufence, path, db):
    with open(path, encoding="utf-8") as file:
        page = Page(file.read())
    database = sqlite3.connect(db)
    report, texts = (json.loads(text) for _, text in page.scripts[:2])
    items, calls, ranges, arrows, rest = read_timeline(page.scripts[2][1], texts["lanes"])
    check_markup(page)
    check_report(cufence, db, report)
    check_items(database, texts, items, calls)
    check_ranges(database, texts, ranges)
    check_arrows(database, items, arrows)
    check_turns(database, rest)
    check_findings(database, texts, items)
    database.close()


def main():
    global NAME
    cufence, pages, *names = sys.argv[1:]
    for NAME in names:
        try:
            check_page(cufence, f"{pages}/{NAME}.html", f"{NAME}.db")
        except (ValueError, IndexError, KeyError, OSError) as error:
            ok(f"can be read: {error!r}"[:300], False)


main()
