// Makes a case of a request, from its log or from its archive, without the secrets that it shows.
// Never writes a value that a member with the name of a secret holds, wherever else that value appears.
import {
  assembledCase,
  type EndedDirective,
  endedDirectives,
  type ReadRequest,
  textOrNull,
} from '../../contract/case/assemble.ts';
import { CaseFault, type CaseTool, type CaseTurn, type RecordedCase } from '../../contract/case/case.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { knownRepeatPolicy } from '../../contract/directive/work-directive.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { isSensitiveKey, REDACTED, redact } from '../../contract/json/redaction.ts';
import {
  createKnownSecrets,
  SHORTEST_SECRET,
  withoutCredentials,
  withoutProviderKeys,
} from '../../contract/json/secret-text.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { ArchiveLine } from '../../contract/request/archive.ts';
import type { RunView } from '../../contract/run/run.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';

/** Most directives of a case. */
const MOST_DIRECTIVES = 5_000;

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
  const directives = await endedDirectives(client, view);
  const { tools } = await client.tools({ remembered: true });
  return caseFrom({ requestId, run: view.run ?? null, directives }, tools, options);
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

function caseFrom(
  request: ReadRequest,
  tools: readonly ListedTool[],
  { secrets = [] }: RecordOptions,
): RecordedCase {
  const { head, turns } = assembledCase(request);
  const shown = request.directives.map(({ directive, data, payload }) => [directive, data, payload]);
  return withoutSecrets({ head, tools: toolsOf(turns, tools), turns }, [...secrets, ...secretsIn(shown)]);
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
