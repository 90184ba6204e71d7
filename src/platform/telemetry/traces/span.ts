// A span as the service describes it: made once, when its work has ended, and then exported. Plain data, so that any
// process that knows the facts can report it.

export type SpanKind = 'server' | 'producer' | 'consumer' | 'client' | 'internal';

export type AttributeValue = string | number | boolean | readonly string[];

/** `undefined`: the attribute is left out. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** Where a span is in its trace. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  /** null: the first span of its trace. */
  readonly parentId: string | null;
}

export interface SpanEvent {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly attributes?: Attributes;
}

/** Another span of the same trace that this one has to do with. */
export interface SpanLink {
  readonly spanId: string;
  readonly attributes?: Attributes;
}

/** The part of the service that did what a span reports. */
export type SpanRole = 'api' | 'engine' | 'worker';

export interface SpanRecord {
  readonly place: SpanPlace;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch, with fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly events?: readonly SpanEvent[];
  readonly links?: readonly SpanLink[];
  /** The type of the error that it ended with; null: it did not fail. */
  readonly error: string | null;
  /** Absent: a program that only sends directives. */
  readonly role?: SpanRole;
}
