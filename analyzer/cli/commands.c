/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include "filter_options.h"
#include "run.h"

/* The choices of --format, each after a bar, and what they are, each after a comma and a blank. */
#define REPORT_FORMAT(name, ...) "|" #name
#define CHECK_FORMAT(name, ...) "|" #name
#define EXPORT_FORMAT(name, ...) "|" #name
static const char report_formats[] =
#include "formats.def"
	;
#define REPORT_FORMAT(name, ...)
#define CHECK_FORMAT(name, ...) "|" #name
#define EXPORT_FORMAT(name, ...)
static const char check_formats[] = "text"
#include "formats.def"
	;
#define REPORT_FORMAT(name, endings, what, ...) ", " what
#define CHECK_FORMAT(name, endings, what, ...) ", " what
#define EXPORT_FORMAT(name, endings, what) ", " what
static const char what_formats_are[] =
#include "formats.def"
	" (default: by the file's ending, else text)";

#define ANNOTATIONS \
	{ \
		"--annotations", "FILE", "what kernels read and write, by hand" \
	}

#define WITHOUT_TRACE \
	{ \
		"--without-trace", NULL, \
			"keep no traces in the database (by default up to 4 MiB, compressed)" \
	}

/* What a report discloses (disclose.h). */
#define DISCLOSURE \
	{ \
		"--command-line", NULL, \
		"formats other than text hold the whole command line, not the program's name only" \
	}, \
	{ \
		"--redact", NULL, "leave out environment variables and the folders of paths" \
	}
/* How a report is shown: by "report", and by "run" at its end. */
#define REPORT_OPTIONS \
	{ "--format", report_formats + 1, what_formats_are + 2 }, \
		{ "--level", "certain|likely|possible", "least confidence shown (likely)" }, \
		{ "--top", "N", "show at most N findings (text: 10, else all)" }, \
		{ "--all", NULL, "show all findings and all their places" }, \
		{ "--full-names", NULL, "whole names of kernels, with namespaces and arguments" }, \
		{ "--color", "auto|always|never", "colors in text (auto: on a terminal)" }, \
		DISCLOSURE

static const struct command_option run_options[] = {
	{ "-o", "NAME.db",
		"the database to write (cufence.db; the previous one becomes NAME.db.old); in it "
		"%r is the rank, %h the host, %p a process id, %q{VAR} a variable" },
	{ "--sim", NULL, "run on the simulated device" },
	{ "--mode", "full|host", "full: calls and device operations; host: calls only" },
	{ "--graphs", "graph|node", "record CUDA graphs as a whole (default) or node by node" },
	{ "--delay", "S", "record work only from S seconds after a process's first CUDA call on" },
	{ "--duration", "S", "record at most S seconds of work, from the first that is recorded" },
	{ "--profiler", NULL, "record work between cudaProfilerStart and cudaProfilerStop only" },
	{ "--nvtx", "RANGE", "record work within NVTX ranges of that name only" },
	{ "--turns", "N", "with --nvtx: record from its first range until N have ended" },
	{ "--session", "NAME", "a name for \"cufence start -s NAME\" and its like" },
	{ "--paused", NULL, "record nothing until \"cufence start\"" },
	{ "--sample", "[=S]",
		"record samples, 50 ms every S seconds (5); with --nvtx: turns of that range" },
	{ "--ring", "TIME|SIZE", "keep the last part only: 30s, or so much of a trace: 64M" },
	{ "--guard-host", NULL, "report host accesses to memory that pending work uses" },
	{ "--max-size", "BYTES", "stop recording work when a trace is that large (K, M, G)" },
	{ "--keep-trace", NULL, "keep the trace files next to the database" }, WITHOUT_TRACE,
	ANNOTATIONS, { "--report", "FILE", "write the report to FILE, not to stderr" },
	{ "--quiet", NULL, "print errors only, no report" }, REPORT_OPTIONS, { 0 }
};

static const struct command_option load_options[] = {
	{ "-o", "NAME.db",
		"the database to write (cufence.db, or the one given; the previous one becomes "
		"NAME.db.old)" },
	WITHOUT_TRACE, ANNOTATIONS, { 0 }
};

