/** Readers of the stream benchmark: many answers at once, from the service's event streams or from the provider itself.
 *  It must not use a client that does more than read. Arguments: `service` or `provider`, base URL; each message is a number of answers. */
import { createParser } from 'eventsource-parser';
import { summarizeLatencies } from './latency.ts';
import { monotonicMs } from './monotonic-clock.ts';
import type { StreamReading } from './streams.ts';

const [source, url = ''] = process.argv.slice(2);

interface Answer {
  pieces: number;
  /** Events that carried them. */
  events: number;
  firstDelayMs: number;
}

let delaysMs: number[] = [];
let requests = 0;

process.on('message', (count: number) => void readAll(count));

async function readAll(count: number): Promise<void> {
  delaysMs = [];
  const startedAt = performance.now();
  const readOne = source === 'service' ? readFromService : readFromProvider;
  const answers = await Promise.all(Array.from({ length: count }, () => readOne()));
  const elapsedMs = performance.now() - startedAt;
  process.send?.({
    elapsedMs,
    pieces: answers.reduce((sum, { pieces }) => sum + pieces, 0),
    events: answers.reduce((sum, { events }) => sum + events, 0),
    delays: { ...summarizeLatencies(delaysMs), mostMs: delaysMs.reduce((most, ms) => Math.max(most, ms), 0) },
    firstMs: answers.map(({ firstDelayMs }) => firstDelayMs),
  } satisfies StreamReading);
}

async function readFromService(): Promise<Answer> {
  requests += 1;
  const requestId = `bench-${process.pid}-${requests}`;
  const context = [{ role: 'user', content: 'go' }];
  const directive = { type: 'llm_stream', id: 'm', request_id: requestId, model: 'bench:model', context };
  await post(`${url}/v1/directives`, directive);
  const headers = { accept: 'text/event-stream' };
  const response = await fetch(`${url}/v1/requests/${requestId}/signals`, { headers });
  return readEvents(response, (data) => {
    const { type, data: said } = JSON.parse(data) as {
      type?: string;
      data?: { delta?: string; result?: { ok: boolean } };
    };
    if (type === 'ai.llm.response' && said?.result?.ok !== true) throw new Error(data);
    return type === 'ai.llm.delta' ? (said?.delta ?? '') : '';
  });
}

async function readFromProvider(): Promise<Answer> {
  const response = await post(`${url}/v1/chat/completions`, { model: 'm', stream: true, messages: [] });
  return readEvents(response, (data) => {
    if (data === '[DONE]') return '';
    const { choices } = JSON.parse(data) as { choices: { delta?: { content?: string } }[] };
    return choices[0]?.delta?.content ?? '';
  });
}

async function post(address: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

async function readEvents(response: Response, textOf: (data: string) => string): Promise<Answer> {
  const answer = { pieces: 0, events: 0, firstDelayMs: Number.NaN };
  const parser = createParser({ onEvent: ({ data }) => note(answer, textOf(data)) });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  return answer;
}

/** Each word is the instant at which the provider wrote it. */
function note(answer: Answer, text: string): void {
  if (text === '') return;
  const now = Number(monotonicMs());
  answer.events += 1;
  for (const word of text.trimEnd().split(' ')) {
    const delayMs = now - Number(word);
    delaysMs.push(delayMs);
    if (answer.pieces === 0) answer.firstDelayMs = delayMs;
    answer.pieces += 1;
  }
}
