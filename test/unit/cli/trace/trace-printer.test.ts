/** `up --traces`: which requests are drawn as they end, and what is said of the others.
 *  It must never need a service. */
import { expect, test, vi } from 'vitest';
import { createTracePrinter } from '../../../../src/cli/trace/trace-printer.ts';
import type { Terminal } from '../../../../src/cli/terminal.ts';
import { DirectiveRefused, problem } from '../../../../src/contract/problem.ts';
import type { RequestTrace } from '../../../../src/contract/request/request-trace.ts';
import { eventually } from '../../../support/eventually.ts';

const NOW = '2026-03-01T10:00:00.000Z';

const traceOf = (id: string, more: Partial<RequestTrace>): RequestTrace => ({
  request_id: id,
  status: 'closed',
  created_at: NOW,
  closed_at: NOW,
  read_at: NOW,
  directives: [],
  directives_left_out: 0,
  events: [],
  signals_left_out: 0,
  ...more,
});

const runOf = (parent: string): Partial<RequestTrace> => ({
  run: {
    agent: 'a',
    status: 'completed',
    termination_reason: null,
    parent_request_id: parent,
    turns: [],
    turns_left_out: 0,
    children: [],
  },
});

/** `traces`: what the service answers of some requests; the others are closed and plain. */
function printer(traces: Readonly<Record<string, Partial<RequestTrace> | null>> = {}) {
  const lines: string[] = [];
  const terminal = { out: (line: string) => lines.push(line), paint: (_: string, text: string) => text };
  const asked: string[] = [];
  const close = vi.fn<() => Promise<void>>(async () => {});
  const trace = async (id: string): Promise<RequestTrace> => {
    asked.push(id);
    const own = id in traces ? traces[id] : {};
    if (!own) throw new DirectiveRefused(problem('not_found', {}));
    return traceOf(id, own);
  };
  const limits = { trees: 2, looks: 5, lines: 30, perMs: 50 };
  const made = createTracePrinter(terminal as unknown as Terminal, limits, () => ({ trace, close }));
  return { ...made, lines, asked, close };
}

test('a request is drawn once it is closed', async () => {
  const { begin, ended, lines } = printer({ open: { status: 'open' } });
  begin('http://x');
  ended('open');
  ended('closed');
  await eventually(async () => lines).toEqual(['closed  request  closed  0 ms']);
});

test('a child is drawn in the tree of its parent', async () => {
  const { begin, ended, lines, asked } = printer({ child: runOf('parent') });
  begin('http://x');
  ended('child');
  ended('parent');
  await eventually(async () => lines).toEqual(['parent  request  closed  0 ms']);
  expect(asked).toEqual(['child', 'parent']);
});

test('beyond the limits requests are counted, not looked at', async () => {
  const { begin, ended, lines, asked } = printer();
  begin('http://x');
  for (let index = 0; index < 100; index += 1) ended(`r${index}`);
  const counted = () => lines.map((line) => Number(/^… (\d+) more requests? ended; /.exec(line)?.[1] ?? 1));
  await eventually(async () => counted().reduce((sum, count) => sum + count, 0)).toBe(100);
  expect(asked).toHaveLength(5);
});

test('what is not kept any more is counted, and breaks nothing', async () => {
  const { begin, ended, lines } = printer({ gone: null });
  begin('http://x');
  ended('gone');
  ended('kept');
  await eventually(async () => lines.toSorted()).toEqual([
    'kept  request  closed  0 ms',
    expect.stringMatching(/^… 1 more request ended/) as string,
  ]);
});

test('before it begins and after it has stopped nothing is read', async () => {
  const { begin, ended, stop, asked, close } = printer();
  ended('before');
  begin('http://x');
  stop();
  ended('after');
  expect(close).toHaveBeenCalledOnce();
  expect(asked).toEqual([]);
});
