// Reads from the journal the facts of a request for a list. Never blocks Redis or this process for a request of any
// size: it reads in parts, and leaves out what is beyond its bounds.
import type { AskedFor, ListedScore } from '../../contract/request/request-listing.ts';
import { redrivenAmong } from '../../contract/directive/redriven.ts';
import { tagsOf } from '../../contract/directive/tags.ts';
import type { Journal } from '../request/journal.ts';
import { isApproval } from '../request/questions.ts';
import { createSteps } from '../../platform/bounds/steps.ts';
import type { KeySpace } from '../keys.ts';
import { redrivenCost, withRedrives } from '../request/redriven-cost.ts';
import { beginsLater, type DirectiveRecord, recordedBegin, recordsIn } from '../request/records.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { type DirectiveContent, directiveContent } from './directive-content.ts';
import type { RequestFacts, RunFacts } from './row.ts';

/** The facts of a run from the part that knows runs. */
export interface ListedRun extends RunFacts {
  query: string;
  metadata: unknown;
  waitingFor: readonly AskedFor[];
}

export interface FactsParts {
  connection: RedisConnection;
  keys: KeySpace;
  journal: Pick<Journal, 'log' | 'questions'>;
  /** null: the request has no run, or it cannot be read. */
  runOf(requestId: string): Promise<ListedRun | null>;
}

type Fields = Record<string, string>;

interface ReadState {
  /** The fields that belong to no directive. */
  fields: Fields;
  /** Names and values in turns, as Redis answers. */
  pairs: readonly string[];
}

const HEAD = [
  'created_at',
  'open',
  'count',
  'seq',
  'bytes',
  'closed_at',
  '@run|version',
  '@run|begin',
  '@run|status',
];
/** Fields of a request that are read at once; most have fewer. */
const SCANNED_AT_ONCE = 1_000;
/** Bodies that are read at once; those of a larger request are read one by one, up to the same size. */
const BODY_BYTES = 65_536;
/** Directives whose content is looked at, and whose errors are. */
const MOST_READ = 32;
/** Before the id of a score, as score.lua writes its field: the sequence of its signal, then a digest. */
const SCORE = '@score|';
/** Errors that are read at once. */
const MOST_ERRORS = 16;
/** Failed directives whose errors are looked at, while all of them were cancelled. */
const MOST_LOOKED_AT = 512;

/** Directives of a request whose questions are read. */
const MOST_ASKING = 16;

/** null: there is no such request any more. */
export type ReadFacts = (requestId: string) => Promise<RequestFacts | null>;

