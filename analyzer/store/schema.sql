-- SPDX-License-Identifier: Apache-2.0
--
-- The database of one run.  Raw tables hold what was recorded and are only ever appended to;
-- derived tables (below the line "Derived") hold what the analyzer concluded and are dropped
-- and rebuilt by "cufence analyze".  Times are integer nanoseconds since run.start_unix_ns.

PRAGMA application_id = 0x63756665; -- "cufe"
PRAGMA user_version = 29; -- raised with every change below

CREATE TABLE run ( -- one row: the run as a whole
	start_unix_ns INTEGER NOT NULL, -- time 0 of every other time, CLOCK_REALTIME ns
	tool_version TEXT NOT NULL,     -- of the cufence that loaded it
	command TEXT                    -- what was traced, if known
);

CREATE TABLE process ( -- one traced process, one trace file
	id INTEGER PRIMARY KEY,
	pid INTEGER NOT NULL,
	parent_pid INTEGER NOT NULL,
	start INTEGER NOT NULL,         -- the trace was created, ns
	end INTEGER NOT NULL,           -- last thing seen, ns
	closed INTEGER NOT NULL,        -- 1: the process ended in order
	simulated INTEGER NOT NULL,     -- 1: on the simulated device
	clock TEXT NOT NULL,            -- tsc, monotonic or virtual
	clock_error INTEGER NOT NULL,   -- widest calibration bracket, ns
	cupti TEXT NOT NULL,            -- never, on, off, absent, busy or failed
	cupti_error INTEGER NOT NULL,   -- CUptiResult when failed
	cupti_version INTEGER NOT NULL,
	driver_version INTEGER NOT NULL,
	trace_path TEXT NOT NULL
);

CREATE TABLE loss ( -- what is known to be missing, a row per process and reason
	process INTEGER NOT NULL REFERENCES process(id),
	reason TEXT NOT NULL,           -- name of the counter, or not_closed, host_only, unusable...
	count INTEGER NOT NULL
);

CREATE TABLE recording ( -- what a process recorded when; without rows: everything, always
	process INTEGER NOT NULL REFERENCES process(id),
	start INTEGER NOT NULL,         -- ns
	end INTEGER NOT NULL,           -- ns
	work INTEGER NOT NULL,          -- 1: everything; 0: only what makes and ends handles, memory and
	                                -- graphs, and event records: what ran then, and in which order,
	                                -- is not known
	cause TEXT NOT NULL             -- why it began; of the first with work 0: what it waits for.
	                                -- start, delay, duration, profiler, range or size
);

CREATE TABLE property ( -- environment and settings that change behaviour
	process INTEGER NOT NULL REFERENCES process(id),
	name TEXT NOT NULL,
	value TEXT NOT NULL
);

CREATE TABLE thread ( -- a host thread that made a call
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	tid INTEGER NOT NULL,           -- kernel thread id
	name TEXT,
	made_by INTEGER REFERENCES call(id),   -- pthread_create, NULL: not recorded
	joined_by INTEGER REFERENCES call(id)  -- pthread_join
);

CREATE TABLE device ( -- a GPU and the attributes the rules use
	process INTEGER NOT NULL REFERENCES process(id),
	ordinal INTEGER NOT NULL,
	name TEXT NOT NULL,
	sm_count INTEGER NOT NULL,
	threads_per_sm INTEGER NOT NULL,
	blocks_per_sm INTEGER NOT NULL,
	compute_major INTEGER NOT NULL,
	compute_minor INTEGER NOT NULL,
	async_engines INTEGER NOT NULL,
	memory_bytes INTEGER NOT NULL,
	PRIMARY KEY (process, ordinal)
);

CREATE TABLE device_attribute ( -- what else changes behaviour, as far as the driver told
	process INTEGER NOT NULL REFERENCES process(id),
	ordinal INTEGER NOT NULL,
	name TEXT NOT NULL,             -- of CU_DEVICE_ATTRIBUTE_, in lower case
	value INTEGER NOT NULL,
	PRIMARY KEY (process, ordinal, name)
) WITHOUT ROWID;

CREATE TABLE context ( -- a CUDA context
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- the recorder's, as in trace records
	handle INTEGER NOT NULL,
	cupti_id INTEGER NOT NULL,      -- 0: not known
	device INTEGER NOT NULL,        -- ordinal, -1: not known
	flags INTEGER NOT NULL,         -- cuCtxGetFlags
	green INTEGER NOT NULL DEFAULT 0 -- 1: stands for a green context, whose streams are not known
);

CREATE TABLE stream ( -- one life of a stream handle; default streams have a row per context
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	context INTEGER REFERENCES context(id),
	handle INTEGER NOT NULL,
	kind TEXT NOT NULL,             -- legacy, per-thread, blocking, non-blocking or unknown
	thread INTEGER REFERENCES thread(id), -- the owner of a per-thread default stream
	priority INTEGER NOT NULL DEFAULT 0,
	created INTEGER REFERENCES call(id),  -- NULL: before the trace, or a default stream
	destroyed INTEGER REFERENCES call(id),
	cupti_id INTEGER                -- stream id in operation rows, NULL: no operation seen
);

CREATE TABLE event ( -- one life of an event handle
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER NOT NULL,
	flags INTEGER NOT NULL,
	created INTEGER REFERENCES call(id),
	destroyed INTEGER REFERENCES call(id)
);

