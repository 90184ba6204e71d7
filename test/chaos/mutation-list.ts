/** The protections whose removal the checker must notice, and how each is removed.
 *  It must never hold a patch that no longer fits the sources. */

import { ANNOUNCER_MUTATIONS } from './announcer-mutations.ts';
import { APPEND_MUTATIONS } from './append-mutations.ts';
import { AHEAD_NOTICED } from './ahead-mutations.ts';
import { COUNTED_NOTICED } from './counted-mutations.ts';
import { ENCRYPTED_RUN_MUTATIONS, ENCRYPTION_MUTATIONS } from './encryption-mutations.ts';
import { ONCE_RUN_MUTATIONS } from './once-run-mutations.ts';
import {
  LAST_LOOK_MUTATIONS,
  PASS_MUTATIONS,
  WRITTEN_MODEL_MUTATIONS,
  WRITTEN_MUTATIONS,
} from './pass-mutations.ts';
import { OPEN_JOBS_MUTATIONS } from './open-jobs-mutations.ts';
import { type Patch, patch, SCRIPTS } from './patch.ts';

const WITHOUT_FENCE = patch(
  `${SCRIPTS}/append.lua`,
  "if record[1] ~= 'running' or record[2] ~= fence then",
  "if record[1] ~= 'running' then",
);

