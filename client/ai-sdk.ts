/** Runs as messages of the AI SDK (7 or newer): a transport for `useChat`, and the stream of one run for pages and routes.
 *  It must never start a second run for one message. A stream that is opened again repeats its message, with the same ids. */
import type { DirectiveClient, DirectiveRefused, Message } from '../src/client/plain-client.ts';
import { type MessageChunk, messageChunks } from './message-chunks.ts';

export type { MessageChunk };

/** Options of `createChatTransport`. */
export interface ChatOptions {
  /** Client of the service, whose key has the scopes `submit` and `read`. */
  readonly client: Pick<DirectiveClient, 'signals' | 'request'> & {
    readonly runs: Pick<DirectiveClient['runs'], 'start'>;
  };
  /** Name of the agent that answers. */
  readonly agent: string;
  /** Storage of the newest run of each chat: `localStorage` in a page, a table in a server. */
  readonly storage: {
    getItem(chatId: string): string | null | Promise<string | null>;
    setItem(chatId: string, requestId: string): void | Promise<void>;
  };
}

/** Maximum number of edits and answers of one message. */
const MOST_ANSWERS = 100;

/** Message that a chat sends, as the AI SDK gives it to a transport. */
export interface SentChat {
  readonly chatId: string;
  readonly messages: readonly SentMessage[];
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly abortSignal?: AbortSignal | undefined;
}

interface SentMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly SentPart[];
}

interface SentPart {
  readonly type: string;
  readonly text?: string;
  readonly url?: string;
  readonly mediaType?: string;
  readonly filename?: string;
}

/**
 * Creates a transport for `useChat` that answers each message by a run of an agent. The chat is the conversation; an answer has the id of
 * its run, and one that replaces another begins a conversation of its own with the messages before it. A stopped chat leaves its run, which
 * `client.cancel` cancels; `client.runs.decide` decides calls that wait for an approval.
 * @param options Client, agent and storage.
 * @returns The transport, a `ChatTransport` of the AI SDK, for a page or for the routes of a server.
 * @throws `DirectiveRefused` and `ServiceUnavailable`, as the client does.
 * @example
 * ```tsx
 * const transport = createChatTransport({ client, agent: 'support', storage: localStorage });
 * const { messages, sendMessage } = useChat({ id: chatId, transport, resume: true });
 * ```
 */
export function createChatTransport({ client, agent, storage }: ChatOptions) {
  async function start(requestId: string, messages: Message[], conversation_id: string): Promise<void> {
    const run = { request_id: requestId, agent, messages, conversation_id };
    await client.runs.start(run).catch(async (error: unknown) => {
      if (refusalOf(error) !== undefined) throw error;
      // The answer was lost: the same id is the same run.
      await client.runs.start(run);
    });
  }

  /** The messages before the last one: those of the run of the newest answer, and what came after it; the texts of the chat where that is forgotten. */
  async function historyOf(chatId: string, earlier: readonly SentMessage[]): Promise<Message[]> {
    const at = earlier.findLastIndex(({ id, role }) => role === 'assistant' && nthOf(chatId, id) !== null);
    const answer = earlier[at];
    const run = answer && (await client.request(answer.id))?.run;
    const known = run?.messages as Message[] | undefined;
    return [...(known ?? []), ...earlier.slice(known === undefined ? 0 : at + 1).flatMap(messageOf)];
  }

  return {
    /** Tells the AI SDK that a stream begins with the message's beginning. */
    resumeStreamIsReplay: true,
    async sendMessages({ chatId, messages, trigger, abortSignal }: SentChat) {
      const last = messages.at(-1);
      if (last?.role !== 'user')
        throw new TypeError(
          'The last message is not from the user. Calls are decided by client.runs.decide.',
        );
      const first = `${chatId}.${last.id}`;
      const asked = messageOf(last);
      for (let nth = 1; nth <= MOST_ANSWERS; nth += 1) {
        const requestId = nth === 1 ? first : `${first}.${nth}`;
        // An answer under way is joined: a second run might act a second time.
        if (trigger === 'regenerate-message' && (await client.request(requestId))?.closed_at) continue;
        try {
          // The model must not read the answer that another one replaces: a conversation of its own goes on from there.
          if (nth === 1) await start(requestId, asked, conversationOf(chatId, messages));
          else
            await start(
              requestId,
              [...(await historyOf(chatId, messages.slice(0, -1))), ...asked],
              requestId,
            );
        } catch (error) {
          const isEdited = refusalOf(error) === 'id_conflict';
          if (!isEdited) throw error;
          continue;
        }
        await storage.setItem(chatId, requestId);
        return uiMessageStream(client, requestId, abortSignal);
      }
      throw new RangeError(`The message has ${MOST_ANSWERS} answers: it is not answered again.`);
    },
    async reconnectToStream({ chatId, abortSignal }: Pick<SentChat, 'chatId' | 'abortSignal'>) {
      const requestId = await storage.getItem(chatId);
      if (requestId === null || (await client.request(requestId)) === null) return null;
      return uiMessageStream(client, requestId, abortSignal);
    },
  };
}