CREATE TABLE allocation ( -- one life of a piece of memory
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	address INTEGER NOT NULL,       -- 0: an array, a variable that was only used by its name
	bytes INTEGER NOT NULL,
	memory TEXT NOT NULL,           -- device, pinned, registered, managed, async, mapped, imported,
	                                -- variable: of a module (table variable), graph: by a node of
	                                -- one, where it stays; array (table array)
	created INTEGER REFERENCES call(id),
	freed INTEGER REFERENCES call(id)
);

CREATE TABLE alias ( -- an allocation that is the same memory as another one, or follows it at once
	allocation INTEGER PRIMARY KEY REFERENCES allocation(id),
	same INTEGER NOT NULL REFERENCES allocation(id), -- the first one that cuMemMap made of the handle,
	                                -- or of the addresses before it, in one reservation
	shift INTEGER NOT NULL          -- from the first byte of that to its first byte
);

CREATE TABLE twin ( -- an allocation through whose addresses memory of another one is used, too: of a
	                -- multicast object, of host pages that are mapped twice, of another process
	allocation INTEGER NOT NULL REFERENCES allocation(id),
	other INTEGER NOT NULL REFERENCES allocation(id),
	shift INTEGER                   -- from the first byte of other to its first byte; NULL: whether
	                                -- they are the same memory is not known
);

CREATE TABLE kernel ( -- a function as the driver knows it
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER,                 -- NULL: known from operations only
	mangled TEXT NOT NULL,
	name TEXT NOT NULL,             -- demangled, without parameters and template arguments
	parameter_count INTEGER,        -- NULL: the driver would not say
	local_bytes INTEGER             -- of local memory per thread; NULL: not known
);

CREATE TABLE kernel_name ( -- more of the name of a kernel whose name is mangled
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	whole TEXT NOT NULL,            -- demangled, with template arguments and parameters
	label TEXT NOT NULL             -- for printing: kernel.name, and its template arguments where
	                                -- several kernels have that name, long ones shortened by ...
);

CREATE TABLE parameter ( -- a parameter of a kernel
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	ordinal INTEGER NOT NULL,       -- from 0
	offset INTEGER NOT NULL,        -- bytes into the parameter buffer
	size INTEGER NOT NULL,          -- bytes
	PRIMARY KEY (kernel, ordinal)
) WITHOUT ROWID;

CREATE TABLE kernel_image ( -- the code image that a launched kernel came from
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	hash INTEGER NOT NULL,          -- of its rows in image_piece or image_file, if they are there
	PRIMARY KEY (kernel, hash)
) WITHOUT ROWID;

CREATE TABLE image_file ( -- an image lies in a file; of relocatable code there are several rows
	process INTEGER NOT NULL REFERENCES process(id),
	hash INTEGER NOT NULL,          -- by which the image is told from others
	path TEXT NOT NULL,
	build_id TEXT,                  -- of the file, NULL: it has none
	offset INTEGER NOT NULL,        -- in the file
	bytes INTEGER NOT NULL,
	start INTEGER NOT NULL          -- hash of its first bytes, as doc/FORMAT.md says
);

CREATE INDEX image_file_hash ON image_file (process, hash);

CREATE TABLE image_piece ( -- code made in memory, of which a kernel was launched
	process INTEGER NOT NULL REFERENCES process(id), -- the first that did
	hash INTEGER NOT NULL,          -- of the whole image, by which it is told from others
	offset INTEGER NOT NULL,        -- of this piece, bytes
	total INTEGER NOT NULL,         -- size of the image, bytes
	data BLOB NOT NULL,
	PRIMARY KEY (hash, offset, process)
);

CREATE TABLE module ( -- an executable mapping of the process
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	start INTEGER NOT NULL,
	end INTEGER NOT NULL,
	file_offset INTEGER NOT NULL,
	path TEXT NOT NULL,
	build_id TEXT
);

CREATE TABLE symbol ( -- what the trace itself says of an address of a site (dump --symbols)
	process INTEGER NOT NULL REFERENCES process(id),
	address INTEGER NOT NULL,
	depth INTEGER NOT NULL,         -- among the functions inlined there, 0 is the innermost
	function TEXT,                  -- as linked: mangled
	file TEXT,
	line INTEGER
);

CREATE TABLE code ( -- a code object of a scripting language, as its interpreter has it
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- the recorder's
	version INTEGER NOT NULL,       -- of CPython: major << 8 | minor
	first_line INTEGER NOT NULL,
	name TEXT NOT NULL,             -- with the names of what it is in, where the version has it
	file TEXT NOT NULL,
	line_table BLOB NOT NULL,       -- in that version's form
	PRIMARY KEY (process, number)
);

CREATE TABLE site ( -- a place calls came from: return addresses, then frames of a script
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- the recorder's
	function TEXT,                  -- of the first user frame
	file TEXT,                      -- of the first user frame
	line INTEGER,
	api TEXT,                       -- the cudart function on the stack (static cudart), or NULL
	text TEXT                       -- "file:line" or "module+0xoffset", for printing
);

CREATE TABLE frame ( -- the frames of a site, innermost first
	site INTEGER NOT NULL REFERENCES site(id),
	depth INTEGER NOT NULL,         -- 0 is the innermost; inlined frames have rows of their own
	address INTEGER NOT NULL,       -- a script's: 1 << 63 | code << 32 | offset in its instructions
	code INTEGER AS (CASE WHEN address < 0 THEN address >> 32 & 2147483647 END), -- code.number of
	                                -- the process, NULL: compiled code
	module INTEGER REFERENCES module(id),
	function TEXT,
	file TEXT,
	line INTEGER,
	user INTEGER NOT NULL,          -- 1: the program's own, by which the site is called; 0: CUDA's,
	                                -- a host stub, a package's, what a script's frame stands for
	PRIMARY KEY (site, depth)
);