export function createFactsReader({ connection, keys, journal, runOf }: FactsParts): ReadFacts {
  /** Shared by all requests that are read at once: hundreds change together when one caller redrives or cancels them. */
  const nextStep = createSteps();
  return async (requestId) => {
    const [state] = keys.request(requestId);
    const [{ fields, pairs }, ttlMs] = await Promise.all([readState(state), connection.pttl(state)]);
    const head = headOf(fields);
    // It has expired meanwhile, or before.
    if (head === null || ttlMs === -2) return null;
    await nextStep();
    const records = recordsIn(pairs);
    const [run, contents, errors, scores, asks] = await Promise.all([
      head.hasRun ? wholeRun(requestId, records) : null,
      contentsOf(requestId, records, head.bytes),
      errorsOf(requestId, records),
      scoresOf(requestId, fields),
      asksOf(requestId, records),
    ]);
    await nextStep();
    const expiresAt = head.open > 0 || ttlMs < 0 ? null : Date.now() + ttlMs;
    return factsOf({ requestId, head, records, contents, errors, scores, run, asks, expiresAt });
  };

  /** Kinds of what the first directives that wait for a person ask: the approval of their call, or a question of a tool. */
  async function asksOf(requestId: string, records: readonly DirectiveRecord[]): Promise<AskedFor[]> {
    const asking = records.filter(({ asked }) => asked !== null).slice(0, MOST_ASKING);
    const ids = asking.map(({ id }) => id);
    const rounds = await journal.questions.rounds(requestId, ids);
    return ids.map((id) => {
      const round = rounds.get(id);
      return round !== undefined && isApproval(round) ? 'approval' : 'question';
    });
  }

  async function wholeRun(requestId: string, records: readonly DirectiveRecord[]): Promise<ListedRun | null> {
    const [run, redriven] = await Promise.all([
      runOf(requestId),
      redrivenCost(journal.log, requestId, records),
    ]);
    if (run === null || redriven === null) return run;
    const { input, output } = run.tokens;
    const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
    const whole = withRedrives({ usage, cost: run.cost }, redriven);
    const tokens = { input: whole.usage.input_tokens, output: whole.usage.output_tokens };
    return { ...run, tokens, cost: whole.cost };
  }

  /**
   * Most states are one part, of one instant. For others the head is older than the rest, so that no version is newer
   * than its row.
   */
  async function readState(state: string): Promise<ReadState> {
    const [cursor, found] = await connection.hscan(state, '0', 'COUNT', SCANNED_AT_ONCE);
    if (cursor === '0') return { fields: fieldsOf(found), pairs: found };
    const head = await connection.hmget(state, ...HEAD);
    const pairs = await scanned(state);
    const fields = fieldsOf(pairs);
    HEAD.forEach((name, at) => {
      const value = head[at] ?? null;
      if (value === null) delete fields[name];
      else fields[name] = value;
    });
    return { fields, pairs };
  }

  async function scanned(state: string): Promise<string[]> {
    const pieces: string[][] = [];
    let cursor = '0';
    do {
      const [next, found] = await connection.hscan(state, cursor, 'COUNT', SCANNED_AT_ONCE);
      pieces.push(found);
      cursor = next;
    } while (cursor !== '0');
    return pieces.flat();
  }

  async function contentsOf(
    requestId: string,
    records: readonly DirectiveRecord[],
    bytes: number,
  ): Promise<DirectiveContent[]> {
    const ids = records.slice(0, MOST_READ).map(({ id }) => id);
    if (ids.length === 0) return [];
    const [, bodies] = keys.request(requestId);
    const read = bytes <= BODY_BYTES ? ids : await smallOf(bodies, ids);
    const texts = read.length === 0 ? [] : await connection.hmget(bodies, ...read);
    await nextStep();
    return texts.flatMap((text) => (text === null ? [] : [directiveContent(text)]));
  }

  async function smallOf(bodies: string, ids: readonly string[]): Promise<string[]> {
    const sizes = await Promise.all(ids.map((id) => connection.hstrlen(bodies, id)));
    return ids.filter((_, at) => (sizes[at] ?? 0) <= BODY_BYTES);
  }

  /** The newest of each name, as far as they are among the newest; undefined: none. */
  async function scoresOf(requestId: string, fields: Fields): Promise<ListedScore[] | undefined> {
    const recorded = Object.entries(fields).filter(([name]) => name.startsWith(SCORE));
    if (recorded.length === 0) return undefined;
    const sequences = recorded
      .map(([, text]) => Number.parseInt(text, 10))
      .toSorted((left, right) => right - left);
    const newest = sequences.slice(0, MOST_READ).map(async (at) => journal.log.at(requestId, at));
    const scores = new Map<string, ListedScore>();
    for (const signal of await Promise.all(newest)) {
      const score = scoreIn(signal?.data);
      if (score !== null && !scores.has(score.name)) scores.set(score.name, score);
    }
    return [...scores.values()];
  }

  /**
   * The errors of those that say most about the failure: read on while all were cancelled, since one that was not makes
   * the request failed.
   */
  async function errorsOf(requestId: string, records: readonly DirectiveRecord[]): Promise<EndedInError[]> {
    const redrivenAs = redrivesOf(records);
    const left = tellingFirst(records, redrivenAs);
    const errors: EndedInError[] = [];
    do errors.push(...(await Promise.all(left.splice(0, MOST_ERRORS).map(errorOf))));
    while (left.length > 0 && errors.every(isCancelled));
    return errors;

    async function errorOf({ id, terminal }: DirectiveRecord): Promise<EndedInError> {
      const signal = await journal.log.at(requestId, terminal ?? 0);
      return { type: errorTypeOf(signal?.data), stands: redrivenAs(id) === null };
    }
  }
}

/** Those of the request and of its run. No name is one of `Object.prototype`. */
function fieldsOf(pairs: readonly string[]): Fields {
  const fields: Fields = {};
  for (let at = 0; at < pairs.length; at += 2) {
    const name = pairs[at] ?? '';
    if (name.startsWith('@') || !name.includes('|')) fields[name] = pairs[at + 1] ?? '';
  }
  return fields;
}

/** None of them ever shrinks. */
export function requestVersion(
  ...[sequence, count, runVersion]: readonly (number | null | undefined)[]
): number {
  return (sequence ?? 0) + (count ?? 0) + (runVersion ?? 0);
}

interface Head {
  createdAt: number;
  open: number;
  count: number;
  bytes: number;
  closedAt: number | null;
  version: number;
  hasRun: boolean;
  /** The instant at which its run may begin; null: none was set, or it has begun. */
  runBegins: number | null;
}

