/** The protections whose removal the checker must notice, and how each is removed.
 *  It must never hold a patch that no longer fits the sources. */

export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const SCRIPTS = 'src/journal/scripts';
/** A protection, and how it is removed. */
export const MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  fencing: [
    {
      file: `${SCRIPTS}/finish.lua`,
      from: "elseif fence ~= '' and fence ~= record[2] then",
      to: 'elseif false then',
    },
    { file: `${SCRIPTS}/retry.lua`, from: 'elseif record[2] ~= ARGV[2] then', to: 'elseif false then' },
    {
      file: `${SCRIPTS}/append.lua`,
      from: "if record[1] ~= 'running' or record[2] ~= ARGV[2] then",
      to: "if record[1] ~= 'running' then",
    },
  ],
  sweeper: [
    {
      file: 'src/queue/sweep.ts',
      from: '        await sweepAll();\n',
      to: '',
    },
  ],
  'idempotent-accept': [
    {
      file: `${SCRIPTS}/include-accept.lua`,
      from: "local stored = seen[id] or redis.call('HGET', STATE, id .. '|digest')",
      to: 'local stored = seen[id]',
    },
  ],
  'effect-policy': [{ file: 'src/worker/outcome.ts', from: "if (effect === 'once')\n", to: 'if (false)\n' }],
  takeover: [
    {
      file: 'src/worker/attempt.ts',
      from: 'parts.records.index.lookWithin({ requestId, id }, leaseMs),',
      to: 'undefined,',
    },
    {
      file: 'src/queue/sweep-decision.ts',
      from: "if (record.status === 'running') return leaseDecision(record, record.leaseUntil ?? now, now);",
      to: "if (record.status === 'running') return { kind: 'look_again', at: Math.max(record.deadlineAt, now + 1) };",
    },
    // Where workers live long enough, BullMQ's own check hides it.
    {
      file: 'src/queue/consume.ts',
      from: 'stalledInterval: options.stalledCheckMs,',
      to: 'stalledInterval: 3_600_000,',
    },
  ],
  'serial-place': [
    {
      file: 'src/worker/serial-place.ts',
      from: 'if (!claimed.serial) return attempt();',
      to: 'if (claimed) return attempt();',
    },
    // BullMQ's own limit hides most of it.
    {
      file: 'src/worker/shared-limits.ts',
      from: 'await lanes.setGlobalConcurrency(lane, limit.concurrency);',
      to: 'await lanes.setGlobalConcurrency(lane, null);',
    },
  ],
  'unknown-outcome': [
    { file: `${SCRIPTS}/claim.lua`, from: "return { 'expired', lost }", to: "return { 'expired', 0 }" },
    {
      file: 'src/queue/possible-execution.ts',
      from: "return status === 'running' && !isHarmless(directive);",
      to: "return status === 'running' && isHarmless(directive) && false;",
    },
  ],
  'delta-fence': [
    {
      file: `${SCRIPTS}/append.lua`,
      from: "if record[1] ~= 'running' or record[2] ~= ARGV[2] then",
      to: "if record[1] ~= 'running' then",
    },
  ],
  'stage-accounting': [
    {
      file: 'src/worker/attempt.ts',
      from: 'failures: granted.failures - candidate.failures,',
      to: 'failures: granted.failures,',
    },
  ],
  'run-version': [
    {
      file: `${SCRIPTS}/run-commit.lua`,
      from: 'elseif version ~= tonumber(ARGV[1]) then',
      to: 'elseif false then',
    },
  ],
  'inbox-consumption': [
    {
      file: `${SCRIPTS}/run-commit.lua`,
      from: 'local rest = inbox and string.sub(inbox, tonumber(ARGV[3]) + 1)',
      to: 'local rest = inbox',
    },
  ],
  'inbox-rest': [
    {
      file: `${SCRIPTS}/run-commit.lua`,
      from: 'local rest = inbox and string.sub(inbox, tonumber(ARGV[3]) + 1)',
      to: "local rest = inbox and ''",
    },
  ],
  'end-reaches-run': [
    {
      file: `${SCRIPTS}/include-record.lua`,
      from: '    ended[#ended + 1] = RUN_INBOX\n    ended[#ended + 1] = facts.run\n',
      to: '',
    },
  ],
  'seal-if-empty': [
    {
      file: `${SCRIPTS}/run-commit.lua`,
      from: "if final and inbox and rest ~= '' then",
      to: 'if false then',
    },
  ],
};