/** A protection, and how it is removed. */
export const MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  fencing: [
    patch(
      `${SCRIPTS}/include-finish.lua`,
      "elseif fence ~= '' and fence ~= record[2] then",
      'elseif false then',
    ),
    patch(`${SCRIPTS}/retry.lua`, 'elseif record[2] ~= ARGV[2] then', 'elseif false then'),
    WITHOUT_FENCE,
  ],
  sweeper: [patch('src/queue/sweep.ts', '    work: sweepAll,\n', '    work: async () => {},\n')],
  // What changes while its row is written stays as it was in the list.
  'search-change-lost': [
    patch(`${SCRIPTS}/change-done.lua`, 'if score and tonumber(score) == held then', 'if score then'),
  ],
  // What failed is listed as what went well.
  'search-failure-hidden': [
    patch(
      `${SCRIPTS}/search-read.lua`,
      "if not status or status == 'failed' or asked or (begin and status == 'waiting') then",
      'if not status then',
    ),
  ],
  'search-end-noted': [patch(`${SCRIPTS}/index-forget.lua`, 'if #scored > 0 then', 'if false then')],
  'archive-end-noted': [
    patch('src/journal/sweep-index.ts', 'if (noteEnded && known.length > 0) await noteEnded(known);', ''),
  ],
  // A long lane hides what has no job in it.
  'sweeper-crowd': [
    patch(`${SCRIPTS}/index-take.lua`, 'if is_known(lane, record.member) then', 'if true then'),
  ],
  // What a worker had in hand is looked at after its lease, or its deadline.
  'sweeper-in-hand': [
    patch(
      `${SCRIPTS}/index-take.lua`,
      'math.min(tonumber(at) + IN_HAND_MS, ends_at)',
      'tonumber(at) + IN_HAND_MS',
    ),
  ],
  'idempotent-accept': [
    patch(
      `${SCRIPTS}/include-accept.lua`,
      'local stored = seen[id] or request[known + #verdicts + 1]',
      'local stored = seen[id]',
    ),
  ],
  'effect-policy': [patch('src/worker/outcome.ts', "if (effect === 'once' && begun)\n", 'if (false)\n')],
  takeover: [
    patch(`${SCRIPTS}/include-claim.lua`, 'if wish.index then', 'if false then'),
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
      'src/worker/lost-attempt.ts',
      'lostAttemptError(repeatPolicy, redeliveries, task !== null, lost)',
      'lostAttemptError(repeatPolicy, redeliveries, false, lost)',
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
    patch(`${SCRIPTS}/include-claim.lua`, "return { 'expired', lost, ", "return { 'expired', 0, "),
    patch(
      'src/queue/possible-execution.ts',
      'return (hasBegun || task) && !isHarmless(directive);',
      'return false;',
    ),
  ],
  'delta-fence': [WITHOUT_FENCE],
  'stage-accounting': [
    patch(
      'src/worker/attempt.ts',
      'failures: granted.failures - candidate.failures,',
      'failures: granted.failures,',
    ),
  ],
  'run-version': [patch(`${SCRIPTS}/run-commit.lua`, 'version ~= tonumber(ARGV[1]) then', 'false then')],
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
  'announced-run': [
    patch(`${SCRIPTS}/run-start.lua`, '  announce(7, now)\n', ''),
    patch(`${SCRIPTS}/run-commit.lua`, '  announce(announcements, now)\n', ''),
  ],
  'seal-if-empty': [
    patch(`${SCRIPTS}/run-commit.lua`, "if final and inbox and rest ~= '' then", 'if false then'),
  ],
  'later-begins': [
    patch(
      `${SCRIPTS}/include-later.lua`,
      "return math.max(now, (kind == 'd') and now + tonumber(ms) or tonumber(ms))",
      'return now',
    ),
  ],
  'later-expires': [
    patch(`${SCRIPTS}/include-claim.lua`, 'return by and by <= now', 'return false'),
    patch(
      'src/queue/sweep-decision.ts',
      'return startedAt === null ? (begin?.by ?? null) : null;',
      'return startedAt === null ? null : (begin?.by ?? null);',
    ),
  ],
  'schedule-decided-over': [
    patch(
      `${SCRIPTS}/schedule-change.lua`,
      "if (redis.call('HGET', SCHEDULE, field) or '') ~= value then",
      'if false then',
    ),
    // Usually one process looks at a time.
    patch(
      'src/schedules/firing-loop.ts',
      'store.take(TAKEN_AT_ONCE, HOLD_MS, turn)',
      'store.take(TAKEN_AT_ONCE, 0, turn)',
    ),
  ],
  'schedule-overlap': [
    patch(
      'src/schedules/decision.ts',
      "return overlap === 'allow' || overlap === 'cancel_running';",
      "return overlap !== 'queue_one';",
    ),
  ],
  // Keys of what is submitted once.
  'singleton-open': [patch(`${SCRIPTS}/include-under-key.lua`, 'if not open then', 'if true then')],
  'dedupe-window': [
    patch(
      `${SCRIPTS}/include-under-key.lua`,
      'part and tonumber(until_at) > now_ms() and redis',
      'false and redis',
    ),
  ],
  // One more than a limit allows.
  'limit-at-once': [
    patch(
      `${SCRIPTS}/include-gate.lua`,
      "redis.call('SCARD', key('held:' .. name)) - kept >= concurrency then",
      "redis.call('SCARD', key('held:' .. name)) - kept > concurrency then",
    ),
  ],
  // What runs is given to another while its lease goes on.
  'limit-lease': [
    patch(
      `${SCRIPTS}/include-gate.lua`,
      "redis.call('ZRANGEBYSCORE', key('out'), '-inf', whole(NOW), 'LIMIT', 0, MOST_LAPSED)",
      "redis.call('ZRANGEBYSCORE', key('out'), '-inf', whole(NOW + 3900), 'LIMIT', 0, MOST_LAPSED)",
    ),
  ],
  'limit-rate': [patch(`${SCRIPTS}/include-gate.lua`, '  if not newest then\n', '  if true then\n')],
  // Who waits for a limit is never woken.
  'limit-woken': [
    patch(`${SCRIPTS}/gate-leave.lua`, '  give_back(item)\n  wake_all(item.limits)\n', '  give_back(item)\n'),
  ],
  // The last of a line is the first.
  'turn-order': [
    patch(
      `${SCRIPTS}/include-gate.lua`,
      "redis.call('ZRANGE', key('line:' .. line), 0, 0, 'WITHSCORES')",
      "redis.call('ZREVRANGE', key('line:' .. line), 0, 0, 'WITHSCORES')",
    ),
  ],
  // A fairness key waits for all that came before it.
  'turn-share': [
    patch(
      `${SCRIPTS}/include-gate.lua`,
      "redis.call('ZADD', key('blocked:' .. name), real(finish_of('', item.tenant)), entry)",
      "redis.call('ZADD', key('blocked:' .. name), '0', entry)",
    ),
  ],
  'priority-fixed': [
    patch('src/queue/prioritize.ts', 'if (ticket.fixed_by !== undefined)', 'if (ticket.fixed_by === "")'),
  ],
  'gate-leftovers': [patch(`${SCRIPTS}/include-gate.lua`, "key('last'), key('clock'), ", "key('last'), ")],
  'webhook-notified': [
    patch('src/queue/notify.ts', 'if (!(await submitOnce(', 'if (isRun && !(await submitOnce('),
  ],
  'webhook-one-id': [
    patch('src/webhooks/signature.ts', '{ id, body, at }: Message,', '{ id: given, body, at }: Message,'),
    patch(
      'src/webhooks/signature.ts',
      'const signatures =',
      'const id = `${given}.${String(at.getTime())}`;\n  const signatures =',
    ),
  ],
  'budget-settled': [
    patch('src/executors/llm-budget.ts', 'tokens: Math.max(total, input + output)', 'tokens: output'),
  ],
};

