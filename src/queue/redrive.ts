// Redrives dead letters: a new directive with its own id for each, linked to the old one.
// Must never take a dead letter off the list before its successor is durable.
import { ownId, scopedId } from '../contract/tenant.ts';
import {
  DEFAULT_REDRIVEN,
  type DeadLetterFilter,
  type Redrive,
  type RedriveBody,
} from '../contract/dead-letter.ts';
import { type Directive, DIRECTIVE_TYPES, type ParsedDirective } from '../contract/directive.ts';
import { encryptedFields } from '../contract/encrypted.ts';
import type { LaterFields } from '../contract/later.ts';
import { type OnceFields, withoutOnce } from '../contract/once.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { DeadEntry, DeadLetterIndex } from '../journal/dead-letter-index.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import type { Journal } from '../journal/journal.ts';
import { NO_OBJECTS, PayloadLost, type PayloadObjects, wholeEnvelope } from '../journal/large-payloads.ts';
import { scan } from './dead-letter-scan.ts';
import { createRedrivable, type Redrivable } from './redrivable.ts';
import { onceOfDirective } from './once-request.ts';
import type { Submitter } from './submit.ts';
import { successorId } from './successor-id.ts';

export interface RedriveParts {
  journal: Journal;
  /** Where large directives lie. Default: in Redis. */
  objects?: PayloadObjects;
  dead: DeadLetterIndex;
  submitter: Submitter;
  /** Asked before dead letters are redriven: whether whoever calls may submit so many. Throws the refusal. */
  charge?: ((count: number) => Promise<void>) | undefined;
}

/** As many as a body may name. */
const MOST_NAMED = 1_000;
const TOO_MANY = 429;

type Redriven = Redrive['redriven'][number];
type Refused = Redrive['refused'][number];

interface Wanted {
  readonly filter: DeadLetterFilter;
  readonly named: ReadonlySet<string> | undefined;
  /** Those that are not wanted again. */
  readonly tried: ReadonlySet<string>;
}

/** `done`: those before this position were tried; those from there on wait for a repeat. */
export type RedrivenThese = Omit<Redrive, 'left'> & { readonly done: number };

export function createRedrive(parts: RedriveParts) {
  const { journal, objects = NO_OBJECTS, dead, submitter, charge = async () => {} } = parts;
  const redrivable = createRedrivable(journal);

  async function redrive(
    { directives, limit = DEFAULT_REDRIVEN, all: _all, dry_run = false, ...filter }: RedriveBody,
    tenant: string,
  ): Promise<Redrive> {
    const named =
      directives && new Set(directives.map(({ request_id, id }) => `${scopedId(tenant, request_id)}/${id}`));
    const among = { dead, tenant };
    const redriven: Redrive['redriven'] = [];
    const refused: Redrive['refused'] = [];
    const tried = new Set<string>();
    const most = named ? MOST_NAMED : limit;
    let chosen: DeadEntry[];
    let left: number;
    let full: DirectiveRefused | null = null;
    if (dry_run) return previewOf(redrivable, await choose(among, { filter, named, tried }, most), named);
    do {
      ({ chosen, left } = await choose(among, { filter, named, tried }, most - redriven.length));
      if (chosen.length > 0) await charge(chosen.length);
      for (const entry of chosen) {
        tried.add(nameOfEntry(entry));
        const made: Redriven | Refused | DirectiveRefused | null = full ?? (await redriveOne(entry));
        if (made instanceof DirectiveRefused) {
          // Nothing was redriven: the caller is told to come back later.
          if (redriven.length === 0) throw made;
          full = made;
          refused.push(refusalOf(entry, made));
        } else if (made && 'to' in made) redriven.push(made);
        else if (made) refused.push(made);
      }
      // Others take the place of those that were refused, so that they never block the rest.
    } while (!named && full === null && chosen.length > 0 && redriven.length < most && left > 0);
    const not_found = [...(named ?? [])].filter((name) => !tried.has(name)).map(refOf);
    return { redriven, not_found, refused, left: left + refused.length };
  }

  /** A `DirectiveRefused` is returned when the lane or the installation is full, which concerns all that follow. */
  async function redriveOne(entry: DeadEntry): Promise<Redriven | Refused | DirectiveRefused | null> {
    try {
      return await makeSuccessor(entry);
    } catch (error) {
      if (error instanceof PayloadLost) return refusalOf(entry, lostRefusal(error));
      if (!(error instanceof DirectiveRefused)) throw error;
      return error.problem.status === TOO_MANY ? error : refusalOf(entry, error);
    }
  }

  /** The successor's id says which redrive it is, so that a repeat after a crash makes the same directive. */
  async function makeSuccessor(entry: DeadEntry): Promise<Redriven | null> {
    const json = await journal.envelope(entry.requestId, entry.id);
    if (json === null) {
      await dead.remove(entry);
      return null;
    }
    const before = await wholeEnvelope(objects, decodeEnvelope(json));
    const { directive, traceparent, sealedAs = entry.id } = before;
    const from = { request_id: ownId(entry.requestId), id: entry.id };
    const id = successorId(entry.id);
    const successor = {
      ...atOnce(directive),
      id,
      metadata: { ...directive.metadata, redrive_of: from },
    } as ParsedDirective;
    // Of what is one at a time, the key knows this redrive by its name.
    const named = onceOfDirective(successor) === null ? {} : { idempotencyKey: `redrive ${id}` };
    const sealed = encryptedFields(directive).length > 0 ? { sealedAs } : {};
    await submitter.submit([successor], { traceparent, ...named, ...sealed });
    await dead.remove(entry);
    return { from, to: { request_id: ownId(entry.requestId), id } };
  }

  async function redriveThese(entries: readonly DeadEntry[], isOver: () => boolean): Promise<RedrivenThese> {
    await charge(entries.length);
    return redriveEach(redriveOne, entries, isOver);
  }

  return { redrive, redriveThese, redrivable };
}

/** Its time has come. Where one is open at a time, it is refused as long as another one is. */
function atOnce(directive: Directive): Directive {
  if (!DIRECTIVE_TYPES.includes(directive.type)) return directive;
  const { delay_ms: _delay, run_at: _at, start_by_ms: _by, ...again } = directive as LaterFields & Directive;
  const { singleton } = again as OnceFields;
  const one = singleton && { singleton: { ...singleton, when_open: 'refuse' as const } };
  return { ...withoutOnce(again as OnceFields), ...one } as Directive;
}

/** The oldest that match and were not tried, up to `most`; and how many more there are. */
async function choose(
  among: { dead: DeadLetterIndex; tenant: string },
  { filter, named, tried }: Wanted,
  most: number,
): Promise<{ chosen: DeadEntry[]; left: number }> {
  const chosen: DeadEntry[] = [];
  let left = 0;
  for await (const { entry } of scan(among, filter, 0)) {
    const name = nameOfEntry(entry);
    if (tried.has(name) || named?.has(name) === false) continue;
    if (chosen.length < most) chosen.push(entry);
    else left += 1;
  }
  return { chosen, left };
}

/** What a redrive of those that were chosen would execute. */
async function previewOf(
  redrivable: Redrivable,
  { chosen, left }: { chosen: readonly DeadEntry[]; left: number },
  named: ReadonlySet<string> | undefined,
): Promise<Redrive> {
  const found = (await redrivable(chosen)).map((entry) => refOf(nameOfEntry(entry)));
  const there = new Set(chosen.map(nameOfEntry));
  const not_found = [...(named ?? [])].filter((name) => !there.has(name)).map(refOf);
  return { redriven: [], refused: [], not_found, left, found };
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
