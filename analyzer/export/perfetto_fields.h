/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the fields of Perfetto's messages that are written, from protos/perfetto/trace of
 * https://github.com/google/perfetto: the file is named beside each message.  Compared with the
 * files of commit 02603952ce0c (trace_packet.proto) and others of 2026; make check decodes what is
 * written with the same names, numbers and wire types (tests/formats/formats.py).
 */
#ifndef CUFENCE_PERFETTO_FIELDS_H
#define CUFENCE_PERFETTO_FIELDS_H

enum { TRACE_PACKET = 1 }; /* trace.proto: packet */

enum trace_packet { /* trace_packet.proto */
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10, /* trusted_packet_sequence_id */
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60
};

enum sequence_flags { /* trace_packet.proto */
	SEQ_INCREMENTAL_STATE_CLEARED = 1,
	SEQ_NEEDS_INCREMENTAL_STATE = 2
};

enum clock_snapshot { /* clock_snapshot.proto */
	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2, /* primary_trace_clock */
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2
};

enum builtin_clock {
	CLOCK_IS_REALTIME = 1,
	CLOCK_IS_BOOTTIME = 6
}; /* common/builtin_clock.proto */

enum track_descriptor { /* track_event/track_descriptor.proto */
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5, /* parent_uuid */
	TRACK_CHILD_ORDERING = 11,
	TRACK_RANK = 12 /* sibling_order_rank */
};

enum { ORDERING_EXPLICIT = 3 }; /* of TrackDescriptor.ChildTracksOrdering */

enum process_descriptor { /* track_event/process_descriptor.proto */
	PROCESS_PID = 1,
	PROCESS_CMDLINE = 2,
	PROCESS_NAME = 6
};

enum thread_descriptor { /* track_event/thread_descriptor.proto */
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5
};

enum track_event { /* track_event/track_event.proto */
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4, /* debug_annotations */
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11, /* track_uuid */
	EVENT_NAME = 23,
	EVENT_FLOWS = 47,            /* flow_ids, fixed64 */
	EVENT_TERMINATING_FLOWS = 48 /* terminating_flow_ids, fixed64 */
};

enum track_event_type { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3 };

enum debug_annotation { /* track_event/debug_annotation.proto */
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_INT = 4,        /* int_value */
	ANNOTATION_STRING = 6,     /* string_value */
	ANNOTATION_STRING_IID = 17 /* string_value_iid */
};

enum interned_data {                   /* interned_data/interned_data.proto */
	INTERNED_CATEGORIES = 1,       /* event_categories */
	INTERNED_NAMES = 2,            /* event_names */
	INTERNED_ANNOTATION_NAMES = 3, /* debug_annotation_names */
	INTERNED_STRINGS = 29          /* debug_annotation_string_values */
};

/* EventCategory, EventName, DebugAnnotationName, InternedString: of each iid and what it is for. */
enum interned { INTERNED_IID = 1, INTERNED_TEXT = 2 };

#endif
