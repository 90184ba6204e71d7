// Every route of the HTTP API that is described: method, path, scope, and the content that is sent, under the name of its client method.
// Imports no schema, so that the HTTP client stays small.
import type { Scope } from '../access/access.ts';

/** `public`: for everyone, with less detail for a caller without a key. */
export type RouteRule = Scope | 'public';

/** Route of the HTTP API: method, path, scope and content. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path parameters are written as `:name`. */
  readonly path: string;
  /** Scope that a key needs. */
  readonly scope: RouteRule;
  /** Scope that a key needs as well. Default: none. */
  readonly also?: Scope;
  /** Content beside the path: a query, or a body of one of three sizes. `work`: content of directives, up to `limits.body_bytes`. Default: none. */
  readonly content?: 'query' | 'small' | 'list' | 'work';
  /** Concerns the work of all tenants: only keys of the default tenant may call it. Default: false. */
  readonly forOperators?: true;
  /** Reads or changes what a tenant has: keys with the scope `admin` of the default tenant may name another one by `?tenant=`. Default: false. */
  readonly ofTenant?: true;
}

const REQUEST = '/v1/requests/:request_id';
const DIRECTIVE = `${REQUEST}/directives/:directive_id` as const;
const SCHEDULE = '/v1/schedules/:schedule_id';
const SERVER = '/v1/servers/:server_name';
const AGENT = '/v1/agents/:agent_name';
const POLICY = '/v1/policies/:policy_name';
const RUN = '/v1/runs/:run';

/** Calls whose client method has the arguments: path parameters in order, content, options; and resolves with the answer. */
export const CALLS = {
  requests: { method: 'GET', path: '/v1/requests', scope: 'read', content: 'query', ofTenant: true },
  search: { method: 'GET', path: '/v1/search', scope: 'read', content: 'query', ofTenant: true },
  stats: { method: 'GET', path: '/v1/stats', scope: 'read', content: 'query', ofTenant: true },
  approvals: { method: 'GET', path: '/v1/approvals', scope: 'read', content: 'query', ofTenant: true },
  trace: { method: 'GET', path: `${REQUEST}/trace`, scope: 'read', content: 'query', ofTenant: true },
  again: { method: 'POST', path: `${REQUEST}/again`, scope: 'submit', also: 'read', content: 'work' },
  fork: { method: 'POST', path: `${REQUEST}/fork`, scope: 'submit', also: 'read', content: 'work' },
  'runs.start': { method: 'POST', path: '/v1/requests', scope: 'submit', content: 'work' },
  'runs.input': { method: 'POST', path: `${REQUEST}/input`, scope: 'submit', content: 'work' },
  'runs.resume': { method: 'POST', path: `${REQUEST}/resume`, scope: 'submit', content: 'work' },
  'runs.decide': { method: 'POST', path: `${REQUEST}/approvals/:call_id`, scope: 'decide', content: 'work' },
  score: { method: 'POST', path: `${REQUEST}/scores`, scope: 'submit', content: 'small' },
  'runs.decideAll': { method: 'POST', path: '/v1/approvals/decide', scope: 'decide', content: 'work' },
  answer: { method: 'POST', path: `${REQUEST}/inputs/:input_id`, scope: 'decide', content: 'work' },
  'schedules.create': { method: 'POST', path: '/v1/schedules', scope: 'submit', content: 'work' },
  'schedules.list': {
    method: 'GET',
    path: '/v1/schedules',
    scope: 'read',
    content: 'query',
    ofTenant: true,
  },
  'schedules.get': { method: 'GET', path: SCHEDULE, scope: 'read', ofTenant: true },
  'schedules.replace': { method: 'PUT', path: SCHEDULE, scope: 'submit', content: 'work' },
  'schedules.pause': { method: 'POST', path: `${SCHEDULE}/pause`, scope: 'submit', content: 'small' },
  'schedules.resume': { method: 'POST', path: `${SCHEDULE}/resume`, scope: 'submit' },
  'schedules.trigger': { method: 'POST', path: `${SCHEDULE}/trigger`, scope: 'submit', content: 'small' },
  'schedules.delete': { method: 'DELETE', path: SCHEDULE, scope: 'submit' },
  cancelAll: { method: 'POST', path: '/v1/requests/cancel', scope: 'cancel', content: 'small' },
  redriveAll: { method: 'POST', path: '/v1/requests/redrive', scope: 'redrive', content: 'small' },
  reindex: { method: 'POST', path: '/v1/reindex', scope: 'admin', content: 'small', forOperators: true },
  deadLetters: { method: 'GET', path: '/v1/dead-letters', scope: 'read', content: 'query', ofTenant: true },
  deadLetterGroups: {
    method: 'GET',
    path: '/v1/dead-letters/groups',
    scope: 'read',
    content: 'query',
    ofTenant: true,
  },
  reconcile: { method: 'POST', path: `${DIRECTIVE}/reconcile`, scope: 'redrive', also: 'read' },
  redrive: { method: 'POST', path: '/v1/dead-letters/redrive', scope: 'redrive', content: 'list' },
  tools: { method: 'GET', path: '/v1/tools', scope: 'read', content: 'query' },
  'servers.list': { method: 'GET', path: '/v1/servers', scope: 'admin', ofTenant: true },
  'servers.get': { method: 'GET', path: SERVER, scope: 'admin', ofTenant: true },
  'servers.put': { method: 'PUT', path: SERVER, scope: 'admin', content: 'small', ofTenant: true },
  'servers.remove': { method: 'DELETE', path: SERVER, scope: 'admin', content: 'query', ofTenant: true },
  'servers.test': {
    method: 'POST',
    path: `${SERVER}/test`,
    scope: 'admin',
    content: 'small',
    ofTenant: true,
  },
  serverOutput: {
    method: 'GET',
    path: '/v1/servers/:server_name/stderr',
    scope: 'admin',
    forOperators: true,
  },
  agents: { method: 'GET', path: '/v1/agents', scope: 'read', ofTenant: true },
  'runtimeAgents.list': { method: 'GET', path: '/v1/runtime-agents', scope: 'admin', ofTenant: true },
  'runtimeAgents.get': { method: 'GET', path: AGENT, scope: 'admin', ofTenant: true },
  'runtimeAgents.put': { method: 'PUT', path: AGENT, scope: 'admin', content: 'list', ofTenant: true },
  'runtimeAgents.remove': { method: 'DELETE', path: AGENT, scope: 'admin', content: 'query', ofTenant: true },
  'policies.list': { method: 'GET', path: '/v1/policies', scope: 'admin', ofTenant: true },
  'policies.get': { method: 'GET', path: POLICY, scope: 'admin', ofTenant: true },
  'policies.put': { method: 'PUT', path: POLICY, scope: 'admin', content: 'list', ofTenant: true },
  'policies.remove': { method: 'DELETE', path: POLICY, scope: 'admin', content: 'query', ofTenant: true },
  lanes: { method: 'GET', path: '/v1/lanes', scope: 'read' },
  budgets: { method: 'GET', path: '/v1/budgets', scope: 'read', ofTenant: true },
  workers: { method: 'GET', path: '/v1/workers', scope: 'read' },
  'keys.list': { method: 'GET', path: '/v1/keys', scope: 'admin' },
  'keys.create': { method: 'POST', path: '/v1/keys', scope: 'admin', content: 'list' },
  'keys.revoke': { method: 'DELETE', path: '/v1/keys/:key_id', scope: 'admin', content: 'query' },
  'keys.audit': { method: 'GET', path: '/v1/audit', scope: 'admin', content: 'query' },
  'keys.viewToken': { method: 'POST', path: `${REQUEST}/token`, scope: 'read', content: 'small' },
  'keys.logins': { method: 'GET', path: '/v1/logins', scope: 'submit' },
  'keys.forgetLogin': {
    method: 'DELETE',
    path: '/v1/logins/:server_name',
    scope: 'submit',
    content: 'query',
  },
} as const satisfies Record<string, Route>;

