/** Requests of a modern server to models before it goes on with a call or a task, sent one after the other.
 *  It must never leave one out: a server that misses a response may ask again for ever. */
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { endedCall } from '../call-failure.ts';
import type { NamedSampling } from './questions.ts';
import { samplingResult } from './sampling.ts';
import type { Responses, ToolCallOutcome, ToolCallRequest } from '../tools/tool-call.ts';

interface Sampled {
  readonly request: ToolCallRequest;
  readonly deadline: CallDeadline;
}

export type SampledResponses =
  | { readonly ok: true; readonly given: Responses }
  /** The protocol has no response that says so: the call fails. */
  | { readonly ok: false; readonly failed: Extract<ToolCallOutcome, { kind: 'failed' }> };

export async function sampledResponses(
  { request, deadline }: Sampled,
  samplings: readonly NamedSampling[],
): Promise<SampledResponses> {
  const { onSampling, server } = request;
  if (samplings.length === 0) return { ok: true, given: {} };
  if (onSampling === undefined)
    return failed(errorEnvelope('executor', NOT_OFFERED, { server, wants: 'sampling' }));
  deadline.pause();
  try {
    const given: [string, unknown][] = [];
    for (const { key, sampling } of samplings) {
      const reply = await onSampling(sampling, deadline.signal);
      const ending = deadline.ending();
      if (ending !== null) return failed(endedCall(ending, request));
      if (!reply.ok)
        return failed(errorEnvelope('executor', `${WANTS_A_MODEL}: ${reply.reason}`, { server }));
      given.push([key, samplingResult(reply)]);
    }
    return { ok: true, given: Object.fromEntries(given) };
  } finally {
    deadline.resume();
  }
}

const NOT_OFFERED = 'The tool asks a model, which this client does not support';
const WANTS_A_MODEL = 'The tool asks a model, which has not answered';

function failed(error: ErrorEnvelope): SampledResponses {
  return { ok: false, failed: { kind: 'failed', error, sent: true } };
}
