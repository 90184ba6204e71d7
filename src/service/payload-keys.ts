// The keys of a process, from its configuration and its environment.
// Must never ask for keys: a worker does, and an engine goes without.
import type { Config } from '../config/config.ts';
import { createSteps } from '../platform/bounds/steps.ts';
import { aesCodec } from '../platform/encryption/aes-codec.ts';
import { NO_KEYS, type PayloadKeys } from '../platform/encryption/payload-keys.ts';

export function payloadKeysOf({ encryption }: Pick<Config, 'encryption'>): PayloadKeys {
  if (encryption === null) return NO_KEYS;
  const { keys, ofTenant } = encryption;
  return { ...NO_KEYS, codec: keys && { ...aesCodec(keys), nextStep: createSteps() }, ofTenant };
}
