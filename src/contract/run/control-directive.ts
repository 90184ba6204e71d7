// Control directives: what a tool's result may ask of the agent that called the tool, and how they are read from it.
// Must never apply one, nor drop one without reporting it.
import type * as z from 'zod';
import { CONTROL_PARAMS, type ControlDirectiveType } from './control-params.ts';
import { fieldErrors, fieldSentence } from '../json/field-error.ts';
import { findJsonHazard } from '../json/json-guard.ts';
import { isObject, ownMember } from '../json/json-object.ts';
import { boundedText } from '../json/json-safe.ts';
import { readReply } from '../tool/tool-reply.ts';

/** Control directive with every default filled in. */
export type ControlDirective = {
  [T in ControlDirectiveType]: { type: T; params: z.output<(typeof CONTROL_PARAMS)[T]> };
}[ControlDirectiveType];

/** As code writes one: members with a default may be left out, and `params` where all have one. */
export type ControlDirectiveInput = {
  [T in ControlDirectiveType]: undefined extends z.input<(typeof CONTROL_PARAMS)[T]>
    ? { type: T; params?: z.input<(typeof CONTROL_PARAMS)[T]> }
    : { type: T; params: z.input<(typeof CONTROL_PARAMS)[T]> };
}[ControlDirectiveType];

/** Types of control directives. */
export const CONTROL_DIRECTIVE_TYPES: readonly string[] = Object.keys(CONTROL_PARAMS);

/** Kind of fault of a value that is not a control directive. */
export type ControlDirectiveFault = 'unknown_type' | 'invalid_params';

/** The value is not a control directive. */
export class ControlDirectiveError extends Error {
  override readonly name = 'ControlDirectiveError';
  readonly reason: ControlDirectiveFault;

