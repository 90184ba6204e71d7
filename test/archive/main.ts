/** `npm run test:archive`: the archive in the buckets of real S3-compatible servers, which it installs by itself.
 *  It must never exit 0 when a scene fails, or when no server could be started. */
import { startRedis } from '../support/redis.ts';
import { SERVERS, type ServerKind } from './bucket-servers.ts';
import { type Scene, SCENES } from './scenes.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function failureOf(play: (scene: Scene) => Promise<void>, scene: Scene): Promise<string | null> {
  try {
    await play(scene);
    return null;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

/** How many scenes failed; null: the server cannot be started here. */
async function failuresOn(kind: ServerKind): Promise<number | null> {
  const server = await kind.start().catch((error: Error) => error.message);
  if (typeof server === 'string') {
    say(`SKIPPED ${kind.name}: ${server.slice(0, 300)}`);
    return null;
  }
  await using running = server;
  await using redis = await startRedis();
  let failures = 0;
  for (const [name, { play, needsSignatures }] of Object.entries(SCENES)) {
    if (needsSignatures && !kind.checksSignatures) continue;
    const failure = await failureOf(play, { server: running, redisUrl: redis.url });
    failures += failure === null ? 0 : 1;
    say(failure === null ? `ok      ${kind.name}: ${name}` : `FAILED  ${kind.name}: ${name}\n${failure}`);
  }
  return failures;
}

const wanted = process.argv.slice(2);
const results: (number | null)[] = [];
for (const kind of SERVERS)
  if (wanted.length === 0 || wanted.includes(kind.name)) results.push(await failuresOn(kind));
const played = results.filter((failures) => failures !== null);
if (played.length === 0) say('no server could be started: nothing is shown');
process.exitCode = played.length > 0 && played.every((failures) => failures === 0) ? 0 : 1;