/** Routes with a handler of their own: they wait, stream, choose a status, or have no method of a client. */
const OTHERS = {
  submit: { method: 'POST', path: '/v1/directives', scope: 'submit', content: 'work' },
  request: { method: 'GET', path: REQUEST, scope: 'read', ofTenant: true },
  directive: { method: 'GET', path: DIRECTIVE, scope: 'read', content: 'query', ofTenant: true },
  payload: { method: 'GET', path: `${DIRECTIVE}/payload`, scope: 'read', ofTenant: true },
  signals: { method: 'GET', path: `${REQUEST}/signals`, scope: 'read', content: 'query', ofTenant: true },
  timeline: { method: 'GET', path: `${REQUEST}/timeline`, scope: 'read', content: 'query', ofTenant: true },
  archive: { method: 'GET', path: `${REQUEST}/archive`, scope: 'read', ofTenant: true },
  cancel: { method: 'POST', path: `${REQUEST}/cancel`, scope: 'cancel', content: 'small' },
  cancelDirective: { method: 'POST', path: `${DIRECTIVE}/cancel`, scope: 'cancel', content: 'small' },
  prioritize: { method: 'POST', path: `${DIRECTIVE}/priority`, scope: 'submit', content: 'small' },
  readRun: { method: 'GET', path: RUN, scope: 'read', content: 'query' },
  closeRun: { method: 'PUT', path: RUN, scope: 'submit', content: 'list' },
  beginStep: { method: 'POST', path: `${RUN}/steps`, scope: 'submit', content: 'small' },
  endStep: { method: 'POST', path: `${RUN}/steps/end`, scope: 'submit', content: 'list' },
  takeWork: { method: 'POST', path: '/v1/work/take', scope: 'work', content: 'small', forOperators: true },
  holdWork: { method: 'POST', path: '/v1/work/hold', scope: 'work', content: 'small', forOperators: true },
  endWork: { method: 'POST', path: '/v1/work/end', scope: 'work', content: 'work', forOperators: true },
  drainWorker: { method: 'POST', path: '/v1/workers/:worker_id/drain', scope: 'admin', forOperators: true },
  resumeWorker: { method: 'POST', path: '/v1/workers/:worker_id/resume', scope: 'admin', forOperators: true },
  // A caller that signs in has no key yet; the end of a session by its cookie needs the token against other sites.
  readSession: { method: 'GET', path: '/v1/session', scope: 'public' },
  signIn: { method: 'POST', path: '/v1/session', scope: 'public', content: 'small' },
  signOut: { method: 'DELETE', path: '/v1/session', scope: 'public' },
  health: { method: 'GET', path: '/healthz', scope: 'public', content: 'query' },
  readiness: { method: 'GET', path: '/readyz', scope: 'public', content: 'query' },
  metrics: { method: 'GET', path: '/metrics', scope: 'read', content: 'query', forOperators: true },
  openapi: { method: 'GET', path: '/openapi.json', scope: 'public', content: 'query' },
} as const satisfies Record<string, Route>;

/** Every route by the name of its operation. */
export const ROUTES = { ...CALLS, ...OTHERS };

/** Name of an operation that a client calls with path parameters, content and options. */
export type CallName = keyof typeof CALLS;
/** Name of an operation. */
export type OperationName = keyof typeof ROUTES;

/** Names of the parameters in a path. */
export type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
