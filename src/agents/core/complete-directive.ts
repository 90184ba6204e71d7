// Turns a strategy's request into the complete directive that is journalled, with the agent's defaults.
// Must never decide whether the directive may start.
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { Message } from '../../contract/model/message.ts';
import type {
  EmbedCall,
  ModelCall,
  RequestErrorDirective,
  ToolCallDirective,
  ToolErrorDirective,
} from '../strategies/strategy.ts';
import type { JsonObject } from '../turn/transition.ts';
import type { Run } from './run-state.ts';
import type { KnownCall } from './tool-policy.ts';

/** Total time of one directive; the run's own deadline cancels it earlier. */
const DIRECTIVE_DEADLINE_MS = 900_000;

/** Agents of earlier versions, which runs under way have, do not name them all. */
const RETRY_DEFAULTS = {
  backoff: 'fixed',
  max_backoff_ms: 30_000,
  jitter: 0,
  deadline_ms: DIRECTIVE_DEADLINE_MS,
};

function timeAndRetries(call: AgentDefinition['model_call']): object {
  return { ...RETRY_DEFAULTS, ...present(call) };
}

/** Without the members that code left undefined. */
function present(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

export function modelDirective(
  run: Run,
  call: ModelCall,
  messages: readonly Message[],
  maxTokens: number,
): Directive {
  const { agent, spec } = run;
  const { provider_options } = agent;
  const { messages: _given, metadata, ...asked } = call;
  const { output_schema } = spec.overrides;
  return {
    ...(agent.system_prompt === '' ? {} : { system_prompt: agent.system_prompt }),
    ...(output_schema === undefined ? {} : { output_schema }),
    tools: run.setup.tools.map((tool) => tool.name),
    tool_choice: 'auto',
    temperature: agent.temperature,
    ...(provider_options === undefined ? {} : { provider_options }),
    ...timeAndRetries(agent.model_call),
    iteration: run.state.counters.iterations,
    ...spec.flow,
    ...(namesModel(call) ? {} : modelOf(agent)),
    ...present(asked),
    max_tokens: maxTokens,
    context: { messages },
    ...identity(run, call.id, metadata),
  } as unknown as Directive;
}

export function toolDirective(run: Run, call: ToolCallDirective): Directive {
  const { agent } = run;
  const { metadata, context, state, arguments: given, ...asked } = call;
  return {
    ...timeAndRetries(agent.tool_call),
    iteration: run.state.counters.iterations,
    ...run.spec.flow,
    ...present(asked),
    arguments: given ?? {},
    context: { ...run.agent.tool_context, ...context, state: snapshot(run, state) },
    ...identity(run, call.id, metadata),
  } as unknown as Directive;
}

export function embedDirective(run: Run, call: EmbedCall): Directive {
  return {
    ...timeAndRetries(run.agent.model_call),
    ...run.spec.flow,
    ...(namesModel(call) ? {} : { model_alias: 'embedding' }),
    ...present(call),
    ...identity(run, call.id, call.metadata),
  } as unknown as Directive;
}

/** Answers the call with the result that the record of a fork has, and names where it comes from. */
export function recordedDirective(
  run: Run,
  { id, tool_name, metadata, arguments: given = {} }: ToolCallDirective,
  { request_id, call_id, result, content }: KnownCall,
): Directive {
  const from_record = { request_id, call_id };
  return {
    type: 'emit_tool_result',
    tool_name,
    arguments: given,
    result,
    content,
    ...identity(run, id, { ...metadata, from_record }),
  } as unknown as Directive;
}

export function errorDirective(run: Run, call: ToolErrorDirective | RequestErrorDirective): Directive {
  return { ...call, ...identity(run, call.id, call.metadata) };
}

/** The context of a custom directive, like that of a tool call: the agent's `tool_context` and the runtime's snapshot. */
export function callContext(run: Run): JsonObject {
  return { ...run.agent.tool_context, state: snapshot(run) };
}

/** The runtime's snapshot overrides a caller's `state`; its revision shows whether it is stale. */
function snapshot(run: Run, shown: JsonObject = {}): JsonObject {
  const { spec, state } = run;
  return {
    ...state.agent_state,
    ...shown,
    agent: spec.agent,
    request_id: spec.request_id,
    run_id: spec.run_id,
    iteration: state.counters.iterations,
    revision: state.revision,
  };
}

function identity(run: Run, id: string, metadata: JsonObject | undefined) {
  const { request_id, run_id, agent } = run.spec;
  const { iterations } = run.state.counters;
  const own = { request_id, run_id, iteration: iterations, strategy: run.agent.strategy, agent };
  return { id, request_id, metadata: { ...metadata, ...own } };
}

function namesModel(call: { model?: string | undefined; model_alias?: string | undefined }): boolean {
  return Boolean(call.model) || call.model_alias !== undefined;
}

function modelOf(agent: Run['agent']): { model: string } | { model_alias: string } {
  return agent.model === undefined ? { model_alias: agent.model_alias } : { model: agent.model };
}