/** Judged when all is over, not request by request: a shorter run shows them. */
export const JUDGED_LAST: ReadonlySet<string> = new Set([
  'singleton-open',
  'dedupe-window',
  'limit-at-once',
  'limit-lease',
  'limit-rate',
  'limit-woken',
  'turn-order',
  'turn-share',
  'gate-leftovers',
  'webhook-notified',
  'webhook-one-id',
  'schedule-decided-over',
  'schedule-overlap',
  'budget-settled',
]);

/** Protections of which chaos meets the occasion too rarely: the tests that notice. */
const TESTED_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'take-repeat': [patch(`${SCRIPTS}/job-take.lua`, 'if known == ask.token then', 'if false then')],
  'end-repeat': [
    patch(
      `${SCRIPTS}/include-take.lua`,
      "if redis.call('GET', BASE .. id .. ':lock') == ask.token then",
      'if false then',
    ),
  ],
  'end-before-job': [
    patch(
      `${SCRIPTS}/job-end.lua`,
      "if verdict[2] ~= 'ended' and verdict[2] ~= 'already' then",
      'if false then',
    ),
  ],
  'serial-claim': [patch(`${SCRIPTS}/include-take.lua`, "redis.call('EXISTS', key) == 1", 'false')],
  'start-once': [patch(`${SCRIPTS}/start.lua`, 'if not began_at then', 'if true then')],
  'start-cancelled': [
    patch(`${SCRIPTS}/start.lua`, 'elseif not has_begun and record[6] then', 'elseif false then'),
  ],
  'start-deadline': [
    patch(
      `${SCRIPTS}/start.lua`,
      'elseif not has_begun and tonumber(ARGV[6]) <= now then',
      'elseif false then',
    ),
  ],
  'cancel-begun': [
    patch(
      `${SCRIPTS}/cancel.lua`,
      " .. (began_at and '/begun' or '')",
      " .. (string.match(ARGV[5], '/begun') or '')",
    ),
  ],
  'start-lease': [
    patch(`${SCRIPTS}/start.lua`, "elseif tonumber(leased or '0') <= now then", 'elseif false then'),
  ],
  'start-renews': [patch(`${SCRIPTS}/start.lua`, 'int(now + tonumber(ARGV[4]))', 'leased')],
  'begun-claim': [patch(`${SCRIPTS}/include-claim.lua`, '(began_at and 1 or 2)', '1')],
  'start-fence': [
    patch(`${SCRIPTS}/start.lua`, "if record[1] ~= 'running' or fence ~= ARGV[2] then", 'if false then'),
  ],
};

/** Jobs of a lane that are taken at once, and failed ones that are kept. */
const SEVERAL_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'several-lock': [
    patch(`${SCRIPTS}/include-take.lua`, "nth == 1 and ask.token or ask.token .. '.' .. nth", 'ask.token'),
  ],
  'several-place': [patch(`${SCRIPTS}/job-take.lua`, "table.concat(ids, '\\n')", 'ids[1]')],
  'several-share': [patch(`${SCRIPTS}/job-take.lua`, "redis.call('LLEN', BASE .. 'wait') / SHARE", 'most')],
  'failed-bound': [patch(`${SCRIPTS}/include-failed.lua`, 'if excess > 0 then', 'if false then')],
  'failed-blocks': [
    patch(
      `${SCRIPTS}/include-lane.lua`,
      "elseif not redis.call('ZSCORE', BASE .. 'failed', id) then",
      'else',
    ),
  ],
};

