// The refusal of what callers submit under ids of the service: those of firings, deliveries and inquiries can be known ahead of time, and
// must be free; requests of reads hold nothing else.
// Must never refuse the service its own.
import type { DirectiveClient, RunCalls } from '../contract/directive/directive-client.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import { INQUIRY_PATTERN } from '../contract/identifiers.ts';
import { FIRING_PREFIX } from '../contract/schedule/schedule.ts';
import { WEBHOOK_REQUEST_PREFIX } from '../contract/signal/webhook.ts';
import { ONCE_REQUEST_PREFIX } from './once-request.ts';
import type { Directive } from '../contract/directive/directive.ts';
import { type FieldError, type Problem, problem } from '../contract/problem.ts';
import { isPassing, serverReadOf } from '../contract/tool/server-read.ts';

type Senders = Pick<DirectiveClient, 'submit' | 'execute'> & { readonly runs: RunCalls };

const RESERVED: readonly (readonly [prefix: string, what: string])[] = [
  [FIRING_PREFIX, 'what schedules fire'],
  [WEBHOOK_REQUEST_PREFIX, 'deliveries of webhooks'],
  [ONCE_REQUEST_PREFIX, 'what is submitted under a key'],
];

export function withoutReservedIds<S extends Senders>(senders: S): S {
  const { submit, execute, runs } = senders;
  return {
    ...senders,
    submit: async (directives, options) => {
      refuseAll(directives);
      return submit(directives, options);
    },
    execute: async (directive, options) => {
      refuseReservedId(directive);
      return execute(directive, options);
    },
    runs: {
      ...runs,
      start: async (run, options) => {
        refuseReservedId(run);
        return runs.start(run, options);
      },
    },
  };
}

/** One, several, or the body of several. */
function refuseAll(submitted: unknown): void {
  const { directives = submitted } = Object(submitted) as { directives?: unknown };
  if (!Array.isArray(directives)) return refuseReservedId(directives);
  for (const [at, each] of (directives as unknown[]).entries()) refuseReservedId(each, `directives[${at}].`);
}

const INQUIRY_MESSAGE =
  'ids that end with ".reconcile-" and a number are only for inquiries about lost calls; use another id';

/** Ids that are no text are refused where they are read. */
export function refuseReservedId(submitted: unknown, where = ''): void {
  const { request_id: id, id: own } = Object(submitted) as { request_id?: unknown; id?: unknown };
  const isInquiry = typeof own === 'string' && INQUIRY_PATTERN.test(own);
  // @guard inquiry-id
  if (isInquiry) throw refusedAt('invalid_body', [{ path: `${where}id`, message: INQUIRY_MESSAGE }]);
  const taken = typeof id === 'string' ? RESERVED.find(([prefix]) => id.startsWith(prefix)) : undefined;
  if (taken === undefined) return;
  const message = `ids that begin with "${taken[0]}" are only for ${taken[1]}; use another id`;
  throw refusedAt('invalid_body', [{ path: `${where}request_id`, message }]);
}

const MESSAGE = 'ids that begin with "mcp.read." are only for reads of MCP servers; use another id';

/** null: the request may hold these. */
export function passingRefusal(requestId: string, directives: readonly Directive[]): Problem | null {
  if (!isPassing(requestId)) return null;
  const other = directives.findIndex((directive) => !isServerRead(directive));
  if (other === -1) return null;
  return refusal(directives.length === 1 ? 'request_id' : `directives[${other}].request_id`);
}

/** Runs are no reads. */
export function passingRunRefusal(requestId: string): Problem | null {
  return isPassing(requestId) ? refusal('request_id') : null;
}

function isServerRead(directive: Directive): boolean {
  return directive.type === 'tool_exec' && serverReadOf(directive.tool_name) !== null;
}

function refusal(path: string): Problem {
  const errors: FieldError[] = [{ path, message: MESSAGE }];
  return problem('invalid_body', { detail: `${path}: ${MESSAGE}`, errors });
}
