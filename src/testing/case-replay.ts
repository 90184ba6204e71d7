/** A recorded case behind the test kit: its answers as a model and as tools, and the recorded run once more.
 *  It must never reach a provider or a tool that the case has recorded. */
import { CaseFault, type CaseTool, type RecordedCase } from '../contract/case/case.ts';
import { type CaseComparison, compareCases, type Difference } from '../contract/case/compare.ts';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import { isObject } from '../contract/json/json-object.ts';
import type { ModelTurn } from '../contract/model/model-turn.ts';
import type { Result } from '../contract/result.ts';
import type { RunOverrides, RunView, SubmittedRun } from '../contract/run/run.ts';
import { readCase } from '../features/cases/case-file.ts';
import { recordRequest } from '../features/cases/record.ts';
import { type AskedModel, createReplay, type ReplayMode, sentenceOf } from '../features/cases/replay.ts';
import { toolNames } from '../models/requests/tool-names.ts';
import type { Asked, Reply } from './scripted-model.ts';
import { type ScriptedServers, type ScriptedTool, SentResult } from './scripted-tools.ts';

/** Options of a replay. */
export interface ReplayOptions {
  /** Path of the recorded case. */
  readonly file: string;
  /** `strict`: the first difference fails. `loose`: differences are noted, and calls without a recorded answer fail. Default: `strict`. */
  readonly mode?: ReplayMode;
  /** `recorded`: models answer from the case. `live`: `providers` and `models` of `config` are asked. Default: `recorded`. */
  readonly models?: 'recorded' | 'live';
}

/** Changes to the recorded run. */
export interface ReplayChanges {
  /** Agent of the run. Default: the recorded one. */
  readonly agent?: string;
  /** Overrides of the run, such as another model. Default: none. */
  readonly overrides?: RunOverrides;
}

/** A recorded run that was made once more. */
export interface ReplayedRun {
  /** Id of the new request. */
  readonly request_id: string;
  /** View of the new run. */
  readonly run: RunView;
  /** The recorded case. */
  readonly recorded: RecordedCase;
  /** The new request as a case. */
  readonly actual: RecordedCase;
  /** Comparison of the recorded case (`a`) with the new request (`b`). */
  readonly comparison: CaseComparison;
  /** Where the run left the record first: `a` is the recorded value, `b` the new one. null: nowhere. */
  readonly left: Difference | null;
}

/** Replay of a recorded case. */
export interface CaseReplay {
  /** The recorded case. */
  readonly recorded: RecordedCase;
  /**
   * Starts the recorded run once more and waits for its end. Calls that ask for approval are approved. Each call replays the case from
   * its beginning.
   * @throws `ReplayDiffers` in the mode `strict`, with the place of the first difference and both values.
   */
  run(changes?: ReplayChanges): Promise<ReplayedRun>;
  /** Where the current replay left the record first; null: nowhere so far. */
  left(): Difference | null;
}

/** The replayed run differs from the record. */
export class ReplayDiffers extends Error {
  override readonly name = 'ReplayDiffers';
  /** Place and both values: `a` is the recorded one, `b` the new one. */
  readonly difference: Difference;

  constructor(difference: Difference) {
    super(`the run differs from its record at ${sentenceOf(difference)}`);
    this.difference = difference;
  }
}

/** A case that is ready to answer. */
export interface OpenCase {
  /** Recorded tools by server. */
  readonly tools: ScriptedServers;
  /** Answer of the model to a request of a provider's client. */
  readonly answer: (asked: Asked) => Reply;
  replayWith(client: DirectiveClient): CaseReplay;
}

/** Opens a case. Throws `CaseFault` where the file is no case. */
export function openCase(options: string | ReplayOptions): OpenCase {
  const {
    file,
    mode = 'strict',
    models = 'recorded',
  } = typeof options === 'string' ? { file: options } : options;
  const recorded = readCase(file);
  let replay = createReplay(recorded, mode);
  const isLive = models === 'live';
  return {
    tools: serversOf(recorded.tools, (tool, args) => replay.call(tool, args)),
    answer: (asked) => replyOf(replay.model(askedOf(asked, recorded))),
    replayWith: (client) => ({
      recorded,
      left: () => replay.left(),
      run: async (changes = {}) => {
        replay = createReplay(recorded, mode);
        const current = replay;
        const requestId = await runToEnd(client, submittedOf(recorded, changes));
        const left = current.left() ?? (isLive ? null : current.unasked());
        if (mode === 'strict' && left !== null) throw new ReplayDiffers(left);
        const run = (await client.request(requestId))?.run;
        if (run === undefined) throw new Error(`the request "${requestId}" of the replay has no run`);
        const actual = await recordRequest(client, requestId);
        const comparison = compareCases(recorded, actual);
        return { request_id: requestId, run, recorded, actual, comparison, left };
      },
    }),
  };
}

