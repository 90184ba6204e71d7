/** What an execution means for its directive: every reason to stop, every repeat policy, every kind of failure.
 *  It must never use randomness that a test does not pass in. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emitToolErrorSchema } from '../../../../src/contract/directive/immediate-directive.ts';
import { type ErrorEnvelope, errorEnvelope } from '../../../../src/contract/error-envelope.ts';
import { errorResult, okResult, type Result } from '../../../../src/contract/result.ts';
import type { RepeatPolicy, ToolExec } from '../../../../src/contract/directive/work-directive.ts';
import type { Execution } from '../../../../src/worker/executors/definition.ts';
import {
  lanePauseMs,
  lostAttemptError,
  MAX_REDELIVERIES,
  type Outcome,
  outcomeOf,
  type OutcomeFacts,
  type StopReason,
} from '../../../../src/worker/attempt/outcome.ts';
import { NO_PAUSES, type Pauses } from '../../../../src/worker/attempt/pause.ts';
import { toolCall } from '../../../support/journal.ts';

const EFFECTS: RepeatPolicy[] = ['read', 'idempotent', 'once'];
const STOPS: StopReason[] = ['cancelled', 'deadline', 'shutdown', 'lost', 'lapsed'];
const TIMEOUT = errorEnvelope('timeout', 'Tool execution timed out');
const BROKEN = errorEnvelope('validation_error', 'wrong argument');

const PAUSE_LIMITS = { longestMs: 300_000, count: 10, totalMs: 3_600_000 };

interface Given extends Partial<Omit<OutcomeFacts, 'execution'>> {
  /** Of a tool call. Default: two retries. */
  fields?: Partial<ToolExec>;
  error?: ErrorEnvelope;
  /** Default: that of `error`, or a success. */
  result?: Result;
  ambiguous?: boolean;
  unavailable?: boolean;
  pauseScope?: 'lane' | 'directive';
  unsent?: true;
  untaken?: true;
  task?: Pick<Execution, 'resumable' | 'forgotten' | 'notBegun'>;
}

function outcome(given: Given): Outcome {
  return outcomeOf(factsOf(given));
}

function factsOf({
  fields,
  error,
  result = error ? errorResult(error) : okResult('done'),
  ambiguous,
  unavailable = false,
  pauseScope = 'lane',
  unsent,
  untaken,
  task = {},
  ...facts
}: Given): OutcomeFacts {
  return {
    directive: toolCall({ max_retries: 2, ...fields }),
    execution: {
      result,
      ...(ambiguous === undefined ? {} : { ambiguous }),
      unavailable,
      pauseScope,
      ...(unsent && { unsent }),
      ...(untaken && { untaken }),
      ...task,
    },
    repeatPolicy: 'read',
    model: null,
    nextModel: null,
    failures: 0,
    pauses: NO_PAUSES,
    pauseLimits: PAUSE_LIMITS,
    now: 1_000_000,
    stop: null,
    cancelReason: null,
    remainingMs: 900_000,
    unreachedForMs: null,
    random: () => {
      throw new Error('chance was asked');
    },
    ...facts,
  };
}

/** `refused` of the pauses came after a call, the first of them 100 s ago. */
function paused(count: number, refused: number): Pauses {
  return { count, refused, sinceAt: refused > 0 ? 900_000 : null };
}

/** The error a directive ends with; fails the test when it does not end, or in success. */
function endError(decided: Outcome): ErrorEnvelope {
  if (decided.kind !== 'end' || decided.result.ok) throw new Error(JSON.stringify(decided));
  return decided.result.error;
}

function delayOf(decided: Outcome): number {
  if (decided.kind !== 'retry') throw new Error(JSON.stringify(decided));
  return decided.delayMs;
}

describe('a success', () => {
  test.each([null, 'cancelled', 'deadline', 'shutdown'] as const)(
    'counts although the attempt was told to stop: %s',
    (stop) => {
      expect(outcome({ stop })).toEqual({ kind: 'end', result: okResult('done') });
    },
  );

  test('writes nothing when another worker has the directive', () => {
    expect(outcome({ stop: 'lost' })).toEqual({ kind: 'drop' });
  });
});