CREATE TABLE call_kind ( -- what calls of a kind do: the rows of trace/kinds.def, which says more
	name TEXT PRIMARY KEY,
	family TEXT NOT NULL,           -- kinds that do the same in different ways
	waits TEXT NOT NULL,            -- what the host waits for in it: nothing, event, stream,
					-- by_memory (both ends of a copy decide), context, device, process
	work INTEGER NOT NULL,          -- 1: puts work into a stream
	accesses INTEGER NOT NULL,      -- 1: that work reads or writes memory of the device
	silent INTEGER NOT NULL,        -- 1: has a place in a stream, and no record of CUPTI
	outside INTEGER NOT NULL,       -- 1: may make its stream wait for values in memory or
					-- semaphores
	tells_host INTEGER NOT NULL,    -- 1: the host may act on it without a CUDA call
	default_stream INTEGER NOT NULL, -- 1: names no stream
	any_stream INTEGER NOT NULL,    -- 1: may give work to streams that it does not name
	idle INTEGER NOT NULL,          -- 1: names a stream or an event, and gives it no work
	resource INTEGER NOT NULL,      -- 1: waits as a side effect of getting or giving back
	once INTEGER NOT NULL,          -- 1: is done once in the fixed program
	releases INTEGER NOT NULL,      -- 1: ends the life of memory
	quick INTEGER NOT NULL,         -- 1: takes less than 50 us by itself (H200)
	loads_code INTEGER NOT NULL,    -- 1: loads a kernel at its first use
	untimed INTEGER NOT NULL,       -- 1: operations need not cover all of its work
	windowed INTEGER NOT NULL,      -- 1: recorded only within a recording window
	marker INTEGER NOT NULL,        -- 1: has a place in a stream, and touches no memory there
	outlives INTEGER NOT NULL,      -- 1: the memory that it makes outlives its context
	names_context INTEGER NOT NULL, -- 1: about all streams of the context that it names
	polls INTEGER NOT NULL,         -- 1: asked again until it succeeds
	shares INTEGER NOT NULL         -- 1: others, of whom nothing is seen, use what it names
);

CREATE TABLE call_type ( -- the rows of calls.def that the trace was written with
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	kind TEXT NOT NULL,             -- call_kind.name
	runtime INTEGER NOT NULL
);

CREATE TABLE call ( -- one CUDA call, driver or runtime
	id INTEGER PRIMARY KEY,         -- in order of entry
	process INTEGER NOT NULL REFERENCES process(id),
	thread INTEGER NOT NULL REFERENCES thread(id),
	parent INTEGER REFERENCES call(id), -- the recorded call it was made from
	type INTEGER NOT NULL REFERENCES call_type(id),
	enter INTEGER NOT NULL,         -- ns
	exit INTEGER,                   -- ns; NULL: it never returned
	result INTEGER,                 -- CUresult or cudaError_t
	context INTEGER REFERENCES context(id),
	stream INTEGER REFERENCES stream(id),  -- the stream it names or implies
	event INTEGER REFERENCES event(id),
	kernel INTEGER REFERENCES kernel(id),
	site INTEGER REFERENCES site(id),
	correlation INTEGER,            -- CUPTI's id, NULL: none
	per_thread INTEGER NOT NULL,    -- 1: a per-thread default stream entry point
	ptr INTEGER, dst INTEGER, src INTEGER, -- addresses
	bytes INTEGER,                  -- of cuCtxSetLimit: each thread's stack from now on
	direction INTEGER,              -- cudaMemcpyKind
	flags INTEGER,
	grid INTEGER, block INTEGER,    -- packed as in doc/FORMAT.md
	dst_memory TEXT,                -- pageable, pinned, device, managed: copies
	src_memory TEXT
);

CREATE TABLE thread_use ( -- what a thread spent in calls; of calls within a call only the outer one
	thread INTEGER PRIMARY KEY REFERENCES thread(id),
	calls INTEGER NOT NULL,
	placed INTEGER NOT NULL,        -- of them, those whose site is known
	inside INTEGER NOT NULL         -- ns; in one that never returned, to the end of the process
);

CREATE TABLE polling ( -- a loop of queries with the same answer is one row of call
	call INTEGER PRIMARY KEY REFERENCES call(id), -- the first of them
	count INTEGER NOT NULL,         -- how many, the first included
	last INTEGER NOT NULL           -- when the last one was entered, ns; of fast loops one of the last
);

CREATE TABLE range ( -- a named range or mark of the program's own (NVTX)
	process INTEGER NOT NULL REFERENCES process(id),
	thread INTEGER NOT NULL REFERENCES thread(id), -- that opened it
	name TEXT NOT NULL,
	start INTEGER NOT NULL,         -- ns
	end INTEGER                     -- ns; start: a mark; NULL: it was never closed
);

CREATE TABLE operand ( -- memory that a submitting call names, where it is a known allocation
	call INTEGER NOT NULL REFERENCES call(id),
	role TEXT NOT NULL,             -- dst or src of a copy or memset; src_any: a source that may be
	                                -- read at any time from the call on; word: a launch's parameter,
	                                -- node: something in a graph that is launched, once for each
	                                -- allocation
	offset INTEGER,                 -- word: bytes into the parameter buffer; an end of a batch: which
	                                -- of its copies
	address INTEGER NOT NULL,
	allocation INTEGER NOT NULL REFERENCES allocation(id)
);

