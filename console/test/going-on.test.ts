/** The decisions behind the buttons of a request and a schedule, without a browser. */
import { expect, test } from 'vitest';
import type { RequestView } from '../../src/contract/request/request-view.ts';
import type { ScheduleView } from '../../src/contract/schedule/schedule.ts';
import { adviceOf } from '../pages/request/advice.ts';
import { failureOf } from '../pages/request/failure.ts';
import { askedModel, providerCurl } from '../pages/request/provider-curl.ts';
import { replaced, valueIn } from '../pages/requests/filter-text.ts';
import { failuresOf } from '../pages/schedules/fired.ts';
import { contentOf, NEW_CONTENT, readContent } from '../pages/schedules/schedule-content.ts';

test('an unknown type of error has no advice, whatever its name', () => {
  expect(adviceOf('timeout')).not.toBeNull();
  expect(adviceOf('constructor')).toBeNull();
});

const viewWith = (more: object): RequestView =>
  ({ request_id: 'r', status: 'closed', directives: [], ...more }) as unknown as RequestView;
const directive = (id: string, more: object = {}) => ({ id, status: 'failed', attempts: 1, ...more });

test('a failure proposes what continues: resume of a run that began, a redrive of a lone call, else a new request', () => {
  const run = {
    status: 'failed',
    started_at: 'x',
    error: { type: 'timeout', message: 'slow' },
    termination_reason: 't',
  };
  const waysOf = (view: object) => failureOf(viewWith(view), undefined, [])?.ways;
  expect(waysOf({ run })).toEqual(['resume', 'again']);
  expect(waysOf({ run: { ...run, started_at: null } })).toEqual(['again']);
  expect(waysOf({ run: { ...run, status: 'completed', termination_reason: 'max_iterations' } })).toEqual([
    'resume',
    'again',
  ]);
  expect(
    waysOf({ run: { ...run, status: 'completed', termination_reason: 'final_answer' } }),
  ).toBeUndefined();
  expect(waysOf({ directives: [directive('a')] })).toEqual(['redrive', 'again']);
  expect(waysOf({ directives: [directive('a', { attempts: 0 })] })).toEqual(['again']);
  expect(
    waysOf({ directives: [directive('a'), directive('a.redrive-1', { status: 'succeeded' })] }),
  ).toBeUndefined();
  expect(waysOf({ status: 'open', directives: [directive('a')] })).toBeUndefined();
});

test('a curl command holds no key, and no text of the call ends its quotes', () => {
  const hostile = `it's $(id) "quoted" \`x\``;
  const messages = [
    { role: 'user', content: hostile },
    {
      role: 'assistant',
      content: 'Yes.',
      tool_calls: [{ id: 'c', name: 'mail.send', arguments: { to: 'a' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'sent' },
  ];
  const call = {
    context: { messages },
    system_prompt: 'Be brief.',
    tools: ['mail.send'],
    max_tokens: 9,
    temperature: 0,
  };
  const bodyOf = (model: string) => {
    const asked = askedModel(call, model, [{ name: 'mail.send', input_schema: { type: 'object' } }]);
    const command = providerCurl(asked ?? (null as never));
    const [, quoted = ''] = /-d '(.*)'$/s.exec(command) ?? [];
    expect(quoted.replaceAll(String.raw`'\''`, '')).not.toContain("'");
    return { command, body: JSON.parse(quoted.replaceAll(String.raw`'\''`, "'")) as Record<string, unknown> };
  };
  const anthropic = bodyOf('anthropic:claude');
  expect(anthropic.command).toContain('"x-api-key: $ANTHROPIC_API_KEY"');
  expect(anthropic.body).toMatchObject({
    model: 'claude',
    system: 'Be brief.',
    messages: [
      { role: 'user', content: [{ type: 'text', text: hostile }] },
      {
        role: 'assistant',
        content: [{ type: 'text' }, { type: 'tool_use', name: 'mail_send', input: { to: 'a' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] },
    ],
  });
  expect(bodyOf('openai:gpt').body).toMatchObject({
    max_completion_tokens: 9,
    messages: [
      { role: 'system' },
      { content: hostile },
      { tool_calls: [{ function: { arguments: '{"to":"a"}' } }] },
      { tool_call_id: 'c' },
    ],
  });
  const google = bodyOf("google:gemini'; rm -rf /");
  expect(google.command).toContain(
    "'https://generativelanguage.googleapis.com/v1beta/models/gemini'\\''%3B%20rm%20-rf%20%2F:generateContent'",
  );
  expect(google.body).toMatchObject({
    contents: [{ role: 'user' }, { role: 'model' }, { parts: [{ functionResponse: { name: 'mail_send' } }] }],
  });
  expect(bodyOf('local:llama').command).toContain('"$BASE_URL/chat/completions"');
  expect(askedModel({ context: { $encrypted: {} } }, 'a:b', [])).toBeNull();
});

test('the content of a schedule comes back as it was, and a length of time that is none is named', () => {
  const schedule = {
    id: 's',
    cron: null,
    time_zone: null,
    every_ms: 5_400_000,
    jitter_ms: 1_500,
    catch_up_ms: 3_600_000,
    starts_at: '2026-01-01T00:00:00.000Z',
    ends_at: null,
    overlap: 'allow',
    template: { run: { agent: 'a', query: 'q', metadata: { tags: ['x'] } } },
  } as unknown as ScheduleView;
  expect(readContent(contentOf(schedule))).toEqual({
    body: {
      every_ms: 5_400_000,
      overlap: 'allow',
      jitter_ms: 1_500,
      catch_up_ms: 3_600_000,
      starts_at: '2026-01-01T00:00:00.000Z',
      ...schedule.template,
    },
  });
  expect(readContent({ ...NEW_CONTENT, when: 'every', every: 'soon' })).toHaveProperty('fault');
  expect(readContent({ ...NEW_CONTENT, what: 'json', template: '[' })).toHaveProperty('fault');
});

test('the failures of a schedule are those of its last requests, up to the first that did not fail', () => {
  const of = (schedule: string, status: string, at: number) => ({
    request_id: `schedule.${schedule}.2026010${at}T000000Z`,
    status: status as 'failed',
  });
  const requests = [
    of('a', 'open', 5),
    of('a', 'failed', 4),
    of('b', 'succeeded', 4),
    of('a', 'failed', 3),
    of('b', 'failed', 3),
    of('a', 'cancelled', 2),
    of('a', 'failed', 1),
  ];
  expect(Object.fromEntries(failuresOf(requests))).toEqual({ a: 2 });
});

test('a value of the filter is read and replaced without touching the others', () => {
  const filter = 'status:failed since:2h "two words" agent:x';
  expect(valueIn(filter, 'since')).toBe('2h');
  expect(replaced(filter, 'since', '1d')).toBe('status:failed "two words" agent:x since:1d');
  expect(replaced(replaced(filter, 'since', ''), 'until', '')).toBe('status:failed "two words" agent:x');
});
