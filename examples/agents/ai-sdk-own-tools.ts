/** An agent with the AI SDK and a tool of its own process. OPENAI_BASE_URL names a run, and `durableTools` records each call of the tool in it:
 *  a restart gets the recorded result, and the mail is sent once. */
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createOpenAI } from '@ai-sdk/openai';
import { createRunClient } from 'adjutant/client';
import { generateText, stepCountIs, tool, type ToolSet } from 'ai';
import * as z from 'zod';

export interface DurableToolsOptions {
  readonly client: Pick<ReturnType<typeof createRunClient>, 'step'>;
  /** Name of the run, the same as in the address of the model. */
  readonly run: string;
  /** Whether a tool may run again when its process died, by name. Default: `once`, whose outcome is unknown then. */
  readonly effects?: Readonly<Record<string, 'read' | 'idempotent' | 'once'>>;
}

/** The same tools; each call is a step of the run. Tools without `execute` stay as they are. */
export function durableTools<T extends ToolSet>(
  tools: T,
  { client, run, effects = {} }: DurableToolsOptions,
): T {
  const durable = Object.entries(tools).map(([name, original]) => {
    const { execute } = original;
    if (execute === undefined) return [name, original];
    const recorded: typeof execute = async (input, options) => {
      // Some providers give an id again in a later turn, whose history is longer.
      const call = JSON.stringify([name, options.toolCallId, options.messages.length, input]);
      const key = `${name}.${createHash('sha256').update(call).digest('hex').slice(0, 32)}`;
      const { [name]: effect = 'once' } = effects;
      return client.step(run, name, () => execute(input, options), { key, effect });
    };
    return [name, { ...original, execute: recorded }];
  });
  return Object.fromEntries(durable) as T;
}

if (import.meta.main) {
  const { MODEL = 'gpt-5', ADJUTANT_URL = 'http://127.0.0.1:7420', RUN = 'order-4711' } = process.env;
  const { MAIL_FILE = 'mails.txt' } = process.env;
  const tools = {
    send_mail: tool({
      description: 'Sends a mail',
      inputSchema: z.object({ to: z.string() }),
      execute: ({ to }) => {
        appendFileSync(MAIL_FILE, `${to}\n`);
        return { sent: true };
      },
    }),
  };
  const { text } = await generateText({
    model: createOpenAI({ baseURL: `${ADJUTANT_URL}/runs/${RUN}/openai/v1` }).chat(MODEL),
    tools: durableTools(tools, { client: createRunClient({ baseUrl: ADJUTANT_URL }), run: RUN }),
    stopWhen: stepCountIs(30),
    prompt: 'Tell Ana that her order is refunded.',
    onStepFinish: ({ toolCalls }) => console.log(`step: ${toolCalls.length} calls`),
  });
  console.log(`answer: ${text}`);
}
