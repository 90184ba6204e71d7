// One row of the search index: what is known of a request in a list, as text, and the facets by which it is found.
// Must never grow with its request: every part is bounded.
import type {
  AskedFor,
  ListedRequest,
  ListedScore,
  RequestStatus,
} from '../../contract/request/request-listing.ts';

/**
 * The journal's facts of a request, as far as a list shows them. Instants are milliseconds since the epoch, by the
 * clock of Redis.
 */
export interface RequestFacts {
  requestId: string;
  /** Grows with each change. */
  version: number;
  createdAt: number;
  closedAt: number | null;
  /** When the request is forgotten; null: it is open. */
  expiresAt: number | null;
  open: number;
  directives: number;
  /** That it holds, with what its signals and results hold. */
  bytes: number;
  types: readonly string[];
  tools: readonly string[];
  models: readonly string[];
  errorTypes: readonly string[];
  tags: readonly string[];
  text: string;
  waitingFor: readonly AskedFor[];
  /** Newest score of each name; absent: none. */
  scores?: readonly ListedScore[] | undefined;
  /** When the first of what is open may begin; absent: its caller said nothing, or something has begun. */
  beginsAt?: number | undefined;
  /** The newest directive that a redrive has made; absent: nothing was redriven. */
  redrivenAs?: string | undefined;
  /** A directive that was not redriven has ended in an error that is not a cancellation; one was cancelled. */
  anyFailed: boolean;
  anyCancelled: boolean;
  run: RunFacts | null;
}

export interface RunFacts {
  status: string;
  agent: string;
  conversation: string | null;
  parent: string | null;
  tokens: { input: number; output: number };
  cost: number | null;
  errorType: string | null;
}

export interface IndexRow {
  requestId: string;
  version: number;
  createdAt: number;
  expiresAt: number | null;
  bytes: number;
  facets: readonly string[];
  /** JSON. */
  text: string;
}

const MOST_NAMES = 16;
const LONGEST_NAME = 256;
const LONGEST_TEXT = 200;

/** `listedMs`: how long the row of an archived request outlives it, milliseconds. */
export function rowOf(facts: RequestFacts, listedMs = 0): IndexRow {
  const { expiresAt } = facts;
  const ends =
    listedMs > 0 && expiresAt !== null ? { gone: expiresAt, listed_until: expiresAt + listedMs } : {};
  const listed = { ...listedOf(facts), ...ends };
  return {
    requestId: facts.requestId,
    version: facts.version,
    createdAt: facts.createdAt,
    expiresAt,
    bytes: facts.bytes,
    facets: facetsOf(listed),
    text: JSON.stringify(compact(listed)),
  };
}

function statusOf(
  facts: Pick<RequestFacts, 'open' | 'run' | 'waitingFor' | 'anyFailed' | 'anyCancelled'>,
): RequestStatus {
  if (facts.open > 0) return facts.waitingFor.length > 0 ? 'waiting' : 'open';
  if (facts.run !== null) return statusOfRun(facts.run.status);
  if (facts.anyFailed) return 'failed';
  return facts.anyCancelled ? 'cancelled' : 'succeeded';
}

function statusOfRun(status: string): RequestStatus {
  if (status === 'completed') return 'succeeded';
  return status === 'cancelled' ? 'cancelled' : 'failed';
}

type Listed = Omit<
  ListedRequest,
  'archived' | 'tenant' | 'request_id' | 'created_at' | 'closed_at' | 'begins_at'
> & {
  closed: number | null;
  begins?: number;
  /** When the request expires, of a row that stays for longer. */
  gone?: number;
  /** When such a row goes: read by `search-trim`. */
  listed_until?: number;
};

function listedOf(facts: RequestFacts): Listed {
  const { run } = facts;
  const errors = [...facts.errorTypes, ...(run?.errorType ? [run.errorType] : [])];
  return {
    status: statusOf(facts),
    closed: facts.open > 0 ? null : facts.closedAt,
    directives: facts.directives,
    open: facts.open,
    types: names(facts.types),
    agent: run === null ? null : plain(run.agent, LONGEST_NAME),
    tools: names(facts.tools),
    models: names(facts.models),
    error_types: names(errors),
    tags: names(facts.tags),
    text: plain(facts.text, LONGEST_TEXT).trim(),
    conversation_id: run?.conversation ?? null,
    parent_request_id: run?.parent ?? null,
    waiting_for: facts.open > 0 ? [...facts.waitingFor] : [],
    tokens: run?.tokens ?? null,
    cost: run?.cost ?? null,
    ...(facts.open > 0 && facts.beginsAt !== undefined ? { begins: facts.beginsAt } : {}),
    ...(facts.redrivenAs === undefined ? {} : { redriven_as: facts.redrivenAs }),
    ...(facts.scores === undefined ? {} : { scores: facts.scores.slice(0, MOST_NAMES) }),
  };
}

/** One line without control characters, half characters, or what turns the direction of text. */
export function plain(text: string, longest: number): string {
  const cut = text.length > 4 * longest ? text.slice(0, 4 * longest) : text;
  return cut
    .replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .slice(0, longest)
    .toWellFormed();
}

