/** `npm run test:neighbours [-- part of a name]`: what the worst caller of each scope costs another tenant, as a table.
 *  It must never exit with 0 when a goal was missed. */
import { summarizeLatencies } from '../../bench/latency.ts';
import { table } from '../../src/cli/table.ts';
import { ATTACKS } from './attacks.ts';
import { type Installation, LIMIT_MIB, ROLES, startInstallation } from './installation.ts';
import { besiege, broken, type Siege } from './siege.ts';
import { createVictim } from './victim.ts';

/** The goal: what an attack may add to the victim's calls at the 99th percentile. */
const MOST_ADDED_MS = 50;
/** All attacks together end within five minutes. */
const OPTIONS = { scale: 1, longestMs: 8_000, calmCalls: 60 };
const HEAD = [
  'ATTACK',
  'SCOPE',
  'P50 +MS',
  'P99 +MS',
  'FAILED',
  'ANSWERS',
  ...ROLES.map((role) => `${role.toUpperCase()} MIB`),
  '',
];

const [part = ''] = process.argv.slice(2);
const attacks = ATTACKS.filter(({ name, scope }) => `${scope} ${name}`.includes(part));

async function measure(installation: Installation): Promise<Siege[]> {
  const victim = createVictim(installation.url, installation.victimKey);
  await victim.watch({ calls: OPTIONS.calmCalls });
  const sieges: Siege[] = [];
  for (const attack of attacks) {
    try {
      const siege = await besiege(attack, installation, victim, OPTIONS);
      sieges.push(siege);
      process.stderr.write(`${[attack.name, ...faultsOf(siege).slice(0, 5)].join('\n  ')}\n`);
    } catch (error) {
      process.stderr.write(`${attack.name}\n  could not be measured: ${String(error).slice(0, 400)}\n`);
    }
  }
  return sieges;
}

function addedMs({ calm: quiet, during }: Siege): { p50: number; p99: number } {
  const [calm, besieged] = [summarizeLatencies(quiet.latenciesMs), summarizeLatencies(during.latenciesMs)];
  return { p50: besieged.p50Ms - calm.p50Ms, p99: besieged.p99Ms - calm.p99Ms };
}

function faultsOf(siege: Siege): string[] {
  const { p99 } = addedMs(siege);
  return [
    ...(p99 > MOST_ADDED_MS ? [`${p99.toFixed(0)} ms more at the 99th percentile`] : []),
    ...broken(siege),
  ];
}

function rowOf(siege: Siege): string[] {
  const { attack, during, statuses, before, after } = siege;
  const { p50, p99 } = addedMs(siege);
  const answers = Object.entries(statuses).map(([status, count]) => `${count}×${status}`);
  const grown = ROLES.map((role) => {
    const [old, now] = [before[role], after[role]];
    return [old?.residentMiB, now?.residentMiB, now?.peakMiB]
      .map((mib) => (mib === undefined ? 'ended' : mib.toFixed(0)))
      .join(' → ');
  });
  const verdict = faultsOf(siege).length === 0 ? 'ok' : 'NOT OK';
  return [
    attack.name,
    attack.scope,
    p50.toFixed(1),
    p99.toFixed(1),
    `${during.failures.length} of ${during.latenciesMs.length}`,
    answers.join(' '),
    ...grown,
    verdict,
  ];
}

const installation = await startInstallation();
try {
  const limits = installation.enforced ? 'by cgroups' : 'by the heap of Node only';
  process.stdout.write(
    `Each process is limited to ${LIMIT_MIB} MiB ${limits}; memory: before → after → most.\n`,
  );
  const sieges = await measure(installation);
  process.stdout.write(`${table([HEAD, ...sieges.map(rowOf)]).join('\n')}\n`);
  const held = sieges.filter((siege) => faultsOf(siege).length === 0).length;
  const missed = attacks.length - held;
  process.stdout.write(
    missed === 0
      ? 'ok\n'
      : `${missed} of ${attacks.length} attacks cost another tenant something, or were not measured\n`,
  );
  process.exitCode = missed === 0 && attacks.length > 0 ? 0 : 1;
} finally {
  await installation[Symbol.asyncDispose]();
}