CREATE TABLE extent ( -- an end of a copy or memset that is not one piece of call.bytes: rows, slices
                      -- and the copies of a batch
	call INTEGER NOT NULL REFERENCES call(id),
	role TEXT NOT NULL,             -- dst, src or src_any, as in operand
	item INTEGER NOT NULL,          -- of a batch, from 0
	address INTEGER NOT NULL,       -- of the first byte
	allocation INTEGER REFERENCES allocation(id), -- NULL: in none that is known
	bytes INTEGER NOT NULL,         -- in one piece
	pitch INTEGER NOT NULL,         -- bytes from row to row, and how many; one row: 1
	rows INTEGER NOT NULL,
	slice INTEGER NOT NULL,         -- bytes from slice to slice, and how many
	slices INTEGER NOT NULL,
	span INTEGER AS (bytes + (rows - 1) * pitch + (slices - 1) * slice), -- first to last byte
	PRIMARY KEY (call, role, item)
) WITHOUT ROWID;

CREATE TABLE launch ( -- what a launch, or a call that adds a kernel to a graph, passes
	call INTEGER PRIMARY KEY REFERENCES call(id),
	shape INTEGER NOT NULL REFERENCES shape(id)
);

CREATE TABLE shape ( -- launches of a kernel that differ in nothing but where their memory lies
	id INTEGER PRIMARY KEY,
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	grid INTEGER NOT NULL, block INTEGER NOT NULL, -- packed as in call
	words BLOB NOT NULL,            -- parameters that lie in no known allocation, 12 bytes each:
	                                -- offset into the parameter buffer (2^32 - 1: a hash of all
	                                -- that are not listed; 2^32 - 2: not known where) and value,
	                                -- little-endian; of those past the first 8 a hash, unless the
	                                -- recorder kept what that stands for
	pointers BLOB NOT NULL          -- those that do (operand), 4 bytes each: offset, and in the
	                                -- highest byte how many of the address's lowest bits are 0,
	                                -- at most 5
);

CREATE TABLE kernel_code ( -- what is known of what a kernel does with memory
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	evidence TEXT NOT NULL,         -- ptx; machine: its machine code; annotation: the user; const:
	                                -- its name says what is only read; convention: a known
	                                -- library's habit; none
	complete INTEGER NOT NULL,      -- 1: every access it may make is in kernel_access
	why TEXT,                       -- it is not complete
	reaches INTEGER NOT NULL,       -- besides, in sum: 1: memory by pointers out of memory, 2: and
	                                -- writes there; 4: variables of its module, 8: and writes them;
	                                -- 16: constants of its module
	prints INTEGER                  -- 1: it may call printf; 0: not; NULL: not known
);

CREATE TABLE shape_code ( -- shapes of which it is known more exactly
	shape INTEGER PRIMARY KEY REFERENCES shape(id),
	complete INTEGER NOT NULL,      -- 1: every access of such a launch is in kernel_access
	why TEXT,                       -- it is not complete
	reaches INTEGER NOT NULL        -- as of kernel_code
);

CREATE TABLE kernel_access ( -- a kernel reads or writes what a parameter word points to
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	shape INTEGER REFERENCES shape(id), -- in launches of that shape; NULL: in those that have no
	                                -- row of shape_code
	offset INTEGER NOT NULL,        -- of the word, bytes into the parameter buffer
	direction TEXT NOT NULL,        -- load, store or atomic
	sure INTEGER NOT NULL,          -- 0: of this word or others, which could not be told apart
	low INTEGER,                    -- bytes from the word's address on; NULL: no bound known
	high INTEGER,                   -- without this one; NULL: no bound known
	run INTEGER,                    -- bytes in one piece, which comes again at each stride; NULL:
	                                -- all from low to high
	stride1 INTEGER, count1 INTEGER, -- bytes from piece to piece, and how many; the longest stride
	stride2 INTEGER, count2 INTEGER, -- each of them again at each of these
	stride3 INTEGER, count3 INTEGER,
	exact INTEGER NOT NULL,         -- 1: these bytes, as far as no condition on data prevents it;
	                                -- 0: at most these
	loaded INTEGER NOT NULL,        -- 1: which bytes depends on what lies in memory
	early INTEGER NOT NULL,         -- 1: before the kernel waits for those before it, if it does
	                                -- (kernel_dependence)
	spins INTEGER NOT NULL,         -- 1: in a loop that ends by what others write there
	evidence TEXT                   -- annotation: the user says so; NULL: kernel_code.evidence
);

CREATE TABLE kernel_dependence ( -- programmatic dependent launch, of kernels whose PTX is known
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	waits INTEGER,                  -- 1: it has griddepcontrol.wait, 0: it has none; NULL: not known
	triggers INTEGER                -- likewise launch_dependents, which lets those behind it begin
);

CREATE TABLE kernel_variable ( -- a variable that a kernel uses, like a parameter that points to it
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	offset INTEGER NOT NULL,        -- in kernel_access and operand: behind those of parameters
	hash INTEGER NOT NULL,          -- of its name
	name TEXT NOT NULL,             -- mangled
	bytes INTEGER NOT NULL,         -- 0: not declared with the kernel
	PRIMARY KEY (kernel, offset)
) WITHOUT ROWID;

CREATE TABLE kernel_object ( -- a parameter word by which a kernel is given a texture or a surface
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	offset INTEGER NOT NULL,        -- of the word: its rows of kernel_access are about the memory
	                                -- that the object stands for
	surface INTEGER NOT NULL,       -- 1: a surface
	PRIMARY KEY (kernel, offset, surface)
) WITHOUT ROWID;

