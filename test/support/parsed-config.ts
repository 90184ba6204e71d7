/** Configurations of tests, read without a file.
 *  It must never take anything from the environment of the test. */
import { type Config, parseConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/error.ts';
import type { Environment } from '../../src/config/environment-values.ts';

export function parse(raw: unknown, environment: Environment = {}): Config {
  return parseConfig(raw, { source: 'adjutant.json', directory: '/etc/adjutant', environment });
}

/** The refusal of a call; fails the test when it refuses nothing. */
export function fault(call: () => unknown): ConfigError {
  try {
    call();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
