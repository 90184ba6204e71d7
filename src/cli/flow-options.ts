/** The options of flow control, the same for a call and a run.
 *  It must never guess which part of a value is the key. */
import { type Command, InvalidArgumentError } from 'commander';
import type { FlowFields } from '../contract/flow.ts';
import { duration } from './duration-value.ts';

export interface FlowOptions {
  readonly priority?: number;
  readonly fairnessKey?: string;
  readonly concurrency?: NonNullable<FlowFields['concurrency']>;
  readonly rate?: NonNullable<FlowFields['rate']>;
}

export function addFlowOptions(command: Command): Command {
  return command
    .option('--priority <0-9>', 'higher goes first: each step is 30 s of head start; default: 4', priority)
    .option('--fairness-key <key>', 'those that wait take turns by it; default: by tenant', keyText)
    .option('--concurrency <key=n>', 'at most n at once in its lane, of all that name the key', concurrency)
    .option('--rate <key=n/time>', 'at most n in that time in its lane, as in account-42=10/1m', rate);
}

export function flowOptionsOf({ priority, fairnessKey, concurrency, rate }: FlowOptions): FlowFields {
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(fairnessKey === undefined ? {} : { fairness_key: fairnessKey }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
  };
}

/** Also an operand. */
export function priority(text: string): number {
  if (/^\d$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be 0 to 9; 9 is the most urgent, 4 the default.');
}

function keyText(text: string): string {
  if (text.length >= 1 && text.length <= 256) return text;
  throw new InvalidArgumentError('It must be 1 to 256 characters, as in customer-42.');
}

/** A key may hold `=` itself. */
const CONCURRENCY = /^(?<key>.{1,256})=(?<limit>[1-9]\d{0,4})$/s;

function concurrency(text: string): FlowOptions['concurrency'] {
  const { key, limit } = CONCURRENCY.exec(text)?.groups ?? {};
  if (key !== undefined && Number(limit) <= 10_000) return { key, limit: Number(limit) };
  throw new InvalidArgumentError('It must be a key and 1 to 10000, as in account-42=2.');
}

const RATE = /^(?<key>.{1,256})=(?<max>[1-9]\d{0,6})\/(?<time>\d{0,12}(?:ms|s|m|h|d))$/s;
const DAY_MS = 86_400_000;

function rate(text: string): FlowOptions['rate'] {
  const { key, max, time = '' } = RATE.exec(text)?.groups ?? {};
  // `10/m` is 10 in one minute.
  const perMs = key === undefined ? 0 : duration(/^\d/.test(time) ? time : `1${time}`);
  const isInBounds = Number(max) <= 1_000_000 && perMs >= 1 && perMs <= DAY_MS;
  if (key !== undefined && isInBounds) return { key, max: Number(max), per_ms: perMs };
  throw new InvalidArgumentError('It must be a key, a number and up to a day, as in account-42=10/1m.');
}
