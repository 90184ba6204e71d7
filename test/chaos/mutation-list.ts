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
import { PEOPLE_NOTICED } from './people-mutations.ts';
import { type Patch, patch } from './patch.ts';

const WITHOUT_FENCE = patch('append-fence', "if record[1] ~= 'running' then");

/** A protection, and how it is removed. */
export const MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  fencing: [patch('fencing', 'elseif false then'), patch('fencing-2', 'elseif false then'), WITHOUT_FENCE],
  sweeper: [patch('sweeper', 'work: async () => {},')],
  // What changes while its row is written stays as it was in the list.
  'search-change-lost': [patch('search-change-lost', 'if score then')],
  // What failed is listed as what went well.
  'search-failure-hidden': [patch('search-failure-hidden', 'if not status then')],
  'search-end-noted': [patch('search-end-noted', 'if false then')],
  'archive-end-noted': [patch('archive-end-noted', '')],
  // A long lane hides what has no job in it.
  'sweeper-crowd': [patch('sweeper-crowd', 'if true then')],
  // What a worker had in hand is looked at after its lease, or its deadline.
  'sweeper-in-hand': [patch('sweeper-in-hand', 'local until_at = at and tonumber(at) + IN_HAND_MS')],
  'idempotent-accept': [patch('idempotent-accept', 'local stored = seen[id]')],
  'effect-policy': [patch('effect-policy', 'if (false)')],
  takeover: [
    patch('takeover', 'if false then'),
    patch(
      'takeover-2',
      "if (record.status === 'running') return { kind: 'look_again', at: Math.max(record.deadlineAt, now + 1) };",
    ),
    // Where workers live long enough, BullMQ's own check hides it.
    patch('takeover-3', 'stalledInterval: 3_600_000,'),
  ],
  'known-task': [
    patch('known-task', 'const error = lostAttemptError(repeatPolicy, redeliveries, false, lost);'),
  ],
  'task-resumed': [patch('task-resumed', 'task: null,')],
  'one-answer': [
    patch('one-answer', 'if false then'),
    patch('one-answer-2', 'if is_terminal(record[1]) or number < round.first then'),
  ],
  'serial-place': [
    patch('serial-place', 'if (claimed) return attempt();'),
    // BullMQ's own limit hides most of it.
    patch('serial-place-2', 'await lanes.setGlobalConcurrency(lane, null);'),
  ],
  'unknown-outcome': [
    patch('unknown-outcome', "return ends('expired', 0, lost_now, task, deadline_at <= now and 0 or 1)"),
    patch('unknown-outcome-2', 'return false;'),
  ],
  'delta-fence': [WITHOUT_FENCE],
  'stage-accounting': [patch('stage-accounting', 'failures: granted.failures,')],
  'run-version': [patch('run-version', 'elseif false then')],
  'inbox-consumption': [patch('inbox-consumption', 'local rest = inbox')],
  'inbox-rest': [patch('inbox-consumption', "local rest = inbox and ''")],
  'end-reaches-run': [patch('end-reaches-run', '')],
  'announced-run': [patch('announced-run', ''), patch('announced-run-2', '')],
  'seal-if-empty': [patch('seal-if-empty', 'if false then')],
  'later-begins': [patch('later-begins', 'return now')],
  'later-expires': [
    patch('later-expires', 'return false'),
    patch('later-expires-2', 'return startedAt === null ? null : (begin?.by ?? null);'),
  ],
  'schedule-decided-over': [
    patch('schedule-decided-over', 'if false then'),
    // Usually one process looks at a time.
    patch('schedule-decided-over-2', 'const { now, ids } = await store.take(TAKEN_AT_ONCE, 0, turn);'),
  ],
  'schedule-overlap': [patch('schedule-overlap', "return overlap !== 'queue_one';")],
  // Keys of what is submitted once.
  'singleton-open': [patch('singleton-open', 'if true then')],
  'dedupe-window': [
    patch(
      'dedupe-window',
      "local is_there = false and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1",
    ),
  ],
  // One more than a limit allows.
  'limit-at-once': [
    patch(
      'limit-at-once',
      "if concurrency and redis.call('SCARD', key('held:' .. name)) - kept > concurrency then",
    ),
  ],
  // What runs is given to another while its lease goes on.
  'limit-lease': [
    patch(
      'limit-lease',
      "local lapsed = redis.call('ZRANGEBYSCORE', key('out'), '-inf', whole(NOW + 3900), 'LIMIT', 0, MOST_LAPSED)",
    ),
  ],
  'limit-rate': [patch('limit-rate', 'if true then')],
  // Who waits for a limit is never woken.
  'limit-woken': [patch('limit-woken', 'give_back(item)')],
  // The last of a line is the first.
  'turn-order': [
    patch('turn-order', "local first = redis.call('ZREVRANGE', key('line:' .. line), 0, 0, 'WITHSCORES')"),
  ],
  // A fairness key waits for all that came before it.
  'turn-share': [patch('turn-share', "redis.call('ZADD', key('blocked:' .. name), '0', entry)")],
  'priority-fixed': [patch('priority-fixed', 'if (ticket.fixed_by === "")')],
  'gate-leftovers': [
    patch(
      'gate-leftovers',
      "redis.call('DEL', key('ready:'), key('idle:'), key('v'), key('last'), key('keys'), key('load'), key('finish'), key('asleep'),",
    ),
  ],
  'webhook-notified': [
    patch(
      'webhook-notified',
      'if (isRun && !(await submitOnce(submitter, delivery, state.end.event))) isFull = true;',
    ),
  ],
  'webhook-one-id': [
    patch('webhook-one-id', '{ id: given, body, at }: Message,'),
    patch(
      'webhook-one-id-2',
      'const id = `${given}.${String(at.getTime())}`;\nconst signatures = secrets.map((secret) => new Webhook(secret).sign(id, at, body));',
    ),
  ],
  'budget-settled': [patch('budget-settled', 'return { tokens: output, money: Math.ceil(money) };')],
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
  'take-repeat': [patch('take-repeat', 'if false then')],
  'end-repeat': [patch('end-repeat', 'if false then')],
  'end-before-job': [patch('end-before-job', 'if false then')],
  'serial-claim': [patch('serial-claim', 'serial_lanes[key] = false')],
  'start-once': [patch('start-once', 'if true then')],
  'start-cancelled': [patch('late-cancelled', 'elseif false then')],
  'start-deadline': [patch('start-deadline', 'elseif false then')],
  'cancel-begun': [
    patch(
      'cancel-begun',
      "elseif ARGV[5] ~= '' and ARGV[5] ~= record[1] .. '/' .. (fence or '0') .. (string.match(ARGV[5], '/begun') or '') then",
    ),
  ],
  'start-lease': [patch('start-lease', 'elseif false then')],
  'start-renews': [patch('start-renews', 'local lease_until = leased')],
  'begun-claim': [patch('begun-claim', "local lost = (status == 'running') and 1 or 0")],
  'start-fence': [patch('start-fence', 'if false then')],
};

