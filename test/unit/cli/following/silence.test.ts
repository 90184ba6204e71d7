/** The explanation of a silence: which waits are printed, when, and how often. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Invocation } from '../../../../src/cli/invocation.ts';
import { explainSilence } from '../../../../src/cli/following/silence.ts';
import { createTerminal } from '../../../../src/cli/terminal.ts';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { textStream } from '../../../support/text-stream.ts';

const NOW = '2026-01-02T03:00:00.000Z';
const DEADLINE = '2026-01-02T03:15:00.000Z';

beforeEach(() => void vi.useFakeTimers({ now: new Date(NOW) }));
afterEach(() => void vi.useRealTimers());

const wait = (reason: string, message: string) => ({ reason, message, until: null });
const signal = (type: string, data: object = {}) =>
  ({ type, subject: 'r', data: { call_id: 'c', ...data } }) as unknown as Signal;

/** `views`: what the service answers to each read; the last one counts for all later ones. */
function silent(views: readonly (object | Error)[], id?: string) {
  const reads = vi.fn(async () => {
    const view = views[Math.min(reads.mock.calls.length, views.length) - 1];
    if (view instanceof Error) throw view;
    return view;
  });
  const stderr = textStream(false);
  const client = { directive: reads, request: reads, lanes: async () => ({ lanes: [] }) };
  const terminal = createTerminal(textStream(false), stderr);
  const invocation = { client, terminal } as unknown as Invocation;
  const silence = explainSilence(invocation, { requestId: 'r', ...(id === undefined ? {} : { id }) });
  return { silence, reads, lines: () => stderr.text().split('\n').slice(0, -1) };
}

test('a call that waits says for what and until when, once, and again when the reason changes', async () => {
  const view = (waiting: object) => ({ id: 'c', deadline_at: DEADLINE, waiting });
  const down = view(wait('server_down', "the MCP server 's' is down"));
  const { silence, lines } = silent([down, down, view(wait('rate_limited', 'it asks to slow down'))], 'c');
  await vi.advanceTimersByTimeAsync(1_999);
  expect(lines()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  const said = ["waits: the MCP server 's' is down; ends at 03:15:00 at the latest"];
  expect(lines()).toEqual(said);
  // The sweeper notes the same reason in the log.
  silence.add(signal('directive.waiting', wait('server_down', "the MCP server 's' is down (tried twice)")));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lines()).toEqual(said);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(lines()).toEqual([...said, 'waits: it asks to slow down; ends at 03:15:00 at the latest']);
  silence[Symbol.dispose]();
});

test('a call with signals is not asked about, nor is one that has ended', async () => {
  const { silence, reads } = silent([{ id: 'c', deadline_at: DEADLINE }], 'c');
  for (let seconds = 0; seconds < 4; seconds += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    silence.add(signal('ai.tool.progress'));
  }
  silence[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reads).not.toHaveBeenCalled();
});

test('a long silence is read ever more seldom, also where reading fails', async () => {
  const { silence, reads, lines } = silent([new Error('forbidden')], 'c');
  await vi.advanceTimersByTimeAsync(600_000);
  expect(reads.mock.calls.length).toBeLessThan(16);
  expect(lines()).toEqual([]);
  silence[Symbol.dispose]();
});

test('a run explains the waits of its calls; what a person is asked, the prompt shows', async () => {
  const waiting = (id: string, reason: string) => ({
    id,
    deadline_at: DEADLINE,
    waiting: wait(reason, reason),
  });
  const { silence, lines } = silent([
    { directives: [waiting('a', 'no_worker'), waiting('b', 'input_required'), { id: 'e' }] },
  ]);
  silence.quiet(true);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lines(), 'a question is open').toEqual([]);
  silence.quiet(false);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(lines()).toEqual(['waits: no_worker; ends at 03:15:00 at the latest']);
  silence[Symbol.dispose]();
});
