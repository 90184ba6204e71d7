/** One request of each kind, with the trace that it must have: asserted of our own collector and of Jaeger alike.
 *  It must not depend on how fast anything is. */
import { look, type Scene, type Scenes } from './traced-scenes.ts';

export interface TracedRequest {
  readonly name: string;
  begin(scenes: Scenes): Promise<Scene>;
  /** As `outline` draws it. */
  readonly tree: readonly string[];
}

const chatTurn = (agent: string, depth: number): string[] =>
  [
    `INTERNAL turn ${agent}`,
    '  PRODUCER send llm.script',
    '    CONSUMER process llm.script',
    '      CLIENT chat m',
  ].map((line) => `${'  '.repeat(depth)}${line}`);

const toolCall = (tool: string, depth: number, server = 'traced'): string[] =>
  [
    `PRODUCER send tool.${server}`,
    `  CONSUMER process tool.${server}`,
    `    CLIENT execute_tool ${server}.${tool}`,
    `      SERVER tools/call ${tool}`,
  ].map((line) => `${'  '.repeat(depth)}${line}`);

const plannedTurn = [
  '    INTERNAL turn steady',
  '      PRODUCER send llm.first',
  '        CONSUMER process llm.first ✗ provider_error • directive.fallback',
  '          CLIENT chat busy ✗ provider_error',
  '        CONSUMER process llm.second ↩ previous_attempt',
  '          CLIENT chat planner',
];

const SUBMISSION = 'SERVER POST /v1/directives';
const START = 'SERVER POST /v1/requests';

const ORDERED = {
  delay_ms: 300,
  start_by_ms: 60_000,
  priority: 9,
  fairness_key: 'Ada',
  concurrency: { key: 'Ada', limit: 1 },
  rate: { key: 'Ada', max: 5, per_ms: 1_000 },
};
const ONCE = { dedupe: { key: 'Ada', window_ms: 60_000 } };

const ask = { type: 'llm_generate', model_alias: 'chain', context: [{ role: 'user', content: 'hi' }] };

