// A closed request as lines of JSON, read in parts. Never holds more of it than a part, nor shows a secret that its
// signals hide.
import { ARCHIVE_FORMAT, type ArchiveLine } from '../../contract/request/archive.ts';
import type { JsonValue } from '../../contract/json/json-safe.ts';
import { redact } from '../../contract/json/redaction.ts';
import type { RunView } from '../../contract/run/run.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import { wholeEnvelope } from '../../store/request/large-payloads.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { PayloadStore } from '../../store/request/payload-store.ts';
import type { DirectiveRecord, RequestRecord } from '../../store/request/records.ts';
import { redrivenCost, withRedrives } from '../../store/request/redriven-cost.ts';
import { instant } from '../../queue/instant.ts';
import { directiveView, NOTHING_NOW } from '../../directives/read/views.ts';

export interface RecordSource {
  readonly journal: Pick<Journal, 'requestInPieces' | 'head' | 'envelope' | 'log'>;
  readonly payloads: Pick<PayloadStore, 'get' | 'objects'>;
  /** null: the request has no run. */
  readonly run: (requestId: string) => Promise<ArchivedRun | null>;
}

/** `start`: settings by which the run can be started again; null: they are encrypted. */
export interface ArchivedRun {
  readonly view: RunView;
  readonly start: object | null;
}

/** The request was opened again, or is gone, since it was read. */
export class RecordChanged extends Error {
  override readonly name = 'RecordChanged';
  override readonly message = 'a part of the request is missing';
}

export interface ClosedRequest {
  readonly requestId: string;
  readonly record: RequestRecord;
  readonly closedAt: number;
  readonly directives: readonly DirectiveRecord[];
}

const PIECE = { limit: 200, bytes: 1_048_576 };

/** Each with its line end. Throws `RecordChanged`. */
export async function* recordLines(source: RecordSource, closed: ClosedRequest): AsyncGenerator<string> {
  let lines = 0;
  for await (const line of linesOf(source, closed)) {
    lines += 1;
    yield textOf(line);
  }
  // What was read before and after a new directive are not one record.
  const head = await source.journal.head(closed.requestId);
  // @guard archive-whole
  if (head?.status !== 'closed' || head.sequence !== closed.record.sequence) throw new RecordChanged();
  if (head.createdAt !== closed.record.createdAt) throw new RecordChanged();
  yield textOf({ kind: 'end', lines });
}

async function* linesOf(source: RecordSource, closed: ClosedRequest): AsyncGenerator<ArchiveLine> {
  const { requestId, record, closedAt, directives } = closed;
  const run = await source.run(requestId);
  const redriven = run && (await redrivenCost(source.journal.log, requestId, directives));
  yield {
    kind: 'request',
    format: ARCHIVE_FORMAT,
    tenant: tenantOf(requestId),
    request_id: ownId(requestId),
    sequence: record.sequence,
    created_at: instant(record.createdAt),
    closed_at: instant(closedAt),
    run: run && hidden(withRedrives(run.view, redriven)),
    start: run?.start ? hidden(run.start) : null,
  };
  for (const directive of directives) yield await directiveLine(source, closed, directive);
  yield* signalLines(source, closed);
  for (const { id } of directives) {
    const json = await source.payloads.get(requestId, id);
    if (json !== null) yield { kind: 'payload', directive_id: id, payload: JSON.parse(json) as unknown };
  }
}

async function directiveLine(
  { journal, payloads }: RecordSource,
  { requestId, closedAt }: ClosedRequest,
  record: DirectiveRecord,
): Promise<ArchiveLine> {
  const json = await journal.envelope(requestId, record.id);
  if (json === null) throw new RecordChanged();
  const nothing = { pageOf: null, ...NOTHING_NOW, now: closedAt };
  const envelope = await wholeEnvelope(payloads.objects, decodeEnvelope(json));
  const { result: _, ...view } = directiveView(requestId, record, envelope, null, nothing);
  return { kind: 'directive', directive: hidden(view) };
}

async function* signalLines(
  { journal }: RecordSource,
  { requestId, record }: ClosedRequest,
): AsyncGenerator<ArchiveLine> {
  for (let after = 0; after < record.sequence;) {
    const { signals } = await journal.log.read(requestId, after, PIECE);
    for (const signal of signals) {
      // The log has no gap: what is missing is gone.
      if (signal.sequence !== after + 1) throw new RecordChanged();
      after = signal.sequence;
      yield { kind: 'signal', signal: { ...signal } };
    }
    if (signals.length === 0) throw new RecordChanged();
  }
}

/** The whole view, with secrets redacted by their names. */
function hidden(view: object): Record<string, unknown> {
  return redact(view as JsonValue) as Record<string, unknown>;
}

function textOf(line: ArchiveLine): string {
  return `${JSON.stringify(line)}\n`;
}
