/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <stddef.h>
#include <string.h>

#include "record.h"

#define COLUMN(type, member, how) \
	{ \
#member, offsetof(struct type, member), sizeof(((struct type *)0)->member), how \
	}
#define D(type, member) COLUMN(type, member, COLUMN_DECIMAL)
#define S(type, member) COLUMN(type, member, COLUMN_SIGNED)
#define H(type, member) COLUMN(type, member, COLUMN_HEX)
#define B(type, member) COLUMN(type, member, COLUMN_BYTES)

#define LAYOUT(type, text) .name = text, .size = sizeof(struct type)

const struct record_layout record_layouts[RECORD_TYPE_COUNT] = {
	[RECORD_CALL_TYPE] = { LAYOUT(call_type_record, "calltype"), .tail = TAIL_FIELD_KINDS,
		.column = { D(call_type_record, call), D(call_type_record, kind),
			D(call_type_record, traits), D(call_type_record, runtime) } },
	[RECORD_CALL] = { LAYOUT(call_record, "call"), .tail = TAIL_FIELDS,
		.column = { S(call_record, result), D(call_record, site),
			D(call_record, correlation), D(call_record, enter),
			D(call_record, duration), D(call_record, context) } },
	[RECORD_ENTER] = { LAYOUT(enter_record, "enter"), .tail = TAIL_OPERAND,
		.column = { D(enter_record, call), D(enter_record, context), D(enter_record, site),
			D(enter_record, enter) } },
	[RECORD_DEVICE] = { LAYOUT(device_record, "device"),
		.column = { D(device_record, kind), D(device_record, detail), D(device_record, src),
			D(device_record, dst), D(device_record, start), D(device_record, end),
			D(device_record, correlation), D(device_record, context),
			D(device_record, device), D(device_record, stream), D(device_record, name),
			D(device_record, value) } },
	[RECORD_SITE] = { LAYOUT(site_record, "site"), .tail = TAIL_ADDRESSES,
		.column = { D(site_record, id) } },
	[RECORD_MODULE] = { LAYOUT(module_record, "module"), .tail = TAIL_TEXT,
		.length_offset = offsetof(struct module_record, path_length),
		.column = { H(module_record, start), H(module_record, end),
			H(module_record, file_offset), B(module_record, build_id) } },
	[RECORD_FUNCTION] = { LAYOUT(function_record, "function"), .tail = TAIL_PARAMETERS,
		.column = { H(function_record, handle) } },
	[RECORD_STRING] = { LAYOUT(string_record, "string"), .tail = TAIL_TEXT,
		.length_offset = offsetof(struct string_record, length),
		.column = { D(string_record, id) } },
	[RECORD_CONTEXT] = { LAYOUT(context_record, "context"),
		.column = { D(context_record, id), D(context_record, cupti_id),
			H(context_record, handle), S(context_record, device),
			D(context_record, flags) } },
	[RECORD_DEVICE_INFO] = { LAYOUT(device_info_record, "deviceinfo"), .tail = TAIL_TEXT,
		.length_offset = offsetof(struct device_info_record, name_length),
		.column = { D(device_info_record, device), D(device_info_record, sm_count),
			D(device_info_record, threads_per_sm), D(device_info_record, blocks_per_sm),
			D(device_info_record, compute_major), D(device_info_record, compute_minor),
			D(device_info_record, async_engines),
			D(device_info_record, memory_bytes) } },
	[RECORD_CALIBRATION] = { LAYOUT(calibration_record, "calibration"),
		.column = { D(calibration_record, ticks), D(calibration_record, realtime_ns),
			D(calibration_record, cupti_ns), D(calibration_record, gap_ticks) } },
	[RECORD_PROPERTY] = { LAYOUT(property_record, "property"), .tail = TAIL_TEXTS,
		.length_offset = offsetof(struct property_record, name_length),
		.text = { "name", "value" } },
	[RECORD_SYMBOL] = { LAYOUT(symbol_record, "symbol"), .tail = TAIL_TEXTS,
		.length_offset = offsetof(struct symbol_record, function_length),
		.text = { "function", "file" },
		.column = { H(symbol_record, address), D(symbol_record, depth),
			D(symbol_record, line) } },
	[RECORD_THREAD] = { LAYOUT(thread_record, "thread"), .tail = TAIL_TEXT,
		.length_offset = offsetof(struct thread_record, name_length),
		.column = { D(thread_record, thread), D(thread_record, birth) } },
	[RECORD_CODE] = { LAYOUT(code_record, "code"), .tail = TAIL_TEXTS,
		.length_offset = offsetof(struct code_record, name_length),
		.text = { "name", "file", "table" },
		.column = { D(code_record, id), D(code_record, version),
			D(code_record, first_line) } },
	[RECORD_WINDOW] = { LAYOUT(window_record, "window"),
		.column = { D(window_record, open), D(window_record, cause),
			D(window_record, ticks) } },
	[RECORD_IMAGE] = { LAYOUT(image_record, "image"), .tail = TAIL_BYTES,
		.length_offset = offsetof(struct image_record, length),
		.column = { H(image_record, hash), D(image_record, offset),
			D(image_record, total) } },
	[RECORD_WORDS] = { LAYOUT(words_record, "words"), .tail = TAIL_BYTES,
		.length_offset = offsetof(struct words_record, length),
		.column = { H(words_record, hash) } },
	[RECORD_USAGE] = { LAYOUT(usage_record, "usage"),
		.column = { D(usage_record, site), D(usage_record, ticks), D(usage_record, cpu_ns),
			D(usage_record, voluntary), D(usage_record, involuntary) } },
	[RECORD_IMAGE_FILE] = { LAYOUT(image_file_record, "imagefile"), .tail = TAIL_TEXT,
		.length_offset = offsetof(struct image_file_record, path_length),
		.column = { H(image_file_record, hash), D(image_file_record, offset),
			D(image_file_record, bytes), H(image_file_record, start),
			B(image_file_record, build_id) } },
	[RECORD_HOST_RUN] = { LAYOUT(host_run_record, "hostrun"),
		.column = { D(host_run_record, caller), D(host_run_record, called),
			D(host_run_record, enter), D(host_run_record, exit),
			H(host_run_record, function), H(host_run_record, data) } },
};

const struct column head_columns[] = {
	{ "record_flags", offsetof(struct record, flags), 1, COLUMN_DECIMAL }, { 0 }
};

const struct column header_columns[] = { D(file_header, clock), H(file_header, features),
	D(file_header, pid), D(file_header, parent_pid), D(file_header, start_ns),
	D(file_header, closed), D(file_header, cupti_state), D(file_header, cupti_error),
	D(file_header, cupti_version), D(file_header, driver_version), { 0 } };

const char *const counter_names[COUNTER_COUNT] = {
#define X(counter, name) #name,
	TRACE_COUNTERS(X)
#undef X
};

uint64_t column_get(const struct column *column, const void *base)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)base + column->offset, column->size);
	if (column->format == COLUMN_SIGNED && column->size < 8) {
		unsigned shift = 64 - 8u * column->size;
		value = (uint64_t)((int64_t)(value << shift) >> shift);
	}
	return value;
}

void column_set(const struct column *column, void *base, uint64_t value)
{
	memcpy((char *)base + column->offset, &value, column->size);
}
