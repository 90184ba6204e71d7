/** A process of the service under test: its roles, on a clock that the test moves. Messages of its parent start, move and stop it.
 *  It must never outlive the test, however that ends. */
import { enableCompileCache } from 'node:module';
import { moveClock } from '../platform/redis/clock.ts';
import { endProcess, removeFolder } from './remove-folder.ts';
import type { Roles } from '../service/roles/roles.ts';

enableCompileCache();

/** Message of the parent. */
export type Command =
  | {
      readonly kind: 'start';
      /** Content of adjutant.json. */
      readonly config: unknown;
      readonly directory: string;
      readonly environment: Readonly<Record<string, string>>;
      readonly roles: Roles;
      readonly movedMs: number;
      /** Process id of the Redis, which ends with the test, as does its folder. */
      readonly redisPid: number;
      readonly redisFolder: string;
    }
  | { readonly kind: 'clock'; readonly movedMs: number }
  | { readonly kind: 'stop' };

/** Message to the parent. */
export type Report =
  | { readonly kind: 'works'; readonly url: string | null }
  | { readonly kind: 'failed'; readonly why: string };

let movedMs = 0;
let redisPid: number | null = null;
let redisFolder: string | null = null;
let stop: (() => Promise<void>) | null = null;

moveDates();
moveClock(() => movedMs);
process.on('message', (command: Command) => void take(command));
process.once('disconnect', endWithTest);
// An interrupt from the keyboard reaches all processes of the test: its own decides, and this one cleans up after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

async function take(command: Command): Promise<void> {
  switch (command.kind) {
    case 'start':
      return start(command);
    case 'clock':
      movedMs = command.movedMs;
      return;
    case 'stop':
      await stop?.();
      return endProcess(process.pid);
  }
}

async function start(command: Extract<Command, { kind: 'start' }>): Promise<void> {
  ({ movedMs, redisPid, redisFolder } = command);
  try {
    report({ kind: 'works', url: await serve(command) });
  } catch (error) {
    report({ kind: 'failed', why: error instanceof Error ? error.message : String(error) });
  }
}

async function serve({ config, directory, environment, roles }: Extract<Command, { kind: 'start' }>) {
  const [{ parseConfig }, { loadModules }, { withDefaultAgent }, { createService }] = await Promise.all([
    import('../config/config.ts'),
    import('../agents/modules/modules.ts'),
    import('../agents/modules/default-agent.ts'),
    import('../service/service.ts'),
  ]);
  const parsed = parseConfig(config, { source: 'the configuration of the test kit', directory, environment });
  const modules = await loadModules(parsed);
  const agents = withDefaultAgent(modules.agents);
  const service = await createService(parsed, roles, { modules: { ...modules, agents } });
  stop = async () => service.stop();
  await service.start();
  return service.url;
}

function report(message: Report): void {
  process.send?.(message);
}

/** Ends the Redis of a test that is gone, perhaps by SIGKILL. */
function endWithTest(): void {
  if (redisPid !== null) endProcess(redisPid);
  if (redisFolder !== null) removeFolder(redisFolder);
  endProcess(process.pid);
}

/** `Date` of this process, moved. Timers, and what measures durations, run as they do. */
function moveDates(): void {
  const now = Date.now.bind(Date);
  const moved = () => now() + movedMs;
  globalThis.Date = new Proxy(Date, {
    construct: (target, args, self) =>
      Reflect.construct(target, args.length === 0 ? [moved()] : args, self) as Date,
    apply: (target) => new target(moved()).toString(),
    get: (target, name, self) => (name === 'now' ? moved : (Reflect.get(target, name, self) as unknown)),
  });
}
