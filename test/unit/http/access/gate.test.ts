/** What the gate does for a key that does not count: the same work, whatever is wrong with it.
 *  It must not measure time: it counts what is read, hashed and compared. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createGate } from '../../../../src/http/access/gate.ts';
import type { KeyRecord, KeyTable } from '../../../../src/http/access/key-records.ts';
import { digestOf, newKey, sameDigest } from '../../../../src/http/access/key-text.ts';
import { createKnownKeys } from '../../../../src/http/access/known-keys.ts';

const work: string[] = [];

const noting = {
  digestOf: (text: string) => (work.push('hash'), digestOf(text)),
  sameDigest: (left: string, right: string) => (
    work.push(`compare ${left.length} ${right.length}`),
    sameDigest(left, right)
  ),
};

const HOUR_MS = 3_600_000;

function recordOf(
  { id, digest }: { id: string; digest: string },
  fields: Partial<KeyRecord> = {},
): KeyRecord {
  const at = new Date(0).toISOString();
  const named = { id, digest, name: 'x', tenant: 'default', scopes: ['read' as const] };
  return { ...named, created_at: at, created_by: null, expires_at: null, ...fields };
}

/** Keys in a Redis that notes what it is asked. */
function keysIn(records: readonly KeyRecord[]) {
  const keys = new Map(records.map((record) => [record.id, record]));
  const table: KeyTable = { version: 'one', size: keys.size, keys };
  const asked = { keys, version: 'one' };
  const read = async (): Promise<KeyTable> => (work.push('read'), { ...table, version: asked.version });
  const version = async (): Promise<string> => (work.push('version'), asked.version);
  return { asked, read, version };
}

beforeEach(() => {
  work.length = 0;
});

describe('a key that does not count', () => {
  test('costs the same work, whether it is unknown, wrong, revoked, expired or of another tenant', async () => {
    const [known, foreign, expired] = [newKey(), newKey(), newKey()];
    const clock = { now: 0 };
    const records = keysIn([
      recordOf(known),
      recordOf(foreign, { tenant: 'other' }),
      recordOf(expired, { expires_at: new Date(0).toISOString() }),
    ]);
    const table = createKnownKeys(records, () => clock.now);
    const options = { verifyToken: null, closed: true, reopens: false, onUse: () => work.push('use') };
    const gate = createGate({ ...options, known: table, adminKey: 'a'.repeat(32) }, noting);
    const wrongOf = ({ text }: { text: string }) => `${text.slice(0, -6)}AAAAAA`;
    const texts = {
      unknown: newKey().text,
      wrong: wrongOf(known),
      'of another tenant': wrongOf(foreign),
      expired: expired.text,
      'no key': 'x',
      'another environment key': 'b'.repeat(32),
      'no own property': '__proto__',
    };
    const seen: Record<string, string> = {};
    for (const [name, text] of Object.entries(texts)) {
      // Too old, so that each asks Redis.
      clock.now += HOUR_MS;
      work.length = 0;
      await expect(gate.admit(`Bearer ${text}`)).resolves.toEqual({ kind: 'refused', reason: 'wrong' });
      seen[name] = work.filter((step) => step !== 'read').join(', ');
    }
    const same = 'version, hash, compare 64 64, compare 64 64';
    expect(seen).toEqual(Object.fromEntries(Object.keys(texts).map((name) => [name, same])));
    await gate.admit(`Bearer ${known.text}`);
    expect(work.at(-1)).toBe('use');
  });
});

describe('what is known of the keys', () => {
  test('is asked again before it is 2 s old, and read again when it has changed', async () => {
    const clock = { now: 0 };
    const key = newKey();
    const records = keysIn([recordOf(key)]);
    const known = createKnownKeys(records, () => clock.now);
    await known.refresh();
    clock.now = 1_499;
    expect(known.isFresh).toBe(true);
    clock.now = 1_500;
    expect(known.isFresh).toBe(false);
    records.asked.keys.delete(key.id);
    records.asked.version = 'two';
    await known.refresh();
    expect(known.find(key.id)).toBeUndefined();
    expect(work.filter((step) => step !== 'hash')).toEqual(['version', 'read', 'version', 'read']);
  });

  test('is asked again at once when a change is heard of, also while Redis answers', async () => {
    const records = keysIn([recordOf(newKey())]);
    const known = createKnownKeys(records, () => 0);
    const refreshed = known.refresh();
    known.doubt(false);
    await refreshed;
    expect(work.filter((step) => step === 'version')).toHaveLength(2);
    expect(known.isFresh).toBe(true);
    known.doubt(false);
    expect(known.isFresh).toBe(false);
  });
});
