/** `adjutant get` of what cannot be decrypted with the key that is here: the rest is shown.
 *  It must never need a service. */
import { expect, test } from 'vitest';
import { get } from '../../../src/cli/commands/get.ts';
import type { Invocation } from '../../../src/cli/invocation.ts';
import { PayloadUnreadable } from '../../../src/contract/encrypted/encrypted.ts';

const AT = '2026-11-23T12:00:00.000Z';
const ENDED = {
  type: 'tool_exec',
  status: 'failed',
  lane: 'tool.a',
  attempts: 1,
  failures: 0,
  redeliveries: 0,
};
const failed = (id: string) => ({
  ...ENDED,
  id,
  accepted_at: AT,
  started_at: AT,
  ended_at: AT,
  deadline_at: AT,
});
const VIEW = { request_id: 'r', status: 'closed', sequence: 2, open: 0, created_at: AT, closed_at: AT };
const RESULT = { data: { result: { ok: false, error: { type: 'timeout', message: 'too late' } } } };

async function shown(directive: (id: string) => Promise<unknown>, more: object = {}): Promise<string> {
  const lines: string[] = [];
  const client = {
    request: async () => ({ ...VIEW, ...more, directives: [failed('locked'), failed('open')] }),
    directive: (_request: string, id: string) => directive(id),
  };
  const paint = (_style: string, text: string): string => text;
  const terminal = { columns: Infinity, out: (line: string) => lines.push(line), paint };
  await get({ client, terminal, json: false } as unknown as Invocation, 'r', undefined);
  return lines.join('\n');
}

test('what is encrypted with another key is said in its place, beside all that can be read', async () => {
  const text = await shown(async (id) => {
    if (id === 'open') return { result: RESULT };
    throw new PayloadUnreadable('damaged', 'k1', { request: 'r', id, field: 'error' });
  });
  expect(text).toMatch(/locked +error of r\/locked .*"k1"/);
  expect(text).toMatch(/open +.*too late/);
});

test('a redrive that may repeat a call is proposed with that remark', async () => {
  const lost = { ok: false, error: { type: 'outcome_unknown', message: 'lost', details: {} } };
  const text = await shown(async (id) => ({ result: id === 'open' ? RESULT : { data: { result: lost } } }));
  expect(text).toMatch(/dead redrive r\/locked {2}# may have happened already: it is called again$/m);
  expect(text).toMatch(/dead redrive r\/open$/m);
});

test('a failed call of an archived request is proposed as a new request', async () => {
  const text = await shown(async () => ({ result: RESULT }), { archived: true });
  expect(text).toMatch(/adjutant again r locked\n +(npx )?adjutant again r open$/m);
  expect(text).not.toContain('redrive');
});

test('any other failure ends the command', async () => {
  await expect(shown(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
});
