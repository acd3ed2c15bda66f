/* SPDX-License-Identifier: Apache-2.0 */
/* The report first, which needs no unpacking; then the timeline. */

function currentTheme() {
	return document.documentElement.dataset.theme ||
		(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function followTheme(repaint) {
	const button = document.getElementById("theme");
	const say = () => {
		button.textContent = currentTheme() === "dark" ? "Light" : "Dark";
		repaint();
	};
	button.onclick = () => {
		document.documentElement.dataset.theme = currentTheme() === "dark" ? "light" : "dark";
		say();
	};
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
	say();
}

function openFinding(id) {
	const card = document.getElementById("finding-" + id);
	if (!card)
		return;
	for (let above = card.parentElement; above; above = above.parentElement)
		above.hidden = false;
	card.open = true;
}

async function unpack(report, texts) {
	if (typeof DecompressionStream === "undefined")
		throw new Error("this browser is too old for it: Chrome 103, Firefox 113 or Safari 16.4" +
			" and later can show it");
	const data = document.getElementById("timeline-data");
	const bytes = await inflate(bytesOf(data.textContent.trim()));
	data.remove();
	return new Run(texts, report, bytes);
}

async function main() {
	const data = readJson("report-data"), texts = readJson("texts-data");
	const report = new Report(data, texts), place = document.getElementById("chart");
	const pids = new Map(data.summary.processes.map(({ process, pid }) => [process, pid]));
	let timeline = null;
	report.fill();
	const linked = /^#finding-(\d+)$/.exec(location.hash);
	if (linked)
		openFinding(linked[1]);
	followTheme(() => {
		if (timeline) {
			timeline.painter.readColors();
			timeline.mapImage = null;
			timeline.change();
		}
	});
	place.append(element("p", { className: "empty" }, "Unpacking\u2026"));
	const run = await unpack(data, texts);
	if (!run.lanes.length) {
		place.replaceChildren(element("p", { className: "empty" },
			"No call and no operation was recorded."));
	} else {
		timeline = new Timeline(place, run, report.worst(), pids,
			"cufence run --delay SECONDS --duration SECONDS -- \u2026");
		timeline.onFinding = id => {
			openFinding(id);
			timeline.showFinding(id);
		};
		report.fillNames(run, name => {
			timeline.search.value = name;
			timeline.find(name);
			timeline.goToMatch(1);
			document.getElementById("timeline").scrollIntoView({ block: "start" });
			timeline.canvas.focus({ preventScroll: true });
		});
		report.onWorst = id => {
			if (!timeline.showFinding(id))
				return;
			document.getElementById("timeline").scrollIntoView({ block: "start" });
			timeline.canvas.focus({ preventScroll: true });
		};
	}
	/* For tests, and the curious. */
	window.cufence = { run, timeline, ready: performance.now() };
}

main().catch(error => {
	const place = document.getElementById("chart");
	place.replaceChildren(element("p", { className: "empty" },
		"The timeline cannot be shown: " + error.message));
	console.error(error);
});
