/** An agent of somebody else: a loop over a model's address and an MCP address, and nothing of the service.
 *  It must not keep anything: it is killed and started again. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

interface Called {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

const { MODEL_URL = '', MCP_URL = '' } = process.env;
const messages: object[] = [{ role: 'user', content: 'Refund the orders A and B.' }];
const tools = new Client({ name: 'agent', version: '1' });
await tools.connect(new StreamableHTTPClientTransport(new URL(MCP_URL)) as never);

for (;;) {
  const response = await fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'play:m', messages }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { choices } = (await response.json()) as {
    choices: { message: { content: string; tool_calls?: Called[] } }[];
  };
  const message = choices[0]?.message;
  if (message === undefined) throw new Error('no answer');
  messages.push(message);
  if (message.tool_calls === undefined) {
    console.log(`answer: ${message.content}`);
    break;
  }
  for (const { id, function: called } of message.tool_calls) {
    const args = JSON.parse(called.arguments) as Record<string, unknown>;
    const result = await tools.callTool({ name: called.name, arguments: args }, undefined, {
      timeout: 60_000,
    });
    messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result.content) });
  }
}
await tools.close();
