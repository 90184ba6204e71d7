/** A small MCP server whose one tool fails as often as it is told to, counting its calls in the file it was started with.
 *  It must not keep the count in memory: a restarted server goes on where the last one stopped. */
import { appendFileSync, readFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const countFile = process.argv[2] ?? '';
if (countFile === '') throw new Error('Usage: node flaky.ts <file to count calls in>');

const fetchReport = {
  title: 'Fetch a report',
  description: 'Fails the first `failures` times it is asked for a report, then delivers it.',
  inputSchema: z.object({
    report: z.string().describe('Name of the report; each is counted on its own.'),
    failures: z.number().int().nonnegative().describe('How many calls fail before one succeeds.'),
  }),
  annotations: { readOnlyHint: true },
};

serveStdio(() => {
  const server = new McpServer({ name: 'flaky', version: '1.0.0' });
  server.registerTool('fetch-report', fetchReport, ({ report, failures }) => {
    const calls = countCall(report);
    return calls > failures ? text(`${report}: delivered on call ${calls}`) : busy(calls);
  });
  return server;
});

/** One line a call, so that a reader can count who was called how often. */
function countCall(report: string): number {
  appendFileSync(countFile, `${report}\n`);
  const lines = readFileSync(countFile, 'utf8').split('\n');
  return lines.filter((line) => line === report).length;
}

function text(content: string) {
  return { content: [{ type: 'text' as const, text: content }] };
}

/** A tool says whether trying again may help; without the hint its error would be final. */
function busy(calls: number) {
  const error = { type: 'tool_error', message: `The archive is busy (call ${calls})`, retryable: true };
  return { ...text(JSON.stringify(error)), isError: true };
}