/** Jobs of a lane that are taken at once, and failed ones that are kept. */
const SEVERAL_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'several-lock': [patch('several-lock', 'return ask.token')],
  'several-place': [
    patch(
      'several-place',
      "local last = #ids > 0 and redis.call('SET', place, ask.token .. ' ' .. ids[1], 'PX', remembered, 'GET')",
    ),
  ],
  'several-share': [patch('several-share', 'local count = math.max(1, math.min(most, math.floor(most)))')],
  'failed-bound': [patch('failed-bound', 'if false then')],
  'failed-blocks': [patch('failed-blocks', 'else')],
};

/** Protections of the API keys. */
const ACCESS_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'keys-decided-over': [patch('keys-decided-over', 'return false')],
  'keys-version': [patch('keys-version', '')],
  'keys-audited': [patch('keys-audited', '')],
  'keys-use-of-revoked': [patch('keys-use-of-revoked', "elseif not known and verb ~= 'use' then")],
  'spent-counts': [
    patch(
      'spent-counts',
      "redis.call('HSET', SPENT, 'minute', minute, 'of_minute', of_minute + count, 'day', day, 'of_day', of_day)",
    ),
  ],
  'spent-minute': [patch('spent-minute', 'if tonumber(ARGV[2]) > 0 and false then')],
  'spent-forgotten': [patch('spent-forgotten', '')],
  'tenant-repeat': [patch('tenant-repeat', 'local score = nil')],
  'tenant-left': [
    patch('tenant-left', "if tonumber(redis.call('ZSCORE', OPEN, member) or '-1') == entered then"),
  ],
  'tenant-gone': [patch('tenant-gone', '')],
  'tenant-open': [patch('tenant-open', 'if false then')],
};

