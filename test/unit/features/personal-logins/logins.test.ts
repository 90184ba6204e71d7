/** For which callers calls may use a login, and until when: issue 38, point 6.
 *  It must never wait for a key to expire: the tests set the time. */
import { expect, test } from 'vitest';
import { createLoginWaker } from '../../../../src/features/personal-logins/waker.ts';
import { createPersonalLogins } from '../../../../src/features/personal-logins/logins.ts';
import type { KeyRecord } from '../../../../src/http/access/key-records.ts';

const DAY_MS = 86_400_000;
const OIDC = 'https://people.example';
const keys: Readonly<Record<string, Pick<KeyRecord, 'tenant' | 'expires_at'>>> = {
  lasting: { tenant: 'acme', expires_at: null },
  brief: { tenant: 'acme', expires_at: new Date(DAY_MS).toISOString() },
};

function loginsAt(now: number) {
  const findKey = async (id: string) => (keys[id] as KeyRecord | undefined) ?? null;
  const rules = { findKey, issuers: { 'oidc:': OIDC }, personMs: 30 * DAY_MS };
  return createPersonalLogins(
    new Map(),
    () => ({}) as never,
    rules,
    () => now,
  );
}

test.each([
  ['lasting', undefined, null],
  ['brief', undefined, null],
  ['environment', undefined, null],
  ['oidc:ada', OIDC, null],
  ['brief', 'after', 'the key of its caller has expired'],
  ['revoked', undefined, 'the key of its caller is revoked'],
  [
    'oidc:ada',
    'https://former.example',
    'the issuer of its caller, https://former.example, is not configured any more',
  ],
] as const)('a call of %s (%s) is made, or has the reason why not', async (key, how, reason) => {
  const actor = how?.startsWith('https://') === true ? { key, issuer: how } : { key };
  expect(await loginsAt(how === 'after' ? DAY_MS : DAY_MS - 1).callerFault('acme', actor)).toBe(reason);
});

test('a key counts in its own tenant alone', async () => {
  expect(await loginsAt(0).callerFault('globex', { key: 'lasting' })).toBe(
    'the key of its caller is revoked',
  );
});

test('a login ends with its key; that of a person ends by itself', async () => {
  const logins = loginsAt(0);
  expect(await logins.endOf({ key: 'lasting' })).toBeNull();
  expect(await logins.endOf({ key: 'environment' })).toBeNull();
  expect(await logins.endOf({ key: 'brief' })).toBe(DAY_MS);
  expect(await logins.endOf({ key: 'oidc:ada', issuer: OIDC })).toBe(30 * DAY_MS);
});

test('a caller of the audit log has the issuer of now', () => {
  const logins = loginsAt(0);
  expect(logins.callerWith('oidc:ada')).toEqual({ key: 'oidc:ada', issuer: OIDC });
  expect(logins.callerWith('lasting')).toEqual({ key: 'lasting' });
  expect(logins.callerWith('jwt:ada')).toBeNull();
});

// Each API looks every two seconds, and one caller may have thousands of calls that wait.
test('a place without a login costs few reads, however many calls wait there, and none of those that have ended stays', async () => {
  const left = new Set(Array.from({ length: 1_000 }, (_, index) => String(index)));
  let read = 0;
  const pass = async (isOver: boolean, isStored = false): Promise<number> => {
    read = 0;
    const waker = createLoginWaker({
      logins: { read: async () => (isStored ? ({} as never) : null), callerFault: async () => null },
      waiting: {
        of: async (_place, most = 100) => [...left].slice(0, most).map((id) => ({ requestId: 'r', id })),
        remove: async (_place, { id }) => void left.delete(id),
        add: async () => {},
        somePlaces: async () => [],
      },
      journal: {
        envelope: async () => null,
        directive: async () => {
          read += 1;
          return (isOver ? null : { endedAt: null, asked: null }) as never;
        },
        questions: {} as never,
      },
      answer: async () => {},
      onError: () => {},
    });
    await waker.wake({ account: 'a', server: 's' });
    return read;
  };
  expect(await pass(false)).toBeLessThanOrEqual(10);
  expect(await pass(false, true)).toBe(100);
  expect([await pass(true), left.size]).toEqual([1_000, 0]);
});
