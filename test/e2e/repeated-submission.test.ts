/** Submissions that only processes show: the same directive many times at once, at two services; a body that is too large.
 *  It must not send a repeated directive one after the other. */
import { beforeAll, expect, test } from 'vitest';
import type { Problem } from '../../src/contract/problem.ts';
import type { Submission } from '../../src/contract/directive/submission.ts';
import { auditRequest } from '../support/audit.ts';
import { countingCall } from '../support/calls.ts';
import { install } from '../support/installation.ts';
import { post } from '../support/public-api.ts';
import { shared } from '../support/shared.ts';

const TIMES = 100;

const installation = shared(install);
let [url, other] = ['', ''];

beforeAll(async () => {
  const started = await Promise.all([installation.start('up'), installation.start('up')]);
  [url = '', other = ''] = started.map((service) => service.url);
});

test('a directive submitted 100 times at once is executed once, and all get the same result', async () => {
  const call = countingCall('once', 1, { requestId: 'same', delayMs: 100 });
  const answers = await Promise.all(
    Array.from({ length: TIMES }, async (_, index) =>
      post<Submission>(`${index % 2 ? url : other}/v1/directives?wait_ms=20000`, call),
    ),
  );

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const entries = answers.map(({ body }) => body.directives[0]);
  expect(entries.filter((entry) => entry?.status === 'accepted')).toHaveLength(1);
  const [first] = entries;
  expect(first?.result).toMatchObject({ type: 'ai.tool.result', data: { result: { ok: true } } });
  for (const entry of entries) expect({ ...entry, status: '' }).toEqual({ ...first, status: '' });
  expect(installation.executions()).toEqual([expect.objectContaining({ label: 'once-1' })]);
  await auditRequest(url, 'same', ['once-1']);

  const changed = { ...call, arguments: { label: 'another' } };
  const refused = await post<Problem & { digests: { submitted: string; stored: string } }>(
    `${url}/v1/directives`,
    changed,
  );
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'id_conflict', errors: [{ path: 'id' }], digests: { stored: first?.digest } },
  });
  expect(refused.body.digests.submitted).not.toBe(first?.digest);
  expect(installation.executions()).toHaveLength(1);
});

test('many contents for one id at once: one is accepted, the others are refused', async () => {
  const before = installation.executions().length;
  const answers = await Promise.all(
    Array.from({ length: TIMES }, async (_, index) => {
      const call = countingCall('once', 1, { requestId: 'contested' });
      return post(`${url}/v1/directives?wait_ms=20000`, {
        ...call,
        arguments: { label: `content-${index}` },
      });
    }),
  );
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([200, ...Array.from({ length: TIMES - 1 }, () => 409)]);
  const accepted = answers.findIndex(({ status }) => status === 200);
  expect(installation.executions().slice(before)).toEqual([
    expect.objectContaining({ label: `content-${accepted}` }),
  ]);
  await auditRequest(url, 'contested', ['once-1']);
});

test('a body of 10 MB is refused, and its sender, another process, receives the answer each time', async () => {
  const call = countingCall('once', 1, { requestId: 'refused' });
  const body = { ...call, arguments: { label: 'x'.repeat(10 * 1024 * 1024) } };
  for (let time = 0; time < 10; time += 1) {
    const answer = await post<Problem>(`${url}/v1/directives`, body);
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
  }
});
