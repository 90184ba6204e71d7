/** `npm run test:jaeger`: the requests of test/e2e/traces.test.ts against a real Jaeger, read through its query API.
 *  It must never exit 0 when a trace differs; without a Jaeger it says so, and has proven nothing. */
import { setTimeout as pause } from 'node:timers/promises';
import { startJaeger, type Jaeger } from '../support/jaeger.ts';
import { faultsOf } from '../support/span-rules.ts';
import { newUserTree } from './new-user.ts';
import { outline } from '../support/span-tree.ts';
import { TRACED_REQUESTS } from '../support/traced-requests.ts';
import { openScenes } from '../support/traced-scenes.ts';

/** From the end of a request to its whole tree in Jaeger. */
const LONGEST_WAIT_MS = 10_000;
const LOOK_EVERY_MS = 100;

/** The tree as soon as it is as expected, or as it is in the end. */
async function treeOf(jaeger: Jaeger, traceId: string, expected: readonly string[]): Promise<string> {
  const until = performance.now() + LONGEST_WAIT_MS;
  for (;;) {
    const drawn = await drawnTree(jaeger, traceId);
    if (drawn === expected.join('\n') || performance.now() > until) return drawn;
    await pause(LOOK_EVERY_MS);
  }
}

async function drawnTree(jaeger: Jaeger, traceId: string): Promise<string> {
  try {
    const spans = await jaeger.spans(traceId);
    // Every attribute, event and link, and nothing else.
    return [...outline(spans), ...faultsOf(spans)].join('\n');
  } catch (error) {
    return String(error);
  }
}

/** Until Jaeger has so many spans of this name. */
async function untilArrived(jaeger: Jaeger, traceId: string, name: string, count: number): Promise<void> {
  const until = performance.now() + LONGEST_WAIT_MS;
  while (performance.now() < until) {
    const spans = await jaeger.spans(traceId).catch(() => []);
    if (spans.filter((span) => span.name === name).length >= count) return;
    await pause(LOOK_EVERY_MS);
  }
  throw new Error(`Jaeger does not have ${count} spans ${name} of the trace ${traceId}`);
}

async function check(jaeger: Jaeger): Promise<number> {
  await using scenes = await openScenes(jaeger.endpoint, {
    untilArrived: (...awaited) => untilArrived(jaeger, ...awaited),
  });
  const traces: { name: string; traceId: string; tree: readonly string[] }[] = [];
  for (const { name, begin, tree } of TRACED_REQUESTS) {
    const { traceId } = await begin(scenes);
    traces.push({ name, traceId, tree });
    // What a worker has not sent yet dies with it.
    await treeOf(jaeger, traceId, tree);
  }
  await scenes.stop();
  let differing = 0;
  for (const { name, traceId, tree } of traces) {
    const drawn = await treeOf(jaeger, traceId, tree);
    const isRight = drawn === tree.join('\n');
    differing += isRight ? 0 : 1;
    process.stdout.write(`${isRight ? 'ok' : 'DIFFERS'}  ${name}\n`);
    if (!isRight) process.stdout.write(`expected\n${tree.join('\n')}\nis\n${drawn}\n`);
  }
  return differing;
}

await using jaeger = await startJaeger();
if (jaeger === null) {
  process.stdout.write('SKIPPED: no Jaeger. Set JAEGER_BIN, or put `jaeger` (v2) on the PATH.\n');
} else {
  const differing = await check(jaeger);
  await using fresh = await startJaeger();
  const typed = fresh === null ? null : await newUserTree(fresh);
  const isRight = typed?.is === typed?.expected;
  process.stdout.write(`${isRight ? 'ok' : 'DIFFERS'}  the commands of docs/observability.md\n`);
  if (!isRight) process.stdout.write(`expected\n${typed?.expected}\nis\n${typed?.is}\n`);
  process.stdout.write(
    `${TRACED_REQUESTS.length - differing} of ${TRACED_REQUESTS.length} traces are in Jaeger\n`,
  );
  process.exitCode = differing === 0 && isRight ? 0 : 1;
}
