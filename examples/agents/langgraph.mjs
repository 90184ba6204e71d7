/** An agent with LangGraph. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run. */
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';

const { MODEL = 'gpt-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [task = 'Refund the orders A and B.'] = process.argv.slice(2);

const host = new MultiServerMCPClient({ tools: { transport: 'http', url: MCP_URL } });
const agent = createAgent({ model: new ChatOpenAI({ model: MODEL }), tools: await host.getTools() });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: task }] });
console.log(`answer: ${messages.at(-1).text}`);
await host.close();
