/** Asks Redis at the start whether its user may run what the service needs, one harmless command for each permission.
 *  docs/operations.md lists the same permissions. */
import type { RedisConnection } from './connection.ts';

export interface Permission {
  /** As an ACL rule grants it. */
  readonly rule: string;
  /** The feature that needs it. */
  readonly needs: string;
  /** false: the service runs without what needs it. */
  readonly isRequired: boolean;
}

interface Probe extends Permission {
  ask(connection: RedisConnection, prefix: string): Promise<unknown>;
}

const SCRIPT = 'return redis.call("EXISTS", KEYS[1])';

const PROBES: readonly Probe[] = [
  {
    rule: '+info',
    needs: 'the check that this Redis never drops keys, and of its memory',
    isRequired: true,
    ask: async (connection) => connection.call('INFO', 'server'),
  },
  {
    rule: '+@scripting, and ~{PREFIX}* ~{{PREFIX}:* for keys',
    needs: 'every change of a directive or run',
    isRequired: true,
    ask: async (connection, prefix) =>
      Promise.all(
        [`${prefix}:{permissions}`, `{${prefix}:permissions}`].map((key) => connection.eval(SCRIPT, 1, key)),
      ),
  },
  {
    rule: '+publish, and &{PREFIX}* for channels',
    needs: 'followers of signals, cancellations, and changes of the catalog',
    isRequired: true,
    ask: async (connection, prefix) => connection.publish(`${prefix}:permissions`, ''),
  },
  {
    rule: '+config|get',
    needs: 'the check of appendfsync; without it `durability: "fsync"` waits for the disk where it need not',
    isRequired: false,
    ask: async (connection) => connection.call('CONFIG', 'GET', 'appendfsync'),
  },
  {
    rule: '+pubsub|numsub',
    needs: 'a job given to a waiting worker without a delay',
    isRequired: false,
    ask: async (connection, prefix) => connection.call('PUBSUB', 'NUMSUB', `${prefix}:permissions`),
  },
];

/** The permissions that the user of the connection does not have. */
export async function missingPermissions(
  connection: RedisConnection,
  prefix: string,
): Promise<readonly Permission[]> {
  const refused = await Promise.all(
    PROBES.map(async (probe) => {
      const isRefused = await probe.ask(connection, prefix).then(() => false, isNoPermission);
      return isRefused ? shown(probe, prefix) : null;
    }),
  );
  return refused.filter((permission) => permission !== null);
}

function shown({ rule, needs, isRequired }: Probe, prefix: string): Permission {
  return { rule: rule.replaceAll('{PREFIX}', prefix), needs, isRequired };
}

/** Any other fault is found, and named, where the command is used. */
function isNoPermission(error: unknown): boolean {
  return (
    error instanceof Error && /\bNOPERM\b|can't run this command|not allowed to run/i.test(error.message)
  );
}
