// Lists what people are asked: requests that wait come from the index, what they ask from the journal as it is now.
// Must never show what is decided already: the index may be behind, so each request is looked at.
import { ENCRYPTED, encryptedAlone } from '../../contract/encrypted/encrypted-form.ts';
import {
  type ApprovalListing,
  type ApprovalQuery,
  MOST_ASKING,
  type OpenApproval,
} from '../../contract/run/approval-listing.ts';
import { cursorOf, type ListedRequest, placeOfCursor } from '../../contract/request/request-listing.ts';
import { ALL_TENANTS } from '../../contract/access/tenant-name.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { redact, redactText } from '../../contract/json/redaction.ts';
import { inputIdOf } from '../../contract/tool/tool-question.ts';
import { ownId, scopedId } from '../../contract/access/tenant.ts';
import type { ChangedRequests } from '../index/changed-requests.ts';
import { decodeEnvelope } from '../request/envelope.ts';
import type { Journal } from '../request/journal.ts';
import type { RunAsk } from '../../contract/run/run-ask.ts';
import { toolNameIn } from '../../contract/tool/tool-pattern.ts';
import { isApproval, type QuestionRound } from '../request/questions.ts';
import type { DirectiveRecord } from '../request/records.ts';
import type { ListBuild } from './list-build.ts';
import { type Found, type FoundOfTenant, merged } from './merged-tenants.ts';
import { facetOf, plain, readRow } from './row.ts';
import type { ScanPlace, SearchIndex } from './search-index.ts';

/** The questions of a run, with the facts beside them. */
export interface AskingRun {
  agent: string;
  /** null: encrypted. */
  query: string | null;
  said: string;
  asks: readonly RunAsk[];
}

export interface OpenAskParts {
  journal: Pick<Journal, 'request' | 'head' | 'directive' | 'envelope' | 'questions' | 'log'>;
  /** null: the request has no run, or it cannot be read. */
  askingRun(requestId: string): Promise<AskingRun | null>;
}

export interface ApprovalListParts {
  index: Pick<SearchIndex, 'scan'>;
  changes: Pick<ChangedRequests, 'lagMs'>;
  build: Pick<ListBuild, 'state'>;
  openAsks: OpenAsks;
  /** Tenants that may have requests. */
  tenants(): Promise<readonly string[]>;
  now(): Promise<number>;
}

/** `tenant`: `*` for all. */
export type ListApprovals = (query: ApprovalQuery, tenant: string) => Promise<ApprovalListing>;

/** The open questions of a request to people; `callId`: of that one call, budget or directive alone. */
export type OpenAsks = (requestId: string, callId?: string) => Promise<OpenApproval[]>;

const LOOKED_THROUGH = 200;
const MOST_OF_REQUEST = 20;
const LONGEST_ARGUMENTS = 2_000;
const LONGEST_MESSAGE = 1_000;
const LONGEST_QUERY = 1_000;
const LONGEST_SAID = 300;
/** The end of a log in which the instant of a question is looked for. */
const TAIL = { limit: 200, bytes: 262_144 };

export function createOpenAsks({ journal, askingRun }: OpenAskParts): OpenAsks {
  async function recordsOf(requestId: string, callId: string | undefined) {
    if (callId === undefined) {
      const found = await journal.request(requestId);
      return found && { sequence: found.record.sequence, directives: found.directives };
    }
    const [head, record] = await Promise.all([journal.head(requestId), journal.directive(requestId, callId)]);
    return head && { sequence: head.sequence, directives: record === null ? [] : [record] };
  }

  async function questionsOf(
    requestId: string,
    directives: readonly DirectiveRecord[],
    sequence: number,
  ): Promise<Question[]> {
    const asking = directives.filter(({ asked }) => asked !== null).slice(0, MOST_OF_REQUEST);
    if (asking.length === 0) return [];
    const [rounds, since, calls] = await Promise.all([
      journal.questions.rounds(
        requestId,
        asking.map(({ id }) => id),
      ),
      askedAt(requestId, sequence),
      Promise.all(asking.map(async (record) => callOf(requestId, record))),
    ]);
    return asking.flatMap((record, at) =>
      openQuestions(requestId, record, rounds.get(record.id), { ...(calls[at] ?? UNKNOWN_CALL), since }),
    );
  }

  /** When each question was asked, as far as the end of the log says. */
  async function askedAt(requestId: string, sequence: number): Promise<ReadonlyMap<string, string>> {
    const { signals } = await journal.log.read(requestId, Math.max(0, sequence - TAIL.limit), TAIL);
    const asked = signals.filter(({ type }) => type === 'ai.tool.input_requested');
    return new Map(asked.map(({ data, time }) => [String((data as { input_id?: unknown }).input_id), time]));
  }

  async function callOf(requestId: string, { id, lane }: DirectiveRecord): Promise<AskingCall> {
    const json = await journal.envelope(requestId, id);
    const directive: object = json === null ? {} : decodeEnvelope(json).directive;
    const { tool_name: tool = '', arguments: args = {} } = directive as Readonly<Record<string, unknown>>;
    const name = tool === '' ? '' : toolNameIn(lane, String(tool));
    return { tool: name, arguments: JSON.stringify(redact(jsonSafe(args))) };
  }

  return async (requestId, callId) => {
    const [found, run] = await Promise.all([recordsOf(requestId, callId), askingRun(requestId)]);
    if (found === null) return [];
    const questions = await questionsOf(requestId, found.directives, found.sequence);
    const asks = (run?.asks ?? []).filter(({ id }) => callId === undefined || id === callId);
    const asked = asks.map((ask) => approvalOf(requestId, ask, run));
    const known = { agent: run?.agent ?? null, query: shownQuery(run) };
    return [...asked, ...questions.map((question) => ({ ...question, ...known }))].toSorted((left, right) =>
      left.deadline_at < right.deadline_at ? -1 : 1,
    );
  };
}

