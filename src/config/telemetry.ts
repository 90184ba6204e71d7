// The section of adjutant.json about traces, and the variables of OpenTelemetry that stand above it.
// Must never turn tracing on by itself: without an endpoint nothing is recorded.
import * as z from 'zod';
import { httpUrl } from './http-url.ts';
import { notes } from './notes.ts';

const SHARE = 'must be a number from 0 to 1';
const share = z.number(SHARE).min(0, SHARE).max(1, SHARE);

export const telemetrySchema = z.strictObject({
  endpoint: httpUrl().optional().register(notes, {
    description: 'Address of an OTLP/HTTP collector or Jaeger, without `/v1/traces`.',
    fallback: 'no traces',
  }),
  sample_ratio: share.default(1).register(notes, {
    description: 'Share of the requests that are traced, where the caller has not decided it.',
  }),
  service_name: z.string().min(1).default('adjutant').register(notes, {
    description: 'The name of the service in traces and metrics.',
    special:
      '`adjutant` = in traces each role has its own: `adjutant-api`, `adjutant-engine`, `adjutant-worker`',
  }),
  content_bytes: z.int().min(0).max(65_536).default(0).register(notes, {
    description: 'How much spans show of a prompt, argument or result; secrets are redacted by their keys.',
    special: '0 = nothing',
    unit: 'bytes',
  }),
  trace_url: z
    .string()
    .regex(/\{trace_id\}/, 'must hold {trace_id}')
    .optional()
    .register(notes, {
      description: 'The page of a trace, for `adjutant get` and the API.',
      special: '`{trace_id}` is replaced by its id, as in `http://localhost:16686/trace/{trace_id}`',
      fallback: 'no link',
    }),
});

/** An address of a variable; a text that is none is refused. */
const variableAddress = httpUrl().optional();

export const telemetryVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: variableAddress.register(notes, {
    description: 'Address of an OTLP/HTTP collector, for traces and metrics, without `/v1/…`.',
    fallback: '`telemetry.endpoint` for traces; metrics are not sent',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: variableAddress.clone().register(notes, {
    description: 'The whole address that traces are posted to.',
    fallback: 'the endpoint with `/v1/traces`',
  }),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .transform(Number)
    .pipe(share)
    .optional()
    .register(notes, { description: 'As `telemetry.sample_ratio`.', fallback: 'that key' }),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .register(notes, { description: 'As `telemetry.service_name`.', fallback: 'that key' }),
  OTEL_SDK_DISABLED: z
    .string()
    .default('false')
    .transform((text) => text.toLowerCase() === 'true')
    .register(notes, {
      description: 'Turns off what is sent to a collector.',
      special: '`true` = off',
      fallback: 'false',
    }),
  OTEL_SEMCONV_STABILITY_OPT_IN: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    )
    .register(notes, {
      description: 'Groups of attributes and metrics that get their newest names, separated by commas.',
      special: '`gen_ai_latest_experimental`, `messaging`',
      fallback: 'none',
    }),
};

type Section = z.output<typeof telemetrySchema>;
const variablesSchema = z.object(telemetryVariables);
type Variables = z.output<typeof variablesSchema>;

export interface TelemetryConfig {
  /** null: nothing is traced. */
  tracing: {
    url: string;
    ratio: number;
    contentBytes: number;
  } | null;
  /** In traces and metrics. */
  serviceName: string;
  /** Groups of conventions whose newest names are used, in traces and metrics. */
  newNames: string[];
  /** null: there is no page of a trace. */
  traceUrl: string | null;
}

/** The variables win over the file. */
export function telemetryOf(section: Section, variables: Variables): TelemetryConfig {
  const url = urlOf(section, variables);
  const tracing =
    url === null || variables.OTEL_SDK_DISABLED
      ? null
      : {
          url,
          ratio: variables.OTEL_TRACES_SAMPLER_ARG ?? section.sample_ratio,
          contentBytes: section.content_bytes,
        };
  const serviceName = variables.OTEL_SERVICE_NAME ?? section.service_name;
  const newNames = variables.OTEL_SEMCONV_STABILITY_OPT_IN;
  return { tracing, serviceName, newNames, traceUrl: section.trace_url ?? null };
}

/** Telemetry of a command without a file. Throws when a variable is wrong. */
export function telemetryOfVariables(
  environment: Readonly<Record<string, string | undefined>>,
): TelemetryConfig {
  return telemetryOf(telemetrySchema.parse({}), variablesSchema.parse(environment));
}

function urlOf({ endpoint }: Section, variables: Variables): string | null {
  const whole = variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const base = variables.OTEL_EXPORTER_OTLP_ENDPOINT ?? endpoint;
  if (whole !== undefined) return whole;
  return base === undefined ? null : `${base.replace(/\/+$/, '')}/v1/traces`;
}
