/** The drawing of a trace: one line for each node of its tree, with a bar of when it waited and ran.
 *  It must never draw more lines than it may, nor leave some out without saying so. */
import { ADJUTANT } from '../command-name.ts';
import { table, timeText } from '../table.ts';
import type { TraceNode } from './trace-node.ts';
import { requestNode, type TraceFamily } from './trace-tree.ts';
import type { Paint } from '../terminal.ts';

interface TraceDrawing {
  readonly paint: Paint;
  /** Lines below the first one. */
  readonly mostLines: number;
}

const BAR_CELLS = 24;
const [WAITED, RAN, POINT] = ['╌', '━', '●'];
const OFFSET_CHARACTERS = 8;

/** Milliseconds since the epoch. */
interface Range {
  readonly from: number;
  readonly to: number;
}

export function traceLines(family: TraceFamily, { paint, mostLines }: TraceDrawing): string[] {
  const { trace } = family;
  const root = requestNode(family);
  const from = Date.parse(trace.created_at);
  const to = Date.parse(trace.closed_at ?? trace.read_at);
  const range = { from, to: Math.max(from + 1, to) };
  const rows: string[][] = [];
  const left = rowsOf(root.below, '', { rows, range, paint, mostLines });
  const page = trace.trace_url ?? trace.trace_id;
  const head = [
    paint('bold', trace.request_id),
    root.label,
    statePainted(root, paint),
    timeText(Math.max(0, to - from)),
  ];
  return [
    head.join('  '),
    ...(page === undefined ? [] : [`${paint('dim', 'trace')} ${page}`]),
    ...aligned(rows),
    ...(left === 0
      ? []
      : [paint('dim', `… ${left} more lines: ${ADJUTANT} trace ${trace.request_id} --json has all`)]),
  ];
}

/** A row of one cell is a sentence: it does not widen the column of the names. */
function aligned(rows: readonly string[][]): string[] {
  const lines = table(rows.filter(({ length }) => length > 1)).values();
  return rows.map((row) => (row.length > 1 ? (lines.next().value ?? '').trimEnd() : row.join('')));
}

interface Canvas extends TraceDrawing {
  readonly rows: string[][];
  readonly range: Range;
}

/** Returns how many nodes did not fit. */
function rowsOf(nodes: readonly TraceNode[], indent: string, canvas: Canvas): number {
  let left = 0;
  for (const [index, node] of nodes.entries()) {
    const isLast = index === nodes.length - 1;
    if (canvas.rows.length < canvas.mostLines)
      canvas.rows.push(rowOf(node, `${indent}${isLast ? '└─ ' : '├─ '}`, canvas));
    else left += 1;
    left += rowsOf(node.below, `${indent}${isLast ? '   ' : '│  '}`, canvas);
  }
  return left;
}

function rowOf(node: TraceNode, branch: string, { range, paint }: Canvas): string[] {
  const { label, startAt, endAt, notes } = node;
  const name = `${paint('dim', branch)}${label}`;
  const said = [statePainted(node, paint), ...notes.map((text) => paint('dim', text))].filter(
    (text) => text !== '',
  );
  if (startAt === null) return said.length === 0 ? [name] : [name, '', '', '', said.join(', ')];
  const offset = `+${timeText(Math.max(0, startAt - range.from))}`.padStart(OFFSET_CHARACTERS);
  const length = node.isInstant ? '' : timeText(Math.max(0, (endAt ?? range.to) - startAt));
  const bar = barOf(node, range);
  return [name, node.state === null ? bar : paint(node.state[0], bar), offset, length, said.join(', ')];
}

function statePainted({ state }: TraceNode, paint: Paint): string {
  return state === null ? '' : paint(...state);
}

/** The whole width is the life of the request. */
function barOf({ startAt, takenAt, lostAt = null, endAt, isInstant }: TraceNode, range: Range): string {
  const first = cellOf(startAt ?? range.from, range);
  const last = cellOf(endAt ?? range.to, range);
  const taken = takenAt === null ? last + 1 : cellOf(takenAt, range);
  const lost = lostAt === null ? last : cellOf(lostAt, range);
  const cells = Array.from({ length: BAR_CELLS }, (_, cell) => {
    if (cell < first || cell > last) return ' ';
    if (isInstant) return POINT;
    return cell < taken || cell > lost ? WAITED : RAN;
  });
  return `│${cells.join('')}│`;
}

function cellOf(at: number, { from, to }: Range): number {
  const cell = Math.floor(((at - from) / (to - from)) * BAR_CELLS);
  return Math.min(BAR_CELLS - 1, Math.max(0, cell));
}
