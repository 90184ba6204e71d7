/** The drawing of a trace: data of the journal to lines.
 *  It must never need a service or a clock. */
import { expect, test } from 'vitest';
import { traceLines } from '../../../../src/cli/trace/trace-lines.ts';
import { unsentNotice } from '../../../../src/contract/signal/notice.ts';
import type { TraceFamily } from '../../../../src/cli/trace/trace-tree.ts';
import type {
  RequestTrace,
  TracedAttempt,
  TracedDirective,
  TracedEvent,
} from '../../../../src/contract/request/request-trace.ts';

const START = Date.parse('2026-03-01T10:00:00.000Z');
const at = (ms: number): string => new Date(START + ms).toISOString();
const atOrNull = (ms: number | null): string | null => (ms === null ? null : at(ms));

/** Instants in milliseconds after the request's beginning: due, claimed, ended. */
function attempt(
  [due, claimed, ended]: readonly [number | null, number | null, number | null],
  more: Partial<TracedAttempt> = {},
): TracedAttempt {
  return {
    attempt: 1,
    due_at: atOrNull(due),
    claimed_at: atOrNull(claimed),
    first_output_at: null,
    ended_at: atOrNull(ended),
    outcome: 'succeeded',
    reason: null,
    delay_ms: null,
    redelivered: false,
    model: null,
    ...more,
  };
}

function directive(more: Partial<TracedDirective> = {}): TracedDirective {
  return {
    id: 'd1',
    type: 'tool_exec',
    name: 'files.read',
    lane: 'tool.files',
    status: 'succeeded',
    turn: null,
    accepted_at: at(0),
    ended_at: at(1_000),
    deadline_at: at(900_000),
    error: null,
    attempts: [attempt([0, 100, 1_000])],
    attempts_left_out: 0,
    events: [],
    ...more,
  };
}

function request(more: Partial<RequestTrace> = {}): RequestTrace {
  return {
    request_id: 'r1',
    status: 'closed',
    created_at: at(0),
    closed_at: at(1_000),
    read_at: at(2_000),
    directives: [],
    directives_left_out: 0,
    events: [],
    signals_left_out: 0,
    ...more,
  };
}

const event = (ms: number, type: string, message = '', until: number | null = null): TracedEvent => ({
  at: at(ms),
  type,
  message,
  until: atOrNull(until),
});

function drawn(
  trace: RequestTrace,
  children: TraceFamily['children'] = new Map(),
  mostLines = 100,
): string[] {
  return traceLines({ trace, children }, { paint: (_style, text) => text, mostLines });
}

test('a directive with one attempt is one line: its wait, its run, its first output', () => {
  const attempts = [attempt([0, 250, 1_000], { first_output_at: at(500), model: 'test:large' })];
  const llm = directive({ type: 'llm_stream', name: 'test:large', attempts });
  expect(drawn(request({ directives: [llm], trace_id: 'abc' }))).toEqual([
    'r1  request  closed  1.0 s',
    'trace abc',
    '└─ test:large  │╌╌╌╌╌╌━━━━━━━━━━━━━━━━━━│     +0 ms  1.0 s  succeeded, queued 250 ms, first output after 250 ms, d1',
  ]);
});

test('each attempt is a line with what followed it', () => {
  const attempts = [
    attempt([0, 0, 100], { outcome: 'retry', reason: 'timeout', delay_ms: 200 }),
    attempt([300, 300, 400], { attempt: 2, outcome: 'fallback', reason: 'provider_error', delay_ms: 0 }),
    attempt([400, 400, 500], { attempt: 3, outcome: 'worker_lost', reason: 'worker_lost' }),
    attempt([500, 600, 1_000], { attempt: 4, redelivered: true, model: 'b:free' }),
  ];
  const [, ...lines] = drawn(request({ directives: [directive({ attempts })] }));
  expect(lines).toEqual([
    '└─ files.read    │━━━━━━━━━━━━━━━━━━━━━━━━│     +0 ms  1.0 s   succeeded, d1',
    '   ├─ attempt 1  │━━━                     │     +0 ms  100 ms  timeout, retry in 200 ms, queued 0 ms',
    '   ├─ attempt 2  │       ━━━              │   +300 ms  100 ms  provider_error, falls back to the next model, queued 0 ms',
    '   ├─ attempt 3  │         ━━━━           │   +400 ms  100 ms  worker lost, queued 0 ms',
    '   └─ attempt 4  │            ╌╌━━━━━━━━━━│   +500 ms  500 ms  succeeded, redelivered, b:free, queued 100 ms',
  ]);
});