static const struct command_option analyze_options[] = { ANNOTATIONS, { 0 } };

static const struct command_option report_options[] = { REPORT_OPTIONS,
	{ "--finding", "NUMBER", "show only this one, with its callers and timeline" },
	{ "--patch", NULL, "print the fixes that are mechanical as a diff (--format patch)" },
	FILTER_OPTIONS, { "-o", "FILE", "write to FILE instead of stdout" }, { 0 } };

static const struct command_option check_options[] = {
	{ "--fail-on", "high|medium|low|RULE,...",
		"which findings fail (medium); none: no finding does" },
	{ "--max-cost", "MS", "fail if all findings together cost more of a turn, or of the run" },
	{ "--baseline", "FILE", "accept the findings listed in FILE" },
	{ "--write-baseline", "FILE", "write today's findings to FILE, and exit 0" },
	{ "--suppressions", "FILE", "accept the findings or calls that FILE gives a reason for" },
	{ "--forbid", "default-stream|sync|pageable-copy|free|device-wide,...",
		"judge calls instead of findings: fail if the program's own code makes such ones" },
	{ "--own", "PATTERN,...",
		"with --forbid: only files and modules like these are the program's own code" },
	{ "--captured", NULL, "with --forbid: count calls that became nodes of a graph, too" },
	{ "--format", check_formats,
		"the format of what fails (default: by the file's ending, else text)" },
	{ "-o", "FILE", "write that to FILE instead of stdout" },
	{ "--allow-incomplete", NULL, "accept a trace with known gaps" }, DISCLOSURE,
	{ "--shake", "N", "make the database first: run CMD, and N times shaken (cufence shake)" },
	{ "--sim", NULL, "with --shake: run on the simulated device" }, { 0 }
};

static const struct command_option diff_options[] = {
	{ "--format", "text|json", "a table (default), or one JSON object" }, { 0 }
};

static const struct command_option merge_options[] = {
	{ "--format", "text|json", "a screen (default), or one JSON object" }, { 0 }
};

static const struct command_option export_options[] = {
	{ "--run", "NAME",
		"the run that the databases are of (when the first one began): letters, digits, "
		"'.', '_', '-'" },
	{ "--commit", "ID", "the version of the program, for comparisons" }, { 0 }
};

static const struct command_option confirm_options[] = { { "--sim", NULL,
								 "run on the simulated device" },
	{ "--pair", NULL, "take two operations (ids of table operation), not a finding" },
	{ "--output", "FILE", "compare this output file of the program, too" }, { 0 } };

static const struct command_option try_options[] = { { "--all", NULL,
							     "all findings that save time "
							     "or lack a fence" },
	{ "--keep", "FILE", "write the fixes that saved time there, for \"cufence fix\"" },
	{ "--repeat", "N", "run it N times without and N times with the fix, in turn (3)" },
	{ "--output", "FILE", "compare this output file of the program, too" },
	{ "--check", "COMMAND",
		"run it after each run: its output and exit status are compared, too" },
	{ "--sim", NULL, "run on the simulated device" }, { 0 } };

static const struct command_option fix_options[] = {
	{ "--log", "FILE", "append what was applied there, not to stderr" },
	{ "--sim", NULL, "run on the simulated device" }, { 0 }
};

static const struct command_option shake_options[] = {
	{ "-o", "NAME.db",
		"the database to write (cufence.db; the previous one becomes NAME.db.old)" },
	{ "--runs", "N", "shake it N times (10)" },
	{ "--seed", "S", "the seed of the first run (1); the next run has the next one" },
	{ "--check", "CMD",
		"a shell command that gets the program's stdout: where it fails, or prints "
		"something else than for the plain run, the output is wrong" },
	{ "--guard-host", NULL, "report host accesses to memory that pending work uses" },
	{ "--sim", NULL, "run on the simulated device" }, { 0 }
};

