// The head and the turns of a case, made of a request and its directives as they were read.
// Never loads a schema: the console compares requests with it.
import { isObject } from '../json/json-object.ts';
import type { Message } from '../model/message.ts';
import type { Usage } from '../model/usage.ts';
import type { Result } from '../result.ts';
import type { DirectiveClient } from '../directive/directive-client.ts';
import type { DirectiveSummary, RequestView } from '../request/request-view.ts';
import type { RunView } from '../run/run.ts';
import type { CaseCall, CaseHead, CaseModel, CaseTurn } from './case.ts';

/** A directive with its end, as the log or the archive shows it. */
export interface EndedDirective {
  readonly id: string;
  readonly directive: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, unknown>> | null;
  /** Whole payload, where the signal holds only its beginning. */
  readonly payload?: unknown;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

/** A request and its ended directives, in the order of acceptance. */
export interface ReadRequest {
  readonly requestId: string;
  readonly run: RunView | null;
  readonly directives: readonly EndedDirective[];
}

type Reader = Pick<DirectiveClient, 'directive' | 'payload'>;

/** Directives that are read at once. */
const READ_AT_ONCE = 8;

/** The ended directives of a request, each with its whole payload. */
export async function endedDirectives(
  reader: Reader,
  { request_id: requestId, directives }: Pick<RequestView, 'request_id' | 'directives'>,
): Promise<EndedDirective[]> {
  const ended: EndedDirective[] = [];
  for (let first = 0; first < directives.length; first += READ_AT_ONCE) {
    const some = directives.slice(first, first + READ_AT_ONCE);
    const read = await Promise.all(some.map(async (each) => readEnded(reader, requestId, each)));
    ended.push(...read.filter((each) => each !== null));
  }
  return ended;
}

/** null: the directive has not ended. */
async function readEnded(
  reader: Reader,
  requestId: string,
  { id, started_at, ended_at }: DirectiveSummary,
): Promise<EndedDirective | null> {
  const one = await reader.directive(requestId, id);
  const data = one?.result?.data as Readonly<Record<string, unknown>> | undefined;
  if (one === null || data === undefined) return null;
  const directive = one.directive as unknown as EndedDirective['directive'];
  const payload = isTruncated(data) ? { payload: await reader.payload(requestId, id) } : {};
  return { id, directive, data, started_at, ended_at, ...payload };
}

/** Whether the signal holds only the beginning of the payload. */
function isTruncated({ metadata }: Readonly<Record<string, unknown>>): boolean {
  return isObject(metadata) && metadata['result_truncated_bytes'] !== undefined;
}

/** Head and turns of the case of a request. Secrets are left in. */
export function assembledCase(request: ReadRequest): {
  readonly head: CaseHead;
  readonly turns: readonly CaseTurn[];
} {
  const turns: { model: CaseModel | null; calls: CaseCall[] }[] = [];
  for (const each of request.directives) {
    const { type } = each.directive;
    if (type === 'llm_stream' || type === 'llm_generate') turns.push({ model: modelOf(each), calls: [] });
    if (type === 'llm_request') turns.push({ model: requestOf(each), calls: [] });
    if (type !== 'tool_exec' && !isFromRecord(each)) continue;
    if (turns.length === 0) turns.push({ model: null, calls: [] });
    turns.at(-1)?.calls.push(callOf(each));
  }
  return { head: headOf(request), turns };
}

/** Whether a fork has answered the call from the record of its original. */
function isFromRecord({ directive: { type, metadata } }: EndedDirective): boolean {
  return type === 'emit_tool_result' && isObject(metadata) && isObject(metadata['from_record']);
}

/** The value where it is a text; else null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function headOf({ requestId, run }: ReadRequest): CaseHead {
  const head = { kind: 'case', format: 1, request_id: requestId } as const;
  if (run === null) return { ...head, agent: null, query: null, end: null };
  const { status, termination_reason, result, error, iterations, tool_calls, usage, cost } = run;
  const duration_ms = durationOf(run);
  const sums = { iterations, tool_calls, usage, cost, duration_ms };
  const end = { status, termination_reason, result: result ?? null, error: error ?? null, ...sums };
  const origin = run.origin === undefined ? {} : { origin: run.origin };
  return { ...head, agent: run.agent, query: run.query, end, ...origin };
}

function durationOf({ started_at: from, ended_at: to }: Pick<RunView, 'started_at' | 'ended_at'>) {
  return from === null || to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from));
}

function modelOf({ id, directive, data, payload, ...times }: EndedDirective): CaseModel {
  const { context, system_prompt: system, tools } = directive;
  const messages = isObject(context) ? context['messages'] : context;
  const metadata = isObject(data?.['metadata']) ? data['metadata'] : {};
  return {
    kind: 'model',
    id,
    model: textOrNull(data?.['model'] ?? metadata['model']),
    system_prompt: textOrNull(system),
    messages: (Array.isArray(messages) ? messages : []) as Message[],
    tools: Array.isArray(tools) ? tools.map(toolNameOf) : [],
    answer: answerOf(data, payload),
    usage: (data?.['usage'] as Usage | undefined) ?? null,
    duration_ms: durationOf(times) ?? 0,
  };
}

/** A request of another program. Its body, in the form of the provider, is text in which secrets are not found: the case has none of it. */
function requestOf(each: EndedDirective): CaseModel {
  const { answer, ...model } = modelOf(each);
  if (!answer.ok || !isObject(answer.payload)) return { ...model, answer };
  const { raw: _raw, ...payload } = answer.payload;
  return { ...model, answer: { ...answer, payload } };
}

function callOf({ id, directive, data, payload, ...times }: EndedDirective): CaseCall {
  const { tool_name: name, arguments: args } = directive;
  return {
    kind: 'call',
    id,
    tool: String(data?.['tool_name'] ?? name),
    arguments: isObject(args) ? args : {},
    answer: answerOf(data, payload),
    duration_ms: durationOf(times) ?? 0,
  };
}

function toolNameOf(tool: unknown): string {
  return isObject(tool) ? String(tool['name']) : String(tool);
}

const UNENDED: Result = {
  ok: false,
  error: { type: 'unended', message: 'had not ended when it was recorded', details: {}, retryable: false },
  effects: [],
};

function answerOf(data: EndedDirective['data'], payload: unknown): Result {
  const result = data?.['result'] as Result | undefined;
  if (result === undefined) return UNENDED;
  return payload !== undefined && result.ok ? { ...result, payload } : result;
}
