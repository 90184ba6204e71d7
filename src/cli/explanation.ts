/** Explains an error at the terminal: what is wrong, how to fix it, and the exit code.
 *  It must never hide a bug of our own behind a friendly sentence: a bug keeps its stack. */
import { ADJUTANT } from './command-name.ts';
import { fieldLine } from '../contract/json/field-error.ts';
import { PayloadUnreadable } from '../contract/encrypted/encrypted.ts';
import { DirectiveRefused, type Problem, type ProblemCode, ServiceUnavailable } from '../contract/problem.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import type { Finding } from './doctor/finding.ts';
import { StartFault } from './start-fault.ts';
import { oneLine, type Terminal } from './terminal.ts';
import { ownMember } from '../contract/json/json-object.ts';

interface Explanation {
  readonly what: string;
  readonly how: string;
  readonly exitCode: ExitCode;
}

export const START_IT = `Start it with \`${ADJUTANT} up\`, or set its URL with --url or ADJUTANT_URL.`;

const CORRECT = 'Correct it, and try again.';

/** Advice where no key exists yet. */
const FIRST_KEY = `Make one that may make others: \`${ADJUTANT} keys create admin --scopes admin submit read cancel decide redrive\`, and set ADJUTANT_API_KEY to it.`;

/** Advice for a person whose key is refused. */
export const SET_KEY = `Set ADJUTANT_API_KEY to a key of this service; a holder of the scope admin makes one: \`${ADJUTANT} keys create\`. Without such a holder, start the API with ADJUTANT_ADMIN_KEY, which is a key.`;

/** Remedies by the code of a refusal, for the terminal and docs/errors.md. */
export const REMEDIES: Readonly<Record<ProblemCode, string>> = {
  invalid_body: CORRECT,
  invalid_json: CORRECT,
  invalid_query: CORRECT,
  invalid_header: CORRECT,
  bad_request: CORRECT,
  unauthorized: SET_KEY,
  forbidden: 'Use another key, with the scope and the tools, agents or models that `detail` names.',
  encryption_required: `Encrypt it: \`${ADJUTANT} call … --encrypt\` or \`${ADJUTANT} ask … --encrypt\`, or a client with a codec. Schedules cannot be encrypted: ask the operator.`,
  not_found: 'Check the id or name; requests are deleted some time after they are closed.',
  method_not_allowed: '`/docs/api` has the methods of each route.',
  not_acceptable: 'Change the header `accept`.',
  id_conflict: 'Choose another id or name, or submit the same content again.',
  idempotency_conflict: 'Use another idempotency key, or submit the same content again.',
  singleton_open:
    'Wait until it has ended, or join or replace it: --when-open join or replace (over HTTP `singleton.when_open`).',
  version_conflict: 'It changed meanwhile: read it, and repeat the change if it is still needed.',
  request_closed: 'It has ended; use another request id.',
  not_resumable: `\`${ADJUTANT} again REQUEST\` runs it again as a new request.`,
  outcome_unknown: `Decide about each call in \`calls\`: \`${ADJUTANT} resume REQUEST\` with --repeat, --skip or --done.`,
  not_waiting: `\`${ADJUTANT} get REQUEST DIRECTIVE\` shows its state.`,
  already_decided: `The first decision holds: \`${ADJUTANT} tail REQUEST\` shows it.`,
  last_admin_key: `Make another one first: \`${ADJUTANT} keys create NAME --scopes admin\`; or set ADJUTANT_ADMIN_KEY for the API. --force revokes it.`,
  search_off:
    'Set `search.enabled` to true in the configuration of every process and restart them; they build the list.',
  reindex_under_way: `Wait: it ends by itself. \`${ADJUTANT} doctor\` shows its progress.`,
  keys_full: 'Revoke unused keys (at most 1,000).',
  servers_full: 'Remove unused servers, or ask the operator for a higher runtime_servers.most.',
  outcome_known:
    'Only tool calls that ended as outcome_unknown are asked about; `get` shows how a directive ended.',
  agents_full: 'Remove unused agents, or ask the operator for a higher runtime_agents.most.',
  policies_full: 'Remove unused policies, or ask the operator for a higher runtime_policies.most.',
  schedules_full: 'Delete unused schedules (at most 1,000 for each tenant).',
  body_too_large: 'Submit less at once, or raise `limits.body_bytes`.',
  request_full: 'Use another request, or raise `limits.request_bytes`.',
  unsupported_media_type: 'Set the header `content-type` to `application/json`.',
  rate_limited: 'Wait until then, or use a key with a larger budget.',
  lane_full: 'Try again later, or start more workers.',
  tenant_full:
    'Try again when closed requests of the tenant have gone; or the operator raises its `stored_bytes` or shortens its `closed_ms`.',
  service_full: 'Try again later; give Redis more memory, or shorten retention.closed_ms.',
  too_many_open: 'Send the next ones when those before have ended.',
  input_queue_full: 'Wait until the run has read some of them (64 may wait).',
  internal_error: 'See the log of the service, and report it.',
  unavailable: 'It may have been accepted: repeat it with the same ids after `Retry-After`.',
};