/** What each reason makes of a failed attempt: by repeat policy, and by whether the call may have happened. */
const STOPPED: [StopReason, RepeatPolicy, boolean, string][] = STOPS.flatMap((stop) =>
  EFFECTS.flatMap((effect) =>
    [true, false].map((ambiguous): [StopReason, RepeatPolicy, boolean, string] => {
      const unknown = effect === 'once' && ambiguous;
      const expected = {
        lost: 'drop',
        lapsed: unknown ? 'drop' : 'release',
        cancelled: `end cancelled${unknown ? ' unknown' : ''}`,
        deadline: `end deadline_exceeded${unknown ? ' unknown' : ''}`,
        shutdown: unknown ? 'end outcome_unknown unknown' : 'release',
      }[stop];
      return [stop, effect, ambiguous, expected];
    }),
  ),
);

function summary(decided: Outcome): string {
  if (decided.kind !== 'end') return decided.kind;
  const { type, details } = endError(decided);
  return details['outcome'] === 'unknown' ? `end ${type} unknown` : `end ${type}`;
}

describe('an attempt that was stopped', () => {
  test('by a caller with a reason repeats the reason', () => {
    const given = { error: TIMEOUT, stop: 'cancelled', cancelReason: 'changed my mind' } as const;
    expect(endError(outcome(given)).details).toEqual({ reason: 'changed my mind' });
    const inDoubt = outcome({ ...given, repeatPolicy: 'once', ambiguous: true });
    expect(endError(inDoubt).details).toEqual({ reason: 'changed my mind', outcome: 'unknown' });
  });

  test('at its deadline says why its call had not begun', () => {
    const decided = outcome({ error: TIMEOUT, stop: 'deadline', task: { notBegun: 'no program' } });
    expect(endError(decided).message).toMatch(/deadline: no program$/);
  });

  test.each(STOPPED)('%s, repeat policy %s, ambiguous %s: %s', (stop, effect, ambiguous, expected) => {
    for (const error of [TIMEOUT, BROKEN]) {
      expect(summary(outcome({ stop, repeatPolicy: effect, ambiguous, error }))).toBe(expected);
    }
  });

  test('at its deadline names the deadline', () => {
    const error = endError(outcome({ stop: 'deadline', error: TIMEOUT, fields: { deadline_ms: 1_234 } }));
    expect(error.details['deadline_ms']).toBe(1_234);
    expect(error.retryable).toBe(false);
  });
});

describe('a failure', () => {
  test('that is not retryable ends the directive at once', () => {
    expect(outcome({ error: BROKEN })).toEqual({ kind: 'end', result: errorResult(BROKEN) });
  });

  test('that may pass is repeated as often as the directive allows, and ends with the error that it had', () => {
    const kinds = [0, 1, 2, 3].map((failures) => outcome({ failures, error: TIMEOUT }).kind);
    expect(kinds).toEqual(['retry', 'retry', 'end', 'end']);
    expect(endError(outcome({ error: TIMEOUT, fields: { max_retries: 0 } }))).toEqual(TIMEOUT);
  });

  test.each<[string, object, Outcome['kind']]>([
    ['has no retry fields ends', {}, 'end'],
    ['has some is repeated, the others are as always', { max_retries: 1 }, 'retry'],
    ['means something else by their names ends', { max_retries: 'many' }, 'end'],
  ])('of a directive that %s', (_which, fields, kind) => {
    const emit = { type: 'emit_tool_error', id: 'a', request_id: 'r', tool_name: 't', error: 'e' };
    const directive = { ...emitToolErrorSchema.parse(emit), ...fields };
    expect(outcome({ directive, error: TIMEOUT, random: () => 0 })).toMatchObject({
      kind,
      ...(kind === 'retry' ? { delayMs: 0 } : {}),
    });
  });

  test('keeps the effects that came with the error', () => {
    const result = errorResult(BROKEN, [{ type: 'stop_processing' }]);
    expect(outcome({ result })).toEqual({ kind: 'end', result });
  });

  test('of a call that may have happened is not repeated if its policy is once, and reports that', () => {
    const error = endError(outcome({ repeatPolicy: 'once', ambiguous: true, error: TIMEOUT }));
    expect(error).toMatchObject({ type: 'timeout', retryable: false, details: { outcome: 'unknown' } });
    expect(outcome({ repeatPolicy: 'once', ambiguous: false, error: TIMEOUT }).kind).toBe('retry');
    expect(outcome({ repeatPolicy: 'idempotent', ambiguous: true, error: TIMEOUT }).kind).toBe('retry');
    expect(outcome({ repeatPolicy: 'read', ambiguous: true, error: TIMEOUT }).kind).toBe('retry');
  });
});

