/** Attacks of the worst caller of each scope on the others: bounded in count and time, prepared before it is measured.
 *  It must only ask the address that it was given. */
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface Target {
  readonly url: string;
  /** The key of the attack's scope; absent: none. */
  readonly key?: string;
  /** The tenant's key with every scope, for what has to be there before. */
  readonly setupKey: string;
  /** `1` is the whole attack; less is a part of it. */
  readonly scale: number;
}

/** One request of the attack; resolves with the status, or with the reason why there was none. */
type Shot = (index: number, signal: AbortSignal) => Promise<string>;

export interface Attack {
  readonly name: string;
  readonly scope: 'none' | 'read' | 'submit' | 'cancel' | 'redrive' | 'admin';
  /** How many requests there are, and how many at once. */
  readonly shots: number;
  readonly atOnce: number;
  /** Every request of it has to be refused (4xx). */
  readonly refused?: boolean;
  prepare(target: Target): Promise<Shot>;
}

/** The status of a request that the attack did not wait for. */
export const UNANSWERED = 'unanswered';
const TOOL = 'shared.answer';
const SESSION_BYTES = 4 * 1_024;

const members = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;

function send(url: string, key: string | undefined, method: string, body: string | null): Shot {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  return async (_, signal) => {
    const answer = await fetch(url, { method, headers, body, signal });
    await answer.arrayBuffer();
    return String(answer.status);
  };
}

const post = (url: string, key: string | undefined, body: unknown): Shot =>
  send(url, key, 'POST', typeof body === 'string' ? body : JSON.stringify(body));

const call = (request_id: string, id: string, args: object = {}) =>
  ({
    type: 'tool_exec',
    request_id,
    id,
    tool_name: TOOL,
    arguments: args,
    max_retries: 0,
  }) as const;

/** Submits each body; throws the answer of one that was not taken. */
async function submitted(
  { url, setupKey }: Target,
  bodies: readonly object[],
  { wait = '', atOnce = 16 } = {},
): Promise<void> {
  const waiting = [...bodies];
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${setupKey}` };
  const next = async (): Promise<void> => {
    for (let body = waiting.pop(); body !== undefined; body = waiting.pop()) {
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = await fetch(`${url}/v1/directives${wait}`, init);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`the preparation was answered with ${answer.status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

const numbers = (count: number): number[] => Array.from({ length: Math.ceil(count) }, (_, index) => index);

function initialize(capabilities: string): string {
  const params = `{"protocolVersion":"2025-06-18","clientInfo":{"name":"a","version":"1"},"capabilities":${capabilities}}`;
  return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${params}}`;
}

/** A body that never ends, a byte every half second; counts as refused when the service ends it. */
function slowBody(url: string): Shot {
  return async (_, signal) =>
    new Promise((resolve) => {
      const headers = { 'content-type': 'application/json', 'content-length': '16000' };
      const sent = request(`${url}/v1/session`, { method: 'POST', headers, signal }, (answer) => {
        answer.resume();
        resolve(String(answer.statusCode));
      });
      sent.once('error', (error) => resolve(signal.aborted ? UNANSWERED : error.message));
      const timer = setInterval(() => sent.write(' '), 500);
      sent.once('close', () => clearInterval(timer));
    });
}

/** Reads the stream until the attack is over. */
function followed(url: string, key: string | undefined): Shot {
  return async (_, signal) => {
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${key}` };
    const answer = await fetch(url, { headers, signal });
    try {
      for await (const _chunk of answer.body ?? []);
    } catch {
      if (!signal.aborted) return 'cut';
    }
    return String(answer.status);
  };
}

const outputSchema = (properties: number): object => ({
  type: 'object',
  properties: Object.fromEntries(
    numbers(properties).map((index) => [
      `p${index}`,
      { type: 'string', pattern: `^(a|b?${index})+$`, minLength: index },
    ]),
  ),
});

