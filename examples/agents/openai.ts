/** An agent with OpenAI's SDK and the MCP SDK. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import OpenAI from 'openai';

const { MODEL = 'gpt-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [task = 'Refund the orders A and B.'] = process.argv.slice(2);

const host = new Client({ name: 'agent', version: '1.0.0' });
const requestInit = { headers: { authorization: `Bearer ${process.env['OPENAI_API_KEY']}` } };
await host.connect(new StreamableHTTPClientTransport(new URL(MCP_URL), { requestInit }) as never);
const { tools: listed } = await host.listTools();
const tools = listed.map(({ name, description = '', inputSchema: parameters }) => ({
  type: 'function' as const,
  function: { name, description, parameters },
}));

const openai = new OpenAI();
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: task }];
for (;;) {
  const { choices } = await openai.chat.completions.create({ model: MODEL, messages, tools });
  const message = choices[0]?.message ?? { role: 'assistant', content: '' };
  messages.push(message);
  if (!('tool_calls' in message) || message.tool_calls === undefined) {
    console.log(`answer: ${message.content}`);
    break;
  }
  for (const call of message.tool_calls) {
    if (call.type !== 'function') continue;
    const args = JSON.parse(call.function.arguments) as Record<string, unknown>;
    const { content } = await host.callTool({ name: call.function.name, arguments: args });
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(content) });
  }
}
await host.close();
