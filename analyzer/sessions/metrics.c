/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics in Prometheus' text format 0.0.4, with the names and units of its conventions: base
 * units, _total for what only grows, no time stamps, which the textfile collector refuses.  All
 * lines of a metric are together.
 */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "output.h"
#include "print.h"
#include "watched.h"

#define NS 1e-9 /* seconds */

/* print() leaves valid UTF-8 without controls; then \ and " are written with \ before them. */
static void put_label(const char *name, const char *value, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *plain = open_memstream(&text, &size);

	if (!plain)
		memory_lacks();
	print(plain, "%s", value);
	fclose(plain);
	print(out, ",%s=\"", name);
	for (const char *at = text; *at; at++) {
		if (*at == '\\' || *at == '"')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
	free(text);
}

struct metric {
	const char *name, *type, *help;
	void (*write)(const struct metric *metric, const struct traced *traced,
		const struct status *status, FILE *out);
};

/* A line up to its further labels. */
static void begin(const struct metric *metric, const struct traced *traced, FILE *out)
{
	char session[TRACE_SESSION + 1] = "";

	strncat(session, traced->header->control.session, TRACE_SESSION);
	print(out, "%s{pid=\"%ld\"", metric->name, traced->pid);
	if (*session)
		put_label("session", session, out);
}

static void end(double value, FILE *out)
{
	print(out, "} %.9g\n", value);
}

static void put_device(int64_t device, FILE *out)
{
	print(out, ",device=\"%lld\"", (long long)device);
}

#define WRITER(name) \
	static void name(const struct metric *metric, const struct traced *traced, \
		const struct status *status, FILE *out)

/* A metric with one value. */
#define VALUE(name, is_there, value) \
	WRITER(name) \
	{ \
		(void)status; \
		if (!(is_there)) \
			return; \
		begin(metric, traced, out); \
		end((double)(value), out); \
	}

VALUE(write_recording, 1, traced_state(traced) == CONTROL_RECORDING)
VALUE(write_windows, 1, traced->header->control.windows)
VALUE(write_bytes, 1, traced->bytes)
VALUE(write_recorded, status->recorded, (double)status->recorded *NS)
VALUE(write_turns, status->turns, status->turns)

WRITER(write_lost)
{
	static const struct {
		enum trace_counter counter;
		const char *reason;
	} losses[] = { { COUNT_DROPPED_RECORDS, "space" }, { COUNT_DROPPED_DEVICE, "cupti" },
		{ COUNT_DROPPED_SITES, "sites" }, { COUNT_DROPPED_ENTRIES, "names" } };

	(void)status;
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		begin(metric, traced, out);
		put_label("reason", losses[i].reason, out);
		end((double)traced->header->counter[losses[i].counter], out);
	}
}

WRITER(write_turn)
{
	if (!status->turns)
		return;
	begin(metric, traced, out);
	put_label("place", status->place, out);
	end((double)status->turn * NS, out);
}

WRITER(write_busy)
{
	for (size_t i = 0; i < status->devices; i++) {
		const struct status_device *device = &status->device[i];

		begin(metric, traced, out);
		put_device(device->device, out);
		end((double)device->busy / (double)device->since, out);
	}
}

WRITER(write_idle)
{
	for (size_t i = 0; i < status->idles; i++) {
		begin(metric, traced, out);
		put_device(status->idle[i].device, out);
		put_label("cause", status->idle[i].name, out);
		end((double)status->idle[i].ns * NS, out);
	}
}

WRITER(write_waits)
{
	for (size_t i = 0; i < status->waits; i++) {
		begin(metric, traced, out);
		put_label("kind", status->wait[i].name, out);
		end((double)status->wait[i].ns * NS, out);
	}
}

/* Whether it is the first of its rule and severity, which one line counts. */
static int counts_alike(const struct status *status, size_t number, size_t *alike)
{
	const struct status_finding *finding = &status->finding[number];

	*alike = 0;
	for (size_t i = 0; i < status->findings; i++) {
		if (strcmp(status->finding[i].rule, finding->rule) ||
			strcmp(status->finding[i].severity, finding->severity))
			continue;
		if (i < number)
			return 0;
		++*alike;
	}
	return 1;
}

WRITER(write_findings)
{
	size_t alike;

	for (size_t i = 0; i < status->findings; i++) {
		if (!counts_alike(status, i, &alike))
			continue;
		begin(metric, traced, out);
		put_label("rule", status->finding[i].rule, out);
		put_label("severity", status->finding[i].severity, out);
		end((double)alike, out);
	}
}

static const struct metric metrics[] = {
	{ "cufence_recording", "gauge", "1 while work of the process is recorded.",
		write_recording },
	{ "cufence_windows_total", "counter", "Recording windows that were opened.",
		write_windows },
	{ "cufence_trace_bytes", "gauge", "Size of the trace on disk.", write_bytes },
	{ "cufence_lost_records_total", "counter", "Records that could not be kept.", write_lost },
	{ "cufence_recorded_seconds", "gauge",
		"Time of the last window so far; the metrics below are about it.", write_recorded },
	{ "cufence_turn_seconds", "gauge", "Mean duration of a turn of the loop.", write_turn },
	{ "cufence_turns", "gauge", "Turns of the loop, without warm-up.", write_turns },
	{ "cufence_device_busy_ratio", "gauge",
		"Share of the time since its first work in which the device was busy.",
		write_busy },
	{ "cufence_device_idle_seconds", "gauge",
		"Time in which the device idled, by cause (doc/SCHEMA.md, account).", write_idle },
	{ "cufence_host_wait_seconds", "gauge",
		"Time for which the host waited for the device, by kind (doc/SCHEMA.md, wait).",
		write_waits },
	{ "cufence_findings", "gauge", "Findings shown by default.", write_findings },
};

static void write_single(const char *name, const char *help, double value, FILE *out)
{
	print(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.3f\n", name, help, name, name, value);
}

static void write_all(const struct watched *watched, FILE *out)
{
	write_single("cufence_processes", "Processes that are being traced.",
		(double)watched->list.count, out);
	if (watched->analyzed) {
		write_single("cufence_analyzed_timestamp_seconds", "When they were last analyzed.",
			(double)(watched->analyzed / 1000000) / 1e3, out);
		write_single("cufence_analysis_seconds", "How long that took.",
			(double)(watched->took / 1000000) / 1e3, out);
	}
	for (size_t k = 0; k < sizeof(metrics) / sizeof(*metrics); k++) {
		print(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[k].name, metrics[k].help,
			metrics[k].name, metrics[k].type);
		for (size_t i = 0; i < watched->list.count; i++)
			metrics[k].write(&metrics[k], &watched->list.item[i], &watched->status[i],
				out);
	}
}

int watched_write_metrics(const struct watched *watched, const char *path)
{
	struct output output;

	if (output_open(&output, "watch", path))
		return -1;
	write_all(watched, output.file);
	return output_close(&output, "watch", 1);
}