export function createApprovalList(parts: ApprovalListParts): ListApprovals {
  const { index, changes, build, openAsks } = parts;

  /** `from`: its id is scoped. */
  async function waitingOf(tenant: string, from: ScanPlace | null): Promise<Found> {
    const facets = [facetOf('status', 'waiting')];
    const scan = { facets, from, since: null, mostSeen: LOOKED_THROUGH, mostFound: MOST_ASKING };
    const { rows, next } = await index.scan(tenant, scan);
    const requests = rows.flatMap(({ id, stored }) => readRow(ownId(id), stored) ?? []);
    return { requests, next: next === null ? null : { ...next, id: ownId(next.id) }, early: false };
  }

  async function waitingOfAll(from: ScanPlace | null): Promise<Found> {
    const found: FoundOfTenant[] = [];
    for (const tenant of await parts.tenants()) found.push({ tenant, ...(await waitingOf(tenant, from)) });
    return merged(found, MOST_ASKING);
  }

  async function asksOf(
    { request_id, tenant: named }: ListedRequest,
    tenant: string,
  ): Promise<OpenApproval[]> {
    const asks = await openAsks(scopedId(named ?? tenant, request_id));
    return named === undefined ? asks : asks.map((ask) => ({ tenant: named, ...ask }));
  }

  return async ({ cursor }, tenant) => {
    const isOfAll = tenant === ALL_TENANTS;
    const after = cursor === undefined ? null : placeOfCursor(cursor);
    // In a list of all tenants the id is scoped already.
    const from = after === null ? null : { ...after, id: isOfAll ? after.id : scopedId(tenant, after.id) };
    const { complete } = await build.state();
    const [{ requests, next }, now] = await Promise.all([
      isOfAll ? waitingOfAll(from) : waitingOf(tenant, from),
      parts.now(),
    ]);
    const [asked, lag_ms] = await Promise.all([
      Promise.all(requests.map(async (row) => asksOf(row, tenant))),
      changes.lagMs(now),
    ]);
    return {
      approvals: asked.flatMap((each) => each.slice(0, MOST_OF_REQUEST)),
      omitted: asked.reduce((sum, each) => sum + Math.max(0, each.length - MOST_OF_REQUEST), 0),
      next: next === null ? null : cursorOf(next),
      lag_ms,
      incomplete: !complete,
    };
  };
}

type Question = Omit<OpenApproval, 'agent' | 'query'>;

function approvalOf(requestId: string, ask: RunAsk, run: AskingRun | null): OpenApproval {
  return {
    kind: ask.kind,
    request_id: ownId(requestId),
    call_id: ask.id,
    input_id: null,
    tool: ask.tool,
    agent: run?.agent ?? null,
    ...shownArguments(ask.arguments),
    message: ask.message === null ? null : plain(ask.message, LONGEST_MESSAGE),
    said: plain(run?.said.slice(-LONGEST_SAID) ?? '', LONGEST_SAID).trim(),
    query: shownQuery(run),
    since: new Date(ask.since).toISOString(),
    deadline_at: new Date(ask.deadlineAt).toISOString(),
  };
}

function shownQuery(run: AskingRun | null): string | null {
  const query = run?.query ?? null;
  return query === null ? null : plain(redactText(query), LONGEST_QUERY);
}

/** The key of arguments that are encrypted and too long: no part of them can be read. */
function shownArguments(text: string | null): Pick<OpenApproval, 'arguments' | 'arguments_cut'> {
  if (text === null || text.length <= LONGEST_ARGUMENTS) return { arguments: text, arguments_cut: false };
  const keyId = text.startsWith(ENCRYPTED_START) ? encryptedAlone(JSON.parse(text)) : null;
  const shown =
    keyId === null ? text.slice(0, LONGEST_ARGUMENTS) : JSON.stringify({ [ENCRYPTED]: { key_id: keyId } });
  return { arguments: shown.toWellFormed(), arguments_cut: true };
}

const ENCRYPTED_START = `{"${ENCRYPTED}":`;

interface AskingCall {
  tool: string;
  /** JSON, with secrets redacted. */
  arguments: string;
}

const UNKNOWN_CALL: AskingCall = { tool: '', arguments: '{}' };

interface Asker extends AskingCall {
  since: ReadonlyMap<string, string>;
}

/** Those of the round that have an answer are shown until all have one, as in the request. */
function openQuestions(
  requestId: string,
  { id, asked }: DirectiveRecord,
  round: QuestionRound | undefined,
  { tool, arguments: args, since }: Asker,
): Question[] {
  if (asked === null || round === undefined) return [];
  const isCall = isApproval(round);
  return round.questions.map(({ question }, at) => {
    const inputId = inputIdOf(id, asked.first + at);
    return {
      kind: isCall ? ('approval' as const) : ('question' as const),
      request_id: ownId(requestId),
      call_id: id,
      input_id: isCall ? null : inputId,
      tool,
      ...shownArguments(isCall ? args : null),
      message: plain(question.message, LONGEST_MESSAGE),
      said: '',
      since: since.get(inputId) ?? null,
      deadline_at: new Date(asked.untilAt).toISOString(),
    };
  });
}
