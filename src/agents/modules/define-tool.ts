// Tools of users' modules: what one declares, and what it returns.
// Must never execute one: a worker does, like a tool of an MCP server.
import type * as z from 'zod';
import type { ControlDirectiveInput } from '../../contract/run/control-directive.ts';
import type { Result } from '../../contract/result.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { ExecutionContext } from '../../worker/executors/definition.ts';
import type { JsonObject } from '../turn/transition.ts';

/** The input of `execute` beside the arguments. */
export interface ToolContext extends Pick<
  ExecutionContext,
  'signal' | 'attempt' | 'redeliveries' | 'remainingMs' | 'traceparent' | 'idempotencyKey'
> {
  /** The call's context, as far as the entry of the configuration gives it; in a run with the snapshot as `state`. */
  readonly toolContext: JsonObject;
  /** Reports how far the work is; of several reports at once the last is written. */
  progress(progress: number, total?: number, message?: string): void;
}

/** The outcome of one call. */
export interface ToolAnswer {
  result: Result;
  /** Directives to the run; obeyed as far as `directives` of the entry allows it. */
  directives?: readonly ControlDirectiveInput[];
  /** The work may be done although no answer came. */
  ambiguous?: boolean;
  /** Added to the metadata of the answer. */
  metadata?: Record<string, unknown>;
}

/** Tool of a module, which a worker executes like a tool of an MCP server. */
export interface ModuleTool<A = JsonObject> {
  /** The name on its server: 1 to 64 characters of `A-Z a-z 0-9 _ - .` */
  name: string;
  description: string;
  /** zod schema of the arguments, an object. */
  input: z.ZodType<A>;
  /** Whether a repeat is safe after a worker has died in the middle. Default `once`. */
  effect?: RepeatPolicy;
  /** Whether it may destroy something: an agent without a policy of its own then asks for approval. Default false. */
  destructive?: boolean;
  execute(args: A, context: ToolContext): Promise<ToolAnswer>;
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The fault of a tool; null: none. */
export function toolFault(value: object): string | null {
  const { name, description, input, execute } = value as Partial<ModuleTool>;
  if (typeof name !== 'string' || !NAME.test(name))
    return `tool ${JSON.stringify(String(name).slice(0, 100))}: a name has 1 to 64 of A-Z a-z 0-9 _ - .`;
  if (typeof description !== 'string' || description === '') return `tool "${name}" has no description`;
  if (typeof (input as { safeParseAsync?: unknown } | undefined)?.safeParseAsync !== 'function')
    return `tool "${name}" has no zod schema as its input`;
  return typeof execute === 'function' ? null : `tool "${name}" has no function "execute"`;
}

/**
 * Declares a tool of a module.
 * @param tool Name, description, schema of the arguments and `execute`. `effect` defaults to `once`, `destructive` to
 * false.
 * @returns The tool for the exports of a module.
 * @throws `TypeError` where a member is missing or malformed.
 * @example
 * ```ts
 * import { defineTool, okResult } from 'adjutant/engine';
 * import * as z from 'zod';
 * export const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   effect: 'read',
 *   execute: async ({ a, b }) => ({ result: okResult(a + b) }),
 * });
 * ```
 */
export function defineTool<A extends JsonObject>(tool: ModuleTool<A>): ModuleTool {
  const wrong = toolFault(tool);
  if (wrong !== null) throw new TypeError(wrong);
  return tool as unknown as ModuleTool;
}
