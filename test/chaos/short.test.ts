/** The short form of the chaos run: 20 seconds of kills, then a minute until everything is over and gone.
 *  It must not judge by itself: the checker does, and prints what it found. */
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { spawnNode } from '../support/process.ts';

const PROGRAM = fileURLToPath(new URL('./main.ts', import.meta.url));

test('20 seconds under chaos break no promise', { timeout: 300_000 }, async () => {
  const chaos = spawnNode([PROGRAM, '--minutes', '0.35', '--seed', 'short']);
  onTestFinished(async () => void (await chaos.stop()));
  const { code } = await chaos.exited;
  expect(code, chaos.lines.join('\n')).toBe(0);
  expect(chaos.lines.at(-1)).toBe('ok');
});
