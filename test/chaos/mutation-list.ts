/** The protections whose removal the checker must notice, and how each is removed.
 *  It must never hold a patch that no longer fits the sources. */

export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const SCRIPTS = 'src/journal/scripts';

function patch(file: string, from: string, to: string): Patch {
  return { file, from, to };
}

/** A protection, and how it is removed. */
export const MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  fencing: [
    patch(`${SCRIPTS}/finish.lua`, "elseif fence ~= '' and fence ~= record[2] then", 'elseif false then'),
    patch(`${SCRIPTS}/retry.lua`, 'elseif record[2] ~= ARGV[2] then', 'elseif false then'),
    patch(
      `${SCRIPTS}/append.lua`,
      "if record[1] ~= 'running' or record[2] ~= ARGV[2] then",
      "if record[1] ~= 'running' then",
    ),
  ],
  sweeper: [patch('src/queue/sweep.ts', '        await sweepAll();\n', '')],
  'idempotent-accept': [
    patch(
      `${SCRIPTS}/include-accept.lua`,
      "local stored = seen[id] or redis.call('HGET', STATE, id .. '|digest')",
      'local stored = seen[id]',
    ),
  ],
  'effect-policy': [patch('src/worker/outcome.ts', "if (effect === 'once')\n", 'if (false)\n')],
  takeover: [
    patch(`${SCRIPTS}/claim.lua`, 'if KEYS[4] then', 'if false then'),
    patch(
      'src/queue/sweep-decision.ts',
      "if (record.status === 'running') return leaseDecision(record, record.leaseUntil ?? now, now);",
      "if (record.status === 'running') return { kind: 'look_again', at: Math.max(record.deadlineAt, now + 1) };",
    ),
    // Where workers live long enough, BullMQ's own check hides it.
    patch('src/queue/consume.ts', 'stalledInterval: options.stalledCheckMs,', 'stalledInterval: 3_600_000,'),
  ],
  'known-task': [
    patch(
      'src/worker/attempt.ts',
      'lostAttemptError(repeatPolicy, claimed.granted.redeliveries, claimed.granted.task !== null)',
      'lostAttemptError(repeatPolicy, claimed.granted.redeliveries, false)',
    ),
  ],
  'task-resumed': [patch('src/worker/execute.ts', 'task: granted.task,', 'task: null,')],
  'one-answer': [
    patch(`${SCRIPTS}/answer.lua`, 'if at then\n', 'if false then\n'),
    patch(
      `${SCRIPTS}/answer.lua`,
      'number < round.first or round.open == 0 then',
      'number < round.first then',
    ),
  ],
  'serial-place': [
    patch(
      'src/worker/serial-place.ts',
      'if (!claimed.serial) return attempt();',
      'if (claimed) return attempt();',
    ),
    // BullMQ's own limit hides most of it.
    patch(
      'src/worker/shared-limits.ts',
      'await lanes.setGlobalConcurrency(lane, limit.concurrency);',
      'await lanes.setGlobalConcurrency(lane, null);',
    ),
  ],
  'unknown-outcome': [
    patch(`${SCRIPTS}/claim.lua`, "return { 'expired', lost, ", "return { 'expired', 0, "),
    patch(
      'src/queue/possible-execution.ts',
      "return (status === 'running' || task) && !isHarmless(directive);",
      'return false;',
    ),
  ],
  'delta-fence': [
    patch(
      `${SCRIPTS}/append.lua`,
      "if record[1] ~= 'running' or record[2] ~= ARGV[2] then",
      "if record[1] ~= 'running' then",
    ),
  ],
  'stage-accounting': [
    patch(
      'src/worker/attempt.ts',
      'failures: granted.failures - candidate.failures,',
      'failures: granted.failures,',
    ),
  ],
  'run-version': [
    patch(`${SCRIPTS}/run-commit.lua`, 'elseif version ~= tonumber(ARGV[1]) then', 'elseif false then'),
  ],
  'inbox-consumption': [
    patch(
      `${SCRIPTS}/run-commit.lua`,
      'local rest = inbox and string.sub(inbox, tonumber(ARGV[3]) + 1)',
      'local rest = inbox',
    ),
  ],
  'inbox-rest': [
    patch(
      `${SCRIPTS}/run-commit.lua`,
      'local rest = inbox and string.sub(inbox, tonumber(ARGV[3]) + 1)',
      "local rest = inbox and ''",
    ),
  ],
  'end-reaches-run': [
    patch(
      `${SCRIPTS}/include-record.lua`,
      '    ended[#ended + 1] = RUN_INBOX\n    ended[#ended + 1] = facts.run\n',
      '',
    ),
  ],
  'seal-if-empty': [
    patch(`${SCRIPTS}/run-commit.lua`, "if final and inbox and rest ~= '' then", 'if false then'),
  ],
};
