// Passes the plain pieces of a text by a provider's client: through its five streams and its schema each costs more than all that
// is done with it afterwards.
// Must never let a piece overtake what the client still holds, nor be read faster than the pieces are taken.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import type { OpenBlock, ReadDirectText } from './direct-text.ts';

type Part = LanguageModelV4StreamPart;
type Read = Awaited<ReturnType<ReadableStreamDefaultReader<Part>['read']>>;
type Waiter = PromiseWithResolvers<Read>;

/** Of one call: between the events as they come and the parts as they are read. */
export interface DirectPieces {
  /** Sees each whole event. True: it was taken, and the client must not see it. */
  take(event: Buffer): boolean;
  /** Takes all events of a chunk, or none: true where each is whole and a piece, and the pieces before them are read. */
  takeAll(chunk: Buffer): boolean;
  /** Resolves when another chunk may be read; undefined: at once. */
  room(): Promise<void> | undefined;
}

/** By the signal of its call, which is all that a client passes on to its `fetch`. */
const calls = new WeakMap<AbortSignal, DirectPieces>();

export function directPieces(signal: AbortSignal | null | undefined): DirectPieces | undefined {
  return signal ? calls.get(signal) : undefined;
}

/** As much of a stream's reader as reads and ends it. */
export type PartReader = Pick<ReadableStreamDefaultReader<Part>, 'read' | 'cancel'>;

const readers = new WeakMap<ReadableStream<Part>, PartReader>();

/** The only reader of the parts: of a stream made here, past that stream. */
export function readerOf(parts: ReadableStream<Part>): PartReader {
  return readers.get(parts) ?? parts.getReader();
}

/** The same model; its streams are the same parts in the same order. */
export function withDirectText(model: LanguageModelV4, readText: ReadDirectText): LanguageModelV4 {
  async function doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const { abortSignal, includeRawChunks = false } = options;
    if (abortSignal === undefined) return model.doStream(options);
    const pieces = createDirectStream(readText, includeRawChunks);
    calls.set(abortSignal, pieces);
    const result = await model.doStream({ ...options, includeRawChunks: true });
    return { ...result, stream: pieces.over(result.stream) };
  }
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  const doGenerate: LanguageModelV4['doGenerate'] = (options) => model.doGenerate(options);
  return { specificationVersion, provider, modelId, supportedUrls, doGenerate, doStream };
}

const HAS_DATA = /(?:^|[\r\n])data/;
/** A larger event is no piece of a text. */
const MOST_BYTES = 65_536;

function isPiece(part: Part): boolean {
  return (part.type === 'text-delta' || part.type === 'reasoning-delta') && part.delta !== '';
}

/** The last one may not be whole. */
function eventsOf(text: string): string[] {
  return text.indexOf('\n\n') === text.length - 2 ? [text] : text.split(/(?<=\n\r?\n)/);
}

