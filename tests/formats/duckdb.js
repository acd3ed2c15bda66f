// SPDX-License-Identifier: Apache-2.0
// duckdb.js FOLDER SQLFILE... [--rows | --compare JSON | -- SQL...]: runs files there in one
// connection; DB stands for @DB@.  Prints how many rows the last has; how they differ from those of a
// JSON array of objects, whatever their order; or the values of further statements, a line each.
'use strict';
const fs = require('fs');
const { DuckDBInstance } = require('@duckdb/node-api');

// Integers are divided with a rest here, and counts may be text.
function plain(value) {
	if (value === null || value === undefined)
		return '';
	return isNaN(Number(value)) || value === '' ? String(value) : String(Math.floor(Number(value)));
}

function differences(got, want) {
	const rows = list => list.map(row => Object.values(row).map(plain).join('|')).sort();
	const a = rows(got), b = rows(want);
	const lines = a.length === b.length ? [] : [`${a.length} rows, not ${b.length}`];
	for (let i = 0; i < Math.min(a.length, b.length); i++)
		if (a[i] !== b[i])
			lines.push(`${a[i]} instead of ${b[i]}`);
	return lines.slice(0, 5);
}

async function main(folder, words) {
	process.chdir(folder);
	const connection = await (await DuckDBInstance.create(':memory:')).connect();
	const end = words.findIndex(word => word.startsWith('--'));
	const files = end < 0 ? words : words.slice(0, end);
	let rows = [];
	for (const file of files) {
		const sql = fs.readFileSync(file, 'utf8').replaceAll('@DB@', process.env.DB || '');
		rows = (await connection.runAndReadAll(sql)).getRowObjectsJson();
	}
	if (words[end] === '--rows')
		console.log(rows.length);
	if (words[end] === '--compare')
		differences(rows, JSON.parse(fs.readFileSync(words[end + 1], 'utf8'))).forEach(l => console.log(l));
	if (words[end] === '--')
		for (const sql of words.slice(end + 1))
			for (const row of (await connection.runAndReadAll(sql)).getRowsJson())
				console.log(JSON.stringify(row[0]));
}
main(process.argv[2], process.argv.slice(3)).catch(error => {
	console.log(String(error.message).split('\n')[0]);
	process.exit(1);
});
