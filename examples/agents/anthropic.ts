/** An agent with Anthropic's SDK and the MCP SDK. It keeps nothing, and knows nothing of Adjutant: ANTHROPIC_BASE_URL and MCP_URL name a run. */
import Anthropic from '@anthropic-ai/sdk';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { MODEL = 'claude-sonnet-4-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [task = 'Refund the orders A and B.'] = process.argv.slice(2);

const host = new Client({ name: 'agent', version: '1.0.0' });
await host.connect(new StreamableHTTPClientTransport(new URL(MCP_URL)) as never);
const { tools: listed } = await host.listTools();
const tools = listed.map(({ name, description = '', inputSchema }) => ({
  name,
  description,
  input_schema: inputSchema as Anthropic.Tool.InputSchema,
}));

const anthropic = new Anthropic();
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: task }];
for (;;) {
  const stream = anthropic.messages.stream({ model: MODEL, max_tokens: 1_024, messages, tools });
  const { content, stop_reason } = await stream.finalMessage();
  messages.push({ role: 'assistant', content });
  for (const block of content) if (block.type === 'text') console.log(`answer: ${block.text}`);
  if (stop_reason !== 'tool_use') break;
  const results: Anthropic.ToolResultBlockParam[] = [];
  for (const block of content) {
    if (block.type !== 'tool_use') continue;
    const called = await host.callTool({
      name: block.name,
      arguments: block.input as Record<string, unknown>,
    });
    results.push({ type: 'tool_result', tool_use_id: block.id, content: JSON.stringify(called.content) });
  }
  messages.push({ role: 'user', content: results });
}
await host.close();