/** `null` for a bug in our own code. */
export function explain(error: unknown): Explanation | null {
  if (error instanceof CliFailure) return { what: error.message, how: error.how, exitCode: error.exitCode };
  if (error instanceof ServiceUnavailable)
    return { what: error.message, how: remedyOf(error), exitCode: EXIT.unreachable };
  if (error instanceof DirectiveRefused) return explainRefusal(error.problem);
  if (error instanceof PayloadUnreadable)
    return { what: error.message, how: OTHER_KEY, exitCode: EXIT.failed };
  return null;
}

const OTHER_KEY =
  'Set ADJUTANT_ENCRYPTION_KEYS to the key that it was encrypted with. Without the variable everything is shown, and what is encrypted as such.';

/** Only an error without any answer means that no service listens there. */
function remedyOf(error: ServiceUnavailable): string {
  if (error.retryAfterMs === null) return START_IT;
  return error.message.includes(NOT_STORED)
    ? `Submit it again, with the same ids, when the store works: the log of the service and \`${ADJUTANT} doctor\` say what is wrong.`
    : `The service answers, but not all of it works: run \`${ADJUTANT} doctor\`. If something was being submitted, it may have been accepted: \`${ADJUTANT} requests list\` shows it, and with the same ids it is the same.`;
}

/** As `archive/payload-objects.ts` refuses a submission, before anything of it is accepted. */
const NOT_STORED = 'does not take large payloads at present';

/** Prints each explanation and returns the exit code. */
export function report(error: unknown, terminal: Terminal, json = false): ExitCode {
  const explanations = error instanceof StartFault ? error.findings.map(explainFinding) : [explain(error)];
  for (const [position, explanation] of explanations.entries()) {
    if (json) {
      terminal.out(JSON.stringify(errorJson(explanation, error)));
      continue;
    }
    if (explanation === null) {
      terminal.err(error instanceof Error ? (error.stack ?? error.message) : String(error));
      continue;
    }
    terminal.err(`${terminal.paintErr('red', 'error')} ${oneLine(explanation.what, 2_000)}`);
    // Of several faults with the same fix it stands below the last one.
    if (explanations[position + 1]?.how !== explanation.how)
      terminal.err(`${terminal.paintErr('cyan', '  fix')} ${explanation.how}`);
  }
  return explanations[0]?.exitCode ?? EXIT.failed;
}

/** In the form of a failed result, so that programs read one form only. */
function errorJson(explanation: Explanation | null, error: unknown): unknown {
  const message = explanation?.what ?? String(error);
  const fix = explanation === null ? {} : { fix: explanation.how };
  const refusal = error instanceof DirectiveRefused ? error.problem : null;
  const errors = refusal?.errors === undefined ? {} : { errors: refusal.errors };
  const unavailable = error instanceof ServiceUnavailable;
  const failure = error instanceof CliFailure ? error : null;
  const type = refusal?.code ?? failure?.type ?? (unavailable ? 'unavailable' : typeOf(explanation));
  const ids = failure?.ids ?? {};
  return {
    ok: false,
    error: { type, message, retryable: unavailable, details: { ...ids, ...errors, ...fix } },
  };
}

