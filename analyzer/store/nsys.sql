-- SPDX-License-Identifier: Apache-2.0
--
-- Views with the tables and columns of Nsight Systems' SQLite export, so that scripts written for
-- it read a cufence database too: its documentation, "SQLite Schema Reference" of release 2026.4,
-- schema version 3.28.1.  CUDA_CALLCHAINS, CUDA_GPU_MEMORY_USAGE_EVENTS, TARGET_INFO_SYSTEM_ENV and
-- the labels were also compared with the schema of an export of release 2024.6 (3.16.1).
-- tests/cli/nsys/columns lists the supported columns.  Data not recorded is NULL, in columns that
-- Nsight Systems declares NOT NULL, too.
--
-- correlationId is the id of the outermost call (call.id), not CUPTI's: so that an operation refers
-- to the call that the program made, not to a driver call inside it.

CREATE VIEW StringIds AS -- names of calls, kernels, threads, overheads, functions and files; those of
	-- one kind that are the same share an id
	SELECT id * 8 AS id, ltrim(name, '_') AS value FROM call_type
	UNION ALL SELECT min(id) * 8 + 1, mangled FROM kernel GROUP BY mangled
	UNION ALL SELECT min(id) * 8 + 2, name FROM kernel GROUP BY name
	UNION ALL SELECT min(kernel) * 8 + 5, whole FROM kernel_name GROUP BY whole
	UNION ALL SELECT id * 8 + 3, name FROM thread WHERE name IS NOT NULL
	UNION ALL SELECT min(rowid) * 8 + 6, function FROM frame WHERE function NOT NULL GROUP BY function
	UNION ALL SELECT min(id) * 8 + 7, path FROM module GROUP BY path
	UNION ALL SELECT 4, 'LAZY_FUNCTION_LOADING' UNION ALL SELECT 12, 'COMMAND_BUFFER_FULL';

CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS -- the calls that the program made, runtime or driver
	SELECT c.enter AS start, c.exit AS end, 1 - t.runtime AS eventClass,
		p.pid << 24 | h.tid AS globalTid, c.id AS correlationId, t.id * 8 AS nameId,
		c.result AS returnValue, c.site AS callchainId
	FROM call c JOIN call_type t ON t.id = c.type JOIN process p ON p.id = c.process
	JOIN thread h ON h.id = c.thread
	WHERE c.parent IS NULL AND c.exit IS NOT NULL AND t.kind NOT IN (
		SELECT name FROM call_kind WHERE family IN ('thread', 'range'));

CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS -- operations that are kernels
	SELECT o.start, o.end, o.device AS deviceId, x.cupti_id AS contextId,
		NULL AS greenContextId, s.cupti_id AS streamId,
		ifnull(u.parent, ifnull(c.parent, c.id)) AS correlationId, p.pid << 24 AS globalPid,
		ifnull(n.whole, n.short) AS demangledName, n.short AS shortName, n.mangled AS mangledName,
		NULL AS launchType, NULL AS cacheConfig, NULL AS registersPerThread,
		CASE WHEN o.graph_node IS NULL THEN c.grid & 4294967295 END AS gridX,
		CASE WHEN o.graph_node IS NULL THEN c.grid >> 32 & 65535 END AS gridY,
		CASE WHEN o.graph_node IS NULL THEN c.grid >> 48 & 65535 END AS gridZ,
		CASE WHEN o.graph_node IS NULL THEN c.block & 4095 END AS blockX,
		CASE WHEN o.graph_node IS NULL THEN c.block >> 12 & 4095 END AS blockY,
		CASE WHEN o.graph_node IS NULL THEN c.block >> 24 & 255 END AS blockZ,
		NULL AS staticSharedMemory,
		CASE WHEN o.graph_node IS NULL THEN c.block >> 32 & 4294967295 END
			AS dynamicSharedMemory,
		NULL AS localMemoryPerThread, NULL AS localMemoryTotal, NULL AS gridId,
		NULL AS sharedMemoryExecuted, o.graph_node AS graphNodeId,
		NULL AS sharedMemoryLimitConfig, NULL AS qmdBulkReleaseDone, NULL AS qmdPreexitDone,
		NULL AS qmdLastCtaDone, NULL AS graphId, NULL AS clusterX, NULL AS clusterY,
		NULL AS clusterZ, NULL AS clusterSchedulingPolicy, NULL AS maxPotentialClusterSize,
		NULL AS maxActiveClusters, NULL AS sharedMemoryRequestedPercentage,
		NULL AS tensorSizeMinusOneElements
	FROM operation o JOIN process p ON p.id = o.process
	LEFT JOIN context x ON x.id = o.context LEFT JOIN stream s ON s.id = o.stream
	LEFT JOIN call c ON c.id = o.call LEFT JOIN call u ON u.id = c.parent
	LEFT JOIN (SELECT id, min(id) OVER (PARTITION BY mangled) * 8 + 1 AS mangled,
		min(id) OVER (PARTITION BY name) * 8 + 2 AS short,
		min(kernel) OVER (PARTITION BY whole) * 8 + 5 AS whole
		FROM kernel LEFT JOIN kernel_name ON kernel = id) n ON n.id = o.kernel
	WHERE o.kind = 'kernel' AND o.start IS NOT NULL AND o.end IS NOT NULL;

CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS -- operations that are copies, between devices too
	SELECT o.start, o.end, o.device AS deviceId, x.cupti_id AS contextId,
		NULL AS greenContextId, s.cupti_id AS streamId,
		ifnull(u.parent, ifnull(c.parent, c.id)) AS correlationId, p.pid << 24 AS globalPid,
		o.bytes, CASE o.kind WHEN 'peer' THEN 10 ELSE ifnull(o.copy_kind, 0) END AS copyKind,
		NULL AS deprecatedSrcId, a.id AS srcKind, b.id AS dstKind, NULL AS srcDeviceId,
		NULL AS srcContextId, NULL AS dstDeviceId, NULL AS dstContextId,
		NULL AS migrationCause, o.graph_node AS graphNodeId, NULL AS virtualAddress,
		NULL AS copyCount
	FROM operation o JOIN process p ON p.id = o.process
	LEFT JOIN context x ON x.id = o.context LEFT JOIN stream s ON s.id = o.stream
	LEFT JOIN call c ON c.id = o.call LEFT JOIN call u ON u.id = c.parent
	LEFT JOIN ENUM_CUDA_MEM_KIND a ON a.label = o.src_memory COLLATE NOCASE
	LEFT JOIN ENUM_CUDA_MEM_KIND b ON b.label = o.dst_memory COLLATE NOCASE
	WHERE o.kind IN ('memcpy', 'peer') AND o.start IS NOT NULL AND o.end IS NOT NULL;

CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS -- operations that are memsets
	SELECT o.start, o.end, o.device AS deviceId, x.cupti_id AS contextId,
		NULL AS greenContextId, s.cupti_id AS streamId,
		ifnull(u.parent, ifnull(c.parent, c.id)) AS correlationId, p.pid << 24 AS globalPid,
		NULL AS value, o.bytes, o.graph_node AS graphNodeId, NULL AS memKind
	FROM operation o JOIN process p ON p.id = o.process
	LEFT JOIN context x ON x.id = o.context LEFT JOIN stream s ON s.id = o.stream
	LEFT JOIN call c ON c.id = o.call LEFT JOIN call u ON u.id = c.parent
	WHERE o.kind = 'memset' AND o.start IS NOT NULL AND o.end IS NOT NULL;

CREATE VIEW CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS -- launches of whole graphs
	SELECT o.start, o.end, o.device AS deviceId, x.cupti_id AS contextId,
		NULL AS greenContextId, s.cupti_id AS streamId,
		ifnull(u.parent, ifnull(c.parent, c.id)) AS correlationId, p.pid << 24 AS globalPid,
		NULL AS graphId, NULL AS graphExecId
	FROM operation o JOIN process p ON p.id = o.process
	LEFT JOIN context x ON x.id = o.context LEFT JOIN stream s ON s.id = o.stream
	LEFT JOIN call c ON c.id = o.call LEFT JOIN call u ON u.id = c.parent
	WHERE o.kind = 'graph' AND o.start IS NOT NULL AND o.end IS NOT NULL;

CREATE VIEW CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS -- explicit waits, of the host and of streams
	SELECT c.enter AS start, c.exit AS end, ifnull(x.device, 0) AS deviceId,
		x.cupti_id AS contextId, NULL AS greenContextId,
		ifnull(s.cupti_id, 4294967295) AS streamId,
		ifnull(u.parent, ifnull(c.parent, c.id)) AS correlationId, p.pid << 24 AS globalPid,
		NULL AS deprecatedSyncType,
		CASE k.waits WHEN 'event' THEN 1 WHEN 'nothing' THEN 2 WHEN 'stream' THEN 3
			ELSE 4 END AS syncType,
		ifnull(c.event, 4294967295) AS eventId, NULL AS eventSyncId
	FROM call c JOIN call_type t ON t.id = c.type JOIN call_kind k ON k.name = t.kind
	JOIN process p ON p.id = c.process
	LEFT JOIN context x ON x.id = c.context LEFT JOIN stream s ON s.id = c.stream
	LEFT JOIN call u ON u.id = c.parent
	WHERE k.family IN ('wait', 'event_wait') AND c.exit IS NOT NULL;

