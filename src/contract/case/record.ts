// Makes a case of a request, from its log or from its archive, without the secrets that it shows.
// Never writes a value that a member with the name of a secret holds, wherever else that value appears.
import {
  CASE_FORMAT,
  CaseFault,
  type CaseCall,
  type CaseHead,
  type CaseModel,
  type CaseTool,
  type CaseTurn,
  type RecordedCase,
} from './case.ts';
import type { DirectiveClient } from '../directive/directive-client.ts';
import { knownRepeatPolicy } from '../directive/work-directive.ts';
import { jsonSafe } from '../json/json-safe.ts';
import { isObject } from '../json/json-object.ts';
import { isSensitiveKey, REDACTED, redact } from '../json/redaction.ts';
import {
  createKnownSecrets,
  SHORTEST_SECRET,
  withoutCredentials,
  withoutProviderKeys,
} from '../json/secret-text.ts';
import { messageSchema } from '../model/message.ts';
import { DirectiveRefused, problem } from '../problem.ts';
import type { Usage } from '../model/usage.ts';
import type { ArchiveLine } from '../request/archive.ts';
import type { Result } from '../result.ts';
import type { DirectiveSummary } from '../request/request-view.ts';
import type { RunView } from '../run/run.ts';
import type { ListedTool } from '../tool/tool-listing.ts';

/** Most directives of a case. */
const MOST_DIRECTIVES = 5_000;

