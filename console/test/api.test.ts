/** Calls of the console: when the service counts as away, and what is repeated.
 *  It must not need a browser. */
import { afterEach, expect, test, vi } from 'vitest';
import { call, holdSessionToken, isAway, NoAnswer } from '../data/api.ts';
import { loadChunk } from '../data/load-chunk.ts';
import { whenBack } from '../data/reach.ts';
import { whoseRun } from '../pages/agents/whose-run.ts';
import { shownState } from '../frame/shown-state.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  holdSessionToken(null, async () => {});
});

/** Answers with each in turn, and keeps the tokens it was asked with. */
function answering(
  ...answers: readonly (readonly [status: number, code?: string])[]
): (string | undefined)[] {
  const tokens: (string | undefined)[] = [];
  vi.stubGlobal('fetch', async (_path: string, { headers }: { headers: Record<string, string> }) => {
    const [status, code] = answers[tokens.length] ?? [500];
    tokens.push(headers['x-adjutant-csrf']);
    return Response.json(code === undefined ? {} : { title: 'No', status, code }, { status });
  });
  return tokens;
}

test('a service that cannot reach its Redis is away until another call than that of the session is answered', async () => {
  let backs = 0;
  const stop = whenBack(() => {
    backs += 1;
  });
  answering([503, 'unavailable'], [200], [200]);
  const error: unknown = await call('GET', '/v1/requests').catch((thrown: unknown) => thrown);
  expect(isAway(error)).toBe(true);
  await call('GET', '/v1/session');
  expect(backs).toBe(0);
  await call('GET', '/v1/requests');
  expect(backs).toBe(1);
  stop();
});

test('a fault of one call is not the service away', async () => {
  answering([500, 'internal_error']);
  const error: unknown = await call('GET', '/v1/requests').catch((thrown: unknown) => thrown);
  expect(isAway(error)).toBe(false);
});

test('nothing is called live while the service is away', () => {
  expect(shownState(null, true)).toBe('live');
  expect(shownState(null, false)).toBe('reconnecting');
  expect(shownState('live', false)).toBe('reconnecting');
  expect(shownState('ended', false)).toBe('ended');
});

test('a change that the token of an older session kept from being made is made once with the new one', async () => {
  holdSessionToken('old', async () => holdSessionToken('new', async () => {}));
  const tokens = answering([403, 'forbidden'], [200]);
  await call('POST', '/v1/requests', { body: {} });
  expect(tokens).toEqual(['old', 'new']);
});

test('a change that stays forbidden is not made again and again', async () => {
  holdSessionToken('one', async () => {});
  const tokens = answering([403, 'forbidden']);
  await expect(call('POST', '/v1/requests', { body: {} })).rejects.toThrow('No');
  expect(tokens).toEqual(['one']);
});

test('the code of a page is waited for while the service is away, and is missed when it is there', async () => {
  let loads = 0;
  let asks = 0;
  const load = async (): Promise<string> => {
    loads += 1;
    if (asks < 3) throw new Error('no chunk');
    return 'page';
  };
  const ask = async (): Promise<void> => {
    asks += 1;
    if (asks < 3) throw new NoAnswer('away');
  };
  await expect(loadChunk(load, ask, 0)).resolves.toBe('page');
  expect([loads, asks]).toEqual([2, 3]);
  // The service came back before it was asked.
  let tries = 0;
  const cut = async (): Promise<string> => {
    tries += 1;
    if (tries < 2) throw new Error('cut off');
    return 'page';
  };
  await expect(loadChunk(cut, async () => {}, 0)).resolves.toBe('page');
  const missing = async (): Promise<never> => {
    throw new Error('no chunk');
  };
  await expect(loadChunk(missing, async () => {}, 0)).rejects.toThrow('no chunk');
});

test('the page of an agent talks only to its own runs', () => {
  const view = (agent: string): Parameters<typeof whoseRun>[0] => ({ run: { agent } as never });
  expect(whoseRun(undefined, 'writer')).toBe('unknown');
  expect(whoseRun(view('reader'), 'writer')).toBe('other');
  expect(whoseRun({}, 'writer')).toBe('other');
  expect(whoseRun(view('writer'), 'writer')).toBe('ours');
});
