/** The trace of each kind of request, from processes of their own to a collector: every span, its parent, kind and status.
 *  It must compare whole trees: a span that is missing, or one too many, fails. */
import { describe, expect, test } from 'vitest';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import type { ReceivedSpan } from '../support/otlp-spans.ts';
import { get } from '../support/public-api.ts';
import { shared } from '../support/shared.ts';
import { outline } from '../support/span-tree.ts';
import { faultsOf } from '../support/span-rules.ts';
import { TRACED_REQUESTS } from '../support/traced-requests.ts';
import { look, openScenes, type Scene } from '../support/traced-scenes.ts';

const collector = shared(startOtlpReceiver);
const scenes = shared(() => openScenes(collector.url, { untilArrived }));
/** Of the whole file, for the last test. */
const seen: (Scene & { tree: readonly string[] })[] = [];

const spansOf = ({ traceId }: Pick<Scene, 'traceId'>): ReceivedSpan[] =>
  collector.spans().filter((span) => span.traceId === traceId);

function untilArrived(traceId: string, name: string, count: number): Promise<void> {
  return collector.until(() => spansOf({ traceId }).filter((span) => span.name === name).length >= count);
}

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

test('a provider is asked in the context of the span of its call', async () => {
  const names = ['a fallback', 'an embedding', 'a provider that asks to slow down', 'a run with all of it'];
  const calls = names.flatMap(spansIn).filter(({ name }) => /^(chat|embeddings) /.test(name));
  const contexts = calls.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
  expect(scenes.asked.toSorted()).toEqual(contexts.toSorted());
});

test('an MCP server over HTTP gets the context in `_meta` and in its header, one over stdio in `_meta`', () => {
  const seenIn = (name: string): unknown[] =>
    spansIn(name)
      .filter(({ service }) => service === 'tools')
      .map(({ attributes }) => attributes['tools.traceparent']);
  expect(seenIn('a tool call')).toEqual(['_meta']);
  expect(seenIn('a call over HTTP')).toEqual(['_meta and header']);
});

test('the API links to the trace', async () => {
  const [{ requestId, traceId } = { requestId: '', traceId: '' }] = seen;
  const { body } = await get(`${scenes.url}/v1/requests/${requestId}`);
  expect(body).toMatchObject({ trace_id: traceId, trace_url: `http://jaeger.example/trace/${traceId}` });
});

test('a program that submits without HTTP begins the trace itself', () => {
  const own = spansIn('a program that submits without HTTP').filter(({ service }) => service === 'program');
  expect(own.map(({ name }) => name)).toEqual(['send tool.traced']);
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
  for (const scene of seen) {
    expect(outline(spansOf(scene))).toEqual(scene.tree);
    // Every attribute, event and link, and nothing else.
    expect(faultsOf(spansOf(scene))).toEqual([]);
  }
});