function headOf(fields: Fields): Head | null {
  const [createdAt, open, count, sequence, bytes, closedAt, runVersion] = HEAD.map((name) => {
    const value = fields[name];
    return value === undefined ? null : Number(value);
  });
  if (createdAt === null || createdAt === undefined) return null;
  return {
    createdAt,
    open: open ?? 0,
    count: count ?? 0,
    bytes: bytes ?? 0,
    closedAt: closedAt ?? null,
    version: requestVersion(sequence, count, runVersion),
    hasRun: typeof runVersion === 'number',
    runBegins:
      runVersion === 0 && fields['@run|behind'] === undefined
        ? (recordedBegin(fields['@run|begin'])?.at ?? null)
        : null,
  };
}

function scoreIn(data: unknown): ListedScore | null {
  const { name, value, passed } = Object(data) as Partial<Record<keyof ListedScore, unknown>>;
  if (typeof name !== 'string' || typeof value !== 'number') return null;
  return { name, value, ...(typeof passed === 'boolean' ? { passed } : {}) };
}

/** A directive that ended without a readable error has failed all the same. */
const UNKNOWN_ERROR = 'internal_error';
const CANCELLED = 'cancelled';

function errorTypeOf(data: unknown): string {
  const type = (data as { result?: { error?: { type?: unknown } } } | undefined)?.result?.error?.type;
  return typeof type === 'string' ? type : UNKNOWN_ERROR;
}

/** Nothing has begun, and each that is open waits for its instant: the first one. */
function firstBegin(records: readonly DirectiveRecord[]): number | undefined {
  const open = records.filter(({ status }) => status !== 'succeeded' && status !== 'failed');
  const begins = open.map((record) => beginsLater(record, 0));
  const waits = begins.filter((at) => at !== null);
  return waits.length < begins.length || waits.length === 0
    ? undefined
    : waits.reduce((one, at) => Math.min(one, at));
}

interface Read {
  requestId: string;
  head: Head;
  records: readonly DirectiveRecord[];
  contents: readonly DirectiveContent[];
  errors: readonly EndedInError[];
  scores: readonly ListedScore[] | undefined;
  run: ListedRun | null;
  asks: readonly AskedFor[];
  expiresAt: number | null;
}

/** A directive that has failed. */
interface EndedInError {
  type: string;
  /** No redrive has made another of it. */
  stands: boolean;
}

function redrivesOf(records: readonly DirectiveRecord[]): (id: string) => string | null {
  return redrivenAmong(new Set(records.map(({ id }) => id)));
}

function isCancelled({ type }: EndedInError): boolean {
  return type === CANCELLED;
}

/** The failed directives, the last ones first: those without a redrive, and of these those without a cancellation. */
function tellingFirst(
  records: readonly DirectiveRecord[],
  redrivenAs: (id: string) => string | null,
): DirectiveRecord[] {
  const failed = records.filter(({ status, terminal }) => status === 'failed' && terminal !== null);
  const rank = ({ id, cancel }: DirectiveRecord): number =>
    redrivenAs(id) === null ? Number(cancel !== null) : 2;
  return failed
    .toReversed()
    .toSorted((one, other) => rank(one) - rank(other))
    .slice(0, MOST_LOOKED_AT);
}

function factsOf(read: Read): RequestFacts {
  const { requestId, head, records, contents, errors, scores, run, asks, expiresAt } = read;
  const { createdAt, closedAt, version, open, count, bytes } = head;
  const redrivenAs = redrivesOf(records);
  const redriven = records.findLast(({ id }) => redrivenAs(id) !== null);
  const standing = errors.filter(({ stands }) => stands);
  return {
    requestId,
    version,
    createdAt,
    closedAt,
    expiresAt,
    open,
    directives: count,
    bytes,
    types: [...new Set(records.map(({ type }) => type))],
    tools: contents.flatMap(({ tool }) => tool ?? []),
    models: contents.flatMap(({ model }) => model ?? []),
    errorTypes: errors.map(({ type }) => type),
    redrivenAs: redriven && (redrivenAs(redriven.id) ?? undefined),
    tags: [...tagsOf(run?.metadata), ...contents.flatMap(({ tags }) => tags)],
    text: run?.query ?? contents.find(({ text }) => text !== '')?.text ?? '',
    beginsAt: head.runBegins ?? firstBegin(records),
    waitingFor: [...new Set([...(run?.waitingFor ?? []), ...asks])],
    scores,
    anyFailed: !standing.every(isCancelled),
    anyCancelled: standing.some(isCancelled),
    run,
  };
}
