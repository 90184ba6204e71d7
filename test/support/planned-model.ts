/** A model that follows the plan in its first message: each of its answers is the next round of tool calls, then a text.
 *  It must never decide anything by itself; what it was given is kept for the test. */
import { bodyOf, json, type ProviderServer, startProvider } from './provider-server.ts';

/** Tool calls of one answer: the name of each tool, and its arguments. */
export type Round = readonly (readonly [tool: string, args?: object])[];

interface Given {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export interface PlannedModel {
  /** As `base_url` of an OpenAI-compatible provider. */
  readonly url: string;
  /** What the calls of the run with this plan were given, in their order. */
  given(plan: string): Given[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** As the query of a run, or the task of a child. `name` tells it from every other plan. */
export function planOf(name: string, ...rounds: readonly Round[]): string {
  return JSON.stringify([name, ...rounds]);
}

export async function startPlannedModel(): Promise<PlannedModel> {
  const server: ProviderServer = await startProvider((response, request, index) => {
    const { messages } = request.body as Given;
    const plan = planIn(textOf(messages));
    const [name, ...rounds] = plan;
    const round = rounds[messages.filter(({ role }) => role === 'assistant').length];
    const message =
      round === undefined ? { content: `did ${name}` } : { content: null, tool_calls: callsOf(round, index) };
    const finish_reason = round === undefined ? 'stop' : 'tool_calls';
    const choice = { index: 0, finish_reason, message: { role: 'assistant', ...message } };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return json(200, { id: `a${index}`, object: 'chat.completion', model: 'm', choices: [choice], usage })(
      response,
      request,
      index,
    );
  });
  return {
    url: `${server.url}/v1`,
    given: (plan) =>
      server.seen
        .map((_, index) => bodyOf(server, index) as unknown as Given)
        .filter(({ messages }) => textOf(messages) === plan),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
}

function textOf(messages: Given['messages']): string {
  const first = messages.find(({ role }) => role === 'user')?.content;
  return typeof first === 'string' ? first : (first as { text: string }[]).map(({ text }) => text).join('');
}

/** A task that is no plan is answered at once. */
function planIn(text: string): readonly [string, ...Round[]] {
  const [first = '', ...rest] = text.split('\n\n[PRIOR STAGE OUTPUT]\n');
  if (!first.startsWith('["')) return [[first, ...rest].join(' after ')];
  return JSON.parse(first) as [string, ...Round[]];
}

/** Providers do not allow a dot in a name. */
function callsOf(round: Round, answer: number): object[] {
  return round.map(([tool, args = {}], nth) => ({
    id: `c${answer}-${nth}`,
    type: 'function',
    function: { name: tool.replaceAll('.', '_'), arguments: JSON.stringify(args) },
  }));
}
