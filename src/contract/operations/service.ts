// HTTP operations of operators: lists of the service, dead letters, processes, keys, sessions, probes.
import * as z from 'zod';
import {
  accessKeySchema,
  createdKeySchema,
  createKeyBodySchema,
  keyListingSchema,
} from '../access/access.ts';
import {
  forgetLoginQuerySchema,
  forgottenLoginSchema,
  personalLoginListingSchema,
} from '../access/personal-login.ts';
import { agentListingSchema } from '../run/agent-listing.ts';
import { putAgentBodySchema, runtimeAgentListingSchema, runtimeAgentSchema } from '../run/runtime-agent.ts';
import {
  putPolicyBodySchema,
  runtimePolicyListingSchema,
  runtimePolicySchema,
} from '../policy/runtime-policy.ts';
import { removeDefinitionQuerySchema } from '../runtime-definition.ts';
import { AUDIT_LOGS, auditPageSchema } from '../access/audit.ts';
import { budgetListingSchema } from '../model/budget-listing.ts';
import {
  deadLetterCursor,
  deadLetterGroupsSchema,
  deadLetterOrder,
  deadLetterPageSchema,
  deadLetterTenant,
  redriveBodySchema,
  redriveSchema,
} from '../directive/dead-letter.ts';
import { instantSchema } from '../identifiers.ts';
import { laneListingSchema } from '../request/lane-listing.ts';
import { viewTokenBodySchema, viewTokenSchema } from '../access/view-token.ts';
import { sessionViewSchema, signInBodySchema } from '../access/session.ts';
import { serverOutputSchema } from '../tool/server-output.ts';
import { reconciliationSchema } from '../tool/reconciliation.ts';
import {
  putServerBodySchema,
  runtimeServerListingSchema,
  runtimeServerSchema,
  serverTestSchema,
  testServerBodySchema,
} from '../tool/runtime-server.ts';
import { toolListingSchema } from '../tool/tool-listing.ts';
import { workerDrainSchema, workerListingSchema } from '../request/worker-listing.ts';
import { anyQuery, flag, type Operation, pageSize } from './operation.ts';

const NEEDS_SECTION = 'Refused with 404 where the section `runtime_servers` is not enabled.';
const NO_NEXT = 'must be the `next` of a page';
const STREAM_ID = /^\d{1,20}-\d{1,20}$/;
const LARGEST_PART = 2n ** 64n - 1n;

/** The id of an entry of a Redis stream: two numbers of 64 bits, not both zero. */
function isStreamId(text: string): boolean {
  if (!STREAM_ID.test(text)) return false;
  const parts = text.split('-').map(BigInt);
  return parts.some((part) => part > 0n) && parts.every((part) => part <= LARGEST_PART);
}

