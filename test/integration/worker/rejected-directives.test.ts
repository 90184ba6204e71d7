/** Control directives of an untrusted server: each is reported in the log, before the answer they came with.
 *  It must use a real server, so that what is rejected is what was sent. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { signalSchema } from '../../../src/contract/signal/signal.ts';
import { startRedis } from '../../support/redis.ts';
import { startService } from '../../support/running-service.ts';
import { programOf } from '../../support/program.ts';

const PEER = programOf(fileURLToPath(new URL('../../support/servers/legacy-peer.ts', import.meta.url)));

test('each rejected entry is a signal, with its place, type and reason; the others are accepted', async () => {
  await using redis = await startRedis();
  const peer = { command: process.execPath, args: [PEER, 'stdio'], directives: ['clear_self_todos'] };
  await using service = await startService({ redisUrl: redis.url, config: { mcpServers: { peer } } });
  const client = createHttpClient({ baseUrl: service.url });
  // The tool returns its arguments as text.
  const carried = {
    result: 'hi',
    _directives: [
      { type: 'stop_processing' },
      { type: 'clear_self_todos' },
      { type: 'nope' },
      7,
      { type: 'inject_context', params: { ['x'.repeat(2_000)]: 1 } },
    ],
  };
  const ended = await client.execute({
    type: 'tool_exec',
    tool_name: 'peer.echo',
    arguments: carried,
    metadata: { run_id: 'run' },
  });
  expect(ended.data).toMatchObject({
    result: { ok: true, payload: 'hi', effects: [{ type: 'clear_self_todos' }] },
    metadata: { rejected_directives: [{ index: 0 }, { index: 2 }, { index: 3 }, { index: 4 }] },
  });
  const { signals } = await client.page(ended.subject);
  expect(signals.map(({ type }) => type)).toEqual([
    'ai.tool.started',
    ...Array.from({ length: 4 }, () => 'directive.rejected'),
    'ai.tool.result',
  ]);
  const call_id = ended.causationid;
  const metadata = { request_id: ended.subject, run_id: 'run' };
  expect(signals.slice(1, -1).map(({ data }) => data)).toMatchObject([
    { call_id, index: 0, directive_type: 'stop_processing', reason: 'untrusted', metadata },
    { call_id, index: 2, directive_type: 'nope', reason: 'unknown_type' },
    { call_id, index: 3, directive_type: null, reason: 'unknown_type' },
    { call_id, index: 4, directive_type: 'inject_context', reason: 'invalid_params' },
  ]);
  for (const signal of signals) expect(signalSchema.parse(signal)).toStrictEqual(signal);
  expect(JSON.stringify(signals).length).toBeLessThan(12_000);
  const { tools } = await client.tools();
  expect(tools.find(({ tool }) => tool === 'echo')).toMatchObject({ directives: ['clear_self_todos'] });
  await client.close();
});