  constructor(reason: ControlDirectiveFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Reads `{type, params}`; other keys beside them are ignored. Throws `ControlDirectiveError` on anything else. */
export function deserializeDirective(raw: unknown): ControlDirective {
  const type = memberOf(raw, 'type');
  if (!isControlType(type)) throw new ControlDirectiveError('unknown_type', unknownTypeMessage(raw, type));
  const params = memberOf(raw, 'params');
  const hazard = findJsonHazard({ params });
  if (hazard) throw new ControlDirectiveError('invalid_params', `${type}: ${fieldSentence(hazard)}`);
  const parsed = CONTROL_PARAMS[type].safeParse(params === undefined ? {} : params);
  if (parsed.success) return { type, params: parsed.data } as ControlDirective;
  throw new ControlDirectiveError('invalid_params', `${type}: ${faultsOf(parsed.error)}`);
}

function faultsOf(error: z.ZodError): string {
  const faults = fieldErrors(error, 'params').map((fault) => fieldSentence(fault));
  return faults.slice(0, 3).join(', ');
}

/** Which control directives a server may send. */
export type DirectiveTrust = 'all' | 'none' | readonly string[];

/** Reason of the rejection of a control directive. */
export type RejectionReason =
  | ControlDirectiveFault
  | 'untrusted'
  | 'error_result'
  | 'too_many'
  | 'too_large'
  | 'not_a_list';

/** Control directive that was not accepted; `count` > 1 where one entry represents all that follow. */
export interface RejectedDirective {
  index: number;
  /** The type it gave; null when that was not a string. */
  type: string | null;
  reason: RejectionReason;
  message: string;
  count: number;
}

/** Options of `extractDirectives`. */
export interface ExtractOptions {
  /** Default `none`. */
  trust?: DirectiveTrust;
  /** Whether a result that is an error may carry directives. Default false. */
  fromErrors?: boolean;
}

/** Result of a tool without its control directives, and those directives. */
export interface Extraction {
  /** The raw result without its directives, safe to show and format. */
  result: unknown;
  directives: ControlDirective[];
  rejected: RejectedDirective[];
}

/** A message may quote member names of any length. */
const MESSAGE_CHARACTERS = 500;

/** No tool needs more; the rest is rejected as one entry. */
const MAX_ENTRIES = 100;

/** Takes the control directives out of a raw tool result (an MCP result or its text). Never throws. */
export function extractDirectives(rawResult: unknown, options: ExtractOptions = {}): Extraction {
  const reply = readReply(rawResult);
  const { directives, rejected } = readDirectives(reply.entries, { ...options, isError: reply.isError });
  if (reply.unlisted > 0)
    rejected.unshift({
      ...rejection(0, undefined, 'not_a_list', '_directives is not a list'),
      count: reply.unlisted,
    });
  if (reply.tooLarge)
    rejected.unshift(rejection(0, undefined, 'too_large', 'the result is too large to read'));
  return { result: reply.result, directives, rejected };
}

/** Reads the control directives that a tool of a module returned. Never throws. */
export function readDirectives(
  entries: readonly unknown[],
  options: ExtractOptions & { readonly isError: boolean },
): Omit<Extraction, 'result'> {
  const directives: ControlDirective[] = [];
  const rejected: RejectedDirective[] = [];
  for (const [index, entry] of entries.slice(0, MAX_ENTRIES).entries()) {
    const read = readEntry(entry, index, options);
    if ('reason' in read) rejected.push(read);
    else directives.push(read);
  }
  const left = entries.length - MAX_ENTRIES;
  if (left > 0) rejected.push(surplus(left));
  return { directives, rejected };
}

function readEntry(
  entry: unknown,
  index: number,
  options: ExtractOptions & { readonly isError: boolean },
): ControlDirective | RejectedDirective {
  const trust = options.trust ?? 'none';
  if (options.isError && options.fromErrors !== true) {
    return rejection(index, entry, 'error_result', 'the result is an error');
  }
  if (trust === 'none') return rejection(index, entry, 'untrusted', 'the server may not send directives');
  try {
    const directive = deserializeDirective(entry);
    return trust === 'all' || trust.includes(directive.type)
      ? directive
      : rejection(index, entry, 'untrusted', 'the server may not send this type');
  } catch (error) {
    if (error instanceof ControlDirectiveError) return rejection(index, entry, error.reason, error.message);
    return rejection(index, entry, 'invalid_params', 'cannot be read');
  }
}

function rejection(
  index: number,
  entry: unknown,
  reason: RejectionReason,
  message: string,
): RejectedDirective {
  const bounded = boundedText(message, MESSAGE_CHARACTERS);
  return { index, type: typeNameOf(entry), reason, message: bounded, count: 1 };
}

function surplus(count: number): RejectedDirective {
  const message = `more than ${MAX_ENTRIES} directives in one result`;
  return { index: MAX_ENTRIES, type: null, reason: 'too_many', message, count };
}

function typeNameOf(entry: unknown): string | null {
  try {
    const type = memberOf(entry, 'type');
    return typeof type === 'string' ? type.slice(0, 128) : null;
  } catch {
    return null;
  }
}

/** The two directives that replace `todo_state_changed`: the anchor that the model reads and the notice to the presenter. */
export function translateTodoStateChanged(
  directive: Extract<ControlDirective, { type: 'todo_state_changed' }>,
): Extract<ControlDirective, { type: 'context_anchor' | 'notify_presenter' }>[] {
  const { state, count, items } = directive.params;
  return [
    { type: 'context_anchor', params: { key: 'todo_state', content: state } },
    { type: 'notify_presenter', params: { key: 'todo_update', data: { items, count } } },
  ];
}

function isControlType(type: unknown): type is ControlDirectiveType {
  return typeof type === 'string' && Object.hasOwn(CONTROL_PARAMS, type);
}

function unknownTypeMessage(raw: unknown, type: unknown): string {
  if (!isObject(raw)) return 'A control directive is an object with a type';
  const shown = typeof type === 'string' ? `'${type.slice(0, 128)}'` : typeof type;
  return `Unknown directive type: ${type === undefined ? "''" : shown}`;
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) ? ownMember(value, key) : undefined;
}