CREATE TABLE variable ( -- a variable of a module that is an allocation
	allocation INTEGER PRIMARY KEY REFERENCES allocation(id),
	image INTEGER NOT NULL,         -- hash of the image of its module, as in kernel_image
	hash INTEGER NOT NULL,          -- of its name
	name TEXT                       -- mangled; NULL: no kernel that is known uses it
);

CREATE TABLE array ( -- an allocation that is an array: its bytes have places of the analyzer's own,
                     -- x (in bytes) + y * 2^21 + z * 2^37 + level * 2^54
	allocation INTEGER PRIMARY KEY REFERENCES allocation(id),
	width INTEGER NOT NULL,         -- elements; 0: not known
	height INTEGER NOT NULL,        -- rows; 0: it has one dimension
	depth INTEGER NOT NULL,         -- slices or layers, or 0
	format INTEGER NOT NULL,        -- CUarray_format of a channel
	levels INTEGER NOT NULL         -- 0: not mipmapped
);

CREATE TABLE texture ( -- one life of a texture or surface object
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	value INTEGER NOT NULL,         -- the object, as kernels are passed it
	surface INTEGER NOT NULL,       -- 1: a surface
	created INTEGER NOT NULL REFERENCES call(id),
	destroyed INTEGER REFERENCES call(id),
	allocation INTEGER REFERENCES allocation(id), -- that it stands for; NULL: not known
	address INTEGER NOT NULL,       -- of the first byte; of an array in its own places
	bytes INTEGER                   -- NULL: of an array
);

CREATE INDEX texture_value ON texture (value);

CREATE TABLE call_object ( -- what else a call names or is, as far as that orders
	call INTEGER NOT NULL REFERENCES call(id),
	role TEXT NOT NULL,             -- exec (graph_exec); dst_context, src_context (context); event,
	                                -- launch_event, completion_event (event): the first one of
	                                -- cuEventElapsedTime, those of launch attributes; captured
	                                -- (graph): it became a node of that; attributes: bits, 2:
	                                -- programmatic stream serialization; content: bits, of a graph's
	                                -- launch or a batch, 1: it may touch memory that operand does
	                                -- not name, 2: it runs functions on the host; fill: the 32 bits that a
	                                -- memset repeats
	object INTEGER NOT NULL,
	PRIMARY KEY (call, role)
) WITHOUT ROWID;

CREATE TABLE graph ( -- one life of a graph, made call by call or by capture
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER NOT NULL,
	created INTEGER REFERENCES call(id),
	destroyed INTEGER REFERENCES call(id)
);

CREATE TABLE graph_node ( -- a node of a graph
	id INTEGER PRIMARY KEY,
	graph INTEGER NOT NULL REFERENCES graph(id),
	handle INTEGER,                 -- NULL: captured, and never named by the program
	type TEXT NOT NULL,             -- kernel, copy, set, host, graph, empty, wait, record, signal,
	                                -- external_wait, alloc, free, memop, conditional, other
	call INTEGER NOT NULL REFERENCES call(id), -- that added it, was captured or copied it
	removed INTEGER REFERENCES call(id),
	event INTEGER REFERENCES event(id), -- that it records or waits for
	child INTEGER REFERENCES graph(id), -- what it consists of
	origin INTEGER REFERENCES call(id), -- a copied node: the call that said what it does
	acts INTEGER AS (type IN ('wait', 'record', 'signal', 'external_wait', 'memop'))
	                                -- 1: on more than its graph
);

CREATE TABLE graph_edge ( -- a node comes after another one
	graph INTEGER NOT NULL REFERENCES graph(id),
	from_node INTEGER NOT NULL REFERENCES graph_node(id),
	to_node INTEGER NOT NULL REFERENCES graph_node(id),
	added INTEGER NOT NULL REFERENCES call(id),
	removed INTEGER REFERENCES call(id),
	programmatic INTEGER NOT NULL   -- 1: it does not wait for the end of the other
);

CREATE INDEX graph_node_graph ON graph_node (graph, acts);
CREATE INDEX graph_node_call ON graph_node (call);
CREATE INDEX graph_node_child ON graph_node (graph) WHERE child IS NOT NULL;
CREATE INDEX graph_edge_graph ON graph_edge (graph);
CREATE INDEX graph_edge_from ON graph_edge (from_node);

CREATE TABLE graph_body ( -- a graph that a node consists of and that may still change: conditional, child
	node INTEGER NOT NULL REFERENCES graph_node(id),
	graph INTEGER NOT NULL REFERENCES graph(id)
);

CREATE INDEX graph_body_node ON graph_body (node);

CREATE TABLE graph_exec ( -- one life of an executable graph
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER NOT NULL,
	graph INTEGER REFERENCES graph(id), -- made from it
	as_of INTEGER REFERENCES call(id), -- as it was at that call
	created INTEGER REFERENCES call(id), -- NULL: before the trace
	destroyed INTEGER REFERENCES call(id)
);

CREATE TABLE graph_update ( -- an executable graph became what another graph was at that call
	call INTEGER PRIMARY KEY REFERENCES call(id),
	exec INTEGER NOT NULL REFERENCES graph_exec(id),
	graph INTEGER NOT NULL REFERENCES graph(id)
);

CREATE TABLE graph_change ( -- from this call on a node does something else
	call INTEGER PRIMARY KEY REFERENCES call(id), -- which says what
	graph INTEGER REFERENCES graph(id), -- where it is known
	node INTEGER REFERENCES graph_node(id), -- NULL: not known which, one of that type
	type TEXT NOT NULL,             -- as graph_node.type
	exec INTEGER REFERENCES graph_exec(id), -- in that executable; NULL: in those made later
	event INTEGER REFERENCES event(id), -- that it records or waits for now
	enabled INTEGER                 -- 0: nothing, until 1; NULL: what the call says
);

