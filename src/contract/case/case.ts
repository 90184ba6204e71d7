// A recorded case: one request with the questions and answers of its models and tools, one JSON object a line.
// Never changes the meaning of a line: cases are kept in repositories for years.
import * as z from 'zod';
import { jsonObjectSchema, toolNameSchema } from '../identifiers.ts';
import { messageSchema } from '../model/message.ts';
import { usageSchema } from '../model/usage.ts';
import { resultSchema } from '../result.ts';
import { requestOriginSchema } from '../run/run-origin.ts';
import { repeatPolicySchema } from '../directive/work-directive.ts';

/** Version of the format of cases. */
export const CASE_FORMAT = 1;

const count = z.int().min(0);
const durationMs = z.number().min(0).describe('Duration in milliseconds, retries and waits included.');

/** Schema of the end of a recorded run. */
export const caseEndSchema = z.object({
  status: z.string().describe('Status of the run: `completed`, `failed`, `cancelled` or `timeout`.'),
  termination_reason: z.string().nullable().describe('Reason why the run ended; null: unknown.'),
  result: z.unknown().describe('Result of the run; null: none.'),
  error: z.unknown().describe('Error of the run; null: none.'),
  iterations: count.describe('Number of model turns.'),
  tool_calls: count.describe('Number of tool calls.'),
  usage: usageSchema.describe('Token usage of the run.'),
  cost: z.number().nullable().describe('Cost in USD; null: the price of a used model is unknown.'),
  duration_ms: durationMs.nullable().describe('Duration of the run in milliseconds; null: unknown.'),
});

/** Schema of the first line: the request. */
const caseHeadSchema = z.object({
  kind: z.literal('case').describe('Kind of the line: the head of the case.'),
  format: z.literal(CASE_FORMAT).describe(`Version of the format: ${CASE_FORMAT}.`),
  request_id: z.string().max(128).describe('Id of the recorded request.'),
  agent: z.string().max(128).nullable().describe('Agent of the run; null: the request has no run.'),
  query: z.string().nullable().describe('Task of the run, as text; null: the request has no run.'),
  end: caseEndSchema.nullable().describe('End of the run; null: the request has no run.'),
  origin: requestOriginSchema
    .optional()
    .describe('Request that the run repeats or was forked from. Absent: none, or unknown.'),
});

/** Schema of a tool that the models of the request could call. */
const caseToolSchema = z.object({
  kind: z.literal('tool').describe('Kind of the line: a tool.'),
  name: toolNameSchema.describe('Name of the tool, `server.tool`.'),
  description: z.string().optional().describe('Description for the model. Absent: none, or unknown.'),
  input_schema: jsonObjectSchema.describe('JSON Schema of the arguments.'),
  effect: repeatPolicySchema.describe('Repeatability: `read`, `idempotent` or `once`.'),
});

/** Schema of a model call. */
const caseModelSchema = z.object({
  kind: z.literal('model').describe('Kind of the line: a model call, which begins a turn.'),
  id: z.string().max(256).describe('Id of the directive.'),
  model: z.string().max(256).nullable().describe('Model that answered, `provider:model`; null: unknown.'),
  system_prompt: z.string().nullable().describe('System prompt; null: none.'),
  kept_messages: count.describe('Number of leading messages that equal those of the model call before.'),
  messages: z.array(messageSchema).describe('Messages after the kept ones.'),
  tools: z.array(toolNameSchema).describe('Names of the tools of the call.'),
  answer: resultSchema.describe('Answer: a model turn, or an error.'),
  usage: usageSchema.nullable().describe('Token usage; null: not reported.'),
  duration_ms: durationMs,
});

/** Schema of a tool call. */
const caseCallSchema = z.object({
  kind: z.literal('call').describe('Kind of the line: a tool call of the turn before it.'),
  id: z.string().max(256).describe('Id of the directive.'),
  tool: toolNameSchema.describe('Name of the tool, `server.tool`.'),
  arguments: jsonObjectSchema.describe('Arguments of the call.'),
  answer: resultSchema.describe('Result of the call.'),
  duration_ms: durationMs,
});