describe('the delay before the next attempt', () => {
  test.each<[string, Partial<ToolExec>, number[]]>([
    ['is always the same when fixed', {}, [100, 100, 100, 100]],
    [
      'doubles up to its cap when exponential',
      { backoff: 'exponential', max_backoff_ms: 350 },
      [100, 200, 350, 350],
    ],
  ])('%s', (_how, more, delays) => {
    const fields = { max_retries: 9, retry_backoff_ms: 100, ...more };
    expect(delays.map((_, failures) => delayOf(outcome({ fields, failures, error: TIMEOUT })))).toEqual(
      delays,
    );
  });

  test('is shortened by jitter, at most by its fraction', () => {
    const fields = { retry_backoff_ms: 1_000, jitter: 0.4 };
    const delays = [0, 0.5, 1].map((chance) =>
      delayOf(outcome({ fields, error: TIMEOUT, random: () => chance })),
    );
    expect(delays).toEqual([1_000, 800, 600]);
  });

  test('is as long as the other side asks for, when that is longer', () => {
    const limited = (ms: number) => errorEnvelope('provider_error', 'HTTP 503', { retry_after_ms: ms });
    const fields = { retry_backoff_ms: 500, max_backoff_ms: 500 };
    expect(delayOf(outcome({ fields, error: limited(2_000) }))).toBe(2_000);
    expect(delayOf(outcome({ fields, error: limited(20) }))).toBe(500);
  });

  test('that reaches the deadline ends the directive with the last error', () => {
    const fields = { retry_backoff_ms: 1_000 };
    const error = endError(outcome({ fields, error: TIMEOUT, remainingMs: 1_000 }));
    expect(error).toMatchObject({ type: 'timeout', details: { delay_ms: 1_000 } });
    expect(error.details['not_retried']).toContain('deadline');
    expect(outcome({ fields, error: TIMEOUT, remainingMs: 1_001 }).kind).toBe('retry');
  });
});

describe('a call that its server keeps as a task', () => {
  const lost = { error: errorEnvelope('network', 'no such task'), ambiguous: true };

  test('is given back when its worker stops, whatever a repeat does', () => {
    for (const repeatPolicy of EFFECTS)
      expect(outcome({ ...lost, repeatPolicy, stop: 'shutdown', task: { resumable: true } })).toEqual({
        kind: 'release',
      });
  });

  test('has an unknown outcome once it is forgotten, if its policy is once', () => {
    for (const forgotten of ['own', 'earlier'] as const)
      expect(endError(outcome({ ...lost, repeatPolicy: 'once', task: { forgotten } }))).toMatchObject({
        type: 'outcome_unknown',
        retryable: false,
        details: { outcome: 'unknown' },
      });
  });

  test('is made again once it is forgotten, if a repeat is harmless: for an earlier attempt that uses up no retry', () => {
    expect(outcome({ ...lost, task: { forgotten: 'earlier' } })).toEqual({ kind: 'release', anew: true });
    expect(outcome({ ...lost, task: { forgotten: 'own' } }).kind).toBe('retry');
  });

  test('is asked for by the next worker, three times', () => {
    const three = [1, 2, 3].map((redeliveries) => lostAttemptError('once', redeliveries, true));
    expect(three).toEqual([null, null, null]);
    expect(lostAttemptError('once', 4, true)?.type).toBe('outcome_unknown');
    expect(lostAttemptError('read', 4, true)?.type).toBe('worker_lost');
  });
});