CREATE INDEX graph_update_exec ON graph_update (exec);
CREATE INDEX graph_change_graph ON graph_change (graph);
CREATE INDEX graph_change_node ON graph_change (node);
CREATE INDEX graph_change_exec ON graph_change (exec) WHERE exec IS NOT NULL;

CREATE TABLE operation ( -- one operation of the device
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	call INTEGER REFERENCES call(id), -- the driver call that submitted it, NULL: none recorded
	kind TEXT NOT NULL,             -- kernel, memcpy, memset, peer or graph
	start INTEGER,                  -- ns; NULL: invalid or it never ran
	end INTEGER,
	device INTEGER NOT NULL,
	context INTEGER REFERENCES context(id),
	stream INTEGER REFERENCES stream(id),
	correlation INTEGER NOT NULL,
	kernel INTEGER REFERENCES kernel(id),
	bytes INTEGER,
	copy_kind INTEGER,              -- CUPTI's: 1 from, 2 to the host...; in device memory on
	                                -- both sides: a half of a copy by way of the host
	src_memory TEXT, dst_memory TEXT,
	graph_node INTEGER
);

CREATE TABLE overhead ( -- an interval in which the driver did work of its own
	process INTEGER NOT NULL REFERENCES process(id),
	call INTEGER REFERENCES call(id),
	kind TEXT NOT NULL,             -- lazy_loading, queue_full or a number
	start INTEGER NOT NULL,
	end INTEGER NOT NULL
);

CREATE TABLE calibration ( -- clock pairs
	process INTEGER NOT NULL REFERENCES process(id),
	ticks INTEGER NOT NULL,
	realtime_ns INTEGER NOT NULL,
	cupti_ns INTEGER NOT NULL,
	gap_ticks INTEGER NOT NULL
);

CREATE TABLE confirmation ( -- what "cufence confirm" found out, by running the program again
	fingerprint TEXT PRIMARY KEY,   -- finding_place.fingerprint
	result TEXT NOT NULL,           -- confirmed, not-confirmed or not-applicable
	how TEXT NOT NULL               -- what was seen, or why it could not be tried
);

-- Derived

CREATE TABLE edge ( -- derived: what view dependency has beyond the order of streams
	call INTEGER NOT NULL REFERENCES call(id),  -- the later one: it submits an operation, or it
	                                -- waits for or records what several calls did
	needs INTEGER NOT NULL REFERENCES call(id), -- the earlier one
	reason TEXT NOT NULL,           -- stream, event, legacy, wait (a host wait and what it waited
	                                -- for), host (submitted after a host wait returned), thread
	                                -- (pthread_join), graph (launched before), incident (a call that
	                                -- waited, undocumented), reuse (of memory freed there), start
	                                -- (after what the other is after, not after itself), afterwards
	                                -- (not the call itself but what comes after it)
	PRIMARY KEY (call, needs, reason)
) WITHOUT ROWID;

CREATE TABLE apart ( -- derived: work that need not come after that before it in its stream
	first INTEGER PRIMARY KEY REFERENCES call(id), -- calls from here ...
	last INTEGER NOT NULL REFERENCES call(id) -- ... to there: a kernel may begin early, threads
	                                -- overlapped, or the order was given up
);

CREATE VIEW dependency AS -- derived: direct edges of the order, between driver calls
	-- columns are those of table edge; a call that puts work into a stream needs the one before
	-- it there, reason stream, but for those of table apart
	SELECT call, needs, reason FROM edge
	UNION ALL SELECT id, needs, 'stream' FROM (
		SELECT c.id, lag(c.id) OVER (PARTITION BY c.stream ORDER BY c.id) AS needs
		FROM call c JOIN call_type t ON t.id = c.type
		WHERE c.stream IS NOT NULL AND ifnull(c.result, 0) = 0
		AND t.kind IN (SELECT name FROM call_kind WHERE work) AND NOT EXISTS (
			SELECT 1 FROM call_object o WHERE o.call = c.id AND o.role = 'captured'))
	WHERE needs IS NOT NULL
	AND NOT EXISTS (SELECT 1 FROM apart a WHERE id BETWEEN a.first AND a.last);

CREATE TABLE event_wait ( -- derived: which record each wait for an event saw
	call INTEGER NOT NULL REFERENCES call(id), -- a stream's or a context's wait, also a captured one,
	                                -- the host's, or a query that succeeded
	event INTEGER NOT NULL REFERENCES event(id),
	record INTEGER REFERENCES call(id), -- the last one before it: of a captured wait, in a capture,
	                                -- else a record, or a launch that records; NULL: none
	sure INTEGER NOT NULL,          -- 0: another thread or process may have recorded it meanwhile
	PRIMARY KEY (call, event)
) WITHOUT ROWID;

CREATE TABLE loop ( -- derived: the part of a process's run that repeats, such as its training steps
	process INTEGER PRIMARY KEY REFERENCES process(id),
	thread INTEGER NOT NULL REFERENCES thread(id), -- that makes the turns
	site INTEGER NOT NULL REFERENCES site(id),     -- at which a turn begins
	turns INTEGER NOT NULL,         -- without those before it that warm up
	start INTEGER NOT NULL,         -- ns, of the first of them
	until INTEGER NOT NULL,         -- ns, when the one after the last begins
	end INTEGER NOT NULL            -- ns, of what the last one submitted; no earlier
);

