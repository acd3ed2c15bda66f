# SPDX-License-Identifier: Apache-2.0
# Prints tests/data/python_lines.h: line tables as each interpreter given makes them, and what it
# says itself of their instructions.
#
#	python3 tests/data/python_lines.py PYTHON3.9 PYTHON3.10 ... >tests/data/python_lines.h
import dis
import subprocess
import sys

SOURCE = """\
def plain(a):
    b = a + 1
    return b


def call_of_many_lines(f, a):
    f(a,

      a + 1,
      f(a))
    for i in a:
        with f(i) as x:
            yield x
    try:
        f()
    except ValueError:
        f(1)
    finally:
        f(2)


def far(f):
    f()
""" + "\n" * 300 + """\
    f(
""" + "\n" * 200 + """\
        f())
    return [x for x in f()]


def wide(a):
    """ + "a;" * 135 + """ return a

    """


def functions(code):
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield constant
            yield from functions(constant)


def ranges(code):
    """start, end, line: neighbours of one line joined, those without one left out."""
    if hasattr(code, "co_lines"):
        found = [r for r in code.co_lines()]
    else:
        starts = list(dis.findlinestarts(code))
        ends = [offset for offset, line in starts[1:]] + [len(code.co_code)]
        found = [(start, end, line) for (start, line), end in zip(starts, ends)]
    joined = []
    for start, end, line in found:
        if joined and joined[-1][1:] == (start, line):
            joined[-1] = (joined[-1][0], end, line)
        else:
            joined.append((start, end, line))
    return [r for r in joined if r[2] is not None and r[1] > r[0]]


def print_all():
    major, minor = sys.version_info[:2]
    for code in functions(compile(SOURCE, "sample.py", "exec")):
        table = code.co_lnotab if (major, minor) < (3, 10) else code.co_linetable
        name = "%s of %d.%d" % (code.co_name, major, minor)
        lines = ["{ %d, %d, %d }" % r for r in ranges(code)]
        print('\t{ .name = "%s", .version = 0x%02x%02x, .first_line = %d, .length = %d,' %
              (name, major, minor, code.co_firstlineno, len(table)))
        wrap(".table = { ", ["%d" % b for b in table], " },")
        wrap(".count = %d, .range = { " % len(lines), lines, " } },")


def wrap(start, words, end):
    line = "\t  " + start
    for i, word in enumerate(words):
        word += "," if i + 1 < len(words) else end
        if len(line) + len(word) > 88:
            print(line)
            line = "\t\t"
        line += word if line.endswith(("\t", "{ ")) else " " + word
    print(line if words else line + end)


if sys.argv[1:] == ["--one"]:
    print_all()
else:
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Made by python_lines.py; do not edit. */")
    for python in sys.argv[1:]:
        sys.stdout.write(subprocess.run([python, __file__, "--one"], check=True,
                                        stdout=subprocess.PIPE).stdout.decode())
