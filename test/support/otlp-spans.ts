/** Reads the spans of an OTLP export, protobuf as opentelemetry/proto/trace/v1/trace.proto describes it.
 *  It must fail on what it does not understand. */

export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** '': the first span of its trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { name: string; attributes: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { spanId: string; attributes: Readonly<Record<string, unknown>> }[];
  readonly status: 'UNSET' | 'OK' | 'ERROR';
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const;
const STATUSES = ['UNSET', 'OK', 'ERROR'] as const;

type Field = bigint | Buffer;
/** Field number → its values, in order. */
export type Message = ReadonlyMap<number, readonly Field[]>;

export function readMessage(bytes: Buffer): Message {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('a varint is cut');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const raw = (length: number): Buffer => bytes.subarray(at, (at += length));
  const valueOf = (wireType: number): Field => {
    if (wireType === 0) return varint();
    if (wireType === 1) return raw(8).readBigUInt64LE();
    if (wireType === 2) return raw(Number(varint()));
    if (wireType === 5) return BigInt(raw(4).readUInt32LE());
    throw new Error(`wire type ${wireType} is unknown`);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const values = fields.get(tag >> 3) ?? [];
    values.push(valueOf(tag & 7));
    fields.set(tag >> 3, values);
  }
  return fields;
}

export const messages = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).map((value) => readMessage(value as Buffer));
export const text = (message: Message, field: number): string => (message.get(field)?.[0] ?? '').toString();
const hex = (message: Message, field: number): string =>
  ((message.get(field)?.[0] ?? Buffer.alloc(0)) as Buffer).toString('hex');
export const integer = (message: Message, field: number): bigint => (message.get(field)?.[0] ?? 0n) as bigint;

function anyValue(message: Message): unknown {
  const [[field, [value]] = [0, []]] = message as unknown as Iterable<[number, Field[]]>;
  if (field === 1) return String(value);
  if (field === 2) return value === 1n;
  if (field === 3) return Number(BigInt.asIntN(64, value as bigint));
  if (field === 4) return doubleOf(value as bigint);
  if (field === 5) return messages(readMessage(value as Buffer), 1).map(anyValue);
  throw new Error(`a value of field ${field} is unknown`);
}

export function doubleOf(bits: bigint): number {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(bits);
  return bytes.readDoubleLE();
}

export function attributesOf(message: Message, field: number): Record<string, unknown> {
  const pairs = messages(message, field).map((pair) => [text(pair, 1), messages(pair, 2).map(anyValue)[0]]);
  return Object.fromEntries(pairs) as Record<string, unknown>;
}

function spanOf(span: Message, service: string): ReceivedSpan {
  const [status] = messages(span, 15);
  return {
    service,
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentId: hex(span, 4),
    name: text(span, 5),
    kind: KINDS[Number(integer(span, 6))] ?? 'UNSPECIFIED',
    startNano: integer(span, 7),
    endNano: integer(span, 8),
    attributes: attributesOf(span, 9),
    events: messages(span, 11).map((event) => ({ name: text(event, 2), attributes: attributesOf(event, 3) })),
    links: messages(span, 13).map((link) => ({ spanId: hex(link, 2), attributes: attributesOf(link, 4) })),
    status: STATUSES[Number(status ? integer(status, 3) : 0n)] ?? 'UNSET',
  };
}

/** The spans of an ExportTraceServiceRequest. */
export function readSpans(body: Buffer): ReceivedSpan[] {
  return messages(readMessage(body), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const service = resource ? String(attributesOf(resource, 1)['service.name']) : '';
    return messages(resourceSpans, 2).flatMap((scope) =>
      messages(scope, 2).map((span) => spanOf(span, service)),
    );
  });
}
