// An agent in the configuration: the definition of the contract, and a note on each key.
// Must never change what an agent may be: the contract decides that.
import {
  agentDefinitionSchema,
  agentPoliciesSchema,
  compactionSchema,
  errorPolicySchema,
  runLimitOverridesSchema,
  runLimitsSchema,
} from '../contract/run/agent-definition.ts';
import { type Note, notes } from './notes.ts';

/** Without its name, which is the key. */
export const inlineAgentSchema = agentDefinitionSchema.omit({ name: true });

type Shape = Readonly<Record<string, Parameters<typeof notes.add>[0]>>;
type NotesOf<S extends Shape> = { readonly [Key in keyof S]: Note };

function annotate<S extends Shape>(shape: S, shapeNotes: NotesOf<S>): void {
  for (const [key, schema] of Object.entries(shape)) {
    const note = shapeNotes[key];
    if (note !== undefined) notes.add(schema, note);
  }
}

annotate(inlineAgentSchema.shape, {
  description: { description: 'For people; `adjutant agents` shows it.' },
  strategy: { description: 'The strategy: `react`, or one of a module.' },
  options: { description: 'Settings of the strategy.' },
  model: { description: 'The model, `provider:model`; wins over `model_alias`.', fallback: 'the alias' },
  model_alias: { description: 'The alias of a model or of a chain of models.' },
  system_prompt: { description: 'Goes before the messages of every model call.' },
  tools: {
    description: 'Tools that the agent may use: names, or patterns over all tools.',
    special: '`*` in a pattern = any characters; an empty list = none',
  },
  tool_context: { description: 'Given to every tool call as its `context`; the model never sees it.' },
  max_tokens: { description: 'The longest answer of one model call.', unit: 'tokens' },
  temperature: { description: 'Sampling temperature of every model call.' },
  provider_options: {
    description: 'Parameters for the provider, in every model call; `params` of the provider win.',
    fallback: 'none',
  },
  stream: { description: 'Stream answers, as signals `ai.llm.delta`.' },
  limits: { description: 'What a run may use up.' },
  policies: { description: 'Who decides what.' },
  model_call: { description: 'Time and retries of each model call.' },
  tool_call: { description: 'Time and retries of each tool call.' },
  compaction: {
    description: 'When a long history is shortened: old tool results become notes, then old messages.',
  },
});

const LIMIT_NOTES = {
  max_iterations: { description: 'Model calls of a run.', unit: 'calls' },
  max_tool_calls: { description: 'Tool calls of a run.', special: 'null = no limit', unit: 'calls' },
  max_tokens: {
    description: 'Tokens of a run, read and written.',
    special: 'null = no limit',
    unit: 'tokens',
  },
  max_cost: {
    description: 'Cost of a run, by the prices under `providers`.',
    special: 'null = no limit',
    unit: 'US dollars',
  },
  deadline_ms: {
    description: 'Time of the whole run, without its waits for decisions of people.',
    unit: 'ms',
  },
  parallel_tool_calls: { description: 'Tool calls at once; the others wait.', unit: 'calls' },
  max_pending: { description: 'Directives of a run that may be open at once.', unit: 'directives' },
};

annotate(runLimitsSchema.shape, LIMIT_NOTES);

const asFor = (note: Note): Note => ({ ...note, fallback: 'as for agents' });

annotate(runLimitOverridesSchema.shape, {
  max_iterations: asFor(LIMIT_NOTES.max_iterations),
  max_tool_calls: asFor(LIMIT_NOTES.max_tool_calls),
  max_tokens: asFor(LIMIT_NOTES.max_tokens),
  max_cost: asFor(LIMIT_NOTES.max_cost),
  deadline_ms: asFor(LIMIT_NOTES.deadline_ms),
  parallel_tool_calls: asFor(LIMIT_NOTES.parallel_tool_calls),
  max_pending: asFor(LIMIT_NOTES.max_pending),
});

annotate(agentPoliciesSchema.shape, {
  busy: {
    description: 'What a run does while another one of its conversation is in progress.',
    special: '`reject` = fails; `queue` = waits; `interrupt` = cancels the other',
  },
  approvals: {
    description: 'By tool or pattern: `auto`, `ask` or `deny`; the longest match wins.',
    fallback: '`ask` for tools annotated as destructive, else `auto`',
  },
  approval_timeout_ms: {
    description:
      'A run in which a call or a budget has no decision after this time fails with `approval_expired`. Its deadline does not pass meanwhile.',
    unit: 'ms',
  },
  budget: {
    description: 'What a run does at a limit.',
    special: '`stop` = ends; `ask` = waits for a decision',
  },
  error: {
    description: 'What an `error` directive does, beside a line in the log and a signal `agent.error`.',
    special:
      '`log`, `emit` = the run goes on; `stop` = ends the run; `{"max_errors": n}` = ends it at the n-th',
  },
  overrides: {
    description: 'What a run’s own limits and approvals may do.',
    special: '`narrow` = only tighten the agent’s; `any` = replace them',
  },
  parent_death: {
    description: 'What a child run does when its parent ends.',
    special:
      '`stop` = is cancelled; `continue` = goes on; `orphan` = goes on, and its strategy gets `agent.parent.exit`',
  },
});

annotate(errorPolicySchema.options[1].shape, {
  max_errors: { description: 'The error that ends the run.', unit: 'errors' },
});

annotate(compactionSchema.shape, {
  context_tokens: { description: 'Size of the model’s context.', unit: 'tokens' },
  threshold: { description: 'Part of the context that the history may fill before it is shortened.' },
  keep_recent: {
    description: 'Newest messages that stay as they are, unless a model refuses the history as too long.',
    unit: 'messages',
  },
});

/** For calls to models and to tools. */
const CALL_NOTES = {
  timeout_ms: { description: 'Limit of an attempt.', unit: 'ms', fallback: 'as the lane says' },
  deadline_ms: {
    description: 'Limit of the whole call, with its retries and its wait for a server that is down.',
    unit: 'ms',
    fallback: '900,000 (15 minutes)',
  },
  max_retries: { description: 'Attempts after the first one failed.', unit: 'attempts' },
  retry_backoff_ms: { description: 'Wait before a retry.', unit: 'ms' },
  backoff: {
    description: 'Growth of the wait.',
    special: '`fixed` = none; `exponential` = doubles with each retry',
  },
  max_backoff_ms: { description: 'Longest wait of `exponential`.', unit: 'ms' },
  jitter: { description: 'Part by which a wait is shortened at random.' },
};

for (const call of ['model_call', 'tool_call'] as const)
  annotate(inlineAgentSchema.shape[call].unwrap().shape, CALL_NOTES);