CREATE VIEW CUPTI_ACTIVITY_KIND_OVERHEAD AS -- the driver's own work
	SELECT o.start, o.end, 1 AS eventClass, p.pid << 24 | h.tid AS globalTid,
		ifnull(u.parent, ifnull(c.parent, c.id)) AS correlationId,
		CASE o.kind WHEN 'lazy_loading' THEN 4 WHEN 'queue_full' THEN 12 END AS nameId,
		CASE o.kind WHEN 'lazy_loading' THEN 327680 WHEN 'queue_full' THEN 393216
			ELSE CAST(o.kind AS INTEGER) << 16 END AS overheadType
	FROM overhead o JOIN process p ON p.id = o.process LEFT JOIN call c ON c.id = o.call
	LEFT JOIN call u ON u.id = c.parent LEFT JOIN thread h ON h.id = c.thread;

CREATE VIEW CUDA_CALLCHAINS AS -- where calls came from, innermost frame first
	SELECT f.site AS id, n.symbol * 8 + 6 AS symbol, m.path * 8 + 7 AS module,
		CASE WHEN f.function IS NULL THEN 1 END AS unresolved, f.address AS originalIP,
		f.depth AS stackDepth
	FROM frame f
	LEFT JOIN (SELECT function, min(rowid) AS symbol FROM frame GROUP BY function) n
		ON n.function = f.function
	LEFT JOIN (SELECT id, min(id) OVER (PARTITION BY path) AS path FROM module) m
		ON m.id = f.module;

CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS -- memory that calls made and gave back
	SELECT c.enter AS start, p.pid << 24 AS globalPid, ifnull(x.device, 0) AS deviceId,
		x.cupti_id AS contextId, a.address, NULL AS pc, a.bytes,
		CASE a.memory WHEN 'pinned' THEN 1 WHEN 'registered' THEN 1 WHEN 'managed' THEN 4
			WHEN 'array' THEN 3 WHEN 'variable' THEN 5 WHEN 'imported' THEN 7
			ELSE 2 END AS memKind,
		c.id = a.freed AS memoryOperationType, NULL AS name,
		ifnull(u.parent, ifnull(c.parent, c.id)) AS correlationId, s.cupti_id AS streamId,
		NULL AS localMemoryPoolAddress, NULL AS localMemoryPoolReleaseThreshold,
		NULL AS localMemoryPoolSize, NULL AS localMemoryPoolUtilizedSize,
		NULL AS importedMemoryPoolAddress, NULL AS importedMemoryPoolProcessId
	FROM allocation a JOIN call c ON c.id IN (a.created, a.freed)
	JOIN process p ON p.id = c.process
	LEFT JOIN context x ON x.id = c.context LEFT JOIN stream s ON s.id = c.stream
	LEFT JOIN call u ON u.id = c.parent;

CREATE VIEW NVTX_EVENTS AS -- named ranges and marks; started ranges look like pushed ones
	SELECT r.start, CASE WHEN r.end > r.start THEN r.end END AS end,
		CASE WHEN r.end = r.start THEN 34 ELSE 59 END AS eventType, NULL AS rangeId,
		NULL AS category, NULL AS color, r.name AS text, p.pid << 24 | h.tid AS globalTid,
		p.pid << 24 | h.tid AS endGlobalTid, NULL AS textId, NULL AS domainId
	FROM range r JOIN process p ON p.id = r.process JOIN thread h ON h.id = r.thread;

CREATE VIEW TARGET_INFO_GPU AS -- the devices
	SELECT 0 AS vmId, ordinal AS id, name, memory_bytes AS totalMemory, sm_count AS smCount,
		ordinal AS cuDevice, 32 AS threadsPerWarp, async_engines AS asyncEngines,
		threads_per_sm / 32 AS maxWarpsPerSm, blocks_per_sm AS maxBlocksPerSm,
		compute_major AS computeMajor, compute_minor AS computeMinor
	FROM device GROUP BY ordinal;

CREATE VIEW TARGET_INFO_CUDA_DEVICE AS -- which process calls which device what
	SELECT d.ordinal AS gpuId, d.ordinal AS cudaId, p.pid AS pid, NULL AS uuid,
		d.sm_count AS numMultiprocessors
	FROM device d JOIN process p ON p.id = d.process;

