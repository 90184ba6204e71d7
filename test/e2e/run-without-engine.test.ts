/** A run that no engine takes, as `adjutant get` shows it.
 *  It must start no engine before the command has said that none works. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startCli } from '../support/cli.ts';
import { install } from '../support/installation.ts';
import { post, untilClosed } from '../support/public-api.ts';

test('get says that no engine works, and no longer once the run has ended', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'adjutant-no-engine-'));
  onTestFinished(async () => rm(cwd, { recursive: true, force: true }));
  const file = join(cwd, 'turns.json');
  await writeFile(file, JSON.stringify({ turns: [{ text: 'done' }] }));
  const config = {
    providers: { script: { type: 'scripted', file } },
    models: { fast: ['script:m'] },
    agents: { lead: { model_alias: 'fast' } },
  };
  await using installation = await install({ config });
  const { url } = await installation.start('api');
  const get = () => startCli(['get', 'alone', '--url', url], { cwd }).ended;

  const started = await post(`${url}/v1/requests`, { agent: 'lead', query: 'go', request_id: 'alone' });
  expect(started.status).toBe(202);
  expect(await get()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/waits: no engine works\n(.*\n)*.*run pending/),
  });

  const cancelled = await startCli(['cancel', 'alone', '--url', url], { cwd }).ended;
  expect(cancelled).toMatchObject({ code: 0, stdout: 'run  requested; it ends when an engine works\n' });
  const asked = 'a cancellation is asked for; the run ends when an engine works';
  expect((await get()).stdout).toContain(asked);

  await Promise.all([installation.start('engine'), installation.start('worker')]);
  await untilClosed(url, 'alone');
  const ended = await get();
  expect(ended).toMatchObject({ code: 1, stdout: expect.not.stringMatching(/no engine works|asked for/) });
  expect(ended.stdout).toContain('run cancelled');
});
