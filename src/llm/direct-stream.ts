// Passes the plain pieces of a text by a provider's client: through its five streams and its schema each costs more than all that
// is done with it afterwards.
// Must never let a piece overtake what the client still holds, nor be read faster than the pieces are taken.
import { setImmediate as turn } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { createClientWatch } from './client-watch.ts';
import { createLead } from './direct-lead.ts';
import type { DirectProtocol } from './direct-text.ts';
import { createMergedReading, mergedStream, type PartRead, type PartReader } from './merged-parts.ts';

type Part = LanguageModelV4StreamPart;
type Result = LanguageModelV4StreamResult;

/** Of one call: between the events as they come and the parts as they are read. */
export interface DirectPieces {
  /** Sees each whole event. True: it was taken, and the client must not see it. */
  take(event: Buffer): boolean;
  /** Takes all events of a chunk, or none: true where each is whole and a piece, and the pieces before them are read. */
  takeAll(chunk: Buffer): boolean;
  /**
   * Sees each chunk that the client gets, the first ones as they come from the socket, and shows what the answer begins with.
   * `isNext`: nothing is on its way to the client. False: it need not see another one.
   */
  lead(chunk: Buffer, isNext: boolean): boolean;
  /** Resolves when what was shown first is on its way, for which the client has to wait; undefined: it need not. */
  led(): Promise<void> | undefined;
  /** Resolves when another chunk may be read; undefined: at once. */
  room(): Promise<void> | undefined;
}

/** By the signal of its call, which is all that a client passes on to its `fetch`. */
const calls = new WeakMap<AbortSignal, DirectPieces>();

export function directPieces(signal: AbortSignal | null | undefined): DirectPieces | undefined {
  return signal ? calls.get(signal) : undefined;
}

/** The same model; its streams are the same parts in the same order, but for those before the first piece: they say nothing of the text. */
export function withDirectText(model: LanguageModelV4, protocol: DirectProtocol): LanguageModelV4 {
  async function doStream(options: LanguageModelV4CallOptions): Promise<Result> {
    const { abortSignal, includeRawChunks = false } = options;
    if (abortSignal === undefined) return model.doStream(options);
    const pieces = createDirectStream({ protocol, includeRaw: includeRawChunks });
    calls.set(abortSignal, pieces);
    return pieces.over(model.doStream({ ...options, includeRawChunks: true }));
  }
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  const doGenerate: LanguageModelV4['doGenerate'] = (options) => model.doGenerate(options);
  return { specificationVersion, provider, modelId, supportedUrls, doGenerate, doStream };
}

const HAS_DATA = /(?:^|[\r\n])data/;
/** A larger event is no piece of a text. */
const MOST_BYTES = 65_536;

/** '' for one that is too large to be looked at. */
function textOf(bytes: Buffer): string {
  return bytes.length > MOST_BYTES ? '' : bytes.toString('utf8');
}

/** The last one may not be whole. */
function eventsOf(text: string): string[] {
  return text.indexOf('\n\n') === text.length - 2 ? [text] : text.split(/(?<=\n\r?\n)/);
}

function createDirectStream({ protocol, includeRaw }: { protocol: DirectProtocol; includeRaw: boolean }) {
  const reading = createMergedReading();
  const lead = createLead(protocol);
  const client = createClientWatch(reading.isWaiting);
  const begun = Promise.withResolvers<void>();
  let sent: Promise<void> | undefined;

  function take(event: Buffer): boolean {
    const text = textOf(event);
    const open = client.next();
    const piece = open && protocol.text(text, open);
    if (piece === null || open === null) {
      client.wasGiven(text === '' || HAS_DATA.test(text));
      return false;
    }
    reading.add({ type: `${open.type}-delta`, id: open.id, delta: piece });
    return true;
  }

  function takeAll(chunk: Buffer): boolean {
    const open = reading.isFull() ? null : client.next();
    if (open === null) return false;
    const pieces = eventsOf(textOf(chunk)).map((event) => protocol.text(event, open));
    if (pieces.includes(null)) return false;
    for (const piece of pieces) reading.add({ type: `${open.type}-delta`, id: open.id, delta: piece ?? '' });
    return true;
  }

  function show(chunk: Buffer, isNext: boolean): boolean {
    const state = client.state();
    const parts = lead.look(eventsOf(textOf(chunk)), { ...state, isIdle: state.isIdle && isNext });
    for (const part of parts) reading.add(part);
    if (parts.length > 0) {
      begun.resolve();
      sent = twoTurns().then(() => void (sent = undefined));
    }
    return lead.isOpen();
  }

  /** The client's next part that is for the reader. */
  async function made(parts: Promise<PartReader>): Promise<PartRead> {
    for (;;) {
      client.lookLater();
      const result = await (await parts).read();
      if (result.done) lead.end();
      else client.note(result.value);
      if (result.done) return result;
      const isShown = lead.wasShown(result.value) || (result.value.type === 'raw' && !includeRaw);
      if (!isShown) return result;
    }
  }

  const streamOf = (parts: Promise<PartReader>): ReadableStream<Part> =>
    mergedStream({
      reading,
      ask: async () => made(parts),
      onRead: client.lookLater,
      end: async (reason) => (await parts).cancel(reason),
    });
  const over = async (answer: PromiseLike<Result>): Promise<Result> =>
    answeredOrBegun(answer, begun.promise, streamOf);
  return { take, takeAll, lead: show, led: () => sent, room: reading.room, over };
}

/** Resolves as soon as a piece is shown, or the client answers: what it says beside its parts is known from then on. */
async function answeredOrBegun(
  answer: PromiseLike<Result>,
  begun: Promise<void>,
  streamOf: (client: Promise<PartReader>) => ReadableStream<Part>,
): Promise<Result> {
  let answered: Result | undefined;
  const client = Promise.resolve(answer).then((result) => {
    answered = result;
    return result.stream.getReader();
  });
  await Promise.race([client, begun]);
  return {
    stream: streamOf(client),
    get request() {
      return answered?.request ?? {};
    },
    get response() {
      return answered?.response ?? {};
    },
  };
}

/** Until what is done as soon as possible is done. */
async function twoTurns(): Promise<void> {
  await turn();
  await turn();
}