/** A directive with its end, as the log or the archive shows it. */
interface EndedDirective {
  readonly id: string;
  readonly directive: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, unknown>> | null;
  /** Whole payload, where the signal holds only its beginning. */
  readonly payload?: unknown;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

interface ReadRequest {
  readonly requestId: string;
  readonly run: RunView | null;
  readonly directives: readonly EndedDirective[];
}

/** Options of a recording. */
export interface RecordOptions {
  /** Further secrets to remove, such as the key of the caller. Default: none. */
  readonly secrets?: readonly string[];
}

type Reader = Pick<DirectiveClient, 'request' | 'directive' | 'payload' | 'tools'>;

/**
 * Records a request that the service still holds.
 * @throws `DirectiveRefused` with `not_found` where the request does not exist, `CaseFault` where it has too many directives.
 */
export async function recordRequest(
  client: Reader,
  requestId: string,
  options: RecordOptions = {},
): Promise<RecordedCase> {
  const view = await client.request(requestId);
  if (view === null)
    throw new DirectiveRefused(problem('not_found', { detail: `there is no request "${requestId}"` }));
  requireFew(view.directives.length);
  const directives: EndedDirective[] = [];
  for (let first = 0; first < view.directives.length; first += READ_AT_ONCE) {
    const some = view.directives.slice(first, first + READ_AT_ONCE);
    const read = await Promise.all(some.map(async (each) => readEnded(client, requestId, each)));
    directives.push(...read.filter((each) => each !== null));
  }
  const { tools } = await client.tools({ remembered: true });
  return caseFrom({ requestId, run: view.run ?? null, directives }, tools, options);
}

/** Directives that are read at once. */
const READ_AT_ONCE = 8;

/** A directive with its end; null: it has not ended. */
async function readEnded(
  client: Reader,
  requestId: string,
  { id, started_at, ended_at }: DirectiveSummary,
): Promise<EndedDirective | null> {
  const one = await client.directive(requestId, id);
  const data = one?.result?.data as Readonly<Record<string, unknown>> | undefined;
  if (one === null || data === undefined) return null;
  const directive = one.directive as unknown as EndedDirective['directive'];
  const payload = isTruncated(data) ? { payload: await client.payload(requestId, id) } : {};
  return { id, directive, data, started_at, ended_at, ...payload };
}

/**
 * Records a request from the lines of its archive. Names of secrets are redacted there already.
 * @param tools Descriptions of the tools. Default: none; a replay then has no descriptions of them.
 * @throws `CaseFault` where the archive is incomplete or has too many directives.
 */
export async function recordArchive(
  lines: AsyncIterable<ArchiveLine> | Iterable<ArchiveLine>,
  tools: readonly ListedTool[] = [],
  options: RecordOptions = {},
): Promise<RecordedCase> {
  let head: Extract<ArchiveLine, { kind: 'request' }> | null = null;
  let isWhole = false;
  const views: Record<string, unknown>[] = [];
  const ends = new Map<string, Readonly<Record<string, unknown>>>();
  const payloads = new Map<string, unknown>();
  for await (const line of lines) {
    if (line.kind === 'request') head = line;
    else if (line.kind === 'directive') requireFew(views.push(line.directive));
    else if (line.kind === 'signal') noteEnd(line.signal, ends);
    else if (line.kind === 'payload') payloads.set(line.directive_id, line.payload);
    else isWhole = true;
  }
  if (head === null || !isWhole) throw new CaseFault('the archive of the request is incomplete');
  const directives = views.map((view): EndedDirective => {
    const id = String(view['id']);
    return {
      id,
      directive: isObject(view['directive']) ? view['directive'] : {},
      data: ends.get(id) ?? null,
      started_at: textOrNull(view['started_at']),
      ended_at: textOrNull(view['ended_at']),
      ...(payloads.has(id) ? { payload: payloads.get(id) } : {}),
    };
  });
  const run = head.run as unknown as RunView | null;
  return caseFrom({ requestId: head.request_id, run, directives }, tools, options);
}

function noteEnd(
  signal: Readonly<Record<string, unknown>>,
  ends: Map<string, Record<string, unknown>>,
): void {
  const { type, data } = signal;
  if ((type === 'ai.llm.response' || type === 'ai.tool.result') && isObject(data))
    ends.set(String(data['call_id']), data);
}

function requireFew(directives: number): void {
  if (directives > MOST_DIRECTIVES)
    throw new CaseFault(`the request has more than ${MOST_DIRECTIVES} directives, the most of a case`);
}

/** Whether the signal holds only the beginning of the payload. */
function isTruncated({ metadata }: Readonly<Record<string, unknown>>): boolean {
  return isObject(metadata) && metadata['result_truncated_bytes'] !== undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function caseFrom(
  request: ReadRequest,
  tools: readonly ListedTool[],
  { secrets = [] }: RecordOptions,
): RecordedCase {
  const turns: { model: CaseModel | null; calls: CaseCall[] }[] = [];
  for (const each of request.directives) {
    const { type } = each.directive;
    if (type === 'llm_stream' || type === 'llm_generate') turns.push({ model: modelOf(each), calls: [] });
    if (type !== 'tool_exec') continue;
    if (turns.length === 0) turns.push({ model: null, calls: [] });
    turns.at(-1)?.calls.push(callOf(each));
  }
  const recorded = { head: headOf(request), tools: toolsOf(turns, tools), turns };
  const shown = request.directives.map(({ directive, data, payload }) => [directive, data, payload]);
  return withoutSecrets(recorded, [...secrets, ...secretsIn(shown)]);
}

function headOf({ requestId, run }: ReadRequest): CaseHead {
  const head = { kind: 'case', format: CASE_FORMAT, request_id: requestId } as const;
  if (run === null) return { ...head, agent: null, query: null, end: null };
  const { status, termination_reason, result, error, iterations, tool_calls, usage, cost } = run;
  const duration_ms = durationOf(run);
  const sums = { iterations, tool_calls, usage, cost, duration_ms };
  const end = { status, termination_reason, result: result ?? null, error: error ?? null, ...sums };
  return { ...head, agent: run.agent, query: run.query, end };
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
    messages: messageSchema.array().parse(Array.isArray(messages) ? messages : []),
    tools: Array.isArray(tools) ? tools.map(toolNameOf) : [],
    answer: answerOf(data, payload),
    usage: (data?.['usage'] as Usage | undefined) ?? null,
    duration_ms: durationOf(times) ?? 0,
  };
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

/** Tools that a model could call or that were called, with their descriptions of the catalog. */
function toolsOf(turns: readonly CaseTurn[], listed: readonly ListedTool[]): CaseTool[] {
  const names = turns.flatMap(({ model, calls }) => [
    ...(model?.tools ?? []),
    ...calls.map(({ tool }) => tool),
  ]);
  return [...new Set(names)].toSorted().map((name) => {
    const {
      description,
      input_schema = { type: 'object' },
      effect,
    } = listed.find((tool) => tool.name === name) ?? {};
    const described = description === undefined ? {} : { description };
    return { kind: 'tool', name, ...described, input_schema, effect: knownRepeatPolicy(effect) };
  });
}

/** Texts that members with the name of a secret hold. */
function secretsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(secretsIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    isSensitiveKey(name) && typeof member === 'string' ? [member] : secretsIn(member),
  );
}

function withoutSecrets(recorded: RecordedCase, found: readonly string[]): RecordedCase {
  const values = [...new Set(found)].filter((text) => text.length >= SHORTEST_SECRET && text !== REDACTED);
  const known = createKnownSecrets();
  known.add(() => values);
  const byName = redactedByName(recorded);
  return withTexts(known.hideIn(byName), (text) =>
    withoutProviderKeys(withoutCredentials(text)),
  ) as RecordedCase;
}

/** Schemas keep their properties: a property named `token` is no secret. */
function redactedByName({ head, tools, turns }: RecordedCase): RecordedCase {
  const plain = <T>(value: T): T => redact(jsonSafe(value, WHOLE)) as T;
  const { end } = head;
  return {
    head: { ...head, end: end && { ...end, result: plain(end.result), error: plain(end.error) } },
    tools,
    turns: turns.map(({ model, calls }) => ({
      model: model && { ...model, messages: plain(model.messages), answer: plain(model.answer) },
      calls: calls.map((call) => ({ ...call, arguments: plain(call.arguments), answer: plain(call.answer) })),
    })),
  };
}

const WHOLE = { depth: 512, entries: 1_000_000, characters: 16_000_000, values: 4_000_000 };

function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withTexts(member, change)]));
}