function createDirectStream(readText: ReadDirectText, includeRaw: boolean) {
  const reading = createMergedReading();
  /** Events that the client was given, and those that it has shown as raw parts: the first of what it makes of each. */
  const events = { given: 0, shown: 0 };
  let open: OpenBlock | null = null;
  /** The client has read which model answers, else it would read it of the first event that says so; and has made a piece of its answer
   *  since: what it says of an answer that is cut off depends on that. */
  let known: 'nothing' | 'model' | 'piece' = 'nothing';
  /** The client holds nothing: what comes next is next for the reader, too. */
  let idle = false;
  let looking = false;

  function take(event: Buffer): boolean {
    const text = event.length > MOST_BYTES ? '' : event.toString('utf8');
    const piece = idle && open !== null ? readText(text, open) : null;
    if (piece !== null && open !== null) {
      reading.add({ type: `${open.type}-delta`, id: open.id, delta: piece });
      return true;
    }
    idle = false;
    if (text === '' || HAS_DATA.test(text)) events.given += 1;
    return false;
  }

  function takeAll(chunk: Buffer): boolean {
    if (!idle || open === null || chunk.length > MOST_BYTES || reading.isFull()) return false;
    const { type, id } = open;
    const pieces = eventsOf(chunk.toString('utf8')).map((event) => readText(event, { type, id }));
    if (pieces.includes(null)) return false;
    for (const piece of pieces) reading.add({ type: `${type}-delta`, id, delta: piece ?? '' });
    return true;
  }

  /** What the client has made is read within the same tick: a read that still waits in a later one finds nothing. */
  function look(): void {
    looking = false;
    idle = known === 'piece' && reading.isWaiting() && events.given === events.shown;
  }

  function note(part: Part): void {
    if (part.type === 'raw') events.shown += 1;
    if (part.type === 'response-metadata') known = 'model';
    if (known === 'model' && isPiece(part)) known = 'piece';
    if (part.type === 'text-start') open = { type: 'text', id: part.id };
    if (part.type === 'reasoning-start') open = { type: 'reasoning', id: part.id };
    if ((part.type === 'text-end' || part.type === 'reasoning-end') && part.id === open?.id) open = null;
    if (part.type === 'error' || part.type === 'finish') open = null;
    if (part.type === 'finish' && known === 'piece') known = 'model';
  }

  async function next(client: ReadableStreamDefaultReader<Part>): Promise<Read> {
    for (;;) {
      const read = reading.next(client);
      if (known !== 'nothing' && !looking && !idle && events.given === events.shown) {
        looking = true;
        setImmediate(look);
      }
      const result = await read;
      if (!result.done) note(result.value);
      if (result.done || includeRaw || result.value.type !== 'raw') return result;
    }
  }

  function over(stream: ReadableStream<Part>): ReadableStream<Part> {
    const client = stream.getReader();
    const pull = async (controller: ReadableStreamDefaultController<Part>): Promise<void> => {
      const { done, value } = await next(client);
      if (done) controller.close();
      else controller.enqueue(value);
    };
    const cancel = async (reason: unknown): Promise<void> => {
      reading.end();
      await client.cancel(reason);
    };
    const parts = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
    readers.set(parts, { read: async () => next(client), cancel });
    return parts;
  }

  return { take, takeAll, room: reading.room, over };
}

/** Two sources read as one: what was added before the client's next part comes before it. */
function createMergedReading() {
  const added: Part[] = [];
  let waiter: Waiter | undefined;
  /** The client is asked for its next part. */
  let asked = false;
  /** Its part, while what was added before it is not read. */
  let kept: Promise<Read> | undefined;
  let room: PromiseWithResolvers<void> | undefined;

  function makeRoom(): void {
    room?.resolve();
    room = undefined;
  }

  function ask(client: ReadableStreamDefaultReader<Part>): void {
    asked = true;
    const read = client.read();
    const deliver = (): void => {
      asked = false;
      if (waiter) waiter.resolve(read);
      else kept = read;
      waiter = undefined;
    };
    read.then(deliver, deliver);
  }

  return {
    /** Nothing was added that is not read, and the client was asked and has not answered. */
    isWaiting: (): boolean => asked && waiter !== undefined,
    /** Something was added that is not read. */
    isFull: (): boolean => added.length > 0,
    add(part: Part): void {
      if (waiter === undefined) return void added.push(part);
      waiter.resolve({ done: false, value: part });
      waiter = undefined;
    },
    next(client: ReadableStreamDefaultReader<Part>): Promise<Read> {
      const value = added.shift();
      if (value !== undefined) return Promise.resolve({ done: false, value });
      makeRoom();
      const early = kept;
      kept = undefined;
      if (early) return early;
      waiter = Promise.withResolvers<Read>();
      if (!asked) ask(client);
      return waiter.promise;
    },
    room(): Promise<void> | undefined {
      if (added.length === 0) return undefined;
      room ??= Promise.withResolvers<void>();
      return room.promise;
    },
    end: makeRoom,
  };
}
