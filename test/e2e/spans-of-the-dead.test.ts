/** Processes that are killed before a collector has their spans: the tree is whole all the same.
 *  It must kill for real, and know that the spans were lost: their process reports to a collector that never answers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AdjutantProcess, install } from '../support/installation.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { follow, get, post, untilClosed } from '../support/public-api.ts';
import { shared } from '../support/shared.ts';
import { outline } from '../support/span-tree.ts';
import { look } from '../support/traced-scenes.ts';

const collector = shared(startOtlpReceiver);
const place = shared(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-dead-'));
  const script = join(folder, 'turns.json');
  await writeFile(script, JSON.stringify({ turns: [{ text: 'done' }] }));
  const env = { COUNTER_FILE: join(folder, 'calls'), TRACES_URL: `${collector.url}/v1/traces` };
  const config = {
    mcpServers: { traced: ownServerEntry('traced.ts', env) },
    providers: { script: { type: 'scripted', file: script, pace: 10_000 } },
    models: { fast: ['script:m'] },
    agents: { lead: { model_alias: 'fast' } },
    telemetry: { endpoint: collector.url },
  };
  const installation = await install({ config });
  // It looks after the dead, too.
  const [api] = await Promise.all([installation.start('api'), installation.start('worker')]);
  return {
    installation,
    url: api.url,
    async [Symbol.asyncDispose](): Promise<void> {
      await installation[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

/** A process whose spans nobody ever has. */
async function startUnheard(role: 'api' | 'engine'): Promise<[AdjutantProcess, OtlpReceiver]> {
  const deaf = await startOtlpReceiver();
  deaf.answer('nothing');
  const url = `${deaf.url}/v1/traces`;
  return [await place.installation.start(role, 0, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url }), deaf];
}

async function traceOf(requestId: string): Promise<string> {
  const { body } = await get<{ trace_id: string }>(`${place.url}/v1/requests/${requestId}`);
  return body.trace_id;
}

/** As soon as it has as many lines, without the turns in which nothing happened. */
async function treeOf(traceId: string, lines: number): Promise<string[]> {
  const drawn = (): string[] => {
    try {
      return outline(collector.spans().filter((span) => span.traceId === traceId));
    } catch {
      return [];
    }
  };
  await collector.until(() => drawn().length >= lines);
  return drawn();
}

const CALL = [
  '    CONSUMER process tool.traced',
  '      CLIENT execute_tool traced.look',
  '        SERVER tools/call look',
];

describe.concurrent('the trace of', () => {
  test('an API that dies right after the acceptance', async () => {
    const [api, deaf] = await startUnheard('api');
    await using _ = deaf;
    const { body } = await post<{ request_id: string }>(`${api.url}/v1/directives`, look('accepted'));
    await deaf.until(() => deaf.requests() > 0);
    await api.kill9();
    await untilClosed(place.url, body.request_id);
    const tree = [
      'SERVER POST /v1/directives • process.lost',
      '  PRODUCER send tool.traced • process.lost',
      ...CALL,
    ];
    expect(await treeOf(await traceOf(body.request_id), tree.length)).toEqual(tree);
  });

  test('an API that dies while its caller waits: what it had sent is there once', async () => {
    const api = await place.installation.start('api');
    const traceId = 'e'.repeat(32);
    const request_id = 'waited-for';
    const isCutOff = fetch(`${api.url}/v1/directives?wait_ms=30000`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-${'f'.repeat(16)}-01` },
      body: JSON.stringify({ ...look('waited', { holds: 1 }), request_id, id: 'one', timeout_ms: 20_000 }),
    }).then(
      () => false,
      () => true,
    );
    const isSent = (id: string): Promise<void> =>
      collector.until((spans) => spans.some((span) => span.traceId === id && span.kind === 'PRODUCER'));
    await isSent(traceId);
    // One export follows the other: when the second is there, the first was acknowledged.
    const later = await post<{ request_id: string }>(`${api.url}/v1/directives`, look('later'));
    await isSent(await traceOf(later.body.request_id));
    await api.kill9();
    expect(await isCutOff).toBe(true);
    await post(`${place.url}/v1/requests/${request_id}/cancel`, {});
    const spansOf = () => collector.spans().filter((span) => span.traceId === traceId);
    await collector.until(() => spansOf().length >= 5);
    const titles = spansOf().map(({ kind, events }) => [kind, ...events.map(({ name }) => name)].join(' '));
    expect(titles.toSorted()).toEqual([
      'CLIENT',
      'CONSUMER directive.cancelled',
      'PRODUCER',
      'SERVER',
      'SERVER process.lost',
    ]);
  });

  // One after the other: each would take the run of the other.
  describe('an engine', { concurrent: false }, () => {
    test('that dies right after a turn, and another one goes on', async () => {
      const { body } = await post<{ request_id: string }>(`${place.url}/v1/requests`, {
        agent: 'lead',
        query: 'go',
      });
      const [engine, deaf] = await startUnheard('engine');
      await using _ = deaf;
      await deaf.until(() => deaf.requests() > 0);
      await engine.kill9();
      const other = await place.installation.start('engine');
      for await (const _signal of follow(place.url, body.request_id));
      const tree = [
        'SERVER POST /v1/requests',
        '  INTERNAL invoke_agent lead',
        '    INTERNAL turn lead',
        '      PRODUCER send llm.script',
        '        CONSUMER process llm.script',
        '          CLIENT chat m',
      ];
      const traceId = await traceOf(body.request_id);
      const drawn = await treeOf(traceId, tree.length);
      const isTurn = (line: string): boolean => line.startsWith('    INTERNAL turn lead');
      expect(drawn.find(isTurn)).toBe('    INTERNAL turn lead • process.lost');
      // Where the first engine was faster than its death, it took the last turn as well.
      const first = drawn.map((line) => line.replace(' • process.lost', ''));
      expect(first.slice(0, tree.length)).toEqual(tree);
      expect(first.slice(tree.length).every(isTurn)).toBe(true);
      await other.stop();
    });

    test('that dies right after the last turn of a run', async () => {
      const { body } = await post<{ request_id: string }>(`${place.url}/v1/requests`, {
        agent: 'lead',
        query: 'no',
      });
      await post(`${place.url}/v1/requests/${body.request_id}/cancel`, {});
      const [engine, deaf] = await startUnheard('engine');
      await using _ = deaf;
      await deaf.until(() => deaf.requests() > 0);
      await engine.kill9();
      const tree = [
        'SERVER POST /v1/requests',
        '  INTERNAL invoke_agent lead ✗ cancelled • run.cancelled • process.lost',
        '    INTERNAL turn lead • ai.request.cancel_requested • process.lost',
      ];
      expect(await treeOf(await traceOf(body.request_id), tree.length)).toEqual(tree);
    });
  });
});
