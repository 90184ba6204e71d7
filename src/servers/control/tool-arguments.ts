/** The arguments of each tool, and the tool as `tools/list` shows it.
 *  It must never read a list or a run: what a call does is in tool-calls.ts. */
import * as z from 'zod';
import { STATUSES } from './todo-list.ts';

/** A tier or an agent that calls may name. */
export interface Named {
  readonly name: string;
  readonly description?: string;
}

/** Names that the installation has; an empty list: unknown, every name is accepted. */
export interface Known {
  readonly tiers: readonly Named[];
  readonly agents: readonly Named[];
}

const LONGEST_LINE = 1_000;
const LONGEST_TEXT = 100_000;

const lineSchema = z.string().min(1).max(LONGEST_LINE);
const textSchema = z.string().min(1).max(LONGEST_TEXT);

const tierSchema = z.string().max(LONGEST_LINE).describe('The tier that the item is for. Default: you.');

const todoSchema = z.strictObject({
  content: lineSchema.describe('What is to be done'),
  active_form: lineSchema.describe('The same in the progressive form, shown while it is being done'),
  status: z.enum(STATUSES),
  target_tier: tierSchema.optional(),
});

/** The schemas of the arguments, by tool. */
export function argumentSchemas({ tiers, agents }: Known) {
  const agentSchema = oneOf(agents, 'Name of an agent');
  return {
    todo_write: z.strictObject({
      action: z.enum(['add', 'update', 'remove', 'replace']).default('replace'),
      todos: z.array(todoSchema).max(LONGEST_LINE).optional().describe('For add and replace'),
      index: z.int().min(0).optional().describe('For update and remove: the number of the item in the list'),
      status: todoSchema.shape.status.optional(),
      content: todoSchema.shape.content.optional(),
      active_form: todoSchema.shape.active_form.optional(),
      target_tier: tierSchema.optional(),
    }),
    handoff: z.strictObject({
      target_tier: oneOf(tiers, 'Alias of the model that goes on'),
      reason: lineSchema,
      task_state: z.enum(['not_started', 'in_progress', 'blocked', 'plan_ready']),
    }),
    prune_context: z.strictObject({
      keep_recent: z.int().min(0).default(2).describe('How many of the newest tool results stay whole'),
    }),
    delegate: z.strictObject({
      target: agentSchema,
      task: textSchema.describe('All that the agent needs to know'),
      max_turns: z.int().min(1).max(30).optional().describe('Model calls of the agent at most'),
    }),
    pipeline: z.strictObject({
      stages: z.array(agentSchema).min(2).max(20).describe('Agents in their order'),
      task: textSchema,
    }),
    complete: z.strictObject({
      summary: textSchema.describe('The result, as the user reads it'),
      coverage_gap: z.boolean().optional().describe('Whether a part of the task is not done'),
      gap_description: z.string().max(LONGEST_TEXT).optional(),
      suggested_files: z.array(lineSchema).max(LONGEST_LINE).optional(),
    }),
    phase_change: z.strictObject({ phase: lineSchema.describe('Name of the phase') }),
  } as const;
}

export type ArgumentSchemas = ReturnType<typeof argumentSchemas>;
export type ControlTool = keyof ArgumentSchemas;

const DESCRIPTIONS: Readonly<Record<ControlTool, string>> = {
  todo_write: 'Keep the list of what is to be done. You see the list in every later call.',
  handoff: 'Let the model of another tier go on with this conversation, from the next call on.',
  prune_context: 'Replace old tool results by short notes, to free context.',
  delegate: 'Give a task to another agent, and go on with its answer.',
  pipeline: 'Give a task to several agents, one after the other; each gets the answer of the one before.',
  complete: 'End the task with a summary, when nothing is left to be done.',
  phase_change: 'Say that another phase of the work begins.',
};

export interface ToolDescriptor {
  readonly name: ControlTool;
  readonly description: string;
  readonly inputSchema: { type: 'object'; [key: string]: unknown };
  readonly annotations: { destructiveHint: false; idempotentHint: true; openWorldHint: false };
}

/** Each answer follows from the call alone, so a repeat does no harm. */
const ANNOTATIONS = { destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;

export function toolDescriptors(schemas: ArgumentSchemas): ToolDescriptor[] {
  return (Object.keys(schemas) as ControlTool[]).map((name) => {
    const { $schema: _, ...schema } = z.toJSONSchema(schemas[name], { io: 'input' });
    const inputSchema = { ...schema, type: 'object' } as const;
    return { name, description: DESCRIPTIONS[name], inputSchema, annotations: ANNOTATIONS };
  });
}

function oneOf(known: readonly Named[], what: string): z.ZodType<string, string> {
  const [first, ...others] = known;
  if (first === undefined) return lineSchema.describe(what);
  const listed = known.filter(({ description }) => description !== undefined && description !== '');
  const described = listed.map(({ name, description }) => `${name}: ${description}`);
  return z
    .enum([first.name, ...others.map(({ name }) => name)])
    .describe([what, ...described].join('\n').slice(0, LONGEST_TEXT));
}
