// Turns a directive into the call of a language model: prompt, tools, limits.
// Must never send what is sure to be refused: a wrong directive fails before it costs anything.
import type { LanguageModelV4FunctionTool, LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { fieldSentence } from '../../contract/json/field-error.ts';
import type { Message } from '../../contract/model/message.ts';
import type { LlmGenerate, LlmStream, OfferedTool } from '../../contract/directive/work-directive.ts';
import type { CallOptions } from '../../models/model-call.ts';
import { promptOf, type PromptRules, toolNamesIn } from '../../models/requests/prompt.ts';
import { type PromptCache, withCache } from '../../models/requests/prompt-cache.ts';
import { modelSchema } from '../../platform/json-schema/model-schema.ts';
import type { CheckedSchema, SchemaChecks } from '../../platform/json-schema/schema-checks.ts';
import { type CheckOutput, outputFormat, type OutputFaults } from '../../models/answers/structured-output.ts';
import { toolNames, type ToolNames } from '../../models/requests/tool-names.ts';

/** A tool as the catalog knows it. */
export interface DescribedTool {
  name: string;
  description?: string | undefined;
  input_schema: Record<string, unknown>;
}

/** Describes a tool; null: no server lists it. */
export type DescribeTool = (name: string) => Promise<DescribedTool | null>;

export type LanguageDirective = LlmStream | LlmGenerate;

export interface LanguageRequest {
  options: CallOptions;
  names: ToolNames;
  /** null: any text is a valid answer. */
  checkOutput: CheckOutput | null;
}

export type PreparedRequest = { ok: true; request: LanguageRequest } | { ok: false; error: ErrorEnvelope };

export interface RequestOptions {
  readonly rules: PromptRules;
  readonly cache: PromptCache;
  readonly tenant: string;
  readonly describeTool: DescribeTool;
  readonly schemas: SchemaChecks;
  readonly signal: AbortSignal;
}

export async function prepareRequest(
  directive: LanguageDirective,
  { rules, cache, tenant, describeTool, schemas, signal }: RequestOptions,
): Promise<PreparedRequest> {
  const tools = await offeredTools(directive.tools, describeTool);
  if ('error' in tools) return { ok: false, error: tools.error };
  const messages = Array.isArray(directive.context) ? directive.context : directive.context.messages;
  const names = toolNames([
    ...tools.map(({ name }) => name),
    ...toolNamesIn(messages),
    ...requiredTool(directive),
  ]);
  const choice = toolChoice(directive, tools, names);
  if (choice !== null && 'error' in choice) return { ok: false, error: choice.error };
  const prompt = readPrompt(directive, messages, names, rules);
  if ('error' in prompt) return { ok: false, error: prompt.error };
  const output = await readOutputSchema(directive, { schemas, tenant, signal });
  if ('error' in output) return { ok: false, error: output.error };
  const options: CallOptions = {
    prompt: prompt.prompt,
    maxOutputTokens: directive.max_tokens,
    temperature: directive.temperature,
    providerOptions: PROVIDER_OPTIONS,
    ...(tools.length > 0
      ? { tools: tools.map((tool) => functionTool(tool, names, rules.argumentNames)) }
      : {}),
    ...(choice === null ? {} : { toolChoice: choice }),
    ...(directive.reasoning === undefined ? {} : { reasoning: directive.reasoning }),
    ...(directive.output_schema === undefined
      ? {}
      : { responseFormat: outputFormat(directive.output_schema) }),
  };
  const cached = goesOn(messages, tools)
    ? withCache(options, cache, [tenant, directive.request_id])
    : options;
  return { ok: true, request: { options: cached, names, checkOutput: output.check } };
}

/**
 * The provider stores nothing: each call sends the whole history, and may go to another provider.
 * Strict schemas support only a small part of JSON Schema; answers are checked here in any case.
 */
const PROVIDER_OPTIONS = { openai: { store: false, strictJsonSchema: false } };

/**
 * Whether a call with the same beginning is likely to follow or has been made: a single question would pay for a cache
 * that no other call reads.
 */
function goesOn(messages: readonly Message[], tools: readonly DescribedTool[]): boolean {
  return tools.length > 0 || messages.some(({ role }) => role === 'assistant');
}

async function offeredTools(
  offers: LanguageDirective['tools'],
  describeTool: DescribeTool,
): Promise<DescribedTool[] | { error: ErrorEnvelope }> {
  const tools = new Map<string, DescribedTool>();
  for (const [index, offer] of offers.entries()) {
    const field = `tools[${index}]`;
    const tool = typeof offer === 'string' ? await describeTool(offer) : await completed(offer, describeTool);
    const name = typeof offer === 'string' ? offer : offer.name;
    if (!tool) return invalid(field, `no MCP server has the tool "${name}"`);
    if (tools.has(name)) return invalid(field, `the tool "${name}" is named twice`);
    // A call of the tool comes back under the name in the directive, whatever the catalog calls it.
    tools.set(name, { ...tool, name });
  }
  return [...tools.values()];
}

/** The members that the directive leaves out about a tool come from the catalog; an unlisted tool takes any object. */
async function completed(offer: OfferedTool, describeTool: DescribeTool): Promise<DescribedTool> {
  const { name, description, input_schema } = offer;
  const known = input_schema === undefined ? await describeTool(name) : null;
  return {
    name,
    description: description ?? known?.description,
    input_schema: input_schema ?? known?.input_schema ?? { type: 'object', properties: {} },
  };
}

function functionTool(
  tool: DescribedTool,
  names: ToolNames,
  argumentNames: RegExp | null,
): LanguageModelV4FunctionTool {
  const fit = argumentNames === null ? {} : { names: argumentNames };
  return {
    type: 'function',
    name: names.encode(tool.name),
    ...(tool.description === undefined ? {} : { description: tool.description }),
    inputSchema: modelSchema(tool.input_schema, fit) as LanguageModelV4FunctionTool['inputSchema'],
  };
}

function requiredTool({ tool_choice }: LanguageDirective): string[] {
  return typeof tool_choice === 'object' ? [tool_choice.required] : [];
}

/** null: there are no tools to choose from. */
function toolChoice(
  { tool_choice }: LanguageDirective,
  tools: readonly DescribedTool[],
  names: ToolNames,
): LanguageModelV4ToolChoice | { error: ErrorEnvelope } | null {
  if (typeof tool_choice === 'object') {
    const { required } = tool_choice;
    return tools.some(({ name }) => name === required)
      ? { type: 'tool', toolName: names.encode(required) }
      : invalid('tool_choice.required', `the tool "${required}" is not among the tools`);
  }
  if (tools.length > 0) return { type: tool_choice };
  return tool_choice === 'required' ? invalid('tool_choice', 'there is no tool to call') : null;
}

function readPrompt(
  directive: LanguageDirective,
  messages: readonly Message[],
  names: ToolNames,
  rules: PromptRules,
): { prompt: CallOptions['prompt'] } | { error: ErrorEnvelope } {
  const read = promptOf(messages, { systemPrompt: directive.system_prompt, names, rules });
  if (!read.ok) {
    const place = Array.isArray(directive.context) ? 'context' : 'context.messages';
    return invalid(`${place}${read.path}`, read.message);
  }
  return read.prompt.length > 0 ? { prompt: read.prompt } : invalid('context', 'holds no message');
}

async function readOutputSchema(
  { output_schema: given }: LanguageDirective,
  { schemas, tenant, signal }: Pick<RequestOptions, 'schemas' | 'tenant' | 'signal'>,
): Promise<{ check: CheckOutput | null } | { error: ErrorEnvelope }> {
  if (given === undefined) return { check: null };
  const schema = schemas.of(given, tenant);
  const verdict = await schema.compile({ signal, mayBeRefused: true });
  if (verdict.kind === 'refused')
    return { error: errorEnvelope('rate_limited', `output_schema: ${verdict.reason}`) };
  if (verdict.kind === 'unusable') return invalid('output_schema', `is not a JSON Schema: ${verdict.reason}`);
  if (verdict.kind === 'unchecked') return invalid('output_schema', `cannot be used: ${verdict.reason}`);
  return { check: (value) => outputFaults(schema, value, signal) };
}

async function outputFaults(
  schema: CheckedSchema,
  value: unknown,
  signal: AbortSignal,
): Promise<OutputFaults | null> {
  const verdict = await schema.check(value, 'output', { signal });
  if (verdict.kind === 'passed') return null;
  if (verdict.kind === 'faults')
    return { faults: verdict.faults.map((fault) => fieldSentence(fault)), mayBeRepaired: true };
  return { faults: [`output could not be checked: ${verdict.reason}`], mayBeRepaired: false };
}

function invalid(field: string, message: string): { error: ErrorEnvelope } {
  return { error: errorEnvelope('validation_error', `${field}: ${message}`, { field }) };
}
