// Refusals: their codes, their statuses, and what a caller catches.
// Must never pin a title, which is for people.
import { expect, test } from 'vitest';
import {
  DirectiveRefused,
  PROBLEM_CODES,
  ServiceUnavailable,
  problem,
  problemSchema,
} from '../../../src/contract/problem.ts';

test.each(PROBLEM_CODES)('%s is a valid problem with an error status', (code) => {
  const made = problemSchema.parse(problem(code));
  expect(made).toMatchObject({ code, type: `urn:adjutant:problem:${code}` });
  expect(made.status).toBeGreaterThanOrEqual(400);
});

test.each([
  ['invalid_json', 400],
  ['not_found', 404],
  ['method_not_allowed', 405],
  ['id_conflict', 409],
  ['body_too_large', 413],
  ['unsupported_media_type', 415],
  ['internal_error', 500],
  ['unavailable', 503],
] as const)('%s has the status %i', (code, status) => {
  expect(problem(code).status).toBe(status);
});

test('members are added, and cannot change what the code says', () => {
  const made = problem('id_conflict', { detail: 'other content', digest: 'a', status: 200, code: 'x' });
  expect(made).toMatchObject({ status: 409, code: 'id_conflict', detail: 'other content', digest: 'a' });
});

test('a refusal carries its problem; its message is the detail', () => {
  const refusal = new DirectiveRefused(problem('not_found', { detail: 'no request r1' }));
  expect(refusal).toMatchObject({
    name: 'DirectiveRefused',
    message: 'no request r1',
    problem: { code: 'not_found' },
  });
});

test('an absent service may say when to try again', () => {
  expect(new ServiceUnavailable('gone').retryAfterMs).toBeNull();
  expect(new ServiceUnavailable('busy', { retryAfterMs: 1000, cause: 'x' })).toMatchObject({
    retryAfterMs: 1000,
    cause: 'x',
  });
});
