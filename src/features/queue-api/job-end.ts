// The end of a directive or a run as a BullMQ job has it: a return value, or an error envelope as the reason of the failure.
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { Problem } from '../../contract/problem.ts';
import type { RunView } from '../../contract/run/run.ts';
import type { TerminalSignal } from '../../contract/signal/signal.ts';

/** The ids under which the work of a job is found over HTTP and by its signals. */
export interface WorkIds {
  readonly request_id: string;
  /** Id of the directive. Absent: the job has started a run. */
  readonly id?: string;
}

export type JobEnd =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly error: ErrorEnvelope & Partial<WorkIds> };

/** BullMQ copies a return value into its event stream, which holds 10 000 events: a larger payload is left out, and named. */
const MOST_RETURNED_BYTES = 65_536;

/** The `result` of the terminal signal, beside the ids. */
export function directiveEnd(ids: WorkIds, { data }: TerminalSignal): JobEnd {
  // The answer to `emit_request_error`, which reports an error of its caller.
  if (!('result' in data))
    return { ok: false, error: { ...errorEnvelope(data.reason, data.message), ...ids } };
  const { result } = data;
  if (!result.ok) return { ok: false, error: { ...result.error, ...ids } };
  return { ok: true, value: { ...ids, ok: true, ...bounded(result.payload), effects: result.effects } };
}

/** `run`: one that has ended. */
export function runEnd(ids: WorkIds, run: RunView): JobEnd {
  const { status, result, error, termination_reason: reason, usage, run_id } = run;
  if (status === 'completed')
    return {
      ok: true,
      value: { ...ids, run_id, ok: true, ...bounded(result), termination_reason: reason, usage },
    };
  const { type, message, details } = Object(error) as Partial<ErrorEnvelope>;
  const envelope = errorEnvelope(
    typeof type === 'string' ? type : (reason ?? status),
    typeof message === 'string' ? message : `The run ended as ${status}.`,
    details ?? {},
  );
  return { ok: false, error: { ...envelope, ...ids } };
}

function bounded(payload: unknown): object {
  const bytes = Buffer.byteLength(JSON.stringify(payload) ?? 'null');
  return bytes <= MOST_RETURNED_BYTES ? { payload } : { payload: null, payload_bytes: bytes };
}

/** A refusal as the envelope of a failure: its code is the type, its faulty fields are in the details. */
export function refusedEnd({ code, detail, title, status, errors, ...problem }: Problem): JobEnd {
  const { type: _type, instance: _instance, ...members } = problem;
  const details = { status, ...members, ...(errors === undefined ? {} : { errors }) };
  return { ok: false, error: { type: code, message: detail ?? title, details, retryable: false } };
}