function names(all: readonly string[]): string[] {
  const named = all.map((name) => plain(name, LONGEST_NAME)).filter((name) => name !== '');
  return [...new Set(named)].slice(0, MOST_NAMES);
}

/** The status that most requests have needs no set: the rest is not in it. */
export const COMMON_STATUS: RequestStatus = 'succeeded';

export const FACETS = {
  status: 's:',
  agent: 'a:',
  tool: 't:',
  error_type: 'e:',
  tag: 'g:',
  conversation: 'k:',
  score: 'v:',
} as const;

/** As a filter names it, so that both are cut alike. */
export function facetOf(kind: keyof typeof FACETS, value: string): string {
  return `${FACETS[kind]}${plain(value, LONGEST_NAME)}`;
}

function facetsOf({
  status,
  agent,
  tools,
  error_types,
  tags,
  conversation_id,
  scores = [],
}: Listed): string[] {
  return [
    ...(status === COMMON_STATUS ? [] : [facetOf('status', status)]),
    ...(agent === null ? [] : [facetOf('agent', agent)]),
    ...tools.map((tool) => facetOf('tool', tool)),
    ...error_types.map((type) => facetOf('error_type', type)),
    ...tags.map((tag) => facetOf('tag', tag)),
    ...(conversation_id === null ? [] : [facetOf('conversation', conversation_id)]),
    ...scores.map(({ name }) => facetOf('score', name)),
  ];
}

const COMMON_TYPE = 'tool_exec';

const EMPTY: Listed = {
  status: COMMON_STATUS,
  closed: null,
  directives: 1,
  open: 0,
  types: [COMMON_TYPE],
  agent: null,
  tools: [],
  models: [],
  error_types: [],
  tags: [],
  text: '',
  conversation_id: null,
  parent_request_id: null,
  waiting_for: [],
  tokens: null,
  cost: null,
};

/** The members that the facets of the row have already. */
const IN_FACETS: ReadonlySet<string> = new Set(['status', 'agent', 'tools', 'error_types', 'tags']);

/** Without what most rows have alike, and what is read from the facets. */
function compact(listed: Listed): Partial<Listed> {
  const told = ([name, value]: [string, unknown]): boolean =>
    !IN_FACETS.has(name) && !isSame(value, EMPTY[name as keyof Listed]);
  return Object.fromEntries(Object.entries(listed).filter(told)) as Partial<Listed>;
}

function isSame(value: unknown, usual: unknown): boolean {
  if (!Array.isArray(value) || !Array.isArray(usual)) return value === usual;
  return value.length === usual.length && value.every((item, at) => item === usual[at]);
}

/** As `search-write` stores a row: version, creation, facets, and the JSON of the rest. */
// oxlint-disable-next-line no-control-regex -- the separators are two
const ROW = /^\d+ (\d+)\u0001([^\u0002]*)\u0002/;

/** The row of a request that has expired, to be written again; null: it has not, its time in the list is over, or it is damaged. */
export function archivedRow(
  requestId: string,
  stored: string,
  { listedMs, now }: { listedMs: number; now: number },
): IndexRow | null {
  const head = ROW.exec(stored);
  if (head === null) return null;
  const text = stored.slice(head[0].length);
  const { gone } = JSON.parse(text) as Partial<Listed>;
  if (gone === undefined || gone > now || gone + listedMs <= now) return null;
  return {
    requestId,
    version: Number.parseInt(stored, 10),
    createdAt: Number(head[1]),
    expiresAt: gone + listedMs,
    bytes: 0,
    facets: (head[2] ?? '').split('\u0001').filter(Boolean),
    text,
  };
}

/** `id`: as its tenant knows it. null: the row is damaged or gone. */
export function readRow(id: string, stored: string, now: number = Date.now()): ListedRequest | null {
  const head = ROW.exec(stored);
  if (head === null) return null;
  const rest = JSON.parse(stored.slice(head[0].length)) as Partial<Listed>;
  const {
    closed,
    begins,
    gone,
    listed_until: _,
    ...known
  } = { ...EMPTY, ...saidByFacets(head[2] ?? ''), ...rest };
  return {
    request_id: id,
    created_at: new Date(Number(head[1])).toISOString(),
    closed_at: closed === null ? null : new Date(closed).toISOString(),
    ...known,
    ...(begins === undefined ? {} : { begins_at: new Date(begins).toISOString() }),
    ...(gone !== undefined && gone <= now ? { archived: true } : {}),
  };
}

function saidByFacets(joined: string): Pick<Listed, 'status' | 'agent' | 'tools' | 'error_types' | 'tags'> {
  const facets = joined.split('\u0001');
  const all = (kind: keyof typeof FACETS): string[] =>
    facets.filter((facet) => facet.startsWith(FACETS[kind])).map((facet) => facet.slice(FACETS[kind].length));
  const [status = COMMON_STATUS] = all('status');
  return {
    status: status as RequestStatus,
    agent: all('agent')[0] ?? null,
    tools: all('tool'),
    error_types: all('error_type'),
    tags: all('tag'),
  };
}