/** The recorded run: its query, or the messages that its first model call got. */
function submittedOf({ head, turns }: RecordedCase, { agent, overrides }: ReplayChanges): SubmittedRun {
  if (head.agent === null || head.query === null)
    throw new CaseFault(
      `the case of "${head.request_id}" has no run of an agent, so that nothing can be run again`,
    );
  const first = turns.find(({ model }) => model !== null)?.model?.messages ?? [];
  const [only, ...others] = first;
  const isQuery = only === undefined || (others.length === 0 && only.content === head.query);
  const task = isQuery && head.query !== '' ? { query: head.query } : { messages: [...first] };
  return { agent: agent ?? head.agent, ...task, ...(overrides === undefined ? {} : { overrides }) };
}

/** The calls were made when the run was recorded: they are approved. */
async function runToEnd(client: DirectiveClient, run: SubmittedRun): Promise<string> {
  const { request_id: requestId } = await client.runs.start(run);
  for await (const signal of client.signals(requestId)) {
    if (signal.type !== 'ai.tool.approval_requested') continue;
    await client.runs.decide(requestId, signal.data.call_id, { decision: 'approve', reason: 'as recorded' });
  }
  return requestId;
}

/** A tool without a server cannot be served. */
function serversOf(
  tools: readonly CaseTool[],
  answer: (tool: string, args: Readonly<Record<string, unknown>>) => Result,
): ScriptedServers {
  const served = tools.flatMap((tool) => {
    const dot = tool.name.indexOf('.');
    return dot <= 0 ? [] : [{ ...tool, server: tool.name.slice(0, dot), own: tool.name.slice(dot + 1) }];
  });
  const servers = Map.groupBy(served, ({ server }) => server);
  return Object.fromEntries(
    [...servers].map(([server, all]) => [
      server,
      Object.fromEntries(all.map((tool) => [tool.own, scripted(tool, (args) => answer(tool.name, args))])),
    ]),
  );
}

function scripted(
  { description, input_schema, effect }: CaseTool,
  answer: (args: Readonly<Record<string, unknown>>) => Result,
): ScriptedTool {
  return {
    effect,
    inputSchema: { ...input_schema, type: 'object' },
    ...(description === undefined ? {} : { description }),
    run: (args) => sent(answer(args)),
  };
}

/** The result as an MCP server sends it. An error is final, as it was when it was recorded. */
function sent(result: Result): SentResult {
  if (!result.ok) {
    const error = { ...result.error, retryable: false };
    return new SentResult({ content: [{ type: 'text', text: JSON.stringify(error) }], isError: true });
  }
  const { payload, effects } = result;
  const carried = effects.length === 0 ? {} : { _directives: effects };
  if (isObject(payload) && Array.isArray(payload['content'])) {
    const { content, structured_content: structured } = payload;
    const structuredContent = isObject(structured)
      ? { structuredContent: { ...structured, ...carried } }
      : {};
    return new SentResult({ content: content as never, ...structuredContent });
  }
  if (isObject(payload)) {
    const text = JSON.stringify(payload);
    return new SentResult({
      content: [{ type: 'text', text }],
      structuredContent: { ...payload, ...carried },
    });
  }
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const shown = effects.length === 0 ? text : JSON.stringify({ result: text, ...carried });
  return new SentResult({ content: [{ type: 'text', text: shown }] });
}

function replyOf(result: Result): Reply {
  if (!result.ok) return { kind: 'refused', message: result.error.message };
  const { text, tool_calls: calls, finish_reason, usage } = result.payload as ModelTurn;
  const named = calls.map(({ id, name, arguments: args }) => ({ id, tool: name, arguments: args }));
  const reason = finish_reason ?? (calls.length === 0 ? 'stop' : 'tool_calls');
  return { kind: 'turn', turn: { text, calls: named, finish_reason: reason, usage } };
}

/** Names on the wire depend on all tools of a call, so that the recorded ones decode them. */
function askedOf({ messages = [], tools = [] }: Asked, { tools: recorded, turns }: RecordedCase): AskedModel {
  const offered = new Set(tools.map((tool) => tool.function.name));
  const sets = [
    ...turns.flatMap(({ model }) => (model === null ? [] : [model.tools])),
    recorded.map(({ name }) => name),
  ];
  const names = sets.map((set) => ({ set, names: toolNames(set) }));
  const fitting = names.find(
    ({ set, names: each }) =>
      set.length === offered.size && set.every((name) => offered.has(each.encode(name))),
  );
  const decode = (fitting ?? names.at(-1))?.names.decode ?? ((name: string) => name);
  return {
    tools: [...offered].map(decode),
    messages: messages.map(({ role, content, tool_calls: calls = [] }) => ({
      role,
      content: content ?? '',
      calls: calls.map(({ function: { name, arguments: args } }) => ({
        tool: decode(name),
        arguments: parsedOr(args),
      })),
    })),
  };
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
