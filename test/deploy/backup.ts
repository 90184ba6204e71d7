// The backup that docs/operations.md describes, of a composition: copied while it works, restored when it is stopped.
// Must never restore into a Redis that runs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Composition, Container } from './composition.ts';
import { demand } from './report.ts';
import { API, ask, callsTool, ended, untilReady, untilTrue } from './service-calls.ts';

const FILES = '/data/appendonlydir';
const REWRITE = 'auto-aof-rewrite-percentage';

export interface Backup {
  take(): Promise<void>;
  /** After a stop of everything. */
  restore(): Promise<void>;
}

export function backupOf(project: Composition): Backup {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-backup-'));
  const copy = join(folder, 'appendonlydir');
  const redis = (): Container => project.containers('redis')[0] as Container;
  const redisCli = (...command: string[]): string => project.exec(redis(), 'redis-cli', ...command);
  return {
    async take() {
      await callsTool('in-backup');
      redisCli('config', 'set', REWRITE, '0');
      await untilTrue('the end of a rewrite', () =>
        redisCli('info', 'persistence').includes('aof_rewrite_in_progress:0'),
      );
      project.copy(`${redis().id}:${FILES}`, copy);
      redisCli('config', 'set', REWRITE, '100');
      await callsTool('after-backup');
    },
    async restore() {
      project.compose('run', '--rm', '--no-deps', 'redis', 'rm', '-rf', FILES);
      project.copy(copy, `${redis().id}:${FILES}`);
      rmSync(folder, { recursive: true });
      project.compose('start', 'redis');
      await untilTrue('the keys', () => Number(redisCli('dbsize')) > 0);
      project.compose('start', 'worker', 'engine', 'api');
      await untilReady();
      await holdsCopy();
      await callsTool('after-restore');
    },
  };
}

/** What had ended is there; what came after the copy is unknown. */
async function holdsCopy(): Promise<void> {
  demand((await ended('in-backup')).status === 'succeeded', 'the backup lacks what had ended');
  const { status } = await ask(`${API}/v1/requests/deploy/directives/after-backup`);
  demand(status === 404, `what came after the copy is answered with ${status}`);
}
