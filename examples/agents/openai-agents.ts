/** An agent with OpenAI's Agents SDK. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run. */
import { Agent, MCPServerStreamableHttp, run } from '@openai/agents';

const { MODEL = 'gpt-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [task = 'Refund the orders A and B.'] = process.argv.slice(2);

const host = new MCPServerStreamableHttp({ url: MCP_URL });
await host.connect();
const agent = new Agent({
  name: 'Refunds',
  instructions: 'Refund what the user names.',
  model: MODEL,
  mcpServers: [host],
});
const { finalOutput } = await run(agent, task, { maxTurns: 30 });
console.log(`answer: ${finalOutput}`);
await host.close();
