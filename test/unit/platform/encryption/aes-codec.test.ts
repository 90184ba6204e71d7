/** The codec: what it encrypts it alone reads back, at its place only, with any of its keys.
 *  It must not check how the bytes look, except that two of them never look alike. */
import { createDecipheriv } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { encryptedSchema, PayloadUnreadable } from '../../../../src/contract/encrypted/encrypted.ts';
import { createAesCodec } from '../../../../src/platform/encryption/aes-codec.ts';
import { decryptValue, encryptField } from '../../../../src/platform/encryption/payload-value.ts';

const K1 = Buffer.alloc(32, 1).toString('base64');
const K2 = Buffer.alloc(32, 2).toString('hex');
const call = ['tool_exec', 'bank.pay', null, null, null, null, ['arguments']];
const place = { request: 'r', id: 'd', field: 'arguments', call };
const old = createAesCodec(`k1=${K1}`);
const both = createAesCodec(`k2=${K2}, k1=${K1}`);
const value = { text: 'zażółć', nested: [1, null, { a: true }] };

describe('the codec', () => {
  test('reads what it has encrypted, and no two encryptions are alike', async () => {
    const [one, two] = [await encryptField(old, value, place), await encryptField(old, value, place)];
    expect(await decryptValue(old, one.$encrypted, place)).toEqual(value);
    expect(one.$encrypted.data).not.toBe(two.$encrypted.data);
    expect(one.$encrypted.digest).toBe(two.$encrypted.digest);
    expect(encryptedSchema.safeParse(one).success).toBe(true);
  });

  test('gives the same digest whatever the order of members, another for other content, place or key', async () => {
    const digestOf = async (codec: typeof old, given: unknown, field = 'arguments') =>
      (await encryptField(codec, given, { ...place, field })).$encrypted.digest;
    const digest = await digestOf(old, { a: 1, b: 2 });
    expect(await digestOf(old, { b: 2, a: 1 })).toBe(digest);
    expect(await digestOf(old, { a: 1, b: 3 })).not.toBe(digest);
    expect(await digestOf(old, { a: 1, b: 2 }, 'context')).not.toBe(digest);
    expect(await digestOf(both, { a: 1, b: 2 })).not.toBe(digest);
  });

  test('reads with each of its keys, and encrypts with the first', async () => {
    const before = await encryptField(old, value, place);
    expect(await decryptValue(both, before.$encrypted, place)).toEqual(value);
    expect((await encryptField(both, value, place)).$encrypted.key_id).toBe('k2');
  });

  test('names the key that is missing', async () => {
    const after = await encryptField(both, value, place);
    const error: unknown = await decryptValue(old, after.$encrypted, place).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(PayloadUnreadable);
    expect(error).toMatchObject({ reason: 'key_missing', keyId: 'k2' });
    expect(String(error)).toContain('"k2"');
  });

  test.each([
    ['another id', { ...place, id: 'e' }],
    ['another request', { ...place, request: 's' }],
    ['another field', { ...place, field: 'context' }],
    ['another tool', { ...place, call: call.with(1, 'evil.echo') }],
    ['more encrypted fields', { ...place, call: call.with(-1, ['arguments', 'context']) }],
    ['places that only look alike when joined', { ...place, request: 'r","d', id: '' }],
  ])('refuses what was encrypted for %s', async (_, other) => {
    const { $encrypted } = await encryptField(old, value, place);
    await expect(decryptValue(old, $encrypted, other)).rejects.toMatchObject({ reason: 'damaged' });
  });

  test('refuses every changed bit, a cut text, another codec and no base64', async () => {
    const { $encrypted } = await encryptField(old, 1, place);
    const bytes = Buffer.from($encrypted.data, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const data = changed.toString('base64url');
      await expect(decryptValue(old, { ...$encrypted, data }, place)).rejects.toThrow(/changed/);
    }
    for (const odd of [{ data: 'AAAA' }, { data: '%' }, { codec: 'plain' }])
      await expect(decryptValue(old, { ...$encrypted, ...odd }, place)).rejects.toThrow(/changed/);
  });

  test('is plain AES-256-GCM, so that others can read it', async () => {
    const { $encrypted } = await encryptField(old, { a: 1 }, place);
    const bytes = Buffer.from($encrypted.data, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', Buffer.from(K1, 'base64'), bytes.subarray(0, 12));
    decipher.setAAD(
      Buffer.from(`["adjutant",1,"A256GCM","k1","r","d","arguments",${JSON.stringify(call)}]\n`),
    );
    decipher.setAuthTag(bytes.subarray(-16));
    const text = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
    expect(text.toString()).toBe('{"a":1}');
  });
});

test.each(['', 'k1', 'k1=', `k1=${K1.slice(4)}`, `k 1=${K1}`, `k1=${K1},k1=${K1}`, `=${K1}`])(
  'keys as %j are refused without showing them',
  (text) => {
    expect(() => createAesCodec(text)).toThrow(TypeError);
    expect(() => createAesCodec(text)).not.toThrow(new RegExp(K1.slice(4, 20)));
  },
);
