// The sections of the file about the service itself: how long it keeps data, its limits, how workers behave.
// Must never hold a limit of a single lane, server or agent.
import { isIP } from 'node:net';
import * as z from 'zod';
import { positiveDurationMsSchema } from '../contract/identifiers.ts';
import { isOrigin } from './http-url.ts';
import { durationMs } from './lane.ts';
import { notes } from './notes.ts';
import { telemetrySchema } from './telemetry.ts';

const MIB = 1_024 * 1_024;

const DAY_MS = 86_400_000;

const retentionSchema = z
  .strictObject({
    closed_ms: durationMs.optional().register(notes, {
      description: 'How long a closed request stays readable at least.',
      unit: 'ms',
      fallback: '86,400,000 (1 day)',
    }),
    longest_ms: durationMs.optional().register(notes, {
      description:
        'How long at most: for a request that closes while Redis is empty. The time falls to `closed_ms` as its memory fills up to a quarter of `limits.total_bytes`.',
      unit: 'ms',
      fallback: '`closed_ms` where that is set, else 1,814,400,000 (21 days)',
    }),
  })
  .transform(({ closed_ms: closed, longest_ms: longest }) => ({
    closed_ms: closed ?? DAY_MS,
    longest_ms: longest ?? closed ?? 21 * DAY_MS,
  }));

const limitsSchema = z.strictObject({
  body_bytes: z
    .int()
    .min(1_024)
    .default(4 * MIB)
    .register(notes, {
      description: 'The largest HTTP body; larger ones are refused with 413.',
      unit: 'bytes',
    }),
  body_values: z.int().min(1_000).default(20_000).register(notes, {
    description:
      'Most members, elements, objects and arrays of an HTTP body together, counted before it is parsed; more are refused with 413.',
    unit: 'values',
  }),
  batch: z
    .int()
    .min(1)
    .max(1_000)
    .default(1_000)
    .register(notes, { description: 'The most directives of one submission.', unit: 'directives' }),
  arguments_bytes: z.int().min(1_024).default(MIB).register(notes, {
    description: 'The largest member of a directive, as JSON; also of directives that end at once.',
    unit: 'bytes',
  }),
  result_bytes: z.int().min(1_024).default(MIB).register(notes, {
    description: 'The largest payload that a signal holds, as JSON.',
    unit: 'bytes',
  }),
  result_overflow: z.enum(['truncate', 'refuse']).default('truncate').register(notes, {
    description: 'What happens to a larger payload of a tool.',
    special: '`truncate` = stored apart, with a preview in the signal; `refuse` = `invalid_result`',
  }),
  model_content_characters: z.int().min(1_024).max(4_000_000).default(100_000).register(notes, {
    description:
      'The longest result or error of a tool that a model reads, as JSON; a longer one is cut, and says so. Never above `result_bytes`.',
    unit: 'characters',
  }),
  schema_check_ms: durationMs.default(2_000).register(notes, {
    description: 'How long one check of a value against a JSON Schema of a tool or directive may take.',
    unit: 'ms',
  }),
  pause_ms: durationMs.default(300_000).register(notes, {
    description:
      'Longest single pause of a directive, lane or model whose server or provider asks to slow down (`Retry-After`). The shortest is 1 s, if this is not less.',
    unit: 'ms',
  }),
  pauses: z
    .strictObject({
      count: z.int().min(0).default(10).register(notes, {
        description:
          'Most pauses of a directive at one model or tool after calls that were refused as `rate_limited`.',
        special: '0 = each refused call is a failed attempt',
        unit: 'pauses',
      }),
      total_ms: durationMs.default(3_600_000).register(notes, {
        description: 'Longest time from the first of these pauses to the end of the last one.',
        unit: 'ms',
      }),
    })
    .prefault({})
    .register(notes, {
      description:
        'How often and how long a directive waits for a server or provider that asks to slow down; then its next model is asked, or the refusal is a failed attempt.',
    }),
  max_open: z.int().min(1).default(100_000).register(notes, {
    description: 'Open directives of the whole service; more are refused with 429.',
    unit: 'directives',
  }),
  request_bytes: z
    .int()
    .min(65_536)
    .default(64 * MIB)
    .register(notes, {
      description: 'What a request may hold in Redis: log, payloads, its run; more is refused with 413.',
      unit: 'bytes',
    }),
  streams: z.int().min(1).default(1_000).register(notes, {
    description:
      'The most streams of signals, and downloads of archived requests, that one key or token (without keys: one address) has open at an API; more are refused with 429.',
    unit: 'streams',
  }),
  mcp_hold_ms: durationMs.default(45_000).register(notes, {
    description:
      'How long a call of a stateless MCP client is held before the client has to come back; less than the limits of its proxies.',
    unit: 'ms',
  }),
  model_grace_ms: durationMs.default(10_000).register(notes, {
    description:
      'How long a call at the model endpoint goes on for a caller whose connection is lost; a repeat within that time joins it.',
    unit: 'ms',
  }),
  total_bytes: z.int().min(0).optional().register(notes, {
    description: 'What Redis may hold in all before new work is refused with 429.',
    special: '0 = no such limit',
    unit: 'bytes',
    fallback: '80 % of Redis’ `maxmemory`; without one, half of its machine’s memory',
  }),
});

