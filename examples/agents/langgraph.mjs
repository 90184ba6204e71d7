/** An agent as a graph of LangGraph, without a checkpointer. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run. */
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';

const { MODEL = 'gpt-5', MCP_URL = 'http://127.0.0.1:7420/runs/order-4711/mcp' } = process.env;
const [task = 'Refund the orders A and B.'] = process.argv.slice(2);

const host = new MultiServerMCPClient({ tools: { transport: 'http', url: MCP_URL } });
const tools = await host.getTools();
const model = new ChatOpenAI({ model: MODEL }).bindTools(tools);
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile();
const { messages } = await graph.invoke({ messages: [{ role: 'user', content: task }] });
console.log(`answer: ${messages.at(-1).text}`);
await host.close();
