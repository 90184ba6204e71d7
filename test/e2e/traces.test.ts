/** The trace of each kind of request, from processes of their own to a collector: every span, its parent, kind and status.
 *  It must compare whole trees: a span that is missing, or one too many, fails. */
import { describe, expect, test } from 'vitest';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import type { ReceivedSpan } from '../support/otlp-spans.ts';
import { get } from '../support/public-api.ts';
import { shared } from '../support/shared.ts';
import { outline } from '../support/span-tree.ts';
import { TRACED_REQUESTS } from '../support/traced-requests.ts';
import { look, openScenes, type Scene } from '../support/traced-scenes.ts';

const collector = shared(startOtlpReceiver);
const scenes = shared(() => openScenes(collector.url));
/** Of the whole file, for the last test. */
const seen: (Scene & { tree: readonly string[] })[] = [];

const spansOf = ({ traceId }: Scene): ReceivedSpan[] =>
  collector.spans().filter((span) => span.traceId === traceId);

/** Of a request of the first tests. */
function spansIn(name: string): ReceivedSpan[] {
  const scene = seen[TRACED_REQUESTS.findIndex((request) => request.name === name)];
  return scene === undefined ? [] : spansOf(scene);
}

/** A tree is whole when its root is there, and all that it must hold. */
async function received(scene: Scene, tree: readonly string[]): Promise<ReceivedSpan[]> {
  await collector.until(() => spansOf(scene).some(({ parentId }) => parentId === ''));
  await collector.until(() => drawn(scene).length >= tree.length);
  seen.push({ ...scene, tree });
  return spansOf(scene);
}

function drawn(scene: Scene): string[] {
  try {
    return outline(spansOf(scene));
  } catch {
    return [];
  }
}

describe('the trace of', () => {
  test.each(TRACED_REQUESTS)('$name', async ({ begin, tree }) => {
    expect(outline(await received(await begin(scenes), tree))).toEqual(tree);
  });
});

describe('what spans say, and nothing else', () => {
  const requestId = expect.any(String) as string;
  const lane = (operation: string, type: string, name: string) => ({
    'messaging.system': 'bullmq',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': name,
    'messaging.message.id': expect.stringContaining('/') as string,
    'messaging.message.conversation_id': requestId,
    'adjutant.request.id': requestId,
    'adjutant.directive.id': expect.any(String) as string,
    'adjutant.directive.type': type,
  });
  const attempt = { 'adjutant.queue_ms': expect.any(Number) as number, 'adjutant.redeliveries': 0 };
  const cases: [string, string, Record<string, unknown>][] = [
    [
      'a tool call',
      'POST /v1/directives',
      {
        'http.request.method': 'POST',
        'http.route': '/v1/directives',
        'http.response.status_code': 202,
        'url.path': '/v1/directives',
        'url.scheme': 'http',
      },
    ],
    ['a tool call', 'send tool.traced', lane('send', 'tool_exec', 'tool.traced')],
    [
      'a tool call',
      'process tool.traced',
      {
        ...lane('process', 'tool_exec', 'tool.traced'),
        ...attempt,
        'adjutant.attempt': 1,
        'adjutant.fence': 1,
        'adjutant.failures': 0,
      },
    ],
    [
      'a tool call',
      'execute_tool traced.look',
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'traced.look',
        'gen_ai.tool.type': 'extension',
        'gen_ai.tool.call.id': expect.any(String),
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        'network.transport': 'pipe',
        'adjutant.mcp.server': 'traced',
        'adjutant.repeat_policy': 'read',
      },
    ],
    [
      'a fallback',
      'chat free',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'second',
        'gen_ai.request.model': 'free',
        'gen_ai.request.max_tokens': 1024,
        'gen_ai.request.temperature': 0.2,
        'gen_ai.request.stream': false,
        'gen_ai.response.model': 'free-2026',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': 7,
        'gen_ai.usage.output_tokens': 3,
      },
    ],
    [
      'a run with two calls at once',
      'invoke_agent lead',
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'lead',
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'adjutant.request.id': requestId,
        'adjutant.run.status': 'completed',
        'adjutant.run.termination_reason': 'final_answer',
        'adjutant.run.turns': expect.any(Number),
        'adjutant.run.iterations': 2,
        'adjutant.run.tool_calls': 2,
      },
    ],
  ];

  test.each(cases)('of %s: %s', (request, name, attributes) => {
    const span = spansIn(request).find((each) => each.name === name);
    expect(span?.attributes).toEqual(attributes);
  });
});

test('a provider is asked in the context of the span of its call', async () => {
  const chats = spansIn('a fallback').filter(({ name }) => name.startsWith('chat '));
  const contexts = chats.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
  expect(scenes.asked.toSorted()).toEqual(contexts.toSorted());
});

test('the API links to the trace', async () => {
  const [{ requestId, traceId } = { requestId: '', traceId: '' }] = seen;
  const { body } = await get(`${scenes.url}/v1/requests/${requestId}`);
  expect(body).toMatchObject({ trace_id: traceId, trace_url: `http://jaeger.example/trace/${traceId}` });
});

test('a program that submits without HTTP begins the trace itself', async () => {
  const { redis, prefix } = scenes.installation;
  const tracing = { url: `${collector.url}/v1/traces`, serviceName: 'program' };
  const client = await createDirectClient({ redisUrl: redis.url, prefix, knownServers: ['traced'], tracing });
  const { request_id: requestId } = await client.submit(look('direct'), { waitMs: 20_000 });
  const traceId = (await client.request(requestId))?.trace_id ?? '';
  await client.close();
  const tree = [
    'PRODUCER send tool.traced',
    '  CONSUMER process tool.traced',
    '    CLIENT execute_tool traced.look',
    '      SERVER tools/call look',
  ];
  const spans = await received({ requestId, traceId }, tree);
  expect(outline(spans)).toEqual(tree);
  expect(spans.filter(({ service }) => service === 'program').map(({ name }) => name)).toEqual([
    'send tool.traced',
  ]);
});

test('a caller that is not recorded leaves no span', async () => {
  const traceId = 'c'.repeat(32);
  const response = await fetch(`${scenes.url}/v1/directives?wait_ms=20000`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-${'d'.repeat(16)}-00` },
    body: JSON.stringify(look('quiet')),
  });
  expect(response.status).toBe(200);
  seen.push({ requestId: '', traceId, tree: [] });
});

test('when every process has stopped, no other span has come', async () => {
  await scenes.stop();
  for (const scene of seen) expect(outline(spansOf(scene))).toEqual(scene.tree);
});