function typeOf(explanation: Explanation | null): string {
  if (explanation === null) return 'internal_error';
  if (explanation.exitCode === EXIT.usage) return 'usage';
  if (explanation.exitCode === EXIT.unread) return 'unread';
  return explanation.exitCode === EXIT.interrupted ? 'interrupted' : 'failed';
}

function explainFinding({ subject, says, fix }: Finding): Explanation {
  return { what: `${subject}: ${says}`, how: fix ?? `Run \`${ADJUTANT} doctor\`.`, exitCode: EXIT.failed };
}

function explainRefusal(problem: Problem): Explanation {
  const summary = problem.detail ?? problem.title;
  const places = (problem.errors ?? []).filter(({ message }) => !summary.includes(message)).map(fieldLine);
  const what = [...new Set([summary, ...places])].join('; ');
  const how = remedyFor(problem);
  return {
    what: `${problem.code}: ${what}`,
    how,
    exitCode: problem.status === 400 ? EXIT.usage : EXIT.failed,
  };
}

/** Remedies by the message of `http/routes/archive.ts`. */
const ARCHIVE_REMEDIES: readonly (readonly [says: string, how: string])[] = [
  ['is still open: it is archived', `\`${ADJUTANT} get REQUEST\` shows it as it is now.`],
  [
    'is not stored in the archive yet',
    `If it closed while \`archive\` was configured, try again in a moment, and \`${ADJUTANT} doctor\` says whether the archive can be reached. Earlier requests are not stored.`,
  ],
  ['The archive holds no request', 'Check the id, and the tenant of the key.'],
  ['`archive` is not configured', 'Configure `archive`, as docs/archive.md says.'],
];

/** Remedies by the message of `features/schedules/schedule-service.ts`. */
const SCHEDULE_REMEDIES: readonly (readonly [says: string, how: string])[] = [
  ['There is no schedule', `\`${ADJUTANT} schedule list\` lists the schedules.`],
  [
    'There is another schedule',
    `\`${ADJUTANT} schedule show ID\` shows it, \`${ADJUTANT} schedule update ID\` changes it.`,
  ],
];

/** As `full` in `queue/capacity.ts` says it. */
const TENANT_LIMIT = /^the tenant "([^"]{1,64})" holds its limit/;

/** A named place explains more than the code alone. */
function remedyFor({ code, detail = '', errors = [] }: Problem): string {
  if (code === 'forbidden' && detail.includes('ADJUTANT_ALLOWED_HOSTS'))
    return 'Add the name to ADJUTANT_ALLOWED_HOSTS of the service, or use another URL.';
  if (code === 'not_found' && errors.some(({ path }) => path === 'agent'))
    return `\`${ADJUTANT} agents\` lists the agents.`;
  const schedule = SCHEDULE_REMEDIES.find(([says]) => detail.startsWith(says));
  if (schedule !== undefined) return schedule[1];
  const stored = code === 'not_found' ? ARCHIVE_REMEDIES.find(([says]) => detail.includes(says)) : undefined;
  if (stored !== undefined) return stored[1];
  if (errors.some(({ message }) => message.includes('for the first key'))) return FIRST_KEY;
  const [, tenant] = code === 'lane_full' ? (TENANT_LIMIT.exec(detail) ?? []) : [];
  if (tenant !== undefined)
    return `Wait until one of its directives ends; or the operator raises tenants.${tenant}.max_open.`;
  if (code === 'lane_full' && detail.startsWith('the service holds'))
    return 'Wait until directives end; or the operator raises limits.max_open.';
  return ownMember(REMEDIES, code) ?? CORRECT;
}
