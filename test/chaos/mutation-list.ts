/** The protections whose removal the checker or a test must notice, and how each is removed.
 *  It must never hold a removal that no longer fits the sources. */
import type { Mutations } from './patch.ts';

/** A protection, and how it is removed; the checker of a chaos run notices it. */
export const MUTATIONS: Mutations = {
  fencing: {
    fencing: 'elseif false then',
    'fencing-2': 'elseif false then',
    'append-fence': "if record[1] ~= 'running' then",
  },
  sweeper: 'work: async () => {},',
  // What changes while its row is written stays as it was in the list.
  'search-change-lost': 'if score then',
  // What failed is listed as what went well.
  'search-failure-hidden': 'if not status then',
  'search-end-noted': 'if false then',
  'archive-end-noted': '',
  // A long lane hides what has no job in it.
  'sweeper-crowd': 'if true then',
  // What a worker had in hand is looked at after its lease, or its deadline.
  'sweeper-in-hand': 'local until_at = at and tonumber(at) + IN_HAND_MS',
  'idempotent-accept': 'local stored = seen[id]',
  'effect-policy': 'if (false)',
  // Where workers live long enough, BullMQ's own check hides it.
  takeover: {
    takeover: 'if false then',
    'takeover-2':
      "if (record.status === 'running') return { kind: 'look_again', at: Math.max(record.deadlineAt, now + 1) };",
    'takeover-3': 'stalledInterval: 3_600_000,',
  },
  'known-task': 'const error = lostAttemptError(repeatPolicy, redeliveries, false, lost);',
  'task-resumed': 'task: null,',
  'one-answer': {
    'one-answer': 'if false then',
    'one-answer-2': 'if is_terminal(record[1]) or number < round.first then',
  },
  // BullMQ's own limit hides most of it.
  'serial-place': {
    'serial-place': 'if (claimed) return attempt();',
    'serial-place-2': 'await lanes.setGlobalConcurrency(lane, null);',
  },
  'unknown-outcome': {
    'unknown-outcome': "return ends('expired', 0, lost_now, task, deadline_at <= now and 0 or 1)",
    'unknown-outcome-2': 'return false;',
  },
  'delta-fence': { 'append-fence': "if record[1] ~= 'running' then" },
  'stage-accounting': 'failures: granted.failures,',
  'run-version': 'elseif false then',
  'inbox-consumption': 'local rest = inbox',
  'inbox-rest': { 'inbox-consumption': "local rest = inbox and ''" },
  'end-reaches-run': '',
  'announced-run': { 'announced-run': '', 'announced-run-2': '' },
  'seal-if-empty': 'if false then',
  'later-begins': 'return now',
  'later-expires': {
    'later-expires': 'return false',
    'later-expires-2': 'return startedAt === null ? null : (begin?.by ?? null);',
  },
  // Usually one process looks at a time.
  'schedule-decided-over': {
    'schedule-decided-over': 'if false then',
    'schedule-decided-over-2': 'const { now, ids } = await store.take(TAKEN_AT_ONCE, 0, turn);',
  },
  'schedule-overlap': "return overlap !== 'queue_one';",
  // Keys of what is submitted once.
  'singleton-open': 'if true then',
  'dedupe-window': "local is_there = false and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1",
  // One more than a limit allows.
  'limit-at-once': "if concurrency and redis.call('SCARD', key('held:' .. name)) - kept > concurrency then",
  // What runs is given to another while its lease goes on.
  'limit-lease':
    "local lapsed = redis.call('ZRANGEBYSCORE', key('out'), '-inf', whole(NOW + 3900), 'LIMIT', 0, MOST_LAPSED)",
  'limit-rate': 'if true then',
  // Who waits for a limit is never woken.
  'limit-woken': 'give_back(item)',
  // The last of a line is the first.
  'turn-order': "local first = redis.call('ZREVRANGE', key('line:' .. line), 0, 0, 'WITHSCORES')",
  // A fairness key waits for all that came before it.
  'turn-share': "redis.call('ZADD', key('blocked:' .. name), '0', entry)",
  'priority-fixed': 'if (ticket.fixed_by === "")',
  'gate-leftovers':
    "redis.call('DEL', key('ready:'), key('idle:'), key('v'), key('last'), key('keys'), key('load'), key('finish'), key('asleep'),",
  'webhook-notified':
    'if (isRun && !(await submitOnce(submitter, delivery, state.end.event))) isFull = true;',
  'webhook-one-id': {
    'webhook-one-id': '{ id: given, body, at }: Message,',
    'webhook-one-id-2':
      'const id = `${given}.${String(at.getTime())}`;\nconst signatures = secrets.map((secret) => new Webhook(secret).sign(id, at, body));',
  },
  'budget-settled': 'return { tokens: output, money: Math.ceil(money) };',
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

/** Protections that chaos meets too rarely, by the test that notices each. */
export const NOTICED_BY_TESTS: Readonly<Record<string, Mutations>> = {
  'test/integration/features/reconcile/reconcile.test.ts': {
    'ask-before-call': 'if (doubt !== null && tasks === undefined)',
    'settled-answer': "if (finding.kind === 'not_happened') return notHappened(ending);",
    'redrive-found': '',
    'inquiry-mark': '',
    'inquiry-id': '',
    'inquiry-open': '',
  },
  'test/unit/config/policy.test.ts': { 'expression-search': '' },
  'test/unit/features/runtime-servers.test.ts': { 'policy-weight': 'return call;' },
  'test/integration/features/reconcile/reconcile-kills.test.ts': {
    'unmade-call': '',
  },
  'test/integration/queue/lane-take.test.ts': {
    'take-repeat': 'if false then',
    'end-repeat': 'if false then',
    'end-before-job': 'if false then',
    'serial-claim': 'serial_lanes[key] = false',
    'start-once': 'if true then',
    'start-cancelled': { 'late-cancelled': 'elseif false then' },
    'start-deadline': 'elseif false then',
    'cancel-begun':
      "elseif ARGV[5] ~= '' and ARGV[5] ~= record[1] .. '/' .. (fence or '0') .. (string.match(ARGV[5], '/begun') or '') then",
    'start-lease': 'elseif false then',
    'start-renews': 'local lease_until = leased',
    'begun-claim': "local lost = (status == 'running') and 1 or 0",
    'start-fence': 'if false then',
    'several-lock': 'return ask.token',
    'several-place':
      "local last = #ids > 0 and redis.call('SET', place, ask.token .. ' ' .. ids[1], 'PX', remembered, 'GET')",
    'several-share': 'local count = math.max(1, math.min(most, math.floor(most)))',
    'failed-bound': 'if false then',
    'failed-blocks': 'else',
  },
  'test/integration/http/access/key-changes.test.ts': {
    'keys-decided-over': 'return false',
    'keys-version': '',
    'keys-audited': '',
    'keys-use-of-revoked': "elseif not known and verb ~= 'use' then",
    'spent-counts':
      "redis.call('HSET', SPENT, 'minute', minute, 'of_minute', of_minute + count, 'day', day, 'of_day', of_day)",
    'spent-minute': 'if tonumber(ARGV[2]) > 0 and false then',
    'spent-forgotten': '',
    'tenant-repeat': 'local score = nil',
    'tenant-left': "if tonumber(redis.call('ZSCORE', OPEN, member) or '-1') == entered then",
    'tenant-gone': '',
    'tenant-open': 'if false then',
  },
  'test/integration/features/archive/archive.test.ts': {
    'archive-early-note': "const NOT_THERE = { perhaps: 'over', once_more: 'over' } as const;",
    'archive-noted-again': 'if false then',
    'archive-held': 'await Promise.all(names.map((name) => Promise.resolve(ms)));',
    'archive-whole': '',
  },
  'test/integration/store/gate.test.ts': {
    // Nobody extends the lease of what runs longer than one.
    'limit-extended': '',
    'flow-lapsed-pass': 'if until_at == 0 then',
    'flow-start-rate': 'if false then',
    'flow-busy': 'if false then',
    'flow-leave-token': "if not item or not redis.call('ZSCORE', key('out'), item.member) then",
    'flow-limit': {
      'limit-at-once':
        "if concurrency and redis.call('SCARD', key('held:' .. name)) - kept > concurrency then",
    },
    'flow-strict-priority': 'local PRIORITY_MS, BEFORE = 3000000, 1e-6',
    'flow-tags-per-line':
      "local tenant, turn, names = ARGV[3] .. (ARGV[9] or ''), ARGV[3] .. (ARGV[9] or '') .. '.' .. ARGV[4], {}",
    'flow-unblock-lost': 'if false then',
    'flow-standstill':
      "if true or still_ms < math.min(STILL_MS, tonumber(lease) / 3) or NOW - tonumber(graced or '0') < GRACE_EVERY_MS then",
    'flow-standstill-of-lease': {
      'flow-standstill':
        "if not lease or still_ms < STILL_MS or NOW - tonumber(graced or '0') < GRACE_EVERY_MS then",
    },
    'flow-go-ahead':
      "if capacity < 1 or redis.call('ZCARD', key('out')) ~= capacity or redis.call('HGET', key('load'), item.turn) ~= '1' then",
    'flow-go-ahead-limit': 'if tenant[1] ~= item.tenant or turn[1] ~= item.turn then',
    'flow-go-ahead-share': {
      'flow-go-ahead':
        "if capacity < 1 or ahead or redis.call('ZCARD', key('out')) ~= capacity or false then",
    },
    'flow-passed-by': 'if false then',
    'flow-share-of-keys': "local first = redis.call('ZRANGE', key('ready:'), -1, -1, 'WITHSCORES')",
  },
  'test/integration/queue/once.test.ts': {
    'once-window': {
      'dedupe-window': "local is_there = false and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1",
    },
    'once-window-ends': {
      'dedupe-window': "local is_there = part and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1",
    },
    'once-latest': 'local at = math.max(now, own.at)',
    'once-begun': 'local may_change = not cancelled',
    'once-digest': 'local fields = {}',
    'once-quiet': "fields = { id .. '|begin', begin, id .. '|next_attempt_at', int(now_ms()) }",
    'once-repeat': 'if false then',
    'once-forgotten': 'if false then',
    'once-one-open': { 'singleton-open': 'if true then' },
    'once-held': 'if false then',
    'once-chain': 'return nil',
    'once-left-open': '',
    'once-replaced-look': 'if (false)',
    'once-kept': 'if key and false then',
    'once-cancelled': '',
    'once-tenant':
      "return `${ONCE_REQUEST_PREFIX}${hash('sha256', key, 'hex').slice(0, KEY_DIGITS)}.${unique}`;",
  },
  'test/integration/agents/once.test.ts': {
    'once-run-held': { 'once-held': 'if false then' },
    'once-run-to-end': "if not behind or (status ~= 'waiting' and id ~= RUN) then",
    'once-run-chain': 'if true then',
    'once-run-begun': "local may_change = status == 'pending' and version == '0' and not is_to_end(state)",
    'once-run-latest': { 'once-latest': 'local at = math.max(now, own.at)' },
    'once-run-cancelled': 'return false;',
    'once-run-ids': 'spec: { ...own, ...(spec as StoredSpec) },',
  },
  'test/integration/features/host-login/host-login.test.ts': {
    'lost-renewal': "const isRepeat = kind === 'RefreshToken' && now() - Number(used) < REPEAT_MS;",
  },
  'test/integration/features/personal-logins/personal-logins.test.ts': {
    'login-declined': "const action = 'accept';",
    'personal-connection': 'if (true) return calledOn(tools, request);',
    'only-its-starter': 'return;',
    'login-noted': '',
    'login-forgotten': 'return false;',
    'one-login': 'const isSame = true;',
    'same-browser': 'const isSame = begun !== null && person !== null;',
    'same-account': 'if (!isSame || !isOfServer)',
    'same-server': 'const isOfServer = server !== undefined;',
    'caller-counts': '',
    'only-administrators': '',
    'key-counts': 'return true;',
    'code-once': "await records.remove('begun', state);",
    'login-answers-login': '',
    'redrive-acts-for': '',
  },
  'test/integration/features/policy/decisions.test.ts': {
    'policy-denied': '',
    'policy-sampled': 'return null;',
    'policy-cheaper': 'const ruling = await decideCall({ rules, counters }, call, memberOf(claim));',
  },
  'test/integration/features/policy/approvers.test.ts': {
    'other-approver': '',
    'other-approver-steered': '',
  },
  'test/integration/features/policy/reservations.test.ts': {
    'login-approves-nothing': 'return false;',
    'policy-seen': 'if false then',
    'policy-once': 'if false then',
  },
  'test/integration/service/gate.test.ts': {
    'flow-hold':
      "if (answer !== 'unknown') return leaveAfter(parts, pass, ref, await attempt({ ...pass, ...asked }));",
  },
  'test/integration/features/schedules/crashes.test.ts': {
    'schedule-too-early': 'clock: () => now + Math.floor(performance.now() - askedAt),',
  },
  'test/unit/store/catalog/route.test.ts': {
    'pinned-tenant': 'if (known.size > 0 && !known.has(server)) return unknownServer(server, known);',
  },
  'test/unit/worker/gate-pass.test.ts': {
    'flow-may-begin': 'if (held !== null) return held;',
    'flow-machine-slept': 'return performance.now() - heldAt <= mostMs && heldAtWall > 0;',
  },
  'test/integration/mcp/http-connection.test.ts': {
    'flow-written': 'const response = await fetch(url, sent);',
  },
  'test/integration/models/model-directives.test.ts': {
    'flow-written-model': "globalThis.fetch(input, { ...wellFormedInit(init), redirect: 'manual' });",
  },
  'test/integration/mcp/stdio-connection.test.ts': {
    'flow-last-look': 'if (deadline.ending() !== null) return notSent(call);',
  },
  'test/unit/platform/encryption/sealed-answers.test.ts': {
    'encrypted-tool':
      "return utf8(`${JSON.stringify(['adjutant', 1, AES_CODEC, keyId, request, id, field])}\\n`);",
    'encrypted-id': {
      'encrypted-tool':
        "return utf8(`${JSON.stringify(['adjutant', 1, AES_CODEC, keyId, request, field, call])}\\n`);",
    },
    'encrypted-tenant': 'if (false) return unreadable(keyOfOthers(keyId, tenant));',
    'encrypted-mixture': 'if (false) return unreadable(notReadable(keyId));',
    'encrypted-answer': 'if (payload === null) return signal;',
  },
  'test/unit/platform/encryption/sealed-runs.test.ts': {
    'encrypted-run-tenant': 'if (true) return codec.decode(payload, place);',
    'encrypted-run-agent': "return { request, id: RUN, field: 'start', call: ['run'] };",
    'encrypted-run-log': 'return [entry];',
    'encrypted-run-tool': 'return name;',
    'encrypted-run-reason': "return typeof reason === 'string' ? reason : encryptedNote(keyId);",
    'encrypted-run-answer': 'if (isEnd(signal)) return signal;',
    'encrypted-run-document': 'return encodedIn(sealed) === null;',
    'encrypted-run-ended': 'if (run.later) return leaveToOthers(parts, requestId);',
    'encrypted-run-decision': 'if (false)',
  },
  'test/integration/service/large-payloads.test.ts': {
    'payload-refused': '',
    'payload-repeated': { 'payload-repeated': '', 'payload-refused': '' },
  },
  'test/unit/features/archive/payload-leftovers.test.ts': {
    'payload-empty-redis': "return name ?? '';",
    'payload-redis-replaced': 'if (!(await isLeftover(leftovers, folder))) return false;',
    'payload-needed': 'return tenant !== undefined && id !== undefined && scopedId(tenant, id) !== null;',
  },
  'test/integration/queue/entrance.test.ts': {
    'job-of-ended': "if add_job(id, name, data, options, timestamp, false, where == 'first') then",
  },
  'test/integration/queue/open-jobs.test.ts': {
    'first-job-of-ended': {
      'job-of-ended': "if add_job(id, name, data, options, timestamp, false, where == 'first') then",
    },
    'first-job-looked-at': '',
    'open-job-looked-at': '',
    'job-of-left-task': 'await (enqueueFirst)(lane, data);',
  },
  'test/integration/features/schedules/edits.test.ts': {
    'edit-marked': 'return {};',
    'edit-version': '',
    'edit-due': 'if (nextAt !== firingAt) return { spec, nextAt: following };',
  },
  'test/unit/store/index/announcer.test.ts': {
    'announced-by-old-clock': 'if (known === null) return byItsClock(members, afterMs);',
    'announced-by-late-answer': 'if (connection.isCluster)',
  },
  'test/integration/store/append-calls.test.ts': {
    'append-fence': "if record[1] ~= 'running' then",
    'append-repeat': 'if false then',
    'append-apart':
      'local ran, verdict = true, append(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], first, last)',
    'append-counted': "local held = int(tonumber(record[5] or '0'))",
    'append-soon': 'schedule(areMany() && together);',
    'append-end': 'if (hold) return;',
    'append-bound': '',
  },
  'test/integration/agents/counted-runs.test.ts': {
    'counted-runs': '',
    'counted-piece': '',
    'counted-live': 'activity?.note(requestId, null);',
  },
  'test/integration/store/sweep-index.test.ts': {
    'change-of-others': 'if true then',
  },
  'test/integration/worker/late-calls.test.ts': {
    'late-cancelled': 'elseif began_at and record[6] then',
  },
  'test/integration/worker/handed-over.test.ts': {
    'offer-deaf': 'local stands = offered_at and now - tonumber(offered_at) <= OFFER_MS',
    'offer-old': { 'offer-deaf': 'local stands = offered_at and is_heard(channel)' },
    'offer-paused':
      "if meta[2] or meta[3] or redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0 then",
    'offer-limited': {
      'offer-paused':
        "if meta[1] or meta[3] or redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0 then",
    },
    'offer-rate': {
      'offer-paused':
        "if meta[1] or meta[2] or redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0 then",
    },
    'offer-jump': { 'offer-paused': 'if meta[1] or meta[2] or meta[3] or false then' },
    'offer-serial':
      "return string.sub(lane, 1, 5) == 'tool.' or redis.call('EXISTS', prefix .. ':{lane:' .. lane .. '}:serial') == 0",
    'offer-large': "if lane == '' or begins_later(ARGV[at + 4]) then",
    'offer-begin': "local slot = facts.slot_for and ARGV[at + 6] == '' and facts.slot_for(at, now)",
    'offer-unbegun': "add_claim(record, id, '1', int(now + slot.lease_ms), slot.token .. '/0', int(now))",
    'offer-look': 'if false then',
    'offer-lock': '(() => {})(() => void renew().catch(onError), lockMs / RENEWALS_PER_LOCK);',
    'offer-fresh': 'const askedAt = performance.now();',
    'offer-full': 'if (data !== null && (claiming === undefined || claimingNow() !== null)) {',
    'offer-claim': '',
    'offer-returned': '',
    'offer-withdrawn': 'await settled(true);',
    'offer-marker': '',
    'offer-again': 'return [];\n}',
    'offer-bound': 'if false then',
  },
  'test/integration/agents/run.test.ts': {
    'wake-again': 'if false then',
  },
  'test/integration/agents/resume.test.ts': {
    'resume-ended': 'elseif false then',
    'resume-version': 'elseif false then',
    'announced-resume': '',
  },
  'test/integration/service/call-approvals.test.ts': {
    'approved-content': 'return null;',
  },
  'test/integration/features/webhooks/asks.test.ts': {
    'ask-notified': '',
  },
};
