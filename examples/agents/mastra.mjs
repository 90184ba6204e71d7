/** An agent with Mastra. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run. */
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { MCPClient } from '@mastra/mcp';

const { MODEL = 'gpt-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [task = 'Refund the orders A and B.'] = process.argv.slice(2);

const host = new MCPClient({ servers: { tools: { url: new URL(MCP_URL) } } });
const agent = new Agent({
  id: 'refunds',
  name: 'Refunds',
  instructions: 'Refund what the user names.',
  model: createOpenAI().chat(MODEL),
  tools: await host.listTools(),
});
const { text } = await agent.generate(task, { maxSteps: 30 });
console.log(`answer: ${text}`);
await host.disconnect();
