// Where closed requests are archived before they expire.
// Must never name a place in two ways, nor one without what is needed to reach it.
import * as z from 'zod';
import { httpUrl } from './http-url.ts';
import { durationMs } from './lane.ts';
import { notes } from './notes.ts';

const BUCKET_KEYS = ['endpoint', 'access_key_id', 'secret_access_key'] as const;
const name = (most: number) => z.string().min(1).max(most);

/** One place: a folder or a bucket. */
export const placeFields = {
  folder: name(1_024).optional().register(notes, {
    description:
      'An existing folder that every process of the service sees, as on a shared volume; relative to this file.',
    fallback: 'a bucket is named',
  }),
  bucket: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'must be 3 to 63 characters of a-z 0-9 . -, with a letter or digit at both ends',
    )
    .optional()
    .register(notes, {
      description: 'An existing bucket of an S3-compatible store.',
      fallback: 'a folder is named',
    }),
  endpoint: httpUrl().optional().register(notes, {
    description: 'The address of the store, as in `https://s3.eu-central-1.amazonaws.com`.',
    fallback: 'none',
  }),
  region: name(64)
    .default('us-east-1')
    .register(notes, { description: 'The region that requests are signed for.' }),
  access_key_id: name(256).optional().register(notes, {
    description:
      'The key of access, as `${ARCHIVE_ACCESS_KEY_ID}` of the environment. [What it must allow](archive.md).',
    fallback: 'none',
  }),
  secret_access_key: name(512).optional().register(notes, {
    description: 'Its secret, as `${ARCHIVE_SECRET_ACCESS_KEY}` of the environment.',
    fallback: 'none',
  }),
  prefix: z
    .string()
    .regex(/^(?:[A-Za-z0-9_-]{1,64}\/){0,8}$/, 'must be words of A-Z a-z 0-9 _ - with a slash after each')
    .default('')
    .register(notes, {
      description: 'What the names of all objects begin with, as `adjutant/`.',
      special: 'empty = nothing',
    }),
};

const archiveSchema = z
  .strictObject({
    ...placeFields,
    after_ms: durationMs.default(0).register(notes, {
      description:
        'How long after its close a request is archived: one that is opened again within it is archived once. At most half of each `closed_ms`.',
      unit: 'ms',
    }),
    listed_ms: durationMs.default(604_800_000).register(notes, {
      description:
        'How long the list of requests shows a request after it has expired, so that it is found in the archive; about 500 bytes each.',
      unit: 'ms',
    }),
    hold_ms: durationMs.default(86_400_000).register(notes, {
      description:
        'How much longer than `retention.closed_ms` a request is kept at most while it cannot be archived.',
      unit: 'ms',
    }),
  })
  .superRefine(requireOnePlace);

export type Place = z.output<z.ZodObject<typeof placeFields>>;

export function requireOnePlace(place: Place, context: z.RefinementCtx): void {
  const { folder, bucket } = place;
  if ((folder === undefined) === (bucket === undefined))
    context.addIssue({ code: 'custom', message: 'needs either a folder or a bucket, not both' });
  // Of two places nobody knows which one is meant.
  if (bucket === undefined || folder !== undefined) return;
  for (const key of BUCKET_KEYS)
    if (place[key] === undefined)
      context.addIssue({ code: 'custom', path: [key], message: 'is needed for a bucket' });
}

export const archiveSections = {
  archive: archiveSchema.optional().register(notes, {
    description: 'Closed requests are written there before they expire. See [archive](archive.md).',
    fallback: 'nothing is archived',
  }),
};

interface Times {
  readonly archive?: { readonly after_ms: number } | undefined;
  readonly retention: { readonly closed_ms: number };
  readonly tenants: ReadonlyMap<string, { readonly closed_ms?: number | undefined }>;
}

/** The time that is left to write a request, and to write it again, is at least as long as the wait. */
const LARGEST_SHARE = 1 / 2;

/** Faults of `after_ms`: the first place of a retention that is too short for it. */
export function lateArchive({ archive, retention, tenants }: Times): string[] {
  if (archive === undefined) return [];
  const kept: [string, number | undefined][] = [
    ['retention.closed_ms', retention.closed_ms],
    ...[...tenants].map(([name, { closed_ms }]): [string, number | undefined] => [
      `tenants.${name}.closed_ms`,
      closed_ms,
    ]),
  ];
  const short = kept.find(([, ms]) => ms !== undefined && archive.after_ms > ms * LARGEST_SHARE);
  if (short === undefined) return [];
  const [place, ms = 0] = short;
  return [
    `is ${archive.after_ms}, too long for ${place} (${ms}): requests could expire before they are archived; use at most ${Math.floor(ms * LARGEST_SHARE)}, or a longer ${place}`,
  ];
}
