// The names of every key the journal keeps in Redis.
// Must never build a key of a request without its hash tag: a request lives in one cluster slot, as do a provider's limits.
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';

/** Kinds of what tenants add while the installation runs. */
export type RuntimeKind = 'servers' | 'agents' | 'policies';

/** Where one installation keeps its keys; installations with different prefixes share a Redis without meeting. */
export interface KeySpace {
  readonly prefix: string;
  /** [state hash, bodies hash, log list], the KEYS of every journal script. The log's name is also the channel. */
  request(requestId: string): [state: string, bodies: string, log: string];
  log(requestId: string): string;
  /** Stream of all signals of a tenant, where `signals.stream` is configured. */
  signals(tenant: string): string;
  /** String: there while an MCP client waits for the call of this request, and for a grace after it was lost. */
  waited(requestId: string): string;
  /** [active string, waiting list, history string], the KEYS of every conversation script. */
  conversation(conversationId: string): [active: string, waiting: string, history: string];
  /** Sorted set of `<request>/<directive>`, score: the next check, milliseconds since the epoch. */
  readonly sweep: string;
  /** [sorted set of `<request>/<directive>|<lane>`, score = when it begins, milliseconds since the epoch; hash of lane → how many of
   * them], in the slot of `sweep`. */
  readonly later: [index: string, lanes: string];
  /** Sorted set of requests that may have closed and are to be archived, score = when, milliseconds since the epoch. */
  readonly archive: string;
  /** Sorted set of what a tenant with a limit has open, in the slot of `sweep`: `<request>/<directive>`. */
  open(tenant: string): string;
  /** Sorted set of the dead letters of a tenant, score = when they ended, milliseconds since the epoch. */
  dead(tenant: string): string;
  /** Sorted set of the other tenants that have dead letters, score = when the newest was listed, milliseconds since the epoch. */
  readonly deadTenants: string;
  /** Hash of server name → its published tools. */
  readonly catalog: string;
  /** Hash of published model providers and aliases. */
  readonly models: string;
  /** [hash of buckets, block of the provider, block of the model]: what the limits of a model are kept in. */
  limits(model: { provider: string; model: string }): [buckets: string, provider: string, model: string];
  /** String: a reservation whose tokens were corrected. */
  settled(provider: string, reservation: string): string;
  /** String: there while a worker says that the lane is serial. */
  serial(lane: string): string;
  /** Hash: which claim has the place in a serial lane. */
  place(lane: string): string;
  /** The beginning of every key of a lane's gate, in the slot of the lane. */
  gate(lane: string): string;
  /** Sorted set of lanes, score = when the gate of each was noted last, milliseconds since the epoch, by the clock of Redis. */
  readonly gates: string;
  /** Hash of worker → what it allows of each of its lanes over all workers. */
  readonly laneLimits: string;
  /** Sorted set of lanes, score = when each was last used, milliseconds since the epoch, by the clock of Redis. */
  readonly lanes: string;
  /** Sorted set of runs that have not ended, score = what they do. */
  readonly runs: string;
  /** Hash of agent name → its definition. */
  readonly agents: string;
  /** Hash of process → its report, and of the processes that must take no more work. */
  readonly workers: string;
  /** [hash of a login at an MCP server, its lock]: version and sealed text. */
  login(principal: string, server: string): [record: string, lock: string];
  /** [hash of the tokens of a server's day, hash of a tool call's]: what its tools have asked of models. */
  sampling(server: string, call: string): [day: string, call: string];
  /** The beginning of every key of budgets, in one slot. */
  readonly budgets: string;
  /** The beginning of every key of the counters of rules, in one slot. */
  readonly policy: string;
  /** The beginning of every key of personal logins, in one slot. */
  readonly personalLogins: string;
  /** String: what the installation seals with. */
  readonly seal: string;
  /** [string: the name by which a folder of large payloads knows this Redis; string: the process that cleans the folder]. */
  readonly payloadSweep: [name: string, sweeper: string];
  /** [hash of the API keys, hash of their uses]. */
  readonly access: [keys: string, uses: string];
  /** Hash: what was submitted with an API key in this minute and day. */
  spent(keyId: string): string;
  /** Sorted set of the sessions of an API key, score = when each ends, milliseconds since the epoch. */
  sessions(keyId: string): string;
  /** Sorted set of the logins whose callback has come, score = when each may be forgotten, milliseconds since the epoch. */
  readonly spentLogins: string;
  /** The beginning of every key of logins of MCP hosts, in one slot. */
  readonly hostLogins: string;
  /** Streams of what callers of a tenant have changed, in the slot of the keys. */
  audit(tenant: string): { readonly changes: string; readonly submissions: string };
  /** Sorted set of requests that have changed, score = when their row of the search index is due, milliseconds since the epoch. */
  readonly changedRequests: string;
  /** Sorted set of what indexers have taken of them, in the same slot, score = when the oldest of it was due. */
  readonly takenChanges: string;
  /** Sorted set of the tenants that have a search index, score = when a row was last written. */
  readonly searchTenants: string;
  /** Hash: whether the list of requests is complete, else how far it is built and by whom. */
  readonly listBuild: string;
  /** The search index of a tenant, in one slot: rows, all by creation, closed ones by when they go, error types by frequency, and the
   * beginning of the sorted sets of what rows have in common. */
  search(tenant: string): [rows: string, all: string, expiry: string, errors: string, facet: string];
  /** Hash: the rows of a search index that is being built anew, until those of archived requests are written. In its slot. */
  searchAside(tenant: string): string;
  /** String: id of the process whose claims end with this code. */
  process(code: string): string;
  /** List of the newest lines of a server's output, JSON. */
  serverOutput(server: string): string;
  /** Beginning of the keys of a tenant's statistics, all in one slot; `*`: of all tenants together. */
  stats(tenant: string): string;
  /** Hash: what each request of a tenant with such a limit holds, bytes; the field '' has the sum. In the slot of its search index. */
  storedBytes(tenant: string): string;
  /**
   * Sorted set of schedules, score: the next check of each, milliseconds since the epoch. All keys of schedules are in
   * one slot.
   */
  readonly schedulesDue: string;
  /** Sorted set of the ids of a tenant's schedules. */
  schedulesOf(tenant: string): string;
  /** Set of the tenants other than the default one that have schedules. */
  readonly scheduleTenants: string;
  /** [hash of a schedule, list of what became of its instants]. */
  schedule(scheduleId: string): [record: string, history: string];
  /** [hash of a run that another program leads, hash of the ends of its steps]; `digest`: of the caller and the name. */
  foreignRun(digest: string): [state: string, results: string];
  /** Beginning of the keys of a remote directive type, all in one slot. */
  remoteType(type: string): string;
  /** Channel on which work of remote types, and its ends, are announced. */
  readonly remoteWork: string;
  /** String: nothing is sent to this address of a caller. */
  gone(digest: string): string;
  /** Hash: revisions and number of what tenants have added of a kind, in one slot with it. */
  runtime(kind: RuntimeKind): string;
  /** [hash of what a tenant has added of a kind, string: number of its changes in this minute]. */
  runtimeOf(kind: RuntimeKind, tenant: string): [definitions: string, pace: string];
  /** Channel on which changes of the API keys are announced. */
  readonly accessChanges: string;
  /** Channel on which changes of the published tools and agents are announced. */
  readonly catalogChanges: string;
  /** Channel on which cancellations are announced to the workers. */
  readonly cancellations: string;
  /** Channel on which a process receives the jobs that are dispatched to it. */
  handed(process: string): string;
}

