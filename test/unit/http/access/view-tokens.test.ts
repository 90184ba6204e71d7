/** Tokens for browsers: each reads one request, until its end, while its key is as it was (issue 39, A.3). */
import { expect, test } from 'vitest';
import { withoutKeys } from '../../../../src/contract/json/secret-text.ts';
import { onBehalfOf } from '../../../../src/http/access/caller.ts';
import { type Principal, UNLIMITED } from '../../../../src/http/access/principal.ts';
import { createViewTokens } from '../../../../src/http/access/view-tokens.ts';
import type { ViewToken } from '../../../../src/contract/access/view-token.ts';

const KEY: Principal = {
  id: 'a1b2c3d4e5f6',
  name: 'app',
  tenant: 'acme',
  scopes: new Set(['read', 'submit']),
  ...UNLIMITED,
};
const ROUTE = '/v1/requests/:request_id/signals';

function scene() {
  const state = { now: 1_000, digest: 'digest', isRevoked: false, uses: 0 };
  const tokens = createViewTokens({
    keys: {
      find: async (id) =>
        state.isRevoked || id !== KEY.id
          ? null
          : {
              digest: state.digest,
              admission: { kind: 'admitted', principal: KEY },
              used: () => (state.uses += 1),
            },
    },
    secret: async () => 'secret',
    now: () => state.now,
  });
  const mint = async (caller: Principal, requestId: string): Promise<ViewToken> =>
    new Promise((resolve, reject) =>
      onBehalfOf(caller, () => void tokens.viewToken(requestId, { lasts_ms: 5_000 }).then(resolve, reject)),
    );
  const kindOf = async (token: string, requestId = 'run.1', route = ROUTE): Promise<string> =>
    (await tokens.admit(token, { route, requestId })).kind;
  return { state, tokens, mint, kindOf };
}

test('reads its request alone, with the scope read and the tenant of its key', async () => {
  const { tokens, mint, kindOf } = scene();
  const { token, expires_at: until } = await mint(KEY, 'run.1');
  expect(until).toBe('1970-01-01T00:00:06.000Z');
  expect(tokens.tokenIn(`Bearer ${token}`)).toBe(token);
  const admitted = await tokens.admit(token, { route: ROUTE, requestId: 'run.1' });
  expect(admitted).toMatchObject({
    kind: 'admitted',
    principal: { tenant: 'acme', scopes: new Set(['read']) },
  });
  expect(await kindOf(token, 'run.2')).toBe('refused');
  expect(await kindOf(token, 'run.1', '/v1/requests/:request_id/trace')).toBe('refused');
  expect(await kindOf(token.replace('run.1', 'run.2'), 'run.2')).toBe('refused');
  expect(await kindOf(token.replace('.6000.', '.9000.'))).toBe('refused');
  expect(await kindOf(token.replace(/_view_./, (start) => `_view_${start.endsWith('A') ? 'B' : 'A'}`))).toBe(
    'refused',
  );
  // A log line keeps the id of the key, and nothing that would admit.
  expect(withoutKeys(`got ${token}`)).toBe('got adj_a1b2c3d4e5f6_[REDACTED].6000.run.1');
});

test('its key counts as used, and its end is named, only where its signature is right', async () => {
  const { state, tokens, mint } = scene();
  const { token } = await mint(KEY, 'run.1');
  const detailOf = async (text: string) =>
    (await tokens.admit(text, { route: ROUTE, requestId: 'run.1' })) as { detail?: string };
  const forged = token.replace('.6000.', '.5999.');
  expect((await detailOf(forged)).detail).toMatch(/^The view token does not fit/);
  state.now = 6_000;
  expect((await detailOf(forged)).detail).toMatch(/^The view token does not fit/);
  expect((await detailOf(token)).detail).toMatch(/^The view token has expired/);
  expect(state.uses).toBe(0);
  state.now = 1_000;
  await detailOf(token);
  expect(state.uses).toBe(1);
});

test('ends at its time, while an open stream goes on until the key is revoked or replaced', async () => {
  const { state, tokens, mint, kindOf } = scene();
  const { token } = await mint(KEY, 'run.1');
  const admitted = await tokens.admit(token, { route: ROUTE, requestId: 'run.1' });
  state.now = 6_000;
  expect(await kindOf(token)).toBe('refused');
  expect(await admitted.stays?.()).toMatchObject({ kind: 'admitted' });
  state.now = 1_000;
  state.digest = 'another';
  expect(await kindOf(token)).toBe('refused');
  state.isRevoked = true;
  expect(await admitted.stays?.()).toMatchObject({ kind: 'refused' });
});

test('is made with an API key only', async () => {
  const { tokens, mint } = scene();
  await expect(mint({ ...KEY, id: 'jwt:ana' }, 'run.1')).rejects.toThrow('Only an API key');
  await expect(tokens.viewToken('run.1')).rejects.toThrow('No key is required');
});
