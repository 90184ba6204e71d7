// Redrives dead letters: a new directive with its own id for each, linked to the old one.
// Must never take a dead letter off the list before its successor is durable.
import type { DeadLetterFilter, Redrive, RedriveBody } from '../contract/dead-letter.ts';
import type { ParsedDirective } from '../contract/directive.ts';
import { DirectiveRefused } from '../contract/problem.ts';
import type { DeadEntry, DeadLetterIndex } from '../journal/dead-letter-index.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import type { Journal } from '../journal/journal.ts';
import { scan } from './dead-letter-scan.ts';
import type { Submitter } from './submit.ts';
import { successorId } from './successor-id.ts';

export interface RedriveParts {
  journal: Journal;
  dead: DeadLetterIndex;
  submitter: Submitter;
}

/** As many as a body may name. */
const MOST_NAMED = 1_000;
const DEFAULT_LIMIT = 100;
const TOO_MANY = 429;

type Redriven = Redrive['redriven'][number];
type Refused = Redrive['refused'][number];

export function createRedrive({ journal, dead, submitter }: RedriveParts) {
  async function redrive({
    directives,
    limit = DEFAULT_LIMIT,
    all: _all,
    ...filter
  }: RedriveBody): Promise<Redrive> {
    const named = directives && new Set(directives.map(({ request_id, id }) => `${request_id}/${id}`));
    const redriven: Redrive['redriven'] = [];
    const refused: Redrive['refused'] = [];
    const tried = new Set<string>();
    const most = named ? MOST_NAMED : limit;
    let chosen: DeadEntry[];
    let left: number;
    let full: DirectiveRefused | null = null;
    do {
      ({ chosen, left } = await choose(filter, named, tried, most - redriven.length));
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

  /** The oldest that match and were not tried, up to `most`; and how many more there are. */
  async function choose(
    filter: DeadLetterFilter,
    named: ReadonlySet<string> | undefined,
    tried: ReadonlySet<string>,
    most: number,
  ): Promise<{ chosen: DeadEntry[]; left: number }> {
    const chosen: DeadEntry[] = [];
    let left = 0;
    for await (const { entry } of scan(dead, filter, 0)) {
      const name = nameOfEntry(entry);
      if (tried.has(name) || named?.has(name) === false) continue;
      if (chosen.length < most) chosen.push(entry);
      else left += 1;
    }
    return { chosen, left };
  }

  /** A `DirectiveRefused` is returned when the lane or the installation is full, which concerns all that follow. */
  async function redriveOne(entry: DeadEntry): Promise<Redriven | Refused | DirectiveRefused | null> {
    try {
      return await makeSuccessor(entry);
    } catch (error) {
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
    const { directive, traceparent } = decodeEnvelope(json);
    const from = { request_id: entry.requestId, id: entry.id };
    const id = successorId(entry.id);
    const successor = {
      ...directive,
      id,
      metadata: { ...directive.metadata, redrive_of: from },
    } as ParsedDirective;
    await submitter.submit([successor], { traceparent });
    await dead.remove(entry);
    return { from, to: { request_id: entry.requestId, id } };
  }

  return redrive;
}

function refusalOf({ requestId, id }: DeadEntry, { message, problem }: DirectiveRefused): Refused {
  const { code, detail = message } = problem;
  return { from: { request_id: requestId, id }, code, detail };
}

function nameOfEntry({ requestId, id }: DeadEntry): string {
  return `${requestId}/${id}`;
}

function refOf(name: string): { request_id: string; id: string } {
  const slash = name.indexOf('/');
  return { request_id: name.slice(0, slash), id: name.slice(slash + 1) };
}