/** Schema of a line of a recorded case. */
export const caseLineSchema = z.discriminatedUnion('kind', [
  caseHeadSchema,
  caseToolSchema,
  caseModelSchema,
  caseCallSchema,
  z.object({
    kind: z.literal('end').describe('Kind of the line: the end. A case without it is incomplete.'),
    lines: count.describe('Number of lines before this one.'),
  }),
]);

/** Line of a recorded case. */
export type CaseLine = z.infer<typeof caseLineSchema>;
/** Head of a recorded case. */
export type CaseHead = z.infer<typeof caseHeadSchema>;
/** Tool of a recorded case. */
export type CaseTool = z.infer<typeof caseToolSchema>;
/** Tool call of a recorded case. */
export type CaseCall = z.infer<typeof caseCallSchema>;
/** Model call of a recorded case, with all of its messages. */
export type CaseModel = Omit<z.infer<typeof caseModelSchema>, 'kept_messages'>;

/** Why lines are no case, or a request cannot become one. */
export class CaseFault extends Error {
  override readonly name = 'CaseFault';
}

/** One turn: a model call and the tool calls that follow it. */
export interface CaseTurn {
  /** null: calls before any model call. */
  readonly model: CaseModel | null;
  /** Tool calls in the order of acceptance. */
  readonly calls: readonly CaseCall[];
}

/** A recorded request. */
export interface RecordedCase {
  readonly head: CaseHead;
  readonly tools: readonly CaseTool[];
  readonly turns: readonly CaseTurn[];
}

/** Lines of a case, from its head to its end. */
export function caseLines({ head, tools, turns }: RecordedCase): CaseLine[] {
  const lines: CaseLine[] = [head, ...tools];
  let before: readonly unknown[] = [];
  for (const { model, calls } of turns) {
    if (model !== null) {
      const kept = sharedMessages(before, model.messages);
      lines.push({ ...model, kept_messages: kept, messages: model.messages.slice(kept) });
      before = model.messages;
    }
    lines.push(...calls);
  }
  return [...lines, { kind: 'end', lines: lines.length }];
}

function sharedMessages(before: readonly unknown[], after: readonly unknown[]): number {
  const parted = after.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(before[at]));
  return parted === -1 ? after.length : parted;
}

/**
 * Puts the lines of a case together.
 * @throws `CaseFault` that names the line where the lines are no case.
 */
export function caseOf(lines: readonly CaseLine[]): RecordedCase {
  const [head, ...others] = lines;
  if (head?.kind !== 'case') throw new CaseFault('line 1 is no head of a case');
  const end = others.at(-1);
  if (end?.kind !== 'end' || end.lines !== lines.length - 1)
    throw new CaseFault(
      `the case is incomplete: its last line is not that of ${lines.length - 1} lines before it`,
    );
  const tools: CaseTool[] = [];
  const turns: { model: CaseModel | null; calls: CaseCall[] }[] = [];
  let before: CaseModel['messages'] = [];
  for (const [at, line] of others.slice(0, -1).entries()) {
    if (line.kind === 'tool') tools.push(line);
    else if (line.kind === 'model') {
      const { kept_messages: kept, ...model } = line;
      if (kept > before.length)
        throw new CaseFault(`line ${at + 2} keeps ${kept} messages of ${before.length}`);
      before = [...before.slice(0, kept), ...line.messages];
      turns.push({ model: { ...model, messages: before }, calls: [] });
    } else if (line.kind === 'call') {
      if (turns.length === 0) turns.push({ model: null, calls: [] });
      turns.at(-1)?.calls.push(line);
    } else throw new CaseFault(`line ${at + 2} is of the kind "${line.kind}", which has no place there`);
  }
  return { head, tools, turns };
}
