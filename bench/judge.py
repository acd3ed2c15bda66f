# SPDX-License-Identifier: Apache-2.0
"""The bars of bench/overhead, and the statistics that decide whether they are met.

Samples are {workload: {variant: [[submit, total, crew], ...]}}: nanoseconds per round of the loop,
an entry per round of the benchmark, in the order of the rounds, null where a variant had no turn;
crew: which processes they were, each round others if not given.  Two variants are compared round
by round, because what disturbs a round disturbs both; an estimate is the median over the rounds
that have both, its interval the 2.5 and 97.5 percentiles of that median over resampled crews with
resampled rounds: rounds of the same processes are alike.
"""
import random
from collections import namedtuple

SUBMIT, TOTAL, CREW = 0, 1, 2
RESAMPLES = 2000

# group: of bench/overhead; limit: of the estimate; slack: how far the interval may reach above it.
Bar = namedtuple("Bar", "group workload how variant against limit slack")


def _added(group, workload, ns):
    return Bar(group, workload, "added", "host", "bare", ns, 15)


def _ratio(group, workload, variant, against, limit):
    return Bar(group, workload, "ratio", variant, against, limit, 0.02)


BARS = (
    [_added("calls", "launch", 180), _added("calls", "copy", 120), _added("calls", "record", 120),
     _added("calls", "wait", 120), _added("c", "query", 50), _added("c", "poll", 50)]
    + [_ratio(group, workload, "full", "same", 1.10)
       for group, workload in [("a", "launches"), ("b", "mixed"), ("d", "adds"), ("d", "train")]]
    + [_ratio(group, workload, "full", "nsys", 1.0)
       for group, workload in [("a", "launches"), ("c", "query"), ("c", "poll"), ("d", "adds"),
                               ("d", "train")]]
    # The device needs 13.5 microseconds a round under any tool, twice what the calls take.
    + [Bar("b", "mixed", "calls", "full", "nsys", 1.0, 0.02)]
    + [_ratio("d", workload, "full", "profiler", 1.0) for workload in ["adds", "train"]]
    + [_ratio("e", "graph", "full", "same", 1.05),
       _ratio("e", "graph", "full-node", "same-node", 1.05)]
    # Two changes of the protection of 16 pages, off by default: 26 us when it was made.
    + [Bar("g", "fetch", "added", "host-guard", "host", 40000, 5000)]
)
Verdict = namedtuple("Verdict", "bar pairs measured low high met")


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def interval(values, crews=None, seed=1):
    """95 % bootstrap interval of the median; the same values always give the same one.  crews: of
    the values; each from another one if not given."""
    generator = random.Random(seed)
    by_crew = {}
    for value, crew in zip(values, crews or range(len(values))):
        by_crew.setdefault(crew, []).append(value)
    groups, medians = list(by_crew.values()), []
    for _ in range(RESAMPLES):
        drawn = generator.choices(groups, k=len(groups))
        medians.append(median([value for group in drawn
                               for value in generator.choices(group, k=len(group))]))
    medians.sort()
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1]


def compare(how, ours, theirs):
    """Differences (added) or ratios (calls) of the time in the calls, or ratios of the whole time,
    by round, and the crews of the rounds."""
    column = TOTAL if how == "ratio" else SUBMIT
    values, crews = [], []
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if a and b:
            values.append(a[column] - b[column] if how == "added" else a[column] / b[column])
            crews.append(a[CREW] if len(a) > CREW else number)
    return values, crews


def judge(bar, samples):
    variants = samples.get(bar.workload, {})
    pairs, crews = compare(bar.how, variants.get(bar.variant, []), variants.get(bar.against, []))
    if not pairs:
        return Verdict(bar, 0, None, None, None, False)
    measured = median(pairs)
    low, high = interval(pairs, crews)
    # A limit of 1 means "below".
    within = measured < bar.limit if bar.limit == 1.0 else measured <= bar.limit
    return Verdict(bar, len(pairs), measured, low, high,
                   within and high <= bar.limit + bar.slack)


def judge_all(samples, groups, variants=()):
    """The verdicts on the bars of these groups; variants: where only these were run."""
    return [judge(bar, samples) for bar in BARS if bar.group in groups
            and (not variants or {bar.variant, bar.against} <= set(variants))]


def has_bar(group, variant):
    return any(bar.group == group and variant in (bar.variant, bar.against) for bar in BARS)


def _number(how, value):
    return f"{value:+.0f} ns" if how == "added" else f"{value:.3f}"


def _limit(bar):
    return f"{'below' if bar.limit == 1.0 else 'at most'} {_number(bar.how, bar.limit)}"


def print_samples(samples, traced):
    """traced: {workload: {variant: bytes of trace per round}}"""
    print(f"{'workload':<10} {'variant':<10} {'rounds':>6} {'in calls':>12} {'whole':>12} "
          f"{'added/round':>12} {'95 %':>20} {'whole/bare':>10} {'bytes':>7}")
    for workload, variants in samples.items():
        for variant, rounds in variants.items():
            values = [times for times in rounds if times]
            if not values:
                continue
            line = (f"{workload:<10} {variant:<10} {len(values):>6} "
                    f"{median([v[SUBMIT] for v in values]):>12.0f} "
                    f"{median([v[TOTAL] for v in values]):>12.0f} ")
            added, crews = compare("added", rounds, variants.get("bare", []))
            if variant != "bare" and added:
                low, high = interval(added, crews)
                whole, _ = compare("ratio", rounds, variants["bare"])
                line += (f"{median(added):>+12.0f} {f'{low:+.0f} .. {high:+.0f}':>20} "
                         f"{median(whole):>10.3f}")
            else:
                line += f"{'':>12} {'':>20} {'':>10}"
            size = traced.get(workload, {}).get(variant)
            print(line + (f" {size:>7.1f}" if size is not None else ""))


def print_verdicts(verdicts):
    """Prints the table of bars; 0 if all are met, else 1.  A bar not measured is not met."""
    print(f"\n{'bar':<34} {'pairs':>6} {'wanted':>16} {'measured':>10} {'95 % interval':>22}  "
          f"verdict")
    for bar, pairs, measured, low, high, met in verdicts:
        what = f"{bar.workload}: {bar.variant} {'-' if bar.how == 'added' else '/'} {bar.against}"
        line = f"{what:<34} {pairs:>6} {_limit(bar):>16} "
        if measured is None:
            print(f"{line}{'-':>10} {'-':>22}  NOT MEASURED")
        else:
            both = f"{_number(bar.how, low)} .. {_number(bar.how, high)}"
            print(f"{line}{_number(bar.how, measured):>10} {both:>22}  "
                  f"{'met' if met else 'MISSED'}")
    missed = sum(not verdict.met for verdict in verdicts)
    print(f"{len(verdicts) - missed} of {len(verdicts)} bars met")
    return 1 if missed or not verdicts else 0