/** Before the last part of a request's id under a key: once.ts of the queue makes such ids. */
const UNDER_KEY = /^((?:[^~]*~)?once\.[0-9A-Fa-f]{32})(\..+)$/;

/**
 * The hash tag of a request. Requests under one key are in one slot: the end of the tag comes before the last part of
 * the id. The same as in include-tag.lua.
 */
function tagOf(requestId: string): string {
  return requestId.includes('once.') ? `{${requestId.replace(UNDER_KEY, '$1}$2')}}` : `{${requestId}}`;
}

/** The request whose tag it is, without the outer braces. */
export function requestOfTag(tag: string): string {
  return tag.replace('}', '');
}

export const DEFAULT_PREFIX = 'adjutant';

export function keySpace(prefix: string = DEFAULT_PREFIX): KeySpace {
  const request = (requestId: string): [string, string, string] => {
    const tag = `${prefix}:${tagOf(requestId)}`;
    return [`${tag}:state`, `${tag}:bodies`, `${tag}:log`];
  };
  return {
    prefix,
    request,
    log: (requestId) => `${prefix}:${tagOf(requestId)}:log`,
    signals: (tenant) => (tenant === DEFAULT_TENANT ? `${prefix}:signals` : `${prefix}:signals:${tenant}`),
    waited: (requestId) => `${prefix}:${tagOf(requestId)}:waited`,
    conversation: (conversationId) => conversationKeys(`${prefix}:{c:${conversationId}}`),
    sweep: `${prefix}:sweep`,
    later: [`{${prefix}:sweep}:later`, `{${prefix}:sweep}:later-lanes`],
    archive: `${prefix}:archive`,
    open: (tenant) => `{${prefix}:sweep}:open:${tenant}`,
    dead: (tenant) => (tenant === DEFAULT_TENANT ? `${prefix}:dead` : `${prefix}:dead:${tenant}`),
    deadTenants: `${prefix}:dead-tenants`,
    catalog: `${prefix}:catalog`,
    models: `${prefix}:models`,
    limits: ({ provider, model }) => {
      const tag = `${prefix}:{limits:${provider}}`;
      return [`${tag}:buckets`, `${tag}:block`, `${tag}:block:${model}`];
    },
    settled: (provider, reservation) => `${prefix}:{limits:${provider}}:settled:${reservation}`,
    serial: (lane) => `${prefix}:{lane:${lane}}:serial`,
    place: (lane) => `${prefix}:{lane:${lane}}:place`,
    runs: `${prefix}:runs`,
    agents: `${prefix}:agents`,
    workers: `${prefix}:workers`,
    login: (principal, server) => {
      const tag = `${prefix}:{login:${principal}:${server}}`;
      return [tag, `${tag}:lock`];
    },
    sampling: (server, call) => {
      const tag = `${prefix}:{sampling:${server}}`;
      return [`${tag}:day`, `${tag}:call:${call}`];
    },
    budgets: `${prefix}:{budgets}:`,
    policy: `${prefix}:{policy}:`,
    personalLogins: `${prefix}:{personal}:`,
    seal: `${prefix}:seal`,
    payloadSweep: [`${prefix}:payloads:name`, `${prefix}:payloads:sweeper`],
    foreignRun: (digest) => {
      const tag = `${prefix}:{foreign:${digest}}`;
      return [`${tag}:state`, `${tag}:results`];
    },
    remoteType: (type) => `${prefix}:{remote:${type}}:`,
    runtime: (kind) => `${prefix}:{runtime-${kind}}:state`,
    runtimeOf: (kind, tenant) => {
      const tag = `${prefix}:{runtime-${kind}}`;
      return [`${tag}:of:${tenant}`, `${tag}:pace:${tenant}`];
    },
    gone: (digest) => `${prefix}:{webhooks}:gone:${digest}`,
    ...scheduleKeys(`${prefix}:{schedules}`),
    ...accessKeys(prefix),
    ...changesKeys(prefix),
    ...laneKeys(prefix),
    searchTenants: `${prefix}:search-tenants`,
    listBuild: `${prefix}:list-build`,
    search: (tenant) => searchKeys(`${prefix}:{search:${tenant}}`),
    searchAside: (tenant) => `${prefix}:{search:${tenant}}:aside`,
    process: (code) => `${prefix}:process:${code}`,
    serverOutput: (server) => `${prefix}:output:${server}`,
    stats: (tenant) => `${prefix}:{stats:${tenant}}:`,
    storedBytes: (tenant) => `${prefix}:{search:${tenant}}:bytes`,
    ...channels(prefix),
  };
}