CREATE TABLE account ( -- derived: where the time of the loop went, or without one of the run from the
	                                -- first submission to the end of the last operation; the
	                                -- rows of a device and those of the host each add up to it
	process INTEGER NOT NULL REFERENCES process(id),
	device INTEGER,                 -- ordinal, NULL: the thread that makes the loop's turns
	cause TEXT NOT NULL,            -- busy, or what kept the device idle: outside (the host was
	                                -- not in CUDA), submit, call and wait (it was in a call that
	                                -- submits, another one, one that waits), loading (of code),
	                                -- order (for work elsewhere), start (on its way to the
	                                -- device), done (nothing came any more), unknown; of the host
	                                -- outside, submit, call, wait and held (by the device)
	from_site INTEGER REFERENCES site(id), -- of outside: of the call before it
	site INTEGER REFERENCES site(id),      -- of the call that it was in, or that came next
	time INTEGER NOT NULL,          -- ns
	times INTEGER NOT NULL          -- stretches that is the sum of
);

CREATE TABLE hold ( -- derived: an operation that the device held though its stream let it go
	op INTEGER NOT NULL REFERENCES operation(id),
	behind INTEGER REFERENCES operation(id), -- it started when this one ended, or the one of
	                                -- another wait for an event that held it; NULL: none did
	via INTEGER REFERENCES call(id), -- the call that put the two in order, NULL: none is known
	reason TEXT NOT NULL,           -- legacy or event, by order; load, engine, full, channel, unknown
	                                -- or queue, where nothing orders the two: late.h
	ready INTEGER NOT NULL,         -- it was submitted and all else let it go, ns
	held INTEGER NOT NULL           -- from ready on, at most to its start, ns
);

CREATE TABLE hazard ( -- derived: two operations that use the same bytes, one writing, in no promised order
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	rule TEXT NOT NULL,             -- missing-fence, accidental-order, host-buffer-reuse,
	                                -- async-alloc-order, early-host-read or early-host-write
	kind TEXT NOT NULL,             -- raw: the later one reads what the earlier one writes; war, waw
	confidence TEXT NOT NULL,       -- certain, likely or possible: analyzer/hazard/hazards.h
	call INTEGER NOT NULL REFERENCES call(id),       -- that submitted the later one
	other_call INTEGER NOT NULL REFERENCES call(id), -- the earlier one
	allocation INTEGER NOT NULL REFERENCES allocation(id),
	low INTEGER NOT NULL,           -- addresses: what both may use lies from here
	high INTEGER NOT NULL,          -- to here, which is excluded
	gap INTEGER,                    -- from the end of the earlier one to the start of the later one, ns;
	                                -- negative: they ran at the same time; NULL: not known
	why TEXT,                       -- what the fence that is there does wrong: unrecorded-event,
	                                -- early-record, stale-event, late-fence, wrong-stream,
	                                -- third-stream; what was taken for one: early-return,
	                                -- legacy-stream, no-stream, reused-block; early-launch: it does
	                                -- not wait on the device; source-order: the copy reads out of
	                                -- stream order; NULL: none was seen
	launch INTEGER REFERENCES call(id), -- the first launch of the graph whose nodes the two are: call
	                                -- and other_call describe these then; NULL: of none
	count INTEGER NOT NULL DEFAULT 1, -- launches of that graph; else 1
	via INTEGER REFERENCES call(id), -- of an accidental order: the call that happened to wait
	evidence TEXT NOT NULL,         -- what the access of the later one is known from: exact (the call
	                                -- says it), guard (that of host memory reported it), or as of
	                                -- kernel_access
	other_evidence TEXT NOT NULL    -- that of the earlier one
);

CREATE TABLE kernel_use ( -- derived: launches of a kernel, captured and added to graphs, too
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	launches INTEGER NOT NULL,
	complete INTEGER NOT NULL       -- of them, those of which every access is known
);

CREATE TABLE stream_use ( -- derived: what ran on a stream, by kind
	process INTEGER NOT NULL REFERENCES process(id),
	stream INTEGER REFERENCES stream(id), -- NULL: not known which
	device INTEGER NOT NULL,        -- ordinal
	kind TEXT NOT NULL,             -- of operation
	operations INTEGER NOT NULL,
	unmatched INTEGER NOT NULL,     -- of them, those without a recorded call
	busy INTEGER NOT NULL           -- ns that they ran, added up
);

CREATE TABLE device_use ( -- derived: how long a device worked for a process
	process INTEGER NOT NULL REFERENCES process(id),
	device INTEGER NOT NULL,        -- ordinal
	first INTEGER NOT NULL,         -- start of the first operation, ns
	last INTEGER NOT NULL,          -- end of the last one, ns
	busy INTEGER NOT NULL,          -- ns in which at least one ran
	overlapped INTEGER NOT NULL,    -- ns in which at least two ran
	PRIMARY KEY (process, device)
) WITHOUT ROWID;

CREATE TABLE wait_use ( -- derived: how long the host waited for the device
	process INTEGER NOT NULL REFERENCES process(id),
	kind TEXT NOT NULL,             -- as of table wait, those of less than 20 us and the first copy
	                                -- of an address included; polling: in loops of queries
	count INTEGER NOT NULL,
	waited INTEGER NOT NULL,        -- ns
	PRIMARY KEY (process, kind)
) WITHOUT ROWID;

