/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline's controls: the view by mouse and keys, search, and details of an item. */

const HEIGHT_MOST = 560, HEIGHT_LEAST = 130, MAP = 44;
const KEYS = [["\u2190 \u2192  or  A D", "move"], ["+ \u2212  or  W S", "zoom"], ["0", "show all"],
	["\u2191 \u2193", "choose a lane"], [", .", "previous and next item of the lane"],
	["F", "zoom to what is selected"], ["L", "follow: from a call to its work, and back"],
	["1 to 9", "worst instance of that finding"], ["/", "search"],
	["N P", "next and previous match"], ["Esc", "select nothing"],
	["Ctrl + wheel", "zoom; the wheel alone once the timeline has the focus"],
	["drag", "move; with Shift: zoom to what is marked"]];

function element(name, properties, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(properties || {}))
		if (key in made && key !== "list")
			made[key] = value;
		else
			made.setAttribute(key, value);
	made.append(...children.filter(child => child !== null && child !== undefined));
	return made;
}

class Timeline {
	constructor(place, run, findings, pids, command) {
		this.run = run;
		this.findings = findings;
		this.frames = [];
		this.view = { start: run.start, perPixel: 1, scroll: 0, lane: -1, item: -1, finding: 0,
			worst: null, links: [], found: null, findings, pids,
			show: { fences: true, waits: true, holds: true } };
		this.build(place, command);
		this.painter = new Painter(this.canvas, run);
		this.resize();
		this.fit();
		this.listen();
	}

	/* --- the page's elements --- */

