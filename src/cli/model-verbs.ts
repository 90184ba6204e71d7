/** The verbs that ask models.
 *  It must never do the work of a verb. */
import type { Command } from 'commander';
import { llm, type LlmOptions } from './commands/llm.ts';
import type { WithClient } from './invocation.ts';
import { decimal, wholeNumber } from './option-values.ts';

export function addModelVerbs(program: Command, withClient: WithClient): void {
  program
    .command('llm <prompt>')
    .description('ask a model, and print its answer as it comes; - reads the prompt from stdin')
    .option('--model <provider:model>', 'the model; default: the alias')
    .option('--alias <name>', 'the alias of a model or a chain of them; default: fast')
    .option('--system <text>', 'the system prompt')
    .option('--max-tokens <n>', 'limit of the answer; default: 1024', wholeNumber)
    .option('--temperature <t>', 'default: 0.2', decimal)
    .option('--schema <file>', 'a JSON Schema; the answer is a value that fits it')
    .option('--timeout-ms <ms>', "limit of one attempt; default: the provider's", wholeNumber)
    .option('--retries <n>', 'attempts after a failed first one; default: 0', wholeNumber)
    .option('--stream', 'print the words as they come; default: on a terminal')
    .option('--no-stream', 'ask for the whole answer at once')
    .option('--request <id>', 'the request it belongs to; default: a new one')
    .option('--id <id>', 'its id; default: a new one')
    .action(async (prompt: string, given: LlmOptions) =>
      withClient(async (invocation) => llm(invocation, prompt, given)),
    );
}
