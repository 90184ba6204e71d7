/** The agents in examples/agents, a scripted provider that all of them understand, and an installation whose tool counts (issue 37, section C).
 *  It must never put anything of Adjutant into an agent but its two addresses. */
import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { install, type Installation } from './installation.ts';
import { npmPackages } from './npm-packages.ts';
import { type Child, spawnProcess } from './process.ts';
import { startProvider, sse, STREAM_HEAD } from './provider-server.ts';
import { pythonOfTests } from './python.ts';

/** An example and the addresses that its SDK reads. */
export interface AgentExample {
  readonly name: string;
  readonly wire: 'openai' | 'anthropic';
}

export const EXAMPLES: readonly AgentExample[] = [
  { name: 'openai.ts', wire: 'openai' },
  { name: 'anthropic.ts', wire: 'anthropic' },
  { name: 'ai-sdk.ts', wire: 'openai' },
  { name: 'openai-agents.ts', wire: 'openai' },
  { name: 'openai_agents.py', wire: 'openai' },
  { name: 'pydantic_ai_agent.py', wire: 'openai' },
  { name: 'langgraph_agent.py', wire: 'openai' },
  { name: 'langgraph.mjs', wire: 'openai' },
  { name: 'mastra.mjs', wire: 'openai' },
  { name: 'claude-agent.mjs', wire: 'anthropic' },
];

export function exampleOf(name: string): AgentExample {
  const found = EXAMPLES.find((example) => example.name === name);
  if (found === undefined)
    throw new Error(`The examples are ${EXAMPLES.map((each) => each.name).join(', ')}.`);
  return found;
}

/** Starts an agent for a run. */
export type StartAgent = (url: string, run: string) => Child;

/** null: this machine has no Python for the example. */
export async function starterOf({ name, wire }: AgentExample): Promise<StartAgent | null> {
  const own = resolve('examples/agents', name);
  const program = name.endsWith('.py') ? await pythonOfTests(requirementsOf(own)) : process.execPath;
  if (program === null) return null;
  const file = name.endsWith('.mjs') ? await besideItsPackages(own) : own;
  return (url, run) =>
    spawnProcess(program, [file, `Refund the orders A and B of ${run}.`], {
      env: {
        // The Claude Agent SDK keeps sessions in the home folder, and asks its maker for more than answers.
        ...(name === 'claude-agent.mjs'
          ? { HOME: resolve(file, '..'), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }
          : {}),
        OPENAI_BASE_URL: `${url}/runs/${run}/openai/v1`,
        OPENAI_API_KEY: 'any',
        ANTHROPIC_BASE_URL: `${url}/runs/${run}/anthropic`,
        ANTHROPIC_API_KEY: 'any',
        MCP_URL: `${url}/runs/${run}/mcp`,
        MODEL: wire === 'anthropic' ? 'claude:m' : 'play:m',
        // The Agents SDK sends its traces to OpenAI, whatever the address of the model is.
        OPENAI_AGENTS_DISABLE_TRACING: '1',
        // Mastra sends its use to its maker.
        MASTRA_TELEMETRY_DISABLED: '1',
      },
    });
}

/** Each Python example has a file of its own: the frameworks exclude each other's versions. */
function requirementsOf(file: string): string[] {
  return readFileSync(file.replace(/\.py$/, '.requirements.txt'), 'utf8').trim().split('\n');
}

/** A copy of the example beside the packages of its list: they are too many for the dependencies of this repository. */
async function besideItsPackages(file: string): Promise<string> {
  const list = readFileSync(file.replace(/\.mjs$/, '.packages.txt'), 'utf8')
    .trim()
    .split('\n');
  const place = await npmPackages(list);
  const copy = join(place, basename(file));
  await copyFile(file, copy);
  return copy;
}

interface Call {
  readonly id: string;
  readonly label: string;
}

/** Tool calls of each turn: two equal refunds, then another one, then the answer. */
const CALLS: readonly (readonly Call[])[] = [
  [
    { id: 'a', label: 'A' },
    { id: 'b', label: 'A' },
  ],
  [{ id: 'c', label: 'B' }],
  [],
];
export const ANSWER = 'All refunded.';

export interface SentBody {
  readonly stream?: boolean;
  readonly input?: readonly { readonly type?: string }[] | string;
  readonly messages?: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly tool_calls?: readonly unknown[];
  }[];
  readonly tools?: readonly { readonly name?: string; readonly function?: { readonly name: string } }[];
}

/** Number of the turn that a body asks for, by the tool calls in its history. */
function turnOf({ input, messages = [] }: SentBody): number {
  const items = Array.isArray(input) ? input.filter(({ type }) => type === 'function_call').length : 0;
  const called = messages.map(({ content, tool_calls: calls }) => {
    const blocks = Array.isArray(content) ? (content as { type: string }[]) : [];
    return (calls?.length ?? 0) + blocks.filter(({ type }) => type === 'tool_use').length;
  });
  const all = called.reduce((sum, count) => sum + count, items);
  return all === 0 ? 0 : all < 3 ? 1 : 2;
}

/** What a body has after the task and its instructions: answers and results of tools. */
function resultsIn({ input, messages = [] }: SentBody): readonly unknown[] {
  const items: readonly { readonly role?: string }[] = Array.isArray(input) ? input : messages;
  return items.filter(({ role }) => role !== 'system' && role !== 'developer');
}

