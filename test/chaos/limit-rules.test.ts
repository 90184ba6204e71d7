/** The rules about limits and turns: what kept every promise passes, each broken promise is reported, faults explain what they may.
 *  It must never need the service: the test writes its input by hand. */
import { expect, test } from 'vitest';
import type { CallLine } from './call-log.ts';
import type { Fault } from './history.ts';
import { limitViolationsOf } from './limit-rules.ts';
import { type StreamedCall, turnViolationsOf } from './turn-rules.ts';

const line = (call: string, what: CallLine['what'], at: number, workerPid = 1): CallLine => ({
  call,
  what,
  label: call,
  limits: ['k'],
  at,
  pid: workerPid + 100,
  workerPid,
});
const ran = (call: string, from: number, to: number, workerPid = 1): CallLine[] => [
  line(call, 'begin', from, workerPid),
  line(call, 'end', to, workerPid),
];
const fault = (kind: Fault['kind'], pid: number, at: number, overAt = at): Fault => ({
  kind,
  pid,
  at,
  overAt,
});
const three = [...ran('a', 10_000, 20_000), ...ran('b', 11_000, 20_000, 2), ...ran('c', 12_000, 20_000, 3)];
const TOLD = ['c began under k (2 at once) while there ran a, b'];

test.each<[string, CallLine[], Fault[], string[]]>([
  ['two at once', three.slice(0, 4), [], []],
  ['three at once', three, [], TOLD],
  [
    'three, one aborted',
    [...three, line('a', 'aborted', 12_500)].filter(({ call, what }) => call !== 'a' || what !== 'end'),
    [],
    [],
  ],
  ['three, and a worker had died', three, [fault('worker killed', 1, 11_500)], []],
  ['three, and another worker had died', three, [fault('worker killed', 9, 11_500)], TOLD],
  [
    'three, one begun by a worker that had been frozen',
    three,
    [fault('worker stopped for a while', 1, 1_000, 9_900)],
    TOLD,
  ],
  ['three, and Redis was away', three, [fault('redis killed', 9, 11_500)], TOLD],
])('%s', (_what, lines, faults, told) => {
  expect(limitViolationsOf({ k: { server: 'alpha', concurrency: 2 } }, lines, faults)).toEqual(told);
});

const paced = [20_000, 21_000, 25_900].flatMap((at) => ran(`at-${at}`, at, at + 10));

test.each<[string, CallLine[], Fault[], string[]]>([
  ['as many as it allows', paced.slice(0, 4), [], []],
  ['one more', paced, [], ['at-25900 is the start number 3 under k within 5900 ms of 10000']],
  ['one more, long after', [...paced.slice(0, 4), ...ran('late', 26_001, 26_010)], [], []],
  [
    'one more, of a worker that was frozen',
    paced,
    [fault('worker stopped for a while', 1, 15_000, 19_000)],
    [],
  ],
  [
    'one more, of which none was after the fault of another',
    paced,
    [fault('worker killed', 9, 19_000)],
    ['at-25900 is the start number 3 under k within 5900 ms of 10000'],
  ],
])('of a rate: %s', (_what, lines, faults, told) => {
  const limits = { k: { server: 'alpha', rate: { max: 2, per_ms: 10_000 } } } as const;
  expect(limitViolationsOf(limits, lines, faults)).toEqual(told);
});

const call = (
  id: string,
  acceptedAt: number,
  beganAt: number | null,
  more: Partial<StreamedCall> = {},
): StreamedCall => ({
  id,
  line: 'many',
  priority: 4,
  acceptedAt,
  deadlineAt: acceptedAt + 75_000,
  endedAt: (beganAt ?? acceptedAt + 75_000) + 10,
  beganAt,
  errorType: null,
  ...more,
});
const younger = Array.from({ length: 31 }, (_, nth) => call(`y${nth}`, 5_000 + nth, 6_000 + nth * 1_000));
const others = younger.slice(0, 7).map((each) => ({ ...each, acceptedAt: 0 }));
const single = { line: 'single' };
const FIRST = 'queue: 31 of its line that came after old began before it';

test.each<[string, StreamedCall[], Fault[], string[]]>([
  ['in order', [call('old', 1_000, 2_000), ...younger], [], []],
  ['the first is the last', [call('old', 1_000, 50_000), ...younger], [], [FIRST]],
  [
    'the first is the last, with a lower priority',
    [call('old', 1_000, 50_000, { priority: 3 }), ...younger],
    [],
    [],
  ],
  [
    'the only one of a line is the last',
    [call('one', 5_500, 14_000, single), ...others],
    [],
    ['queue: one waited while 7 of other lines began'],
  ],
  [
    'the only one of a line is the last, and its API had died',
    [call('one', 5_500, 14_000, single), ...others],
    [fault('api killed', 1, 5_600)],
    [],
  ],
  [
    'never begun',
    [call('never', 0, null, { errorType: 'deadline_exceeded' })],
    [],
    ['queue: not in time: never waited until its deadline, and never began'],
  ],
  [
    'never begun, and Redis was away',
    [call('never', 0, null, { errorType: 'deadline_exceeded' })],
    [fault('redis killed', 1, 1_000, 60_000)],
    [],
  ],
])('turns: %s', (_what, calls, faults, told) => {
  expect(turnViolationsOf({ name: 'queue', isSerial: true, lone: 'single', calls }, faults)).toEqual(told);
});