/** Protections of the API keys. */
const ACCESS_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'keys-decided-over': [
    patch(
      `${SCRIPTS}/access-change.lua`,
      "return ARGV[7] ~= '' and ARGV[7] ~= (redis.call('HGET', TABLE, '@version') or '0')",
      'return false',
    ),
  ],
  'keys-version': [
    patch(`${SCRIPTS}/access-change.lua`, "redis.call('HSET', TABLE, '@version', next_version())", ''),
  ],
  'keys-audited': [patch(`${SCRIPTS}/access-change.lua`, 'audit_add(AUDIT, ARGV[8], ARGV[9], ARGV[10])', '')],
  'keys-use-of-revoked': [
    patch(`${SCRIPTS}/access-change.lua`, 'elseif not known then', "elseif not known and verb ~= 'use' then"),
  ],
  'spent-counts': [patch(`${SCRIPTS}/access-spend.lua`, "'of_day', of_day + count)", "'of_day', of_day)")],
  'spent-minute': [patch(`${SCRIPTS}/access-spend.lua`, 'of_minute + count > tonumber(ARGV[2])', 'false')],
  'spent-forgotten': [patch(`${SCRIPTS}/access-spend.lua`, "redis.call('PEXPIRE', SPENT, KEEP_MS)", '')],
  'tenant-repeat': [
    patch(
      `${SCRIPTS}/tenant-enter.lua`,
      "local score = redis.call('ZSCORE', OPEN, member)",
      'local score = nil',
    ),
  ],
  'tenant-left': [
    patch(`${SCRIPTS}/tenant-leave.lua`, "and not redis.call('ZSCORE', SWEEP, member) then", 'then'),
  ],
  'tenant-gone': [patch(`${SCRIPTS}/tenant-enter.lua`, "redis.call('ZREM', OPEN, member)", '')],
  'tenant-open': [
    patch(`${SCRIPTS}/tenant-enter.lua`, "if redis.call('ZSCORE', SWEEP, member) then", 'if false then'),
  ],
};

/** Protections of the archive. */
const ARCHIVE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'archive-early-note': [patch('src/archive/archive-request.ts', "perhaps: 'missing'", "perhaps: 'over'")],
  'archive-noted-again': [
    patch(
      `${SCRIPTS}/archive-done.lua`,
      'if not score or tonumber(score) ~= tonumber(ARGV[2]) then',
      'if false then',
    ),
  ],
  'archive-held': [
    patch(
      'src/journal/archive-queue.ts',
      "connection.pexpire(name, Math.max(1, Math.round(ms)), 'GT')",
      'Promise.resolve(ms)',
    ),
  ],
  'archive-whole': [
    patch(
      'src/archive/record-lines.ts',
      "if (head?.status !== 'closed' || head.sequence !== closed.record.sequence) throw new RecordChanged();",
      '',
    ),
  ],
};

/** Protections of what is submitted under a key. */
const ONCE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'once-window': [
    patch(
      `${SCRIPTS}/include-under-key.lua`,
      'part and tonumber(until_at) > now_ms() and redis',
      'false and redis',
    ),
  ],
  'once-window-ends': [
    patch(
      `${SCRIPTS}/include-under-key.lua`,
      'part and tonumber(until_at) > now_ms() and redis',
      'part and redis',
    ),
  ],
  'once-latest': [
    patch(`${SCRIPTS}/accept-once.lua`, 'math.max(now, math.min(at, latest))', 'math.max(now, at)'),
  ],
  'once-begun': [patch(`${SCRIPTS}/accept-once.lua`, "open.status == 'waiting' and not open.begun", 'true')],
  'once-digest': [
    patch(
      `${SCRIPTS}/accept-once.lua`,
      "local record = { open.id .. '|digest', DIGEST, 'bytes',",
      "local record = { 'bytes',",
    ),
  ],
  'once-quiet': [
    patch(
      `${SCRIPTS}/include-once.lua`,
      "id .. '|next_attempt_at', int(at)",
      "id .. '|next_attempt_at', int(now_ms())",
    ),
  ],
  'once-repeat': [patch(`${SCRIPTS}/include-under-key.lua`, 'if stored then', 'if false then')],
  'once-forgotten': [patch(`${SCRIPTS}/include-under-key.lua`, 'if oldest then', 'if false then')],
  'once-one-open': [patch(`${SCRIPTS}/include-under-key.lua`, 'if not open then', 'if true then')],
  'once-held': [patch(`${SCRIPTS}/once-release.lua`, 'if is_open(part, before) then', 'if false then')],
  'once-chain': [
    patch(
      `${SCRIPTS}/accept-once.lua`,
      'return does.open_one(part, id)\nend\n\n-- For the end',
      'return nil\nend\n\n-- For the end',
    ),
  ],
  'once-left-open': [
    patch(`${SCRIPTS}/include-under-key.lua`, 'open = open or left_open(does, part, id)', ''),
  ],
  'once-replaced-look': [
    patch('src/queue/sweep-decision.ts', "record.cancel !== null && record.status !== 'running'", 'false'),
  ],
  'once-kept': [
    patch(`${SCRIPTS}/include-record.lua`, "redis.call('HGET', key .. ':once', 'part') == part", 'false'),
  ],
  'once-cancelled': [
    patch(`${SCRIPTS}/accept-once.lua`, "redis.call('HSETNX', STATE, open.id .. '|cancel', ARGV[9])", ''),
  ],
  'once-tenant': [patch('src/queue/once-request.ts', '`${kind}:${key}`', 'key')],
};

