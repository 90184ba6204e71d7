/** An agent with the Claude Agent SDK. It keeps nothing, and knows nothing of Adjutant: ANTHROPIC_BASE_URL and MCP_URL name a run. */
import { query } from '@anthropic-ai/claude-agent-sdk';

const { MODEL = 'claude-sonnet-4-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [prompt = 'Refund the orders A and B.'] = process.argv.slice(2);

const options = {
  model: MODEL,
  systemPrompt: 'Refund what the user names.',
  mcpServers: { tools: { type: 'http', url: MCP_URL } },
  allowedTools: ['mcp__tools'],
  // Its own tools act on this machine, and no run has a record of them.
  tools: [],
  settingSources: [],
};
for await (const message of query({ prompt, options }))
  if (message.type === 'result') console.log(`answer: ${message.result}`);
