/** The short form of `npm run test:providers`: the same table, one mode of each row, and one wire where a row has to wait.
 *  It must never leave out a row. */
import { describe, expect, test } from 'vitest';
import { shared } from '../support/shared.ts';
import { ROWS } from './cases/rows.ts';
import { cellsOf, openTheatre } from './play.ts';
import type { Cell, Row } from './row.ts';

const theatre = shared(() => openTheatre(ROWS));

/** Streamed and whole in turn, so that both are played on every wire. */
function someOf(row: Row, at: number): Cell[] {
  const { modes = ['streamed', 'whole'] } = row;
  const cells = cellsOf(row).filter(({ mode }) => mode === modes[at % modes.length]);
  return row.waits === true ? cells.slice(at % cells.length).slice(0, 1) : cells;
}

describe('what providers send', () => {
  test.concurrent.each(ROWS.map((row, at) => [row.kind, row, at] as const))('%s', async (_kind, row, at) => {
    const cells = someOf(row, at);
    expect(cells).not.toEqual([]);
    for (const cell of cells) {
      const outcome = await theatre.play(row, cell);
      expect(outcome, `${row.rule}: ${cell.wire}, ${cell.mode}`).toBe('right');
    }
  });
});