static const struct command_option stats_options[] = { { "--section",
							       "turns|kernels|copies|calls|waits|"
							       "memory|streams|ranges",
							       "only this one" },
	{ "--by", "loop", "what a turn of the loop has on average, without the rest of the run" },
	FILTER_OPTIONS, { "--top", "N", "show at most N names of a section (text: 10, else all)" },
	{ "--format", "text|csv|json",
		"tables, or one with all sections (default: by the file's "
		"ending, else text)" },
	{ "-o", "FILE", "write to FILE instead of stdout" }, { 0 } };

static const struct command_option query_options[] = { { "--list", NULL, "list the named queries" },
	{ "--header", NULL, "print column names first (a terminal always has them)" },
	{ "--json", NULL, "an array of objects" },
	{ "--csv", NULL, "comma-separated values, column names first" }, { 0 } };

static const struct command_option dump_options[] = {
	{ "--symbols", NULL, "add function, file and line of call sites" }, { 0 }
};

static const struct command_option undump_options[] = {
	{ "-o", "TRACE", "the trace file to write" }, { 0 }
};

static const struct command_option probe_options[] = { { "--json", NULL,
							       "print the result as JSON" },
	{ "--compare", "RESULT.json", "compare with this result, not with an NVIDIA H200" },
	{ "--sim", NULL, "measure the simulated device" }, { 0 } };

#define TARGETS \
	{ "-s", "NAME", "the processes of a session (cufence run --session)" }, \
	{ \
		"--folder", "DIR", "those with traces in DIR: of containers that share it" \
	}
static const struct command_option ps_options[] = { TARGETS, { 0 } };

static const struct command_option ask_options[] = { { "--all", NULL, "all traced processes" },
	TARGETS, { 0 } };

static const struct command_option snapshot_options[] = {
	{ "-o", "NAME.db",
		"the database to write (cufence.db; the previous one becomes NAME.db.old)" },
	TARGETS, ANNOTATIONS, { "--report", "FILE", "write the report to FILE, not to stdout" },
	{ "--quiet", NULL, "print errors only, no report" }, REPORT_OPTIONS, { 0 }
};

static const struct command_option why_stuck_options[] = { { "--all", NULL,
								   "all traced processes" },
	TARGETS, { "-o", "NAME.db", "keep the database that the answer comes from" }, { 0 } };

static const struct command_option watch_options[] = { TARGETS,
	{ "--once", NULL, "print what the screen shows, with all processes in full, and end" },
	{ "--metrics", "FILE", "write it as metrics for Prometheus, each time" },
	{ "--interval", "S",
		"analyze what was recorded every S seconds (5), less often if it takes long" },
	{ 0 } };

static const struct command_option collect_options[] = {
	{ "--folder", "DIR", "the folder of their traces (CUFENCE_OUT)" },
	{ "--sample", "[=S]",
		"record samples, 50 ms every S seconds (5), of processes that are paused" },
	{ "--ring", "TIME|SIZE", "keep the last part only: 30s, or so much of a trace: 64M" }, { 0 }
};

static const struct command_option no_options[] = { { 0 } };

