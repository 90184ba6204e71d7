/** Foreign schemas and values in real threads: each check ends, and delays no other.
 *  It must never measure a time: what blocks this thread blocks the test. */
import { onTestFinished, describe, expect, test } from 'vitest';
import { createSchemaChecks, type SchemaChecks } from '../../../../src/platform/json-schema/schema-checks.ts';

type Schema = Record<string, unknown>;

function openChecks(limitMs = 20_000): SchemaChecks {
  const checks = createSchemaChecks({ limitMs });
  onTestFinished(() => checks.stop());
  return checks;
}

/** Long enough for a thread to answer, on a busy machine. */
const LIMIT_MS = 1_500;
const TOO_LONG = `the check took longer than ${LIMIT_MS} ms`;
const SLOW_PATTERN = { properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
const SLOW_TEXT = { text: `${'a'.repeat(40)}!` };
const UNIQUE = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
const LONG_LIST = { list: Array.from({ length: 60_000 }, (_, n) => ({ n })) };
/** Not harmless, but quick. */
const PLAIN = { properties: { name: { type: 'string', pattern: '^[a-z]+$' } } };

/** Deeper with each level by a factor: more code than any thread has memory or time for. */
function explosive(levels: number): Schema {
  const inner = levels === 0 ? { type: 'string' } : explosive(levels - 1);
  return {
    unevaluatedProperties: false,
    anyOf: Array.from({ length: 6 }, () => ({ properties: { a: inner } })),
  };
}

describe('a schema that is not harmless', () => {
  test('is checked as a harmless one is, faults and all', async () => {
    const checks = openChecks();
    const schema = { ...PLAIN, required: ['name', 'age'] };
    expect(await checks.of(PLAIN).check({ name: 'ab' }, 'arguments')).toEqual({ kind: 'passed' });
    expect(await checks.of(schema).check({ name: 'A' }, 'arguments')).toEqual({
      kind: 'faults',
      faults: [
        { path: 'arguments.age', message: 'is required' },
        { path: 'arguments.name', message: 'must match pattern "^[a-z]+$"' },
      ],
    });
  });

  test('may refer to itself', async () => {
    const tree = {
      type: 'object',
      properties: { left: { $ref: '#' }, right: { $ref: '#' } },
      additionalProperties: false,
    };
    const schema = openChecks().of(tree);
    expect(await schema.check({ left: { right: {} } }, 'value')).toEqual({ kind: 'passed' });
    expect(await schema.check({ left: { middle: {} } }, 'value')).toMatchObject({
      faults: [{ path: 'value.left.middle', message: 'is not allowed' }],
    });
  });

  test.each([
    ['a pattern that backtracks', SLOW_PATTERN, SLOW_TEXT],
    ['a comparison of all with all', UNIQUE, LONG_LIST],
    ['more code than can be made', explosive(6), {}],
    [
      'a list that takes a while to compile',
      { enum: Array.from({ length: 300_000 }, (_, n) => ({ n })), $ref: '#' },
      {},
    ],
  ])('that asks for %s is given up in time, and others are checked after it', async (_, schema, value) => {
    const checks = openChecks(LIMIT_MS);
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 10);
    const slow = checks.of(schema).check(value, 'arguments');
    const other = checks.of(PLAIN).check({ name: 'ab' }, 'arguments');
    const verdict = await slow;
    expect(verdict).toMatchObject({ kind: expect.stringMatching(/^unchecked$|^unusable$/) as string });
    if (schema === SLOW_PATTERN) expect(verdict).toMatchObject({ kind: 'unchecked', reason: TOO_LONG });
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(0);
    expect(await other).toEqual({ kind: 'passed' });
  });

  test('that once took too long delays only such schemas, and is checked again', async () => {
    const checks = openChecks(LIMIT_MS);
    const slow = checks.of(SLOW_PATTERN);
    const many = Array.from({ length: 2 }, async () => slow.check(SLOW_TEXT, 'arguments'));
    await Promise.race(many);
    const order: string[] = [];
    const others = Promise.all(many).then(() => order.push('slow'));
    expect(await checks.of(PLAIN).check({ name: 'ab' }, 'arguments')).toEqual({ kind: 'passed' });
    order.push('plain');
    await others;
    expect(order).toEqual(['plain', 'slow']);
    expect(await slow.check({ text: 'aaa' }, 'arguments')).toEqual({ kind: 'passed' });
  });

  test('is not checked when the caller has gone', async () => {
    const checks = openChecks();
    const abort = new AbortController();
    const under = checks.of(SLOW_PATTERN).check(SLOW_TEXT, 'arguments', abort);
    const waiting = checks.of(PLAIN).check({ name: 'ab' }, 'arguments', abort);
    abort.abort();
    const late = checks.of(PLAIN).check({ name: 'ab' }, 'arguments', abort);
    for (const verdict of [under, waiting, late]) expect(await verdict).toMatchObject({ kind: 'unchecked' });
  });

  test('ends unchecked when the service stops', async () => {
    const checks = createSchemaChecks({ limitMs: 60_000 });
    const verdicts = [1, 2].map(() => checks.of(SLOW_PATTERN).check(SLOW_TEXT, 'arguments'));
    await checks.stop();
    for (const verdict of verdicts) expect(await verdict).toMatchObject({ kind: 'unchecked' });
    await checks.stop();
  });

  test('is sent once, and again after others have replaced it', async () => {
    const checks = openChecks();
    const first = checks.of(PLAIN);
    const others = Array.from({ length: 600 }, (_, n) => checks.of({ ...PLAIN, title: `${n}` }));
    for (const schema of [first, ...others, first])
      expect(await schema.check({ name: 'ab' }, 'arguments')).toEqual({ kind: 'passed' });
  });
});