/** The code of a refusal. The client may be of another package than this file, with a class of its own. */
function refusalOf(error: unknown): string | undefined {
  return (error as Partial<DirectiveRefused>).problem?.code;
}

/** Number of an answer of the chat to its message; null: it is of another chat, as `a.b.c` of the chat `a.b` is none of the chat `a`. */
function nthOf(chatId: string, id: string): number | null {
  if (!id.startsWith(`${chatId}.`)) return null;
  const found = /^[^.]+(?:\.(?<nth>\d+))?$/.exec(id.slice(chatId.length + 1));
  return found && Number(found.groups?.['nth'] ?? 1);
}

/** That of the last answer which replaced another one, else the chat. */
function conversationOf(chatId: string, messages: readonly SentMessage[]): string {
  const replaced = messages.findLast(({ id, role }) => role === 'assistant' && (nthOf(chatId, id) ?? 1) > 1);
  return replaced?.id ?? chatId;
}

/** Providers refuse an answer without text. */
function messageOf({ role, parts }: SentMessage): Message[] {
  if (role === 'user') return [{ role, content: parts.flatMap(contentOf) }];
  const content = parts.map(({ type, text = '' }) => (type === 'text' ? text : '')).join('');
  if (content === '') return [];
  return [{ role: role === 'system' ? role : 'assistant', content }];
}

type Content = Exclude<Extract<Message, { role: 'user' }>['content'], string>;

function contentOf({ type, text = '', url = '', mediaType = '', filename }: SentPart): Content {
  if (type === 'text') return [{ type, text }];
  if (type !== 'file') return [];
  const data = /^data:[^,]*;base64,(?<data>.*)$/s.exec(url)?.groups?.['data'];
  const source = { ...(data === undefined ? { url } : { data }), media_type: mediaType };
  if (mediaType.startsWith('image/')) return [{ type: 'image', ...source }];
  return [{ type, ...source, ...(filename === undefined ? {} : { filename }) }];
}

/**
 * Follows a run, or another request, as the stream of one message of the AI SDK: from its beginning to its end, across lost connections.
 * @param client Client of the service, whose key or token may read the request.
 * @param requestId Id of the request, and of the message.
 * @param signal Ends the stream, and leaves the run. Default: none.
 * @returns The stream, for `readUIMessageStream` and `createUIMessageStreamResponse`.
 */
export function uiMessageStream(
  client: Pick<DirectiveClient, 'signals'>,
  requestId: string,
  signal?: AbortSignal,
): ReadableStream<MessageChunk> {
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const chunks = messageChunks(client.signals(requestId, { signal: either }), requestId, either);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => stop.abort(),
  });
}
