/** The kept lists of servers: when one is read again, and what of it is shown.
 *  It must not need a server: what is read is given. */
import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { expect, test, vi } from 'vitest';
import { servePassThrough } from '../../../../src/http/mcp/calls/pass-through.ts';
import { createServerLists } from '../../../../src/http/mcp/server-lists.ts';
import type { ToolSource } from '../../../../src/http/mcp/tool-source.ts';

const SERVER = (revision: string) => ({ name: 's', offers: { resources: true as const, revision } });
const GOOD = { uri: 'x:1', name: 'one' };

test('a wrong entry is left out, and the others are shown', async () => {
  const wrong = [
    { uri: 5, name: 'n' },
    { name: 'n' },
    null,
    { uri: 'x: y', name: 'n' },
    { uri: 'x:\u0007', name: 'n' },
  ];
  const long = { uri: `x:${'1'.repeat(2_048)}`, name: 'long' };
  const lists = createServerLists(async () => ({ resources: [...wrong, long, GOOD] }));
  expect(await lists.resources(SERVER(''))).toEqual([GOOD]);
});

test('what is no list is empty', async () => {
  const lists = createServerLists(async () => ({ resources: { length: 3 } }));
  expect(await lists.resources(SERVER(''))).toEqual([]);
});

test('it is read once until the server announces a change, and stays where it cannot be read again', async () => {
  let reads = 0;
  const lists = createServerLists(async () => {
    reads += 1;
    if (reads === 2) throw new Error('away');
    return { resources: [{ ...GOOD, name: `read ${reads}` }] };
  });
  const names = async (revision: string) =>
    ((await lists.resources(SERVER(revision))) ?? []).map(({ name }) => name);
  expect(await Promise.all([names('1'), names('1')])).toEqual([['read 1'], ['read 1']]);
  expect(await names('2')).toEqual(['read 1']);
  expect(await names('3')).toEqual(['read 3']);
  expect(reads).toBe(3);
});

test('a list that was never read is unknown, and one that its server does not have is empty', async () => {
  const failing = (code: number) =>
    createServerLists(async () => {
      throw new ProtocolError(code, 'no');
    });
  expect(await failing(ProtocolErrorCode.InternalError).templates(SERVER(''))).toBeNull();
  expect(await failing(ProtocolErrorCode.MethodNotFound).templates(SERVER(''))).toEqual([]);
});

test('a server that hangs costs its first caller the wait for its answer, and later ones a moment at most', async () => {
  vi.useFakeTimers();
  try {
    const answers: (() => void)[] = [];
    const read = vi.fn(
      async () =>
        new Promise<{ resources: object[] }>((resolve, reject) => {
          answers.push(() => resolve({ resources: [GOOD] }));
          setTimeout(() => reject(new Error('no answer')), 10_000);
        }),
    );
    const lists = createServerLists(read);
    const after = async (ms: number) => {
      const waiting = vi.fn();
      void lists.resources(SERVER('')).then(waiting);
      await vi.advanceTimersByTimeAsync(ms);
      return waiting.mock.calls;
    };
    expect(await after(9_999)).toEqual([]);
    expect(await after(1)).toEqual([[null]]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await after(0)).toEqual([[null]]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await after(999)).toEqual([]);
    expect(await after(1)).toEqual([[null]]);
    answers.at(-1)?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(await after(0)).toEqual([[[GOOD]]]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await after(1_000)).toEqual([[[GOOD]]]);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await after(0)).toEqual([[[GOOD]]]);
    expect(read).toHaveBeenCalledTimes(3);
  } finally {
    vi.useRealTimers();
  }
});

test('a completion does not wait longer for the lists than for its answer', async () => {
  vi.useFakeTimers();
  try {
    const handlers = new Map<string, (request: object, context: object) => Promise<unknown>>();
    const server = {
      setRequestHandler: (method: string, handler: never) => void handlers.set(method, handler),
    } as unknown as Server;
    const unread = async () => new Promise<never>(() => {});
    const tools = { current: async () => ({ offering: [SERVER('')] }) } as unknown as ToolSource;
    const lists = { resources: unread, templates: unread, prompts: unread };
    const onError = vi.fn();
    servePassThrough(server, { tools, scope: { kind: 'all' }, lists, read: unread, holdMs: 45_000, onError });
    const params = { ref: { type: 'ref/resource', uri: 'x:{n}' }, argument: { name: 'n', value: '' } };
    const context = { mcpReq: { signal: new AbortController().signal } };
    const refused = expect(handlers.get('completion/complete')?.({ params }, context)).rejects;
    const ended = refused.toThrow('still being read');
    await vi.advanceTimersByTimeAsync(5_000);
    await ended;
    expect(onError).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});
