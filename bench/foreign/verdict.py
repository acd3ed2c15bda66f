# SPDX-License-Identifier: Apache-2.0
"""What bench/foreign/run makes of its measurements: the true saving of a pair with its interval,
the prediction next to it, and the bars. All times are us a turn."""
import math
import statistics

# A pair is scored if its truth is at least SHARE of a turn and its interval at most CERTAIN of it.
SHARE, CERTAIN = 0.05, 1 / 3
SHOWN, MEDIAN_ERROR, WORST_ERROR, INTERVALS = 0.90, 0.05, 0.15, 0.85  # the bars
ALIKE = 0.01  # checksums of the two forms may differ by that: bfloat16, sums in another order
HEADER = (f"{'us a turn':16} {'turn':>9} {'truth':>8} {'low':>8} {'high':>8} {'of turn':>7} | "
          f"{'shown':>5} {'saving':>8} {'low':>8} {'high':>8} {'together':>8} {'error':>6}  fixed")


def outermost(count):
    """Of so many values in order, the number of the first one in the 95 % interval of their median
    (of the sign test); None: too few values."""
    number = 0
    while sum(math.comb(count, k) for k in range(number + 1)) <= 0.025 * 2 ** count:
        number += 1
    return number - 1 if number else None


def truth(differences):
    """(saving, low, high): the median of what processes say, and its 95 % interval."""
    saving, differences = statistics.median(differences), sorted(differences)
    first = outermost(len(differences))
    if first is None:
        return saving, -math.inf, math.inf
    return saving, differences[first], differences[-1 - first]


def alike(one, other):
    return abs(one - other) <= ALIKE * max(abs(one), abs(other))


def verdict(pair):
    """A row from what was measured of a pair: {"both": [us with the wait, us that are saved without it]
    of each process, "checksums": of them, "traced": predictions, "silent": findings of each traced
    fixed run}."""
    turn = statistics.median(us for us, _ in pair["both"])
    saving, low, high = truth([saved for _, saved in pair["both"]])
    row = {"name": pair["name"], "turn": turn, "truth": saving, "truth_low": low,
           "truth_high": high, "share": saving / turn, "why": None, "runs": len(pair["traced"]),
           "shown_in": sum(run["shown"] for run in pair["traced"]),
           "fixed": [finding for run in pair["silent"] for finding in run],
           "fixed_runs": len(pair["silent"])}
    row["shown"] = 2 * row["shown_in"] > row["runs"]
    for what in "saving", "low", "high", "together":
        # What is not shown predicts nothing, and such runs are outvoted.
        values = [run[what] for run in pair["traced"] if run["shown"]]
        row[what] = statistics.median(values) if row["shown"] else 0.0
    row["error"] = abs(row["saving"] - saving) / turn
    row["holds"] = row["low"] <= saving <= row["high"]
    if not all(alike(pair["checksums"][0], other) for other in pair["checksums"]):
        row["why"] = "the checksums differ"
    elif saving < SHARE * turn:
        row["why"] = f"truth under {SHARE:.0%} of a turn"
    elif high - low > CERTAIN * saving:
        row["why"] = "interval over a third of the truth"
    elif not row["runs"]:
        row["why"] = "not traced"
    return row


def line(row):
    error = f"{row['error']:6.1%}" if row["shown"] else f"{'-':>6}"
    fixed = "not traced" if not row["fixed_runs"] else "silent" if not row["fixed"] else \
        "; ".join(dict.fromkeys(row["fixed"]))
    text = (f"{row['name']:16} {row['turn']:9.1f} {row['truth']:8.1f} {row['truth_low']:8.1f} "
            f"{row['truth_high']:8.1f} {row['share']:7.1%} | {row['shown_in']:3}/{row['runs']} "
            f"{row['saving']:8.1f} {row['low']:8.1f} {row['high']:8.1f} {row['together']:8.1f} "
            f"{error}  {fixed}")
    return text if row["why"] is None else f"{text}  (not scored: {row['why']})"


def bars(rows):
    """[(text, whether the bar is met)] over the scored rows; errors are those of the shown."""
    scored = [row for row in rows if row["why"] is None]
    shown = [row for row in scored if row["shown"]]
    if not shown:
        return [(f"pairs scored {len(scored)}, none of them shown", False)]
    part, held = len(shown) / len(scored), sum(row["holds"] for row in shown) / len(shown)
    errors = [row["error"] for row in shown]
    loud = [row["name"] for row in rows if row["fixed"]]
    return [(f"shown at the line {len(shown)} of {len(scored)}, at least {SHOWN:.0%}",
             part >= SHOWN),
            (f"median error {statistics.median(errors):.1%} of a turn, at most {MEDIAN_ERROR:.0%}",
             statistics.median(errors) <= MEDIAN_ERROR),
            (f"worst error {max(errors):.1%} of a turn, at most {WORST_ERROR:.0%}",
             max(errors) <= WORST_ERROR),
            (f"intervals hold {held:.0%}, at least {INTERVALS:.0%}", held >= INTERVALS),
            (f"fixed forms with findings: {', '.join(loud) or 'none'}", not loud)]
