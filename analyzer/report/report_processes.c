/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a run that has several, as a table. */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "print.h"
#include "report_facts.h"
#include "report_internal.h"

enum { MOST_ROWS = 16, MOST_COMMAND = 40 }; /* characters of a command */

/* Findings are counted before those of several processes become one. */
static const char processes_sql[] =
	"SELECT p.pid, p.end - p.start, u.busy, u.whole,"
	" (SELECT sum(waited) FROM wait_use WHERE process = p.id),"
	" (SELECT (end - start - paused) / turns FROM loop WHERE process = p.id),"
	" (SELECT count(*) FROM main.finding WHERE process = p.id AND shown),"
	" (SELECT value FROM property WHERE process = p.id AND name = 'command'),"
	" count(*) OVER (), r.rank FROM process p LEFT JOIN rank r ON r.process = p.id"
	" LEFT JOIN (SELECT process, sum(busy_ns) AS busy,"
	"  sum(since_first_ns) AS whole FROM (%s) WHERE \"used?\" GROUP BY process) u"
	" ON u.process = p.id ORDER BY r.rank, p.id LIMIT ?1";
enum column {
	COL_PID,
	COL_RUN,
	COL_BUSY,
	COL_WHOLE,
	COL_WAITED,
	COL_TURN,
	COL_FINDINGS,
	COL_COMMAND,
	COL_PROCESSES,
	COL_RANK
};

/* A launcher that gives ranks starts processes without one, too. */
static void put_rank(sqlite3_stmt *row, char text[24])
{
	if (sqlite3_column_type(row, COL_RANK) == SQLITE_NULL)
		snprintf(text, 24, "-");
	else
		snprintf(text, 24, "%lld", (long long)sqlite3_column_int64(row, COL_RANK));
}

#define RANK "%-5s "
#define ROW "%-7s %-7s %-13s %-7s %-7s %-8s %s\n"

/* "-" where there is none. */
static const char *duration(sqlite3_stmt *row, int column, char text[DURATION_SIZE])
{
	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		return "-";
	return format_duration(text, sqlite3_column_int64(row, column));
}

/* The program and its arguments without their folders, as far as there is room. */
static void put_command(const char *command, char text[MOST_COMMAND + 4])
{
	size_t used = 0;

	while (*command && used < MOST_COMMAND) {
		size_t word = strcspn(command, " "), name = *command == '-' ? 0 : word;

		while (name && command[name - 1] != '/')
			name--;
		for (; (name < word || command[name] == ' ') && used < MOST_COMMAND; name++)
			text[used++] = command[name];
		command += name;
	}
	snprintf(text + used, 4, "%s", *command ? "..." : "");
}

int report_processes(struct db *db, FILE *out)
{
	char *sql = sqlite3_mprintf(processes_sql, report_facts[FACT_DEVICES].sql);
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int step = q ? db_bind(q, "i", (int64_t)MOST_ROWS) : -1, rest = 0;
	int ranked = db_int(db, "SELECT EXISTS (SELECT 1 FROM rank WHERE rank NOT NULL)", 0) != 0;

	print(out, "    process  ");
	if (ranked)
		print(out, RANK, "rank");
	print(out, ROW, "pid", "run", "device busy", "waits", "turn", "findings", "command");
	while (!step && (step = db_step(q)) > 0) {
		fputs("             ", out);
		char run[DURATION_SIZE], waited[DURATION_SIZE], turn[DURATION_SIZE];
		char used[DURATION_SIZE], share[DURATION_SIZE], busy[2 * DURATION_SIZE + 4] = "-";
		char pid[24], findings[24], command[MOST_COMMAND + 4];
		int64_t whole = sqlite3_column_int64(q, COL_WHOLE);

		if (whole > 0)
			snprintf(busy, sizeof(busy), "%s (%s)", duration(q, COL_BUSY, used),
				format_share(share,
					(double)sqlite3_column_int64(q, COL_BUSY) / (double)whole));
		snprintf(pid, sizeof(pid), "%lld", (long long)sqlite3_column_int64(q, COL_PID));
		snprintf(findings, sizeof(findings), "%lld",
			(long long)sqlite3_column_int64(q, COL_FINDINGS));
		put_command(db_text(q, COL_COMMAND), command);
		if (ranked) {
			char rank[24];

			put_rank(q, rank);
			print(out, RANK, rank);
		}
		print(out, ROW, pid, duration(q, COL_RUN, run), busy,
			duration(q, COL_WAITED, waited), duration(q, COL_TURN, turn), findings,
			command);
		rest = sqlite3_column_int(q, COL_PROCESSES) - MOST_ROWS;
		step = 0;
	}
	if (rest > 0)
		print(out, "             and %d more\n", rest);
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return step < 0 ? -1 : 0;
}
