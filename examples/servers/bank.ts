/** A small MCP server with a tool that must not run twice: `charge` moves money, `balance` only reads.
 *  Each execution appends a line to the file of its first argument, before anything else: that is the counter. Default: a new file, which
 *  it names on stderr. */
import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const SLOW_MS = 1_500;
const counter = process.argv[2] ?? join(mkdtempSync(join(tmpdir(), 'bank-')), 'executions.log');
if (process.argv[2] === undefined) console.error(`Counts executions in ${counter}`);

async function executed(tool: string): Promise<void> {
  appendFileSync(counter, `${tool}\n`);
  await delay(SLOW_MS);
}

serveStdio(() => {
  const server = new McpServer({ name: 'bank', version: '1.0.0' });
  server.registerTool(
    'charge',
    {
      description: 'Charges a card.',
      inputSchema: z.object({ euros: z.number().positive().describe('Amount.') }),
      // A second execution would take the money twice, so Adjutant calls it `once`.
      annotations: { readOnlyHint: false, idempotentHint: false },
    },
    async ({ euros }) => {
      await executed('charge');
      return { content: [{ type: 'text', text: `${euros} € charged.` }] };
    },
  );
  server.registerTool(
    'balance',
    { description: 'Reads the balance.', inputSchema: z.object({}), annotations: { readOnlyHint: true } },
    async () => {
      await executed('balance');
      return { content: [{ type: 'text', text: 'The balance is 960 €.' }] };
    },
  );
  return server;
});