export const TRACED_REQUESTS: readonly TracedRequest[] = [
  {
    name: 'a tool call',
    begin: (scenes) => scenes.directive(look('one')),
    tree: [SUBMISSION, ...toolCall('look', 1)],
  },
  {
    name: 'a retry',
    begin: (scenes) => scenes.directive({ ...look('two', { failures: 1 }), max_retries: 1 }),
    tree: [
      SUBMISSION,
      '  PRODUCER send tool.traced',
      '    CONSUMER process tool.traced ✗ execution_error • directive.retry_scheduled',
      '      CLIENT execute_tool traced.look ✗ execution_error',
      '        SERVER tools/call look',
      '    CONSUMER process tool.traced ↩ previous_attempt',
      '      CLIENT execute_tool traced.look',
      '        SERVER tools/call look',
    ],
  },
  {
    name: 'a fallback',
    begin: (scenes) => scenes.directive(ask),
    tree: [
      SUBMISSION,
      '  PRODUCER send llm.first',
      '    CONSUMER process llm.first ✗ provider_error • directive.fallback',
      '      CLIENT chat busy ✗ provider_error',
      '    CONSUMER process llm.second ↩ previous_attempt',
      '      CLIENT chat free',
    ],
  },
  {
    name: 'a call that is cancelled as it runs',
    begin: (scenes) => scenes.cancelled(look('held', { holds: 1 }), 'ai.tool.started'),
    tree: [
      SUBMISSION,
      '  PRODUCER send tool.traced',
      '    CONSUMER process tool.traced ✗ cancelled • directive.cancelled',
      '      CLIENT execute_tool traced.look ✗ cancelled',
      '        SERVER tools/call look',
    ],
  },
  {
    name: 'a call that is cancelled as it waits for its retry',
    begin: (scenes) => {
      const late = { ...look('late', { failures: 9 }), max_retries: 9, retry_backoff_ms: 600_000 };
      return scenes.cancelled(late, 'directive.retry_scheduled');
    },
    tree: [
      SUBMISSION,
      '  PRODUCER send tool.traced',
      '    CONSUMER process tool.traced ✗ execution_error • directive.retry_scheduled',
      '      CLIENT execute_tool traced.look ✗ execution_error',
      '        SERVER tools/call look',
      '    CLIENT settle tool.traced ✗ cancelled',
    ],
  },
  {
    name: 'a tool that nobody has',
    begin: (scenes) => scenes.directive({ type: 'tool_exec', tool_name: 'nowhere.to_go', arguments: {} }),
    tree: [SUBMISSION, '  INTERNAL execute_tool nowhere.to_go ✗ unknown_tool'],
  },
  {
    name: 'a run with two calls at once',
    begin: (scenes) => scenes.run('lead', 'both'),
    tree: [
      START,
      '  INTERNAL invoke_agent lead',
      ...chatTurn('lead', 2),
      '    INTERNAL turn lead',
      ...toolCall('look', 3),
      ...toolCall('look', 3),
      ...chatTurn('lead', 2),
    ],
  },
  {
    name: 'a run with a child',
    begin: (scenes) => scenes.run('lead', 'hand over'),
    tree: [
      START,
      '  INTERNAL invoke_agent lead',
      ...chatTurn('lead', 2),
      '    INTERNAL turn lead',
      ...toolCall('hand_over', 3, 'guide'),
      '    INTERNAL turn lead',
      '      INTERNAL invoke_agent helper',
      ...chatTurn('helper', 4),
      '    INTERNAL turn lead • agent.child.exit',
      ...chatTurn('lead', 2).slice(1),
    ],
  },
  {
    name: 'a run with an approval',
    begin: (scenes) => scenes.run('careful', 'ask me'),
    tree: [
      START,
      '  INTERNAL invoke_agent careful',
      ...chatTurn('careful', 2),
      '    INTERNAL turn careful • ai.tool.approval_requested',
      '    INTERNAL turn careful • ai.tool.approval_decided',
      ...toolCall('look', 3),
      ...chatTurn('careful', 2),
    ],
  },
  {
    name: 'a tool that asks a model and a person',
    begin: (scenes) =>
      scenes.answered({ type: 'tool_exec', tool_name: 'asking.sum-and-ask', arguments: {} }, { seats: 2 }),
    tree: [
      SUBMISSION,
      '  PRODUCER send tool.asking',
      '    CONSUMER process tool.asking • ai.tool.input_requested',
      '      CLIENT execute_tool asking.sum-and-ask',
      '        CLIENT chat m',
      '    INTERNAL answer',
      '    CONSUMER process tool.asking ↩ previous_attempt • directive.waiting',
      '      CLIENT execute_tool asking.sum-and-ask',
    ],
  },
  {
    name: 'a call over HTTP',
    begin: (scenes) => scenes.directive({ ...look('far'), tool_name: 'remote.look' }),
    tree: [SUBMISSION, ...toolCall('look', 1, 'remote')],
  },
  {
    name: 'an embedding',
    begin: (scenes) => scenes.directive({ type: 'llm_embed', model: 'second:small', texts: 'a' }),
    tree: [
      SUBMISSION,
      '  PRODUCER send llm.second',
      '    CONSUMER process llm.second',
      '      CLIENT embeddings small',
    ],
  },
  {
    name: 'a provider that asks to slow down',
    begin: (scenes) => scenes.directive({ ...ask, model_alias: undefined, model: 'second:limited' }),
    tree: [
      SUBMISSION,
      '  PRODUCER send llm.second',
      '    CONSUMER process llm.second • directive.paused',
      '      CLIENT chat limited ✗ rate_limited',
      '    CONSUMER process llm.second ↩ previous_attempt • directive.waiting',
      '      CLIENT chat limited',
    ],
  },
  {
    name: 'a call whose worker is stopped',
    begin: (scenes) => scenes.released(look('stopped', { holds: 1 })),
    tree: [
      SUBMISSION,
      '  PRODUCER send tool.traced',
      '    CONSUMER process tool.traced • directive.released',
      '      CLIENT execute_tool traced.look ✗ cancelled',
      '        SERVER tools/call look',
      '    CONSUMER process tool.traced ↩ previous_attempt',
      '      CLIENT execute_tool traced.look',
      '        SERVER tools/call look',
    ],
  },
  {
    name: 'a call that nobody takes before its deadline',
    begin: (scenes) => scenes.untaken({ ...look('untaken'), deadline_ms: 1_000 }),
    tree: [SUBMISSION, '  PRODUCER send tool.traced', '    CLIENT settle tool.traced ✗ deadline_exceeded'],
  },
  {
    name: 'a call that begins later and waits for its turn',
    begin: (scenes) => scenes.directive({ ...look('ordered'), ...ORDERED }),
    tree: [
      SUBMISSION,
      '  PRODUCER send tool.traced',
      '    INTERNAL wait tool.traced',
      '    INTERNAL wait tool.traced',
      '    CONSUMER process tool.traced',
      '      CLIENT execute_tool traced.look',
      '        SERVER tools/call look',
    ],
  },
  {
    name: 'a call under a key',
    begin: (scenes) => scenes.directive({ ...look('once'), ...ONCE }),
    tree: [SUBMISSION, ...toolCall('look', 1)],
  },
  {
    name: 'a call for which another one stands',
    begin: (scenes) => scenes.repeated({ ...look('once'), ...ONCE }),
    tree: [SUBMISSION, '  INTERNAL once tool.traced'],
  },
  {
    name: 'a run for which another one stands',
    begin: (scenes) => scenes.repeatedRun({ agent: 'lead', query: 'hello', ...ONCE }),
    tree: [START, '  INTERNAL once run'],
  },
  {
    name: 'a firing of a schedule',
    begin: (scenes) => scenes.fired(look('fired')),
    tree: ['INTERNAL fire each-second', ...toolCall('look', 1)],
  },
  {
    name: 'a schedule that somebody triggers',
    begin: (scenes) => scenes.triggered(look('triggered')),
    tree: ['SERVER POST /v1/schedules/:schedule_id/trigger', ...toolCall('look', 1)],
  },
  {
    name: 'a program that submits without HTTP',
    begin: (scenes) => scenes.direct(look('direct')),
    tree: toolCall('look', 0),
  },
  {
    name: 'a run with all of it',
    begin: (scenes) => scenes.everything(),
    tree: [
      START,
      '  INTERNAL invoke_agent steady ✗ cancelled • run.cancelled',
      ...plannedTurn,
      '    INTERNAL turn steady',
      '      PRODUCER send tool.remote',
      '        CONSUMER process tool.remote ✗ worker_lost • directive.worker_lost',
      '          CLIENT execute_tool remote.look ✗ worker_lost',
      '            SERVER tools/call look',
      '        CONSUMER process tool.remote ↩ lost_attempt • directive.redelivered',
      '          CLIENT execute_tool remote.look',
      '            SERVER tools/call look',
      '      PRODUCER send tool.traced',
      '        CONSUMER process tool.traced ✗ execution_error • directive.retry_scheduled',
      '          CLIENT execute_tool traced.look ✗ execution_error',
      '            SERVER tools/call look',
      '        CONSUMER process tool.traced ↩ previous_attempt',
      '          CLIENT execute_tool traced.look',
      '            SERVER tools/call look',
      ...plannedTurn,
      '    INTERNAL turn steady',
      '      PRODUCER send tool.traced',
      '        CONSUMER process tool.traced ✗ cancelled • directive.cancelled',
      '          CLIENT execute_tool traced.look ✗ cancelled',
      '            SERVER tools/call look',
      '    INTERNAL turn steady • ai.request.cancel_requested',
    ],
  },
  // The last one: what the worker has not sent yet dies with it.
  {
    name: 'a call whose worker is killed',
    begin: (scenes) => scenes.killed(look('killed', { holds: 1 })),
    tree: [
      SUBMISSION,
      '  PRODUCER send tool.traced',
      '    CONSUMER process tool.traced ✗ worker_lost • directive.worker_lost',
      '      CLIENT execute_tool traced.look ✗ worker_lost',
      '        SERVER tools/call look',
      '    CONSUMER process tool.traced ↩ lost_attempt • directive.redelivered',
      '      CLIENT execute_tool traced.look',
      '        SERVER tools/call look',
    ],
  },
];
