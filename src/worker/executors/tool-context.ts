// Which part of a call's context its MCP server gets, within the size limit.
// Must never enter the arguments, a log or a trace: it may hold data for the tool only.
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';

/** `caller`: what the caller or the agent's `tool_context` gave; `all`: also the runtime's snapshot `state`. */
export type ContextSharing = 'none' | 'caller' | 'all';

/** The largest context that is sent to an MCP server, bytes of JSON. */
const MAX_CONTEXT_BYTES = 65_536;

/** The runtime's snapshot. */
const STATE = 'state';

type Members = Readonly<Record<string, unknown>>;

/** null: nothing is sent. */
export type SharedContext = { ok: true; context: Members | null } | { ok: false; error: ErrorEnvelope };

/** A context that is too large fails the call: a tool that needs it must not run without it. */
export function sharedContext(context: Members, sharing: ContextSharing): SharedContext {
  const shared = contextFor(context, sharing);
  if (Object.keys(shared).length === 0) return { ok: true, context: null };
  const bytes = Buffer.byteLength(JSON.stringify(shared));
  return bytes <= MAX_CONTEXT_BYTES ? { ok: true, context: shared } : { ok: false, error: tooLarge(bytes) };
}

/** The part that is shared; {} = nothing. */
export function contextFor(context: Members, sharing: ContextSharing): Record<string, unknown> {
  if (sharing === 'none') return {};
  return sharing === 'all' ? { ...context } : withoutState(context);
}

function withoutState(context: Members): Record<string, unknown> {
  const { [STATE]: _state, ...given } = context;
  return given;
}

function tooLarge(bytes: number): ErrorEnvelope {
  const message =
    `context: has ${bytes} bytes as JSON, at most ${MAX_CONTEXT_BYTES} are sent to an MCP server; ` +
    'make it smaller, or share less of it with this server ("context": "caller" or "none")';
  return errorEnvelope('validation_error', message, { field: 'context', bytes, limit: MAX_CONTEXT_BYTES });
}