describe('a directive whose worker died', () => {
  test('is never repeated if its policy is once', () => {
    expect(lostAttemptError('once', 1)).toMatchObject({ type: 'outcome_unknown', retryable: false });
  });

  test('is made three times more if no attempt began, then given up, and its outcome is known', () => {
    const types = [1, 2, 3, 4].map(
      (redeliveries) => lostAttemptError('once', redeliveries, false, false)?.type,
    );
    expect(types).toEqual([undefined, undefined, undefined, 'worker_lost']);
  });

  test.each(['read', 'idempotent'] as const)('is repeated three times when %s, then given up', (effect) => {
    expect(MAX_REDELIVERIES).toBe(3);
    expect([1, 2, 3].map((redeliveries) => lostAttemptError(effect, redeliveries))).toEqual([
      null,
      null,
      null,
    ]);
    expect(lostAttemptError(effect, 4)).toMatchObject({
      type: 'worker_lost',
      retryable: false,
      details: { redeliveries: 4 },
    });
  });
});

test('whatever happens, a call that may have happened once is never repeated, and no budget is overdrawn', () => {
  const any = fc.record({
    stop: fc.option(fc.constantFrom(...STOPS)),
    repeatPolicy: fc.constantFrom(...EFFECTS),
    ambiguous: fc.boolean(),
    failures: fc.nat({ max: 5 }),
    remainingMs: fc.integer({ min: -1_000, max: 100_000 }),
    error: fc.constantFrom(
      TIMEOUT,
      BROKEN,
      errorEnvelope('provider_error', 'wait', { retry_after_ms: 5_000 }),
    ),
    fields: fc.record({
      max_retries: fc.nat({ max: 4 }),
      retry_backoff_ms: fc.nat({ max: 60_000 }),
      backoff: fc.constantFrom('fixed' as const, 'exponential' as const),
      max_backoff_ms: fc.nat({ max: 30_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    chance: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(any, ({ chance, ...given }) => {
      const decided = outcome({ ...given, random: () => chance });
      const again = decided.kind === 'retry' || decided.kind === 'release';
      if (given.repeatPolicy === 'once' && given.ambiguous) expect(again).toBe(false);
      if (decided.kind !== 'retry') return;
      expect(given.stop).toBeNull();
      expect(given.error.retryable).toBe(true);
      expect(given.failures).toBeLessThan(given.fields.max_retries);
      expect(decided.delayMs).toBeLessThan(given.remainingMs);
      expect(decided.delayMs).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 1_000 },
  );
});

describe('what does not count as a failure', () => {
  test.each<[string, Record<string, unknown>, Given, object]>([
    [
      'pauses the lane',
      { retry_after_ms: 2_000 },
      {},
      { kind: 'pause', delayMs: 2_000, lane: true, reason: 'rate_limited' },
    ],
    [
      'by a configured limit, is named as such',
      { retry_after_ms: 2_000 },
      { unsent: true },
      { kind: 'pause', delayMs: 2_000, reason: 'limit_reached', refused: null },
    ],
    ['and says not how long, by the default', {}, {}, { kind: 'pause', delayMs: 1_000 }],
    ...[-5, 0, '9', null].map((retry_after_ms): [string, Record<string, unknown>, Given, object] => [
      `for ${retry_after_ms}, by the default`,
      { retry_after_ms },
      {},
      { kind: 'pause', delayMs: 1_000 },
    ]),
    ['by a fraction, rounded up', { retry_after_ms: 1_000.5 }, {}, { kind: 'pause', delayMs: 1_001 }],
    [
      'for a moment, no shorter than the shortest pause',
      { retry_after_ms: 1 },
      {},
      { kind: 'pause', delayMs: 1_000 },
    ],
    [
      'for longer than is allowed, as long as that',
      { retry_after_ms: 3_600_000 },
      { remainingMs: 36_000_000 },
      { kind: 'pause', delayMs: 300_000, lane: true },
    ],
    [
      'for a fraction longer than is allowed, as long as that',
      { retry_after_ms: 50.4 },
      { pauseLimits: { ...PAUSE_LIMITS, longestMs: 50 } },
      { kind: 'pause', delayMs: 50 },
    ],
    [
      'until the deadline, ends with that error',
      { retry_after_ms: 2_000 },
      { remainingMs: 2_000 },
      { kind: 'end', result: { ok: false, error: { type: 'rate_limited', details: { delay_ms: 2_000 } } } },
    ],
  ])('a server that asks to slow down %s: no attempt is used up', (_how, details, given, decided) => {
    const error = errorEnvelope('rate_limited', 'slow down', details);
    expect(outcome({ error, fields: { max_retries: 0 }, random: () => 0, ...given })).toMatchObject(decided);
  });

  test('a server that is unreachable at present is waited for', () => {
    const error = errorEnvelope('network', 'out of reach');
    const facts = { error, fields: { max_retries: 0 } };
    expect(outcome({ ...facts, unreachedForMs: 500 })).toEqual({
      kind: 'pause',
      delayMs: 500,
      lane: false,
      reason: 'server_down',
      refused: null,
    });
    expect(outcome({ ...facts, unreachedForMs: null }).kind).toBe('end');
  });
});

describe('another model', () => {
  const limited = (ms: number) => errorEnvelope('rate_limited', 'slow down', { retry_after_ms: ms });
  const chain = {
    model: 'a:x',
    nextModel: 'b:y',
    unavailable: true,
    fields: { max_retries: 0 },
    random: () => 0,
  };
  const fallback = (error: ErrorEnvelope) => ({ kind: 'fallback', error, from: 'a:x', to: 'b:y' });

  test.each<[string, Given]>([
    ['retries are used up', { error: TIMEOUT }],
    ['no retry would help', { error: errorEnvelope('auth', 'no'), fields: { max_retries: 5 } }],
    [
      'a retry would come too late',
      { error: TIMEOUT, fields: { max_retries: 5, retry_backoff_ms: 20_000 }, remainingMs: 20_000 },
    ],
    ['a limit is long', { error: limited(5_001) }],
    ['a limit outlasts the deadline', { error: limited(400), remainingMs: 400 }],
    ['a configured limit comes again and again', { error: limited(1), unsent: true, pauses: paused(5, 0) }],
    ['pauses have grown long', { error: limited(1), pauses: paused(3, 3) }],
    ['the lane is out of reach', { error: TIMEOUT, unreachedForMs: 10, fields: { max_retries: 5 } }],
  ])('follows when %s', (_when, given) => {
    expect(outcome({ ...chain, ...given })).toEqual(fallback(given.error ?? TIMEOUT));
  });

  test.each<[string, Given, Outcome['kind']]>([
    ['there is a retry left', { error: TIMEOUT, fields: { max_retries: 1 } }, 'retry'],
    ['there is none', { error: TIMEOUT, nextModel: null }, 'end'],
    ['it would fail in the same way', { error: BROKEN, unavailable: false }, 'end'],
    ['there is no time', { error: TIMEOUT, remainingMs: 0 }, 'end'],
    ['a limit is short', { error: limited(5_000), pauses: paused(2, 2) }, 'pause'],
    ['a configured limit is short', { error: limited(1), unsent: true, pauses: paused(4, 0) }, 'pause'],
    ['the first has answered', {}, 'end'],
    [
      'a call that may have happened does harm twice',
      { error: TIMEOUT, repeatPolicy: 'once', ambiguous: true },
      'end',
    ],
    ['the attempt was cancelled', { error: TIMEOUT, stop: 'cancelled' }, 'end'],
    ['the worker stops', { error: TIMEOUT, stop: 'shutdown' }, 'release'],
  ])('does not follow when %s', (_when, given, kind) => {
    expect(outcome({ ...chain, ...given }).kind).toBe(kind);
  });

  test.each<[string, Given, boolean]>([
    ['short, of the provider', { error: limited(5_000) }, true],
    ['short, of one model', { error: limited(5_000), pauseScope: 'directive' }, false],
    ['long', { error: limited(5_001), nextModel: null }, false],
    ['long, of a tool', { error: limited(5_001), model: null, nextModel: null }, true],
  ])('a limit that is %s stops the whole lane: %s', (_which, given, lane) => {
    expect(outcome({ ...chain, ...given })).toMatchObject({ kind: 'pause', lane });
  });
});

/** Report: a 429 with `Retry-After: 0` (https://github.com/kubescape/kubevuln/pull/755), and a tool that answers `retry_after_ms: 1`. */
describe('a server that asks to slow down again and again', () => {
  const error = errorEnvelope('rate_limited', 'slow down', { retry_after_ms: 1 });
  const after = (refused: number, more: Given = {}): Outcome =>
    outcome({
      error,
      fields: { max_retries: 0 },
      pauses: paused(refused, refused),
      random: () => 0,
      ...more,
    });

  test('is asked after pauses that double from one second to a minute', () => {
    const delays = Array.from({ length: 8 }, (_, refused) => after(refused));
    expect(delays.map((decided) => decided.kind === 'pause' && decided.delayMs)).toEqual(
      [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000),
    );
    expect(after(2)).toMatchObject({ refused: 3, detail: 'pause 3 of at most 10' });
  });

  test('is not asked by all directives at the same instant: jitter adds a fifth at most', () => {
    const longest = { pauseLimits: { ...PAUSE_LIMITS, longestMs: 1_150 } };
    expect([0, 0.5, 1].map((chance) => after(0, { random: () => chance }))).toMatchObject(
      [1_000, 1_100, 1_200].map((delayMs) => ({ delayMs })),
    );
    expect(after(0, { ...longest, random: () => 1 })).toMatchObject({ delayMs: 1_150 });
  });

  test.each<[string, number, Given]>([
    ['as many pauses as are allowed', 10, {}],
    ['as long as is allowed', 1, { pauseLimits: { ...PAUSE_LIMITS, totalMs: 101_999 } }],
    ['no pause, where none is allowed', 0, { pauseLimits: { ...PAUSE_LIMITS, count: 0 } }],
  ])('ends the directive with its error after %s', (_how, refused, given) => {
    const { type, details } = endError(after(refused, given));
    expect({ type, pauses: details['pauses'], why: details['not_retried'] }).toEqual({
      type: 'rate_limited',
      pauses: refused === 0 ? undefined : refused,
      why: 'limits.pauses allows no further pause',
    });
    expect(after(refused, { ...given, fields: { max_retries: 1 } })).toMatchObject({ kind: 'retry' });
    expect(after(refused - 1, { ...given, pauseLimits: PAUSE_LIMITS }).kind).toBe('pause');
  });

  test('is given up for the next model after as many pauses as are allowed', () => {
    const chain = { model: 'a:x', nextModel: 'b:y', unavailable: true };
    const short = { pauseLimits: { ...PAUSE_LIMITS, count: 2 } };
    expect([0, 1, 2].map((refused) => after(refused, { ...chain, ...short }).kind)).toEqual([
      'pause',
      'pause',
      'fallback',
    ]);
  });

  test('is never asked at once by a retry either', () => {
    const decided = after(10, { fields: { max_retries: 9 }, failures: 2 });
    expect(delayOf(decided)).toBe(60_000);
  });

  test('uses up the retries of a tool that must not be called twice, unless the tool has not run', () => {
    const once = { repeatPolicy: 'once' } as const;
    expect(endError(after(0, once))).toEqual(error);
    expect(delayOf(after(0, { ...once, fields: { max_retries: 1 } }))).toBe(1_000);
    expect(after(0, { ...once, unsent: true }).kind).toBe('pause');
    expect(after(0, { ...once, untaken: true }).kind).toBe('pause');
  });

  test('cannot pass for a configured limit by what its error says', () => {
    const forged = errorEnvelope('rate_limited', 'slow down', { limited_by: 'configuration' });
    expect(after(10, { error: forged }).kind).toBe('end');
  });

  test('holds a directive of a configured limit as long as its deadline allows', () => {
    expect(after(0, { unsent: true, pauses: paused(10_000, 10) })).toMatchObject({
      delayMs: 5_000,
      refused: null,
    });
  });

  test.each<[string, Given, number | null]>([
    ['is left alone by its lane', {}, 1_000],
    ['is left alone no longer where the pauses of one directive have grown', { pauses: paused(6, 6) }, 1_000],
    ['is left alone by its lane where its answer is a failure', { repeatPolicy: 'once' }, 1_000],
    ['with a limit of one model is not', { pauseScope: 'directive' }, null],
  ])('%s', (_what, given, expected) => {
    const facts = factsOf({ error, fields: { max_retries: 0 }, random: () => 0, ...given });
    expect(lanePauseMs(facts, outcomeOf(facts))).toBe(expected);
  });
});
