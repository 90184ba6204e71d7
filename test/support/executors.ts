/** Executors of tests: what they answer, how often they ran, and when they continue.
 *  It must never act outside of the test. */
import { errorEnvelope } from '../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../src/contract/result.ts';
import {
  type LlmStream,
  llmStreamSchema,
  type ToolExec,
  toolExecSchema,
} from '../../src/contract/directive/work-directive.ts';
import {
  defineDirective,
  type DirectiveDefinition,
  type Execution,
  type ExecutionContext,
} from '../../src/worker/executors/definition.ts';

export type Execute = (directive: ToolExec, context: ExecutionContext) => Promise<Execution>;

export type Stream = (directive: LlmStream, context: ExecutionContext) => Promise<Execution>;

/** The `tool_exec` of a test; its repeat policy is `once` by default. */
export function testTool(execute: Execute) {
  return defineDirective<ToolExec>({
    mode: 'queued',
    type: 'tool_exec',
    schema: toolExecSchema,
    repeatPolicy: async ({ effect = 'once' }) => effect,
    started: ({ id, tool_name }) => ({ call_id: id, tool_name, metadata: {} }),
    execute,
  });
}

/** The `llm_stream` of a test, whose model is the code of the test. */
export function testModel(execute: Stream): DirectiveDefinition {
  return defineDirective<LlmStream>({
    mode: 'queued',
    type: 'llm_stream',
    schema: llmStreamSchema,
    repeatPolicy: async () => 'idempotent',
    started: () => null,
    execute,
  });
}

export const done: Execution = { result: okResult('done') };

export function fails(type: string, details: Record<string, unknown> = {}): Execution {
  return { result: errorResult(errorEnvelope(type, `it was ${type}`, details)) };
}

/** A promise for each moment that a test waits for. */
export function gate(): { open(): void; passed: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, passed: promise };
}

/** Resolves when the attempt is stopped. */
export async function aborted({ signal }: Pick<ExecutionContext, 'signal'>): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}

/** Answers in turn, the last answer for all that follow, and records whom it ran for. */
export function inTurn(...answers: Execution[]) {
  const ran: string[] = [];
  const execute: Execute = async ({ id }) => answers[Math.min(ran.push(id), answers.length) - 1] ?? done;
  return { execute, ran };
}

/** Runs until it is stopped, records whom it ran for, and then ends in `answer`. */
export function untilAborted(answer: Execution = fails('cancelled')) {
  const started = gate();
  const ran: string[] = [];
  const execute: Execute = async ({ id }, context) => {
    ran.push(id);
    started.open();
    await aborted(context);
    return answer;
  };
  return { execute, ran, started: started.passed };
}

/** Runs until the test lets it go on, whatever stops it meanwhile, and records whom it ran for. */
export function untilResumed(answer: Execution = done) {
  const [started, resumed] = [gate(), gate()];
  const ran: string[] = [];
  const execute: Execute = async ({ id }) => {
    ran.push(id);
    started.open();
    await resumed.passed;
    return answer;
  };
  return { execute, ran, started: started.passed, resume: resumed.open };
}
