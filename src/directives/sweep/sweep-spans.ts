// Reports the spans that a dead process has left: what is under them would have no parent in the tree.
// Must never report them while their process lives, nor of what was not accepted.
import type { Workers } from '../../store/catalog/workers.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { RunJournal } from '../../store/run/run-journal.ts';
import type { DueEntry, SweepIndex } from '../../store/index/sweep-index.ts';
import { EVENT } from '../../platform/telemetry/traces/semantic-names.ts';
import type { SpanRecord } from '../../platform/telemetry/traces/span.ts';
import { type SpanParent, traceparentOf } from '../../platform/telemetry/traces/span-place.ts';
import { NO_SPANS, type Spans } from '../../platform/telemetry/traces/spans.ts';
import { flowAttributes } from '../read/flow-attributes.ts';
import { readNote, type SpanNote } from '../read/span-note.ts';
import { sendPlace, sendSpan } from '../read/send-span.ts';

export interface SpanSweepParts {
  journal: Pick<Journal, 'directive' | 'envelope'>;
  runs: Pick<RunJournal, 'head'>;
  index: Pick<SweepIndex, 'forget' | 'lookAgain'>;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** Default: no live process. */
  workers?: Pick<Workers, 'known'>;
}

const LOOK_EVERY_MS = 5_000;
/** Silence after which a process counts as dead; a mistake costs a duplicate span. */
const SILENT_MS = 10_000;
/** An older note is not kept for a process that lives: it may have been left behind, and nothing else would remove it. */
const LONGEST_NOTE_MS = 600_000;

export function createSpanSweep({ journal, runs, index, spans = NO_SPANS, workers }: SpanSweepParts) {
  return async (entry: DueEntry, now: number): Promise<void> => {
    const note = readNote(entry.id);
    if (note === null) return index.forget(entry);
    const parent = spans.under(note.under);
    // A process without tracing leaves it to the others.
    if (parent === null || (await lives(note.by, now)))
      return isOld(note, now) ? index.forget(entry) : index.lookAgain(entry, now + LOOK_EVERY_MS);
    for (const span of await leftSpans(entry.requestId, note, parent)) spans.report(span);
    index.forget(entry);
  };

  async function lives(process: string, now: number): Promise<boolean> {
    const present = (await workers?.known.recheck()) ?? [];
    return present.some(({ id, seenAt }) => id === process && now - seenAt <= SILENT_MS);
  }

  /** [] where nothing was accepted. */
  async function leftSpans(requestId: string, note: SpanNote, parent: SpanParent): Promise<SpanRecord[]> {
    const sent: SpanRecord[] = [];
    for (const each of note.sent) {
      const span = await sentSpan(requestId, each, note.at, parent);
      if (span !== null) sent.push(span);
    }
    const head = note.sent.length > 0 && note.version === null ? null : await runs.head(requestId);
    const isAccepted = sent.length > 0 || (head !== null && head.version >= (note.version ?? 0));
    if (!isAccepted) return [];
    const until = sent[0]?.endedAt ?? note.at;
    return [...note.spans.map((span) => ended(span, until)), ...(note.isSent ? [] : sent)];
  }

  /** null: the journal has another directive by this name, or none. */
  async function sentSpan(
    requestId: string,
    { id, lane, type }: SpanNote['sent'][number],
    startedAt: number,
    parent: SpanParent,
  ): Promise<SpanRecord | null> {
    const [record, json] = [await journal.directive(requestId, id), await journal.envelope(requestId, id)];
    const directive = { request_id: requestId, id, type: type as 'tool_exec' };
    const place = sendPlace(parent, directive);
    const envelope = json && decodeEnvelope(json);
    if (!record || !envelope || envelope.traceparent !== traceparentOf(place)) return null;
    const span = sendSpan(place, directive, lane);
    const flow = flowAttributes(envelope.directive, envelope.ticket, spans.content);
    const attributes = { ...span.attributes, ...flow };
    return ended({ ...span, attributes, startedAt, endedAt: startedAt }, record.acceptedAt);
  }
}

/** A note from far in the future has a wrong clock, and would never grow old. */
function isOld(note: SpanNote, now: number): boolean {
  return Math.abs(now - note.at) > LONGEST_NOTE_MS;
}

/** Its end is unknown: the latest instant in the journal. */
function ended(span: SpanRecord, until: number): SpanRecord {
  const endedAt = Math.max(span.endedAt, span.startedAt, until);
  return { ...span, endedAt, events: [...(span.events ?? []), { name: EVENT.processLost, at: endedAt }] };
}
