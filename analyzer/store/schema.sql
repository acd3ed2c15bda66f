-- SPDX-License-Identifier: Apache-2.0
--
-- The database of one run.  Raw tables hold recorded data and are only appended to;
-- derived tables (below the line "Derived") hold the analyzer's results and are dropped
-- and rebuilt by "cufence analyze".  Times are integer nanoseconds since run.start_unix_ns.

PRAGMA application_id = 0x63756665; -- "cufe"
PRAGMA user_version = 36; -- raised with every change below

CREATE TABLE run ( -- one row: the run as a whole
	start_unix_ns INTEGER NOT NULL, -- time 0 of every other time, CLOCK_REALTIME ns
	tool_version TEXT NOT NULL,     -- version of the cufence that loaded it
	command TEXT                    -- the traced command, if known
);

CREATE TABLE process ( -- a traced process, with one trace file
	id INTEGER PRIMARY KEY,
	pid INTEGER NOT NULL,
	parent_pid INTEGER NOT NULL,
	start INTEGER NOT NULL,         -- creation of the trace, ns
	end INTEGER NOT NULL,           -- latest recorded time, ns
	closed INTEGER NOT NULL,        -- 1: the process exited normally
	simulated INTEGER NOT NULL,     -- 1: on the simulated device
	clock TEXT NOT NULL,            -- tsc, monotonic or virtual
	clock_error INTEGER NOT NULL,   -- widest calibration interval, ns
	cupti TEXT NOT NULL,            -- never, on, off, absent, busy or failed
	cupti_error INTEGER NOT NULL,   -- CUptiResult when failed
	cupti_version INTEGER NOT NULL,
	driver_version INTEGER NOT NULL,
	trace_path TEXT NOT NULL
);

CREATE TABLE trace ( -- the traces that the database was made from, if they are small. "cufence load"
                     -- of a database of any schema reads this table only, so its declaration stays
                     -- as it was made with schema 35; additions are rows of another kind
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,             -- trace: a trace file, in the order of loading; image: a code
	                                -- image of it; command: the traced command
	hash INTEGER NOT NULL,          -- of what is kept; of an image it is the one in image_piece
	bytes INTEGER NOT NULL,         -- its size
	data BLOB NOT NULL              -- compressed by zstd
);

CREATE TABLE loss ( -- known losses of data, a row per process and reason
	process INTEGER NOT NULL REFERENCES process(id),
	reason TEXT NOT NULL,           -- name of the counter, or not_closed, host_only, unusable...
	count INTEGER NOT NULL          -- of what is lost; unknown: ns before the process's end
);

CREATE TABLE recording ( -- recording windows of a process; without rows: everything is recorded
	process INTEGER NOT NULL REFERENCES process(id),
	start INTEGER NOT NULL,         -- ns
	end INTEGER NOT NULL,           -- ns
	work INTEGER NOT NULL,          -- 1: everything is recorded; 0: only event records and calls
	                                -- that create or destroy handles, memory and graphs. Other
	                                -- work and its order are unknown
	cause TEXT NOT NULL             -- why the window began; in a first row with work 0: what
	                                -- recording waits for. start, delay, duration, profiler, range
	                                -- or size
);

CREATE TABLE property ( -- environment variables and settings that affect behaviour
	process INTEGER NOT NULL REFERENCES process(id),
	name TEXT NOT NULL,
	value TEXT NOT NULL
);

