/** The floor of an agent: a loop that streams from the model and calls its tools with the SDK's own client, and keeps nothing.
 *  It must not import anything of the product. */
import { createParser } from 'eventsource-parser';
import { type HostClient, openHost } from '../../test/support/mcp-clients.ts';
import { firstTexts } from '../latency.ts';
import type { Target, Transport } from '../transport.ts';
import { NOOP_SERVER } from './host.ts';

interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Answer {
  readonly role: 'assistant';
  content: string;
  tool_calls?: ToolCall[];
}

interface Chunk {
  readonly choices: readonly { readonly delta: { content?: string; tool_calls?: ToolCall[] } }[];
}

/** `baseUrl`: of the provider. */
export async function openBareAgent({ baseUrl }: Target): Promise<Transport> {
  const host = await openHost('modern', NOOP_SERVER);
  const tools = (await host.list()).map(({ name, description, inputSchema: parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
  const first = firstTexts();
  const turn = async (messages: readonly object[], onText: () => void): Promise<Answer> => {
    const body = JSON.stringify({ model: 'm', stream: true, messages, tools });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${baseUrl}/v1/chat/completions`, { method: 'POST', headers, body });
    return readAnswer(response, onText);
  };
  return {
    operation: async () => {
      const onText = first.begin();
      const messages: object[] = [{ role: 'user', content: 'go' }];
      for (;;) {
        const answer = await turn(messages, onText);
        if (answer.tool_calls === undefined) return;
        const results = answer.tool_calls.map(async (call) => resultOf(host, call));
        messages.push(answer, ...(await Promise.all(results)));
      }
    },
    note: async () => Promise.resolve(first.note()),
    close: async () => host[Symbol.asyncDispose](),
  };
}

async function resultOf(host: HostClient, { id, function: { name, arguments: given } }: ToolCall) {
  const { content, isError } = await host.call(name, JSON.parse(given) as Record<string, unknown>);
  if (isError === true) throw new Error(JSON.stringify(content));
  return { role: 'tool', tool_call_id: id, content: content.map(({ text }) => text).join('') };
}

async function readAnswer(response: Response, onText: () => void): Promise<Answer> {
  const answer: Answer = { role: 'assistant', content: '' };
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const delta = (JSON.parse(data) as Chunk).choices[0]?.delta;
      if (delta?.content !== undefined) onText();
      answer.content += delta?.content ?? '';
      if (delta?.tool_calls !== undefined) answer.tool_calls = delta.tool_calls;
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  return answer;
}
