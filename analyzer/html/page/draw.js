/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the timeline.  A wide item is a box with its name.  Narrow items share columns of a pixel,
 * each as high as the lane was busy in it.  Columns are summed from blocks (data.js) and drawn as one
 * image, so that the cost of a frame hardly depends on how many items are in view.
 */

/* CSS pixels at the left for the lanes' names, also where the page is narrower than NARROW. */
const LABELS = 184, LABELS_NARROW = 124, NARROW = 640;
const AXIS = 26;         /* at the top for times */
const RULER = 20;        /* below it for the turns of the loop */
const FLAGS = 20;        /* and for findings */
const LANE = 24, BAR = 18, GAP = 3;
const TITLE = 26;        /* above the lanes of a process */
const BOX = 3;           /* an item as wide as this is a box of its own */
const TEXT_LEAST = 34;   /* and of this has room for a name */
const TEXTS_MOST = 400, ARROWS_MOST = 240;
const CHARACTER = 6.3;   /* of the font of names, on average */

const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/* The part of a bar's height that each category has: it shows copies and memsets without color. */
const HEIGHT = [1, 0.72, 0.45, 1, 1, 1, 0.6, 0.85];

class Painter {
	constructor(canvas, run) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d", { alpha: false });
		this.run = run;
		this.columns = new Float32Array(0);
		this.layer = document.createElement("canvas");
		this.layerContext = this.layer.getContext("2d");
		this.rows = this.layOut();
		this.readColors();
	}

	/* Places the lanes, with a title above those of each process if there are several. */
	layOut() {
		const processes = new Set(this.run.lanes.map(lane => lane.process));
		const rows = [];
		let top = 0, last = null;
		this.run.lanes.forEach((lane, index) => {
			if (processes.size > 1 && lane.process !== last) {
				rows.push({ top, height: TITLE, title: lane.process });
				top += TITLE;
			}
			last = lane.process;
			rows.push({ top, height: LANE, lane, index });
			lane.top = top;
			top += LANE;
		});
		this.height = top;
		return rows;
	}

	readColors() {
		const style = getComputedStyle(document.documentElement);
		const color = name => style.getPropertyValue("--" + name).trim();
		this.color = {};
		for (const name of ["page", "panel", "text", "muted", "line", "faint", "kernel", "copy",
			"memset", "graph", "submit", "wait", "call", "range", "held", "alert", "accent", "select",
			"on-bar", "turn", "fence"])
			this.color[name] = color(name);
		this.fill = ["kernel", "copy", "memset", "graph", "submit", "wait", "call", "range"]
			.map(name => this.color[name]);
		const word = css => {
			const [r, g, b] = css.match(/[0-9a-f]{2}/gi).map(part => parseInt(part, 16));
			return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
		};
		this.words = { stream: ["kernel", "copy", "memset", "graph"].map(name => word(this.color[name])),
			thread: ["submit", "wait", "call", "held"].map(name => word(this.color[name])),
			ranges: Array(CLASSES).fill(word(this.color.range)), panel: word(this.color.panel) };
		this.hatch = this.makeHatch();
	}

	/* Stripes also show that the device holds the host. */
	makeHatch() {
		const tile = document.createElement("canvas");
		tile.width = tile.height = 6;
		const context = tile.getContext("2d");
		context.fillStyle = this.color.held;
		context.fillRect(0, 0, 6, 6);
		context.strokeStyle = this.color.panel;
		context.lineWidth = 1.2;
		context.beginPath();
		for (const at of [-6, 0, 6]) {
			context.moveTo(at, 6);
			context.lineTo(at + 6, 0);
		}
		context.stroke();
		return this.context.createPattern(tile, "repeat");
	}

	resize(width, height) {
		const ratio = Math.min(window.devicePixelRatio || 1, 3);
		this.width = width;
		this.viewHeight = height;
		this.ratio = ratio;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.width = width + "px";
		this.canvas.style.height = height + "px";
		this.labels = width < NARROW ? LABELS_NARROW : LABELS;
		this.plot = Math.max(1, Math.floor(width - this.labels));
	}

	get laneTop() {
		return AXIS + (this.run.loops.length ? RULER : 0) + FLAGS;
	}

	x(time) {
		return this.labels + (time - this.view.start) / this.view.perPixel;
	}

	laneMiddle(lane) {
		return this.laneTop + lane.top - this.view.scroll + GAP + BAR / 2;
	}

	/* view: start (ns), perPixel (ns), scroll (pixels), and what is selected or found */
	draw(view) {
		const context = this.context;
		this.view = view;
		this.texts = 0;
		context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		context.font = FONT;
		context.textBaseline = "middle";
		context.fillStyle = this.color.panel;
		context.fillRect(0, 0, this.width, this.viewHeight);
		this.drawTurns();
		this.drawLanes();
		if (view.worst)
			this.drawSpan(view.worst);
		this.drawArrows();
		this.drawMarks();
		this.drawAxis();
		this.drawFlags();
		this.drawLabels();
	}

	inPlot(draw) {
		const context = this.context;
		context.save();
		context.beginPath();
		context.rect(this.labels, this.laneTop, this.plot, this.viewHeight - this.laneTop);
		context.clip();
		draw(context);
		context.restore();
	}

	/* --- lanes --- */

	visibleRows() {
		const from = this.view.scroll, to = from + this.viewHeight - this.laneTop;
		return this.rows.filter(row => row.top + row.height > from && row.top < to);
	}

	drawLanes() {
		const rows = this.visibleRows().filter(row => row.lane);
		this.inPlot(context => {
			context.strokeStyle = this.color.faint;
			context.lineWidth = 1;
			context.beginPath();
			for (const row of rows) {
				const y = this.laneTop + row.top - this.view.scroll + LANE - 0.5;
				context.moveTo(this.labels, y);
				context.lineTo(this.width, y);
			}
			context.stroke();
			this.beginLayer(rows.length);
			rows.forEach((row, i) => this.drawLane(row.lane, i));
			this.endLayer(rows);
			this.drawBoxes();
		});
	}

	/* All lanes' columns as one image, BAR pixels for each lane. */
	beginLayer(lanes) {
		const { plot } = this;
		if (this.columns.length !== plot * CLASSES)
			this.columns = new Float32Array(plot * CLASSES);
		const height = Math.max(1, lanes * BAR);
		if (this.layer.width !== plot || this.layer.height < height) {
			this.layer.width = plot;
			this.layer.height = height;
			this.image = null;
		}
		if (!this.image || this.image.height !== this.layer.height)
			this.image = this.layerContext.createImageData(plot, this.layer.height);
		this.pixels = new Uint32Array(this.image.data.buffer);
		this.pixels.fill(0);
		this.boxes = [];
		this.dense = [];
	}

	endLayer(rows) {
		const { context, plot } = this;
		if (!this.dense.length)
			return;
		this.layerContext.putImageData(this.image, 0, 0, 0, 0, plot, rows.length * BAR);
		context.imageSmoothingEnabled = false;
		for (const place of this.dense) {
			const y = this.laneTop + rows[place].top - this.view.scroll + GAP;
			context.drawImage(this.layer, 0, place * BAR, plot, BAR, this.labels, y, plot, BAR);
		}
	}

	drawLane(lane, place) {
		this.columns.fill(0);
		this.touched = false;
		if (lane.levels.length)
			this.visit(lane);
		if (this.touched) {
			this.dense.push(place);
			this.paintColumns(lane, place);
		}
	}

	/*
	 * Blocks in the order of time, the largest first: one that is as narrow as a pixel goes into its
	 * column whole, of another one its parts are visited, in the end items.  This is what a frame
	 * consists of: one loop, with all that it uses available.
	 */
	visit(lane) {
		const { columns, plot } = this, { start: from, perPixel } = this.view;
		const { levels } = lane, top = levels.length - 1;
		const to = from + plot * perPixel, scale = 1 / perPixel;
		let l = top, block = 0, { start, stop, busy, count } = levels[l];
		while (block < count && start[block] < to) {
			const begins = start[block], stops = stop[block];
			if (stops > from && stops - begins > perPixel) {
				if (l) {
					({ start, stop, busy, count } = levels[--l]);
					block *= FAN;
					continue;
				}
				const first = lane.first + block * FAN;
				this.visitItems(lane, first, Math.min(first + FAN, lane.end));
			} else if (stops > from) {
				const left = begins > from ? (begins - from) * scale : 0, column = left | 0;
				const right = (stops - from) * scale, next = column + 1, at = column * CLASSES;
				/* It touches two columns at most: each gets its part. */
				const part = right > next && next < plot ? (next - left) / (right - left) : 1;
				for (let c = 0; c < CLASSES; c++) {
					const sum = busy[block * CLASSES + c];
					if (sum > 0) {
						columns[at + c] += sum * part + 1e-3;
						if (part < 1)
							columns[at + CLASSES + c] += sum * (1 - part);
					}
				}
				this.touched = true;
			}
			/* The next one, in the larger block that begins there if there is one. */
			block++;
			while (l < top && block % FAN === 0) {
				({ start, stop, busy, count } = levels[++l]);
				block /= FAN;
			}
		}
	}

	visitItems(lane, from, to) {
		const { start, perPixel } = this.view, items = this.run.items;
		const wide = BOX * perPixel, end = start + this.plot * perPixel;
		for (let item = from; item < to; item++) {
			const begins = items.start[item], stops = items.stop[item];
			if (stops < start || begins >= end)
				continue;
			if (stops - begins >= wide)
				this.boxes.push(item, lane);
			else
				this.addItem(lane, item, begins, stops);
		}
	}

	/* A narrow item: of each column that it touches its part. */
	addItem(lane, item, begins, stops) {
		const { start, perPixel } = this.view, { amount } = this.run.items;
		const held = lane.stream ? 0 : Math.min(amount[item], stops - begins);
		const place = held * 2 > stops - begins ? HELD : lane.classOf(item);
		let left = (begins - start) / perPixel, right = (stops - start) / perPixel;
		if (right - left < 0.02)
			right = left + 0.02;
		left = Math.max(0, left);
		right = Math.min(this.plot, right);
		for (let column = left | 0; column < right; column++)
			this.columns[column * CLASSES + place] +=
				(Math.min(right, column + 1) - Math.max(left, column)) * perPixel;
		this.touched = true;
	}

	/* Paints each column in the color of its largest class, as high as all classes together, but at
	 * least a few pixels high, to be visible.  Held columns are striped. */
	paintColumns(lane, place) {
		const { columns, plot, pixels } = this, { perPixel } = this.view;
		const words = lane.stream ? this.words.stream : lane.ranges ? this.words.ranges : this.words.thread;
		const base = place * BAR * plot;
		for (let x = 0; x < plot; x++) {
			const at = x * CLASSES;
			const a = columns[at], b = columns[at + 1], c = columns[at + 2], d = columns[at + 3];
			const sum = a + b + c + d;
			if (sum <= 0)
				continue;
			const most = a >= b && a >= c && a >= d ? 0 : b >= c && b >= d ? 1 : c >= d ? 2 : 3;
			const high = Math.max(4, Math.min(1, sum / perPixel) * BAR | 0), word = words[most];
			const striped = !lane.stream && most === HELD;
			for (let y = BAR - high; y < BAR; y++)
				if (!striped || (x + y) % 6 > 1)
					pixels[base + y * plot + x] = word;
		}
	}

	/* Items that are wide enough: by category, so that colors change seldom. */
	drawBoxes() {
		const { context, run, view, boxes } = this, { items } = run;
		const right = this.labels + this.plot;
		for (let category = 0; category < this.fill.length; category++) {
			context.fillStyle = this.fill[category];
			for (let i = 0; i < boxes.length; i += 2) {
				const item = boxes[i];
				if (items.category[item] !== category)
					continue;
				const x = Math.max(this.labels - 2, this.x(items.start[item]));
				const width = Math.min(right + 2, this.x(items.stop[item])) - x;
				const height = BAR * HEIGHT[category];
				const y = this.laneMiddle(boxes[i + 1]) + BAR / 2 - height;
				context.fillRect(x, y, Math.max(1, width - 0.8), height);
			}
		}
		context.fillStyle = this.hatch;
		for (let i = 0; i < boxes.length; i += 2)
			this.drawHeld(boxes[i], boxes[i + 1], right);
		context.fillStyle = this.color["on-bar"];
		for (let i = 0; i < boxes.length && this.texts < TEXTS_MOST; i += 2)
			this.drawName(boxes[i], boxes[i + 1], right);
	}

	/* The end of a call that the device held. */
	drawHeld(item, lane, right) {
		const { items } = this.run;
		if (lane.stream || !items.amount[item])
			return;
		const held = Math.min(items.amount[item], items.stop[item] - items.start[item]);
		const x = Math.max(this.labels - 2, this.x(items.stop[item] - held));
		const width = Math.min(right + 2, this.x(items.stop[item])) - x - 0.8;
		if (width > 0.5)
			this.context.fillRect(x, this.laneMiddle(lane) - BAR / 2, width, BAR);
	}

	drawName(item, lane, right) {
		const { items, names } = this.run;
		const x = Math.max(this.labels, this.x(items.start[item]));
		const room = Math.min(right, this.x(items.stop[item])) - x - 8;
		if (room < TEXT_LEAST - 8 || HEIGHT[items.category[item]] < 0.7)
			return;
		const name = names[items.name[item]], most = room / CHARACTER | 0;
		const y = this.laneMiddle(lane) + BAR / 2 - BAR * HEIGHT[items.category[item]] / 2;
		const text = name.length <= most ? name : most < 4 ? "" : name.slice(0, most - 1) + "\u2026";
		if (!text)
			return;
		if (!lane.stream && items.amount[item] > 0) {
			/* On stripes a name has a ground of its own. */
			this.context.fillStyle = this.color.held;
			this.context.fillRect(x + 2, this.laneMiddle(lane) - 7,
				Math.min(room + 4, text.length * CHARACTER + 6), 14);
			this.context.fillStyle = this.color["on-bar"];
		}
		this.context.fillText(text, x + 4, y + 0.5);
		this.texts++;
	}

	/* --- above and left of the lanes --- */

	/* A step of 1, 2 or 5 with room for its label. */
	tickStep() {
		const least = 96 * this.view.perPixel, power = 10 ** Math.floor(Math.log10(least));
		return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least);
	}

	drawAxis() {
		const { context, view } = this, step = this.tickStep();
		context.fillStyle = this.color.page;
		context.fillRect(0, 0, this.width, AXIS);
		context.fillStyle = this.color.muted;
		context.strokeStyle = this.color.line;
		context.beginPath();
		const first = Math.ceil(view.start / step), last = (view.start + this.plot * view.perPixel) / step;
		/* By number: of times far from 0 a small step might be lost. */
		for (let i = 0; first + i < last && i < 100; i++) {
			const time = (first + i) * step, x = Math.round(this.x(time)) + 0.5;
			context.moveTo(x, AXIS - 6);
			context.lineTo(x, AXIS);
			const label = this.timeLabel(time, step);
			if (x + 4 + context.measureText(label).width < this.width)
				context.fillText(label, x + 4, AXIS / 2);
		}
		context.moveTo(0, AXIS - 0.5);
		context.lineTo(this.width, AXIS - 0.5);
		context.stroke();
	}

	/* As many digits as the step needs. */
	timeLabel(time, step) {
		const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]]
			.find(([size]) => Math.abs(time) >= size || size === 1);
		const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / step) - 1e-9)));
		return (time / size).toFixed(digits) + " " + unit;
	}

	/* Turns of the loop, by turns shaded; the ruler numbers them where there is room. */
	drawTurns() {
		const { context, view, run } = this;
		if (!run.loops.length)
			return;
		const end = view.start + this.plot * view.perPixel;
		context.save();
		context.beginPath();
		context.rect(this.labels, AXIS, this.plot, this.viewHeight - AXIS);
		context.clip();
		for (const { turns } of run.loops.slice(0, 1)) {
			const first = Math.max(0, lowerBound(turns, view.start) - 1);
			const last = lowerBound(turns, end);
			const wide = (turns[turns.length - 1] - turns[0]) / (turns.length - 1) / view.perPixel;
			if (wide < 2.5)
				this.drawManyTurns(turns);
			else
				this.drawEachTurn(turns, first, last, wide);
		}
		context.restore();
	}

	drawManyTurns(turns) {
		const { context } = this;
		const from = this.x(turns[0]), to = this.x(turns[turns.length - 1]);
		if (to < this.labels)
			return;
		context.fillStyle = this.color.turn;
		context.fillRect(from, AXIS + 3, to - from, RULER - 6);
		context.fillStyle = this.color.muted;
		context.fillText(plural(turns.length - 1, "turn"), Math.max(this.labels, from) + 6,
			AXIS + RULER / 2);
	}

	drawEachTurn(turns, first, last, wide) {
		const { context } = this;
		context.fillStyle = this.color.turn;
		for (let i = first; i < last && i + 1 < turns.length; i++)
			if (i % 2 === 0)
				context.fillRect(this.x(turns[i]), AXIS + 3,
					(turns[i + 1] - turns[i]) / this.view.perPixel, this.viewHeight);
		context.fillStyle = this.color.muted;
		const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find(step => step * wide > 34) || 1000;
		/* Turns differ in length: a number that would touch the one before it is left out. */
		for (let i = first, free = -Infinity; i < last && i + 1 < turns.length; i++) {
			const x = this.x(turns[i]) + 4;
			if ((i + 1) % every !== 0 || x < free)
				continue;
			context.fillText(String(i + 1), x, AXIS + RULER / 2 + 1);
			free = x + CHARACTER * (String(i + 1).length + 1);
		}
	}

	/* Findings: where their worst instances are. */
	drawFlags() {
		const { context, view } = this, top = this.laneTop - FLAGS;
		this.flags = [];
		for (const { id, worst } of view.findings) {
			if (!worst || worst.end <= worst.start)
				continue;
			const x = this.x((worst.start + worst.end) / 2);
			if (x < this.labels || x > this.width)
				continue;
			this.flags.push({ id, x, y: top + FLAGS / 2 });
			context.fillStyle = view.finding === id ? this.color.alert : this.color.panel;
			context.strokeStyle = this.color.alert;
			context.lineWidth = 1.5;
			context.beginPath();
			context.arc(x, top + FLAGS / 2, 8, 0, 2 * Math.PI);
			context.fill();
			context.stroke();
			context.fillStyle = view.finding === id ? this.color.panel : this.color.alert;
			context.textAlign = "center";
			context.fillText(String(id), x, top + FLAGS / 2 + 0.5);
			context.textAlign = "left";
		}
		context.lineWidth = 1;
	}

	drawLabels() {
		const { context, view } = this;
		context.fillStyle = this.color.page;
		context.fillRect(0, 0, this.labels, this.viewHeight);
		context.strokeStyle = this.color.line;
		context.beginPath();
		context.moveTo(this.labels - 0.5, 0);
		context.lineTo(this.labels - 0.5, this.viewHeight);
		context.moveTo(0, this.laneTop - 0.5);
		context.lineTo(this.width, this.laneTop - 0.5);
		context.stroke();
		context.fillStyle = this.color.muted;
		context.fillText("time", 12, AXIS / 2);
		if (this.run.loops.length)
			context.fillText("turns of the loop", 12, AXIS + RULER / 2 + 1);
		context.fillText("findings", 12, this.laneTop - FLAGS / 2 + 0.5);
		context.save();
		context.beginPath();
		context.rect(0, this.laneTop, this.width, this.viewHeight - this.laneTop);
		context.clip();
		for (const row of this.visibleRows())
			this.drawLabel(row, this.laneTop + row.top - view.scroll);
		context.restore();
	}

	drawLabel(row, y) {
		const { context, view } = this;
		if (row.title !== undefined) {
			context.fillStyle = this.color.page;
			context.fillRect(0, y, this.width, row.height);
			context.fillStyle = this.color.text;
			context.fillText("process " + view.pids.get(row.title), 12, y + row.height / 2 + 3);
			return;
		}
		if (view.lane === row.index) {
			context.fillStyle = this.color.select;
			context.fillRect(0, y, 3, LANE);
		}
		const label = row.lane.label, sum = grouped(row.lane.count);
		const most = (this.labels - 34) / CHARACTER - sum.length | 0;
		context.fillStyle = this.color.text;
		context.fillText(label.length > most ? label.slice(0, most - 1) + "\u2026" : label, 12,
			y + LANE / 2);
		context.fillStyle = this.color.muted;
		context.textAlign = "right";
		context.fillText(sum, this.labels - 10, y + LANE / 2);
		context.textAlign = "left";
	}

	/* --- arrows and marks --- */

	drawArrows() {
		const { view, run } = this, end = view.start + this.plot * view.perPixel;
		this.hidden = { fences: 0, waits: 0, holds: 0 };
		this.inPlot(() => {
			for (const [name, dash, color] of [["fences", [], "fence"], ["waits", [5, 3], "held"],
				["holds", [1.5, 3], "alert"]]) {
				if (!view.show[name] || !run[name].count)
					continue;
				const found = run[name].between(view.start, end, ARROWS_MOST + 1);
				if (found.count > ARROWS_MOST)
					this.hidden[name] = found.count;
				else
					for (const i of found.list)
						this.drawArrow(run[name].from[i], run[name].to[i], dash, color);
			}
			for (const [from, to] of view.links)
				this.drawArrow(from, to, [], "select", 2);
		});
	}

	/* From the end of an item to the start of another; of a call that submits from its start, of one
	 * that waits to its end. */
	drawArrow(from, to, dash, color, width = 1.2) {
		const { context, run } = this, { start, stop } = run.items;
		const fromLane = run.lanes[run.laneOf(from)], toLane = run.lanes[run.laneOf(to)];
		const x1 = this.x(run.isCall(from) ? start[from] : stop[from]);
		const x2 = this.x(run.isCall(to) ? stop[to] : start[to]);
		const y1 = this.laneMiddle(fromLane), y2 = this.laneMiddle(toLane);
		const down = Math.sign(y2 - y1) || 1, bend = Math.min(36, 8 + Math.abs(x2 - x1) / 2);
		const far = 4000, near = x => Math.max(this.labels - far, Math.min(this.width + far, x));
		const a = near(x1), b = near(x2), tip = y2 - down * BAR / 2;
		context.strokeStyle = context.fillStyle = this.color[color];
		context.lineWidth = width;
		context.setLineDash(dash);
		context.beginPath();
		context.moveTo(a, y1 + down * BAR / 4);
		context.bezierCurveTo(a + bend, y1 + down * BAR / 2, b - bend, tip - down * 6, b,
			tip - down * 2);
		context.stroke();
		context.setLineDash([]);
		context.beginPath();
		context.moveTo(b, tip + down * 3);
		context.lineTo(b - 3.5, tip - down * 4);
		context.lineTo(b + 3.5, tip - down * 4);
		context.fill();
	}

	/* The worst instance of a finding. */
	drawSpan({ start, end }) {
		this.inPlot(context => {
			const from = this.x(start), to = this.x(end);
			context.strokeStyle = this.color.alert;
			context.setLineDash([4, 3]);
			context.lineWidth = 1;
			context.beginPath();
			for (const x of [from, to]) {
				context.moveTo(x, this.laneTop);
				context.lineTo(x, this.viewHeight);
			}
			context.stroke();
			context.setLineDash([]);
		});
	}

	outline(item, color, width) {
		const { context, run } = this, lane = run.lanes[run.laneOf(item)];
		const x = Math.max(this.labels - 8, this.x(run.items.start[item]));
		const right = Math.min(this.width + 8, this.x(run.items.stop[item]));
		context.strokeStyle = this.color[color];
		context.lineWidth = width;
		context.strokeRect(x - 1, this.laneMiddle(lane) - BAR / 2 - 1, Math.max(3, right - x + 1),
			BAR + 2);
	}

	/* Marks the items of the finding, the result of a search and the selection. */
	drawMarks() {
		const { view } = this;
		this.inPlot(() => {
			for (const item of view.worst ? view.worst.items : [])
				this.outline(item, "alert", 2);
			if (view.found)
				this.markFound(view.found);
			if (view.item >= 0)
				this.outline(view.item, "select", 2.5);
		});
	}

	/* A search marks the boxes in view; what is narrower is found by going there. */
	markFound(found) {
		const { boxes, run } = this;
		let marked = 0;
		for (let i = 0; i < boxes.length && marked < 300; i += 2)
			if (found.has(run.items.name[boxes[i]])) {
				this.outline(boxes[i], "accent", 1.5);
				marked++;
			}
	}
}
