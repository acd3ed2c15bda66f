/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page, and the timeline's items in typed arrays.  Items are numbered: calls first,
 * then operations, then named ranges, each by lane and time (html_timeline.h).
 */

/* Categories of items, as enum html_category; of lanes in columns a place for each of CLASSES. */
const KERNEL = 0, COPY = 1, MEMSET = 2, GRAPH = 3, SUBMIT = 4, WAIT = 5, CALL = 6, RANGE = 7;
const CATEGORY_NAMES = ["kernel", "copy", "memset", "graph", "call that submits",
	"call that may wait", "other call", "named range"];
const CLASSES = 4;       /* places of a lane's columns: of a stream kernel, copy, memset, graph; */
const HELD = 3;          /* of a thread submit, wait, other and held by the device */
const FAN = 4;           /* items of a block, blocks of a larger block */

/* Invisible characters, and those that change the direction of text, as trace/print.c shows them. */
const HIDDEN = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f" +
	"\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]", "g");
const TAB = /\t/g;

function shown(text) {
	return text.replace(TAB, "    ").replace(HIDDEN, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

function readJson(id) {
	const text = document.getElementById(id).textContent;
	return JSON.parse(text, (key, value) => typeof value === "string" ? shown(value) : value);
}

function bytesOf(base64) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(base64);
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return bytes;
}

async function inflate(bytes) {
	const { readable, writable } = new DecompressionStream("deflate-raw");
	const writer = writable.getWriter(), chunks = [];
	const written = writer.write(bytes).then(() => writer.close());
	let count = 0;
	for (const reader = readable.getReader(); ;) {
		const { done, value } = await reader.read();
		if (done)
			break;
		chunks.push(value);
		count += value.length;
	}
	await written;
	const whole = new Uint8Array(count);
	count = 0;
	for (const chunk of chunks) {
		whole.set(chunk, count);
		count += chunk.length;
	}
	return whole;
}

/* Zigzag varints (html_pack.h), a column at a time. */
class Numbers {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.one = new Float64Array(1);
		this.room = new Float64Array(4096);
	}

	next() {
		this.read(this.one, 0, 1);
		return this.one[0];
	}

	/* Into an array of any type: a loop that knows one type is several times as fast. */
	read(into, from, to) {
		const { room } = this;
		for (let at = from; at < to; at += room.length) {
			const count = Math.min(room.length, to - at);
			this.unpack(room, count);
			into.set(count < room.length ? room.subarray(0, count) : room, at);
		}
	}

	/* Most have one byte or two; of more than 28 bits there is no way by shifts. */
	unpack(into, count) {
		const bytes = this.bytes;
		let at = this.at;
		for (let i = 0; i < count; i++) {
			let byte = bytes[at++];
			if (byte < 128) {
				into[i] = byte >>> 1 ^ -(byte & 1);
				continue;
			}
			let bits = byte & 127, shift = 7;
			do {
				byte = bytes[at++];
				bits |= (byte & 127) << shift;
				shift += 7;
			} while (byte > 127 && shift < 28);
			if (byte < 128) {
				into[i] = bits >>> 1 ^ -(bits & 1);
				continue;
			}
			let scale = 268435456;
			do {
				byte = bytes[at++];
				bits += (byte & 127) * scale;
				scale *= 128;
			} while (byte > 127);
			into[i] = bits % 2 ? -(bits + 1) / 2 : bits / 2;
		}
		this.at = at;
	}
}

/* The items of a lane, and blocks of FAN of them, of FAN of those and so on: for what is narrower
 * than a pixel the largest block that is as well stands. */
class Lane {
	constructor(about, first, items) {
		Object.assign(this, about);
		this.first = first;
		this.end = first + about.count;
		this.items = items;
		this.levels = [];
	}

	/* The place in columns of an item. */
	classOf(item) {
		const category = this.items.category[item];
		return this.stream ? category : this.ranges ? 0 : category - SUBMIT;
	}

	addBlocks() {
		let below = this.levelOfItems();
		this.levels.push(below);
		while (below.count > FAN) {
			below = this.blocksOf(below);
			this.levels.push(below);
		}
	}

