/** Submits a tool call over HTTP, follows its signals to the end, and reads the result.
 *  A service that asks for keys gets ADJUTANT_API_KEY. Run it beside `npm start`: node --conditions=adjutant-source examples/client.ts */
import { createHttpClient } from 'adjutant/client';

const apiKey = process.env['ADJUTANT_API_KEY'];
const client = createHttpClient({
  baseUrl: process.env['ADJUTANT_URL'] ?? 'http://127.0.0.1:7420',
  ...(apiKey === undefined ? {} : { apiKey }),
});

const submission = await client.submit({
  type: 'tool_exec',
  tool_name: 'everything.get-sum',
  arguments: { a: 2, b: 3 },
  timeout_ms: 5_000,
  max_retries: 2,
  retry_backoff_ms: 200,
});

for await (const signal of client.signals(submission.request_id)) {
  console.log(signal.sequence, signal.type);
  if (signal.type === 'ai.tool.result') console.log(signal.data.result);
}

await client.close();
