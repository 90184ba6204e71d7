/** One run: drives, kills, waits until everything is over, and has every request judged.
 *  It must never stop at the first fault of its own: everything accepted is checked. */
import { setTimeout as delay } from 'node:timers/promises';
import { archiveFiles } from './archive-files.ts';
import { budgetViolationsOf } from './budget-rules.ts';
import { allExecutions } from './executions.ts';
import { archiveViolationsOf, type ClosedRequest } from './archive-rules.ts';
import { startKiller, type Killer } from './killer.ts';
import { judgementOf, mayHaveExpired, notInTime } from './judgement.ts';
import { leftovers } from './leftovers.ts';
import { listDiffers, listedWrong } from './listing.ts';
import { LONGEST_DEADLINE_MS, planRequest } from './plan.ts';
import { chanceOf } from './random.ts';
import { type Roller, startRoller } from './roller.ts';
import { createPace, LOOK_MS, type Pace, processorShares } from './pace.ts';
import { planRuns } from './run-plan.ts';
import { directiveScene, runScene, type Scene, type Verdict } from './scene.ts';
import { type ScheduleWatch, watchSchedules } from './schedule-watch.ts';
import { callLines } from './call-log.ts';
import { type FlowWatch, watchFlow } from './flow-watch.ts';
import { type OnceWatch, watchOnce } from './once-watch.ts';
import { webhookViolationsOf } from './webhook-rules.ts';
import { COUNTED } from './model-plan.ts';
import { overlapsOf } from './serial-calls.ts';
import { archiveFolder, BUDGET, runningPids, startSystem, type System } from './system.ts';
import { type HostileTenant, startHostileTenant } from './hostile-tenant.ts';
import { createTally, type Tally } from './tally.ts';
import { read } from './transport.ts';
import type { WireBudgets, WireLanes } from './wire.ts';

export interface RunOptions {
  readonly minutes: number;
  readonly seed: string;
  /** Folder of the sources that run. Default: this repository. */
  readonly source: string;
  /** Directives per second that the driver aims for. */
  readonly rate: number;
  /** Percent of the scenes that are runs of agents. */
  readonly runs: number;
  /** Nothing is killed. */
  readonly calm: boolean;
  /** Nothing is killed; every process is replaced in turn. */
  readonly rolling: boolean;
  /** Folder of the sources with which a rolling restart begins, and to which it goes back by turns; null: it has only `source`. */
  readonly former: string | null;
  /** Links between processes and Redis are cut, too. */
  readonly cuts: boolean;
  /** Ends at the first violation. */
  readonly untilViolation: boolean;
  readonly say: (line: string) => void;
}

export interface RunResult {
  readonly violations: number;
  /** Why something could not be judged; null: all was. */
  readonly unjudged: string | null;
  readonly tally: Tally;
}

/** Time after the end of a request in which a late action may still do harm, milliseconds. */
const SETTLE_MS = 15_000;
/** Long enough to check everything, short enough to see it expire. */
const RETENTION_MS = 50_000;
const POLL_MS = 1_500;
/** Requests under way, or being looked at, above which the driver waits: the machine cannot handle more. */
const MOST_OPEN = 100;
/** The retention, and the minute in which the sweeper waits for a directive that was announced and refused. */
const EXPIRY_MS = 90_000;
/** Requests whose evidence is kept after they were judged. */
const MOST_REMEMBERED = 2_000;
const REPORTED = 10;

/** Longer than the longest calls. */
const LONG_DRAIN_MS = 60_000;

const NOBODY: Killer = { faults: [], stop: async () => {} };

