/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of results: a letter for the parent process, then the text for the JSON object. */
#include "probe.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int output = STDOUT_FILENO;

void probe_output(int fd)
{
	output = fd;
}

/* One write per line: a process that is killed leaves no half of one. */
__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (write(output, text, (size_t)length) != length)
		_exit(1); /* the parent has gone */
	free(text);
}

char *probe_quote(const char *text)
{
	char *quoted = malloc(6 * strlen(text) + 3), *to = quoted;

	if (!quoted)
		abort();
	*to++ = '"';
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < ' ') {
			to += sprintf(to, "\\u%04x", c);
			continue;
		}
		if (c == '"' || c == '\\')
			*to++ = '\\';
		*to++ = (char)c;
	}
	strcpy(to, "\"");
	return quoted;
}

struct number {
	char text[32];
};

static struct number number(double value)
{
	struct number result = { "null" };

	if (isfinite(value))
		snprintf(result.text, sizeof(result.text), "%.6g", value);
	return result;
}

/* ,"class":"...", or nothing */
static char *class_member(const char *class)
{
	char *quoted = class ? probe_quote(class) : NULL, *member = NULL;

	if (asprintf(&member, "%s%s", class ? ",\"class\":" : "", class ? quoted : "") < 0)
		abort();
	free(quoted);
	return member;
}

void probe_begin(size_t index)
{
	line("@%zu\n", index);
}

void probe_fatal(const char *why)
{
	line("F%s\n", why);
}

void probe_failed(const char *name, const char *why)
{
	char *name_text = probe_quote(name), *why_text = probe_quote(why);

	line("E{\"name\":%s,\"error\":%s}\n", name_text, why_text);
	free(name_text);
	free(why_text);
}

void probe_error(const char *name, cudaError_t error)
{
	cudaGetLastError(); /* a later call must not report it again */
	probe_failed(name,
		error == cudaErrorNotSupported ? "not supported" : cudaGetErrorString(error));
}

void probe_result(const char *name, const char *background, double host_ms, double nonblocking_ms,
	double blocking_ms, const char *class)
{
	char *name_text = probe_quote(name), *class_text = class_member(class);

	line("R{\"name\":%s,\"background\":\"%s\",\"host_ms\":%s,\"nonblocking_ms\":%s,"
	     "\"blocking_ms\":%s%s}\n",
		name_text, background, number(host_ms).text, number(nonblocking_ms).text,
		number(blocking_ms).text, class_text);
	free(name_text);
	free(class_text);
}

void probe_value(const char *name, double value, const char *unit, const char *class)
{
	char *name_text = probe_quote(name), *class_text = class_member(class);

	line("M{\"name\":%s,\"value\":%s,\"unit\":\"%s\"%s}\n", name_text, number(value).text, unit,
		class_text);
	free(name_text);
	free(class_text);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double probe_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count ? values[count / 2] : NAN;
}

void probe_spread(const char *name, double *values, size_t count, const char *unit)
{
	char *name_text = probe_quote(name);
	double median = probe_median(values, count);

	line("M{\"name\":%s,\"value\":%s,\"unit\":\"%s\",\"min\":%s,\"p99\":%s}\n", name_text,
		number(median).text, unit, number(count ? values[0] : NAN).text,
		number(count ? values[count * 99 / 100] : NAN).text);
	free(name_text);
}

/* The driver's own version says more than the CUDA version it supports; NVML knows it. */
static void driver_version(char *version, unsigned size)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
	int (*init)(void) = NULL, (*ask)(char *, unsigned) = NULL;

	snprintf(version, size, "unknown");
	if (library) {
		init = (int (*)(void))dlsym(library, "nvmlInit_v2");
		ask = (int (*)(char *, unsigned))dlsym(library, "nvmlSystemGetDriverVersion");
	}
	if (init && ask && !init() && ask(version, size))
		snprintf(version, size, "unknown");
}

void probe_system(void)
{
	struct cudaDeviceProp properties = { 0 };
	int device = 0, driver = 0, runtime = 0, major = 0, minor = 0;
	char version[64], *name, *version_text;

	cudaGetDevice(&device);
	cudaDriverGetVersion(&driver);
	cudaRuntimeGetVersion(&runtime);
	cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
	cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
	if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
		probe_error("cudaGetDeviceProperties", cudaErrorUnknown);
	driver_version(version, sizeof(version));
	name = probe_quote(properties.name);
	version_text = probe_quote(version);
	line("S{\"device\":%s,\"driver\":%s,\"cuda\":\"%d.%d\",\"runtime\":\"%d.%d\","
	     "\"compute_capability\":\"%d.%d\",\"busy_ms\":%g}\n",
		name, version_text, driver / 1000, driver % 1000 / 10, runtime / 1000,
		runtime % 1000 / 10, major, minor, (double)PROBE_BUSY_NS / (double)PROBE_MS);
	free(name);
	free(version_text);
}
