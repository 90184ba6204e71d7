// Directive kinds of users: what a module in the configuration declares, and the protocol its functions keep.
// Must never run one: the core does in a turn (`exec`), a worker does for a queued kind (`execute`).
import type * as z from 'zod';
import { CONTROL_DIRECTIVE_TYPES } from '../../contract/control-directive.ts';
import { AGENT_DIRECTIVE_TYPES } from '../../contract/agent-directive.ts';
import { CUSTOM_TYPE_PATTERN } from '../../contract/custom-directive.ts';
import type { CustomTypes } from '../../contract/custom-directive.ts';
import { DIRECTIVE_TYPES } from '../../contract/directive.ts';
import type { RepeatPolicy } from '../../contract/work-directive.ts';
import type { Execution, ExecutionContext } from '../../executors/definition.ts';
import type { StrategySignal } from '../strategies/strategy.ts';
import type { JsonObject } from '../transition.ts';

/**
 * What an `exec` answers, with the agent's state as it is from now on.
 * `ok`: done. `async`: work goes on elsewhere; the agent does not wait for it, whatever `ref` names.
 * `stop`: the agent ends at once and abnormally: the directives after this one are dropped, work in flight is orphaned (its
 * signals are journalled but change nothing), no hook runs. Never for normal completion, which is an outcome of the strategy.
 */
export type Executed<S> =
  | { ok: true; state: S }
  | { async: true; ref: string | null; state: S }
  | ({ stop: true; state: S } & StopCause);

/** Why an agent is stopped, as its run's error says it. */
export interface StopCause {
  reason: string;
  /** Beside the reason in the error's details; JSON. */
  details?: JsonObject;
}

/** Reasons of `stop` that look like a normal end, which is a strategy's outcome instead: they are warned about. */
export const NORMAL_LOOKING_REASONS: ReadonlySet<string> = new Set([
  'normal',
  'completed',
  'ok',
  'done',
  'success',
]);

/** A directive of a custom kind: its own fields beside its identity. */
export type CustomDirective<P = JsonObject> = P & {
  type: string;
  id: string;
  request_id: string;
  metadata: JsonObject;
};

/** What `execute` is given beside the directive. */
export interface CustomDirectiveContext extends ExecutionContext {
  /** In a run: the agent's `tool_context`, and the runtime's snapshot as `state`; else {}. */
  toolContext: JsonObject;
}

/** Pure, as a strategy is: it may be called twice for the same turn, and sees the signal that the turn reads. */
export type Exec<P> = (
  directive: CustomDirective<P>,
  signal: StrategySignal | null,
  state: JsonObject,
) => Executed<JsonObject>;

/** A kind that is done within the turn: it changes the agent's state, or stops the agent. */
export interface ImmediateDirectiveType<P = JsonObject> {
  mode: 'immediate';
  type: string;
  /** Of the directive's own fields. */
  schema: z.ZodType<P>;
  exec: Exec<P>;
}

/** A kind that a worker carries out, on the lane `custom.<type>`; its answer is the signal `directive.result`. */
export interface QueuedDirectiveType<P = JsonObject> {
  mode: 'queued';
  type: string;
  schema: z.ZodType<P>;
  /** What happens in the turn that accepts it; only `stop` keeps it from the queue. Default: `async`, state unchanged. */
  exec?: Exec<P>;
  execute(directive: CustomDirective<P>, context: CustomDirectiveContext): Promise<Execution>;
  /** What a repeat would do, after a worker died in the middle. Default `once`. */
  effect?: RepeatPolicy;
}

/** A kind as registries hold it. */
export type CustomDirectiveType = ImmediateDirectiveType | QueuedDirectiveType;

const TAKEN: ReadonlySet<string> = new Set([
  ...DIRECTIVE_TYPES,
  ...AGENT_DIRECTIVE_TYPES,
  ...CONTROL_DIRECTIVE_TYPES,
]);

/** What is wrong with the name of a kind; null = nothing. */
export function typeNameFault(type: string): string | null {
  if (!CUSTOM_TYPE_PATTERN.test(type))
    return `directive type "${type}": a letter, then up to 63 of A-Z a-z 0-9 _ . -`;
  return TAKEN.has(type) ? `directive type "${type}" is one of the service's own` : null;
}

/** Declares a kind of directive; throws when its name is not a name or is one of the service's own. */
export function defineDirective<P extends JsonObject>(
  kind: ImmediateDirectiveType<P> | QueuedDirectiveType<P>,
): CustomDirectiveType {
  const wrong = typeNameFault(kind.type);
  if (wrong !== null) throw new TypeError(wrong);
  return kind as unknown as CustomDirectiveType;
}

/** The kinds that may be submitted by themselves: what is done within a turn has no meaning outside one. */
export function submittableTypes(kinds: readonly CustomDirectiveType[]): CustomTypes {
  return new Map(queuedTypes(kinds).map(({ type, schema }) => [type, schema]));
}

/** The kinds that workers carry out. */
export function queuedTypes(kinds: readonly CustomDirectiveType[]): QueuedDirectiveType[] {
  return kinds.filter((kind) => kind.mode === 'queued');
}
