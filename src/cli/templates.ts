/** The files that `adjutant init` writes: a first configuration, and the templates of a tool, an agent and a client.
 *  Every agent of them asks a person before a tool that writes. */

/** Path in the new folder → content. */
export type Files = Readonly<Record<string, string>>;

export const TEMPLATES = ['tools', 'agent', 'client'] as const;

export type Template = (typeof TEMPLATES)[number];

/** `schema`: place of the JSON Schema of the configuration. `template`: null: the configuration alone. */
export function filesOf(template: Template | null, schema: string): Files {
  const hasTools = template === 'tools' || template === 'agent';
  return {
    'adjutant.json': configuration(schema, template),
    'examples/hello.txt': 'Tools of the server "filesystem" read and write in this folder only.\n',
    ...(hasTools ? { 'tools/shop.mts': SHOP } : {}),
    ...(template === 'agent' ? { 'agents/clerk.mts': CLERK, 'clerk-script.json': CLERK_SCRIPT } : {}),
    ...(template === 'client' ? { 'client.mts': CLIENT } : {}),
  };
}

function configuration(schema: string, template: Template | null): string {
  const shop = `,
    // Your own tools: a module that a worker runs.
    "shop": { "module": "tools/shop.mts" }`;
  const clerk = `,
    "clerk": "agents/clerk.mts"`;
  return `// Configuration of Adjutant; comments are allowed. \`adjutant doctor\` checks it, \`adjutant up\` runs it, \`adjutant dev\` also restarts after a change.
{
  "$schema": ${JSON.stringify(schema)},

  // MCP servers, as other MCP hosts name them. A tool is called as server.tool: everything.get-sum.
  "mcpServers": {
    "everything": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything", "stdio"] },
    // Sees the folder examples and nothing else: not this file, .env or .adjutant.
    "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "examples"] }${template === 'tools' || template === 'agent' ? shop : ''}
  },

  // Repeats written answers, so that agents run without a key. No model is asked.
  "providers": { "demo": { "type": "scripted"${template === 'agent' ? ', "file": "clerk-script.json"' : ''} } },

  // The first model with a key in the environment answers: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY.
  "models": {
    "fast": ["anthropic:claude-haiku-4-5", "openai:gpt-5-mini", "google:gemini-2.5-flash", "demo:script"]
  },

  "agents": {
    "default": {
      "description": "Answers questions with the tools of both servers",
      "model_alias": "fast",
      "tools": ["everything.*", "filesystem.*"],
      // Each tool that writes waits for a person: \`adjutant approve\`, or the console.
      "policies": {
        "approvals": {
          "filesystem.write_file": "ask",
          "filesystem.edit_file": "ask",
          "filesystem.move_file": "ask",
          "filesystem.create_directory": "ask"
        }
      }
    }${template === 'agent' ? clerk : ''}
  }
}
`;
}

const SHOP = `import { defineTool, okResult } from 'adjutant/engine';
import * as z from 'zod';

export const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number',
  input: z.strictObject({ order: z.int().min(1) }),
  effect: 'read',
  execute: async ({ order }) => ({ result: okResult({ order, amount: 42, currency: 'EUR' }) }),
});

export const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back',
  input: z.strictObject({ order: z.int().min(1) }),
  // Never called again on its own, whatever dies: a second call would pay twice.
  effect: 'once',
  destructive: true,
  execute: async ({ order }, { idempotencyKey }) => ({
    result: okResult({ order, refunded: true, reference: idempotencyKey }),
  }),
});
`;

const CLERK = `import { defineAgent } from 'adjutant/engine';

export const clerk = defineAgent({
  name: 'clerk',
  description: 'Refunds orders, after a person has approved',
  model_alias: 'fast',
  system_prompt: 'Find the order first. Refund it only when the customer asks for it.',
  tools: ['shop.*'],
  policies: { approvals: { 'shop.refund': 'ask' } },
});
`;

const CLERK_SCRIPT = `{
  "turns": [
    { "when": { "user": "refund", "tool_results": true }, "text": "The refund is decided: {{shop.refund}}" },
    {
      "when": { "user": "refund" },
      "text": "This is a refund of order 1001.",
      "tool_calls": [{ "name": "shop.refund", "arguments": { "order": 1001 } }]
    },
    { "text": "I am a scripted model of clerk-script.json. Ask me to refund order 1001, or set the key of a provider." }
  ]
}
`;

const CLIENT = `import { createHttpClient } from 'adjutant/client';

const client = createHttpClient({ baseUrl: 'http://127.0.0.1:7420' });
// With the same request_id and id a repeat of this program is the same call.
const signal = await client.execute({
  type: 'tool_exec',
  request_id: 'first-sum',
  id: 'sum',
  tool_name: 'everything.get-sum',
  arguments: { a: 2, b: 3 },
});
console.log(signal.data.result);
await client.close();
`;
