/** The Python client follows a run while the API is killed and started again (issue 39, A.1): every signal once, in order.
 *  It must not compare with anything but the log itself. */
import { expect, test } from 'vitest';
import { install } from '../support/installation.ts';
import { startMockProvider } from '../support/mock-provider.ts';
import { freePort, spawnProcess } from '../support/process.ts';
import { CLIENT_PACKAGES, pythonOfTests } from '../support/python.ts';
import { numberedAnswers, wholeLog } from '../support/streams.ts';

test('a run is followed over the death of the API without a loss or a repeat', async ({ skip }) => {
  const python = await pythonOfTests(CLIENT_PACKAGES);
  if (python === null) return skip('There is no python3 of version 3.10 or newer.');
  const [answer] = numberedAnswers(1, { words: 200, paceMs: 20, pieceLength: 8 });
  await using provider = await startMockProvider(answer === undefined ? [] : [answer]);
  await using installation = await install({
    config: {
      providers: { mock: { type: 'openai-compatible', base_url: provider.url } },
      agents: { talker: { model: 'mock:m' } },
    },
  });
  const port = await freePort();
  const [first, other] = await Promise.all([
    installation.start('api', port),
    // It has an API of its own, by which the log is read.
    installation.start('up'),
  ]);
  const args = ['clients/python/tests/follow.py', first.url, 'talker', answer?.prompt ?? ''];
  const env = { PYTHONPATH: 'clients/python/src', PYTHONDONTWRITEBYTECODE: '1' };
  const follower = spawnProcess(python, args, { env });
  const requestId = await follower.waitForLine(/^\w{12}/);
  await follower.waitForLine(/^10$/);
  await first.kill9();
  await installation.start('api', port);
  expect(await follower.exited, follower.lines.join('\n')).toEqual({ code: 0, signal: null });
  const log = await wholeLog(other.url, requestId);
  expect(follower.lines.slice(1, -1)).toEqual(log.map((_, index) => String(index + 1)));
  expect(JSON.parse(follower.lines.at(-1) ?? '')).toEqual({ text: answer?.text, result: answer?.text });
});
