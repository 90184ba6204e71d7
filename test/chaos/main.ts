/** `npm run test:chaos -- --minutes M --seed S`: a run under chaos; ends with `ok`, with what was broken, or with why it could not judge.
 *  It must never exit with 0 after a violation, nor where it could not judge. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkOut } from '../support/checkout.ts';
import { run } from './run.ts';

/** The exit code where the machine was too busy, and nothing else was wrong. */
const COULD_NOT_JUDGE = 2;

const { values } = parseArgs({
  options: {
    /** How long it drives and kills; judging takes about a minute more. */
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Directives per second. */
    rate: { type: 'string', default: '20' },
    /** Percent of the requests that are runs of agents; the rest are directives. */
    runs: { type: 'string', default: '40' },
    /** Folder of the sources under test. */
    source: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
    /** Nothing is killed. */
    calm: { type: 'boolean', default: false },
    /** Instead of kills, a rolling restart of every role. */
    rolling: { type: 'boolean', default: false },
    /** A commit: the rolling restart begins with its sources, upgrades to these, goes back, and so on. */
    from: { type: 'string' },
    /** Links of workers and engines to Redis are cut, too: they go on, and what they sent arrives late. */
    cuts: { type: 'boolean', default: false },
    'until-violation': { type: 'boolean', default: false },
  },
});

// An orderly exit also ends the children.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));

const former = values.from === undefined ? null : checkOut(values.from).folder;

const { violations, unjudged } = await run({
  minutes: Number(values.minutes),
  seed: values.seed,
  rate: Number(values.rate),
  runs: Number(values.runs),
  source: values.source,
  calm: values.calm,
  rolling: values.rolling || former !== null,
  former,
  cuts: values.cuts,
  untilViolation: values['until-violation'],
  say: (line) => void process.stdout.write(`${line}\n`),
});
if (unjudged !== null) process.stdout.write(`could not judge: ${unjudged}\n`);
if (violations > 0) process.stdout.write(`${violations} violations, seed ${values.seed}\n`);
else if (unjudged === null) process.stdout.write('ok\n');
process.exitCode = violations > 0 ? 1 : unjudged === null ? 0 : COULD_NOT_JUDGE;