const workerSchema = z.strictObject({
  lease_ms: durationMs
    .default(6_000)
    .register(notes, { description: 'How long a worker that does not answer keeps its claims.', unit: 'ms' }),
  blocked_ms: durationMs.default(60_000).register(notes, {
    description:
      'How long a worker keeps its claims when its event loop is blocked, for example by the code of a module.',
    unit: 'ms',
  }),
  drain_ms: z.int().min(0).default(20_000).register(notes, {
    description: 'How long a stop waits for running attempts.',
    special: '0 = not at all',
    unit: 'ms',
  }),
});

/** A network of every address would let each caller name its own. */
const networkSchema = z
  .string()
  .max(64)
  .refine(isNetwork, 'must be a network in CIDR notation, as 10.0.0.0/8 or 10.0.0.7/32, with 1 bit at least');

function isNetwork(text: string): boolean {
  const { address = '', bits = '' } = /^(?<address>[0-9a-f.:]+)\/(?<bits>\d{1,3})$/i.exec(text)?.groups ?? {};
  const most = new Map([
    [4, 32],
    [6, 128],
  ]).get(isIP(address));
  return most !== undefined && Number(bits) >= 1 && Number(bits) <= most;
}

const httpSchema = z.strictObject({
  trusted_proxies: z.array(networkSchema).max(64).default([]).register(notes, {
    description:
      'Networks of proxies before the API (CIDR), whose `X-Forwarded-For` counts for limits per address. The proxy must append to it; clients within a trusted network can claim any address.',
    special: '[] = the address of the connection counts',
  }),
  cors: z
    .strictObject({
      origins: z
        .array(
          z
            .string()
            .max(256)
            .refine(isOrigin, 'must be scheme, host and port alone, as https://app.example.com'),
        )
        .max(64)
        .default([])
        .register(notes, {
          description:
            'Origins of web pages that may call `/v1` from a browser, without cookies. See [browsers](access.md#browsers).',
          special: '[] = none',
        }),
    })
    .prefault({})
    .register(notes, { description: 'Calls of web pages of other origins (CORS).' }),
});

const mcpSchema = z.strictObject({
  keys_from: z.array(z.string().min(1).max(128)).max(8).default([]).register(notes, {
    description:
      'Members of `_meta` in which MCP hosts name a call, as `claudecode/toolUseId`: a repeat with the same value is the same call.',
    special: '`_meta["adjutant/idempotencyKey"]` counts first',
  }),
  host_patience_ms: positiveDurationMsSchema.optional().register(notes, {
    description:
      'A call that has not ended after this time answers with a handle for `await_call`; its tool has no output schema for hosts then. `host_patience_ms` of a server counts first.',
    unit: 'ms',
    fallback: 'hosts wait until the end; with `?tools=search`, `limits.mcp_hold_ms`',
  }),
});

const queueApiSchema = z.strictObject({
  enabled: z.boolean().default(true).register(notes, {
    description: 'Whether the APIs of the installation serve the queue.',
    special: '`false` = jobs in it wait',
  }),
});

export const serviceSections = {
  retention: retentionSchema.prefault({}).register(notes, { description: 'How long data is kept.' }),
  limits: limitsSchema.prefault({}).register(notes, { description: 'What the service takes in and holds.' }),
  durability: z.enum(['memory', 'fsync', 'replica']).default('memory').register(notes, {
    description: 'What an acceptance waits for, and a call for its claim.',
    special:
      '`memory` = nothing more; `fsync` = Redis’ disk (Redis 7.2, or `appendfsync always`); `replica` = one replica',
  }),
  http: httpSchema.prefault({}).register(notes, { description: 'How the API is reached.' }),
  mcp: mcpSchema.prefault({}).register(notes, { description: 'How `/mcp` reads what MCP hosts send.' }),
  queue_api: queueApiSchema.prefault({}).register(notes, {
    description: 'The BullMQ queue for producers of [directives](queue-api.md).',
  }),
  worker: workerSchema.prefault({}).register(notes, { description: 'How a worker holds and returns work.' }),
  telemetry: telemetrySchema
    .prefault({})
    .register(notes, { description: 'Where requests are traced, and how.' }),
};
