/** Attacks of the worst caller of each scope on the others: bounded in count and time, prepared before it is measured.
 *  It must only ask the address that it was given. */
import { request } from 'node:http';

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
  readonly refused: boolean;
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

const outputSchema = (title: string): object => ({
  title,
  type: 'object',
  properties: Object.fromEntries(
    numbers(1_500).map((index) => [
      `p${index}`,
      { type: 'string', pattern: `^(a|b?${index})+$`, minLength: index },
    ]),
  ),
});

const DIRECTIVES = '/v1/directives';
const directive = (args: string): string => `{"type":"tool_exec","tool_name":"${TOOL}","arguments":${args}}`;

/** The same body in each request. */
const posted =
  (path: string, body: () => unknown): Attack['prepare'] =>
  async ({ url, key }) =>
    post(`${url}${path}`, key, body());

/** Another body in each request. */
const postedAnew =
  (path: string, body: (index: number) => unknown): Attack['prepare'] =>
  async ({ url, key }) =>
  async (index, signal) =>
    post(`${url}${path}`, key, body(index))(index, signal);

const greeting = (characters: number) => (): string =>
  initialize(`{"experimental":{"x":{"y":"${'z'.repeat(characters)}"}}}`);

/** Requests that find no word, among 3,000. */
async function searched(target: Target): Promise<Shot> {
  const emitted = { type: 'emit_tool_error', id: 'one', tool_name: 'a.b', error: 'x' };
  await submitted(
    target,
    numbers(3_000 * target.scale).map((index) => ({ ...emitted, request_id: `searched-${index}` })),
  );
  return send(`${target.url}/v1/requests?q=nothinghasthisword&limit=100`, target.key, 'GET', null);
}

/** Streams of one request with 200 results of 10 kB, which stays open. */
async function streamed(target: Target): Promise<Shot> {
  const calls = numbers(200 * target.scale).map((index) => call('followed', `c${index}`, { bytes: 10_000 }));
  await submitted(target, [...calls, call('followed', 'open', { delay_ms: 10_000 })]);
  return followed(`${target.url}/v1/requests/followed/signals`, target.key);
}

async function cancelled(target: Target): Promise<Shot> {
  const calls = numbers(300 * target.scale).map((index) => call('large', `c${index}`, { bytes: 80_000 }));
  await submitted(target, calls, { wait: '?wait_ms=60000', atOnce: 8 });
  return post(`${target.url}/v1/requests/large/cancel`, target.key, {});
}

async function redriven(target: Target): Promise<Shot> {
  const failing = numbers(2_000 * target.scale).map((index) =>
    call(`dead-${index % 40}`, `c${index}`, { fails: true }),
  );
  await submitted(target, failing, { wait: '?wait_ms=60000' });
  return post(`${target.url}/v1/dead-letters/redrive`, target.key, { all: true });
}

async function madeKeys({ url, key }: Target): Promise<Shot> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return async (index, signal) => {
    const body = JSON.stringify({ name: `k${index}`, scopes: ['read'] });
    const made = await fetch(`${url}/v1/keys`, { method: 'POST', headers, body, signal });
    const { id } = (await made.json()) as { id?: string };
    if (id !== undefined) await send(`${url}/v1/keys/${id}`, key, 'DELETE', null)(index, signal);
    return String(made.status);
  };
}

type Row = readonly [
  scope: Attack['scope'],
  name: string,
  shots: number,
  atOnce: number,
  ends: 'refused' | 'answered',
  prepare: Attack['prepare'],
];

// prettier-ignore
const ROWS: readonly Row[] = [
  ['none', '2.9 MB of unknown members to /v1/session', 40, 4, 'refused', posted('/v1/session', () => members(280_000))],
  ['none', 'bodies that never end', 400, 400, 'answered', async ({ url }) => slowBody(url)],
  ['read', 'initialize with 3.9 MB', 250, 4, 'refused', posted('/mcp', greeting(3_900_000))],
  ['read', 'initialize with 200,000 members', 20, 2, 'refused', posted('/mcp', () => initialize(`{"experimental":${members(200_000)}}`))],
  ['read', 'small sessions of /mcp without end', 3_000, 16, 'answered', posted('/mcp', greeting(SESSION_BYTES))],
  ['read', 'searches that find nothing', 400, 8, 'answered', searched],
  ['read', 'many streams of one request', 600, 600, 'answered', streamed],
  ['submit', 'arguments of 90,000 members', 40, 4, 'refused', posted(DIRECTIVES, () => directive(members(90_000)))],
  ['submit', 'arguments of 250,000 members', 20, 4, 'refused', posted(DIRECTIVES, () => directive(members(250_000)))],
  ['submit', 'schemas that are slow to compile', 60, 40, 'answered', postedAnew(DIRECTIVES, (index) => ({
    type: 'llm_generate', model: 'scripted:demonstration', context: [{ role: 'user', content: 'x' }], output_schema: outputSchema(`s${index}`),
  }))],
  ['submit', 'a flood of the lane that both use', 40, 4, 'answered', postedAnew(DIRECTIVES, (index) => ({
    directives: numbers(50).map((each) => call(`flood-${index}`, `c${each}`, { delay_ms: 20 })),
  }))],
  ['submit', 'waits for one directive', 600, 300, 'answered', posted(`${DIRECTIVES}?wait_ms=30000`, () => call('waited', 'one', { delay_ms: 10_000 }))],
  ['cancel', 'cancelling a request of 300 large results', 12, 4, 'answered', cancelled],
  ['redrive', 'redriving 2,000 dead letters', 4, 1, 'answered', redriven],
  ['admin', 'keys made and revoked', 200, 4, 'answered', madeKeys],
];

export const ATTACKS: readonly Attack[] = ROWS.map(([scope, name, shots, atOnce, ends, prepare]) => {
  return { scope, name, shots, atOnce, refused: ends === 'refused', prepare };
});

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