/** Protections of the archive. */
const ARCHIVE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'archive-early-note': [
    patch('archive-early-note', "const NOT_THERE = { perhaps: 'over', once_more: 'over' } as const;"),
  ],
  'archive-noted-again': [patch('archive-noted-again', 'if false then')],
  'archive-held': [patch('archive-held', 'await Promise.all(names.map((name) => Promise.resolve(ms)));')],
  'archive-whole': [patch('archive-whole', '')],
};

/** Protections of what is submitted under a key. */
const ONCE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'once-window': [
    patch(
      'dedupe-window',
      "local is_there = false and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1",
    ),
  ],
  'once-window-ends': [
    patch(
      'dedupe-window',
      "local is_there = part and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1",
    ),
  ],
  'once-latest': [patch('once-latest', 'local at = math.max(now, own.at)')],
  'once-begun': [patch('once-begun', 'local may_change = not cancelled')],
  'once-digest': [patch('once-digest', 'local fields = {}')],
  'once-quiet': [
    patch('once-quiet', "fields = { id .. '|begin', begin, id .. '|next_attempt_at', int(now_ms()) }"),
  ],
  'once-repeat': [patch('once-repeat', 'if false then')],
  'once-forgotten': [patch('once-forgotten', 'if false then')],
  'once-one-open': [patch('singleton-open', 'if true then')],
  'once-held': [patch('once-held', 'if false then')],
  'once-chain': [patch('once-chain', 'return nil')],
  'once-left-open': [patch('once-left-open', '')],
  'once-replaced-look': [patch('once-replaced-look', 'if (false)')],
  'once-kept': [patch('once-kept', 'if key and false then')],
  'once-cancelled': [patch('once-cancelled', '')],
  'once-tenant': [
    patch(
      'once-tenant',
      "return `${ONCE_REQUEST_PREFIX}${hash('sha256', key, 'hex').slice(0, KEY_DIGITS)}.${unique}`;",
    ),
  ],
};

/** Protections of the gates of lanes. */
const FLOW_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  // Nobody extends the lease of what runs longer than one.
  'limit-extended': [patch('limit-extended', '')],
  'flow-lapsed-pass': [patch('flow-lapsed-pass', 'if until_at == 0 then')],
  'flow-start-rate': [patch('flow-start-rate', 'if false then')],
  'flow-busy': [patch('flow-busy', 'if false then')],
  'flow-leave-token': [
    patch('flow-leave-token', "if not item or not redis.call('ZSCORE', key('out'), item.member) then"),
  ],
  'flow-limit': [
    patch(
      'limit-at-once',
      "if concurrency and redis.call('SCARD', key('held:' .. name)) - kept > concurrency then",
    ),
  ],
  'flow-strict-priority': [patch('flow-strict-priority', 'local PRIORITY_MS, BEFORE = 3000000, 1e-6')],
  'flow-tags-per-line': [
    patch(
      'flow-tags-per-line',
      "local tenant, turn, names = ARGV[3] .. (ARGV[9] or ''), ARGV[3] .. (ARGV[9] or '') .. '.' .. ARGV[4], {}",
    ),
  ],
  'flow-unblock-lost': [patch('flow-unblock-lost', 'if false then')],
  'flow-standstill': [
    patch(
      'flow-standstill',
      "if true or still_ms < math.min(STILL_MS, tonumber(lease) / 3) or NOW - tonumber(graced or '0') < GRACE_EVERY_MS then",
    ),
  ],
  'flow-standstill-of-lease': [
    patch(
      'flow-standstill',
      "if not lease or still_ms < STILL_MS or NOW - tonumber(graced or '0') < GRACE_EVERY_MS then",
    ),
  ],
  'flow-go-ahead': [
    patch(
      'flow-go-ahead',
      "if capacity < 1 or redis.call('ZCARD', key('out')) ~= capacity or redis.call('HGET', key('load'), item.turn) ~= '1' then",
    ),
  ],
  'flow-go-ahead-limit': [
    patch('flow-go-ahead-limit', 'if tenant[1] ~= item.tenant or turn[1] ~= item.turn then'),
  ],
  'flow-go-ahead-share': [
    patch(
      'flow-go-ahead',
      "if capacity < 1 or ahead or redis.call('ZCARD', key('out')) ~= capacity or false then",
    ),
  ],
  'flow-passed-by': [patch('flow-passed-by', 'if false then')],
  'flow-share-of-keys': [
    patch('flow-share-of-keys', "local first = redis.call('ZRANGE', key('ready:'), -1, -1, 'WITHSCORES')"),
  ],
};