	/* The smallest blocks are made of items. */
	levelOfItems() {
		const { start, stop, amount } = this.items, first = this.first;
		const level = new Level(Math.ceil(this.count / FAN));
		for (let block = 0, item = first; block < level.count; block++) {
			const until = Math.min(item + FAN, this.end);
			level.start[block] = start[item];
			let stopped = 0;
			for (; item < until; item++) {
				const whole = stop[item] - start[item];
				const at = block * CLASSES;
				if (stop[item] > stopped)
					stopped = stop[item];
				const held = this.stream ? 0 : Math.min(amount[item], whole);
				level.busy[at + HELD] += held;
				level.busy[at + this.classOf(item)] += whole - held;
			}
			level.stop[block] = stopped;
		}
		return level;
	}

	blocksOf(below) {
		const level = new Level(Math.ceil(below.count / FAN));
		for (let i = 0; i < below.count; i++) {
			const block = i / FAN | 0;
			if (i % FAN === 0)
				level.start[block] = below.start[i];
			if (below.stop[i] > level.stop[block])
				level.stop[block] = below.stop[i];
			for (let c = 0; c < CLASSES; c++)
				level.busy[block * CLASSES + c] += below.busy[i * CLASSES + c];
		}
		return level;
	}

	/* The first item that ends after a time: blocks that end before it are passed over. */
	firstAfter(time) {
		let block = 0;
		const top = this.levels.length - 1;
		if (top < 0)
			return this.end;
		for (let l = top; l >= 0; l--) {
			const level = this.levels[l];
			while (block < level.count && level.stop[block] <= time)
				block++;
			if (block === level.count)
				return this.end;
			block *= FAN;
		}
		let item = this.first + block;
		while (item < this.end && this.items.stop[item] <= time)
			item++;
		return item;
	}
}

class Level {
	constructor(count) {
		this.count = count;
		this.start = new Float64Array(count);
		this.stop = new Float64Array(count);
		this.busy = new Float32Array(count * CLASSES);
	}
}

/* Pairs of items, to be found by the time of either end. */
class Arrows {
	constructor(numbers, items) {
		const count = numbers.next();
		this.count = count;
		this.to = new Int32Array(count);
		this.from = new Int32Array(count);
		numbers.read(this.to, 0, count);
		numbers.read(this.from, 0, count);
		for (let i = 0, item = 0; i < count; i++) {
			this.to[i] = item += this.to[i];
			this.from[i] += item;
		}
		this.items = items;
	}
	/* Both ends by time, when they are first asked for. */
	get ends() {
		const { start, stop } = this.items;
		if (!this.known)
			this.known = [this.byTime(i => start[this.to[i]]),
				this.byTime(i => stop[this.from[i]])];
		return this.known;
	}
	byTime(timeOf) {
		const time = new Float64Array(this.count), order = new Uint32Array(this.count);
		for (let i = 0; i < this.count; i++) {
			time[i] = timeOf(i);
			order[i] = i;
		}
		order.sort((a, b) => time[a] - time[b]);
		return { order, time: Float64Array.from(order, i => time[i]) };
	}
	/* Returns those with one end between two times, at most so many, and the number of all. */
	between(from, to, most) {
		const found = new Set();
		let count = 0;
		for (const { order, time } of this.ends) {
			const first = lowerBound(time, from), last = lowerBound(time, to);
			count = Math.max(count, last - first);
			for (let i = first; i < last && found.size < most; i++)
				found.add(order[i]);
		}
		return { list: found, count };
	}
	/* Returns all that touch an item. */
	of(item) {
		const list = [];
		for (let i = 0; i < this.count; i++)
			if (this.from[i] === item || this.to[i] === item)
				list.push(i);
		return list;
	}
}

