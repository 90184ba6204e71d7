/** A stdio server after the process that started it was killed.
 *  It must never need our own clean-up: SIGKILL leaves no time for any. */
import { expect, onTestFinished, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { exists, gone } from '../../support/mcp-process.ts';
import { spawnNode } from '../../support/process.ts';

test('a stdio server does not outlive a killed worker', async () => {
  const holder = spawnNode([fileURLToPath(new URL('../../support/servers/pool-holder.ts', import.meta.url))]);
  onTestFinished(async () => void (await holder.kill9()));
  const line = await holder.waitForLine(/^server \d+$/);
  const pid = Number(line.split(' ')[1]);
  expect(exists(pid)).toBe(true);
  await holder.kill9();
  await gone(pid);
});
