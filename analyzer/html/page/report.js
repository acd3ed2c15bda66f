/* SPDX-License-Identifier: Apache-2.0 */
/* The report: what the run did, where its time went, findings.  Sentences are the text report's. */

/* The causes of the account, each of which has a pattern of its own. */
const CAUSES = ["kernels", "both", "copies", "held", "outside", "computing", "blocked", "preempted", "submit", "call",
	"wait", "loading", "order", "start", "done", "unknown"];

/* Text as nodes: what stands between two backticks is code, whole. */
function written(text) {
	return text.split(/`([^`]+)`/).map((part, i) => i % 2 ? element("code", {}, part) : part);
}

class Report {
	constructor(report, texts) {
		this.report = report;
		this.texts = texts;
		this.summary = report.summary;
		this.wholeNames = new WholeNames(report.kernels);
		this.shown = report.findings.filter(finding => finding.shown);
		this.rest = report.findings.filter(finding => !finding.shown);
		this.showsRest = !this.shown.length && this.rest.length > 0 &&
			report.total === report.findings.length && report.left_out > 0;
	}

	fill() {
		this.fillTop();
		this.fillOverview();
		this.fillAccount();
		this.fillFindings();
		this.fillFacts();
	}

	/* --- what comes first --- */

	fillTop() {
		const { run } = this.summary, command = run.command || "a run without a command";
		document.getElementById("command").textContent = command;
		document.getElementById("command").title = command;
		document.title = "cufence: " + (run.command || "").split(" ")[0].split("/").pop();
	}

	get traced() {
		return this.summary.run.calls > 0 || this.summary.coverage.operations > 0;
	}

	headline() {
		const count = this.shown.length, { run } = this.summary;
		if (!this.traced)
			return "Nothing was traced: no CUDA call was recorded";
		if (!count)
			return "No findings" + (run.failed ? ", but the run failed" : run.incomplete ? ", but the trace is incomplete" : "");
		return plural(count, "finding");
	}

	/* The saving of all findings together, or the cost of the only one. */
	subline() {
		const together = this.texts.together.map(([label, text]) => (label ? label + " " : "") + text);
		if (together.length)
			return together;
		if (this.shown.length !== 1)
			return [];
		const [{ id, title }] = this.shown;
		return [title + ": " + this.texts.findings[id].cost];
	}

	tile(title, value, note) {
		return element("div", {}, element("dt", {}, title), element("dd", {}, value),
			note ? element("dd", { className: "small" }, note) : null);
	}

	/* Rows are of a device and a process: several processes may use one device. */
	busyTile(used, part) {
		const devices = new Set(used.map(({ device }) => device)).size;
		const processes = new Set(used.map(({ process }) => process)).size;
		const notes = [used[0].name || "", devices > 1 ? "and " + (devices - 1) + " more" : "",
			used.length > 1 ? "(average, " + plural(processes, "process", "processes") + ")" : ""];
		return this.tile((devices > 1 ? "Devices" : "Device") + " busy since the first work",
			share(part), notes.filter(note => note).join(" "));
	}

	fillOverview() {
		const { run, devices, waits, operations } = this.summary;
		const used = devices.filter(device => device.used);
		const sum = (list, name) => list.reduce((total, row) => total + row[name], 0);
		document.getElementById("headline").append(this.headline(),
			...this.subline().map(text => element("span", {}, ...written(text))));
		const bad = this.summary.losses.filter(loss => loss.incomplete && loss.text);
		if (bad.length)
			document.getElementById("banner").append(element("p", { className: "banner" },
				element("b", {}, this.summary.run.failed ? "The run failed. " : "Incomplete trace. "),
				bad.map(loss => loss.text + " [pid " + loss.pid + "]").join("; ")));
		const tiles = document.getElementById("tiles");
		tiles.append(this.tile("Run", duration(run.duration_ns), plural(run.processes, "process",
			"processes") + ", " + plural(run.threads, "thread")));
		if (used.length)
			tiles.append(this.busyTile(used, sum(used, "busy_ns") / Math.max(1,
				sum(used, "since_first_ns"))));
		if (waits.length)
			tiles.append(this.tile("Host waits", duration(sum(waits, "waited_ns")),
				plural(sum(waits, "count"), "wait")));
		tiles.append(operations.length ? this.tile("Operations", grouped(sum(operations, "count")),
			"by " + plural(run.calls, "CUDA call"))
			: this.tile("CUDA calls", grouped(run.calls), "no device operation was recorded"));
	}

	/* --- the account --- */

	fillAccount() {
		const place = document.getElementById("account"), groups = new Map();
		for (const row of this.summary.account) {
			const key = row.process + "/" + row.device;
			if (!groups.has(key))
				groups.set(key, []);
			groups.get(key).push(row);
		}
		if (!groups.size)
			place.append(element("p", { className: "empty" },
				"No device operation was recorded, so there is no account of device time."));
		const bars = [...groups.values()].map(rows => this.accountBar(rows)), most = 8;
		place.append(...bars.slice(0, most));
		if (bars.length > most)
			place.append(element("details", { className: "account-rest" }, element("summary", {},
				plural(bars.length - most, "more", "more")), ...bars.slice(most)));
		for (const [label, text] of this.texts.summary)
			if (["loop", "busy", "idle", "host"].includes(label) || !label && /^outside|^the host needs/.test(text))
				place.append(element("p", { className: "account-line" },
					element("b", {}, label), element("span", {}, text)));
	}

	accountTitle(row) {
		const several = this.summary.processes.length > 1;
		const process = this.summary.processes.find(p => p.process === row.process);
		const device = this.summary.devices.find(d => d.process === row.process &&
			d.device === row.device);
		const name = row.device === null ? "Host thread"
			: "Device " + row.device + (device && device.name ? ", " + device.name : "");
		return name + (several && process ? ", pid " + process.pid : "");
	}

	/* A bar, and under it the same as a table. */
	accountBar(rows) {
		const total = rows.reduce((sum, row) => sum + row.time_ns, 0) || 1;
		const loop = this.summary.loops.find(loop => loop.process === rows[0].process);
		const turns = loop ? loop.turns : 1, host = rows[0].device === null;
		const isBusy = row => CAUSES.indexOf(row.cause) < CAUSES.indexOf("held");
		const order = rows.slice().sort((a, b) => isBusy(b) - isBusy(a) || b.time_ns - a.time_ns);
		/* In the text report a sentence has named the host before. */
		const say = row => this.texts.causes[row.cause][host ? 1 : 0].replace(/^it (?=is|returns)/, "the host ");
		const bar = element("div", { className: "bar", role: "img", "aria-label":
			order.map(row => say(row) + " " + share(row.time_ns / total)).join(", ") });
		for (const row of order) {
			const part = element("span", { className: "cause " + this.causeClass(row.cause),
				title: say(row) + ", " + share(row.time_ns / total) });
			part.style.flexGrow = row.time_ns / total;
			if (row.time_ns / total > 0.08)
				part.append(element("em", {}, share(row.time_ns / total)));
			bar.append(part);
		}
		return element("div", { className: "account" },
			element("h3", {}, this.accountTitle(rows[0]), element("span", {}, loop
				? "a turn of " + duration(total / turns) : duration(total) +
				" from its first work to its last")),
			bar, element("table", {}, element("tbody", {}, ...order.map(row => element("tr", {},
				element("td", {}, element("i", { className: "cause " + this.causeClass(row.cause) }),
					say(row)),
				element("td", {}, duration(row.time_ns / turns)),
				element("td", {}, share(row.time_ns / total)))))));
	}

	causeClass(cause) {
		return CAUSES.includes(cause) ? "cause-" + cause : "cause-unknown";
	}

	/* --- by name, once the timeline is unpacked --- */

	/* onName: what a click on a name does. */
	fillNames(run, onName) {
		const place = document.getElementById("names");
		place.append(...[["Work of the device", run.calls, run.calls + run.operations],
			["CUDA calls", 0, run.calls], ["Named ranges", run.calls + run.operations,
				run.calls + run.operations + run.ranges]].map(([title, from, to]) =>
			from < to ? this.namesTable(title, this.sums(run, from, to), onName) : null)
			.filter(table => table));
	}

	/* How often each name is there, and how long in sum; most first. */
	sums(run, from, to) {
		const { name, start, stop } = run.items;
		const count = new Uint32Array(run.names.length), time = new Float64Array(run.names.length);
		for (let item = from; item < to; item++) {
			count[name[item]]++;
			time[name[item]] += stop[item] - start[item];
		}
		return run.names.map((text, i) => ({ text, count: count[i], time: time[i] }))
			.filter(({ count }) => count).sort((a, b) => b.time - a.time);
	}

	namesTable(title, sums, onName) {
		const whole = sums.reduce((sum, { time }) => sum + time, 0) || 1, most = 6;
		const row = ({ text, count, time }) => {
			const part = element("i", {});
			part.style.width = "calc((100% - var(--number)) * " + time / whole + ")";
			return element("tr", {}, element("td", {}, element("button", { type: "button",
				className: "link", title: this.wholeNames.of(text) || "Search for " + text, onclick: () => onName(text) }, text)),
			element("td", {}, grouped(count)), element("td", {}, duration(time)),
			element("td", {}, duration(time / count)), element("td", { className: "part" }, part,
				element("span", {}, share(time / whole))));
		};
		const rest = sums.slice(most);
		return element("div", { className: "names" }, element("h3", {}, title,
			element("span", {}, this.texts.until === undefined ? "the whole run"
				: "up to " + duration(this.texts.until))), element("table", {},
			element("thead", {}, element("tr", {}, ...["name", "times", "in sum", "each", "share"]
				.map(head => element("th", { scope: "col" }, head)))),
			element("tbody", {}, ...sums.slice(0, most).map(row))),
		rest.length ? element("p", { className: "empty" }, "and " + plural(rest.length, "more name") +
			", " + duration(rest.reduce((sum, { time }) => sum + time, 0))) : null);
	}

	/* --- findings --- */

	fillFindings() {
		const place = document.getElementById("finding-list");
		if (this.report.filter)
			place.append(element("p", { className: "empty" }, this.report.filter + "."));
		if (!this.shown.length)
			place.append(element("p", { className: "empty" }, this.headline() + "."));
		this.shown.forEach((finding, i) => place.append(this.card(finding, i === 0)));
		if (this.report.possible)
			place.append(element("p", {}, ...written(this.report.possible.text)));
		if (!this.rest.length)
			return;
		const more = element("div", { hidden: !this.showsRest },
			...this.rest.map(finding => this.card(finding, false)));
		const button = element("button", { type: "button", className: "more",
			"aria-expanded": String(this.showsRest) },
		grouped(this.rest.length) + " hidden: " + this.whyHidden());
		button.onclick = () => {
			more.hidden = !more.hidden;
			button.setAttribute("aria-expanded", String(!more.hidden));
		};
		place.append(button, more);
	}

	whyHidden() {
		const possible = this.rest.filter(({ confidence }) => confidence === "possible").length;
		const little = this.rest.length - possible;
		return [possible ? grouped(possible) + (possible === 1 ? " is" : " are") + " only possible" : "",
			little ? grouped(little) + " would save little" : ""].filter(text => text).join(", ");
	}

	card(finding, open) {
		const said = this.texts.findings[finding.id];
		const card = element("details", { className: "finding " + finding.severity, open,
			id: "finding-" + finding.id });
		const saved = finding.turn_saving_ns !== null || finding.saving_ns > 0;
		/* As in the text report: a wait was measured, so that "certain" would say nothing of it. */
		const certain = finding.confidence === "certain" && finding.waited_ns + finding.delayed_ns > 0;
		const confirmed = finding.places.some(({ confirmation }) =>
			confirmation && confirmation.result === "confirmed");
		card.append(element("summary", {},
			element("span", { className: "number" }, "#" + finding.id),
			element("span", { className: "what" },
				element("span", { className: "message",
					title: this.wholeNames.within(finding.message) }, ...written(finding.message)),
				element("span", { className: "rule" }, finding.rule),
				element("span", { className: "cost" }, said.cost)),
			element("span", { className: "worth" },
				saved ? element("b", {}, share(finding.share)) : null,
				saved ? element("span", {}, finding.turn_saving_ns !== null ? "of each turn"
					: "of the run") : null),
			element("span", { className: "badges" },
				element("span", { className: "badge " + finding.severity }, finding.severity),
				certain ? null : element("span", { className: "badge" }, finding.confidence),
				confirmed ? element("span", { className: "badge high" }, "confirmed") : null)),
		this.body(finding, said));
		return card;
	}

	body(finding, said) {
		const worst = said.worst && said.worst.end > said.worst.start;
		const beyond = worst && said.worst.start > (this.texts.until ?? Infinity);
		return element("div", { className: "body" },
			element("p", { className: "title" }, ...written(finding.title + ".")),
			beyond ? element("p", { className: "empty" }, "Its worst instance, " +
				duration(said.worst.start) + " from the start, is later than what the timeline holds.")
			: worst ? element("button", { type: "button", className: "primary",
				onclick: () => this.onWorst(finding.id) }, "Show the worst instance in the timeline")
				: null,
			this.sources(finding), this.lines(said.lines.filter(([label]) => label !== "fix")),
			this.fix(finding, said));
	}

	/* Both sites, with what stands there. */
	sources(finding) {
		const seen = new Set(), boxes = [];
		for (const place of finding.places.slice(0, 3))
			for (const [label, site] of [["at", place.at], ["for", place.for]]) {
				if (!site || !site.file || seen.has(site.file + ":" + site.line))
					continue;
				seen.add(site.file + ":" + site.line);
				const source = this.texts.sources[site.file + ":" + site.line];
				if (source)
					boxes.push(this.source(label, site, source));
			}
		return boxes.length ? element("div", { className: "sources" }, ...boxes) : null;
	}

	source(label, site, { first, lines, newer }) {
		return element("figure", { className: "source" },
			element("figcaption", {}, element("b", {}, label), " " + (site.function || "") + " ",
				element("span", {}, site.text || site.file),
				newer ? element("em", {}, "changed after the run began") : null),
			element("pre", {}, element("code", {}, ...lines.map((line, i) => element("span",
				{ className: first + i === site.line ? "line here" : "line" },
				element("span", { className: "line-number", "aria-hidden": "true" },
					String(first + i)),
				(first + i === site.line ? "\u25b8 " : "  ") + line + "\n")))));
	}

	/* at, for, in, seen and so on, as the text report has them; columns are two blanks apart. */
	lines(lines) {
		const most = 16;
		if (lines.length <= most + 2)
			return this.lineList(lines);
		return element("div", {}, this.lineList(lines.slice(0, most)),
			element("details", {}, element("summary", {}, plural(lines.length - most, "more line")),
				this.lineList(lines.slice(most))));
	}

	lineList(lines) {
		const list = element("dl", { className: "lines" });
		for (const [label, text] of lines) {
			if (label === "see")
				continue;
			const cells = ["at", "for", "from", "also"].includes(label)
				? text.split(/ {2,}/) : [text];
			list.append(element("dt", {}, label),
				element("dd", {}, ...cells.map(cell => element("span", {}, ...written(cell)))));
		}
		return list;
	}

	fix(finding, said) {
		const codes = [["CUDA C++", said.cpp], ["PyTorch", said.pytorch]].filter(([, code]) => code);
		const script = finding.places.some(place => place.at && /\.py$/.test(place.at.file || ""));
		const safe = /^https:\/\//.test(finding.link || "");
		if (script)
			codes.reverse();
		const advice = said.lines.filter(([label]) => label === "fix").map(([, text]) => text);
		return element("div", { className: "fix" }, element("h4", {}, "How to fix it"),
			...advice.map(text => element("p", {}, ...written(text[0].toUpperCase() + text.slice(1) + "."))),
			element("div", { className: "codes" }, ...codes.map(([name, code]) =>
				element("figure", {}, element("figcaption", {}, "Example, " + name),
					element("pre", {}, element("code", {}, code))))),
			safe ? element("p", {}, element("a", { href: finding.link, rel: "noopener noreferrer",
				target: "_blank" }, "NVIDIA's documentation of this behaviour")) : null);
	}

	/* The timeline replaces this. */
	onWorst() {
	}

	worst() {
		const marked = this.shown.length ? this.shown : this.rest;
		return marked.map(({ id }) => ({ id, worst: this.texts.findings[id].worst }));
	}

	/* --- the run --- */

	fillFacts() {
		const list = document.getElementById("facts");
		let table = false; /* a row for each process, under a line of that label */
		for (const [label, text] of this.texts.summary) {
			table = label ? label === "process" : table;
			if (!text.startsWith("cufence: "))
				list.append(element("dt", {}, label), element("dd", {},
					element("span", table ? { className: "columns" } : {}, ...written(text))));
		}
		const { run, processes } = this.summary, begun = new Date(this.texts.started);
		const add = (label, text) => list.append(element("dt", {}, label),
			element("dd", {}, element("span", {}, text)));
		if (!processes.some(({ simulated }) => simulated) && !isNaN(begun))
			add("begun", begun.toISOString().replace("T", " ").slice(0, 19) + " UTC");
		add("made by", "cufence " + run.version);
	}
}