CREATE TABLE thread ( -- a host thread that made a call
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	tid INTEGER NOT NULL,           -- kernel thread id
	name TEXT,
	made_by INTEGER REFERENCES call(id),   -- its pthread_create; NULL: not recorded
	joined_by INTEGER REFERENCES call(id)  -- its pthread_join
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

CREATE TABLE device_attribute ( -- other properties that affect behaviour, as reported by the driver
	process INTEGER NOT NULL REFERENCES process(id),
	ordinal INTEGER NOT NULL,
	name TEXT NOT NULL,             -- CU_DEVICE_ATTRIBUTE_ without prefix, in lower case
	value INTEGER NOT NULL,
	PRIMARY KEY (process, ordinal, name)
) WITHOUT ROWID;

CREATE TABLE other_use ( -- use of a device by processes that are not of the run, as "cufence run"
                         -- saw it by NVML, the driver's monitoring; no rows: not watched
	process INTEGER NOT NULL REFERENCES process(id),
	device INTEGER NOT NULL,        -- ordinal
	seen TEXT NOT NULL,             -- computing; memory: others had some, and computed nothing;
	                                -- none: there were no others; unknown: see why
	processes INTEGER NOT NULL,     -- number of others that computed, if none did of those seen
	busy INTEGER NOT NULL,          -- percent of the run in which others computed, the mean of samples
	why TEXT,                       -- why it is unknown
	PRIMARY KEY (process, device)
) WITHOUT ROWID;

CREATE TABLE context ( -- a CUDA context
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- the recorder's id, as in trace records
	handle INTEGER NOT NULL,
	cupti_id INTEGER NOT NULL,      -- 0: unknown
	device INTEGER NOT NULL,        -- ordinal, -1: unknown
	flags INTEGER NOT NULL,         -- cuCtxGetFlags
	green INTEGER NOT NULL DEFAULT 0 -- 1: represents a green context, whose streams are unknown
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
	cupti_id INTEGER,               -- stream id in operation rows, NULL: no operation recorded
	name TEXT                       -- the last one that the program gave it by NVTX, without control
	                                -- characters, at most 256 bytes; NULL: none
);
CREATE INDEX stream_name ON stream (process, name) WHERE name IS NOT NULL;

CREATE TABLE event ( -- one life of an event handle
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER NOT NULL,
	flags INTEGER NOT NULL,
	created INTEGER REFERENCES call(id),
	destroyed INTEGER REFERENCES call(id)
);

CREATE TABLE allocation ( -- one life of an allocation
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	address INTEGER NOT NULL,       -- 0: an array, or a variable only used by name
	bytes INTEGER NOT NULL,
	memory TEXT NOT NULL,           -- device, pinned, registered, managed, async, mapped, imported,
	                                -- variable: in a module (table variable), graph: allocated by a
	                                -- graph node, permanent address; array (table array)
	created INTEGER REFERENCES call(id),
	freed INTEGER REFERENCES call(id)
);

CREATE TABLE alias ( -- an allocation that is the same memory as another one, or contiguous with it
	allocation INTEGER PRIMARY KEY REFERENCES allocation(id),
	same INTEGER NOT NULL REFERENCES allocation(id), -- the first mapping of the handle (cuMemMap),
	                                -- or the preceding mapping in the same reservation
	shift INTEGER NOT NULL          -- offset of its first byte in the other one, bytes
);

CREATE TABLE twin ( -- an allocation whose addresses also access the memory of another one:
	                -- multicast objects, host pages mapped twice, memory of another process
	allocation INTEGER NOT NULL REFERENCES allocation(id),
	other INTEGER NOT NULL REFERENCES allocation(id),
	shift INTEGER                   -- offset of its first byte in other, bytes; NULL: unknown whether
	                                -- they are the same memory
);

CREATE TABLE kernel ( -- a function as the driver knows it
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER,                 -- NULL: known from operations only
	mangled TEXT NOT NULL,
	name TEXT NOT NULL,             -- demangled, without parameters and template arguments
	parameter_count INTEGER,        -- NULL: unknown to the driver
	local_bytes INTEGER             -- local memory per thread; NULL: unknown
);

CREATE TABLE kernel_name ( -- names of kernels in texts
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	whole TEXT NOT NULL,            -- demangled, with template arguments and parameters
	label TEXT NOT NULL             -- for printing: kernel.name, or what it computes, if a library
	                                -- has it; where several kernels would have that, with template
	                                -- arguments or words that differ, or a number
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
	hash INTEGER NOT NULL,          -- hash of its rows in image_piece or image_file, if any
	PRIMARY KEY (kernel, hash)
) WITHOUT ROWID;

CREATE TABLE image_file ( -- a code image in a file; relocatable code has several rows
	process INTEGER NOT NULL REFERENCES process(id),
	hash INTEGER NOT NULL,          -- identifies the image
	path TEXT NOT NULL,
	build_id TEXT,                  -- of the file, NULL: it has none
	offset INTEGER NOT NULL,        -- in the file
	bytes INTEGER NOT NULL,
	start INTEGER NOT NULL          -- hash of its first bytes, as doc/FORMAT.md says
);

CREATE INDEX image_file_hash ON image_file (process, hash);

CREATE TABLE image_piece ( -- a code image made in memory, of which a kernel was launched
	process INTEGER NOT NULL REFERENCES process(id), -- the first one that launched it
	hash INTEGER NOT NULL,          -- of the whole image; identifies it
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

CREATE TABLE symbol ( -- a resolved address of a site, read from the trace (dump --symbols)
	process INTEGER NOT NULL REFERENCES process(id),
	address INTEGER NOT NULL,
	depth INTEGER NOT NULL,         -- in the chain of inlined functions, 0 is the innermost
	function TEXT,                  -- mangled
	file TEXT,
	line INTEGER
);

CREATE TABLE code ( -- a code object of a scripting language
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- the recorder's id
	version INTEGER NOT NULL,       -- of CPython: major << 8 | minor
	first_line INTEGER NOT NULL,
	name TEXT NOT NULL,             -- qualified, if the version supports it
	file TEXT NOT NULL,
	line_table BLOB NOT NULL,       -- in that version's format
	PRIMARY KEY (process, number)
);

CREATE TABLE site ( -- a call path: return addresses, then frames of a script
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- the recorder's id
	function TEXT,                  -- of the first user frame
	file TEXT,                      -- of the first user frame
	line INTEGER,
	api TEXT,                       -- the cudart function on the stack (static cudart), or NULL
	text TEXT                       -- "file:line" or "module+0xoffset", for printing
);
CREATE INDEX site_text ON site (text);

CREATE TABLE frame ( -- the frames of a site, innermost first
	site INTEGER NOT NULL REFERENCES site(id),
	depth INTEGER NOT NULL,         -- 0 is the innermost; inlined frames have rows of their own
	address INTEGER NOT NULL,       -- script frame: 1 << 63 | code << 32 | offset in its instructions
	code INTEGER AS (CASE WHEN address < 0 THEN address >> 32 & 2147483647 END), -- code.number in
	                                -- the process, NULL: compiled code
	module INTEGER REFERENCES module(id),
	function TEXT,
	file TEXT,
	line INTEGER,
	user INTEGER NOT NULL,          -- 1: the program's own frame, used to name the site; 0: CUDA's,
	                                -- a host stub, a package's, an interpreter's
	loop INTEGER,                   -- script frame: line of the innermost loop statement around it in
	                                -- its function; NULL: none, or the source was not there
	PRIMARY KEY (site, depth)
);

CREATE TABLE call_kind ( -- properties of kinds of calls: the rows of trace/kinds.def
	name TEXT PRIMARY KEY,
	family TEXT NOT NULL,           -- group of kinds with the same effect
	waits TEXT NOT NULL,            -- what the host waits for during the call: nothing, event, stream,
					-- by_memory (depends on both operands), context, device, process
	work INTEGER NOT NULL,          -- 1: puts work into a stream
	accesses INTEGER NOT NULL,      -- 1: its work reads or writes device memory
	silent INTEGER NOT NULL,        -- 1: has a position in a stream, but no CUPTI record
	outside INTEGER NOT NULL,       -- 1: may make its stream wait for values in memory or
					-- semaphores
	tells_host INTEGER NOT NULL,    -- 1: the host may react to it without a CUDA call
	default_stream INTEGER NOT NULL, -- 1: names no stream
	any_stream INTEGER NOT NULL,    -- 1: may put work into streams that it does not name
	idle INTEGER NOT NULL,          -- 1: names a stream or an event, and submits no work
	resource INTEGER NOT NULL,      -- 1: waits as a side effect of allocating or freeing
	once INTEGER NOT NULL,          -- 1: the fixed program calls it once
	releases INTEGER NOT NULL,      -- 1: frees memory
	quick INTEGER NOT NULL,         -- 1: takes less than 50 us by itself (H200)
	loads_code INTEGER NOT NULL,    -- 1: loads a kernel at its first use
	untimed INTEGER NOT NULL,       -- 1: operations may not cover all of its work
	windowed INTEGER NOT NULL,      -- 1: recorded only within a recording window
	marker INTEGER NOT NULL,        -- 1: has a position in a stream, and accesses no memory
	outlives INTEGER NOT NULL,      -- 1: the memory it allocates outlives its context
	names_context INTEGER NOT NULL, -- 1: applies to all streams of the context that it names
	polls INTEGER NOT NULL,         -- 1: repeated until it succeeds
	shares INTEGER NOT NULL         -- 1: users that are not recorded may use what it names
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
	parent INTEGER REFERENCES call(id), -- the recorded call during which it was made
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

CREATE TABLE thread_use ( -- time a thread spent in calls; only outermost calls count
	thread INTEGER PRIMARY KEY REFERENCES thread(id),
	calls INTEGER NOT NULL,
	placed INTEGER NOT NULL,        -- those whose site is known
	inside INTEGER NOT NULL         -- ns; a call that never returned counts up to the end of the process
);

CREATE TABLE usage ( -- how a thread used its processor between two readings: one is made at the end of
	             -- each time of more than 20 us between or in its calls, but for queries; no rows:
	             -- not read (on the simulator, or because of a seccomp filter)
	thread INTEGER NOT NULL REFERENCES thread(id),
	since INTEGER NOT NULL,         -- ns, the reading before
	time INTEGER NOT NULL,          -- ns
	off INTEGER NOT NULL,           -- ns in between that it was not on a processor
	voluntary INTEGER NOT NULL,     -- how often it gave the processor up: it was blocked
	involuntary INTEGER NOT NULL    -- how often the processor was taken from it: it was preempted
);

CREATE TABLE clock_read ( -- a thread read a clock at most 20 us after a wait returned, and before any
	                  -- other recorded call; up to four of each wait
	thread INTEGER NOT NULL REFERENCES thread(id),
	time INTEGER NOT NULL,          -- ns
	site INTEGER REFERENCES site(id) -- of the reader: a lock and CUDA's libraries read clocks, too
);

CREATE TABLE polling ( -- a loop of queries with the same answer is one row of call
	call INTEGER PRIMARY KEY REFERENCES call(id), -- the first one
	count INTEGER NOT NULL,         -- calls, including the first
	last INTEGER NOT NULL           -- entry of the last one, ns; in fast loops of one of the last few
);

CREATE TABLE range ( -- a named range or mark of the program's own (NVTX)
	process INTEGER NOT NULL REFERENCES process(id),
	thread INTEGER NOT NULL REFERENCES thread(id), -- that opened it
	name TEXT NOT NULL,
	start INTEGER NOT NULL,         -- ns
	end INTEGER                     -- ns; equal to start: a mark; NULL: never closed
);

CREATE TABLE host_run ( -- a run of a host function: of cuLaunchHostFunc, cuStreamAddCallback or a node
	process INTEGER NOT NULL REFERENCES process(id),
	thread INTEGER NOT NULL REFERENCES thread(id), -- that ran it
	call INTEGER REFERENCES call(id), -- the call that submitted it; NULL: a node of a graph
	enter INTEGER NOT NULL,         -- ns
	exit INTEGER,                   -- ns; NULL: it did not return
	function INTEGER NOT NULL,      -- its address
	data INTEGER NOT NULL           -- its argument
);

CREATE INDEX host_run_call ON host_run (call);

CREATE TABLE operand ( -- memory in a known allocation that a submitting call names
	call INTEGER NOT NULL REFERENCES call(id),
	role TEXT NOT NULL,             -- dst or src of a copy or memset; src_any: a source that may
	                                -- be read any time after the call; word: a parameter of a launch;
	                                -- node: memory of a node of a launched graph, once per
	                                -- allocation
	offset INTEGER,                 -- word: bytes into the parameter buffer; copies of a batch: index
	                                -- of the copy
	address INTEGER NOT NULL,
	allocation INTEGER NOT NULL REFERENCES allocation(id)
);

CREATE TABLE extent ( -- an operand of a copy or memset that is not one piece of call.bytes bytes:
                      -- rows, slices, and the copies of a batch
	call INTEGER NOT NULL REFERENCES call(id),
	role TEXT NOT NULL,             -- dst, src or src_any, as in operand
	item INTEGER NOT NULL,          -- index of the copy in a batch, from 0
	address INTEGER NOT NULL,       -- of the first byte
	allocation INTEGER REFERENCES allocation(id), -- NULL: unknown
	bytes INTEGER NOT NULL,         -- contiguous
	pitch INTEGER NOT NULL,         -- bytes from row to row
	rows INTEGER NOT NULL,
	slice INTEGER NOT NULL,         -- bytes from slice to slice
	slices INTEGER NOT NULL,
	span INTEGER AS (bytes + (rows - 1) * pitch + (slices - 1) * slice), -- from first to last byte
	PRIMARY KEY (call, role, item)
) WITHOUT ROWID;

CREATE TABLE launch ( -- parameters of a launch, or of a call that adds a kernel to a graph
	call INTEGER PRIMARY KEY REFERENCES call(id),
	shape INTEGER NOT NULL REFERENCES shape(id)
);

CREATE TABLE shape ( -- launches of a kernel that differ only in the addresses of their memory
	id INTEGER PRIMARY KEY,
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	grid INTEGER NOT NULL, block INTEGER NOT NULL, -- packed as in call
	words BLOB NOT NULL,            -- parameters that do not point into a known allocation, 12 bytes
	                                -- each: offset into the parameter buffer (2^32 - 1: a hash of all
	                                -- that are not listed; 2^32 - 2: unknown) and value,
	                                -- little-endian. Those after the first 8 are a hash, unless the
	                                -- recorder kept their values
	pointers BLOB NOT NULL          -- parameters that point into one (operand), 4 bytes each: offset,
	                                -- and in the highest byte the number of trailing zero bits of the
	                                -- address, at most 5
);

CREATE TABLE kernel_code ( -- what is known about a kernel's memory accesses
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	evidence TEXT NOT NULL,         -- ptx; machine: its machine code; annotation: given by the user;
	                                -- const: pointers to const in its name; convention: a known
	                                -- library's convention; none
	complete INTEGER NOT NULL,      -- 1: every access it may make is in kernel_access
	why TEXT,                       -- reason if not complete
	reaches INTEGER NOT NULL,       -- sum of: 1: reads memory by pointers loaded from memory, 2:
	                                -- writes there; 4: reads variables of its module, 8: writes them;
	                                -- 16: reads constants of its module; 64: nothing but that is
	                                -- unknown: what it does with its parameters is in kernel_access
	prints INTEGER                  -- 1: it may call printf; 0: it does not; NULL: unknown
);

CREATE TABLE shape_code ( -- shapes whose accesses are known more exactly
	shape INTEGER PRIMARY KEY REFERENCES shape(id),
	complete INTEGER NOT NULL,      -- 1: every access of such a launch is in kernel_access
	why TEXT,                       -- reason if not complete
	reaches INTEGER NOT NULL        -- as in kernel_code
);

CREATE TABLE kernel_access ( -- a kernel reads or writes memory that a parameter word points to
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	shape INTEGER REFERENCES shape(id), -- in launches of that shape; NULL: in launches whose shape
	                                -- has no row in shape_code
	offset INTEGER NOT NULL,        -- of the word, bytes into the parameter buffer
	direction TEXT NOT NULL,        -- load, store or atomic
	sure INTEGER NOT NULL,          -- 0: through this word or another one, which is unknown
	low INTEGER,                    -- bytes from the word's address; NULL: unbounded
	high INTEGER,                   -- exclusive; NULL: unbounded
	run INTEGER,                    -- contiguous bytes, repeated at each stride; NULL: all bytes
	                                -- from low to high
	stride1 INTEGER, count1 INTEGER, -- bytes from piece to piece, and number; the longest stride
	stride2 INTEGER, count2 INTEGER, -- further strides, added to the first
	stride3 INTEGER, count3 INTEGER,
	exact INTEGER NOT NULL,         -- 1: exactly these bytes, unless a condition on data prevents it;
	                                -- 0: at most these
	loaded INTEGER NOT NULL,        -- 1: the bytes depend on the contents of memory
	early INTEGER NOT NULL,         -- 1: before the kernel waits for preceding kernels, if it waits
	                                -- (kernel_dependence)
	spins INTEGER NOT NULL,         -- 1: in a loop that ends once other work writes there
	evidence TEXT                   -- annotation: given by the user; NULL: kernel_code.evidence
);

CREATE TABLE kernel_dependence ( -- programmatic dependent launch, for kernels whose PTX is known
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	waits INTEGER,                  -- 1: it has griddepcontrol.wait, 0: it has none; NULL: unknown
	triggers INTEGER                -- the same for launch_dependents, which lets following kernels begin
);

CREATE TABLE kernel_variable ( -- a variable that a kernel uses, treated like a pointer parameter
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	offset INTEGER NOT NULL,        -- in kernel_access and operand; above the offsets of parameters
	hash INTEGER NOT NULL,          -- of its name
	name TEXT NOT NULL,             -- mangled
	bytes INTEGER NOT NULL,         -- 0: not declared in the kernel's code
	PRIMARY KEY (kernel, offset)
) WITHOUT ROWID;

CREATE TABLE kernel_object ( -- a parameter word that is a texture or surface object
	kernel INTEGER NOT NULL REFERENCES kernel(id),
	offset INTEGER NOT NULL,        -- of the word: its rows of kernel_access refer to the memory
	                                -- of the object
	surface INTEGER NOT NULL,       -- 1: a surface
	PRIMARY KEY (kernel, offset, surface)
) WITHOUT ROWID;

CREATE TABLE variable ( -- a variable of a module that is an allocation
	allocation INTEGER PRIMARY KEY REFERENCES allocation(id),
	image INTEGER NOT NULL,         -- hash of the image of its module, as in kernel_image
	hash INTEGER NOT NULL,          -- of its name
	name TEXT                       -- mangled; NULL: not used by a known kernel
);

CREATE TABLE array ( -- an allocation that is an array: the analyzer gives its bytes the addresses
                     -- x (in bytes) + y * 2^21 + z * 2^37 + level * 2^54
	allocation INTEGER PRIMARY KEY REFERENCES allocation(id),
	width INTEGER NOT NULL,         -- elements; 0: unknown
	height INTEGER NOT NULL,        -- rows; 0: it has one dimension
	depth INTEGER NOT NULL,         -- slices or layers, or 0
	format INTEGER NOT NULL,        -- CUarray_format of a channel
	levels INTEGER NOT NULL         -- 0: not mipmapped
);

CREATE TABLE texture ( -- one life of a texture or surface object
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	value INTEGER NOT NULL,         -- the object, as passed to kernels
	surface INTEGER NOT NULL,       -- 1: a surface
	created INTEGER NOT NULL REFERENCES call(id),
	destroyed INTEGER REFERENCES call(id),
	allocation INTEGER REFERENCES allocation(id), -- its memory; NULL: unknown
	address INTEGER NOT NULL,       -- of the first byte; for an array as in table array
	bytes INTEGER                   -- NULL: an array
);

CREATE INDEX texture_value ON texture (value);

CREATE TABLE call_object ( -- further objects and properties of a call that affect order
	call INTEGER NOT NULL REFERENCES call(id),
	role TEXT NOT NULL,             -- exec (graph_exec); dst_context, src_context (context); event
	                                -- (event): the first one of cuEventElapsedTime; launch_event,
	                                -- completion_event (event): those of launch attributes; captured
	                                -- (graph): the call became a node of that graph; attributes: bits,
	                                -- 2: programmatic stream serialization; content: bits, for a graph
	                                -- launch or a batch, 1: it may access memory that operand does
	                                -- not name, 2: it runs functions on the host; fill: the 32-bit
	                                -- pattern of a memset
	object INTEGER NOT NULL,
	PRIMARY KEY (call, role)
) WITHOUT ROWID;

CREATE TABLE graph ( -- one life of a graph, built by calls or by capture
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER NOT NULL,
	created INTEGER REFERENCES call(id),
	destroyed INTEGER REFERENCES call(id)
);

CREATE TABLE graph_node ( -- a node of a graph
	id INTEGER PRIMARY KEY,
	graph INTEGER NOT NULL REFERENCES graph(id),
	handle INTEGER,                 -- NULL: captured, and never queried by the program
	type TEXT NOT NULL,             -- kernel, copy, set, host, graph, empty, wait, record, signal,
	                                -- external_wait, alloc, free, memop, conditional, other
	call INTEGER NOT NULL REFERENCES call(id), -- the call that added it, was captured as it, or copied it
	removed INTEGER REFERENCES call(id),
	event INTEGER REFERENCES event(id), -- the event that it records or waits for
	child INTEGER REFERENCES graph(id), -- its child graph
	origin INTEGER REFERENCES call(id), -- for a copied node: the call that set its parameters
	acts INTEGER AS (type IN ('wait', 'record', 'signal', 'external_wait', 'memop'))
	                                -- 1: it affects work outside of its graph
);

CREATE TABLE graph_edge ( -- a dependency between nodes
	graph INTEGER NOT NULL REFERENCES graph(id),
	from_node INTEGER NOT NULL REFERENCES graph_node(id),
	to_node INTEGER NOT NULL REFERENCES graph_node(id),
	added INTEGER NOT NULL REFERENCES call(id),
	removed INTEGER REFERENCES call(id),
	programmatic INTEGER NOT NULL   -- 1: to_node does not wait for the end of from_node
);

CREATE INDEX graph_node_graph ON graph_node (graph, acts);
CREATE INDEX graph_node_call ON graph_node (call);
CREATE INDEX graph_node_child ON graph_node (graph) WHERE child IS NOT NULL;
CREATE INDEX graph_edge_graph ON graph_edge (graph);
CREATE INDEX graph_edge_from ON graph_edge (from_node);

CREATE TABLE graph_body ( -- a graph inside a node that may still change: conditional, child
	node INTEGER NOT NULL REFERENCES graph_node(id),
	graph INTEGER NOT NULL REFERENCES graph(id)
);

CREATE INDEX graph_body_node ON graph_body (node);

CREATE TABLE graph_exec ( -- one life of an executable graph
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	handle INTEGER NOT NULL,
	graph INTEGER REFERENCES graph(id), -- the graph that it was instantiated from
	as_of INTEGER REFERENCES call(id), -- the state of that graph is the one at this call
	created INTEGER REFERENCES call(id), -- NULL: before the trace
	destroyed INTEGER REFERENCES call(id)
);

CREATE TABLE graph_update ( -- an executable graph was updated from a graph
	call INTEGER PRIMARY KEY REFERENCES call(id),
	exec INTEGER NOT NULL REFERENCES graph_exec(id),
	graph INTEGER NOT NULL REFERENCES graph(id)
);

CREATE TABLE graph_change ( -- a call that changes what a node does
	call INTEGER PRIMARY KEY REFERENCES call(id), -- the call, which has the new parameters
	graph INTEGER REFERENCES graph(id), -- if known
	node INTEGER REFERENCES graph_node(id), -- NULL: an unknown node of that type
	type TEXT NOT NULL,             -- as graph_node.type
	exec INTEGER REFERENCES graph_exec(id), -- the executable graph changed; NULL: the graph, for
	                                -- executable graphs instantiated later
	event INTEGER REFERENCES event(id), -- the event that it records or waits for from now on
	enabled INTEGER                 -- 0: disabled, 1: enabled; NULL: new parameters
);

CREATE INDEX graph_update_exec ON graph_update (exec);
CREATE INDEX graph_change_graph ON graph_change (graph);
CREATE INDEX graph_change_node ON graph_change (node);
CREATE INDEX graph_change_exec ON graph_change (exec) WHERE exec IS NOT NULL;

CREATE TABLE operation ( -- a device operation
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	call INTEGER REFERENCES call(id), -- the driver call that submitted it, NULL: not recorded
	kind TEXT NOT NULL,             -- kernel, memcpy, memset, peer or graph
	start INTEGER,                  -- ns; NULL: invalid, or it never ran
	end INTEGER,
	device INTEGER NOT NULL,
	context INTEGER REFERENCES context(id),
	stream INTEGER REFERENCES stream(id),
	correlation INTEGER NOT NULL,
	kernel INTEGER REFERENCES kernel(id),
	bytes INTEGER,
	copy_kind INTEGER,              -- CUPTI's: 1 from host, 2 to host...; with device memory on
	                                -- both sides: half of a copy staged through the host
	src_memory TEXT, dst_memory TEXT,
	graph_node INTEGER,
	recorded_end INTEGER            -- not NULL: the recorded end, ns, which was impossible, as the next
	                                -- operation of its stream had started. It ended at end at the
	                                -- latest, and its duration is unknown
);

CREATE TABLE overhead ( -- an interval of driver overhead
	process INTEGER NOT NULL REFERENCES process(id),
	call INTEGER REFERENCES call(id),
	kind TEXT NOT NULL,             -- lazy_loading, queue_full or a number
	start INTEGER NOT NULL,
	end INTEGER NOT NULL
);

CREATE TABLE calibration ( -- the clocks, read at the same time
	process INTEGER NOT NULL REFERENCES process(id),
	ticks INTEGER NOT NULL,
	realtime_ns INTEGER NOT NULL,
	cupti_ns INTEGER NOT NULL,
	gap_ticks INTEGER NOT NULL
);

CREATE TABLE confirmation ( -- result of "cufence confirm" for a finding
	fingerprint TEXT PRIMARY KEY,   -- finding_place.fingerprint
	result TEXT NOT NULL,           -- confirmed, order-missing (conflict not shown), not-confirmed or
	                                -- not-applicable
	how TEXT NOT NULL               -- what was observed, or why it is not applicable
);

-- Derived

CREATE TABLE edge ( -- derived: dependencies other than stream order
	call INTEGER NOT NULL REFERENCES call(id),  -- the later call: it submits an operation, or
	                                -- waits for or records the work of several calls
	needs INTEGER NOT NULL REFERENCES call(id), -- the earlier call
	reason TEXT NOT NULL,           -- stream, event, legacy, wait (a host wait for the
	                                -- operation), host (submitted after a host wait returned), thread
	                                -- (pthread_join), graph (launched before), incident (a call that
	                                -- waited, undocumented), reuse (of freed memory), start
	                                -- (after the dependencies of the earlier call, not after that
	                                -- call), afterwards (applies to work after the later call, not
	                                -- to that call)
	PRIMARY KEY (call, needs, reason)
) WITHOUT ROWID;

CREATE TABLE apart ( -- derived: work that does not depend on the preceding work in its stream
	first INTEGER PRIMARY KEY REFERENCES call(id), -- calls from here ...
	last INTEGER NOT NULL REFERENCES call(id) -- ... to here, because a kernel may begin early, calls
	                                -- of several threads overlapped, or the order was not analyzed
);

CREATE VIEW dependency AS -- derived: direct dependencies between driver calls
	-- columns as in table edge; a call that puts work into a stream depends on the preceding one
	-- there, reason stream, except for calls in table apart
	SELECT call, needs, reason FROM edge
	UNION ALL SELECT id, needs, 'stream' FROM (
		SELECT c.id, lag(c.id) OVER (PARTITION BY c.stream ORDER BY c.id) AS needs
		FROM call c JOIN call_type t ON t.id = c.type
		WHERE c.stream IS NOT NULL AND ifnull(c.result, 0) = 0
		AND t.kind IN (SELECT name FROM call_kind WHERE work) AND NOT EXISTS (
			SELECT 1 FROM call_object o WHERE o.call = c.id AND o.role = 'captured'))
	WHERE needs IS NOT NULL
	AND NOT EXISTS (SELECT 1 FROM apart a WHERE id BETWEEN a.first AND a.last);

CREATE TABLE event_wait ( -- derived: the event record that each event wait waits for
	call INTEGER NOT NULL REFERENCES call(id), -- a wait of a stream or a context, including captured
	                                -- ones, a wait of the host, or a query that succeeded
	event INTEGER NOT NULL REFERENCES event(id),
	record INTEGER REFERENCES call(id), -- the last one before the wait: an event record, or a launch
	                                -- that records the event; for a captured wait, one in a capture;
	                                -- NULL: none
	sure INTEGER NOT NULL,          -- 0: another thread or process may have recorded it meanwhile
	PRIMARY KEY (call, event)
) WITHOUT ROWID;

CREATE TABLE loop ( -- derived: the part of a process's run that repeats, such as its training steps
	process INTEGER PRIMARY KEY REFERENCES process(id),
	thread INTEGER NOT NULL REFERENCES thread(id), -- the thread that runs the loop
	site INTEGER NOT NULL REFERENCES site(id),     -- of the first call of the first iteration
	place TEXT NOT NULL,            -- the line of the program that repeats, as site.text
	turns INTEGER NOT NULL,         -- iterations, without warm-up
	warm INTEGER NOT NULL,          -- iterations before these, which took longer
	start INTEGER NOT NULL,         -- ns, of the first iteration
	until INTEGER NOT NULL,         -- ns, return of the last call of the last iteration
	end INTEGER NOT NULL            -- ns, end of the work of the last iteration; at least until
);

CREATE TABLE turn ( -- derived: the iterations of loops
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- from 0 on
	start INTEGER NOT NULL,         -- ns, entry of its first call
	PRIMARY KEY (process, number)
) WITHOUT ROWID;

CREATE TABLE inner_loop ( -- derived: repetitions within the iterations of the loop, by the same thread
	process INTEGER NOT NULL REFERENCES process(id),
	number INTEGER NOT NULL,        -- from 0 on, that with the most calls first
	site INTEGER NOT NULL REFERENCES site(id),     -- of the first call of the first one
	place TEXT NOT NULL,            -- the line of the program that repeats, as site.text
	turns INTEGER NOT NULL,         -- number in all iterations of the loop, with warm-up
	PRIMARY KEY (process, number)
) WITHOUT ROWID;

CREATE TABLE account ( -- derived: how the time of the loop was spent, or of the run if it has no loop,
	                                -- from the first submission to the end of the last operation; the
	                                -- rows of each device, and those of the host, add up to that time
	process INTEGER NOT NULL REFERENCES process(id),
	device INTEGER,                 -- ordinal, NULL: the thread that runs the loop
	cause TEXT NOT NULL,            -- kernels (memsets and graphs among them), copies, or both at
	                                -- once: the device was busy; or why it was idle: outside (the
	                                -- host was not in a CUDA call), submit, wait, call (it was in a
	                                -- call that submits, that waits, in another one), loading (of
	                                -- code), order (waiting for other work), start (launch latency of
	                                -- the device), done (no more work), unknown; for the host:
	                                -- outside, submit, call, wait and held (blocked by the device).
	                                -- If its usage was read, outside is computing, blocked or
	                                -- preempted
	from_site INTEGER REFERENCES site(id), -- for outside and its parts: site of the preceding call
	site INTEGER REFERENCES site(id),      -- site of the current call, or of the next one
	time INTEGER NOT NULL,          -- ns
	times INTEGER NOT NULL          -- number of intervals in that sum
);

CREATE TABLE blocked ( -- derived: where the thread that runs the loop was blocked outside of CUDA, and
	               -- what ended that; the sum of time is that of cause blocked in its account
	process INTEGER NOT NULL REFERENCES process(id),
	from_site INTEGER REFERENCES site(id), -- of the call before
	site INTEGER REFERENCES site(id),      -- of the call after
	ended TEXT,                     -- host_function: one of a stream ran until then; wait: another
	                                -- thread returned from a wait; call: another thread, which
	                                -- submits, made its last call until then; NULL: nothing seen
	stream INTEGER REFERENCES stream(id),   -- of the host function, if known
	by_thread INTEGER REFERENCES thread(id), -- the other thread
	by_site INTEGER REFERENCES site(id),    -- of its call
	time INTEGER NOT NULL,          -- ns
	times INTEGER NOT NULL
);

CREATE TABLE wait_clock ( -- derived: waits after which the program read a clock first: evidence that
	                  -- they serve a timer; none proves nothing
	call INTEGER PRIMARY KEY REFERENCES call(id), -- the wait, as the program called it
	site INTEGER REFERENCES site(id) -- of the reader
);

CREATE TABLE hold ( -- derived: an operation that was blocked although its stream was ready
	op INTEGER NOT NULL REFERENCES operation(id),
	behind INTEGER REFERENCES operation(id), -- the operation at whose end it started, or the one of
	                                -- another event wait that blocked it; NULL: none
	via INTEGER REFERENCES call(id), -- the call that orders the two, NULL: unknown
	reason TEXT NOT NULL,           -- legacy or event if that orders the two; load, engine, full,
	                                -- channel, unknown or queue if nothing orders them:
	                                -- analyzer/evidence/evidence_tables.h
	ready INTEGER NOT NULL,         -- time at which it was submitted and otherwise ready, ns
	held INTEGER NOT NULL           -- blocked time since ready, at most until its start, ns
);

CREATE TABLE hazard ( -- derived: two operations that access the same bytes, at least one of them writing,
                      -- in no guaranteed order
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	rule TEXT NOT NULL,             -- missing-fence, accidental-order, host-buffer-reuse,
	                                -- async-alloc-order, early-host-read or early-host-write
	kind TEXT NOT NULL,             -- raw: the later one reads what the earlier one writes; war, waw
	confidence TEXT NOT NULL,       -- certain, likely or possible: analyzer/hazard/hazards.h
	call INTEGER NOT NULL REFERENCES call(id),       -- the call that submitted the later one
	other_call INTEGER NOT NULL REFERENCES call(id), -- the call that submitted the earlier one
	allocation INTEGER NOT NULL REFERENCES allocation(id),
	low INTEGER NOT NULL,           -- first address that both may access
	high INTEGER NOT NULL,          -- end address, exclusive
	gap INTEGER,                    -- from the end of the earlier one to the start of the later one, ns;
	                                -- negative: they overlapped; NULL: unknown
	why TEXT,                       -- why the existing fence is insufficient: unrecorded-event,
	                                -- early-wait, early-record, stale-event, late-fence, wrong-stream,
	                                -- third-stream, unused-event; or what was mistaken for a fence: early-return,
	                                -- legacy-stream, no-stream, reused-block; early-launch: it does
	                                -- not wait on the device; source-order: the copy reads out of
	                                -- stream order; NULL: no fence found
	launch INTEGER REFERENCES call(id), -- the first launch of the graph if both are its nodes: call
	                                -- and other_call describe the nodes; NULL: no graph
	count INTEGER NOT NULL DEFAULT 1, -- launches of that graph; else 1.  In a long table also for
	                                -- operations of the same places that have no row
	via INTEGER REFERENCES call(id), -- for an accidental order: the call that happened to wait; for a
	                                -- missing fence: the load of code that kept the two in order
	evidence TEXT NOT NULL,         -- how the access of the later one is known: exact (by the call),
	                                -- guard (reported by the host memory guard), or as in
	                                -- kernel_access
	other_evidence TEXT NOT NULL,   -- the same for the earlier one
	same_bytes INTEGER NOT NULL DEFAULT 0, -- 1: the two operations surely access a byte in common,
	                                -- which one of them writes; 0: one accesses at most such bytes
	wait INTEGER REFERENCES call(id), -- the event wait of the fence that why describes; NULL: none
	record INTEGER REFERENCES call(id) -- the event record of that fence; NULL: none
);

CREATE TABLE kernel_use ( -- derived: launches of a kernel, including captured ones and graph nodes
	kernel INTEGER PRIMARY KEY REFERENCES kernel(id),
	launches INTEGER NOT NULL,
	complete INTEGER NOT NULL       -- launches of which every access is known
);

CREATE TABLE stream_use ( -- derived: operations on a stream, by kind
	process INTEGER NOT NULL REFERENCES process(id),
	stream INTEGER REFERENCES stream(id), -- NULL: unknown
	device INTEGER NOT NULL,        -- ordinal
	kind TEXT NOT NULL,             -- operation.kind
	operations INTEGER NOT NULL,
	unmatched INTEGER NOT NULL,     -- those without a recorded call
	busy INTEGER NOT NULL           -- sum of their durations, ns
);

CREATE TABLE device_use ( -- derived: how long a device was busy for a process
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
	kind TEXT NOT NULL,             -- as in table wait, including waits of less than 6 us and the
	                                -- first copy of an address; polling: in loops of queries
	count INTEGER NOT NULL,
	waited INTEGER NOT NULL,        -- ns
	PRIMARY KEY (process, kind)
) WITHOUT ROWID;

CREATE TABLE wait ( -- derived: a call that the device blocked
	id INTEGER PRIMARY KEY,
	call INTEGER NOT NULL REFERENCES call(id),
	kind TEXT NOT NULL,             -- explicit; implicit: a side effect; internal: a call that does
	                                -- not wait, but for which the driver drained the device;
	                                -- behind: blocked by a waiting call of another thread;
	                                -- queue: full launch queue;
	                                -- staged: a pageable Async copy waits for its own transfer,
	                                -- and for nothing else
	op INTEGER REFERENCES operation(id), -- the last operation to end that it waited for
	waited INTEGER NOT NULL,        -- ns, beyond the call's unblocked duration
	avoidable INTEGER NOT NULL,     -- ns of waited that the thread or the device could have used; 0
	                                -- for an explicit wait without partner
	apart INTEGER NOT NULL DEFAULT 0, -- avoidable if its Async copy is moved out of the legacy default
	                                -- stream; 0: the copy is in another stream
	partner INTEGER REFERENCES call(id), -- the other call, if an Async copy to the host and its wait are
	                                -- in one line of a script; implicit: the copy to the host to be
	                                -- fixed together with it; queue: the wait that represents all
	                                -- until the thread synchronizes the stream
	behind INTEGER REFERENCES call(id) -- kind behind: the other thread's call
);

CREATE TABLE known_wait ( -- derived: an explicit wait for work that its thread had observed complete, or a
	                        -- stream's event wait without effect
	call INTEGER NOT NULL REFERENCES call(id),
	since INTEGER NOT NULL REFERENCES call(id) -- the call that observed it complete; nothing was
	                                -- submitted after it. For an event wait: the work that its stream
	                                -- already came after, or the next wait, which covers the same work
);

CREATE TABLE replay ( -- derived: replay of a process's run, to estimate savings
	process INTEGER PRIMARY KEY REFERENCES process(id),
	measured INTEGER NOT NULL,      -- time from the first driver call to the last end, ns
	replayed INTEGER,               -- the same in the unchanged replay; NULL: not replayed
	refusal TEXT,                   -- why savings are not estimated, NULL: estimated
	saving INTEGER,                 -- of all shown findings together, ns; an upper bound if
	                                -- saving_low is NULL; less than their sum if savings overlap;
	                                -- NULL: none
	saving_low INTEGER,
	saving_high INTEGER,
	share REAL,                     -- as in finding
	turn_saving INTEGER,
	ceiling INTEGER,                -- the most that a turn of the loop saves without waits that
	                                -- the source can do without, ns; NULL: there is no loop
	ceiling_blocked INTEGER,        -- how long the loop's thread is still blocked per turn then
	ceiling_unread INTEGER,         -- the same if the host never waits for a result, either
	ceiling_unread_blocked INTEGER
);

CREATE TABLE finding ( -- derived: findings, a row per process and rule, the most costly first
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process(id),
	rule TEXT NOT NULL,
	confidence TEXT NOT NULL,       -- certain, likely or possible
	severity TEXT NOT NULL,         -- high, medium or low
	shown INTEGER NOT NULL,         -- 1: at the default level
	reads INTEGER NOT NULL,         -- 1: it saves time only if values are not read where they are
	                                -- now: at most of medium severity, accepted by check
	count INTEGER NOT NULL,         -- instances
	waited INTEGER NOT NULL,        -- time for which the host was blocked, all instances, ns
	delayed INTEGER NOT NULL,       -- time by which device work started later, all instances, ns
	saving INTEGER NOT NULL,        -- time of the run saved if all its places are changed, ns; an
	                                -- upper bound if saving_low is NULL
	saving_low INTEGER,             -- if operations that then run concurrently slow each other down
	saving_high INTEGER,            -- if they do not
	share REAL NOT NULL,            -- saving as a part of the duration of the run or loop
	turn_saving INTEGER,            -- saving per iteration of the loop, ns; NULL: share is of the run
	site INTEGER REFERENCES site(id),       -- of the first place, like the following columns
	other_site INTEGER REFERENCES site(id),
	call INTEGER REFERENCES call(id),
	other_call INTEGER REFERENCES call(id),
	message TEXT NOT NULL,          -- the first line, without the rule's name
	fingerprint TEXT NOT NULL
);

CREATE TABLE finding_place ( -- derived: places of a finding, a row per pair of lines, the most
	                        -- costly first
	id INTEGER PRIMARY KEY,
	finding INTEGER NOT NULL REFERENCES finding(id),
	shown INTEGER NOT NULL,         -- 1: with its finding; 0: costs little compared to the first line
	count INTEGER NOT NULL,         -- this and the next two: as in finding
	waited INTEGER NOT NULL,
	delayed INTEGER NOT NULL,
	saving INTEGER,                 -- time of the run saved if only the line "at" is changed, ns;
	                                -- NULL: not replayed
	share REAL NOT NULL,            -- the finding's share, divided in proportion to waited and delayed
	site INTEGER REFERENCES site(id),       -- "at", of the worst instance
	other_site INTEGER REFERENCES site(id), -- "for", of the worst instance
	call INTEGER REFERENCES call(id),       -- the worst instance
	other_call INTEGER REFERENCES call(id),
	confidence TEXT NOT NULL,       -- of the most certain instance
	kind TEXT,                      -- for a missing fence: raw, war or waw; else NULL
	why TEXT,                       -- as in hazard.why
	message TEXT NOT NULL,
	fix TEXT,                       -- the fence to add, if it can be written with the program's own
	                                -- calls; else NULL
	hazard INTEGER REFERENCES hazard(id), -- for a missing fence: the worst instance
	fingerprint TEXT NOT NULL       -- rule, functions and ordinals of both sites, kernel names
);

CREATE TABLE finding_also ( -- derived: further places to change for the saving of a finding, or
	                        -- other callers of its place
	finding INTEGER NOT NULL REFERENCES finding(id),
	site INTEGER NOT NULL REFERENCES site(id),
	call INTEGER NOT NULL REFERENCES call(id), -- the first one there
	PRIMARY KEY (finding, site)
) WITHOUT ROWID;

CREATE TABLE finding_race ( -- derived: a race that remains once a finding's calls no longer wait
	finding INTEGER NOT NULL REFERENCES finding(id),
	hazard INTEGER NOT NULL REFERENCES hazard(id), -- a row of rule accidental-order
	message TEXT NOT NULL,          -- the two operations, and the fence to add
	PRIMARY KEY (finding, hazard)
) WITHOUT ROWID;
