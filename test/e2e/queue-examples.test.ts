/** The producers of examples/queue against the service that their README starts: Node's bullmq and Python's.
 *  It must not import them: each is a program of a stranger. */
import { expect, test } from 'vitest';
import { untilHolds } from '../support/eventually.ts';
import { type Child, spawnNode, spawnProcess } from '../support/process.ts';
import { pythonOfTests } from '../support/python.ts';
import { PROGRAM } from '../support/program.ts';
import { shared, useRedis } from '../support/shared.ts';

const redis = useRedis();
const up = shared(async () => {
  const child = spawnNode([PROGRAM, 'up', '--port', '0'], {
    env: { REDIS_URL: redis.url, ADJUTANT_LOG_LEVEL: 'warn' },
  });
  const url = /http\S+/.exec(await child.waitForLine(/^adjutant listens on/))?.[0] ?? '';
  await untilHolds(async () => {
    const answer = await fetch(`${url}/v1/tools`);
    expect(await answer.text()).toContain('everything.get-sum');
  });
  return { url, [Symbol.asyncDispose]: async () => void (await child.stop()) };
});

async function printed(start: (env: Record<string, string>) => Child): Promise<string> {
  expect(up.url).toMatch(/^http/);
  const child = start({ REDIS_URL: redis.url });
  const { code } = await child.exited;
  const text = child.lines.join('\n');
  expect(code, text).toBe(0);
  return text;
}

test('examples/queue/submit.ts submits with Node and prints the result', async () => {
  const text = await printed((env) => spawnNode(['examples/queue/submit.ts'], { env }));
  expect(text).toContain("payload: 'The sum of 2 and 3 is 5.'");
});

test('examples/queue/flow.ts reads the results of its children', async () => {
  const text = await printed((env) => spawnNode(['examples/queue/flow.ts'], { env }));
  expect(text).toContain("[ 'The sum of 2 and 3 is 5.', 'The sum of 20 and 30 is 50.' ]");
});

const python = await pythonOfTests();

test.skipIf(python === null)(
  'examples/queue/submit.py submits with Python and prints the result',
  async () => {
    const text = await printed((env) => spawnProcess(python ?? '', ['examples/queue/submit.py'], { env }));
    expect(JSON.parse(text)).toMatchObject({ ok: true, payload: 'The sum of 2 and 3 is 5.' });
  },
);