export const ATTACKS: readonly Attack[] = [
  {
    name: '2.9 MB of unknown members to /v1/session',
    scope: 'none',
    shots: 40,
    atOnce: 4,
    refused: true,
    prepare: async ({ url }) => post(`${url}/v1/session`, undefined, members(280_000)),
  },
  {
    name: 'bodies that never end',
    scope: 'none',
    shots: 400,
    atOnce: 400,
    prepare: async ({ url }) => slowBody(url),
  },
  {
    name: 'initialize with 3.9 MB',
    scope: 'read',
    shots: 250,
    atOnce: 4,
    refused: true,
    prepare: async ({ url, key }) =>
      post(`${url}/mcp`, key, initialize(`{"experimental":{"x":{"y":"${'z'.repeat(3_900_000)}"}}}`)),
  },
  {
    name: 'initialize with 200,000 members',
    scope: 'read',
    shots: 20,
    atOnce: 2,
    refused: true,
    prepare: async ({ url, key }) =>
      post(`${url}/mcp`, key, initialize(`{"experimental":${members(200_000)}}`)),
  },
  {
    name: 'small sessions of /mcp without end',
    scope: 'read',
    shots: 3_000,
    atOnce: 16,
    prepare: async ({ url, key }) =>
      post(`${url}/mcp`, key, initialize(`{"experimental":{"x":{"y":"${'z'.repeat(SESSION_BYTES)}"}}}`)),
  },
  {
    name: 'searches that find nothing',
    scope: 'read',
    shots: 400,
    atOnce: 8,
    async prepare(target) {
      const { url, key, scale } = target;
      const emitted = { type: 'emit_tool_error', id: 'one', tool_name: 'a.b', error: 'x' };
      await submitted(
        target,
        numbers(3_000 * scale).map((index) => ({ ...emitted, request_id: `searched-${index}` })),
      );
      return send(`${url}/v1/requests?q=nothinghasthisword&limit=100`, key, 'GET', null);
    },
  },
  {
    name: 'many streams of one request',
    scope: 'read',
    shots: 600,
    atOnce: 600,
    async prepare(target) {
      const { url, key, scale } = target;
      const calls = numbers(200 * scale).map((index) => call('followed', `c${index}`, { bytes: 10_000 }));
      await submitted(target, [...calls, call('followed', 'open', { delay_ms: 10_000 })]);
      return followed(`${url}/v1/requests/followed/signals`, key);
    },
  },
  {
    name: 'arguments of 90,000 members',
    scope: 'submit',
    shots: 40,
    atOnce: 4,
    refused: true,
    prepare: async ({ url, key }) =>
      post(
        `${url}/v1/directives`,
        key,
        `{"type":"tool_exec","tool_name":"${TOOL}","arguments":${members(90_000)}}`,
      ),
  },
  {
    name: 'arguments of 250,000 members',
    scope: 'submit',
    shots: 20,
    atOnce: 4,
    refused: true,
    prepare: async ({ url, key }) =>
      post(
        `${url}/v1/directives`,
        key,
        `{"type":"tool_exec","tool_name":"${TOOL}","arguments":${members(250_000)}}`,
      ),
  },
  {
    name: 'schemas that are slow to compile',
    scope: 'submit',
    shots: 60,
    atOnce: 40,
    prepare:
      async ({ url, key }) =>
      async (index, signal) => {
        const asked = {
          type: 'llm_exec',
          model: 'scripted:demonstration',
          context: [{ role: 'user', content: 'x' }],
        };
        const directive = { ...asked, output_schema: { ...outputSchema(1_500), title: `s${index}` } };
        return post(`${url}/v1/directives`, key, directive)(index, signal);
      },
  },
  {
    name: 'a flood of the lane that both use',
    scope: 'submit',
    shots: 40,
    atOnce: 4,
    prepare:
      async ({ url, key }) =>
      async (index, signal) => {
        const directives = numbers(50).map((each) => call(`flood-${index}`, `c${each}`, { delay_ms: 20 }));
        return post(`${url}/v1/directives`, key, { directives })(index, signal);
      },
  },
  {
    name: 'waits for one directive',
    scope: 'submit',
    shots: 600,
    atOnce: 300,
    prepare: async ({ url, key }) =>
      post(`${url}/v1/directives?wait_ms=30000`, key, call('waited', 'one', { delay_ms: 10_000 })),
  },
  {
    name: 'cancelling a request of 300 large results',
    scope: 'cancel',
    shots: 12,
    atOnce: 4,
    async prepare(target) {
      const { url, key, scale } = target;
      const calls = numbers(300 * scale).map((index) => call('large', `c${index}`, { bytes: 80_000 }));
      await submitted(target, calls, { wait: '?wait_ms=60000', atOnce: 8 });
      return post(`${url}/v1/requests/large/cancel`, key, {});
    },
  },
  {
    name: 'redriving 2,000 dead letters',
    scope: 'redrive',
    shots: 4,
    atOnce: 1,
    async prepare(target) {
      const { url, key, scale } = target;
      const failing = numbers(2_000 * scale).map((index) =>
        call(`dead-${index % 40}`, `c${index}`, { fails: true }),
      );
      await submitted(target, failing);
      await untilEmpty(target);
      return post(`${url}/v1/dead-letters/redrive`, key, { all: true });
    },
  },
  {
    name: 'keys made and revoked',
    scope: 'admin',
    shots: 200,
    atOnce: 4,
    prepare:
      async ({ url, key }) =>
      async (index, signal) => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        const body = JSON.stringify({ name: `k${index}`, scopes: ['read'] });
        const made = await fetch(`${url}/v1/keys`, { method: 'POST', headers, body, signal });
        const { id } = (await made.json()) as { id?: string };
        if (id !== undefined) await send(`${url}/v1/keys/${id}`, key, 'DELETE', null)(index, signal);
        return String(made.status);
      },
  },
];

/** Resolves when nothing of the shared lane waits or runs. */
async function untilEmpty({ url, setupKey }: Target): Promise<void> {
  const headers = { authorization: `Bearer ${setupKey}` };
  for (let tries = 0; tries < 600; tries += 1) {
    const answer = await fetch(`${url}/v1/lanes`, { headers });
    const { lanes } = (await answer.json()) as {
      lanes: { name: string; waiting: number; active: number; delayed: number }[];
    };
    const lane = lanes.find(({ name }) => name === 'tool.shared');
    if (lane !== undefined && lane.waiting + lane.active + lane.delayed === 0) return;
    await delay(200);
  }
  throw new Error('the lane did not become empty');
}

export type Statuses = Readonly<Record<string, number>>;

/** Carries out a prepared attack until all its requests are answered or `over`; resolves with how often each status came. */
export async function carryOut(
  { shots: all, atOnce }: Attack,
  shoot: Shot,
  { scale, over }: { readonly scale: number; readonly over: AbortSignal },
): Promise<Statuses> {
  const statuses: Record<string, number> = {};
  const shots = Math.max(1, Math.ceil(all * scale));
  let begun = 0;
  const repeat = async (): Promise<void> => {
    while (begun < shots && !over.aborted) {
      begun += 1;
      const status = await shoot(begun, over).catch((error: Error) =>
        over.aborted ? UNANSWERED : error.message,
      );
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, shots) }, repeat));
  return statuses;
}