const struct command commands[] = { { "run", "-- CMD...", "trace a program, analyze and report",
					    run_options, cmd_run, RUN_FAILED, 1, -1, 1 },
	{ "load", "TRACE...|OLD.db", "load and analyze traces, or those that a database keeps",
		load_options, cmd_load, EXIT_TROUBLE, 1, -1, 0 },
	{ "ps", "", "list the processes that are being traced", ps_options, cmd_ps, EXIT_TROUBLE, 0,
		0, 0 },
	{ "start", "[PID...]", "start to record in running processes", ask_options, cmd_start,
		EXIT_TROUBLE, 0, -1, 0 },
	{ "stop", "[PID...]", "stop to record: the processes go on", ask_options, cmd_stop,
		EXIT_TROUBLE, 0, -1, 0 },
	{ "snapshot", "[PID...]", "analyze and report what running processes have recorded",
		snapshot_options, cmd_snapshot, EXIT_TROUBLE, 0, -1, 0 },
	{ "flush", "[PID...]", "write what CUPTI holds to the traces", ask_options, cmd_flush,
		EXIT_TROUBLE, 0, -1, 0 },
	{ "why-stuck", "[PID...|NAME.db]",
		"say what each thread waits for, and why that has not ended", why_stuck_options,
		cmd_why_stuck, EXIT_TROUBLE, 0, -1, 0 },
	{ "watch", "", "show running processes: turns, use of devices, waits, findings",
		watch_options, cmd_watch, EXIT_TROUBLE, 0, 0, 0 },
	{ "collect", "", "sample running processes, or keep the last part of their traces",
		collect_options, cmd_collect, EXIT_TROUBLE, 0, 0, 0 },
	{ "analyze", "[NAME.db]", "analyze the recorded calls again", analyze_options, cmd_analyze,
		EXIT_TROUBLE, 0, 1, 0 },
	{ "report", "[NAME.db]", "print what is wrong, where, and what it costs", report_options,
		cmd_report, EXIT_TROUBLE, 0, 1, 0 },
	{ "check", "[NAME.db] [-- CMD...]", "exit 0 if clean, 1 with findings, 2 on failure",
		check_options, cmd_check, EXIT_TROUBLE, 0, -1, 0 },
	{ "diff", "BEFORE.db... [--] AFTER.db...", "what changed: times, memory, findings",
		diff_options, cmd_diff, EXIT_TROUBLE, 2, -1, 0 },
	{ "merge", "OUT.db RANK.db...", "the databases or traces of many ranks in one: who differs",
		merge_options, cmd_merge, EXIT_TROUBLE, 2, -1, 0 },
	{ "export", "DIR [NAME.db...]",
		"add databases to a folder of CSV that DuckDB, ClickHouse and Spark read",
		export_options, cmd_export, EXIT_TROUBLE, 1, -1, 0 },
	{ "stats", "[NAME.db]", "count and time kernels, copies, calls, waits, memory and ranges",
		stats_options, cmd_stats, EXIT_TROUBLE, 0, 1, 0 },
	{ "query", "[NAME.db] SQL|NAME", "run read-only SQL, or a query that ships with cufence",
		query_options, cmd_query, EXIT_TROUBLE, 0, 2, 0 },
	{ "why", "[NAME.db] FINDING|OP1 OP2", "say what orders two operations", no_options, cmd_why,
		EXIT_TROUBLE, 1, 3, 0 },
	{ "confirm", "[NAME.db] FINDING|OP1 OP2 -- CMD...",
		"run again with one operation held, to prove a race", confirm_options, cmd_confirm,
		EXIT_TROUBLE, 2, -1, 0 },
	{ "try", "[NAME.db] FINDING,... -- CMD...",
		"run again with the fix applied and without: what does it save?", try_options,
		cmd_try, EXIT_TROUBLE, 1, -1, 0 },
	{ "fix", "FILE -- CMD...",
		"run a program as it is with the fixes that \"try --keep\" wrote", fix_options,
		cmd_fix, RUN_FAILED, 1, -1, 0 },
	{ "shake", "-- CMD...", "run several times with streams held at random: is the order luck?",
		shake_options, cmd_shake, EXIT_TROUBLE, 1, -1, 1 },
	{ "dump", "TRACE", "print a trace as text", dump_options, cmd_dump, EXIT_TROUBLE, 1, 1, 0 },
	{ "undump", "TEXT", "make a trace from text (\"-\": stdin)", undump_options, cmd_undump,
		EXIT_TROUBLE, 1, 1, 0 },
	{ "probe", "[RESULT.json]", "measure how CUDA synchronizes on this system", probe_options,
		cmd_probe, EXIT_TROUBLE, 0, 1, 0 },
	{ "completion", "bash|zsh|fish", "print a completion script to be sourced", no_options,
		cmd_completion, EXIT_TROUBLE, 1, 1, 0 },
	{ "help", "[COMMAND|RULE]", "show this text, a command's options, or explain a rule",
		no_options, cmd_help, EXIT_TROUBLE, 0, 1, 0 },
	{ 0 } };