function toolOf({ tools = [] }: SentBody): string {
  const names = tools.map((tool) => tool.function?.name ?? tool.name ?? '');
  return names.find((name) => name.endsWith('once')) ?? 'counting__once';
}

interface Turn {
  readonly id: string;
  readonly name: string;
  readonly calls: readonly { readonly id: string; readonly input: object }[];
}

function chatAnswer({ id, name, calls }: Turn): object {
  const tool_calls = calls.map(({ id: call, input }) => ({
    id: call,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  const message = {
    role: 'assistant',
    ...(calls.length === 0 ? { content: ANSWER } : { content: null, tool_calls }),
  };
  const finish_reason = calls.length === 0 ? 'stop' : 'tool_calls';
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  const choices = [{ index: 0, message, finish_reason }];
  return { id, object: 'chat.completion', created: 1, model: 'm', choices, usage };
}

function responsesAnswer({ id, name, calls }: Turn): object {
  const called = calls.map(({ id: call, input }) => ({
    type: 'function_call',
    id: `fc_${call}`,
    call_id: call,
    name,
    arguments: JSON.stringify(input),
    status: 'completed',
  }));
  const content = [{ type: 'output_text', text: ANSWER, annotations: [] }];
  const answer = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
  const details = {
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  return {
    id,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output: calls.length === 0 ? [answer] : called,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4, ...details },
  };
}

function anthropicEvents({ id, name, calls }: Turn): object[] {
  const blocks = calls.map(({ id: call, input }) => ({
    start: { type: 'tool_use', id: call, name, input: {} },
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
  }));
  const text = { start: { type: 'text', text: '' }, delta: { type: 'text_delta', text: ANSWER } };
  const usage = { input_tokens: 3, output_tokens: 1 };
  const stop_reason = calls.length === 0 ? 'end_turn' : 'tool_use';
  const message = { id, type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
  return [
    { type: 'message_start', message: { ...message, usage } },
    ...(calls.length === 0 ? [text] : blocks).flatMap(({ start, delta }, index) => [
      { type: 'content_block_start', index, content_block: start },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ];
}

/** What the provider and the tool have counted for one run. */
export interface Counted {
  /** Requests of each turn. */
  readonly asked: readonly number[];
  /** Executions of the refund of each label. */
  readonly refunds: readonly number[];
  /** Whether the provider was sent the unknown outcome of a tool. */
  readonly isUnknown: boolean;
}

export interface ForeignAgents {
  readonly installation: Installation;
  counted(run: string): Counted;
  /** Resolves when the refund of the label was executed `count` times for the run. */
  untilRefunded(run: string, label: string, count: number): Promise<void>;
  /** The last body that the provider saw of a run. */
  lastBody(run: string): SentBody;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `refundMs`: time that each refund takes after it was counted, but for the first one. */
export async function startForeignAgents(refundMs: number): Promise<ForeignAgents> {
  const provider = await startProvider((response, { body, path: address, text }) => {
    const sent = body as SentBody;
    // The Claude Agent SDK has a query: `/messages?beta=true`.
    const [path = ''] = address.split('?');
    const turn = turnOf(sent);
    const run = /of (?<run>[\w-]+)\./.exec(text)?.groups?.['run'] ?? '';
    const calls = (CALLS[turn] ?? []).map(({ id, label }) => ({
      id: `call_${id}`,
      input: { label: `${run}/${label}`, delay_ms: id === 'a' ? 0 : refundMs },
    }));
    const answered: Turn = { id: `turn-${turn}`, name: toolOf(sent), calls };
    if (path.endsWith('/messages')) {
      response.writeHead(200, STREAM_HEAD).end(sse(anthropicEvents(answered), { named: true }));
      return;
    }
    const answer = path.endsWith('/responses') ? responsesAnswer(answered) : chatAnswer(answered);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const installed = await install({
    redis: { appendonly: true, appendfsync: 'always' },
    config: {
      worker: { lease_ms: 1_500 },
      providers: {
        play: { type: 'openai-compatible', base_url: `${provider.url}/v1` },
        claude: { type: 'anthropic', base_url: `${provider.url}/v1` },
      },
    },
  });
  const key = { ANTHROPIC_API_KEY: 'sk-ant-0123' };
  const installation: Installation = {
    ...installed,
    start: async (role, port, env) => installed.start(role, port, { ...key, ...env }),
  };
  const seenOf = (run: string) =>
    provider.seen.filter(({ text }) => text.includes(`of ${run}.`)).map(({ body }) => body as SentBody);
  return {
    installation,
    counted: (run) => ({
      asked: CALLS.map((_, turn) => seenOf(run).filter((body) => turnOf(body) === turn).length),
      refunds: ['A', 'B'].map(
        (label) =>
          installation.executions().filter((execution) => execution.label === `${run}/${label}`).length,
      ),
      // The instructions of the MCP server name the error, too.
      isUnknown: JSON.stringify(seenOf(run).map(resultsIn)).includes('outcome_unknown'),
    }),
    untilRefunded: async (run, label, count) =>
      installation.untilExecuted(
        (all) => all.filter((execution) => execution.label === `${run}/${label}`).length >= count,
      ),
    lastBody: (run) => seenOf(run).at(-1) ?? {},
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const AGAIN_MS = 100;

/** Resolves when a worker has listed the refund; an agent that began before would have no tool. */
export async function untilRefundIsListed(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/v1/tools`);
    if ((await response.text()).includes('counting.once')) return;
    await delay(AGAIN_MS);
  }
}
