/** Why a call is refused: the JSON-RPC error that the client gets.
 *  It must never carry a path of this machine, or the text of an exception. */

export interface RefusalData {
  readonly details?: string;
  /** The argument that is wrong. */
  readonly field?: string;
  readonly suggestion?: string;
  /** Paths under directive/. */
  readonly availableTemplates?: readonly string[];
}

export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly data?: RefusalData;
}

export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Refusal };

export const MISSING = 1001;
const UNKNOWN = -32_601;
const FAULT = -32_000;

/** Longer names and paths are echoed in part. */
const MAX_ECHO_CHARS = 4_096;

export function done<Value>(value: Value): Outcome<Value> {
  return { ok: true, value };
}

export function refused(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}

export function missing(message: string, data?: RefusalData): Refusal {
  return { code: MISSING, message, ...(data === undefined ? {} : { data }) };
}

export function unknownTool(name: string): Refusal {
  return { code: UNKNOWN, message: `Tool not found: ${echoed(name)}` };
}

/** `method` is whatever the client sent in its place. */
export function unknownMethod(method: unknown): Refusal {
  const named = typeof method === 'string' ? method : (JSON.stringify(method) ?? 'null');
  return { code: UNKNOWN, message: `Method not found: ${echoed(named)}` };
}

export function serverFault(details: string, field?: string): Refusal {
  return {
    code: FAULT,
    message: 'Server error',
    data: { details, ...(field === undefined ? {} : { field }) },
  };
}

export function echoed(text: string): string {
  return text.length <= MAX_ECHO_CHARS ? text : `${text.slice(0, MAX_ECHO_CHARS)}…`;
}