CREATE TABLE wait ( -- derived: a call that the device held
	id INTEGER PRIMARY KEY,
	call INTEGER NOT NULL REFERENCES call(id),
	kind TEXT NOT NULL,             -- explicit; implicit: a side effect; internal: within a call
	                                -- that is no wait, as the driver needed the device idle;
	                                -- behind: held by another thread's call that waited;
	                                -- queue: for room in a full launch queue;
	                                -- staged: of a pageable Async copy for its own transfer,
	                                -- where that is all it waited for
	op INTEGER REFERENCES operation(id), -- what it waited for, the last to end
	waited INTEGER NOT NULL,        -- ns, beyond the call's own unblocked duration
	avoidable INTEGER NOT NULL,     -- ns of it that the thread or the device could have used; 0:
	                                -- explicit wait without partner
	apart INTEGER NOT NULL DEFAULT 0, -- the same if its Async copy leaves the legacy default
	                                -- stream as well; 0: it is in another one
	partner INTEGER REFERENCES call(id), -- an Async copy to the host and the wait for it come from
	                                -- one line of a script: the other one of the two; implicit:
	                                -- the copy to the host that is to be fixed with it; kind
	                                -- queue: the one that stands for all until the thread
	                                -- waits for the stream
	behind INTEGER REFERENCES call(id) -- kind behind: the other thread's call
);

CREATE TABLE known_wait ( -- derived: an explicit wait for what its thread knew complete already, or a
	                        -- stream's wait for an event that orders nothing
	call INTEGER NOT NULL REFERENCES call(id),
	since INTEGER NOT NULL REFERENCES call(id) -- the call by which it knew: nothing was submitted
	                                -- after it; of a stream's wait the work that its stream came
	                                -- after already, or the next wait, which covers the same
);

CREATE TABLE replay ( -- derived: a process's run, replayed to find what fixing it saves
	process INTEGER PRIMARY KEY REFERENCES process(id),
	measured INTEGER NOT NULL,      -- first driver call to last end, ns
	replayed INTEGER,               -- the same, replayed without any change; NULL: not done
	refusal TEXT,                   -- why savings are not estimated, NULL: they are
	saving INTEGER,                 -- of all findings shown together, ns; at most, where saving_low is
	                                -- NULL; less than their sum where one hides another; NULL: none
	saving_low INTEGER,
	saving_high INTEGER,
	share REAL,                     -- as in finding
	turn_saving INTEGER
);

CREATE TABLE finding ( -- derived: what is wrong, a row per process and rule, in order of worth
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	rule TEXT NOT NULL,
	confidence TEXT NOT NULL,       -- certain, likely or possible
	severity TEXT NOT NULL,         -- high, medium or low
	shown INTEGER NOT NULL,         -- 1: at the default level
	count INTEGER NOT NULL,         -- instances
	waited INTEGER NOT NULL,        -- time for which the host was blocked, ns, all instances
	delayed INTEGER NOT NULL,       -- time by which work on the device started later, ns, likewise
	saving INTEGER NOT NULL,        -- if all its places are changed, ns of the run; at most, where
	                                -- saving_low is NULL
	saving_low INTEGER,             -- if what then runs at the same time gets in each other's way
	saving_high INTEGER,            -- if it does not
	share REAL NOT NULL,            -- of the run's duration, or of the loop: the saving
	turn_saving INTEGER,            -- of a turn of the loop, ns; NULL: share is of the run
	site INTEGER REFERENCES site(id),       -- of the first place, as are the other columns
	other_site INTEGER REFERENCES site(id),
	call INTEGER REFERENCES call(id),
	other_call INTEGER REFERENCES call(id),
	message TEXT NOT NULL,          -- the first line, without the rule's name
	fingerprint TEXT NOT NULL
);

CREATE TABLE finding_place ( -- derived: where a finding is, a row per pair of lines, in order of worth
	id INTEGER PRIMARY KEY,
	finding INTEGER NOT NULL REFERENCES finding(id),
	shown INTEGER NOT NULL,         -- 1: with its finding; 0: costs little beside the first line
	count INTEGER NOT NULL,         -- as those of finding
	waited INTEGER NOT NULL,
	delayed INTEGER NOT NULL,
	saving INTEGER,                 -- if only the line "at" is changed, ns of the run; NULL: not replayed
	share REAL NOT NULL,            -- the part of the finding's share that it has of waited and delayed
	site INTEGER REFERENCES site(id),       -- "at", of the worst instance
	other_site INTEGER REFERENCES site(id), -- "for", likewise
	call INTEGER REFERENCES call(id),       -- the worst instance
	other_call INTEGER REFERENCES call(id),
	confidence TEXT NOT NULL,       -- of the surest instance
	kind TEXT,                      -- of a fence that is missing: raw, war or waw; else NULL
	why TEXT,                       -- as hazard.why
	message TEXT NOT NULL,
	fix TEXT,                       -- the fence to add, where the program's own calls say it; else NULL
	hazard INTEGER REFERENCES hazard(id), -- the worst instance of a fence that is missing
	fingerprint TEXT NOT NULL       -- rule, functions and ordinals of both sites, kernel names
);

CREATE TABLE finding_also ( -- derived: where else to change the program for what a finding saves, or
	                        -- other callers of its place
	finding INTEGER NOT NULL REFERENCES finding(id),
	site INTEGER NOT NULL REFERENCES site(id),
	call INTEGER NOT NULL REFERENCES call(id), -- the first one there
	PRIMARY KEY (finding, site)
) WITHOUT ROWID;

CREATE TABLE finding_race ( -- derived: a race that is left once a finding's calls do not wait any more
	finding INTEGER NOT NULL REFERENCES finding(id),
	hazard INTEGER NOT NULL REFERENCES hazard(id), -- a row of rule accidental-order
	message TEXT NOT NULL,          -- the two operations, and the fence to add
	PRIMARY KEY (finding, hazard)
) WITHOUT ROWID;
