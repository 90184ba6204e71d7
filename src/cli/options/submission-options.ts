/** The options that `call`, `llm` and `ask` share, and the fields of a submission that they give: following and tags, deduplication, start, place in the queue, webhook, encryption.
 *  An invalid value is a usage error. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../contract/directive/directive.ts';
import type { FlowFields } from '../../contract/directive/flow.ts';
import { type LaterFields, LONGEST_DELAY_MS } from '../../contract/directive/later.ts';
import { type OnceAnswer, WHEN_OPEN } from '../../contract/directive/once.ts';
import type { WebhookTarget } from '../../contract/signal/webhook.ts';
import { duration, durationWords, instantOption } from './option-values.ts';
import { usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';

export interface FollowOptions {
  /** Do not wait for the end. */
  readonly detach?: boolean;
  /** Open the page of the request in the console. */
  readonly web?: boolean;
  readonly tag?: readonly string[];
}

/** Values of an option that may be repeated. */
function collected(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given];
}

export function addFollowOptions(command: Command): Command {
  return command
    .option('--detach', 'print the ids and do not wait for the answer')
    .option('--web', 'open the page of the request in the console; without a browser its address is printed')
    .option(
      '--tag <tag>',
      'a tag to find the request by (`requests --tag`); may be repeated, up to 16 times',
      collected,
    );
}

export function tagFieldsOf({ tag = [] }: FollowOptions): { metadata?: { tags: string[] } } {
  return tag.length === 0 ? {} : { metadata: { tags: [...tag] } };
}

export interface OnceOptions {
  /** Key, with `window`. */
  readonly dedupe?: string;
  readonly window?: number;
  /** Key, with `quiet`, and `atMost`. */
  readonly debounce?: string;
  readonly quiet?: number;
  readonly atMost?: number;
  /** Key, with `whenOpen`. */
  readonly singleton?: string;
  readonly whenOpen?: (typeof WHEN_OPEN)[number];
}

/** `what`: is submitted. */
export function addOnceOptions(command: Command, what: 'call' | 'run' = 'call'): Command {
  return command
    .optionsGroup('Deduplication:')
    .option('--dedupe <key>', `the same answer for all ${what}s under the key, for the time of --window`)
    .option('--window <duration>', 'of --dedupe, as in 30s or 10m', duration)
    .option(
      '--debounce <key>',
      `only the last ${what} under the key, after the time of --quiet, and do not wait`,
    )
    .option('--quiet <duration>', `of --debounce: begin after this time without another ${what}`, duration)
    .option(
      '--at-most <duration>',
      `of --debounce: begin this long after the first ${what} at the latest`,
      duration,
    )
    .option('--singleton <key>', `one ${what} under the key at a time`)
    .addOption(
      new Option('--when-open <what>', 'of --singleton: what to do if one is open; default: refuse').choices(
        WHEN_OPEN,
      ),
    );
}

type OnceFields = Pick<
  Extract<SubmittedDirective, { type: 'tool_exec' }>,
  'dedupe' | 'debounce' | 'singleton'
>;

export function onceFieldsOf(given: OnceOptions): OnceFields {
  const { dedupe, window, debounce, quiet, atMost, singleton, whenOpen } = given;
  requireOwner('--window', window, '--dedupe', dedupe);
  requireOwner('--quiet', quiet, '--debounce', debounce);
  requireOwner('--at-most', atMost, '--debounce', debounce);
  requireOwner('--when-open', whenOpen, '--singleton', singleton);
  requireOwner('--dedupe', dedupe, '--window', window);
  requireOwner('--debounce', debounce, '--quiet', quiet);
  return {
    ...(dedupe === undefined || window === undefined ? {} : { dedupe: { key: dedupe, window_ms: window } }),
    ...(debounce === undefined || quiet === undefined
      ? {}
      : {
          debounce: {
            key: debounce,
            quiet_ms: quiet,
            ...(atMost === undefined ? {} : { at_most_ms: atMost }),
          },
        }),
    ...(singleton === undefined
      ? {}
      : { singleton: { key: singleton, ...(whenOpen === undefined ? {} : { when_open: whenOpen }) } }),
  };
}

function requireOwner(name: string, value: unknown, owner: string, given: unknown): void {
  if (value !== undefined && given === undefined)
    throw usage(`${name} is given without ${owner}.`, `Give both, or neither.`);
}

/** Whether others wait for it as well: it is not this call's to cancel. */
export function isOthers(once: OnceAnswer | undefined): boolean {
  return once?.outcome === 'deduplicated' || once?.outcome === 'joined';
}