export async function run(options: RunOptions): Promise<RunResult> {
  const { say, seed } = options;
  const drain = options.rolling ? { drainMs: LONG_DRAIN_MS } : {};
  const former = options.former ?? options.source;
  const system = await startSystem({
    source: former,
    ...drain,
    retentionMs: RETENTION_MS,
    links: options.cuts,
  });
  const roller = options.rolling ? startRoller(system, [options.source, former]) : null;
  const killer = roller ?? (options.calm ? NOBODY : startKiller(seed, system));
  const judged: State['judged'] = new Map();
  const state: State = {
    options,
    system,
    killer,
    tally: createTally(killer.faults),
    open: new Set(),
    judged,
    closed: new Map(),
    schedules: watchSchedules(seed, system, options.minutes),
    keys: watchOnce(seed, system, options.minutes),
    flow: watchFlow(seed, system, options.minutes),
    hostile: startHostileTenant(seed, system, { minutes: options.minutes, known: () => judged.keys() }),
    notifying: new Map(),
    pace: createPace(Date.now()),
    violations: 0,
    unjudged: { late: 0, expired: 0, why: '' },
  };
  const looking = setInterval(() => lookAtPace(state), LOOK_MS);
  say(`seed ${seed}, ${options.minutes} minutes, ${system.folder}`);
  try {
    const audits = await driveFor(state);
    await killer.stop();
    if (roller !== null) reportRoller(state, roller);
    say(`the killer has stopped, ${state.open.size} requests are being looked at`);
    await Promise.all(audits);
    if (!stopsEarly(state)) await checkSchedules(state);
    if (!stopsEarly(state)) await checkRest(state);
    if (state.violations > 0) sayOutput(state);
  } finally {
    clearInterval(looking);
    await killer.stop();
    await system.stop();
  }
  const { schedules, keys, flow, hostile, notifying } = state;
  const webhooks = `webhooks: ${notifying.size} ends, ${system.receiver.received.length} deliveries`;
  const watches = [schedules, keys, flow, hostile].map((watch) => watch.line());
  for (const line of [...state.tally.lines(), ...watches, webhooks]) say(line);
  return { violations: state.violations, unjudged: unjudgedIn(state), tally: state.tally };
}

interface State {
  readonly options: RunOptions;
  readonly system: System;
  readonly killer: Killer;
  readonly tally: Tally;
  /** Requests that are being driven or checked. */
  readonly open: Set<string>;
  /** What was seen of each request when it was judged: needed again if something of it is left over. */
  readonly judged: Map<string, Verdict>;
  /** What the archive has to hold. */
  readonly closed: Map<string, ClosedRequest>;
  readonly schedules: ScheduleWatch;
  readonly keys: OnceWatch;
  readonly flow: FlowWatch;
  readonly hostile: HostileTenant;
  /** What asked for a webhook, with its status. */
  readonly notifying: Map<string, string>;
  readonly pace: Pace;
  violations: number;
  /** How much nobody could judge: too late for its deadline, or for the evidence; and why. */
  readonly unjudged: { late: number; expired: number; why: string };
}

function lookAtPace({ pace, system }: State): void {
  pace.look(Date.now(), processorShares([process.pid, ...runningPids(system)]));
}

function unjudgedIn({ unjudged: { late, expired, why } }: State): string | null {
  if (late + expired === 0) return null;
  const found = [
    ...(late > 0 ? [`${late} findings depend on time, and ${why}`] : []),
    ...(expired > 0 ? [`${expired} requests were read when they may have expired`] : []),
  ];
  return `the machine was too busy: ${found.join('; ')}`;
}

function stopsEarly({ options, violations }: State): boolean {
  return options.untilViolation && violations > 0;
}

/** Starts requests until the time is over; returns those that are still to be checked. */
async function driveFor(state: State): Promise<Promise<void>[]> {
  const { options } = state;
  const chance = chanceOf(`${options.seed}/arrivals`);
  const endsAt = Date.now() + options.minutes * 60_000;
  const audits: Promise<void>[] = [];
  let saidAt = Date.now();
  for (let number = 1; Date.now() < endsAt && !stopsEarly(state); number += 1) {
    const scene = chance.percent(options.runs)
      ? runScene(planRuns(options.seed, number), stageOf(state))
      : directiveScene(planRequest(options.seed, number), stageOf(state));
    audits.push(see(scene, state));
    // Poisson arrivals: the mean pause for so many directives.
    const pauseMs = (-Math.log(1 - chance.next()) * 1_000 * scene.size) / options.rate;
    await delay(Math.min(pauseMs, 5_000));
    while (state.open.size > MOST_OPEN && Date.now() < endsAt) await delay(200);
    if (Date.now() - saidAt > 30_000) {
      saidAt = Date.now();
      options.say(state.tally.short(state.open.size));
    }
  }
  return audits;
}

function stageOf({ system, killer, tally }: State) {
  return { system, faults: killer.faults, tally };
}

