/** A handle of a call that outlives the patience of its host: the model gets it as a result, and waits again with it.
 *  The handle is sealed for its caller, and its call is in the journal: no process keeps either. */
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';
import { errorEnvelope } from '../../../contract/error-envelope.ts';
import type { OfferedTools } from '../offered-tools.ts';
import { type CallParams, heldSubject, type Subject } from './call-subject.ts';
import type { HeldCall } from './held-call.ts';
import { callView, type TaskParts } from './tasks.ts';
import { failure, idsOf } from './tool-answer.ts';

/** How long calls are held before their host gets a handle. */
export interface Patience {
  /** Milliseconds; null: until the end. `server` null: an agent. */
  of(server: string | null): number | null;
}

const AWAIT = 'await_call';
const MOST_HANDLE_CHARACTERS = 4_096;
const RUNNING_META = 'adjutant/running';
/** A person takes longer to answer than a tool. */
const ASK_AGAIN_OF_PERSON_S = 60;

/** A server may have a tool of this name, which keeps it. */
function nameOf({ offers }: Pick<OfferedTools, 'offers'>): string {
  return offers.has(AWAIT) ? `adjutant_${AWAIT}` : AWAIT;
}

export function awaitDescriptor(offered: Pick<OfferedTools, 'offers'>): Tool {
  return {
    name: nameOf(offered),
    description:
      'Waits for a call that is still running, and returns its result. A call that takes long answers with a handle; ' +
      'it goes on meanwhile. Repeat this until there is a result; do not make the call again.',
    inputSchema: {
      type: 'object',
      properties: { handle: { type: 'string', description: 'The handle, exactly as the call returned it.' } },
      required: ['handle'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}

/** The call that `await_call` is about, or its refusal; null: another tool is called. */
export async function awaitedCall(
  parts: TaskParts,
  { name, arguments: args = {} }: CallParams,
  context: ServerContext,
): Promise<Subject | CallToolResult | null> {
  if (!name.endsWith(AWAIT) || name !== nameOf(await parts.tools.current().catch(() => NOTHING))) return null;
  const { handle } = args;
  // A stateless client that was asked something brings its answers with a newer seal of the same call.
  const sealed = context.mcpReq.requestState<string>() ?? handle;
  const isText = typeof sealed === 'string' && sealed.length <= MOST_HANDLE_CHARACTERS;
  const call = isText ? await parts.seals.open(sealed.trim(), context) : null;
  if (call === null || (await callView(parts, call)) === null) return refusal();
  const subject = await heldSubject(parts.tools, { name: call.name }, call);
  return { ...subject, isAwaited: true };
}

const NOTHING = { offers: new Map() };

/** Forged, expired and forgotten handles, and those of another caller, have one answer. */
function refusal(): CallToolResult {
  const message =
    'Unknown or expired handle. Pass the handle exactly as the call returned it; it is valid for its caller, while the call is kept.';
  return failure(errorEnvelope('validation_error', message));
}

/** Whether the result is the handle of a call that goes on. */
export function isRunning({ _meta }: CallToolResult): boolean {
  return _meta?.[RUNNING_META] !== undefined;
}

/** In place of the result of a call that goes on. */
export async function runningResult(
  parts: TaskParts,
  call: HeldCall,
  patienceMs: number,
): Promise<CallToolResult> {
  const { asked: _, ...open } = call;
  const handle = await parts.seals.seal(open);
  // The call goes on, whatever cannot be read of it at this moment.
  const view = await callView(parts, call).catch(() => null);
  const waits = view?.statusMessage === undefined ? '' : ` It ${view.statusMessage}.`;
  const when = view?.asks === true ? `in ${ASK_AGAIN_OF_PERSON_S} s` : 'now';
  const name = nameOf(await parts.tools.current().catch(() => NOTHING));
  const text =
    `The call of ${call.tool} is still running, and goes on.${waits} ` +
    `Call ${name} ${when} with ${JSON.stringify({ handle })} for its result: ` +
    `that waits up to ${Math.ceil(patienceMs / 1_000)} s. Do not make the call again.`;
  return {
    content: [{ type: 'text', text }],
    _meta: { 'adjutant/directive': idsOf(call), [RUNNING_META]: { handle } },
  };
}
