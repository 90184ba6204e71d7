/** `npm run test:providers -- [words]`: what the five wires may send, and what must come of it, as a table.
 *  It must never exit 0 when a cell is wrong, or when no cell was played. */
import type { Api } from '../support/model-calls.ts';
import { ROWS } from './cases/rows.ts';
import { cellsOf, openTheatre, playAll, type Played } from './play.ts';
import type { Row } from './row.ts';
import { WIRES } from './wires.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** `–`: the wire has no such form. */
function shown(all: readonly Played[], row: Row, wire: Api): string {
  const cells = all.filter((one) => one.row === row && one.cell.wire === wire);
  if (cells.length === 0) return '–';
  const wrong = cells.filter(({ outcome }) => outcome !== 'right').map(({ cell }) => cell.mode);
  return wrong.length === 0 ? 'ok' : wrong.length === cells.length ? 'WRONG' : `WRONG ${wrong.join()}`;
}

const [words = ''] = process.argv.slice(2);
const rows = ROWS.filter(({ kind }) => kind.includes(words));
await using theatre = await openTheatre(rows);
const cells = rows.flatMap((row) => cellsOf(row).map((cell) => ({ row, cell })));
const played = await playAll(theatre, cells);

const columns = WIRES.map((wire) => wire.padEnd(14)).join('');
print(`${'kind'.padEnd(62)}${columns}rule`);
for (const row of rows) {
  const cells = WIRES.map((wire) => shown(played, row, wire).padEnd(14)).join('');
  print(`${row.kind.padEnd(62)}${cells}${row.rule}`);
}
const wrong = played.filter(({ outcome }) => outcome !== 'right');
for (const { row, cell, outcome } of wrong)
  print(`\nWRONG  ${row.kind}, ${cell.wire}, ${cell.mode}\n  ${outcome === 'right' ? '' : outcome.wrong}`);
print(`\n${played.length - wrong.length} of ${played.length} cells are right, in ${rows.length} rows`);
print('Amazon Bedrock, Vertex AI and Azure: npm test -- test/integration/models/cloud-providers.test.ts');
process.exitCode = wrong.length === 0 && played.length > 0 ? 0 : 1;
