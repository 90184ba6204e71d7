// The variables of the environment that the service reads.
// Must never hold the key of a provider: those are read where models are called.
import * as z from 'zod';
import { redisUrlFault } from '../platform/redis/address.ts';
import { metricsVariables } from './metrics.ts';
import { isOrigin } from './http-url.ts';
import { notes } from './notes.ts';
import { telemetryVariables } from './telemetry.ts';

/** Host of a Host header, without the port. */
const HOST_NAME = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;

/** Printable ASCII: what a header can carry. */
const ADMIN_KEY = /^[\x21-\x7E]{32,256}$/;

const PORT = 'must be a whole number from 0 to 65535; 0 = any free port';

export const environmentSchema = z.object({
  REDIS_URL: z
    .string()
    .superRefine((url, context) => {
      const fault = redisUrlFault(url);
      if (fault !== null) context.addIssue({ code: 'custom', message: `${fault.says}. ${fault.fix}` });
    })
    .optional()
    .register(notes, {
      description: 'Address of Redis.',
      special: '`redis://`, `rediss://`, `redis+sentinel://host:port,…/name`, `redis+cluster://host:port,…`',
      fallback: '`up` starts a private Redis; the other roles use it in the same folder',
    }),
  ADJUTANT_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ -')
    .default('adjutant')
    .register(notes, {
      description: 'Prefix of all keys in Redis; installations with different ones can share a Redis.',
    }),
  ADJUTANT_HOST: z
    .string()
    .default('127.0.0.1')
    .register(notes, { description: 'Address that the API listens on.' }),
  ADJUTANT_ALLOWED_HOSTS: z
    .string()
    .default('')
    .transform((list) => list.split(',').map((name) => name.trim()))
    .transform((names) => names.filter((name) => name !== ''))
    .refine(
      (names) => names.every((name) => HOST_NAME.test(name)),
      'must be host names without ports, separated by commas',
    )
    .register(notes, {
      description: 'More names by which the API may be called, separated by commas, without ports.',
      fallback: 'on loopback only the loopback names, elsewhere any',
    }),
  ADJUTANT_ALLOWED_ORIGINS: z
    .string()
    .default('')
    .transform((list) => list.split(',').map((origin) => origin.trim()))
    .transform((origins) => origins.filter((origin) => origin !== ''))
    .refine(
      (origins) => origins.every(isOrigin),
      'must be origins such as https://host.example:8443, without a path, separated by commas',
    )
    .register(notes, {
      description: 'Origins of web pages that may call `/mcp` from a browser (CORS), separated by commas.',
      fallback: 'none',
    }),
  ADJUTANT_PORT: z
    .string()
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, PORT)
    .transform(Number)
    .default(7_420)
    .register(notes, {
      description: 'Port that the API listens on.',
      special: '0 = a free one',
      fallback: '7420',
    }),
  ADJUTANT_LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .register(notes, { description: 'The least important lines that are logged.' }),
  ADJUTANT_LOG_FORMAT: z.enum(['auto', 'json', 'text']).default('auto').register(notes, {
    description: 'Format of log lines.',
    special: '`auto` = `text` on a terminal, else `json`',
  }),
  ADJUTANT_TOKEN_KEY: z
    .string()
    .transform((text) => text.split(',').map(tokenKey))
    .refine(
      (keys) => keys.every(({ length }) => length === TOKEN_KEY_BYTES),
      'must be 32 random bytes in base64 or hex, as `openssl rand -base64 32` prints them',
    )
    .default([])
    .register(notes, {
      description: 'Seals the logins at MCP servers that Redis keeps; the same for every process.',
      special: 'several, separated by commas = the first seals, each opens',
      fallback: 'none: a server with `auth` cannot be called',
    }),
  ADJUTANT_ADMIN_KEY: z
    .string()
    .regex(ADMIN_KEY, 'must be 32 to 256 characters without spaces, as `openssl rand -hex 32` prints them')
    .optional()
    .register(notes, {
      description: 'A key that may do everything: the first one, with which others are made.',
      fallback: 'none',
    }),
  ADJUTANT_INSECURE: z
    .enum(['0', '1'])
    .default('0')
    .transform((value) => value === '1')
    .register(notes, {
      description:
        'Allow unauthenticated access on non-loopback interfaces. Existing keys are still required.',
      special: '`1` = it may',
    }),
  ...metricsVariables,
  ...telemetryVariables,
});

const TOKEN_KEY_BYTES = 32;

function tokenKey(text: string): Buffer {
  const trimmed = text.trim();
  return Buffer.from(trimmed, /^[0-9a-f]{64}$/i.test(trimmed) ? 'hex' : 'base64');
}