/** Point 9 of a report: 40 submissions of one tenant had another's calls time out after 30 s. */
describe('a tenant', () => {
  /** Each with a schema of its own, as submissions have. */
  const slowOnes = (checks: SchemaChecks, tenant: string, count: number) =>
    Array.from({ length: count }, (_, n) =>
      checks.of({ ...SLOW_PATTERN, title: `${n}` }, tenant).check(SLOW_TEXT, 'output'),
    );

  test('that writes slow schemas waits for itself: each check of another goes before its second one', async () => {
    const checks = openChecks(LIMIT_MS);
    let ended = 0;
    const slow = slowOnes(checks, 'noisy', 40);
    for (const each of slow) void Promise.resolve(each).then(() => (ended += 1));
    for (let round = 0; round < 5; round += 1) {
      const own = checks.of({ ...PLAIN, title: `${round}` }, 'quiet');
      expect(await own.compile()).toEqual({ kind: 'passed' });
      expect(await checks.of(PLAIN).check({ name: 'ab' }, 'arguments', { tenant: 'quiet' })).toEqual({
        kind: 'passed',
      });
    }
    expect(ended).toBeLessThanOrEqual(2);
  });

  test('does not delay another by slow values for a schema that both use', async () => {
    const checks = openChecks(LIMIT_MS);
    const tool = checks.of(SLOW_PATTERN);
    let ended = 0;
    for (let n = 0; n < 20; n += 1)
      void Promise.resolve(tool.check(SLOW_TEXT, 'arguments', { tenant: 'noisy' })).then(() => (ended += 1));
    for (let n = 0; n < 5; n += 1)
      expect(await tool.check({ text: 'aaa' }, 'arguments', { tenant: 'quiet' })).toEqual({ kind: 'passed' });
    expect(ended).toBeLessThanOrEqual(2);
  });

  test('whose caller leaves a slow schema behind is known as slow all the same', async () => {
    const checks = openChecks(LIMIT_MS);
    let ended = 0;
    for (let n = 0; n < 10; n += 1) {
      const abort = new AbortController();
      const left = checks.of({ ...SLOW_PATTERN, title: `${n}` }, 'noisy').check(SLOW_TEXT, 'output', abort);
      const next = checks.of(PLAIN, 'quiet').check({ name: 'ab' }, 'output');
      abort.abort();
      await left;
      expect(await next).toEqual({ kind: 'passed' });
      ended += 1;
    }
    expect(ended).toBe(10);
  });

  test('has a bound of checks that wait: one more is refused, with what may not be refused left in line', async () => {
    const checks = openChecks(60_000);
    const slow = slowOnes(checks, 'noisy', 102);
    const check = (tenant: string, mayBeRefused: boolean) =>
      checks.of(SLOW_PATTERN, tenant).check(SLOW_TEXT, 'output', { mayBeRefused });
    expect(await check('noisy', true)).toMatchObject({ kind: 'refused' });
    const waiting = [...slow, check('noisy', false), check('quiet', true)];
    await checks.stop();
    for (const each of waiting) expect(await each).toMatchObject({ kind: 'unchecked' });
  });

  test('writes no schema of more values than a model takes', async () => {
    const wide = { enum: Array.from({ length: 20_000 }, (_, n) => n), pattern: 'a' };
    expect(await openChecks().of(wide, 'noisy').compile()).toMatchObject({ kind: 'unchecked' });
    expect(await openChecks().of(wide).compile()).toEqual({ kind: 'passed' });
  });
});

describe('a value', () => {
  test('of a harmless schema is checked at once', () => {
    const verdict = openChecks()
      .of({ required: ['a'] })
      .check({}, 'arguments');
    expect(verdict).toEqual({ kind: 'faults', faults: [{ path: 'arguments.a', message: 'is required' }] });
  });

  test('that is large is checked in a thread, with the same verdict', async () => {
    const verdict = openChecks()
      .of({ required: ['a'] })
      .check(Array.from({ length: 300_000 }), 'arguments');
    expect(verdict).toBeInstanceOf(Promise);
    expect(await verdict).toEqual({ kind: 'passed' });
  });

  test('that is not JSON stays unchecked', async () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
    const checks = openChecks();
    for (const value of [deep, { at: 1n }]) {
      expect(await checks.of(PLAIN).check(value, 'arguments')).toMatchObject({ kind: 'unchecked' });
    }
  });

  test('does not pass because of a keyword of the library', async () => {
    const schema = { $async: true, type: 'object', required: ['a'] };
    expect(openChecks().of(schema).check({}, 'arguments')).toMatchObject({ kind: 'faults' });
    expect(
      await openChecks()
        .of({ ...schema, ...PLAIN })
        .check({}, 'arguments'),
    ).toMatchObject({ kind: 'faults' });
  });
});

test.each([
  ['a harmless schema', { type: 'object' }, 'passed'],
  ['one that is not', PLAIN, 'passed'],
  ['what is no schema', { type: 'thing' }, 'unusable'],
  ['what is no schema and not harmless', { type: 'thing', pattern: '(' }, 'unusable'],
])('%s can be compiled before there is a value', async (_, schema, kind) => {
  expect(await openChecks().of(schema).compile()).toMatchObject({ kind });
});