/** Of the way through them. */
const FLOW_PATH_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-hold': [
    patch(
      'flow-hold',
      "if (answer !== 'unknown') return leaveAfter(parts, pass, ref, await attempt({ ...pass, ...asked }));",
    ),
  ],
};

/** Of the clock of schedules. */
const SCHEDULE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'schedule-too-early': [
    patch('schedule-too-early', 'clock: () => now + Math.floor(performance.now() - askedAt),'),
  ],
};

/** Of large payloads outside Redis. */
const PAYLOAD_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'payload-refused': [patch('payload-refused', '')],
  'payload-repeated': [patch('payload-repeated', ''), patch('payload-refused', '')],
};

/** Of the removal of those that no request needs. */
const PAYLOAD_SWEEP_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'payload-empty-redis': [patch('payload-empty-redis', "return name ?? '';")],
  'payload-redis-replaced': [
    patch('payload-redis-replaced', 'if (!(await isLeftover(leftovers, folder))) return false;'),
  ],
  'payload-needed': [
    patch(
      'payload-needed',
      'return tenant !== undefined && id !== undefined && scopedId(tenant, id) !== null;',
    ),
  ],
};

/** Of a schedule that is changed while it fires. */
const EDIT_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'edit-marked': [patch('edit-marked', 'return {};')],
  'edit-version': [patch('edit-version', '')],
  'edit-due': [patch('edit-due', 'if (nextAt !== firingAt) return { spec, nextAt: following };')],
};

/** Of the way in. */
const ENTRANCE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'job-of-ended': [
    patch('job-of-ended', "if add_job(id, name, data, options, timestamp, false, where == 'first') then"),
  ],
};

/** Of jobs that are put before others, or let out of a gate. */
/** The protections that a test of their own notices, with that test. */
export const NOTICED_BY_TESTS: readonly (readonly [
  mutations: Readonly<Record<string, readonly Patch[]>>,
  test: string,
])[] = [
  [TESTED_MUTATIONS, 'test/integration/queue/lane-take.test.ts'],
  [SEVERAL_MUTATIONS, 'test/integration/queue/lane-take.test.ts'],
  [ACCESS_MUTATIONS, 'test/integration/http/access/key-changes.test.ts'],
  [ARCHIVE_MUTATIONS, 'test/integration/features/archive/archive.test.ts'],
  [FLOW_MUTATIONS, 'test/integration/store/gate.test.ts'],
  [ONCE_MUTATIONS, 'test/integration/queue/once.test.ts'],
  [ONCE_RUN_MUTATIONS, 'test/integration/agents/once.test.ts'],
  [FLOW_PATH_MUTATIONS, 'test/integration/service/gate.test.ts'],
  [SCHEDULE_MUTATIONS, 'test/integration/features/schedules/crashes.test.ts'],
  [PASS_MUTATIONS, 'test/unit/worker/gate-pass.test.ts'],
  [WRITTEN_MUTATIONS, 'test/integration/mcp/http-connection.test.ts'],
  [WRITTEN_MODEL_MUTATIONS, 'test/integration/models/model-directives.test.ts'],
  [LAST_LOOK_MUTATIONS, 'test/integration/mcp/stdio-connection.test.ts'],
  [ENCRYPTION_MUTATIONS, 'test/unit/platform/encryption/sealed-answers.test.ts'],
  [ENCRYPTED_RUN_MUTATIONS, 'test/unit/platform/encryption/sealed-runs.test.ts'],
  [PAYLOAD_MUTATIONS, 'test/integration/service/large-payloads.test.ts'],
  [PAYLOAD_SWEEP_MUTATIONS, 'test/unit/features/archive/payload-leftovers.test.ts'],
  [ENTRANCE_MUTATIONS, 'test/integration/queue/entrance.test.ts'],
  [OPEN_JOBS_MUTATIONS, 'test/integration/queue/open-jobs.test.ts'],
  COUNTED_NOTICED,
  [EDIT_MUTATIONS, 'test/integration/features/schedules/edits.test.ts'],
  [ANNOUNCER_MUTATIONS, 'test/unit/store/index/announcer.test.ts'],
  [APPEND_MUTATIONS, 'test/integration/store/append-calls.test.ts'],
  ...AHEAD_NOTICED,
  ...PEOPLE_NOTICED,
];
