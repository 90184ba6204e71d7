/** A run of the pure core in memory: its document, log and open directives; the test plays everything else.
 *  It must not decide anything itself: the test decides what happens when. */
import { defineAgent } from '../../../src/agents/define-agent.ts';
import type { SubmittedAgentDefinition } from '../../../src/contract/run/agent-definition.ts';
import type { ListedTool } from '../../../src/contract/tool/tool-listing.ts';
import { type CoreOptions, createCore } from '../../../src/agents/core/core.ts';
import { stateOf } from '../../../src/agents/core/run-state.ts';
import type {
  EmittedSignal,
  EngineCore,
  JsonObject,
  LogEntry,
  OutboxEntry,
  RunDocument,
  RunEvent,
  RunSetup,
  RunSpec,
  Transition,
} from '../../../src/agents/turn/transition.ts';

export const T0 = 1_700_000_000_000;

export function tool(name: string, annotations?: JsonObject): ListedTool {
  return {
    name,
    server: name.split('.')[0] ?? 's',
    tool: name.split('.').slice(1).join('.'),
    input_schema: { type: 'object' },
    effect: 'once',
    ...(annotations ? { annotations } : {}),
  };
}

export const TOOLS = [tool('math.add'), tool('fs.list'), tool('fs.remove', { destructiveHint: true })];

export function runSpec(over: Partial<RunSpec> = {}): RunSpec {
  const query = over.query ?? 'What is 2+3?';
  return {
    request_id: 'r1',
    run_id: 'run-1',
    agent: 'helper',
    query,
    messages: [{ role: 'user', content: query }],
    overrides: {},
    metadata: {},
    conversation_id: null,
    parent: null,
    started_at: T0,
    ...over,
  };
}

export function runSetup(agent: Partial<SubmittedAgentDefinition> = {}, tools = TOOLS): RunSetup {
  return { agent: defineAgent({ name: 'helper', ...agent }), tools };
}

export interface SimulationOptions {
  agent?: Partial<SubmittedAgentDefinition>;
  tools?: ListedTool[];
  spec?: Partial<RunSpec>;
  core?: CoreOptions;
}

type AnyDirective = Transition['directives'][number];

export class Simulation {
  readonly core: EngineCore;
  readonly spec: RunSpec;
  readonly setup: RunSetup;
  document: RunDocument;
  now = T0;
  readonly log: EmittedSignal[] = [];
  readonly logged: LogEntry[] = [];
  /** Every directive that was ever accepted, in order. */
  readonly accepted: AnyDirective[] = [];
  /** What the last transition added. */
  last: Transition;
  #sequence = 0;

  constructor(options: SimulationOptions = {}) {
    this.core = createCore(options.core);
    this.spec = runSpec(options.spec);
    this.setup = runSetup(options.agent, options.tools);
    this.last = this.core.begin(this.spec, this.setup, this.now);
    this.document = this.last.document;
    this.#take(this.last);
  }

  get status(): string {
    return this.document.status;
  }

  get view() {
    return this.core.view(this.spec, this.document);
  }

  get state() {
    return stateOf(this.document);
  }

  get messages() {
    return this.view.messages as JsonObject[];
  }

  get outbox(): OutboxEntry[] {
    return this.document.outbox;
  }

  types(): string[] {
    return this.log.map(({ type }) => type);
  }

  signalsOf(type: string): JsonObject[] {
    return this.log.filter((signal) => signal.type === type).map(({ data }) => data);
  }

  directive(id: string): JsonObject {
    const found = this.accepted.find((directive) => directive.id === id);
    if (!found) throw new Error(`no directive ${id}: ${this.accepted.map((one) => one.id).join(', ')}`);
    return found as JsonObject;
  }

  ids(): string[] {
    return this.accepted.map(({ id }) => id);
  }

  event(event: RunEvent): this {
    return this.#apply(this.core.advance(this.spec, this.document, event, this.now));
  }

  signal(type: string, data: JsonObject): this {
    return this.event(signalEvent(type, data, ++this.#sequence));
  }

  /** Time passes, and a turn checks the clock. */
  pass(ms: number): this {
    this.now += ms;
    return this.event({ kind: 'clock' });
  }

  model(id: string, turn: JsonObject, extra: JsonObject = {}): this {
    return this.signal('ai.llm.response', modelAnswer(id, turn, extra));
  }

  modelFails(id: string, error: JsonObject): this {
    const result = {
      ok: false,
      error: { message: '', details: {}, retryable: false, ...error },
      effects: [],
    };
    return this.signal('ai.llm.response', { call_id: id, result, metadata: {} });
  }

  tool(id: string, payload: unknown, effects: unknown[] = []): this {
    return this.signal('ai.tool.result', toolAnswer(id, payload, effects));
  }

  /** Like the shell for `emit_tool_error`: its result is in the log at once. */
  emitted(id: string): this {
    const directive = this.directive(id);
    const result = { ok: false, error: directive['error'], effects: [] };
    const data = { call_id: id, tool_name: directive['tool_name'], result, metadata: {} };
    return this.signal('ai.tool.result', data as JsonObject);
  }

  input(content: string, id = 'i1'): this {
    return this.signal('ai.request.input', { request_id: this.spec.request_id, input_id: id, content });
  }

  cancel(reason: string | null = null): this {
    return this.signal('ai.request.cancel_requested', { request_id: this.spec.request_id, reason });
  }

  decide(callId: string, decision: string, more: JsonObject = {}): this {
    return this.signal('ai.tool.approval_decided', { call_id: callId, decision, ...more });
  }

  acknowledge(entryId: string, failure: string | null = null): this {
    const { spec, document, now } = this;
    return this.#apply(this.core.acknowledge(spec, document, entryId, failure, now));
  }

  #apply(transition: Transition): this {
    this.last = transition;
    this.document = transition.document;
    this.#take(transition);
    return this;
  }

  #take({ signals, directives, log }: Transition): void {
    this.log.push(...signals);
    this.accepted.push(...directives);
    this.logged.push(...log);
  }
}

export function signalEvent(type: string, data: JsonObject, sequence = 1): RunEvent {
  const time = new Date(T0).toISOString();
  const envelope = { specversion: '1.0', id: `s${sequence}`, source: '/x', subject: 'r1', time, sequence };
  return { kind: 'signal', signal: { ...envelope, type, data } as never };
}

export function modelAnswer(id: string, turn: JsonObject, extra: JsonObject = {}): JsonObject {
  const payload = {
    type: 'final_answer',
    text: '',
    thinking: '',
    tool_calls: [],
    finish_reason: 'stop',
    usage: null,
    model: 'scripted:m',
    ...turn,
  };
  return { call_id: id, result: { ok: true, payload, effects: [] }, metadata: {}, ...extra };
}

export function toolAnswer(id: string, payload: unknown, effects: unknown[] = []): JsonObject {
  return { call_id: id, tool_name: 'x', result: { ok: true, payload, effects }, metadata: {} };
}

export function call(name: string, args: JsonObject = {}, id = 'c1'): JsonObject {
  return { id, name, arguments: args };
}

export function calls(...list: JsonObject[]): JsonObject {
  return { type: 'tool_calls', tool_calls: list, finish_reason: 'tool_calls' };
}
