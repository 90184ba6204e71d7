/** With whose rights a schedule fires, when its owner is no key of the installation.
 *  It must never touch Redis. */
import { expect, test } from 'vitest';
import { PERSON_MARK, TOKEN_MARK, UNLIMITED } from '../../../../src/http/access/principal.ts';
import { createOwnerCheck } from '../../../../src/http/access/schedule-rights.ts';

const check = createOwnerCheck(async () => null);
const owner = { name: 'Ada', ...UNLIMITED, tools: ['a.*'] };
const calling = (tool_name: string) => ({ directives: [{ type: 'tool_exec', tool_name }] }) as never;
const withoutCancel = createOwnerCheck(
  async () =>
    ({
      tenant: 'acme',
      scopes: ['submit'],
      ...UNLIMITED,
      id: 'k1',
      name: 'Ada',
      expires_at: null,
    }) as never,
);

test.each([TOKEN_MARK, PERSON_MARK])(
  'what "%s" has made keeps its rights, and gets no more',
  async (mark) => {
    const id = `${mark}ada`;
    expect(await check({ ...owner, id, tools: null }, 'acme', calling('b.y'))).toBe(null);
    expect(await check({ ...owner, id, tools: ['a.*'] }, 'acme', calling('a.x'))).toBe(null);
    expect(await check({ ...owner, id, tools: ['a.*'] }, 'acme', calling('b.y'))).toContain('b.y');
  },
);

test('a key that may not cancel any more fires nothing that replaces', async () => {
  const singleton = { key: 'k', when_open: 'replace' };
  const template = { directives: [{ type: 'tool_exec', tool_name: 'a.x', singleton }] } as never;
  expect(await withoutCancel({ ...owner, id: 'k1' }, 'acme', template)).toContain('scope cancel');
  const run = { run: { agent: 'a', query: 'q', singleton } } as never;
  expect(await withoutCancel({ ...owner, id: 'k1' }, 'acme', run)).toContain('scope cancel');
  expect(await check({ ...owner, id: `${TOKEN_MARK}ada`, tools: null }, 'acme', template)).toBe(null);
});

test.each<object>([
  { singleton: { key: 'k', when_open: 'join' } },
  { dedupe: { key: 'k', window_ms: 1 } },
  { debounce: { key: 'k', quiet_ms: 1 } },
])('cancel_running with %j needs the scope cancel: what is open may be of somebody else', async (once) => {
  const directives = { directives: [{ type: 'tool_exec', tool_name: 'a.x', ...once }] };
  for (const content of [directives, { run: { agent: 'a', query: 'q', ...once } }]) {
    const firing = (overlap: string) =>
      withoutCancel({ ...owner, id: 'k1' }, 'acme', { ...content, overlap } as never);
    expect(await firing('cancel_running')).toContain('cancel_running');
    expect(await firing('skip')).toBe(null);
  }
});

test('a key that is not there any more is revoked', async () => {
  const gone = { ...owner, id: 'k1', tools: null };
  expect(await check(gone, 'acme', calling('a.x'))).toBe('The key "Ada" is revoked.');
});