/** Operations on the service, its keys and its sessions. */
export const SERVICE_OPERATIONS = {
  tools: {
    tag: 'service',
    summary: 'The tools of every MCP server, and the state of the servers',
    query: z.strictObject({
      remembered: flag(
        'Also tools of servers that no worker serves now, listed within a day. Default: false.',
      ).optional(),
    }),
    answer: ['tool-listing', toolListingSchema],
  },
  'servers.list': {
    tag: 'service',
    summary: 'The servers that the tenant has added at runtime',
    description: NEEDS_SECTION,
    answer: ['runtime-server-listing', runtimeServerListingSchema],
    problems: [404],
  },
  'servers.get': {
    tag: 'service',
    summary: 'A server that the tenant has added at runtime',
    answer: ['runtime-server', runtimeServerSchema],
    problems: [404],
  },
  'servers.put': {
    tag: 'service',
    summary: 'Add or replace a server of the tenant',
    description:
      'Workers follow without a restart. A call in flight ends with the old definition; the next one has the new one. A name of the configuration file is refused with 409. Literal secrets need `ADJUTANT_TOKEN_KEY`, which seals them. At most 60 changes a minute.',
    body: ['put-server', putServerBodySchema],
    answer: ['runtime-server', runtimeServerSchema],
    problems: [404, 409, 413, 415, 429],
  },
  'servers.remove': {
    tag: 'service',
    summary: 'Remove a server of the tenant',
    description: 'Calls in flight end as they would; calls that wait in its lane end at their deadline.',
    query: removeDefinitionQuerySchema,
    answer: ['runtime-server', runtimeServerSchema],
    problems: [404, 409],
  },
  'servers.test': {
    tag: 'service',
    summary: 'Connect to a server once and list its tools',
    description:
      'From the API, within 20 s, under the same rules as a worker. A program (`command`) is not started.',
    body: ['test-server', testServerBodySchema],
    isBodyOptional: true,
    answer: ['server-test', serverTestSchema],
    problems: [404, 413, 415],
  },
  serverOutput: {
    tag: 'service',
    summary: 'The newest lines that the program of an MCP server has written to stderr',
    description:
      'Of servers that workers start, with secrets redacted by their values. A server without output has no lines; neither has one that is reached by HTTP.',
    answer: ['server-output', serverOutputSchema],
    problems: [404],
  },
  agents: {
    tag: 'service',
    summary: 'The agents that runs can use',
    answer: ['agent-listing', agentListingSchema],
  },
  'runtimeAgents.list': {
    tag: 'service',
    summary: 'The agents that the tenant has added at runtime',
    description: 'Refused with 404 where the section `runtime_agents` is not enabled.',
    answer: ['runtime-agent-listing', runtimeAgentListingSchema],
    problems: [404],
  },
  'runtimeAgents.get': {
    tag: 'service',
    summary: 'An agent that the tenant has added at runtime',
    answer: ['runtime-agent', runtimeAgentSchema],
    problems: [404],
  },
  'runtimeAgents.put': {
    tag: 'service',
    summary: 'Add or replace an agent of the tenant',
    description:
      'Runs that begin from then on use it; those that have begun keep their version. A name of the configuration is refused with 409. Refused with 404 where the section `runtime_agents` is not enabled. At most 60 changes a minute.',
    body: ['put-agent', putAgentBodySchema],
    answer: ['runtime-agent', runtimeAgentSchema],
    problems: [404, 409, 413, 415, 429],
  },
  'runtimeAgents.remove': {
    tag: 'service',
    summary: 'Remove an agent of the tenant',
    description: 'Runs that have begun continue; those that have not end with `unknown_agent`.',
    query: removeDefinitionQuerySchema,
    answer: ['runtime-agent', runtimeAgentSchema],
    problems: [404, 409],
  },
  'policies.list': {
    tag: 'service',
    summary: 'The policies that the tenant has added at runtime',
    description: 'Refused with 404 where the section `runtime_policies` is not enabled.',
    answer: ['runtime-policy-listing', runtimePolicyListingSchema],
    problems: [404],
  },
  'policies.get': {
    tag: 'service',
    summary: 'A policy that the tenant has added at runtime',
    answer: ['runtime-policy', runtimePolicySchema],
    problems: [404],
  },
  'policies.put': {
    tag: 'service',
    summary: 'Add or replace a policy of the tenant',
    description:
      'Its rules are added to those of the operator: of all decisions about a call the strictest counts. Every worker decides by it after 1 s at the latest. At most 60 changes a minute.',
    body: ['put-policy', putPolicyBodySchema],
    answer: ['runtime-policy', runtimePolicySchema],
    problems: [404, 409, 413, 415, 429],
  },
  'policies.remove': {
    tag: 'service',
    summary: 'Remove a policy of the tenant',
    query: removeDefinitionQuerySchema,
    answer: ['runtime-policy', runtimePolicySchema],
    problems: [404, 409],
  },
  lanes: {
    tag: 'service',
    summary: 'The lanes and how busy they are',
    answer: ['lane-listing', laneListingSchema],
  },
  budgets: {
    tag: 'service',
    summary: 'The budgets of today: tokens and money that models have used, and the limits',
    description:
      'Those of the tenant; the tenant `default` sees also those of all tenants together. A key without the scope `admin` sees of keys only its own.',
    answer: ['budget-listing', budgetListingSchema],
  },
  workers: {
    tag: 'service',
    summary: 'The processes of the installation: their roles, the lanes they serve, their load',
    answer: ['worker-listing', workerListingSchema],
  },
  drainWorker: {
    tag: 'service',
    summary: 'Ask a process to take no more work',
    description:
      'Work that it has goes on to its end. The process then stays idle until it is stopped or resumed; a new process in its ' +
      'place works. The request is kept while the process is silent. Refused for a process that is only an API, which takes no work.',
    answer: ['worker-drain', workerDrainSchema],
    statuses: { 202: 'The process reads it within some seconds.' },
    problems: [404],
  },
  resumeWorker: {
    tag: 'service',
    summary: 'Ask a drained process to work again',
    answer: ['worker-drain', workerDrainSchema],
    statuses: { 202: 'The process reads it within some seconds.' },
    problems: [404],
  },
  deadLetters: {
    tag: 'dead letters',
    summary: 'Directives that ended in an error, newest first',
    description: 'Those of all tenants are listed tenant by tenant.',
    query: z.strictObject({
      lane: z.string().max(128).optional().describe('Only of this lane.'),
      error_type: z.string().max(128).optional().describe('Only with this type of error.'),
      since: instantSchema.optional().describe('Only those that were listed from then on.'),
      until: instantSchema.optional().describe('Only those that were listed before then.'),
      order: deadLetterOrder,
      after: deadLetterCursor,
      limit: pageSize(1_000, 100),
      ...deadLetterTenant,
    }),
    answer: ['dead-letter-page', deadLetterPageSchema],
  },
  deadLetterGroups: {
    tag: 'dead letters',
    summary: 'Dead letters by lane, type of error and hour',
    query: z.strictObject(deadLetterTenant),
    answer: ['dead-letter-groups', deadLetterGroupsSchema],
  },
  redrive: {
    tag: 'dead letters',
    summary: 'Make new directives from dead letters',
    description:
      'Each gets a new id in the same request, and `metadata.redrive_of` names the old one. ' +
      'Name directives, give a filter, or set `all`. With `dry_run` nothing is done: `found` counts the matches. ' +
      'After 20 s the answer has what was done; `left` counts the rest.',
    body: ['redrive-body', redriveBodySchema],
    isBodyOptional: true,
    answer: ['redrive', redriveSchema],
    problems: [415],
    isAbortable: true,
  },
  reconcile: {
    tag: 'dead letters',
    summary: 'Find out whether a tool call of unknown outcome happened',
    description:
      'Asks the tool that `reconcile` in `effects` names, as a new directive in the same request. The terminal signal of the call stays. A call that happened is no dead letter any more, and a resume of its run takes what was found.',
    answer: ['reconciliation', reconciliationSchema],
    problems: [404, 409],
  },
  'keys.list': {
    tag: 'access',
    summary: 'The API keys: rights, creation and last use; never the keys themselves',
    answer: keyListingSchema,
  },
  'keys.create': {
    tag: 'access',
    summary: 'Make an API key',
    description:
      'The answer is the only place that shows the key. From the first key on, every call needs one: so the first has the scope `admin`.',
    body: createKeyBodySchema,
    answer: createdKeySchema,
    statuses: { 201: 'The key is durable.' },
    problems: [409, 415],
  },
  'keys.revoke': {
    tag: 'access',
    summary: 'Revoke an API key',
    description:
      'Every API refuses it within 2 s, and ends the streams that it reads. The last key with the scope `admin` that does not expire is kept, unless `force` or ADJUTANT_ADMIN_KEY is set.',
    query: z.strictObject({
      force: flag('`true`: also the last key that may make keys. Default: false.').optional(),
    }),
    answer: accessKeySchema,
    statuses: { 200: 'The key before its revocation.' },
    problems: [404, 409],
  },
  'keys.viewToken': {
    tag: 'access',
    summary: 'Make a token with which a browser reads one request',
    description: 'For callers with an API key. Revoking the key ends its tokens.',
    body: ['view-token-body', viewTokenBodySchema],
    isBodyOptional: true,
    answer: ['view-token', viewTokenSchema],
    problems: [413, 415],
  },
  'keys.logins': {
    tag: 'access',
    summary: 'The logins of the caller at MCP servers that are called with the logins of callers',
    answer: personalLoginListingSchema,
  },
  'keys.forgetLogin': {
    tag: 'access',
    summary: 'Remove the login of the caller at an MCP server',
    description:
      'Calls that need it ask for a new login. An administrator removes that of another caller, as of a person who was locked out at the issuer.',
    query: forgetLoginQuerySchema,
    answer: forgottenLoginSchema,
    problems: [404],
  },
  'keys.audit': {
    tag: 'access',
    summary:
      'Submissions, cancellations, decisions, redrives and changes of keys, with their callers, newest first',
    description: 'Only calls with keys are noted: the newest 10,000 changes and 20,000 submissions.',
    query: z.strictObject({
      log: z.enum(AUDIT_LOGS).optional().describe('Submissions, or all other changes. Default: changes.'),
      before: z
        .string()
        .regex(STREAM_ID, NO_NEXT)
        .refine(isStreamId, NO_NEXT)
        .optional()
        .describe('The `next` of the page before.'),
      limit: pageSize(1_000, 100),
    }),
    answer: auditPageSchema,
  },
  readSession: {
    tag: 'access',
    summary: 'The caller: rights of the session or key',
    answer: sessionViewSchema,
  },
  signIn: {
    tag: 'access',
    summary: 'Change an API key, or a token of the issuer, into a session of a browser',
    description:
      'The answer sets a cookie that scripts cannot read; it represents the key for 12 hours, or until the key is revoked; for a token not longer than until its `exp`. ' +
      'A call by cookie that changes something needs the token of `GET /v1/session` in the header `X-Adjutant-CSRF`.',
    body: signInBodySchema,
    others: { 204: 'The session is open.' },
    problems: [415],
  },
  signOut: {
    tag: 'access',
    summary: 'End the session of the browser',
    others: { 204: 'The session has ended, if there was one.' },
  },
  health: {
    tag: 'service',
    summary: 'The process is alive',
    query: anyQuery,
    answer: z.object({ status: z.literal('ok'), version: z.string().optional() }),
    isProbe: true,
  },
  readiness: {
    tag: 'service',
    summary: 'The service can do its work',
    query: anyQuery,
    answer: z.object({ ok: z.literal(true), checks: z.record(z.string(), z.unknown()) }),
  },
  metrics: {
    tag: 'service',
    summary: 'Metrics in the text format of Prometheus',
    query: anyQuery,
    others: { 200: { description: 'One line a series.', content: { 'text/plain': { schema: z.string() } } } },
    isProbe: true,
  },
  openapi: {
    tag: 'service',
    summary: 'This description',
    query: anyQuery,
    answer: z.record(z.string(), z.unknown()),
    isProbe: true,
  },
} as const satisfies Record<string, Operation>;
