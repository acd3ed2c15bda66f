/* SPDX-License-Identifier: Apache-2.0 */
#include "watched.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format.h"
#include "print.h"
#include "report_facts.h"

#define MOST_CAUSES 4
#define MOST_FINDINGS 6

/* The severity of the first finding is not the highest: they are in order of cost. */
static const char *worst(const struct status *status)
{
	static const char *const order[] = { "high", "medium", "low" };

	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		for (size_t i = 0; i < status->findings; i++)
			if (!strcmp(status->finding[i].severity, order[k]))
				return order[k];
	return "";
}

/* "84 %", or "-" for what is not known. */
static const char *share(char text[DURATION_SIZE], double of)
{
	return of < 0 ? strcpy(text, "-") : format_share(text, of);
}

static void print_row(const struct traced *traced, const struct status *status, int chosen,
	FILE *out)
{
	char turn[DURATION_SIZE] = "-", busy[DURATION_SIZE], waited[DURATION_SIZE],
	     findings[DURATION_SIZE] = "-", bytes[DURATION_SIZE];

	if (status->turns)
		format_duration(turn, status->turn);
	if (status->recorded && status->findings)
		snprintf(findings, sizeof(findings), "%zu %s", status->findings, worst(status));
	else if (status->recorded)
		strcpy(findings, "0");
	print(out, "%s%7ld  %-9s  %7s  %6s  %6s  %-9s  %8s  %s\n", chosen ? ">" : " ", traced->pid,
		traced_state_name(traced_state(traced)), turn,
		share(busy, status->recorded ? status_busy(status) : -1),
		share(waited, status->recorded ? status_waited(status) : -1), findings,
		format_bytes(bytes, (int64_t)traced->bytes), traced->command);
}

static int64_t sum_of(const struct status_part *part, size_t count)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += part[i].ns;
	return sum;
}

/* The causes of idle time are in order of time, the first ones matter. */
static void print_idle(const struct status *status, FILE *out)
{
	int64_t all = sum_of(status->idle, status->idles);
	char text[DURATION_SIZE];

	for (size_t i = 0; i < status->idles && i < MOST_CAUSES && all; i++)
		print(out, "%s%s %s\n", i ? "             " : "    idle     ",
			format_share(text, (double)status->idle[i].ns / (double)all),
			report_cause_text(status->idle[i].name, 0));
}

static void print_details(const struct traced *traced, const struct status *status, FILE *out)
{
	char text[DURATION_SIZE];

	print(out, "\nprocess %ld", traced->pid);
	if (*traced->header->control.session)
		print(out, ", session %.*s", TRACE_SESSION, traced->header->control.session);
	if (!status->recorded) {
		fputs(": not analyzed\n", out);
		return;
	}
	print(out, ": %s recorded\n", format_duration(text, status->recorded));
	if (status->turns) {
		print(out, "    turn     %s, ", format_duration(text, status->turn));
		print(out, "%lld turns at %s\n", (long long)status->turns, status->place);
	}
	for (size_t i = 0; i < status->devices; i++) {
		const struct status_device *device = &status->device[i];

		print(out, "    busy     device %lld %s of the time\n", (long long)device->device,
			format_share(text, (double)device->busy / (double)device->since));
	}
	print_idle(status, out);
	for (size_t i = 0; i < status->waits; i++)
		print(out, "%s%s %s", i ? ", " : "    waits    ",
			format_duration(text, status->wait[i].ns), status->wait[i].name);
	if (status->waits)
		fputc('\n', out);
	for (size_t i = 0; i < status->findings && i < MOST_FINDINGS; i++)
		print(out, "    %-8s %s: %s\n", status->finding[i].severity,
			status->finding[i].rule, status->finding[i].message);
	if (status->findings > MOST_FINDINGS)
		print(out, "             and %zu more\n", status->findings - MOST_FINDINGS);
	if (!status->findings)
		fputs("    no findings\n", out);
}

static void print_title(const struct watched *watched, FILE *out)
{
	char text[DURATION_SIZE], at[16] = "";
	time_t seconds = (time_t)(watched->analyzed / 1000000000);
	struct tm local;

	print(out, "cufence: %zu process%s", watched->list.count,
		watched->list.count == 1 ? "" : "es");
	if (watched->analyzed && localtime_r(&seconds, &local)) {
		strftime(at, sizeof(at), "%H:%M:%S", &local);
		print(out, ", analyzed at %s in %s", at, format_duration(text, watched->took));
	}
	fputc('\n', out);
}

void watched_print(const struct watched *watched, const struct screen *screen, FILE *out)
{
	size_t count = watched->list.count;

	print_title(watched, out);
	print(out, "\n %7s  %-9s  %7s  %6s  %6s  %-9s  %8s  %s\n", "PID", "STATE", "TURN", "BUSY",
		"WAITED", "FINDINGS", "TRACE", "COMMAND");
	for (size_t i = 0; i < count; i++)
		print_row(&watched->list.item[i], &watched->status[i],
			screen->columns && i == screen->chosen, out);
	for (size_t i = 0; i < count; i++)
		if (!screen->columns || i == screen->chosen)
			print_details(&watched->list.item[i], &watched->status[i], out);
	if (screen->columns)
		print(out, "\n%s\n",
			screen->message
				? screen->message
				: "up down  s start  t stop  n snapshot  o open report  q quit");
}
