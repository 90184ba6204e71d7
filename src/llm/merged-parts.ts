// Parts of a provider's client and parts that passed it by, read as one stream.
// Must never let a part overtake one that was there before it, nor ask the client for more than is read.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

type Part = LanguageModelV4StreamPart;
export type PartRead = Awaited<ReturnType<ReadableStreamDefaultReader<Part>['read']>>;

/** As much of a stream's reader as reads and ends it. */
export type PartReader = Pick<ReadableStreamDefaultReader<Part>, 'read' | 'cancel'>;

const readers = new WeakMap<ReadableStream<Part>, PartReader>();

/** The only reader of the parts: of a stream made here, past that stream. */
export function readerOf(parts: ReadableStream<Part>): PartReader {
  return readers.get(parts) ?? parts.getReader();
}

/** Asks the client for its next part. */
type AskClient = () => Promise<PartRead>;
type MergedReading = ReturnType<typeof createMergedReading>;

/** Two sources read as one: what was added before the client's next part comes before it. */
export function createMergedReading() {
  const added: Part[] = [];
  let waiter: PromiseWithResolvers<PartRead> | undefined;
  /** The client is asked for its next part. */
  let asked = false;
  /** Its part, while what was added before it is not read. */
  let kept: Promise<PartRead> | undefined;
  let room: PromiseWithResolvers<void> | undefined;

  function makeRoom(): void {
    room?.resolve();
    room = undefined;
  }

  function ask(client: AskClient): void {
    asked = true;
    const read = client();
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
    next(client: AskClient): Promise<PartRead> {
      const value = added.shift();
      if (value !== undefined) return Promise.resolve({ done: false, value });
      makeRoom();
      const early = kept;
      kept = undefined;
      if (early) return early;
      waiter = Promise.withResolvers<PartRead>();
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

export interface MergedStreamOptions {
  readonly reading: MergedReading;
  readonly ask: AskClient;
  /** Called after each read has begun. */
  readonly onRead: () => void;
  /** Ends the client. */
  readonly end: (reason: unknown) => Promise<void>;
}

/** What is merged, as the stream that a client returns. */
export function mergedStream({ reading, ask, onRead, end }: MergedStreamOptions): ReadableStream<Part> {
  const read = async (): Promise<PartRead> => {
    const next = reading.next(ask);
    onRead();
    return next;
  };
  const pull = async (controller: ReadableStreamDefaultController<Part>): Promise<void> => {
    const { done, value } = await read();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  const cancel = async (reason: unknown): Promise<void> => {
    reading.end();
    await end(reason);
  };
  const parts = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
  readers.set(parts, { read, cancel });
  return parts;
}
