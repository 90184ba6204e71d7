// What a user asks of the API of a running composition, again and again while roles restart.
// Must never read the journal, nor ask another address than the one that the composition publishes.
import { setTimeout as pause } from 'node:timers/promises';
import { demand } from './report.ts';

export const API = 'http://127.0.0.1:7420';
const LONGEST_MS = 120_000;
const LONGEST_ANSWER_MS = 30_000;

interface DirectiveView {
  readonly trace_id?: string;
  readonly status: string;
  readonly redeliveries: number;
  readonly attempts: number;
  readonly result: { readonly type: string } | null;
}

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** Asks again while nobody listens: a role may be restarting. */
export async function ask<T>(url: string, body?: unknown): Promise<Answer<T>> {
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return until(`an answer of ${url}`, async () => {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(LONGEST_ANSWER_MS) });
    const read = { status: answer.status, body: (await answer.json()) as T };
    return answer.status >= 500 ? null : read;
  });
}

/** Repeats until it is not null; a rejection counts as null. */
export async function until<T>(what: string, read: () => Promise<T | null>): Promise<T> {
  const endsAt = performance.now() + LONGEST_MS;
  let last = '';
  while (performance.now() < endsAt) {
    const found = await read().catch((error: Error) => void (last = error.message));
    if (found !== null && found !== undefined) return found;
    await pause(100);
  }
  throw new Error(`${what}: not within ${LONGEST_MS / 1_000} s ${last}`);
}

export async function untilTrue(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await until(what, async () => ((await holds()) ? true : null));
}

export async function untilReady(): Promise<void> {
  await untilTrue('/readyz', async () => (await fetch(`${API}/readyz`)).ok);
}

export async function submit(id: string, tool: string, args: object, more: object = {}): Promise<void> {
  const directive = {
    type: 'tool_exec',
    request_id: 'deploy',
    id,
    tool_name: tool,
    arguments: args,
    ...more,
  };
  const { status, body } = await ask(`${API}/v1/directives`, directive);
  demand(status === 202, `${id} was not accepted: ${status} ${JSON.stringify(body)}`);
}

export async function ended(id: string): Promise<DirectiveView> {
  return until(`the end of ${id}`, async () => {
    const { status, body } = await ask<DirectiveView>(
      `${API}/v1/requests/deploy/directives/${id}?wait_ms=10000`,
    );
    return status === 200 && body.result !== null ? body : null;
  });
}

/** How many signals end the directive. */
export async function endsOf(id: string): Promise<number> {
  const { body } = await ask<{ signals: { type: string; directive_id?: string; data?: unknown }[] }>(
    `${API}/v1/requests/deploy/signals?limit=1000`,
  );
  const ends = new Set(['ai.tool.result', 'ai.tool.error']);
  return body.signals.filter((signal) => ends.has(signal.type) && JSON.stringify(signal).includes(`"${id}"`))
    .length;
}

export async function workersOf(lane: string): Promise<number> {
  const { body } = await ask<{ lanes: { name: string; workers: number }[] }>(`${API}/v1/lanes`);
  return body.lanes.find(({ name }) => name === lane)?.workers ?? 0;
}

/** A call of a tool that answers with what it was given. */
export async function callsTool(id: string): Promise<void> {
  await submit(id, 'everything.echo', { message: `hello ${id}` });
  const { status, result } = await ended(id);
  demand(
    status === 'succeeded' && JSON.stringify(result).includes(`hello ${id}`),
    `${id} ended as ${status}`,
  );
}

/** Of a scripted model. */
export async function runsAgent(id: string): Promise<void> {
  const start = { request_id: id, agent: 'default', query: 'What is 17*23?' };
  const { status } = await ask(`${API}/v1/requests`, start);
  demand(status === 202, `the run was not accepted: ${status}`);
  const run = await until('the end of the run', async () => {
    const { body } = await ask<{ status: string; run?: { status: string } }>(`${API}/v1/requests/${id}`);
    return body.status === 'closed' ? (body.run ?? null) : null;
  });
  demand(run.status === 'completed', `the run ended as ${run.status}`);
}
