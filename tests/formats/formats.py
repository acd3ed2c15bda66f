#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""formats.py FOLDER [KIND...]: holds the exports NAME.perfetto, NAME.folded, NAME.sarif, NAME.junit, NAME.github,
NAME.markdown and NAME.csv of a folder against NAME.json, the JSON report of the same run and level, and against what each format
asks for; only these kinds, if there are any.  A line for each fault; exits 0 if there is none and there was something to check.
formats.py --flows TRACE: counts its flows between calls, to work, from work to calls, between work.
formats.py --slices TRACE: counts its slices, those of ranges among them.
formats.py --kinds: the formats that it knows."""
import csv
import glob
import html
import io
import json
import os
import re
import struct
import sys
import urllib.parse
import xml.etree.ElementTree as ET

FAULTS = 0
NAME = ""


def ok(good, text):
    global FAULTS
    if not good:
        FAULTS += 1
        print(f"{NAME}: {text}")


# --- Perfetto: numbers and types of the fields of protos/perfetto/trace/*.proto that may be there ---
# v: varint, f: fixed64, s: string, and a message by its name; a list: repeated.
PROTOS = {
    "Trace": {1: ["TracePacket", "packet"]},
    "TracePacket": {6: ("ClockSnapshot", "clock_snapshot"), 8: ("v", "timestamp"),
                    10: ("v", "trusted_packet_sequence_id"), 11: ("TrackEvent", "track_event"),
                    12: ("InternedData", "interned_data"), 13: ("v", "sequence_flags"),
                    60: ("TrackDescriptor", "track_descriptor")},
    "ClockSnapshot": {1: ["Clock", "clocks"], 2: ("v", "primary_trace_clock")},
    "Clock": {1: ("v", "clock_id"), 2: ("v", "timestamp")},
    "TrackDescriptor": {1: ("v", "uuid"), 2: ("s", "name"), 3: ("ProcessDescriptor", "process"),
                        4: ("ThreadDescriptor", "thread"), 5: ("v", "parent_uuid"),
                        11: ("v", "child_ordering"), 12: ("v", "sibling_order_rank")},
    "ProcessDescriptor": {1: ("v", "pid"), 2: ["s", "cmdline"], 6: ("s", "process_name")},
    "ThreadDescriptor": {1: ("v", "pid"), 2: ("v", "tid"), 5: ("s", "thread_name")},
    "TrackEvent": {3: ["v", "category_iids"], 4: ["DebugAnnotation", "debug_annotations"],
                   9: ("v", "type"), 10: ("v", "name_iid"), 11: ("v", "track_uuid"),
                   23: ("s", "name"), 47: ["f", "flow_ids"], 48: ["f", "terminating_flow_ids"]},
    "DebugAnnotation": {1: ("v", "name_iid"), 4: ("v", "int_value"), 6: ("s", "string_value"),
                        17: ("v", "string_value_iid")},
    "InternedData": {1: ["Interned", "event_categories"], 2: ["Interned", "event_names"],
                     3: ["Interned", "debug_annotation_names"],
                     29: ["Interned", "debug_annotation_string_values"]},
    "Interned": {1: ("v", "iid"), 2: ("s", "text")},
}
BEGIN, END, INSTANT = 1, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def decode(data, message):
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind, name = PROTOS[message][key >> 3]
        if kind == "v":
            assert key & 7 == 0, f"{message}.{name} is no varint"
            value, at = varint(data, at)
        elif kind == "f":
            assert key & 7 == 1, f"{message}.{name} is no fixed64"
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            assert key & 7 == 2, f"{message}.{name} has no length"
            length, at = varint(data, at)
            assert at + length <= len(data), f"{message}.{name} ends beyond its message"
            value, at = data[at:at + length], at + length
            value = value.decode() if kind == "s" else decode(value, kind)
        if isinstance(PROTOS[message][key >> 3], list):
            found.setdefault(name, []).append(value)
        else:
            assert name not in found, f"{message}.{name} comes twice"
            found[name] = value
    return found


class Perfetto:
    """Returns the contents of a trace, with each id replaced by the object that it names."""

    def __init__(self, data):
        self.tracks, self.interned, self.flows = {}, {}, {}
        self.open, self.last, self.slices, self.instants = {}, {}, [], []
        for packet in decode(data, "Trace")["packet"]:
            ok(packet.get("trusted_packet_sequence_id"), "a packet without its sequence")
            self.track(packet.get("track_descriptor"))
            self.intern(packet)
            if "track_event" in packet:
                self.event(packet["track_event"], packet["timestamp"], packet)
        ok(not any(self.open.values()), "a slice that does not end")
        for flow, ends in self.flows.items():
            ok([end for end, _, _ in ends] == ["flow_ids", "terminating_flow_ids"],
               f"flow {flow}: its ends are {ends}")
            ok(ends[0][1] <= ends[-1][1], f"flow {flow} goes back in time: {ends}")

    def track(self, track):
        if not track:
            return
        ok(track["uuid"] and track["uuid"] not in self.tracks, f"a track of no or a known id: {track}")
        parent = track.get("parent_uuid")
        ok(parent is None or parent in self.tracks, f"a track before its parent: {track}")
        ok("name" in track or "process" in track or "thread" in track, f"a nameless track: {track}")
        self.tracks[track["uuid"]] = track

    def intern(self, packet):
        for table, rows in packet.get("interned_data", {}).items():
            ok(packet.get("sequence_flags") == 1, "interned data without SEQ_INCREMENTAL_STATE_CLEARED")
            for row in rows:
                ok(row["iid"] > 0 and (table, row["iid"]) not in self.interned, f"{table} again: {row}")
                self.interned[table, row["iid"]] = row["text"]

    def text(self, table, iid):
        ok((table, iid) in self.interned, f"{table} {iid} is not declared before its use")
        return self.interned.get((table, iid))

    def event(self, event, time, packet):
        track = event["track_uuid"]
        ok(track in self.tracks, f"an event on a track that is not declared: {event}")
        ok(packet.get("sequence_flags") == 2, "an event without SEQ_NEEDS_INCREMENTAL_STATE")
        is_call = "thread" in self.tracks.get(track, {})
        for end in "flow_ids", "terminating_flow_ids":
            for flow in event.get(end, []):
                self.flows.setdefault(flow, []).append((end, time, is_call))
        for flow in event.get("flow_ids", []) + event.get("terminating_flow_ids", []):
            self.flows[flow].sort(key=lambda end: end[0])
        said = {self.text("debug_annotation_names", one["name_iid"]): one.get(
            "int_value", one.get("string_value")) if "string_value_iid" not in one else self.text(
                "debug_annotation_string_values", one["string_value_iid"])
            for one in event.get("debug_annotations", [])}
        categories = [self.text("event_categories", iid) for iid in event.get("category_iids", [])]
        name = event.get("name") or ("name_iid" in event and self.text("event_names", event["name_iid"]))
        # A track's events stand in the order of time, and its slices lie in each other.
        ok(time >= self.last.get(track, 0) or event["type"] == INSTANT, f"{name}: back in time")
        self.last[track] = time
        stack = self.open.setdefault(track, [])
        if event["type"] == END:
            ok(stack, "an end without its beginning")
            if stack:
                self.slices.append((*stack.pop(), time))
            return
        ok(name and categories, f"an event without a name or a category: {event}")
        if event["type"] == BEGIN:
            stack.append((track, name, categories[0] if categories else "", time))
        else:
            self.instants.append((name, categories, said))


def confirmed(place):
    """The result of "cufence confirm" for a place, as it is printed; None: it did not run."""
    said = place["confirmation"]
    words = {"order-missing": "order missing, conflict not shown"}
    return said and f"{words.get(said['result'], said['result'].replace('-', ' '))}: {said['how']}"


def check_perfetto(data, report):
    trace = Perfetto(data)
    work = [one for one in trace.slices if one[2] in ("kernel", "copy", "memset", "graph")]
    ok(len(work) == report["summary"]["coverage"]["operations"],
       f"{len(work)} operations, {report['summary']['coverage']['operations']} in the report")
    if report["summary"]["coverage"]["operations_matched"]:
        ok(trace.flows, "no flows")
    said = [(said["finding"], said["fingerprint"], said["message"], str(said.get("confirmation")))
            for name, category, said in trace.instants if category == ["finding"]]
    wanted = [(f["id"], p["fingerprint"], p["message"], str(confirmed(p))) for f in report["findings"]
              for p in f["places"]]
    ok(sorted(said) == sorted(wanted), f"findings: {said}, in the report {wanted}")


# --- SARIF: the members of its objects that may be there, * those that must ---
LOCATION = "id physicalLocation logicalLocations message"
SARIF = {
    "": "$schema version* runs*",
    "runs": "tool* columnKind originalUriBaseIds invocations results*",
    "tool": "driver*",
    "driver": "name* version semanticVersion rules",
    "rules": "id* name shortDescription fullDescription help helpUri defaultConfiguration properties",
    "results": "ruleId* ruleIndex level message* locations relatedLocations codeFlows "
               "occurrenceCount partialFingerprints suppressions baselineState properties",
    "invocations": "executionSuccessful* commandLine startTimeUtc toolExecutionNotifications",
    "toolExecutionNotifications": "level message*",
    "locations": LOCATION, "relatedLocations": LOCATION, "location": LOCATION,
    "physicalLocation": "artifactLocation* region", "artifactLocation": "uri* uriBaseId",
    "region": "startLine*", "logicalLocations": "fullyQualifiedName* kind",
    "codeFlows": "message threadFlows*", "threadFlows": "locations*",
    "threadFlowLocations": "location* importance kinds",
    "suppressions": "kind* status justification",
    "message": "text*", "shortDescription": "text*", "fullDescription": "text*",
    "help": "text* markdown", "defaultConfiguration": "level*", "SRCROOT": "uri*",
    "partialFingerprints": "cufencePlace/v1*",
}


def check_members(value, name, path):
    if isinstance(value, list):
        for one in value:
            check_members(one, name, path)
        return
    if not isinstance(value, dict):
        ok(value is not None, f"{path} is null")
        return
    if name == "properties":
        return
    members = SARIF.get(name)
    if members is not None:
        allowed = {word.rstrip("*") for word in members.split()}
        needed = {word.rstrip("*") for word in members.split() if word.endswith("*")}
        ok(set(value) <= allowed, f"{path} has {set(value) - allowed}")
        ok(needed <= set(value), f"{path} lacks {needed - set(value)}")
    for member, inner in value.items():
        known = "threadFlowLocations" if member == "locations" and name == "threadFlows" else member
        check_members(inner, known, f"{path}/{member}")


def check_sarif(data, report):
    log = json.loads(data)
    check_members(log, "", "")
    run = log["runs"][0]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    ok(log["version"] == "2.1.0" and len(log["runs"]) == 1, "one run of version 2.1.0")
    for rule in rules:
        ok(rule["helpUri"].startswith("https://") and rule["help"]["text"] and
           rule["defaultConfiguration"]["level"] in ("error", "warning"), f"rule {rule['id']}")
    places = [(f, p) for f in report["findings"] for p in f["places"]]
    ok(len(results) == len(places), f"{len(results)} results, {len(places)} places")
    for result, (finding, place) in zip(results, places):
        ok(rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding["rule"], f"rule of {result}")
        ok(result["level"] == {"high": "error", "medium": "warning", "low": "note"}
           [finding["severity"]], f"level of {result}")
        ok(result["partialFingerprints"]["cufencePlace/v1"] == place["fingerprint"], "fingerprint")
        ok(result["properties"]["waited_ns"] == place["waited_ns"], "cost")
        ok(result["properties"].get("confirmation") == confirmed(place), "confirmation")
        ok((confirmed(place) or "") in result["message"]["text"], f"confirmation in {result['message']}")
        check_locations(result, place)


def check_locations(result, place):
    at, other = place["at"], place["for"]
    ok(len(result["locations"]) == (at is not None), f"locations of {result}")
    if at and at["file"]:
        physical = result["locations"][0]["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        ok(urllib.parse.unquote(uri).endswith(os.path.basename(at["file"])), f"uri {physical}")
        ok(re.fullmatch(r"[A-Za-z0-9._~/%:-]+", uri), f"characters of the uri {physical}")
        ok(physical.get("region", {}).get("startLine") == at["line"], f"line {physical}")
    ok(("relatedLocations" in result) == (other is not None), f"related locations of {result}")
    if at and other:
        kinds = [step["kinds"][0] for step in result["codeFlows"][0]["threadFlows"][0]["locations"]]
        ok(kinds == (["producer", "fence", "consumer"] if place["memory"] else ["producer", "consumer"]),
           f"code flow {kinds} of {result['ruleId']}")


def check_junit(data, report):
    suites = ET.fromstring(data)
    suite = suites.find("testsuite")
    cases = suite.findall("testcase")
    ok(len({case.get("name") for case in cases}) == len(cases), "a case for each rule")
    for of in suites, suite:
        ok(int(of.get("tests")) == len(cases), "the number of cases")
        ok(int(of.get("failures")) == len(suite.findall("testcase/failure")), "the number of failures")
        ok(int(of.get("errors")) == len(suite.findall("testcase/error")), "the number of errors")
    wanted, tests, saved = {}, {}, {}
    for finding in report["findings"]:
        saved[finding["rule"]] = saved.get(finding["rule"], 0) + finding["saving_ns"]
        shown = [place["message"] for place in finding["places"] if place["shown"]]
        wanted.setdefault(finding["rule"], []).extend(shown)
        tests.setdefault(finding["rule"], []).extend(
            confirmed(place) for place in finding["places"] if place["shown"] and confirmed(place))
    for case in cases:
        ok(abs(float(case.get("time")) - saved.get(case.get("name"), 0) / 1e9) < 1e-6, f"time of {case.get('name')}")
    wanted = {rule: messages for rule, messages in wanted.items() if messages}
    got = {case.get("name"): case.find("failure") for case in cases if case.find("failure") is not None}
    ok(set(got) == set(wanted), f"failures {set(got)}, in the report {set(wanted)}")
    for rule in set(got) & set(wanted):
        ok(got[rule].get("message") == wanted[rule][0], f"message of {rule}")
        ok(len(re.findall(r"^    fix ", got[rule].text, re.M)) == len(wanted[rule]), f"places of {rule}")
        ok(re.findall(r"^    test (.*)", got[rule].text, re.M) == tests[rule], f"tests of {rule}")


def check_github(data, report):
    lines = data.decode().splitlines()
    places = [(f, p) for f in report["findings"] for p in f["places"] if p["shown"]]
    ok(len(lines) == len(places), f"{len(lines)} annotations, {len(places)} places")
    for line, (finding, place) in zip(lines, places):
        found = re.fullmatch(r"::(error|warning|notice) (?:file=([^,:]+),)?(?:line=(\d+),)?"
                             r"title=([^,:]+)::(.+)", line)
        ok(found, f"no annotation: {line}")
        if found:
            ok(found[4] == f"{finding['rule']} #{finding['id']}", f"title of {line}")
            ok(not place["at"] or not place["at"]["line"] or found[3] == str(place["at"]["line"]), "line")
            ok(not confirmed(place) or f"%0A{confirmed(place)}%0A" in found[5], f"confirmation in {line}")
            ok(not re.search(r"%(?!25|0A|0D)", found[5]), f"an escape in {line}")


def check_folded(data, report):
    """The stacks of a device or thread add up to its time outside of CUDA."""
    told, wanted = {}, {}
    for line in data.decode().splitlines():
        found = re.fullmatch(r"(?:pid \d+;)?(host|device \d+ idle)((?:;[^;]+)+) (\d+)", line)
        ok(found, f"no stack: {line}")
        if found:
            told[found[1]] = told.get(found[1], 0) + int(found[3])
    for row in report["summary"]["account"]:
        if row["cause"] in ("outside", "computing"):
            whose = "host" if row["device"] is None else f"device {row['device']} idle"
            wanted[whose] = wanted.get(whose, 0) + row["time_ns"]
    ok(told == wanted, f"{told} in the stacks, {wanted} in the account")


def check_markdown(data, report):
    lines = data.decode().splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    findings = [f for f in report["findings"] if any(p["shown"] for p in f["places"])]
    title = f"{len(findings) or 'no'} finding{'s' if len(findings) > 1 else ''}"
    ok(lines[0] == f"### cufence: {title}", f"the title {lines[0]}")
    ok(len(rows) == len(findings), f"{len(rows)} rows, {len(findings)} findings")
    for row, finding in zip(rows, findings):
        cells = row[2:-2].split(" | ")
        ok(len(cells) == 5 and row.count("|") == 6, f"cells of {row}")
        bare = re.sub(r"</?code>|<br>", "", row)
        ok(not re.search(r"[<>`*\\\[\]]|&(?!#\d+;)|[@#](?!\d+;|&#8203;)", bare), f"markup in {row}")
        ok(row.count("<code>") == row.count("</code>"), f"code in {row}")
        ok(cells[0].startswith(f"{finding['id']} {finding['rule']}<br>"), f"number and rule of {row}")
        first = next(p for p in finding["places"] if p["shown"])
        said = re.sub(r"</?code>", "`", html.unescape(cells[2])).replace("\u200b", "")
        ok(said.split("<br>")[0] == first["message"], f"message of {row}")
    ok(any(re.fullmatch(r"Places accepted: .* Other findings, .*: \d+\.", line) for line in lines), "what is left out")


def check_csv(data, report):
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    places = [(f, p) for f in report["findings"] for p in f["places"] if p["shown"]]
    ok(len(rows) == len(places), f"{len(rows)} rows, {len(places)} places")
    for row, (finding, place) in zip(rows, places):
        ok((row["finding"], row["rule"]) == (str(finding["id"]), finding["rule"]), f"finding of {row}")
        ok(row["message"] == place["message"], f"message of {row}")
        ok(row["fix"] and None not in row, f"columns of {row}")


CHECKS = {"perfetto": check_perfetto, "folded": check_folded, "sarif": check_sarif, "junit": check_junit,
          "github": check_github, "markdown": check_markdown, "csv": check_csv}


def count_flows(path):
    """How many flows lead from calls to calls, from calls to work, and so on."""
    with open(path, "rb") as file:
        flows = Perfetto(file.read()).flows.values()
    ways = [(a[2], b[2]) for a, b in flows]
    print(*(ways.count(way) for way in ((True, True), (True, False), (False, True), (False, False))))


def main(folder, *kinds):
    global NAME
    reports = sorted(glob.glob(os.path.join(glob.escape(folder), "*.json")))
    for path in reports:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        for kind in kinds or CHECKS:
            NAME = f"{os.path.basename(path)[:-5]}.{kind}"
            with open(path[:-4] + kind, "rb") as file:
                data = file.read()
            try:
                CHECKS[kind](data, report)
            except (AssertionError, KeyError, IndexError, ValueError, ET.ParseError) as error:
                ok(False, f"{type(error).__name__}: {error}")
    return FAULTS > 0 or not reports


if sys.argv[1] == "--flows":
    count_flows(sys.argv[2])
elif sys.argv[1] == "--slices":
    with open(sys.argv[2], "rb") as file:
        slices = Perfetto(file.read()).slices
    print(len(slices), sum(one[2] == "range" for one in slices))
elif sys.argv[1] == "--kinds":
    print(*CHECKS)
else:
    sys.exit(main(*sys.argv[1:]))
