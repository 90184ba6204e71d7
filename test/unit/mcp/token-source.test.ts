/** When the token of a server is renewed, and how often: with a clock and an authorization server of the test.
 *  It must never count on the order of two processes: the shared store has its own tests. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { memoryLogins } from '../../support/memory-logins.ts';
import type { Login } from '../../../src/mcp/oauth/login.ts';
import { createLoginStore } from '../../../src/mcp/oauth/login-store.ts';
import { loginOf } from '../../../src/mcp/oauth/login-tokens.ts';
import type { Renewal, RenewalRequest } from '../../../src/mcp/oauth/renewal.ts';
import { createSeal } from '../../../src/mcp/oauth/seal.ts';
import { createTokenSource } from '../../../src/mcp/oauth/token-source.ts';

const SERVER = 'https://crm.example/mcp';
const NOW = 1_800_000_000_000;
const LIFE_MS = 300_000;

const FRESH: Login = {
  serverUrl: SERVER,
  issuer: 'https://issuer.example',
  endpoints: null,
  client: { client_id: 'client' },
  resource: null,
  resourceMetadataUrl: null,
  accessToken: 'first',
  refreshToken: 'refresh',
  scope: null,
  account: null,
  loggedInAt: NOW,
  renewedAt: NOW,
  expiresAt: NOW + LIFE_MS,
  refused: null,
};
const OVER: Login = { ...FRESH, renewedAt: NOW - LIFE_MS, expiresAt: NOW - 1 };
const DUE: Login = { ...FRESH, renewedAt: NOW - LIFE_MS + 1_000, expiresAt: NOW + 1_000 };

type Answer = (request: RenewalRequest) => Renewal | Promise<Renewal>;

/** The authorization server answers `expires_in` seconds and the tokens `second`, `third`... */
const renewing =
  (expiresInS: number): Answer =>
  ({ login, now }) => {
    if (login === null) throw new Error('Nobody is logged in.');
    const tokens = {
      access_token: `after ${login.accessToken}`,
      token_type: 'bearer',
      expires_in: expiresInS,
    };
    return { kind: 'renewed', login: loginOf({ tokens, before: login, now: now() }) };
  };

async function sourceWith(login: Login, answer: Answer) {
  const seal = createSeal([randomBytes(32)]);
  const store = createLoginStore({ records: memoryLogins(), seal, principal: 'default' });
  const logIn = async (written: Login) => store.put('crm', { version: randomUUID(), login: written });
  const clock = { now: NOW };
  const asked = { renewals: 0 };
  await logIn(login);
  const tokens = createTokenSource({
    server: 'crm',
    serverUrl: SERVER,
    auth: { grant: 'authorization_code', scopes: [] },
    store,
    now: () => clock.now,
    random: () => 0,
    renew: async (request) => {
      asked.renewals += 1;
      return answer(request);
    },
  });
  return { tokens, clock, asked, logIn, store };
}

const messageOf = (token: Promise<unknown>): Promise<unknown> =>
  token.then(
    () => 'a token',
    (error: Error) => error.message,
  );

test.each([
  { kind: 'denied', reason: 'invalid_client', forMs: 5_000 },
  { kind: 'failed', reason: 'HTTP 503', forMs: 1_000 },
] as const)('a renewal that was $kind is remembered', async ({ forMs, ...ending }) => {
  const { tokens, clock, asked, logIn } = await sourceWith(OVER, () => ending);
  for (let count = 0; count < 20; count += 1)
    expect(await messageOf(tokens.token())).toContain(ending.reason);
  expect(asked.renewals).toBe(1);
  clock.now += forMs;
  expect(await messageOf(tokens.token())).toContain(ending.reason);
  expect(asked.renewals).toBe(2);
  await logIn({ ...FRESH, accessToken: 'of a new login' });
  clock.now += 2_000;
  expect(await tokens.token()).toBe('of a new login');
});

test('a clock that is set back forgets a fault', async () => {
  const { tokens, clock, asked } = await sourceWith(OVER, () => ({ kind: 'failed', reason: 'HTTP 503' }));
  expect(await messageOf(tokens.token())).toContain('HTTP 503');
  clock.now -= 1;
  expect(await messageOf(tokens.token())).toContain('HTTP 503');
  expect(asked.renewals).toBe(2);
});

test('nobody waits for a renewal while the token works, and then everybody has the new one', async () => {
  const held = Promise.withResolvers<void>();
  const { tokens, asked, store } = await sourceWith(DUE, async (request) => {
    await held.promise;
    return renewing(300)(request);
  });
  for (let count = 0; count < 20; count += 1) expect(await tokens.token()).toBe('first');
  held.resolve();
  await expect.poll(async () => (await store.read('crm'))?.login.accessToken).toBe('after first');
  await expect.poll(async () => tokens.token()).toBe('after first');
  expect(asked.renewals).toBe(1);
});

test('a token that ends at once is not renewed for each request', async () => {
  const { tokens, clock, asked } = await sourceWith(OVER, renewing(0));
  for (let count = 0; count < 50; count += 1) expect(await tokens.token()).toBe('after first');
  expect(asked.renewals).toBe(1);
  clock.now += 5_000;
  expect(await tokens.token()).toBe('after after first');
});

test('a token from a clock that is ahead is renewed when the server refuses it, and a young one is not', async () => {
  const ahead = { ...FRESH, renewedAt: NOW + 600_000, expiresAt: NOW + 900_000 };
  const { tokens, asked } = await sourceWith(ahead, renewing(300));
  expect(await messageOf(tokens.refused('first', {}))).toBe('a token');
  expect(await tokens.token()).toBe('after first');
  expect(await messageOf(tokens.refused('after first', {}))).toContain(
    'just renewed: run `adjutant mcp login',
  );
  expect(asked.renewals).toBe(1);
});
