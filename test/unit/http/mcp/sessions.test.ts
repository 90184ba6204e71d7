/** The sessions of older clients: how many there may be, and what ends one.
 *  It must not need a service: a server without tools answers. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import {
  createSessionPool,
  createSessions,
  type SessionPool,
  type Sessions,
} from '../../../../src/http/mcp/sessions.ts';

const MOST = 2;
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'host', version: '1' } },
};

const poolOf = (mostOfCaller = MOST): SessionPool => createSessionPool({ most: MOST, mostOfCaller });

function openSessions(idleMs = 60_000, callerOf?: () => string, pool = poolOf()): Sessions {
  const createServer = async (): Promise<Server> => {
    const server = new Server({ name: 'empty', version: '1' }, { capabilities: {} });
    server.fallbackRequestHandler = async () => new Promise<never>(() => {});
    return server;
  };
  const sessions = createSessions({ createServer, callerOf, pool, idleMs });
  onTestFinished(async () => sessions.close());
  return sessions;
}

async function ask(sessions: Sessions, body: unknown, session?: string): Promise<Response> {
  const headers = { ...HEADERS, ...(session === undefined ? {} : { 'mcp-session-id': session }) };
  return sessions.handle(new Request('http://localhost/mcp', { method: 'POST', headers }), body);
}

/** Resolves with its id once the answer is read: it is idle then. */
async function begin(sessions: Sessions): Promise<string> {
  const response = await ask(sessions, INITIALIZE);
  await response.text();
  await turnOfTheLoop();
  return response.headers.get('mcp-session-id') ?? '';
}

async function statusOf(sessions: Sessions, session: string): Promise<number> {
  const response = await ask(sessions, { jsonrpc: '2.0', id: 2, method: 'ping' }, session);
  await response.text();
  return response.status;
}

test('one too many takes the place of the one that is idle longest', async () => {
  const sessions = openSessions();
  const [first, second] = [await begin(sessions), await begin(sessions)];
  expect(await statusOf(sessions, first), 'the second is idle longest now').toBe(200);
  const third = await begin(sessions);
  expect(await Promise.all([first, second, third].map(async (id) => statusOf(sessions, id)))).toEqual([
    200, 404, 200,
  ]);
});

/** Resolves with the response of a stream on which the client listens. */
async function listen(sessions: Sessions, session: string): Promise<Response> {
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session };
  return sessions.handle(new Request('http://localhost/mcp', { headers }), undefined);
}

test('while all of them answer, a further one is refused', async () => {
  const sessions = openSessions();
  const open = await Promise.all(
    Array.from({ length: MOST }, async () =>
      ask(sessions, { jsonrpc: '2.0', id: 2, method: 'hang' }, await begin(sessions)),
    ),
  );
  expect(open.map(({ status }) => status)).toEqual(Array.from({ length: MOST }, () => 200));
  expect((await ask(sessions, INITIALIZE)).status).toBe(503);
  await open[0]?.body?.cancel();
  await expect.poll(async () => (await ask(sessions, INITIALIZE)).status).toBe(200);
});

test('who only listens shuts nobody out, and is closed after those who do not even listen', async () => {
  const sessions = openSessions();
  const listening = await begin(sessions);
  const stream = await listen(sessions, listening);
  const silent = await begin(sessions);
  await begin(sessions);
  expect(await statusOf(sessions, silent)).toBe(404);
  const other = await begin(sessions);
  await listen(sessions, other);
  await begin(sessions);
  expect(await statusOf(sessions, listening), 'it was used before the other one').toBe(404);
  await expect(stream.text()).resolves.toBe('');
});

test('as many as there may be begin at once, and what is no handshake leaves none behind', async () => {
  const sessions = openSessions();
  const invalid = { ...INITIALIZE, id: null };
  const refused = await Promise.all(Array.from({ length: 5 * MOST }, async () => ask(sessions, invalid)));
  expect(refused.map(({ status }) => status)).not.toContain(200);
  const begun = await Promise.all(Array.from({ length: 5 * MOST }, async () => ask(sessions, INITIALIZE)));
  await Promise.all(begun.map(async (response) => response.text()));
  const ids = begun.flatMap(({ headers }) => headers.get('mcp-session-id') ?? []);
  expect(ids).toHaveLength(MOST);
  expect(await Promise.all(ids.map(async (id) => statusOf(sessions, id)))).not.toContain(404);
});

test('a session is closed when it is not used', async () => {
  const sessions = openSessions(5);
  const session = await begin(sessions);
  await expect.poll(async () => statusOf(sessions, session), { interval: 50 }).toBe(404);
});

test('what names no session begins one, or is refused', async () => {
  const sessions = openSessions();
  const refused = await ask(sessions, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('`initialize` first'),
  ]);
  expect(await statusOf(sessions, 'made-up')).toBe(404);
});

test('a session is that of the caller who began it: for others it does not exist', async () => {
  let caller = 'ana';
  const sessions = openSessions(60_000, () => caller);
  const session = await begin(sessions);
  caller = 'bob';
  expect(await statusOf(sessions, session)).toBe(404);
  caller = 'ana';
  expect(await statusOf(sessions, session)).toBe(200);
});

// Issue 33, point 2: one caller with a key kept sessions at each endpoint until the API ended by memory.
test('a caller with as many sessions as one may have replaces its own, at whichever endpoint', async () => {
  const pool = poolOf(1);
  let caller = 'other';
  const [sessions, elsewhere] = [
    openSessions(60_000, () => caller, pool),
    openSessions(60_000, () => caller, pool),
  ];
  const others = await begin(sessions);
  caller = 'greedy';
  const first = await begin(sessions);
  const second = await begin(elsewhere);
  expect(await statusOf(sessions, first)).toBe(404);
  expect(await statusOf(elsewhere, second)).toBe(200);
  caller = 'other';
  expect(await statusOf(sessions, others)).toBe(200);
});

test('sessions of different endpoints count together', async () => {
  const pool = poolOf();
  const [sessions, elsewhere] = [
    openSessions(60_000, undefined, pool),
    openSessions(60_000, undefined, pool),
  ];
  const first = await begin(sessions);
  await begin(elsewhere);
  await begin(elsewhere);
  expect(await statusOf(sessions, first)).toBe(404);
});

// Issue 33, point 2: hundreds of sessions a second of one caller took the event loop from all others.
test('sessions that a caller begins faster than its rate wait for each other, and at last are refused; those of others begin at once', () => {
  const clock = { now: 0 };
  const pool = createSessionPool({ most: 1_000, mostOfCaller: 100 }, () => clock.now);
  const waits = Array.from({ length: 1_000 }, () => pool.beginIn('a'));
  expect(waits.slice(0, 101)).toEqual(Array.from({ length: 101 }, () => 0));
  expect(waits[102]).toBeCloseTo(40);
  expect(waits.at(-1)).toBeNull();
  expect(waits.filter((wait) => wait !== null).length).toBeLessThan(610);
  expect(pool.beginIn('b')).toBe(0);
  clock.now += 20_000;
  expect(pool.beginIn('a')).toBe(0);
});
