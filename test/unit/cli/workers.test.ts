/** `adjutant workers drain`: which process a name means.
 *  It must never need a service. */
import { expect, test } from 'vitest';
import { drainWorker, stateText } from '../../../src/cli/commands/workers.ts';
import { CliFailure } from '../../../src/cli/failure.ts';
import type { Invocation } from '../../../src/cli/invocation.ts';
import { runCommand } from '../../support/command.ts';

const IDS = ['ab12cd34-0000-4000-8000-000000000001', 'ab99cd34-0000-4000-8000-000000000002'];

/** What is asked of the service for a name, or the words of the refusal. */
async function asked(name: string, ids: readonly string[] = IDS): Promise<unknown> {
  const drained: [string, boolean][] = [];
  const client = {
    workers: async () => ({
      workers: ids.map((id) => ({ id, host: 'h', roles: id.startsWith('ap') ? ['api'] : ['worker'] })),
    }),
    drainWorker: async (id: string, drain: boolean) => {
      drained.push([id, drain]);
      return { id, drain };
    },
  };
  const invocation = { client, json: true, terminal: { out: () => {} } } as unknown as Invocation;
  try {
    await drainWorker(invocation, name, true);
    return drained;
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    expect(drained).toEqual([]);
    return `${error.message} ${error.how}`;
  }
}

test.each([
  ['ab12', [[IDS[0], true]]],
  [IDS[1] ?? '', [[IDS[1], true]]],
])('%s means one process', async (name, wanted) => {
  expect(await asked(name)).toEqual(wanted);
});

test('a name that means several processes, or none, drains nothing', async () => {
  expect(await asked('ab')).toMatch(/^Several workers .* There are ab12cd34, ab99cd34\.$/);
  expect(await asked('zz')).toMatch(/^No worker has .*"zz"\. There are ab12cd34, ab99cd34\.$/);
  expect(await asked('zz', [])).toMatch(/^No worker .* Start one: /);
  expect(await asked('')).toBe('The id of a process is missing. There are ab12cd34, ab99cd34.');
  expect(await asked('ap', ['ap12cd34-1'])).toMatch(/^ap12cd34 is an API: it takes no work .* SIGTERM/);
});

test.each([
  [{ state: 'working' }, 'working'],
  [{ state: 'working', silent_ms: 2_100 }, 'working'],
  [{ state: 'working', silent_ms: 7_600 }, 'not seen for 8 s'],
])('a process that has missed its beats is shown as not seen: %j', (worker, shown) => {
  expect(stateText(worker)).toBe(shown);
});

test.each([
  [
    ['workers', 'drian', 'x'],
    '`workers` has no verb "drian".',
    'Did you mean drain? There are list, drain, resume.',
  ],
  [['dead', 'zzz'], '`dead` has no verb "zzz".', 'There are list, redrive.'],
])('a mistyped verb is no list: %j', async (args, what, how) => {
  const { code, stderr } = await runCommand(args, 'http://127.0.0.1:1');
  expect({ code, stderr: stderr.trim().split('\n') }).toEqual({
    code: 2,
    stderr: [`error ${what}`, `  fix ${how}`],
  });
});