function channels(
  prefix: string,
): Pick<KeySpace, 'accessChanges' | 'catalogChanges' | 'cancellations' | 'remoteWork' | 'handed'> {
  return {
    accessChanges: `${prefix}:access-changes`,
    catalogChanges: `${prefix}:catalog-changes`,
    cancellations: `${prefix}:cancellations`,
    remoteWork: `${prefix}:remote-work`,
    handed: (process) => `${prefix}:handed:${process}`,
  };
}

function accessKeys(
  prefix: string,
): Pick<KeySpace, 'access' | 'spent' | 'sessions' | 'spentLogins' | 'hostLogins' | 'audit'> {
  return {
    access: [`${prefix}:{access}:keys`, `${prefix}:{access}:uses`],
    spent: (keyId) => `${prefix}:{access}:spent:${keyId}`,
    spentLogins: `${prefix}:{access}:logins`,
    hostLogins: `${prefix}:{hosts}:`,
    sessions: (keyId) => `${prefix}:{access}:sessions:${keyId}`,
    audit: (tenant) => {
      const own = tenant === DEFAULT_TENANT ? '' : `:${tenant}`;
      const tag = `${prefix}:{access}`;
      return { changes: `${tag}:changes${own}`, submissions: `${tag}:submissions${own}` };
    },
  };
}

function laneKeys(prefix: string): Pick<KeySpace, 'gate' | 'gates' | 'laneLimits' | 'lanes'> {
  return {
    gate: (lane) => `{${prefix}:${lane}}:gate:`,
    gates: `${prefix}:gates`,
    laneLimits: `${prefix}:lane-limits`,
    lanes: `${prefix}:lanes`,
  };
}

function searchKeys(tag: string): ReturnType<KeySpace['search']> {
  return [`${tag}:rows`, `${tag}:all`, `${tag}:expiry`, `${tag}:errors`, `${tag}:f:`];
}

function conversationKeys(tag: string): ReturnType<KeySpace['conversation']> {
  return [`${tag}:active`, `${tag}:waiting`, `${tag}:history`];
}

function scheduleKeys(
  tag: string,
): Pick<KeySpace, 'schedulesDue' | 'schedulesOf' | 'scheduleTenants' | 'schedule'> {
  return {
    schedulesDue: `${tag}:due`,
    schedulesOf: (tenant) => `${tag}:of:${tenant}`,
    scheduleTenants: `${tag}:tenants`,
    schedule: (scheduleId) => [`${tag}:of-id:${scheduleId}`, `${tag}:history:${scheduleId}`],
  };
}

/** Both in one slot. */
function changesKeys(prefix: string): Pick<KeySpace, 'changedRequests' | 'takenChanges'> {
  const changedRequests = `${prefix}:changed-requests`;
  return { changedRequests, takenChanges: `{${changedRequests}}:taken` };
}