async function see(scene: Scene, state: State): Promise<void> {
  state.open.add(scene.name);
  await scene.play();
  const openAt = await untilSettled(scene, state);
  scene.leave();
  if (!stopsEarly(state)) await judge(scene, openAt, state);
  state.open.delete(scene.name);
}

/**
 * A submission without an answer may be accepted late, when Redis is back: then there is more to wait for. Returns when it was last
 * known to be open.
 */
async function untilSettled(scene: Scene, state: State): Promise<number> {
  const giveUpAt = Date.now() + LONGEST_DEADLINE_MS + 45_000;
  let openAt = Date.now();
  const isOpen = async (): Promise<boolean> => {
    const askedAt = Date.now();
    const open = !stopsEarly(state) && (await scene.isOpen());
    if (open) openAt = askedAt;
    return open;
  };
  do {
    while ((await isOpen()) && Date.now() < giveUpAt) await delay(POLL_MS);
    if (!stopsEarly(state)) await delay(SETTLE_MS);
  } while ((await isOpen()) && Date.now() < giveUpAt);
  return openAt;
}

async function judge(scene: Scene, openAt: number, state: State): Promise<void> {
  const all = await scene.judge();
  if (all === null)
    return report(state, [notInTime(`the service does not answer about ${scene.name}`)], null);
  const readAt = Date.now();
  const verdicts = all.filter((verdict) => {
    // One run of a conversation closes before the others, which keep the scene open.
    const closedAt = Date.parse(verdict.view?.closed_at ?? '');
    const readAfterMs = readAt - Math.min(openAt, Number.isNaN(closedAt) ? openAt : closedAt);
    const hasExpired =
      verdict.violations.length > 0 && mayHaveExpired({ ...verdict, readAfterMs }, RETENTION_MS);
    if (hasExpired) state.unjudged.expired += 1;
    return !hasExpired;
  });
  for (const verdict of verdicts) {
    remember(state, verdict);
    if (verdict.violations.length > 0) report(state, verdict.violations, verdict);
  }
  await Promise.all(verdicts.map(async (verdict) => judgeListed(state, verdict)));
}

function remember({ judged, closed, notifying }: State, verdict: Verdict): void {
  const { requestId, view, signals } = verdict;
  for (const { id, status } of view?.directives ?? [])
    if (verdict.notifying.includes(id)) notifying.set(`${requestId}/${id}`, status);
  judged.set(requestId, verdict);
  const [oldest] = judged.keys();
  if (judged.size > MOST_REMEMBERED && oldest !== undefined) judged.delete(oldest);
  if (view?.status !== 'closed') return;
  closed.set(requestId, { requestId, sequence: view.sequence, lastSignalId: signals.at(-1)?.id ?? null });
}

/** A request that is not closed has its violation already. */
async function judgeListed(state: State, verdict: Verdict): Promise<void> {
  if (verdict.view?.status !== 'closed') return;
  const wrong = await listedWrong(state.system, verdict.view, verdict.signals);
  if (wrong.length > 0) report(state, wrong.map(notInTime), verdict);
}

function report(state: State, all: readonly string[], verdict: Verdict | null): void {
  const { options, unjudged: held } = state;
  const busy = state.pace.tooBusy(Date.now());
  const { violations: found, unjudged } = judgementOf(all, busy !== null);
  held.late += unjudged.length;
  held.why = busy ?? held.why;
  if (found.length === 0) return;
  state.violations += found.length;
  options.say(`VIOLATION with seed ${options.seed}${verdict === null ? '' : ` in ${verdict.requestId}`}`);
  for (const sentence of found) options.say(`  ${sentence}`);
  if (verdict === null || state.violations > REPORTED * 10) return;
  options.say('  its history:');
  for (const line of verdict.story()) options.say(line);
}

function reportRoller(state: State, roller: Roller): void {
  const replaced = new Set(roller.faults.map(({ kind }) => kind));
  state.options.say(`${roller.faults.length} processes were replaced, in ${roller.rounds()} whole rounds`);
  const complaints = [...roller.complaints()];
  if (replaced.size < 4) complaints.push(`only these were replaced: ${[...replaced].join(', ')}`);
  if (complaints.length > 0) report(state, complaints, null);
}

