/** An agent with the AI SDK. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run. */
import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs } from 'ai';

const { MODEL = 'gpt-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [prompt = 'Refund the orders A and B.'] = process.argv.slice(2);

const host = await createMCPClient({ transport: { type: 'http', url: MCP_URL } });
const { text } = await generateText({
  model: createOpenAI().chat(MODEL),
  tools: await host.tools(),
  stopWhen: stepCountIs(30),
  prompt,
});
console.log(`answer: ${text}`);
await host.close();
