// Lists dead letters and redrives them: a new directive with its own id, linked to the old one.
// Must never take a dead letter off the list before its successor is durable.
import { hash } from 'node:crypto';
import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  Redrive,
  RedriveBody,
} from '../contract/dead-letter.ts';
import type { Directive, ParsedDirective } from '../contract/directive.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { DirectiveRefused } from '../contract/problem.ts';
import type { DeadEntry, DeadLetterIndex } from '../journal/dead-letter-index.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import type { Journal } from '../journal/journal.ts';
import type { Submitter } from './submit.ts';

const SCAN = 200;
const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;

/** As many as a body may name. */
const MOST_NAMED = 1_000;
const TOO_MANY = 429;

type Redriven = Redrive['redriven'][number];
type Refused = Redrive['refused'][number];

export interface DeadLetterParts {
  journal: Journal;
  dead: DeadLetterIndex;
  submitter: Submitter;
}

export interface DeadLetterQuery extends DeadLetterFilter {
  after?: string;
  limit?: number;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

function matches(entry: DeadEntry, { lane, error_type }: DeadLetterFilter): boolean {
  return (
    (lane === undefined || entry.lane === lane) &&
    (error_type === undefined || entry.errorType === error_type)
  );
}

function nameOf(directive: Directive): string | null {
  if ('tool_name' in directive) return directive.tool_name;
  return 'model' in directive ? (directive.model ?? directive.model_alias ?? null) : null;
}

export function createDeadLetters({ journal, dead, submitter }: DeadLetterParts) {
  /** Matching entries from position `offset`, with the position after each. */
  async function* scan(
    filter: DeadLetterFilter,
    offset: number,
  ): AsyncGenerator<{ entry: DeadEntry; next: number }> {
    for (let position = offset; ; position += SCAN) {
      const entries = await dead.page(position, SCAN);
      for (const [index, entry] of entries.entries()) {
        if (matches(entry, filter)) yield { entry, next: position + index + 1 };
      }
      if (entries.length < SCAN) return;
    }
  }

  async function list({ after, limit = DEFAULT_PAGE, ...filter }: DeadLetterQuery): Promise<DeadLetterPage> {
    const letters: DeadLetter[] = [];
    const most = Math.min(limit, LARGEST_PAGE);
    for await (const { entry, next } of scan(filter, Number(after ?? 0))) {
      const letter = await read(entry);
      if (letter) letters.push(letter);
      if (letters.length >= most) return { dead_letters: letters, next: String(next) };
    }
    return { dead_letters: letters, next: null };
  }

  async function read(entry: DeadEntry): Promise<DeadLetter | null> {
    const { requestId, id } = entry;
    const [record, json] = await Promise.all([
      journal.directive(requestId, id),
      journal.envelope(requestId, id),
    ]);
    if (!record || json === null || record.terminal === null) return null;
    const signal = await journal.signalAt(requestId, record.terminal);
    const { directive } = decodeEnvelope(json);
    return {
      request_id: requestId,
      id,
      type: directive.type,
      lane: record.lane,
      name: nameOf(directive),
      error: errorOf(signal?.data),
      attempts: record.fence - record.released,
      ended_at: new Date(record.endedAt ?? entry.endedAt).toISOString(),
    };
  }

  async function redrive({
    directives,
    limit = DEFAULT_PAGE,
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
    do {
      ({ chosen, left } = await choose(filter, named, tried, most - redriven.length));
      for (const entry of chosen) {
        tried.add(nameOfEntry(entry));
        const made = await redriveOne(entry);
        if (made && 'to' in made) redriven.push(made);
        else if (made) refused.push(made);
      }
      // In the place of those that were refused others are taken, so that they never block the rest.
    } while (!named && chosen.length > 0 && redriven.length < most && left > 0);
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
    for await (const { entry } of scan(filter, 0)) {
      const name = nameOfEntry(entry);
      if (tried.has(name) || named?.has(name) === false) continue;
      if (chosen.length < most) chosen.push(entry);
      else left += 1;
    }
    return { chosen, left };
  }

  /** A successor that cannot be made says why; a full lane or installation ends the redrive, since it concerns all. */
  async function redriveOne(entry: DeadEntry): Promise<Redriven | Refused | null> {
    try {
      return await makeSuccessor(entry);
    } catch (error) {
      if (!(error instanceof DirectiveRefused) || error.problem.status === TOO_MANY) throw error;
      const { code, detail = error.message } = error.problem;
      return { from: { request_id: entry.requestId, id: entry.id }, code, detail };
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

  return { list, redrive };
}

function nameOfEntry({ requestId, id }: DeadEntry): string {
  return `${requestId}/${id}`;
}

function refOf(name: string): { request_id: string; id: string } {
  const slash = name.indexOf('/');
  return { request_id: name.slice(0, slash), id: name.slice(slash + 1) };
}

const SUCCESSOR = /^(?<stem>.*)\.redrive-(?<count>\d+)$/;
const LONGEST_ID = 128;

/** `a` → `a.redrive-1` → `a.redrive-2`; of a stem too long for an identifier, its beginning and its hash. */
export function successorId(id: string): string {
  const match = SUCCESSOR.exec(id);
  const suffix = `.redrive-${Number(match?.groups?.['count'] ?? 0) + 1}`;
  const stem = match?.groups?.['stem'] ?? id;
  if (stem.length + suffix.length <= LONGEST_ID) return `${stem}${suffix}`;
  const mark = `.${hash('sha256', stem, 'hex').slice(0, 12)}`;
  return `${stem.slice(0, LONGEST_ID - suffix.length - mark.length)}${mark}${suffix}`;
}

function errorOf(data: unknown): ErrorEnvelope {
  const result = (data as { result?: { error?: ErrorEnvelope } } | undefined)?.result;
  return (
    result?.error ?? { type: 'internal_error', message: 'the signal is gone', details: {}, retryable: false }
  );
}