test('a directive whose worker is lost is not drawn as if it ran', () => {
  const attempts = [attempt([0, 0, 500], { outcome: 'worker_lost', reason: 'worker_lost' })];
  const lost = directive({ status: 'running', ended_at: null, attempts });
  const [, ...lines] = drawn(request({ status: 'open', closed_at: null, directives: [lost] }));
  expect(lines).toEqual([
    '└─ files.read    │━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌│     +0 ms  2.0 s   worker lost; waits for a worker, d1',
    '   └─ attempt 1  │━━━━━━━                 │     +0 ms  500 ms  worker lost, queued 0 ms',
  ]);
});

test('pauses for one reason that follow each other are one line', () => {
  const pause = { outcome: 'paused', reason: 'rate_limited', delay_ms: 100 };
  const attempts = [
    attempt([0, 0, 10], pause),
    attempt([110, 110, 120], pause),
    attempt([220, 220, 230], pause),
    attempt([330, 330, 1_000]),
  ];
  const [, , pauses, last] = drawn(request({ directives: [directive({ attempts })] }));
  expect(pauses).toContain('+0 ms  230 ms  paused 3 times: rate_limited');
  expect(pauses).not.toContain('━');
  expect(last).toContain('+330 ms  670 ms  succeeded');
});

test('waiting for a server that is down is drawn as waiting, not as an attempt', () => {
  const attempts = [attempt([0, 10, 1_000], { outcome: 'paused', reason: 'server_down', delay_ms: 400 })];
  const [, whole, pause] = drawn(
    request({
      directives: [directive({ status: 'waiting', ended_at: null, attempts, events: [event(1, 'x')] })],
    }),
  );
  expect([whole, pause].join('\n')).not.toContain('━');
  expect(pause).toMatch(/not called .*╌.*paused 400 ms: server_down/);
});

test('waits, approvals and cancellations stand where they happened', () => {
  const events = [
    event(100, 'directive.waiting', 'no worker serves the lane tool.files', 60_100),
    event(700, 'cancel_requested'),
  ];
  const attempts = [attempt([0, 500, 1_000], { outcome: 'cancelled', reason: 'cancelled' })];
  const cancelled = directive({ status: 'failed', error: 'cancelled', events, attempts });
  const [, ...lines] = drawn(request({ directives: [cancelled] }));
  expect(lines).toEqual([
    '└─ files.read             │╌╌╌╌╌╌╌╌╌╌╌╌━━━━━━━━━━━━│     +0 ms  1.0 s   failed: cancelled, d1',
    '   ├─ attempt 1           │╌╌╌╌╌╌╌╌╌╌╌╌━━━━━━━━━━━━│     +0 ms  1.0 s   cancelled, queued 500 ms',
    '   ├─ waits               │  ╌╌╌╌╌╌╌╌╌╌╌           │   +100 ms  400 ms  no worker serves the lane tool.files, next try after 1 min 0 s',
    '   └─ cancellation asked  │                ●       │   +700 ms',
  ]);
});

test('what is under way lasts until it was looked at; what nobody took is all wait', () => {
  const running = directive({
    status: 'running',
    ended_at: null,
    attempts: [attempt([0, 0, null], { outcome: 'running' })],
  });
  const waiting = directive({ id: 'd2', status: 'accepted', ended_at: null, attempts: [] });
  const [head, ...lines] = drawn(
    request({ status: 'open', closed_at: null, directives: [running, waiting] }),
  );
  expect(head).toBe('r1  request  open  2.0 s');
  expect(lines).toEqual([
    '├─ files.read  │━━━━━━━━━━━━━━━━━━━━━━━━│     +0 ms  2.0 s  running, queued 0 ms, d1',
    '└─ files.read  │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌│     +0 ms  2.0 s  accepted, d2',
  ]);
});

const run = (children: { request_id: string; turn: number | null }[] = []): RequestTrace['run'] => ({
  agent: 'lead',
  status: 'completed',
  termination_reason: 'final_answer',
  parent_request_id: null,
  turns: [
    { turn: 1, started_at: at(0), ended_at: at(100), events: [] },
    {
      turn: 2,
      started_at: at(500),
      ended_at: at(600),
      events: [event(600, 'agent.child.exit', 'help completed')],
    },
  ],
  turns_left_out: 0,
  children: children.map((child) => ({ tag: 'help', status: 'completed', ...child })),
});

