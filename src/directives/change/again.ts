// Runs a request again: its run where it has one, else one of its directives, in a new request that names its origin.
// Must never let the original name a request that is not durable.
import { requestLinks } from '../../contract/api-path.ts';
import { ownId, scopedId } from '../../contract/access/tenant.ts';
import type { DirectiveClient, StartOptions } from '../../contract/directive/directive-client.ts';
import type { Directive, SubmittedDirective } from '../../contract/directive/directive.ts';
import { encryptedFields } from '../../contract/encrypted/encrypted.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { REDACTED } from '../../contract/json/redaction.ts';
import { readBody } from '../../contract/json/read-input.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { RequestView } from '../../contract/request/request-view.ts';
import {
  type AgainBody,
  againBodySchema,
  forkBodySchema,
  MOST_DESCENDANTS,
  type RepeatedRequest,
} from '../../contract/run/again.ts';
import type { Journal } from '../../store/request/journal.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { ClientRuns } from '../queue-client.ts';
import { unknownDirective, unknownRequest } from '../read/not-found.ts';
import type { MustEncrypt } from '../required-encryption.ts';
import { refuseReservedId } from '../reserved-ids.ts';
import { atOnce } from './redrive.ts';

export interface RepeatParts {
  readonly tenant: string;
  readonly journal: Pick<Journal, 'noteDescendant'>;
  readonly runs: Pick<ClientRuns, 'again' | 'fork'>;
  readonly submit: DirectiveClient['submit'];
  /** Reads the requests of the tenant, by their own ids. */
  readonly reads: Pick<DirectiveClient, 'request' | 'directive'>;
  /** Default: nothing has to be encrypted. */
  readonly mustEncrypt?: MustEncrypt | undefined;
}

const REDRIVEN = /\.redrive-\d{1,9}$/;
const NAMED_DIRECTIVES = 20;

export function createRepeats(parts: RepeatParts): Pick<DirectiveClient, 'again' | 'fork'> {
  const { tenant, journal, runs, reads, mustEncrypt } = parts;

  async function found(requestId: string, body: Pick<AgainBody, 'request_id'>): Promise<RequestView> {
    refuseReservedId(body);
    if (mustEncrypt?.(tenant) === true) throw encrypted(requestId);
    const view = await reads.request(requestId);
    if (view === null) throw unknownRequest(requestId);
    return view;
  }

  /** Follows the start: where a process dies between the two, the link is missing until the same call is made again. */
  async function linked(requestId: string, repeated: RepeatedRequest): Promise<RepeatedRequest> {
    const original = scopedId(tenant, requestId);
    await whileAvailable(() => journal.noteDescendant(original, repeated.request_id, MOST_DESCENDANTS));
    return repeated;
  }

  return {
    again: async (requestId, changes = {}, options = {}) => {
      const body = readBody(againBodySchema, changes);
      const view = await found(requestId, body);
      if (view.run === undefined || body.directive !== undefined)
        return linked(requestId, await submitAgain(parts, view, body, options));
      if (body.arguments !== undefined) throw onlyOf('arguments', 'a tool call');
      const started = await runs.again(scopedId(tenant, requestId), body, options);
      return linked(requestId, started);
    },
    fork: async (requestId, fork, options = {}) => {
      const body = readBody(forkBodySchema, fork);
      const view = await found(requestId, body);
      if (view.run === undefined) throw noRun(requestId);
      const started = await runs.fork(scopedId(tenant, requestId), body, { ...options, reads, view });
      return linked(requestId, started);
    },
  };
}

async function submitAgain(
  { reads, submit }: RepeatParts,
  view: RequestView,
  body: AgainBody,
  options: StartOptions,
): Promise<RepeatedRequest> {
  const { request_id: from } = view;
  const id = body.directive ?? onlyDirective(view);
  const seen = await reads.directive(from, id);
  if (seen === null) throw unknownDirective(from, id);
  if (encryptedFields(seen.directive).length > 0) throw encrypted(from);
  const directive = changed(atOnce(seen.directive), body);
  if (view.archived === true) requireUnredacted(from, directive);
  const metadata = { ...directive.metadata, again_of: { request_id: from, id } };
  const { request_id: _old, ...again } = { ...directive, id, metadata };
  const named = body.request_id === undefined ? again : { ...again, request_id: body.request_id };
  const submission = await submit(named as SubmittedDirective, options);
  const { request_id } = submission;
  return {
    request_id,
    id,
    type: seen.type,
    origin: { request_id: from, kind: 'again' },
    links: requestLinks(request_id),
  };
}

/** Without those that a redrive has made of others. */
function onlyDirective({ directives }: RequestView): string {
  const ids = directives.map(({ id }) => id).filter((id) => !REDRIVEN.test(id));
  const [only, ...others] = ids;
  if (only !== undefined && others.length === 0) return only;
  const shown = ids.slice(0, NAMED_DIRECTIVES).join(', ');
  const message = `is required: the request has ${ids.length} directives (${shown}${ids.length > NAMED_DIRECTIVES ? ', …' : ''})`;
  throw refusedAt('invalid_body', [{ path: 'directive', message }]);
}

function changed(directive: Directive, body: AgainBody): Directive {
  const { query, agent, overrides, model, arguments: given } = body;
  const ofRuns = Object.entries({ query, agent, overrides }).find(([, value]) => value !== undefined);
  if (ofRuns !== undefined) throw onlyOf(ofRuns[0], 'a run');
  if (given !== undefined && directive.type !== 'tool_exec') throw onlyOf('arguments', 'a tool call');
  if (model !== undefined && !directive.type.startsWith('llm_'))
    throw onlyOf('model', 'a run or a model call');
  return {
    ...directive,
    ...(given === undefined ? {} : { arguments: given }),
    ...(model === undefined ? {} : { model }),
  } as Directive;
}

function onlyOf(path: string, what: string): DirectiveRefused {
  return refusedAt('invalid_body', [{ path, message: `is only for ${what}` }]);
}

/** Throws the refusal to repeat a part of an archived request in which a secret is hidden by its name. */
export function requireUnredacted(requestId: string, content: unknown): void {
  if (!JSON.stringify(content).includes(JSON.stringify(REDACTED))) return;
  const message = `cannot be repeated: the archive of request "${ownId(requestId)}" hides secrets by their names; submit it anew with them`;
  throw refusedAt('invalid_body', [{ path: '', message }]);
}

export function encrypted(requestId: string): DirectiveRefused {
  const detail = `request "${ownId(requestId)}" is encrypted, or its tenant has to encrypt: the service cannot read what to repeat. Submit it again with the client that has the key`;
  return new DirectiveRefused(problem('encryption_required', { detail }));
}

function noRun(requestId: string): DirectiveRefused {
  return new DirectiveRefused(
    problem('not_found', {
      detail: `there is no run in a request "${ownId(requestId)}"; only runs of this service's agents can be forked`,
    }),
  );
}
