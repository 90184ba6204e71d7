// Redrives dead letters: a new directive with its own id for each, linked to the old one.
// Must never take a dead letter off the list before its successor is durable.
import { ownId, scopedId } from '../../contract/access/tenant.ts';
import {
  type DeadLetterFilter,
  DEFAULT_REDRIVEN,
  type Redrive,
  type RedriveBody,
} from '../../contract/directive/dead-letter.ts';
import { type Directive, DIRECTIVE_TYPES, type ParsedDirective } from '../../contract/directive/directive.ts';
import { encryptedFields } from '../../contract/encrypted/encrypted.ts';
import type { LaterFields } from '../../contract/directive/later.ts';
import { type OnceFields, withoutOnce } from '../../contract/directive/once.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { DeadEntry, DeadLetterIndex, DeadPlace } from '../../store/index/dead-letter-index.ts';
import { actorOf, decodeEnvelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import {
  NO_OBJECTS,
  PayloadLost,
  type PayloadObjects,
  wholeEnvelope,
} from '../../store/request/large-payloads.ts';
import { type BulkClocks, bulkClocks } from './bulk-clocks.ts';
import type { FoundOutcome } from '../../contract/tool/reconcile.ts';
import { serverOf } from '../../store/catalog/route.ts';
import { onceOfDirective } from '../once-request.ts';
import type { Submitter } from '../submit.ts';
import { successorId } from './successor-id.ts';

export interface RedriveParts {
  journal: Journal;
  /** Where large directives lie. Default: in Redis. */
  objects?: PayloadObjects;
  dead: DeadLetterIndex;
  submitter: Submitter;
  /** Finding of a person about a call of unknown outcome; null: none. Default: none. */
  found?: ((requestId: string, id: string) => Promise<FoundOutcome | null>) | undefined;
  /** Asked before dead letters are redriven: whether the caller may submit so many. Throws the refusal. */
  charge?: ((count: number) => Promise<void>) | undefined;
}

/** As many as a body may name. */
const MOST_NAMED = 1_000;
/** Entries of a pass that are charged and redriven together. */
const AT_ONCE = 100;
const TOO_MANY = 429;

type Redriven = Redrive['redriven'][number];
type Refused = Redrive['refused'][number];

/** `done`: those before this position were tried; those from there on wait for a repeat. */
export type RedrivenThese = Omit<Redrive, 'left'> & { readonly done: number };

export function createRedrive(parts: RedriveParts) {
  const { journal, objects = NO_OBJECTS, dead, submitter, found, charge = async () => {} } = parts;
  const redrivable = createRedrivable(journal, refusedByFinding);

  /** One pass over the list, oldest first. Ends early with what it has done when its time is over or its caller has left. */
  async function redrive(
    { directives, limit = DEFAULT_REDRIVEN, all: _all, dry_run = false, ...filter }: RedriveBody,
    tenant: string,
    { isOver, signal }: RedriveClock = { ...bulkClocks(undefined), signal: undefined },
  ): Promise<Redrive> {
    const missing =
      directives && new Set(directives.map(({ request_id, id }) => `${scopedId(tenant, request_id)}/${id}`));
    const total = newTotal(missing ? MOST_NAMED : limit);
    const batch: DeadEntry[] = [];
    const act = async (): Promise<void> => {
      const entries = batch.splice(0);
      if (entries.length === 0) return;
      if (dry_run) addRedrivable(total, entries, await redrivable(entries));
      else await redriveBatch(total, entries, { isOver, isNamed: missing !== undefined });
    };
    for await (const entry of scan({ dead, tenant }, filter)) {
      if (signal?.aborted === true || missing?.size === 0) break;
      if (missing?.delete(nameOfEntry(entry)) === false) continue;
      if (total.hasEnded || isOver() || batch.length >= total.most) total.left += 1;
      else batch.push(entry);
      if (batch.length === Math.min(AT_ONCE, total.most)) await act();
    }
    await act();
    const { redriven, refused, left, gone, found } = total;
    const not_found = missing ? [...gone, ...[...missing].map(refOf)] : [];
    return { redriven, not_found, refused, left: left + refused.length, ...(dry_run && { found }) };
  }

  /** A later batch that is refused as a whole is reported; what was redriven before it is not lost. */
  async function redriveBatch(
    total: Total,
    entries: readonly DeadEntry[],
    { isOver, isNamed }: { isOver: () => boolean; isNamed: boolean },
  ): Promise<void> {
    try {
      addRedriven(total, entries, await redriveThese(entries, isOver, isNamed));
    } catch (error) {
      const isBusy = error instanceof DirectiveRefused && error.problem.status === TOO_MANY;
      if (!isBusy || total.redriven.length === 0) throw error;
      total.refused.push(...entries.map((entry) => refusalOf(entry, error)));
      total.hasEnded = true;
    }
  }

  /** A `DirectiveRefused` is returned when the lane or the installation is full, which concerns all that follow. */
  async function redriveOne(
    entry: DeadEntry,
    isNamed: boolean,
  ): Promise<Redriven | Refused | DirectiveRefused | null> {
    try {
      return await makeSuccessor(entry, isNamed);
    } catch (error) {
      if (error instanceof PayloadLost) return refusalOf(entry, lostRefusal(error));
      if (!(error instanceof DirectiveRefused)) throw error;
      return error.problem.status === TOO_MANY ? error : refusalOf(entry, error);
    }
  }

  /** The successor's id says which redrive it is, so that a repeat after a crash makes the same directive. */
  async function makeSuccessor(entry: DeadEntry, isNamed: boolean): Promise<Redriven | null> {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (json === null) {
      await dead.remove(entry);
      return null;
    }
    const before = await wholeEnvelope(objects, decodeEnvelope(json));
    const refusal = await refusedByFinding(entry);
    if (refusal !== null) {
      if (isNamed || refusal.problem.code !== HAPPENED) throw refusal;
      await dead.remove(entry);
      return null;
    }
    const { from, id, successor, options } = successorOf(entry, before);
    await submitter.submit([successor], options);
    await dead.remove(entry);
    return { from, to: { request_id: from.request_id, id } };
  }

  /**
   * An inquiry may be open, may have ended after the list was read, or without the process that had asked. null: nothing is known against
   * a redrive.
   */
  async function refusedByFinding(entry: DeadEntry): Promise<DirectiveRefused | null> {
    const isTool = entry.lane !== null && serverOf(entry.lane) !== null;
    const finding = isTool ? ((await found?.(entry.requestId, entry.id)) ?? null) : null;
    // @guard redrive-found
    if (finding?.kind === 'happened') return happenedRefusal(entry);
    return finding?.kind === 'undecided' ? undecidedRefusal(entry, finding.reason) : null;
  }

  /** `isNamed`: a call that is found to have happened is refused and stays listed. Default: it leaves the list, as not found. */
  async function redriveThese(
    entries: readonly DeadEntry[],
    isOver: () => boolean,
    isNamed = false,
  ): Promise<RedrivenThese> {
    await charge(entries.length);
    return redriveEach(async (entry) => redriveOne(entry, isNamed), entries, isOver);
  }

  return { redrive, redriveThese, redrivable };
}

/** The new directive of the same content, and the options of its submission. */
function successorOf(entry: DeadEntry, before: Awaited<ReturnType<typeof wholeEnvelope>>) {
  const { directive, traceparent, sealedAs = entry.id, callersContext, agent } = before;
  const from = { request_id: ownId(entry.requestId), id: entry.id };
  const id = successorId(entry.id);
  const metadata = { ...directive.metadata, redrive_of: from };
  const successor = { ...atOnce(directive), id, metadata } as ParsedDirective;
  // A key that admits one directive at a time knows this redrive by its name.
  const named = onceOfDirective(successor) === null ? {} : { idempotencyKey: `redrive ${id}` };
  const by = callersContext === undefined ? {} : { callersContext };
  const sealing = {
    ...(encryptedFields(directive).length > 0 ? { sealedAs, ...by } : {}),
    ...(agent === undefined ? {} : { agent }),
    // @guard redrive-acts-for
    ...(directive.type === 'tool_exec' ? { actsFor: actorOf(before) } : {}),
  };
  return { from, id, successor, options: { traceparent, ...named, sealing } };
}

/** Its time has come. Where one is open at a time, it is refused as long as another one is. */
export function atOnce(directive: Directive): Directive {
  if (!DIRECTIVE_TYPES.includes(directive.type)) return directive;
  const { delay_ms: _delay, run_at: _at, start_by_ms: _by, ...again } = directive as LaterFields & Directive;
  const { singleton } = again as OnceFields;
  const one = singleton && { singleton: { ...singleton, when_open: 'refuse' as const } };
  return { ...withoutOnce(again as OnceFields), ...one } as Directive;
}

/** How long a redrive acts, and whether its caller is still there. */
export interface RedriveClock extends Pick<BulkClocks, 'isOver'> {
  readonly signal: AbortSignal | undefined;
}

/** The progress of one pass over the list. */
interface Total {
  /** How many more may be redriven, or named in a dry run. */
  most: number;
  left: number;
  /** Nothing more is redriven: the time is over, or the lane, the installation or the tenant is full. */
  hasEnded: boolean;
  readonly redriven: Redriven[];
  readonly refused: Refused[];
  readonly gone: Redriven['from'][];
  readonly found: Redriven['from'][];
}

function newTotal(most: number): Total {
  return { most, left: 0, hasEnded: false, redriven: [], refused: [], gone: [], found: [] };
}

function addRedrivable(total: Total, entries: readonly DeadEntry[], { found, refused }: Redrivable): void {
  total.most -= entries.length;
  total.found.push(...found.map((entry) => refOf(nameOfEntry(entry))));
  total.refused.push(...refused);
}

function addRedriven(
  total: Total,
  entries: readonly DeadEntry[],
  { redriven, refused, not_found, done }: RedrivenThese,
): void {
  total.most -= redriven.length;
  total.left += entries.length - redriven.length - refused.length - not_found.length;
  total.hasEnded ||= done < entries.length;
  total.redriven.push(...redriven);
  total.refused.push(...refused);
  total.gone.push(...not_found);
}

type RedriveOne = (entry: DeadEntry) => Promise<Redriven | Refused | DirectiveRefused | null>;

/** Each in turn, until it `isOver`; a full lane refuses those that follow. */
async function redriveEach(
  redriveOne: RedriveOne,
  entries: readonly DeadEntry[],
  isOver: () => boolean,
): Promise<RedrivenThese> {
  const redriven: Redriven[] = [];
  const refused: Refused[] = [];
  const not_found: Redriven['from'][] = [];
  for (const [done, entry] of entries.entries()) {
    if (done > 0 && isOver()) return { redriven, refused, not_found, done };
    const made = await redriveOne(entry);
    if (made instanceof DirectiveRefused) {
      if (redriven.length === 0) throw made;
      refused.push(...entries.slice(done).map((each) => refusalOf(each, made)));
      return { redriven, refused, not_found, done };
    }
    if (made === null) not_found.push(refOf(nameOfEntry(entry)));
    else if ('to' in made) redriven.push(made);
    else refused.push(made);
  }
  return { redriven, refused, not_found, done: entries.length };
}

function refusalOf({ requestId, id }: DeadEntry, { message, problem }: DirectiveRefused): Refused {
  const { code, detail = message } = problem;
  return { from: { request_id: ownId(requestId), id }, code, detail };
}

const HAPPENED = 'outcome_known';

function happenedRefusal({ requestId, id }: DeadEntry): DirectiveRefused {
  const name = `${ownId(requestId)}/${id}`;
  const detail = `the call "${name}" was found to have happened: it is not repeated; \`adjutant reconcile ${name}\` shows its result and removes the dead letter`;
  return new DirectiveRefused(problem(HAPPENED, { detail }));
}

function undecidedRefusal({ requestId, id }: DeadEntry, reason: string): DirectiveRefused {
  const name = `${ownId(requestId)}/${id}`;
  const detail = `the call "${name}" may have happened, and ${reason}: wait, or run \`adjutant reconcile ${name}\``;
  return new DirectiveRefused(problem('outcome_unknown', { detail }));
}

function lostRefusal({ message: detail }: PayloadLost): DirectiveRefused {
  return new DirectiveRefused(problem('not_found', { detail }));
}

function nameOfEntry({ requestId, id }: DeadEntry): string {
  return `${requestId}/${id}`;
}

function refOf(name: string): { request_id: string; id: string } {
  const slash = name.indexOf('/');
  return { request_id: ownId(name.slice(0, slash)), id: name.slice(slash + 1) };
}

/** The entries that a redrive takes, and those that it refuses. */
export interface Redrivable {
  readonly found: DeadEntry[];
  readonly refused: Refused[];
}

const CHECKED_AT_ONCE = 50;

function createRedrivable(
  journal: Pick<Journal, 'directive'>,
  refusedByFinding: (entry: DeadEntry) => Promise<DirectiveRefused | null>,
): (entries: readonly DeadEntry[]) => Promise<Redrivable> {
  async function answerOf(entry: DeadEntry): Promise<DeadEntry | Refused | null> {
    const { requestId, id } = entry;
    const [record, successor] = await Promise.all([
      journal.directive(requestId, id),
      journal.directive(requestId, successorId(id)),
    ]);
    if (record === null || successor !== null) return null;
    const refusal = await refusedByFinding(entry);
    return refusal === null ? entry : refusalOf(entry, refusal);
  }

  return async (entries) => {
    const found: DeadEntry[] = [];
    const refused: Refused[] = [];
    for (let first = 0; first < entries.length; first += CHECKED_AT_ONCE) {
      const some = entries.slice(first, first + CHECKED_AT_ONCE);
      for (const answer of await Promise.all(some.map(answerOf))) {
        if (answer === null) continue;
        if ('from' in answer) refused.push(answer);
        else found.push(answer);
      }
    }
    return { found, refused };
  };
}

const SCAN = 200;

interface Listed {
  readonly dead: DeadLetterIndex;
  readonly tenant: string;
}

/**
 * Matching entries of the tenant, beyond a place; null: from the beginning. Entries that leave the list or join it meanwhile move no
 * other one.
 */
export async function* scan(
  { dead, tenant }: Listed,
  filter: DeadLetterFilter,
  order: 'oldest' | 'newest' = 'oldest',
  after: DeadPlace | null = null,
): AsyncGenerator<DeadEntry> {
  for (let from = after; ;) {
    const { entries, isLast } = await dead.page(tenant, order, from, SCAN);
    for (const entry of entries) if (matches(entry, filter)) yield entry;
    if (isLast) return;
    from = entries.at(-1) ?? null;
  }
}

function matches(entry: DeadEntry, { lane, error_type, since, until }: DeadLetterFilter): boolean {
  return (
    (lane === undefined || entry.lane === lane) &&
    (error_type === undefined || entry.errorType === error_type) &&
    (since === undefined || entry.endedAt >= Date.parse(since)) &&
    (until === undefined || entry.endedAt < Date.parse(until))
  );
}