CREATE VIEW TARGET_INFO_CUDA_STREAM AS -- the streams on which something ran
	SELECT s.cupti_id AS streamId, 0 AS hwId, 0 AS vmId, p.pid AS processId,
		x.cupti_id AS contextId, s.priority,
		CASE s.kind WHEN 'legacy' THEN 3 WHEN 'non-blocking' THEN 2 WHEN 'unknown' THEN 0
			ELSE 1 END AS flag
	FROM stream s JOIN process p ON p.id = s.process LEFT JOIN context x ON x.id = s.context
	WHERE s.cupti_id IS NOT NULL;

CREATE VIEW TARGET_INFO_SESSION_START_TIME AS -- when time 0 was
	SELECT start_unix_ns AS utcEpochNs,
		strftime('%Y-%m-%dT%H:%M:%S', start_unix_ns / 1000000000, 'unixepoch') AS utcTime,
		strftime('%Y-%m-%dT%H:%M:%S', start_unix_ns / 1000000000, 'unixepoch', 'localtime')
			AS localTime
	FROM run;

CREATE VIEW ANALYSIS_DETAILS AS -- how long the run took
	SELECT 0 AS globalVid, max(end) - min(start) AS duration, min(start) AS startTime,
		max(end) AS stopTime
	FROM process;

CREATE VIEW PROCESSES AS -- the traced processes
	SELECT p.pid << 24 AS globalPid, p.pid AS pid, (SELECT value FROM property
		WHERE process = p.id AND name = 'command') AS name
	FROM process p;

CREATE VIEW TARGET_INFO_SYSTEM_ENV AS -- environment and settings that change what CUDA does
	SELECT process AS globalVid, 'process' AS devStateName, name, NULL AS nameEnum, value
	FROM property;

CREATE VIEW ThreadNames AS -- threads that have a name
	SELECT h.id * 8 + 3 AS nameId, NULL AS priority, p.pid << 24 | h.tid AS globalTid
	FROM thread h JOIN process p ON p.id = h.process WHERE h.name IS NOT NULL;

CREATE VIEW META_DATA_EXPORT (name, value) AS -- which export the views are like
	VALUES ('EXPORT_SCHEMA_VERSION', '3.28.1'), ('EXPORT_SCHEMA_VERSION_MAJOR', '3'),
		('EXPORT_SCHEMA_VERSION_MINOR', '28'), ('EXPORT_SCHEMA_VERSION_MICRO', '1');

CREATE VIEW ENUM_NSYS_EVENT_CLASS (id, name, label) AS -- of CUPTI_ACTIVITY_KIND_RUNTIME
	VALUES (0, 'TRACE_PROCESS_EVENT_CUDA_RUNTIME', 'CUDA runtime'),
		(1, 'TRACE_PROCESS_EVENT_CUDA_DRIVER', 'CUDA driver');

CREATE VIEW ENUM_NSYS_EVENT_TYPE (id, name, label) AS -- of NVTX_EVENTS
	VALUES (34, 'NvtxMark', 'NvtxMark'), (59, 'NvtxPushPopRange', 'NvtxPushPopRange');

CREATE VIEW ENUM_CUDA_MEMCPY_OPER (id, name, label) AS -- of CUPTI_ACTIVITY_KIND_MEMCPY
	VALUES (0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'),
		(1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),
		(2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),
		(3, 'CUDA_MEMCPY_KIND_HTOA', 'Host-to-Array'),
		(4, 'CUDA_MEMCPY_KIND_ATOH', 'Array-to-Host'),
		(5, 'CUDA_MEMCPY_KIND_ATOA', 'Array-to-Array'),
		(6, 'CUDA_MEMCPY_KIND_ATOD', 'Array-to-Device'),
		(7, 'CUDA_MEMCPY_KIND_DTOA', 'Device-to-Array'),
		(8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'),
		(9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'),
		(10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer');

CREATE VIEW ENUM_CUDA_MEM_KIND (id, name, label) AS -- of both ends of a copy
	VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),
		(1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),
		(2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'),
		(3, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', 'Array'),
		(4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed'),
		(5, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static'),
		(6, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC', 'Managed Static'),
		(7, 'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN', 'Unknown');

CREATE VIEW ENUM_CUDA_DEV_MEM_EVENT_OPER (id, name, label) AS -- of CUDA_GPU_MEMORY_USAGE_EVENTS
	VALUES (0, 'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION', 'Allocation'),
		(1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation');

CREATE VIEW ENUM_CUPTI_SYNC_TYPE (id, name, label) AS -- of CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
	VALUES (1, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE', 'Event sync'),
		(2, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT', 'Stream wait sync'),
		(3, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE', 'Stream sync'),
		(4, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE', 'Context sync');