	build(place, command) {
		const button = (text, title, act) =>
			element("button", { type: "button", title, onclick: act }, text);
		this.search = element("input", { type: "search", placeholder: "Search names",
			"aria-label": "Search kernels, copies and calls by name" });
		this.matches = element("span", { className: "matches", "aria-live": "polite" });
		this.canvas = element("canvas", { tabIndex: 0, role: "application", "aria-label":
			"Timeline of host threads and streams. Press question mark for its keys.",
			"aria-describedby": "timeline-said" });
		this.map = element("canvas", { className: "map", "aria-hidden": "true" });
		this.status = element("div", { className: "status" });
		this.details = element("div", { className: "details" });
		this.said = element("div", { className: "unseen", id: "timeline-said", role: "status" });
		this.tip = element("div", { className: "tip", hidden: true });
		this.help = element("dl", { className: "keys", hidden: true },
			...KEYS.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)]));
		this.chart = element("div", { className: "plot" }, this.canvas, this.tip);
		place.replaceChildren(element("div", { className: "tools" },
			element("div", { className: "search" }, this.search,
				button("\u2039", "Previous match (P)", () => this.goToMatch(-1)),
				button("\u203a", "Next match (N)", () => this.goToMatch(1)), this.matches),
			element("div", { className: "zoom" },
				button("\u2212", "Zoom out (\u2212)", () => this.zoom(2)),
				button("+", "Zoom in (+)", () => this.zoom(0.5)),
				button("All", "Show all (0)", () => this.fit()),
				button("Keys", "Keys (?)", () => this.toggleHelp()))),
			this.legend(), this.help, element("div", { className: "frame" }, this.chart, this.map),
			this.status, this.details, this.said);
		if (run_is_part(this.run))
			place.prepend(element("p", { className: "note" }, "The run is too long for a page: " +
				"the timeline shows it up to " + duration(this.run.until) + ". " +
				"To see another part, record that: ", element("code", {}, command)));
	}

	legend() {
		const arrow = (name, className, label) => {
			const count = this.run[name].count;
			const box = element("input", { type: "checkbox", checked: true, onchange: () => {
				this.view.show[name] = box.checked;
				this.change();
			} });
			return count ? element("label", { className: "key" }, box,
				element("i", { className: "arrow " + className }), label + " " + grouped(count))
				: null;
		};
		const key = (name, label) => element("span", { className: "key" },
			element("i", { className: "box " + name }), label);
		const used = new Set();
		for (const category of this.run.items.category)
			used.add(category);
		const all = [[KERNEL, "kernel", "kernel"], [COPY, "copy", "copy"],
			[MEMSET, "memset", "memset"], [GRAPH, "graph", "graph"],
			[SUBMIT, "submit", "call that submits"], [WAIT, "wait", "call that may wait"],
			[CALL, "call", "other call"], [RANGE, "range", "named range"]];
		return element("div", { className: "legend" }, ...all.filter(([category]) => used.has(category)).map(([, name, label]) => key(name, label)),
			this.run.items.amount.subarray(0, this.run.calls).some(held => held > 0)
				? key("held", "blocked by the device") : null, arrow("fences", "fence", "fences"),
			arrow("waits", "waiting", "waits"), arrow("holds", "holding", "held behind"));
	}

	toggleHelp() {
		this.help.hidden = !this.help.hidden;
	}

	resize() {
		const lanes = this.painter.height + this.painter.laneTop + 6;
		const height = Math.max(HEIGHT_LEAST, Math.min(HEIGHT_MOST, lanes));
		const width = Math.max(320, this.chart.clientWidth);
		const before = this.painter.plot;
		this.painter.resize(width, height);
		if (before && before !== this.painter.plot)
			this.view.perPixel *= before / this.painter.plot;
		this.mapImage = this.matchMap = null;
		this.change();
	}

	/* --- what is in view --- */

	get span() {
		return this.view.perPixel * this.painter.plot;
	}

	change() {
		if (this.waiting)
			return;
		this.waiting = true;
		requestAnimationFrame(() => {
			this.waiting = false;
			this.draw();
		});
	}

	draw() {
		const began = performance.now();
		this.painter.draw(this.view);
		this.drawMap();
		this.frames.push(performance.now() - began);
		if (this.frames.length > 1000)
			this.frames.shift();
		this.sayStatus();
	}

	/* Half a view beyond either end; from a nanosecond a pixel to four times the run. */
	limit() {
		const { view, run } = this, whole = run.stop - run.start;
		const most = whole * 1.5 / this.painter.plot, least = 0.02;
		view.perPixel = Math.max(least, Math.min(most, view.perPixel));
		view.start = Math.max(run.start - this.span / 2,
			Math.min(run.stop - this.span / 2, view.start));
		const room = this.painter.viewHeight - this.painter.laneTop;
		view.scroll = Math.max(0, Math.min(this.painter.height + 6 - room, view.scroll));
		this.change();
	}

	show(start, end) {
		const margin = (end - start) * 0.06;
		this.view.perPixel = (end - start + 2 * margin) / this.painter.plot;
		this.view.start = start - margin;
		this.limit();
	}

	fit() {
		this.show(this.run.start, this.run.stop);
	}

	/* Around a place of the plot, by default its middle. */
	zoom(factor, at = this.painter.plot / 2) {
		const { view } = this, time = view.start + at * view.perPixel;
		view.perPixel *= factor;
		this.limit();
		view.start = time - at * view.perPixel;
		this.limit();
	}

	move(pixels) {
		this.view.start += pixels * this.view.perPixel;
		this.limit();
	}

	scrollTo(lane) {
		const { top } = this.run.lanes[lane], { view, painter } = this;
		const room = painter.viewHeight - painter.laneTop;
		if (top < view.scroll)
			view.scroll = top - TITLE;
		else if (top + LANE > view.scroll + room)
			view.scroll = top + LANE - room;
		this.limit();
	}

	sayStatus() {
		const { view, painter } = this;
		const more = Object.entries(painter.hidden).filter(([, count]) => count)
			.map(([name, count]) => grouped(count) + " " + { fences: "fences", waits: "waits",
				holds: "operations held behind others" }[name]);
		this.status.textContent = duration(this.span) + " from " +
			(view.start < 0 ? "0 ns" : duration(view.start)) + " on" +
			(more.length ? "; zoom in for the arrows of " + more.join(", ") : "");
	}

	/* The whole run, small, with what is in view. */
	drawMap() {
		const { map, painter, run, view } = this, { width, ratio, labels } = painter;
		const context = map.getContext("2d");
		if (!this.mapImage) {
			map.width = Math.round(width * ratio);
			map.height = Math.round(MAP * ratio);
			map.style.width = width + "px";
			map.style.height = MAP + "px";
			this.mapImage = this.makeMap(Math.floor(width - labels));
		}
		const whole = run.stop - run.start, wide = width - labels;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = painter.color.page;
		context.fillRect(0, 0, width, MAP);
		context.fillStyle = painter.color.muted;
		context.font = FONT;
		context.textBaseline = "middle";
		context.fillText(labels < LABELS ? "whole run" : "whole run, how busy", 12, MAP / 2);
		context.drawImage(this.mapImage, labels, 0, wide, MAP);
		const from = labels + (view.start - run.start) / whole * wide;
		const size = Math.max(3, this.span / whole * wide);
		if (view.found)
			this.drawMatches(context, wide, whole);
		context.strokeStyle = painter.color.select;
		context.lineWidth = 2;
		context.strokeRect(Math.max(labels + 1, from), 1,
			Math.min(size, width - 2 - Math.max(labels, from)), MAP - 2);
	}

	/* Draws the places that a search found, along the upper edge. */
	drawMatches(context, wide, whole) {
		const { run } = this, { start, name } = run.items;
		if (!this.matchMap) {
			this.matchMap = new Uint8Array(Math.ceil(wide) + 1);
			for (let item = 0; item < name.length; item++)
				if (this.has[name[item]])
					this.matchMap[(start[item] - run.start) / whole * wide | 0] = 1;
		}
		context.fillStyle = this.painter.color.accent;
		this.matchMap.forEach((is, x) => is && context.fillRect(this.painter.labels + x, 2, 1, 6));
	}

	makeMap(wide) {
		const { run, painter } = this, image = document.createElement("canvas");
		const whole = (run.stop - run.start) / Math.max(1, wide), sums = new Float64Array(wide);
		const streams = run.lanes.filter(lane => lane.stream);
		const shown = streams.length ? streams : run.lanes, lanes = shown.length;
		for (const lane of shown)
			this.addToMap(lane, lane.levels.length - 1, 0, Infinity, whole, sums);
		image.width = Math.max(1, wide);
		image.height = MAP;
		const context = image.getContext("2d");
		const most = Math.max(1, Math.min(lanes, Math.max(...sums) / whole));
		context.fillStyle = painter.color.kernel;
		sums.forEach((sum, x) => {
			const high = Math.min(1, sum / whole / most) * (MAP - 8);
			if (sum > 0)
				context.fillRect(x, MAP - 2 - Math.max(2, high), 1, Math.max(2, high));
		});
		return image;
	}

	addToMap(lane, l, from, to, perPixel, sums) {
		const level = lane.levels[l], start = this.run.start;
		if (!level)
			return;
		for (let block = from; block < Math.min(to, level.count); block++) {
			const left = (level.start[block] - start) / perPixel | 0;
			const right = (level.stop[block] - start) / perPixel | 0;
			if (right > left && l) {
				this.addToMap(lane, l - 1, block * FAN, block * FAN + FAN, perPixel, sums);
				continue;
			}
			const first = lane.first + block * FAN;
			for (let item = first; right > left && item < Math.min(first + FAN, lane.end); item++)
				this.addItemToMap(item, perPixel, sums);
			for (let c = 0; right === left && c < CLASSES; c++)
				sums[Math.min(left, sums.length - 1)] += level.busy[block * CLASSES + c];
		}
	}

	addItemToMap(item, perPixel, sums) {
		const { start, stop } = this.run.items;
		const left = (start[item] - this.run.start) / perPixel;
		const right = (stop[item] - this.run.start) / perPixel;
		for (let x = left | 0; x < right && x < sums.length; x++)
			sums[x] += (Math.min(right, x + 1) - Math.max(left, x)) * perPixel;
	}

	/* --- mouse --- */

	listen() {
		const { canvas, map } = this;
		new ResizeObserver(() => this.resize()).observe(this.chart);
		canvas.addEventListener("wheel", event => this.onWheel(event), { passive: false });
		canvas.addEventListener("pointerdown", event => this.onDown(event));
		canvas.addEventListener("pointermove", event => this.onHover(event));
		canvas.addEventListener("pointerleave", () => this.tip.hidden = true);
		canvas.addEventListener("dblclick", event => this.zoom(0.25, event.offsetX - this.painter.labels));
		canvas.addEventListener("keydown", event => this.onKey(event));
		map.addEventListener("pointerdown", event => this.onMap(event));
		this.search.addEventListener("input", () => this.find(this.search.value));
		this.search.addEventListener("keydown", event => {
			if (event.key === "Enter")
				this.goToMatch(event.shiftKey ? -1 : 1);
			else if (event.key === "Escape")
				canvas.focus();
		});
	}

	onWheel(event) {
		const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
		if (!event.ctrlKey && !event.metaKey && !sideways && document.activeElement !== this.canvas)
			return;
		event.preventDefault();
		const unit = event.deltaMode === 1 ? 16 : 1;
		if (sideways)
			this.move((event.deltaX || event.deltaY) * unit);
		else
			this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY * unit)) / 150),
				event.offsetX - this.painter.labels);
	}

	/* A press that does not move selects. */
	onDown(event) {
		if (event.button)
			return;
		const from = { x: event.offsetX, y: event.offsetY }, { view } = this;
		const start = view.start, scroll = view.scroll, marks = event.shiftKey;
		let moved = false;
		const move = now => {
			const dx = now.offsetX - from.x, dy = now.offsetY - from.y;
			moved ||= Math.abs(dx) + Math.abs(dy) > 4;
			if (!moved || marks)
				return;
			view.start = start - dx * view.perPixel;
			view.scroll = scroll - dy;
			this.limit();
		};
		const up = now => {
			this.canvas.removeEventListener("pointermove", move);
			this.canvas.removeEventListener("pointerup", up);
			if (!moved)
				this.onClick(from);
			else if (marks)
				this.show(...[from.x, now.offsetX].map(x => view.start +
					(x - this.painter.labels) * view.perPixel).sort((a, b) => a - b));
		};
		this.canvas.setPointerCapture(event.pointerId);
		this.canvas.addEventListener("pointermove", move);
		this.canvas.addEventListener("pointerup", up);
	}

	onClick({ x, y }) {
		const flag = this.painter.flags.find(flag => Math.hypot(flag.x - x, flag.y - y) < 11);
		if (flag)
			return this.onFinding(flag.id);
		const lane = this.laneAt(y);
		this.view.lane = lane;
		this.select(x >= this.painter.labels && lane >= 0 ? this.itemAt(lane, x) : -1);
	}

	onFinding(id) {
		this.showFinding(id);
	}

	onMap(event) {
		const go = now => {
			const part = (now.offsetX - this.painter.labels) / (this.painter.width - this.painter.labels);
			this.view.start = this.run.start + part * (this.run.stop - this.run.start) - this.span / 2;
			this.limit();
		};
		go(event);
		this.map.setPointerCapture(event.pointerId);
		this.map.onpointermove = go;
		this.map.onpointerup = () => this.map.onpointermove = null;
	}

	onHover(event) {
		const lane = this.laneAt(event.offsetY);
		const item = event.buttons || lane < 0 || event.offsetX < this.painter.labels ? -1
			: this.itemAt(lane, event.offsetX);
		this.tip.hidden = item < 0;
		if (item < 0)
			return;
		this.tip.textContent = this.nameOf(item) + "  " + duration(this.lengthOf(item));
		const left = Math.min(event.offsetX + 14, this.painter.width - this.tip.offsetWidth - 8);
		this.tip.style.left = left + "px";
		this.tip.style.top = event.offsetY + 16 + "px";
	}

	laneAt(y) {
		const at = y - this.painter.laneTop + this.view.scroll;
		if (y < this.painter.laneTop)
			return -1;
		const row = this.painter.rows.find(row => at >= row.top && at < row.top + row.height);
		return row && row.lane ? row.index : -1;
	}

	/* The item at a place, or the nearest within some pixels. */
	itemAt(index, x) {
		const lane = this.run.lanes[index], { view } = this, { start, stop } = this.run.items;
		const time = view.start + (x - this.painter.labels) * view.perPixel, near = 3 * view.perPixel;
		let best = -1, least = near;
		for (let item = lane.firstAfter(time - near); item < lane.end; item++) {
			if (start[item] > time + near)
				break;
			const away = Math.max(start[item] - time, time - stop[item], 0);
			if (away < least || best < 0 && away <= near) {
				best = item;
				least = away;
			}
			if (!away)
				break;
		}
		return best;
	}

	/* --- keys --- */

	onKey(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const step = this.painter.plot / 8;
		const acts = { ArrowLeft: () => this.move(-step), a: () => this.move(-step),
			ArrowRight: () => this.move(step), d: () => this.move(step),
			"+": () => this.zoom(0.6), "=": () => this.zoom(0.6), w: () => this.zoom(0.6),
			"-": () => this.zoom(1 / 0.6), s: () => this.zoom(1 / 0.6),
			"0": () => this.fit(), Home: () => this.fit(),
			ArrowUp: () => this.chooseLane(-1), ArrowDown: () => this.chooseLane(1),
			",": () => this.nextItem(-1), ".": () => this.nextItem(1),
			f: () => this.showItem(), l: () => this.follow(), "/": () => this.search.focus(),
			n: () => this.goToMatch(1), p: () => this.goToMatch(-1), "?": () => this.toggleHelp(),
			Escape: () => this.clear() };
		const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const finding = /^[1-9]$/.test(key) && this.findings.find(({ id }) => id === Number(key));
		if (finding)
			this.onFinding(finding.id);
		else if (acts[key])
			acts[key]();
		else
			return;
		event.preventDefault();
	}

	chooseLane(by) {
		const { view, run } = this;
		if (!run.lanes.length)
			return;
		view.lane = Math.max(0, Math.min(run.lanes.length - 1, view.lane + by));
		this.scrollTo(view.lane);
		const lane = run.lanes[view.lane];
		this.said.textContent = lane.label + ", " + plural(lane.count, "item");
		this.change();
	}

	nextItem(by) {
		const { view, run } = this;
		if (view.lane < 0)
			this.chooseLane(1);
		const lane = run.lanes[view.lane];
		if (!lane)
			return;
		const inLane = view.item >= lane.first && view.item < lane.end;
		const next = inLane ? view.item + by : lane.firstAfter(view.start + this.span / 2);
		this.goTo(Math.max(lane.first, Math.min(lane.end - 1, next)));
	}

	/* An item is brought into view as it is zoomed, or larger where it would not be seen. */
	goTo(item) {
		const { view, run, painter } = this, { start, stop } = run.items;
		const length = stop[item] - start[item];
		if (length < 2 * view.perPixel)
			view.perPixel = Math.max(1, length) / 40;
		if (start[item] < view.start || stop[item] > view.start + this.span)
			view.start = (start[item] + Math.min(stop[item], start[item] + this.span)) / 2 -
				view.perPixel * painter.plot / 2;
		this.scrollTo(run.laneOf(item));
		this.select(item);
	}

	showItem() {
		const { view, run } = this;
		if (view.item < 0)
			return;
		this.show(run.items.start[view.item], Math.max(run.items.stop[view.item],
			run.items.start[view.item] + 10));
	}

	/* From an operation to the call that submitted it, from a call to what it submitted. */
	follow() {
		const { view, run } = this;
		if (view.item < 0)
			return;
		const next = run.isCall(view.item) ? run.submittedBy(view.item, 1)[0]
			: run.isWork(view.item) ? run.items.link[view.item] : -1;
		if (next >= 0)
			this.goTo(next);
	}

	clear() {
		Object.assign(this.view, { finding: 0, worst: null, found: null });
		this.search.value = "";
		this.matches.textContent = "";
		this.select(-1);
	}

	/* --- search --- */

	find(text) {
		const { view, run } = this, wanted = text.trim().toLowerCase();
		view.found = null;
		this.matches.textContent = "";
		this.change();
		if (!wanted)
			return;
		view.found = new Set();
		run.names.forEach((name, i) => {
			if (name.toLowerCase().includes(wanted))
				view.found.add(i);
		});
		this.matchMap = null;
		const has = new Uint8Array(run.names.length);
		for (const i of view.found)
			has[i] = 1;
		let count = 0;
		for (const name of run.items.name)
			count += has[name];
		this.matches.textContent = count ? plural(count, "match", "matches") : "no match";
		this.has = has;
	}

	/* The next in time, whatever its lane; after the last the first. */
	goToMatch(by) {
		const { view, run } = this, { start, name } = run.items;
		if (!view.found || !view.found.size)
			return;
		const now = view.item >= 0 ? start[view.item] : by > 0 ? -1 : Infinity;
		const after = (item, other) => start[item] - other[0] || item - other[1];
		const from = [now, view.item];
		let best = -1, first = -1;
		for (let item = 0; item < start.length; item++) {
			if (!this.has[name[item]])
				continue;
			const is = other => other < 0 || by * after(item, [start[other], other]) < 0;
			if (is(first))
				first = item;
			if (by * after(item, from) > 0 && is(best))
				best = item;
		}
		if (best < 0)
			best = first;
		if (best >= 0)
			this.goTo(best);
	}

	/* --- what is selected --- */

	nameOf(item) {
		return this.run.names[this.run.items.name[item]];
	}

	lengthOf(item) {
		return this.run.items.stop[item] - this.run.items.start[item];
	}

	select(item) {
		const { view, run } = this;
		view.item = item;
		view.links = [];
		if (item >= 0) {
			view.lane = run.laneOf(item);
			for (const work of run.isCall(item) ? run.submittedBy(item, 20) : [])
				view.links.push([item, work]);
			if (run.isWork(item) && run.items.link[item] >= 0)
				view.links.push([run.items.link[item], item]);
		}
		this.describe(item);
		this.change();
	}

	/* A button that goes to an item. */
	link(item) {
		const { run } = this, lane = run.lanes[run.laneOf(item)];
		return element("button", { type: "button", className: "link", onclick: () => {
			this.goTo(item);
			this.canvas.focus({ preventScroll: true });
		} }, this.nameOf(item) + " on " + lane.label);
	}

	links(title, items) {
		if (!items.length)
			return [];
		const shown = items.slice(0, 8).map(item => element("div", {}, this.link(item)));
		if (items.length > 8)
			shown.push(element("div", {}, "and " + plural(items.length - 8, "more", "more")));
		return [element("dt", {}, title), element("dd", {}, ...shown)];
	}

	describe(item) {
		this.details.replaceChildren();
		if (item < 0)
			return;
		const { run } = this, { items } = run, call = run.isCall(item), work = run.isWork(item);
		const lane = run.lanes[run.laneOf(item)], amount = items.amount[item];
		const row = (title, text) => text ? [element("dt", {}, title), element("dd", {}, text)] : [];
		const arrows = (list, end, other) => list.of(item).filter(i => list[end][i] === item)
			.map(i => list[other][i]);
		this.details.append(element("h3", { title: run.wholeNames.of(this.nameOf(item)) }, this.nameOf(item)),
			element("p", { className: "kind" }, CATEGORY_NAMES[items.category[item]] + " on " +
				lane.label + ", " + duration(this.lengthOf(item)) + " from " +
				duration(items.start[item]) + " on"),
			element("dl", {}, ...row("at", call ? run.sites[items.link[item]] : ""),
				...row("blocked by the device", call && amount ? duration(amount) : ""),
				...row("size", work && amount ? byteCount(amount) : ""),
				...this.links("submitted by", work && items.link[item] >= 0 ? [items.link[item]] : []),
				...this.links("submitted", call ? run.submittedBy(item, 50) : []),
				...this.links("waited for", arrows(run.waits, "to", "from")),
				...this.links("held the host in", arrows(run.waits, "from", "to")),
				...this.links("after a fence for", arrows(run.fences, "to", "from")),
				...this.links("a fence lets wait", arrows(run.fences, "from", "to")),
				...this.links("held behind", arrows(run.holds, "to", "from")),
				...this.links("held", arrows(run.holds, "from", "to"))));
		this.said.textContent = this.nameOf(item) + ", " + lane.label + ", " +
			duration(this.lengthOf(item));
	}

	/* The worst instance of a finding fills the view. */
	showFinding(id) {
		const found = this.findings.find(finding => finding.id === id), { view } = this;
		if (!found || !found.worst || found.worst.end <= found.worst.start)
			return false;
		view.finding = id;
		view.worst = found.worst;
		this.show(found.worst.start, found.worst.end);
		if (found.worst.items.length) {
			this.scrollTo(Math.max(...found.worst.items.map(item => this.run.laneOf(item))));
			this.scrollTo(this.run.laneOf(found.worst.items[0]));
			this.select(found.worst.items[0]);
		}
		return true;
	}
}

function run_is_part(run) {
	return run.until !== undefined;
}
