/** The verbs that call models and agents, and steer runs.
 *  It must never do the work of a verb. */
import type { Command } from 'commander';
import { ask, type AskOptions } from './commands/ask.ts';
import { llm, type LlmOptions } from './commands/llm.ts';
import { decide, type DecisionOptions, input, type InputOptions } from './commands/steer.ts';
import type { WithClient } from './invocation.ts';
import { addEndOption } from './end-options.ts';
import { addFlowOptions } from './flow-options.ts';
import { addLaterOptions } from './later-options.ts';
import { addOnceOptions } from './once-options.ts';
import { decimal, wholeNumber } from './option-values.ts';

export function addModelVerbs(program: Command, withClient: WithClient): void {
  addLlm(program, withClient);
  addAsk(program, withClient);
  addSteering(program, withClient);
}

function addLlm(program: Command, withClient: WithClient): void {
  program
    .command('llm <prompt>')
    .description('call a model, and print its answer; - reads the prompt from stdin')
    .option('--model <provider:model>', 'the model; default: the alias')
    .option('--alias <name>', 'the alias of a model or a chain of them; default: fast')
    .option('--system <text>', 'the system prompt')
    .option('--max-tokens <n>', 'limit of the answer; default: 1024', wholeNumber)
    .option('--temperature <t>', 'default: 0.2', decimal)
    .option('--schema <file>', 'a JSON Schema; the answer is a value that fits it')
    .option('--timeout-ms <ms>', "limit of one attempt; default: the provider's", wholeNumber)
    .option('--max-retries <n>', 'attempts after a failed first one; default: 0', wholeNumber)
    .option('--stream', 'print the answer as it arrives; default: on a terminal')
    .option('--no-stream', 'request the whole answer at once')
    .option('--request <id>', 'the request it belongs to; default: a new one')
    .option('--id <id>', 'its id; default: a new one')
    .action(async (prompt: string, given: LlmOptions) =>
      withClient(async (invocation) => llm(invocation, prompt, given)),
    );
}

const WITH_KEY = 'with the first key of ADJUTANT_ENCRYPTION_KEYS';

function addAsk(program: Command, withClient: WithClient): void {
  const verb = program
    .command('ask <query>')
    .description('start a run of an agent and follow it to its answer; - reads the query from stdin')
    .option('--agent <name>', 'default: default')
    .option('--conversation <id>', 'runs of one conversation share its history')
    .option('--model <provider:model>', "default: the agent's")
    .option('--alias <name>', "an alias of models; default: the agent's")
    .option('--stream', 'print the answer as it arrives; default: on a terminal')
    .option('--no-stream', 'request whole answers from the models')
    .option('--request <id>', 'id of the request; default: a new one')
    .option('--encrypt', `encrypt the query ${WITH_KEY}`);
  addEndOption(addOnceOptions(addFlowOptions(addLaterOptions(verb)), 'run')).action(
    async (query: string, given: AskOptions) =>
      withClient(async (invocation) => ask(invocation, query, given)),
  );
}

function addSteering(program: Command, withClient: WithClient): void {
  program
    .command('input <request> <text>')
    .description('send input to a run under way; the run reads it before its next model call')
    .option('--id <id>', 'the same id is the same input; default: a new one')
    .option('--encrypt', `encrypt the text ${WITH_KEY}`)
    .action(async (request: string, text: string, given: InputOptions) =>
      withClient(async (invocation) => input(invocation, request, text, given)),
    );
  program
    .command('approve <request> <call>')
    .description('approve a waiting tool call')
    .option('--reason <text>', 'kept with the decision')
    .option('--arguments <json>', 'call it with these instead')
    .option('--by <name>', 'who decides; default: the user of this process')
    .option('--encrypt', `encrypt arguments and reason ${WITH_KEY}`)
    .action(async (requestId: string, callId: string, given: DecisionOptions) =>
      withClient(async (invocation) => decide(invocation, { requestId, callId }, 'approve', given)),
    );
  program
    .command('deny <request> <call>')
    .description('deny a waiting tool call; the model reads the reason')
    .option('--reason <text>', 'shown to the model')
    .option('--by <name>', 'who decides; default: the user of this process')
    .option('--encrypt', `encrypt the reason ${WITH_KEY}`)
    .action(async (requestId: string, callId: string, given: DecisionOptions) =>
      withClient(async (invocation) => decide(invocation, { requestId, callId }, 'deny', given)),
    );
}