async function checkSchedules(state: State): Promise<void> {
  const { schedules, keys, flow, hostile, killer } = state;
  const wrong = [
    ...(await schedules.judge()),
    ...(await keys.judge()),
    ...(await flow.judge(killer.faults)),
    ...(await hostile.judge()),
  ];
  if (wrong.length > 0) report(state, wrong, null);
}

/** When nothing is under way any more. */
async function checkBudget(state: State): Promise<void> {
  const { apiUrls, folder } = state.system;
  const answer = await read<WireBudgets>(apiUrls, '/v1/budgets');
  if (answer === null) return report(state, [notInTime('the service does not answer about budgets')], null);
  const log = allExecutions(folder);
  const counted = log.filter(({ tool }) => tool === 'm3');
  const wrong = [
    ...budgetViolationsOf(answer.body, BUDGET, log),
    ...budgetViolationsOf(answer.body, COUNTED, counted),
  ];
  if (wrong.length > 0) report(state, wrong, null);
}

/** The list is complete, nothing waits in a lane, nothing is left after the retention, and all that closed is archived. */
async function checkRest(state: State): Promise<void> {
  const { system } = state;
  const overlaps = overlapsOf(callLines(system.folder, 'serial-calls'), state.killer.faults);
  if (overlaps.length > 0) report(state, overlaps, null);
  await checkBudget(state);
  const unlisted = await listDiffers(system);
  if (unlisted.length > 0) report(state, unlisted.map(notInTime), null);
  const unnotified = await untilAllAreNotified(state);
  if (unnotified.length > 0) report(state, unnotified.map(notInTime), null);
  const waiting = await untilLanesAreEmpty(system);
  if (waiting.length > 0) report(state, waiting.map(notInTime), null);
  for (const key of await untilNothingIsLeft(system)) {
    const requestId = /chaos-[^/{}]+-\d+b?/.exec(key)?.[0] ?? '';
    report(state, [notInTime(`left in Redis: ${key}`)], state.judged.get(requestId) ?? null);
  }
  for (const [requestId, wrong] of await untilAllIsArchived(state))
    report(state, wrong.map(notInTime), state.judged.get(requestId) ?? null);
}

/** What a killed process had taken is archived by another one, before the request expires. */
async function untilAllIsArchived({ system, closed }: State): Promise<Map<string, string[]>> {
  const files = archiveFiles(archiveFolder(system.folder));
  for (const giveUpAt = Date.now() + RETENTION_MS; ; await delay(POLL_MS)) {
    const wrong = archiveViolationsOf(closed.values(), files());
    if (wrong.size === 0 || Date.now() > giveUpAt) return wrong;
  }
}

async function untilAllAreNotified({ system, notifying }: State): Promise<string[]> {
  for (const giveUpAt = Date.now() + 30_000; ; await delay(POLL_MS)) {
    const wrong = webhookViolationsOf(notifying, system.receiver.received);
    if (wrong.length === 0 || Date.now() > giveUpAt) return wrong;
  }
}

async function untilNothingIsLeft({ redis }: System): Promise<string[]> {
  for (const giveUpAt = Date.now() + EXPIRY_MS; ; await delay(POLL_MS)) {
    const left = await leftovers(redis.url, RETENTION_MS);
    if (left.length === 0 || Date.now() > giveUpAt) return left;
  }
}

async function untilLanesAreEmpty(system: System): Promise<string[]> {
  for (const giveUpAt = Date.now() + 30_000; ; await delay(POLL_MS)) {
    const answer = await read<WireLanes>(system.apiUrls, '/v1/lanes');
    const busy = (answer?.body.lanes ?? []).filter((lane) => lane.waiting + lane.active + lane.delayed > 0);
    if (answer !== null && busy.length === 0) return [];
    if (Date.now() > giveUpAt) return busy.map((lane) => `pending at the end: ${JSON.stringify(lane)}`);
  }
}

/** The output of the processes, as far as it is likely to matter. */
function sayOutput({ options, system }: State): void {
  for (const [name, lines] of system.output()) {
    const loud = lines.filter((line) => !/ECONNREFUSED|Connection is closed|goes on/.test(line));
    for (const line of loud.slice(-20)) options.say(`  ${name}: ${line}`);
  }
}
