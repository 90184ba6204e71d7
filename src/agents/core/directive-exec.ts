// Custom directive types: what a module in the configuration declares, and the protocol of its functions.
// Must never execute one: the core does in a turn (`exec`), a worker does for a queued type (`execute`).
import type * as z from 'zod';
import { CONTROL_DIRECTIVE_TYPES } from '../../contract/run/control-directive.ts';
import { AGENT_DIRECTIVE_TYPES } from '../../contract/run/agent-directive.ts';
import { CUSTOM_TYPE_PATTERN } from '../../contract/directive/custom-directive.ts';
import type { CustomTypes } from '../../contract/directive/custom-directive.ts';
import { DIRECTIVE_TYPES } from '../../contract/directive/directive.ts';
import { WEBHOOK_TYPE } from '../../contract/signal/webhook.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { Execution, ExecutionContext } from '../../worker/executors/definition.ts';
import type { StrategySignal } from '../strategies/strategy.ts';
import type { JsonObject } from '../turn/transition.ts';

/**
 * Outcome of an `exec`, with the agent's new state.
 * `ok`: done. `async`: work continues elsewhere; the agent does not wait for it, whatever `ref` names.
 * `stop`: the agent ends at once and abnormally: the directives after this one are dropped, work in flight is orphaned
 * (its signals are journalled but change nothing), and no hook runs. A normal end is an outcome of the strategy.
 */
export type Executed<S> =
  | { ok: true; state: S }
  | { async: true; ref: string | null; state: S }
  | ({ stop: true; state: S } & StopCause);

/** Why an agent is stopped, as its run's error reports it. */
export interface StopCause {
  reason: string;
  /** Added to the error's details; JSON. */
  details?: JsonObject;
}

/** Reasons of `stop` that resemble a normal end. They cause a warning: a normal end is a strategy's outcome. */
export const NORMAL_LOOKING_REASONS: ReadonlySet<string> = new Set([
  'normal',
  'completed',
  'ok',
  'done',
  'success',
]);

/** A custom directive: its own fields and its identity. */
export type CustomDirective<P = JsonObject> = P & {
  type: string;
  id: string;
  request_id: string;
  metadata: JsonObject;
};

/** The input of `execute` beside the directive. */
export interface CustomDirectiveContext extends ExecutionContext {
  /** In a run: the agent's `tool_context`, and the runtime's snapshot as `state`; else {}. */
  toolContext: JsonObject;
}

/** Pure, as a strategy is: it may be called twice for one turn, and gets the signal that the turn reads. */
export type Exec<P> = (
  directive: CustomDirective<P>,
  signal: StrategySignal | null,
  state: JsonObject,
) => Executed<JsonObject>;

/** A type that is executed within the turn: it changes the agent's state, or stops the agent. */
export interface ImmediateDirectiveType<P = JsonObject> {
  mode: 'immediate';
  type: string;
  /** Schema of the directive's own fields. */
  schema: z.ZodType<P>;
  exec: Exec<P>;
}

/** A type that a worker executes, on the lane `custom.<type>`; its answer is the signal `directive.result`. */
export interface QueuedDirectiveType<P = JsonObject> {
  mode: 'queued';
  type: string;
  schema: z.ZodType<P>;
  /** Runs in the turn that accepts the directive; only `stop` keeps it from the queue. Default: `async`, state unchanged. */
  exec?: Exec<P>;
  execute(directive: CustomDirective<P>, context: CustomDirectiveContext): Promise<Execution>;
  /** Whether a repeat is safe after a worker has died in the middle. Default `once`. */
  effect?: RepeatPolicy;
}

/** A queued type of the configuration, whose work programs outside the service take over HTTP. */
export interface RemoteDirectiveType extends Omit<QueuedDirectiveType, 'execute'> {
  effect: RepeatPolicy;
  /** Time after which a program that has not renewed its work counts as dead, milliseconds. */
  leaseMs: number;
}

/** A type as registries hold it. */
export type CustomDirectiveType = ImmediateDirectiveType | QueuedDirectiveType | RemoteDirectiveType;

const TAKEN: ReadonlySet<string> = new Set([
  ...DIRECTIVE_TYPES,
  ...AGENT_DIRECTIVE_TYPES,
  ...CONTROL_DIRECTIVE_TYPES,
  WEBHOOK_TYPE,
]);

/** The types whose work other programs take. */
export function remoteTypes(customTypes: readonly CustomDirectiveType[]): RemoteDirectiveType[] {
  return customTypes.filter((customType) => 'leaseMs' in customType);
}

/** The fault in the name of a type; null: none. */
export function typeNameFault(type: string): string | null {
  if (!CUSTOM_TYPE_PATTERN.test(type))
    return `directive type "${type}": a letter, then up to 63 of A-Z a-z 0-9 _ . -`;
  return TAKEN.has(type) ? `directive type "${type}" is one of the service's own` : null;
}

/**
 * Declares a custom type of directives.
 * @param customType Type, schema of its fields, and `exec` (within a turn) or `execute` (on a worker).
 * @returns The type for the exports of a module.
 * @throws `TypeError` where the name is malformed or belongs to the service.
 * @example
 * ```ts
 * import { defineDirective, okResult } from 'adjutant/engine';
 * import * as z from 'zod';
 * export const greet = defineDirective({
 *   mode: 'queued',
 *   type: 'greet',
 *   schema: z.object({ name: z.string() }),
 *   execute: async ({ name }) => ({ result: okResult(`Hello ${name}`) }),
 * });
 * ```
 */
export function defineDirective<P extends JsonObject>(
  customType: ImmediateDirectiveType<P> | QueuedDirectiveType<P>,
): CustomDirectiveType {
  const wrong = typeNameFault(customType.type);
  if (wrong !== null) throw new TypeError(wrong);
  return customType as unknown as CustomDirectiveType;
}

/** The types that may be submitted: one that is executed within a turn has no meaning outside a run. */
export function submittableTypes(customTypes: readonly CustomDirectiveType[]): CustomTypes {
  return new Map(queuedTypes(customTypes).map(({ type, schema }) => [type, schema]));
}

/** The types that are executed through the queue. */
export function queuedTypes(
  customTypes: readonly CustomDirectiveType[],
): (QueuedDirectiveType | RemoteDirectiveType)[] {
  return customTypes.filter((customType) => customType.mode === 'queued');
}
