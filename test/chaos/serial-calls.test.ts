/** The check of the serial server: overlaps are reported, unless a fault explains them.
 *  It must never need the service: the test writes its input by hand. */
import { expect, test } from 'vitest';
import type { Fault } from './history.ts';
import type { CallLine } from './call-log.ts';
import { overlapsOf } from './serial-calls.ts';

const line = (call: string, what: CallLine['what'], at: number, workerPid = 1): CallLine => ({
  call,
  what,
  label: call,
  at,
  pid: workerPid + 100,
  workerPid,
});

const one = [line('one', 'begin', 10), line('one', 'end', 20)];
/** The first call has no end. */
const endless = (secondAt: number) => [line('one', 'begin', 10), line('two', 'begin', secondAt)];
const killed = (pid: number, at: number): Fault => ({ kind: 'worker killed', pid, at, overAt: null });
const paused: Fault = { kind: 'worker stopped for a while', pid: 1, at: 2, overAt: 8 };
const TOLD = ['two began on the serial server while one ran there'];

test.each<[string, CallLine[], Fault[], string[]]>([
  ['one after the other', [...one, line('two', 'begin', 20)], [], []],
  ['in the middle', [...one, line('two', 'begin', 19)], [], TOLD],
  ['at the same time', [...one, line('two', 'begin', 10)], [], TOLD],
  ['after one without an end', endless(90), [], TOLD],
  ['after its worker was killed', endless(90), [killed(1, 50)], []],
  ['after its server was killed', endless(90), [killed(101, 50)], []],
  ['after another worker was killed', endless(90), [killed(2, 50)], TOLD],
  ['after its worker had been stopped for a while, before it began', endless(40), [paused], TOLD],
  ['before its worker was killed', endless(40), [killed(1, 50)], TOLD],
  ['while an abort is on its way', [...endless(90), line('one', 'aborted', 100)], [], []],
])('a call that begins %s', (_when, lines, faults, told) => {
  expect(overlapsOf(lines, faults)).toEqual(told);
});
