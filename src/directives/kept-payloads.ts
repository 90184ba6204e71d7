// The large payloads of a submission: stored before it is accepted, removed again where it is not.
// Must never remove one that an accepted directive names.
import { decodeEnvelope } from '../store/request/envelope.ts';
import type { Journal } from '../store/request/journal.ts';
import { keptEnvelope, type PayloadObjects } from '../store/request/large-payloads.ts';
import type { AcceptVerdict } from '../store/request/verdicts.ts';
import { ATTRIBUTE } from '../platform/telemetry/traces/semantic-names.ts';
import type { Prepared } from './prepare.ts';
import type { DraftedSpan } from './read/send-span.ts';

export interface KeptPayloadsParts {
  readonly objects: PayloadObjects;
  readonly journal: Pick<Journal, 'directive' | 'envelope'>;
}

function offloadedSpan(span: DraftedSpan, { envelope }: Prepared['acceptance']): DraftedSpan {
  const bytes = Buffer.byteLength(envelope);
  return { ...span, attributes: { ...span.attributes, [ATTRIBUTE.offloadedBytes]: bytes } };
}

export function createKeptPayloads({ objects, journal }: KeptPayloadsParts) {
  /** Stores a large payload, but not that of an existing directive, which is a repeat or a conflict. */
  async function keptOne(requestId: string, each: Prepared): Promise<Prepared> {
    const { acceptance } = each;
    if (acceptance.envelope.length * 3 <= objects.aboveBytes) return each;
    // @guard payload-repeated
    if (await journal.directive(requestId, acceptance.id)) return each;
    const envelope = await keptEnvelope(objects, requestId, acceptance.envelope);
    if (envelope === acceptance.envelope) return each;
    return {
      ...each,
      acceptance: { ...acceptance, envelope },
      span: each.span && offloadedSpan(each.span, acceptance),
    };
  }

  /** All, or none: rejects with what failed first. */
  async function keep(requestId: string, prepared: readonly Prepared[]): Promise<readonly Prepared[]> {
    if (objects.aboveBytes === Infinity) return prepared;
    const tried = await Promise.allSettled(prepared.map(async (each) => keptOne(requestId, each)));
    const kept = tried.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = tried.find((each) => each.status === 'rejected');
    if (failed === undefined) return kept;
    await drop(requestId, kept);
    throw failed.reason;
  }

  /** The first of repeated calls to Redis may have accepted it: the journal decides. */
  async function drop(requestId: string, kept: readonly Prepared[]): Promise<void> {
    for (const { acceptance } of kept) {
      const { offloaded } = decodeEnvelope(acceptance.envelope);
      if (offloaded === undefined) continue;
      const accepted = await journal.envelope(requestId, acceptance.id);
      const named = accepted === null ? undefined : decodeEnvelope(accepted).offloaded;
      if (named?.sha256 !== offloaded.sha256) await objects.drop(requestId, offloaded);
    }
  }

  /** An object that cannot be removed now goes with its request. */
  async function dropRefused(
    requestId: string,
    kept: readonly Prepared[],
    verdict: AcceptVerdict,
  ): Promise<void> {
    if (objects.aboveBytes === Infinity) return;
    const verdicts = verdict.kind === 'ok' ? verdict.verdicts : [];
    const refused = kept.filter((_, position) => verdicts[position] !== 'accepted');
    // @guard payload-refused
    await drop(requestId, refused).catch(() => {});
  }

  return { keep, dropRefused };
}
