/** Large answers in one worker: few of them are in memory at once, from the first bytes above 1 MiB until they are recorded. */
import { expect, test } from 'vitest';
import { completeDirective, parseSubmission } from '../../../../src/contract/directive/directive.ts';
import { NO_MODEL_BUDGETS } from '../../../../src/contract/model/budget.ts';
import { llmRequest } from '../../../../src/features/model-endpoint/llm-request.ts';
import { createRegistry } from '../../../../src/worker/executors/registry.ts';
import { providersAt, recordingLimiter } from '../../../support/model-calls.ts';
import { json, sse, startProvider, STREAM_HEAD } from '../../../support/provider-server.ts';
import { shared } from '../../../support/shared.ts';

const MIB = 1_024 * 1_024;
const STREAM = { id: 'x', object: 'chat.completion.chunk', model: 'm' };

/** Answers with so many MiB of text as its user asks for, in as many events where it is streamed. */
const provider = shared(async () =>
  startProvider((response, request, index) => {
    const { user, stream } = request.body as { user: string; stream?: boolean };
    const [mib = 0, events = 1] = user.split('/').map(Number);
    const part = 'a'.repeat((mib * MIB) / events);
    if (stream !== true) {
      const choices = [{ index: 0, message: { role: 'assistant', content: part }, finish_reason: 'stop' }];
      return json(200, { id: 'x', object: 'chat.completion', model: 'm', choices })(response, request, index);
    }
    const chunk = { ...STREAM, choices: [{ index: 0, delta: { content: part }, finish_reason: null }] };
    const last = { ...STREAM, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    response.writeHead(200, STREAM_HEAD);
    response.end(`${sse(Array.from({ length: events }, () => chunk))}${sse([last])}data: [DONE]\n\n`);
    return undefined;
  }),
);

function calls() {
  const modelsOf = () => [];
  const options = { providers: providersAt(provider.url, 'openai-chat'), limiter: recordingLimiter() };
  const definition = createRegistry([llmRequest({ ...options, budgets: NO_MODEL_BUDGETS, modelsOf })]).queued(
    'llm_request',
  );
  const signal = new AbortController().signal;
  return (user: string, stream = false) => {
    const body = JSON.stringify({ model: 'm', messages: [], user, ...(stream ? { stream } : {}) });
    const parsed = parseSubmission({ type: 'llm_request', wire: 'openai_chat', model: 'p:m', body });
    if (!parsed.ok || parsed.directives[0] === undefined || !definition) throw new Error('no call');
    const directive = completeDirective(parsed.directives[0], { id: 'd', request_id: 'r' });
    const recording = new DisposableStack();
    const execution = definition.execute(directive, {
      lane: 'llm.p',
      models: ['p:m'],
      candidate: { index: 0, history: [] },
      tenant: 'default',
      attempt: 1,
      redeliveries: 0,
      signal,
      remainingMs: 60_000,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      idempotencyKey: 'key',
      report: () => {},
      drained: () => Promise.resolve(true),
      whenRecorded: (release) => recording.defer(release),
    });
    return { execution, recording };
  };
}

// Twenty answers of 25 MB took 1.4 GB in a worker: each gave its place back before it was recorded, and events of streams took none.
test.each([
  ['whole', '2', false],
  ['with a large event', '2', true],
  ['with a large text of small events', '2/64', true],
])(
  'a fifth large answer, %s, waits until one of four is recorded; a small one does not',
  async (_how, user, stream) => {
    const call = calls();
    const four = Array.from({ length: 4 }, () => call('2'));
    for (const { execution } of four) expect(await execution).toMatchObject({ result: { ok: true } });
    const ended: string[] = [];
    const fifth = call(user, stream);
    const waiting = fifth.execution.then((execution) => {
      ended.push('large');
      return execution;
    });
    for (let at = 0; at < 30; at += 1)
      expect(await call('0.1', stream).execution).toMatchObject({ result: { ok: true } });
    expect(ended).toEqual([]);
    four[0]?.recording.dispose();
    expect(await waiting).toMatchObject({ result: { ok: true } });
  },
);
