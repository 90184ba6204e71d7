/** The identity of submitted directives: given, generated, or derived from the caller's key.
 *  It must never be random where a key is given. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { identifierSchema } from '../../../src/contract/identifiers.ts';
import { type ParsedDirective, parseSubmission } from '../../../src/contract/directive/directive.ts';
import { identify, type NewIds } from '../../../src/directives/identify.ts';

function parsed(...identities: { id?: string; request_id?: string }[]): ParsedDirective[] {
  const directives = identities.map((identity) => ({ type: 'tool_exec', tool_name: 'a.b', ...identity }));
  const read = parseSubmission({ directives });
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  return read.directives;
}

function counter(): NewIds {
  let last = 0;
  return { request: () => `request-${++last}`, other: () => `new-${++last}` };
}

const draw = (): string => {
  throw new Error('an id was drawn');
};
const neverAsked: NewIds = { request: draw, other: draw };

function identities(batch: ParsedDirective[], key?: string, newIds = counter()) {
  const { requestId, directives } = identify(batch, key, newIds);
  return {
    requestId,
    ids: directives.map(({ id }) => id),
    requests: directives.map((each) => each.request_id),
  };
}

test.each([
  [
    'given ids stay',
    [
      { id: 'a', request_id: 'r' },
      { id: 'b', request_id: 'r' },
    ],
    ['r', 'a', 'b'],
  ],
  [
    'a request named by one directive is the request of all',
    [{ id: 'a' }, { id: 'b', request_id: 'r' }],
    ['r', 'a', 'b'],
  ],
  [
    'absent ids are generated, one for each',
    [{}, { id: 'mine' }, {}],
    ['request-1', 'new-2', 'mine', 'new-3'],
  ],
])('%s', (_what, given, [requestId, ...ids]) => {
  expect(identities(parsed(...given))).toEqual({ requestId, ids, requests: ids.map(() => requestId) });
});

test('nothing else of a directive changes, and no id is drawn for a given one', () => {
  const batch = parsed({ id: 'a', request_id: 'r' });
  expect(identify(batch, undefined, neverAsked).directives).toEqual(parsed({ id: 'a', request_id: 'r' }));
});

describe('an idempotency key', () => {
  test('gives the same identity again, without generating one', () => {
    const first = identities(parsed({}, {}), 'key', neverAsked);
    expect(identities(parsed({}, {}), 'key', neverAsked)).toEqual(first);
    expect(new Set(first.ids).size).toBe(2);
  });

  test('of another value gives another request', () => {
    expect(identities(parsed({}), 'key').requestId).not.toBe(identities(parsed({}), 'Key').requestId);
  });

  test('keeps given ids', () => {
    expect(identities(parsed({ id: 'a', request_id: 'r' }), 'key', neverAsked)).toEqual({
      requestId: 'r',
      ids: ['a'],
      requests: ['r'],
    });
  });
});

const partial = fc.array(
  fc.record({ id: fc.stringMatching(/^[a-z]{1,3}$/), request_id: fc.constant('r') }, { requiredKeys: [] }),
  { minLength: 1, maxLength: 20 },
);

test('any batch with any key gets valid ids, and no two generated alike', () => {
  fc.assert(
    fc.property(partial, fc.option(fc.string(), { nil: undefined }), (given, key) => {
      const { requestId, ids, requests } = identities(parsed(...given), key);
      for (const id of [requestId, ...ids]) expect(identifierSchema.safeParse(id).success).toBe(true);
      expect(new Set(requests)).toEqual(new Set([requestId]));
      const generated = ids.filter((_, index) => given[index]?.id === undefined);
      expect(new Set(generated).size).toBe(generated.length);
    }),
  );
});