/** Protections of the gates of lanes. */
const FLOW_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  // Nobody extends the lease of what runs longer than one.
  'limit-extended': [
    patch(
      `${SCRIPTS}/gate-extend.lua`,
      "redis.call('ZADD', key('out'), whole(NOW + tonumber(ARGV[3])), item.member)",
      '',
    ),
  ],
  'flow-lapsed-pass': [patch(`${SCRIPTS}/gate-hold.lua`, 'if until_at <= NOW then', 'if until_at == 0 then')],
  'flow-start-rate': [patch(`${SCRIPTS}/gate-hold.lua`, 'if too_early() then', 'if false then')],
  'flow-busy': [
    patch(`${SCRIPTS}/gate-hold.lua`, "if item.owner ~= '' and item.owner ~= token then", 'if false then'),
  ],
  'flow-leave-token': [
    patch(`${SCRIPTS}/gate-leave.lua`, 'if not item or item.owner ~= ARGV[2] or', 'if not item or'),
  ],
  'flow-limit': [
    patch(
      `${SCRIPTS}/include-gate.lua`,
      "redis.call('SCARD', key('held:' .. name)) - kept >= concurrency then",
      "redis.call('SCARD', key('held:' .. name)) - kept > concurrency then",
    ),
  ],
  'flow-strict-priority': [
    patch(`${SCRIPTS}/include-gate.lua`, 'BEFORE = 30000, 1e-6', 'BEFORE = 3000000, 1e-6'),
  ],
  'flow-tags-per-line': [
    patch(
      `${SCRIPTS}/gate-enter.lua`,
      "local tenant, turn, names = ARGV[3], ARGV[3] .. '.' .. ARGV[4], {}",
      "local tenant, turn, names = ARGV[3] .. (ARGV[9] or ''), ARGV[3] .. (ARGV[9] or '') .. '.' .. ARGV[4], {}",
    ),
  ],
  'flow-unblock-lost': [
    patch(`${SCRIPTS}/include-gate.lua`, '      if other ~= name then', '      if false then'),
  ],
  'flow-standstill': [
    patch(`${SCRIPTS}/include-gate.lua`, 'if not lease or still_ms <', 'if true or still_ms <'),
  ],
  'flow-standstill-of-lease': [
    patch(`${SCRIPTS}/include-gate.lua`, 'math.min(STILL_MS, tonumber(lease) / 3)', 'STILL_MS'),
  ],
  'flow-go-ahead': [
    patch(`${SCRIPTS}/include-gate.lua`, 'if capacity < 1 or ahead or', 'if capacity < 1 or'),
  ],
  'flow-go-ahead-limit': [patch(`${SCRIPTS}/include-gate.lua`, ' or refusing(item) then', ' then')],
  'flow-go-ahead-share': [
    patch(`${SCRIPTS}/include-gate.lua`, "redis.call('HGET', key('load'), item.turn) ~= '1'", 'false'),
  ],
  'flow-passed-by': [patch(`${SCRIPTS}/include-gate.lua`, 'NOW - item.arrived > LONG_MS', 'false')],
  'flow-share-of-keys': [
    patch(
      `${SCRIPTS}/include-gate.lua`,
      "local first = redis.call('ZRANGE', key('ready:'), 0, 0",
      "local first = redis.call('ZRANGE', key('ready:'), -1, -1",
    ),
  ],
};

/** Of the way through them. */
const FLOW_PATH_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-hold': [patch('src/worker/gate-pass.ts', "if (answer === 'held')", "if (answer !== 'unknown')")],
};

/** Of the clock of schedules. */
const SCHEDULE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'schedule-too-early': [
    patch('src/schedules/firing-loop.ts', 'performance.now() - answeredAt', 'performance.now() - askedAt'),
  ],
};

