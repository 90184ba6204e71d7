/** The job of a directive: its id in BullMQ, and its data.
 *  It must never give two directives the same job id. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobId, jobDataFor } from '../../../src/queue/job.ts';
import { newTraceparent } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { toolCall } from '../../support/journal.ts';

const identifier = fc.stringMatching(/^[A-Za-z0-9._:-]{1,12}$/);

test('the id is short, holds no character that BullMQ refuses, and is not a plain number', () => {
  fc.assert(
    fc.property(identifier, identifier, (request, directive) => {
      expect(jobId(request, directive)).toMatch(/^d[0-9A-Za-z_-]{20}$/);
    }),
  );
});

test('two identities never share an id', () => {
  fc.assert(
    fc.property(identifier, identifier, identifier, identifier, (r1, d1, r2, d2) => {
      fc.pre(r1 !== r2 || d1 !== d2);
      expect(jobId(r1, d1)).not.toBe(jobId(r2, d2));
    }),
  );
});

test('a small directive travels in the job, a large one is read from the journal', () => {
  const directive = toolCall({ id: 'a', request_id: 'r' });
  const envelope = { directive, lane: 'tool.x', traceparent: newTraceparent() };
  expect(jobDataFor(envelope, 'digest', 32_768)).toEqual({
    request_id: 'r',
    id: 'a',
    digest: 'digest',
    envelope,
  });
  expect(jobDataFor(envelope, 'digest', 32_769)).toEqual({ request_id: 'r', id: 'a', digest: 'digest' });
});
