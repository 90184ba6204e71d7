/** The short form of `npm run test:providers`: the same table, one mode of each row, and one wire where a row has to wait.
 *  It must never leave out a row. */
import { describe, expect, test, vi } from 'vitest';
import { shared } from '../support/shared.ts';
import { ROWS } from './cases/rows.ts';
import { cellsOf, openTheatre, playAll } from './play.ts';
import type { Cell, Row } from './row.ts';

// The grace of a finished answer, longer than the limit of silence in the row about both.
vi.mock(import('../../src/models/answers/answer-limits.ts'), async (original) => ({
  ...(await original()),
  END_GRACE_MS: 700 as 2_000,
}));

/** Streamed and whole in turn, so that both are played on every wire. */
function someOf(row: Row, at: number): Cell[] {
  const { modes = ['streamed', 'whole'] } = row;
  const cells = cellsOf(row).filter(({ mode }) => mode === modes[at % modes.length]);
  return row.waits === true ? cells.slice(at % cells.length).slice(0, 1) : cells;
}

/** All at once: most of a row is waiting for processes and connections. */
const short = shared(async () => {
  const theatre = await openTheatre(ROWS);
  const played = playAll(
    theatre,
    ROWS.flatMap((row, at) => someOf(row, at).map((cell) => ({ row, cell }))),
  );
  const dispose = async (): Promise<void> => {
    await played;
    await theatre[Symbol.asyncDispose]();
  };
  return { played, [Symbol.asyncDispose]: dispose };
});

describe('what providers send', () => {
  test.each(ROWS.map((row) => [row.kind, row] as const))('%s', async (_kind, row) => {
    const cells = (await short.played).filter((one) => one.row === row);
    expect(cells).not.toEqual([]);
    for (const { cell, outcome } of cells)
      expect(outcome, `${row.rule}: ${cell.wire}, ${cell.mode}`).toBe('right');
  });
});
