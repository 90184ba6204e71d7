/** Large values as JSON in steps: the same text as at once, and what is encrypted goes through the steps.
 *  It must never measure time. */
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../../../src/contract/json/canonical-json.ts';
import type { PayloadCodec } from '../../../../src/contract/encrypted/encrypted.ts';
import { historyPlace } from '../../../../src/contract/encrypted/encrypted-run.ts';
import { createAesCodec } from '../../../../src/platform/encryption/aes-codec.ts';
import { canonicalText, jsonText } from '../../../../src/platform/encryption/json-steps.ts';
import {
  decryptValue,
  encryptField,
  encryptValue,
} from '../../../../src/platform/encryption/payload-value.ts';
import { payloadKeysOf } from '../../../../src/service/payload-keys.ts';

const free = async (): Promise<void> => {};
class Own {
  b = 1;
  a = undefined;
}
const named = (own: string) => ({ toJSON: (name: string) => ({ own, name }) });
const shared = { z: 1, a: [1] };
const odd: [string, unknown][] = [
  ['text', 'a "b"\u2028 é'],
  ['a number', 1e21],
  ['nothing', undefined],
  ['null', null],
  ['what JSON leaves out', { b: undefined, a: () => 1, c: Symbol('c'), 1: Number.NaN }],
  ['an empty place', [1, , undefined, () => 1]], // oxlint-disable-line no-sparse-arrays
  ['a date', { at: new Date(0), list: [new Date(1)] }],
  ['an own form', [{ toJSON: () => ({ b: 1, a: 2 }) }, Object.assign([1], { toJSON: () => 'list' })]],
  ['a form that depends on its name', { named: [named('a'), { list: named('b') }], __proto__x: named('c') }],
  ['a form that is nothing', { a: { toJSON: () => undefined }, list: [{ toJSON: () => undefined }] }],
  ['an object of a class', { own: new Own(), map: new Map([[1, 2]]) }],
  ['one without a prototype', Object.assign(Object.create(null) as object, { b: 1, a: 2 })],
  ['names of Object.prototype', JSON.parse('{"__proto__":{"b":1},"constructor":2,"10":1,"9":2}')],
  ['shared parts, deep', { shared, deep: [[[[[[shared, { b: shared, a: 1 }]]]]]] }],
  ['an own form under a name of Object.prototype', Object.fromEntries([['__proto__', named('a')]])],
  ['boxed values', [Object('a'), Object(1), Object(false)]],
];

describe('the text in steps is that at once', () => {
  test.each(odd)('of %s', async (_, value) => {
    const json = JSON.stringify(value) ?? 'null';
    expect(await jsonText(value, free)).toBe(json);
    expect(await jsonText(value, undefined)).toBe(json);
    expect(await canonicalText(value, free)).toBe(canonicalJson(JSON.parse(json)));
    expect(await canonicalText(value, undefined)).toBe(canonicalJson(JSON.parse(json)));
  });

  test('and what is no JSON is refused', async () => {
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    for (const value of [cycle, { a: 1n }]) await expect(jsonText(value, free)).rejects.toThrow(TypeError);
  });
});

describe('of a large history', () => {
  const messages = Array.from({ length: 2_000 }, () => ({ role: 'user', content: 'x'.repeat(1_000) }));
  const place = historyPlace('talk');
  const noted = () => {
    const notes: string[] = [];
    const note = async (name: string): Promise<void> => void notes.push(name);
    const real = createAesCodec(`k1=${Buffer.alloc(32, 1).toString('base64')}`);
    const codec: PayloadCodec = {
      encode: async (...given) => note('encode').then(() => real.encode(...given)),
      decode: async (...given) => note('decode').then(() => real.decode(...given)),
      digest: async (...given) => note('digest').then(() => real.digest(...given)),
      nextStep: async () => note('step'),
    };
    return { notes, codec };
  };
  const stepsBefore = (notes: readonly string[], name: string): number => notes.indexOf(name);

  test('other work has its turn while it is written, encrypted, opened and read', async () => {
    const { notes, codec } = noted();
    const { $encrypted } = await encryptValue(codec, messages, place, 'k1');
    expect(stepsBefore(notes, 'encode')).toBeGreaterThan(20);
    notes.length = 0;
    expect(await decryptValue(codec, $encrypted, place)).toEqual(messages);
    expect(notes).toEqual(['step', 'decode', 'step', 'step']);
  });

  test('and before its digest', async () => {
    const { notes, codec } = noted();
    await encryptField(codec, { messages }, place);
    expect(stepsBefore(notes, 'encode')).toBeGreaterThan(20);
    expect(notes.slice(-3)).toEqual(['encode', 'step', 'digest']);
  });
});

test('workers and engines take such steps', () => {
  const keys = { current: 'k1', keys: new Map([['k1', new Uint8Array(32)]]) };
  const { codec } = payloadKeysOf({ encryption: { keys, ofTenant: null } } as never);
  expect(codec?.nextStep).toBeTypeOf('function');
});
