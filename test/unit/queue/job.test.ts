/** The job of a directive: its id in BullMQ, and its data.
 *  It must never give two directives the same job id. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobDataOf, jobId, jobOptionsOf } from '../../../src/queue/job.ts';
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

const traceparent = newTraceparent();

test('the data says which tool is called and how it is retried, and nothing of its arguments or context', () => {
  const secret = 'sk-very-secret';
  const directive = toolCall({
    id: 'a',
    request_id: 'r',
    tool_name: 'echo',
    arguments: { key: secret },
    context: { key: secret },
    timeout_ms: 5_000,
    max_retries: 3,
    retry_backoff_ms: 200,
    backoff: 'exponential',
    max_backoff_ms: 1_000,
    jitter: 0.5,
  });
  const job = jobDataOf(
    { directive, lane: 'tool.x', traceparent },
    { digest: 'd', lane: 'tool.x', deadlineAt: 9 },
  );
  expect(job).toEqual({
    request_id: 'r',
    id: 'a',
    digest: 'd',
    type: 'tool_exec',
    tool: 'x.echo',
    timeout_ms: 5_000,
    max_retries: 3,
    retry_backoff_ms: 200,
    backoff: 'exponential',
    max_backoff_ms: 1_000,
    jitter: 0.5,
    attempt: 1,
    priority: 4,
    traceparent,
    deadline_at: 9,
  });
  expect(JSON.stringify(job)).not.toContain(secret);
  expect(jobOptionsOf(job)).toEqual({
    attempts: 4,
    backoff: { type: 'exponential', delay: 200, jitter: 0.5 },
  });
});

test('a model directive names the model that its lane asks', () => {
  const directive = { ...toolCall({ id: 'a', request_id: 'r' }), type: 'llm_chat' as never };
  const models = ['one:first', 'two:second'];
  const job = jobDataOf(
    { directive, lane: 'llm.one', traceparent, models },
    { digest: 'd', lane: 'llm.two' },
  );
  expect(job).toMatchObject({ model: 'two:second' });
  expect(job).not.toHaveProperty('tool');
});