/** A run has the id of its request. */
function replacedName({ replaces }: OnceAnswer): string {
  const { request_id: requestId = '', id = '' } = replaces ?? {};
  return id === requestId ? requestId : `${requestId}/${id}`;
}

/** Sentence about deduplication; `name`: the call that represents this one. null: nothing to report. */
export function onceInWords(once: OnceAnswer | undefined, name: string): string | null {
  switch (once?.outcome) {
    case 'deduplicated':
      return `deduplicated with ${name}, until ${once.until}`;
    case 'joined':
      return `joined ${name}, which is open`;
    case 'replaced':
      return `replaces ${replacedName(once)}, which is cancelled`;
    case 'began':
    case 'debounced':
    case undefined:
      return null;
  }
}

export interface LaterOptions {
  /** Milliseconds before it may begin. */
  readonly in?: number;
  /** It may begin from then on. */
  readonly at?: string;
  /** Milliseconds within which it has to begin. */
  readonly startBy?: number;
}

export function addLaterOptions(command: Command): Command {
  return command
    .optionsGroup('Begin later:')
    .addOption(
      new Option(
        '--in <duration>',
        'begin after this time, such as 90s, 10m or 8h, and do not wait for the answer',
      )
        .argParser(delay)
        .conflicts('at'),
    )
    .option('--at <instant>', 'begin then, as in 2027-01-31T07:30:00+01:00, and do not wait', instantOption)
    .option('--start-by <duration>', 'expire it if it has not begun this long after it might', delay);
}

function delay(text: string): number {
  const ms = duration(text);
  if (ms <= LONGEST_DELAY_MS) return ms;
  throw new InvalidArgumentError(`It must be at most ${durationWords(LONGEST_DELAY_MS)}.`);
}

export function laterFieldsOf({ in: delayMs, at, startBy }: LaterOptions): LaterFields {
  return {
    ...(delayMs === undefined ? {} : { delay_ms: delayMs }),
    ...(at === undefined ? {} : { run_at: at }),
    ...(startBy === undefined ? {} : { start_by_ms: startBy }),
  };
}

/** When it begins, in words; null: as soon as it can. */
export function beginsInWords({ in: delayMs, at }: LaterOptions): string | null {
  if (delayMs !== undefined) return `in ${durationWords(delayMs)}`;
  return at === undefined ? null : `at ${at}`;
}

export interface FlowOptions {
  readonly priority?: number;
  readonly fairnessKey?: string;
  readonly concurrency?: NonNullable<FlowFields['concurrency']>;
  readonly rate?: NonNullable<FlowFields['rate']>;
}

export function addFlowOptions(command: Command): Command {
  return command
    .optionsGroup('Priority and limits:')
    .option('--priority <0-9>', 'higher goes first: each step is 30 s of head start; default: 4', priority)
    .option(
      '--fairness-key <key>',
      'waiting work is dequeued in turn between keys; default: by tenant',
      keyText,
    )
    .option('--concurrency <key=n>', 'at most n at once in its lane among those with the key', concurrency)
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

export interface EndOptions {
  /** Endpoints of the configuration, or URLs. */
  readonly onEnd?: readonly string[];
}

export function addEndOption(command: Command): Command {
  return command
    .optionsGroup('Options:')
    .option(
      '--on-end <endpoint>',
      'notify this endpoint of the configuration (or a URL, where that is allowed) of the end; may be repeated',
      (given: string, before: readonly string[]) => [...before, given],
      [] as readonly string[],
    );
}

export function endFieldsOf({ onEnd = [] }: EndOptions): { on_end?: WebhookTarget[] } {
  if (onEnd.length === 0) return {};
  return { on_end: onEnd.map((target) => (target.includes('://') ? { url: target } : target)) };
}

/** Named in the help of each `--encrypt`. */
export const WITH_KEY = 'with the first key of ADJUTANT_ENCRYPTION_KEYS';

export interface EncryptOption {
  readonly encrypt?: boolean;
}

/** Throws a usage error where there is no key. */
export function encryptingWhere(given: Invocation, { encrypt }: EncryptOption): Invocation {
  return encrypt === true ? { ...given, client: encryptingOf(given) } : given;
}

function encryptingOf({ encrypting }: Invocation): DirectiveClient {
  if (encrypting !== null) return encrypting;
  throw usage(
    '--encrypt needs a key.',
    'Set ADJUTANT_ENCRYPTION_KEYS to <id>=<key>, with a key as `openssl rand -base64 32` prints it.',
  );
}