/** Of large payloads outside Redis. */
const PAYLOAD_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'payload-refused': [
    patch('src/queue/kept-payloads.ts', 'await drop(requestId, refused).catch(() => {});', ''),
  ],
  'payload-repeated': [
    patch(
      'src/queue/kept-payloads.ts',
      'if (await journal.directive(requestId, acceptance.id)) return each;',
      '',
    ),
    patch('src/queue/kept-payloads.ts', 'await drop(requestId, refused).catch(() => {});', ''),
  ],
};

/** Of the removal of those that no request needs. */
const PAYLOAD_SWEEP_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'payload-empty-redis': [
    patch(
      'src/archive/payload-leftovers.ts',
      'if (marked.toString() === name) return name;',
      "return name ?? '';",
    ),
  ],
  'payload-redis-replaced': [
    patch('src/archive/payload-leftovers.ts', ' || (await redisName()) !== owner', ''),
  ],
  'payload-needed': [
    patch(
      'src/archive/payload-leftovers.ts',
      '!(await exists(scopedId(tenant, id)))',
      'scopedId(tenant, id) !== null',
    ),
  ],
};

/** Of a schedule that is changed while it fires. */
const EDIT_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'edit-marked': [patch('src/schedules/edit.ts', 'return { marked: JSON.stringify(kept) };', 'return {};')],
  'edit-version': [patch('src/schedules/schedule-record.ts', 'version: versionText,', '')],
  'edit-due': [patch('src/schedules/edit.ts', 'if (!isDue) return', 'if (nextAt !== firingAt) return')],
};

/** Of the way in. */
const ENTRANCE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'job-of-ended': [patch(`${SCRIPTS}/job-add.lua`, 'if not is_of_ended(data) and add_job', 'if add_job')],
};

/** Of jobs that are put before others, or let out of a gate. */
/** The protections that a test of their own notices, with that test. */
export const NOTICED_BY_TESTS: readonly (readonly [
  mutations: Readonly<Record<string, readonly Patch[]>>,
  test: string,
])[] = [
  [TESTED_MUTATIONS, 'test/integration/queue/lane-take.test.ts'],
  [SEVERAL_MUTATIONS, 'test/integration/queue/lane-take.test.ts'],
  [ACCESS_MUTATIONS, 'test/integration/access/key-changes.test.ts'],
  [ARCHIVE_MUTATIONS, 'test/integration/archive/archive.test.ts'],
  [FLOW_MUTATIONS, 'test/integration/journal/gate.test.ts'],
  [ONCE_MUTATIONS, 'test/integration/queue/once.test.ts'],
  [ONCE_RUN_MUTATIONS, 'test/integration/engine/once.test.ts'],
  [FLOW_PATH_MUTATIONS, 'test/integration/service/gate.test.ts'],
  [SCHEDULE_MUTATIONS, 'test/integration/schedules/crashes.test.ts'],
  [PASS_MUTATIONS, 'test/unit/worker/gate-pass.test.ts'],
  [WRITTEN_MUTATIONS, 'test/integration/mcp/http-connection.test.ts'],
  [WRITTEN_MODEL_MUTATIONS, 'test/integration/llm/model-directives.test.ts'],
  [LAST_LOOK_MUTATIONS, 'test/integration/mcp/stdio-connection.test.ts'],
  [ENCRYPTION_MUTATIONS, 'test/unit/encryption/sealed-answers.test.ts'],
  [ENCRYPTED_RUN_MUTATIONS, 'test/unit/encryption/sealed-runs.test.ts'],
  [PAYLOAD_MUTATIONS, 'test/integration/service/large-payloads.test.ts'],
  [PAYLOAD_SWEEP_MUTATIONS, 'test/unit/archive/payload-leftovers.test.ts'],
  [ENTRANCE_MUTATIONS, 'test/integration/queue/entrance.test.ts'],
  [OPEN_JOBS_MUTATIONS, 'test/integration/queue/open-jobs.test.ts'],
  COUNTED_NOTICED,
  [EDIT_MUTATIONS, 'test/integration/schedules/edits.test.ts'],
  [ANNOUNCER_MUTATIONS, 'test/unit/journal/announcer.test.ts'],
  [APPEND_MUTATIONS, 'test/integration/journal/append-calls.test.ts'],
  ...AHEAD_NOTICED,
];
