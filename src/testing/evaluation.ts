/** Runs recorded cases once more with another prompt, agent or model; tools answer from the record.
 *  It must never start an MCP server, a webhook or an archive of the configuration, nor a directive type of a module. */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Difference } from '../contract/case/compare.ts';
import type { RunOverrides } from '../contract/run/run.ts';
import { isScore, type Score, verdictOf } from '../agents/modules/define-score.ts';
import { exportsOf } from '../agents/modules/module-exports.ts';
import { readConfigFile } from '../config/file.ts';
import { ConfigError } from '../config/error.ts';
import { isObject } from '../contract/json/json-object.ts';
import type { CaseReplay, ReplayedRun } from './case-replay.ts';
import { startTestKit } from './test-kit.ts';

/** Most files of one evaluation. */
const MOST_CASES = 1_000;

/** Options of an evaluation. */
export interface EvaluationOptions {
  /** Files of cases, and folders of them. */
  readonly paths: readonly string[];
  /** Path of adjutant.json. null: no configuration. */
  readonly config: string | null;
  readonly agent?: string;
  readonly overrides: RunOverrides;
  /** Runs of each case. */
  readonly times: number;
  /** Models answer from the record, too. */
  readonly offline: boolean;
  /** Path of a module with scores; null: none. */
  readonly scores: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ends the run under way. */
  readonly signal: AbortSignal;
}

/** Outcome of one run of a case. */
export interface EvaluatedRun {
  readonly case: string;
  /** Number of the run of its case, from 1. */
  readonly run: number;
  readonly passed: boolean;
  readonly same_calls: boolean;
  readonly same_end: boolean;
  readonly same_result: boolean;
  readonly end: ReplayedRun['comparison']['b'];
  readonly recorded: ReplayedRun['comparison']['a'];
  readonly scores: readonly Awaited<ReturnType<typeof verdictOf>>[];
  /** Where the run left the record first; null: nowhere. */
  readonly left: Difference | null;
}

/**
 * Evaluates cases one after the other. Throws `ConfigError` for a faulty configuration or module, `CaseFault` for a file that is no case.
 */
export async function* evaluate(options: EvaluationOptions): AsyncGenerator<EvaluatedRun> {
  const scores = options.scores === null ? [] : await scoresOf(options.scores);
  const config = configOf(options.config);
  const directory = dirname(resolve(options.config ?? 'adjutant.json'));
  const environment = environmentOf(options.environment);
  for (const file of casesIn(options.paths)) {
    const models = options.offline ? 'recorded' : 'live';
    const replay = { file, mode: 'loose', models } as const;
    await using kit = await startTestKit({ config, directory, environment, replay });
    for (let run = 1; run <= options.times; run += 1)
      yield await unlessAborted(evaluated(kit.replay, { ...options, file, run, scores }), options.signal);
  }
}

/** Rejects as soon as the signal is aborted; the kit then ends what is under way. */
async function unlessAborted<T>(step: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([step, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

interface Evaluated extends Pick<EvaluationOptions, 'agent' | 'overrides' | 'offline'> {
  readonly file: string;
  readonly run: number;
}

async function evaluated(
  replay: CaseReplay,
  { file, run, scores, agent, overrides, offline }: Evaluated & { readonly scores: readonly Score[] },
): Promise<EvaluatedRun> {
  const replayed = await replay.run({ ...(agent === undefined ? {} : { agent }), overrides });
  const { comparison, left: leftInRun } = replayed;
  const { same_calls, same_end, same_result, a, b } = comparison;
  const verdicts = await Promise.all(scores.map(async (score) => verdictOf(score, replayed)));
  const isAsRecorded = scores.length === 0 ? same_calls : verdicts.every(({ passed }) => passed);
  const left = leftInRun ?? (comparison.parted !== null && !same_end ? comparison.parted : null);
  return {
    case: file,
    run,
    passed: same_end && isAsRecorded && !(offline && left !== null),
    same_calls,
    same_end,
    same_result,
    end: b,
    recorded: a,
    scores: verdicts,
    left,
  };
}

/** Files that end in `.jsonl`, by their names. */
function casesIn(paths: readonly string[]): string[] {
  const files = paths.flatMap((path) => {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path).filter((name) => name.endsWith('.jsonl'));
    return names.toSorted().map((name) => join(path, name));
  });
  if (files.length > MOST_CASES) throw new RangeError(`${files.length} cases, at most ${MOST_CASES}`);
  return files;
}

/** Sections that act on nothing outside: models are asked, agents and strategies decide. */
const USED_SECTIONS = ['agents', 'strategies', 'providers', 'models', 'limits'];

function configOf(path: string | null): Record<string, unknown> {
  if (path === null) return {};
  const read = readConfigFile(path);
  if (!read.ok)
    throw new ConfigError(path, [{ path: '', message: read.message }], { placeOf: () => read.place });
  const whole = isObject(read.value) ? read.value : {};
  return Object.fromEntries(Object.entries(whole).filter(([name]) => USED_SECTIONS.includes(name)));
}

/** Keys of providers, without what configures a service of this machine. */
function environmentOf(all: EvaluationOptions['environment']): Record<string, string> {
  const entries = Object.entries(all).filter(
    ([name]) => !name.startsWith('ADJUTANT_') && name !== 'REDIS_URL',
  );
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

async function scoresOf(path: string): Promise<Score[]> {
  return (await exportsOf(process.cwd(), path, '--scores', isScore)) as Score[];
}