function lowerBound(array, value) {
	let low = 0, high = array.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (array[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whole names of kernels, by the short names that texts have. */
class WholeNames {
	constructor(kernels) {
		this.known = new Map(kernels.map(({ name, whole }) => [name, whole]));
	}

	of(name) {
		return this.known.get(name) || "";
	}

	/* Those of the kernels in a sentence, a line each. */
	within(text) {
		return [...text.matchAll(/kernel '([^']*)'/g)].map(([, name]) => this.of(name))
			.filter(whole => whole).join("\n");
	}
}

class Run {
	constructor(texts, report, bytes) {
		const numbers = new Numbers(bytes);
		let count = 0;
		for (const lane of texts.lanes)
			count += lane.count;
		this.names = texts.names;
		this.sites = texts.sites;
		this.until = texts.until;
		this.wholeNames = new WholeNames(report.kernels);
		const countOf = is => texts.lanes.reduce((sum, lane) => sum + (is(lane) ? lane.count : 0), 0);
		this.calls = countOf(lane => !lane.stream && !lane.ranges);
		this.operations = countOf(lane => lane.stream);
		this.ranges = count - this.calls - this.operations;
		this.items = { start: new Float64Array(count), stop: new Float64Array(count),
			name: new Uint32Array(count), category: new Uint8Array(count),
			amount: new Float64Array(count), link: new Int32Array(count) };
		this.readLanes(texts.lanes, numbers);
		this.fences = new Arrows(numbers, this.items);
		this.waits = new Arrows(numbers, this.items);
		this.holds = new Arrows(numbers, this.items);
		this.loops = report.summary.loops.map(loop => ({ loop, turns: this.readTurns(numbers) }));
	}

	/* Calls come first in the numbers of items, streams stand below the threads of their process. */
	readLanes(lanes, numbers) {
		const base = numbers.next(), items = this.items;
		let call = 0, operation = this.calls, range = this.calls + this.operations;
		this.start = Infinity;
		this.stop = 0;
		this.lanes = lanes.map(about => {
			const first = about.stream ? operation : about.ranges ? range : call;
			const lane = new Lane(about, first, items);
			if (about.stream)
				operation = lane.end;
			else if (about.ranges)
				range = lane.end;
			else
				call = lane.end;
			this.readLane(lane, base, numbers);
			return lane;
		});
		this.laneEnds = this.lanes.map((lane, i) => i).sort((a, b) =>
			this.lanes[a].first - this.lanes[b].first);
		if (!lanes.length)
			this.start = 0;
		this.stop = Math.max(this.stop, this.start + 1);
	}

	readLane(lane, base, numbers) {
		const { start, stop, name, category, amount, link } = this.items;
		const { first, end } = lane;
		numbers.read(start, first, end);
		numbers.read(stop, first, end);
		let last = this.stop;
		for (let i = first, time = base; i < end; i++) {
			start[i] += time;
			time = stop[i] += start[i];
			if (time > last)
				last = time;
		}
		this.stop = last;
		for (const column of lane.ranges ? [name, category, amount] : [name, category, amount, link])
			numbers.read(column, first, end);
		for (let i = first, before = -1; lane.stream && i < end; i++)
			before = link[i] += before;
		this.start = Math.min(this.start, start[first]);
		lane.addBlocks();
	}

	readTurns(numbers) {
		const turns = new Float64Array(numbers.next());
		numbers.read(turns, 0, turns.length);
		for (let i = 1; i < turns.length; i++)
			turns[i] += turns[i - 1];
		return turns;
	}

	laneOf(item) {
		const ends = this.laneEnds;
		let low = 0, high = ends.length - 1;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.lanes[ends[middle]].end <= item)
				low = middle + 1;
			else
				high = middle;
		}
		return ends[low];
	}

	isCall(item) {
		return item < this.calls;
	}

	isWork(item) {
		return item >= this.calls && item < this.calls + this.operations;
	}

	/* Returns the operations that a call submitted: at most so many. */
	submittedBy(call, most) {
		const link = this.items.link, found = [];
		for (let i = this.calls; this.isWork(i) && found.length < most; i++)
			if (link[i] === call)
				found.push(i);
		return found;
	}
}

/* --- numbers as people read them, as analyzer/terminal/format.c writes them --- */

function duration(ns) {
	for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
		const value = ns / size;
		if (Math.abs(value) >= 0.9995)
			return (value < 9.95 ? value.toFixed(1) : value.toFixed(0)) + " " + unit;
	}
	return Math.round(ns) + " ns";
}

function share(part) {
	const percent = 100 * part;
	return percent > 0 && percent < 0.05 ? "<0.1 %"
		: (percent < 0.95 ? percent.toFixed(1) : percent.toFixed(0)) + " %";
}

function byteCount(bytes) {
	const units = ["B", "KiB", "MiB", "GiB"];
	let unit = 0;
	for (; bytes >= 1024 && unit < 3; unit++)
		bytes /= 1024;
	return Number(bytes.toPrecision(3)) + " " + units[unit];
}

/* 1234567 as 1 234 567, with thin spaces. */
function grouped(count) {
	return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function plural(count, one, many) {
	return grouped(count) + " " + (count === 1 ? one : many ?? one + "s");
}
