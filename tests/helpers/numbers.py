#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""numbers.py NAME: holds what reports print of findings against NAME.json.

NAME.text is the text report, NAME.NUMBER that of one finding, NAME.check what "check" prints.  Each
number with a unit, and each count, in the lines of a finding is one of the JSON's, printed as text.
"""
import json
import re
import sys

NUMBER = r"(?:\d+(?:\.\d+)?|<0\.1) (?:ns|us|ms|s|%|times?|lines|places|more)\b|(?:<0\.1|[\d.]+) %"


def duration(ns):
    if ns < 1000:
        return f"{ns} ns"
    value, unit = ns / 1000, "us"
    for more in "ms", "s":
        if value < 999.5:
            break
        value, unit = value / 1000, more
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


def share(part):
    percent = 100 * part
    if 0 < percent < 0.05:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 0.95 else f"{percent:.0f} %"


def times(row):
    text = f"{row['count']} time{'' if row['count'] == 1 else 's'}"
    if row["waited_ns"]:
        text += f", {duration(row['waited_ns'])} host wait"
    if row["delayed_ns"]:
        text += f", {duration(row['delayed_ns'])} device delay"
    return text


def saving(row):
    best, part = duration(row["saving_ns"]), share(row["share"])
    turn = row["turn_saving_ns"]
    low, high = row["saving_low_ns"], row["saving_high_ns"]
    ends = [] if low is None else [f"{duration(low) if low else '0'} to {duration(high)}"]
    within = ", ".join(ends if turn is not None else ends + [part])
    text = ("at most " if low is None else "about ") + best + (f" ({within})" if within else "")
    if turn is not None:
        return f"{text} would be saved, {duration(turn)} or {part} of each turn"
    return f"{text} of the run would be saved"


def cost(finding):
    if not finding["waited_ns"] and not finding["delayed_ns"]:
        return times(finding)  # what is in no order costs no time
    return f"{times(finding)}; {saving(finding)}"


def line_of(place):
    return place["at"] and (place["at"]["function"], place["at"]["text"])


def counted(finding):
    """Its places; of a missing fence without those that are less certain, and not shown."""
    return [place for place in finding["places"] if place["shown"] or not place["memory"]]


def block(finding, most):
    """The numbers of a finding's lines, in their order, and of its first shown places; None: of all."""
    places = finding["places"]
    listed = [place for place in places if place["shown"]][:most] if most else places
    lines = len({line_of(place) for place in counted(finding)})
    text = cost(finding) + (f", {lines} lines" if lines > 1 else "")
    wanted = re.findall(NUMBER, finding["message"]) + re.findall(NUMBER, text)
    last = None
    for place in listed:
        if line_of(place) != last and lines > 1 and place["saving_ns"] is not None:
            wanted.append(duration(place["saving_ns"]))
        last = line_of(place)
        if len(places) > 1:
            wanted += re.findall(NUMBER, times(place))
    if len(places) > len(listed):
        wanted.append(f"{len(places) - len(listed)} more")
    memory = places[0]["memory"]
    if memory and memory["gap_ns"] is not None:
        wanted.append(duration(abs(memory["gap_ns"])))
    return wanted


def printed(text, finding):
    """The numbers that a report prints between the first line of a finding and its advice."""
    found = re.search(rf"^{finding['rule']}: (.*?)  \[[\w, ]+\] #{finding['id']}\n(.*?)^    fix ",
                      text, re.M | re.S)
    if not found:
        return None
    lines = [line for line in found[2].splitlines()
             if not line.startswith(("    also ", "    from "))]
    return re.findall(NUMBER, found[1]) + re.findall(NUMBER, "\n".join(lines))


def where(place):
    if place and place["file"] and place["line"] is not None:
        return f"{place['file']}:{place['line']}"
    return place["text"] if place else "?"


def sums(finding):
    for member in "count", "waited_ns", "delayed_ns":
        yield member, finding[member], sum(place[member] for place in counted(finding))
    yield "share", round(finding["share"], 9), round(sum(p["share"] for p in finding["places"]), 9)


def read(name):
    with open(name) as file:
        return file.read()


def main(name):
    report, text, failed = json.loads(read(name + ".json")), read(name + ".text"), 0

    def expect(what, wanted, got):
        nonlocal failed
        if wanted != got:
            failed = 1
            print(f"#   {name}: {what}: {wanted} in JSON, printed {got}")

    lines = read(name + ".check").splitlines()
    expect("findings of check", len(report["findings"]), len(lines))
    for finding, line in zip(report["findings"], lines):
        number = finding["id"]
        expect(f"#{number}", block(finding, 3), printed(text, finding))
        expect(f"--finding {number}", block(finding, None),
               printed(read(f"{name}.{number}"), finding))
        place = where(finding["at"])
        at = f", at {len(finding['places'])} places" if len(finding["places"]) > 1 else ""
        function = f" in {finding['at']['function']}" if place != "?" and finding["at"]["function"] else ""
        expect(f"check #{number}", f"{place}: {finding['rule']} #{number}{function}: "
               f"{finding['message']}: {cost(finding)}{at} [{finding['severity']}]", line)
        for member, whole, parts in sums(finding):
            expect(f"#{number}: {member} of its places", whole, parts)
    shown = [finding["process"] for finding in report["findings"]
             if finding["shown"] and finding["waited_ns"] + finding["delayed_ns"]]
    together = [saving(row) for row in report["together"] if shown.count(row["process"]) > 1]
    line = r"^all findings together: (.*? (?:be saved|each turn))(?: \[|$)"
    expect("together", together, re.findall(line, text, re.M))
    return failed


sys.exit(main(sys.argv[1]))
