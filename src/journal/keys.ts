// The names of every key the journal keeps in Redis.
// Must never build a key of a request without its hash tag: a request lives in one cluster slot, as do a provider's limits.

/** Where one installation keeps its keys; installations with different prefixes share a Redis without meeting. */
export interface KeySpace {
  readonly prefix: string;
  /** [state hash, bodies hash, log stream], the KEYS of every journal script. The log's name is also the channel. */
  request(requestId: string): [state: string, bodies: string, log: string];
  log(requestId: string): string;
  /** String: there while an MCP client waits for the call of this request, and for a grace after it was lost. */
  waited(requestId: string): string;
  /** [active string, waiting list, history string], the KEYS of every conversation script. */
  conversation(conversationId: string): [active: string, waiting: string, history: string];
  /** Sorted set of `<request>/<directive>`, score = when to look at it next, milliseconds since the epoch. */
  readonly sweep: string;
  /** Sorted set of dead letters, score = when they ended, milliseconds since the epoch. */
  readonly dead: string;
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
  /** Hash of worker → what it allows of each of its lanes over all workers. */
  readonly laneLimits: string;
  /** Sorted set of lanes, score = when each was last used, milliseconds since the epoch, by the clock of Redis. */
  readonly lanes: string;
  /** Sorted set of runs that have not ended, score = what they do. */
  readonly runs: string;
  /** Hash of agent name → its definition. */
  readonly agents: string;
  /** Hash of process → what it does, and of the processes that shall take no more work. */
  readonly workers: string;
  /** [hash of a login at an MCP server, its lock]: version and sealed text. */
  login(principal: string, server: string): [record: string, lock: string];
  /** [hash of the tokens of a server's day, hash of a tool call's]: what its tools have asked of models. */
  sampling(server: string, call: string): [day: string, call: string];
  /** String: what the installation seals with. */
  readonly seal: string;
  /** Channel on which changes of the published tools and agents are announced. */
  readonly catalogChanges: string;
  /** Channel on which cancellations are announced to the workers. */
  readonly cancellations: string;
}

export const DEFAULT_PREFIX = 'adjutant';

export function keySpace(prefix: string = DEFAULT_PREFIX): KeySpace {
  const request = (requestId: string): [string, string, string] => {
    const tag = `${prefix}:{${requestId}}`;
    return [`${tag}:state`, `${tag}:bodies`, `${tag}:log`];
  };
  return {
    prefix,
    request,
    log: (requestId) => `${prefix}:{${requestId}}:log`,
    waited: (requestId) => `${prefix}:{${requestId}}:waited`,
    conversation: (conversationId) => {
      const tag = `${prefix}:{c:${conversationId}}`;
      return [`${tag}:active`, `${tag}:waiting`, `${tag}:history`];
    },
    sweep: `${prefix}:sweep`,
    dead: `${prefix}:dead`,
    catalog: `${prefix}:catalog`,
    models: `${prefix}:models`,
    limits: ({ provider, model }) => {
      const tag = `${prefix}:{limits:${provider}}`;
      return [`${tag}:buckets`, `${tag}:block`, `${tag}:block:${model}`];
    },
    settled: (provider, reservation) => `${prefix}:{limits:${provider}}:settled:${reservation}`,
    serial: (lane) => `${prefix}:{lane:${lane}}:serial`,
    place: (lane) => `${prefix}:{lane:${lane}}:place`,
    laneLimits: `${prefix}:lane-limits`,
    lanes: `${prefix}:lanes`,
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
    seal: `${prefix}:seal`,
    catalogChanges: `${prefix}:catalog-changes`,
    cancellations: `${prefix}:cancellations`,
  };
}
