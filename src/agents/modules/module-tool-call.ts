// One call of a tool of a module: checks the arguments, runs it within its time, reads its answer.
// Must never obey a control directive that the entry of the configuration does not allow.
import { readDirectives } from '../../contract/run/control-directive.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { fieldErrors, fieldSentence } from '../../contract/json/field-error.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { errorResult } from '../../contract/result.ts';
import type { ToolExec } from '../../contract/directive/work-directive.ts';
import type { Execution, ExecutionContext } from '../../worker/executors/definition.ts';
import { contextFor } from '../../worker/executors/tool-context.ts';
import type { OwnTools, ToolPlace } from '../../worker/executors/tool-exec.ts';
import { readExecution } from './custom-execution.ts';
import type { ModuleTool, ToolContext } from './define-tool.ts';
import type { ToolModules } from './tool-modules.ts';

/** The tools of modules, for the executor of tool calls. */
export function ownTools(modules: ToolModules): OwnTools {
  return (place) => {
    const tools = modules.get(place.server);
    if (tools === undefined) return null;
    return async (directive, context) => {
      const loaded = tools.get(place.tool);
      return loaded === undefined ? unknownTool(place) : call(loaded.tool, directive, place, context);
    };
  };
}

function unknownTool({ server, tool }: ToolPlace): Execution {
  const message = `The module of "${server}" has no tool "${tool}"`;
  return { result: errorResult(errorEnvelope('unknown_tool', message, { server, tool })) };
}

async function call(
  tool: ModuleTool,
  directive: ToolExec,
  place: ToolPlace,
  context: ExecutionContext,
): Promise<Execution> {
  const parsed = await tool.input.safeParseAsync(directive.arguments);
  if (!parsed.success) return refused(place, fieldErrors(parsed.error, 'arguments'));
  const limitMs = directive.timeout_ms ?? place.timeoutMs;
  const answered = await withinTime(limitMs, context.signal, async (signal) =>
    tool.execute(parsed.data, contextOf(directive, place, { ...context, signal })),
  );
  return answered === TIMEOUT ? late(place, limitMs) : read(answered, place);
}

function contextOf(directive: ToolExec, place: ToolPlace, context: ExecutionContext): ToolContext {
  const { signal, attempt, redeliveries, remainingMs, traceparent, idempotencyKey, report } = context;
  const { id, tool_name } = directive;
  return {
    signal,
    attempt,
    redeliveries,
    remainingMs,
    traceparent,
    idempotencyKey,
    toolContext: contextFor(directive.context, place.context),
    progress(progress, total, message) {
      const more = {
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      };
      report('ai.tool.progress', { call_id: id, tool_name, progress, ...more, metadata: {} });
    },
  };
}

/** Directives in the result itself are read as those beside it. */
function read(answered: unknown, { trust }: ToolPlace): Execution {
  const execution = readExecution(answered);
  const given = isObject(answered) ? answered['directives'] : undefined;
  const entries = [...execution.result.effects, ...(Array.isArray(given) ? (given as unknown[]) : [])];
  const { directives, rejected } = readDirectives(entries, { isError: !execution.result.ok, trust });
  const result = { ...execution.result, effects: directives };
  if (rejected.length === 0) return { ...execution, result };
  const metadata = { ...execution.metadata, rejected_directives: rejected };
  return { ...execution, result, rejected, metadata };
}

function refused({ server, tool }: ToolPlace, errors: ReturnType<typeof fieldErrors>): Execution {
  const [first] = errors;
  const message = first === undefined ? 'The arguments are not valid' : fieldSentence(first);
  const details = { server, tool, errors: errors.slice(0, 20) };
  return { result: errorResult(errorEnvelope('validation_error', message, details)) };
}

function late({ server, tool }: ToolPlace, limitMs: number): Execution {
  const message = `The tool "${tool}" has not answered within ${limitMs} ms`;
  return { result: errorResult(errorEnvelope('timeout', message, { server, tool })), ambiguous: true };
}

const TIMEOUT = Symbol('timeout');

/** Code that ignores its signal is left behind. */
async function withinTime<T>(
  limitMs: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | typeof TIMEOUT> {
  const own = new AbortController();
  const passed = Promise.withResolvers<typeof TIMEOUT>();
  const timer = setTimeout(() => {
    passed.resolve(TIMEOUT);
    own.abort();
  }, limitMs);
  try {
    return await Promise.race([work(AbortSignal.any([outer, own.signal])), passed.promise]);
  } finally {
    clearTimeout(timer);
  }
}