test('a run is its turns, each with what it sent and the children that it began', () => {
  const sent = directive({
    turn: 1,
    accepted_at: at(100),
    attempts: [attempt([100, 100, 300])],
    ended_at: at(300),
  });
  const child = request({ request_id: 'r1.c1', created_at: at(600), closed_at: at(900), run: run() });
  const children = new Map([['r1.c1', { trace: child, children: new Map() }]]);
  const lines = drawn(
    request({ run: run([{ request_id: 'r1.c1', turn: 2 }]), directives: [sent] }),
    children,
  );
  expect(
    lines.map(
      (line) => /^[│├└─ ]*(?:turn \d|run lead(?: help)?|files\.read|child ended)|^r1/.exec(line)?.[0],
    ),
  ).toEqual([
    'r1',
    '├─ turn 1',
    '│  └─ files.read',
    '└─ turn 2',
    '   ├─ run lead help',
    '   │  ├─ turn 1',
    '   │  └─ turn 2',
    '   │     └─ child ended',
    '   └─ child ended',
  ]);
});

test('a child that is not kept names the command that would show it', () => {
  const lines = drawn(
    request({ run: run([{ request_id: 'r1.c1', turn: null }]) }),
    new Map([['r1.c1', null]]),
  );
  expect(lines.at(-1)).toMatch(/^└─ run help +completed, its own tree: .*adjutant trace r1\.c1$/);
});

test('what was left out is said', () => {
  const left = request({
    directives_left_out: 800,
    signals_left_out: 9,
    directives: [directive({ attempts_left_out: 7 })],
  });
  const lines = drawn(left).join('\n');
  expect(lines).toContain('7 attempts between are not kept');
  expect(lines).toContain('800 more directives');
  expect(lines).toContain('9 later signals are left out');
  expect(lines).toMatch(/^├─ files\.read {4}│/m);
});

test('no more lines are drawn than may be', () => {
  const many = Array.from({ length: 50 }, (_, index) => directive({ id: `d${index}` }));
  const lines = drawn(request({ directives: many }), new Map(), 10);
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toMatch(/^… 40 more lines: .*adjutant trace r1 --json has all$/);
});

test('a name cannot move the cursor, begin a line or fill it', () => {
  const hostile = `\u001B[2J\r\nr1  request  closed\u202E${'x'.repeat(500)}`;
  const waits = [event(0, hostile, hostile)];
  const events = directive({
    name: hostile,
    error: hostile,
    status: 'failed',
    events: waits,
    attempts_left_out: 0,
  });
  const failed = attempt([0, 0, 1], { outcome: hostile, reason: hostile, model: hostile });
  for (const line of drawn(request({ directives: [{ ...events, attempts: [failed] }] }))) {
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\u0000-\u001F\u202E]/);
    expect(line.length).toBeLessThan(700);
  }
});

test('an attempt without instants is drawn without a bar', () => {
  const unknown = attempt([null, null, null], { outcome: 'unknown' });
  const attempts = [unknown, attempt([0, 0, 5])];
  const line = drawn(request({ directives: [directive({ attempts })] })).at(-1);
  expect(line).toMatch(/^ +└─ attempt 1 +its end is not known$/);
});

test('a wait for a limit is a bar as long as it was', () => {
  const waits = {
    at: at(5_000),
    type: 'directive.waiting',
    message: 'account-42, 1 of 1 is running',
    until: null,
    reason: 'limit',
  };
  const own = directive({
    attempts: [attempt([0, 9_000, 10_000])],
    events: [waits],
    ended_at: at(10_000),
  });
  const lines = drawn(request({ directives: [own], closed_at: at(10_000) }));
  const line = lines.find((each) => each.includes(' waits ')) ?? '';
  expect(line).toMatch(/│╌{20,}.*│ +\+0 ms +9\.0 s +account-42, 1 of 1 is running/);
});

test('who is notified of an end stands below it', () => {
  const notice = {
    ...unsentNotice('webhook.ab'),
    endpoint: 'mine',
    id: 'mine',
    status: 'delivered',
    attempts: 2,
  };
  const lines = drawn(request({ directives: [directive({ notices: [notice] })] }));
  expect(lines.at(-1)).toMatch(/└─ notice mine +delivered, 2 attempts, webhook\.ab mine$/);
});
