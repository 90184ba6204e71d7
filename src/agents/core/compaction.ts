// Shortens a history that fills the model's context.
// Must never separate a tool call from its answer, nor remove anything without a note in its place.
import type { Message, ToolMessage } from '../../contract/model/message.ts';
import { CHARACTERS_PER_TOKEN, messageTokens } from './token-estimate.ts';

export interface CompactionLimits {
  /** A history above this is too long. */
  limitTokens: number;
  /** Newest messages that are kept as they are. */
  keepRecent: number;
}

export interface Compacted {
  messages: readonly Message[];
  /** Removed messages. */
  removed: number;
  /** Tool results that were replaced by a note, or cut. */
  shortened: number;
}

/** A compacted history leaves this part of the limit free, so that the next call need not compact again. */
const FREED_PART = 0.3;
const NOTE_START = '[CONTEXT COMPACTED]';
const PRUNED_START = '[Previous: ';
/** Part of a refused history that is kept: the provider may count twice the estimate, and the next result must fit. */
const KEPT_OF_REFUSED = 0.4;
/** Characters that every cut tool result keeps. */
const SHORTEST_CUT = 400;
const CUT_START = '\n[CUT: ';
const CUT_MARK = /^\n\[CUT: (?<left>\d{1,12}) characters [^\]]+\]$/;

/** A message with the answers to its tool calls: kept or removed as one. */
interface Group {
  messages: readonly Message[];
  tokens: number;
}

/** The shorter history, or null when it is short enough or cannot be made shorter. */
export function compactHistory(messages: readonly Message[], limits: CompactionLimits): Compacted | null {
  const { limitTokens, keepRecent } = limits;
  if (totalTokens(messages) <= limitTokens) return null;
  return changed(shorter(messages, Math.floor(limitTokens * (1 - FREED_PART)), keepRecent));
}

/**
 * The history after a provider has refused it as too long: at most 40 % of it and of the limit. Where the newest
 * messages alone are longer, their largest tool results are cut. Null when nothing can be made shorter.
 */
export function compactRefused(messages: readonly Message[], limits: CompactionLimits): Compacted | null {
  const target = Math.floor(Math.min(totalTokens(messages), limits.limitTokens) * KEPT_OF_REFUSED);
  const left = shorter(messages, target, limits.keepRecent);
  const cut = cutToolResults(left.messages, target);
  return changed({ ...left, messages: cut.messages, shortened: left.shortened + cut.shortened });
}

function shorter(messages: readonly Message[], target: number, keepRecent: number): Compacted {
  const pruned = pruneToolResults(messages, recentToolResults(messages, keepRecent), 'longer');
  if (totalTokens(pruned.messages) <= target) return { ...pruned, removed: 0 };
  return { ...removeOldest(pruned.messages, target, keepRecent), shortened: pruned.shortened };
}

function changed(compacted: Compacted): Compacted | null {
  return compacted.removed + compacted.shortened > 0 ? compacted : null;
}

/** Cuts the largest tool results to one common length, at which the history has `target` tokens. */
function cutToolResults(
  messages: readonly Message[],
  target: number,
): { messages: readonly Message[]; shortened: number } {
  const sizes = messages.map((message) => (message.role === 'tool' ? charactersOf(message) : 0));
  const kept = commonLength(sizes, (totalTokens(messages) - target) * CHARACTERS_PER_TOKEN);
  let shortened = 0;
  const cut = messages.map((message, index) => {
    if (message.role !== 'tool' || (sizes[index] ?? 0) <= kept) return message;
    const content = cutContent(message, kept);
    if (content === null || content.length >= charactersOf(message)) return message;
    shortened += 1;
    return { ...message, content };
  });
  return { messages: shortened === 0 ? messages : cut, shortened };
}

/** The largest length, of those that are not below `SHORTEST_CUT`, that takes `surplus` characters from the longer ones. */
function commonLength(sizes: readonly number[], surplus: number): number {
  if (surplus <= 0) return Infinity;
  const descending = sizes.toSorted((left, right) => right - left);
  let sum = 0;
  for (const [index, size] of descending.entries()) {
    sum += size;
    const length = Math.floor((sum - surplus) / (index + 1));
    if (length >= (descending[index + 1] ?? 0)) return Math.max(SHORTEST_CUT, length);
  }
  return SHORTEST_CUT;
}

/** Keeps the beginning of a text; parts become a note. The mark also counts the characters that an earlier cut removed. */
function cutContent(message: ToolMessage, kept: number): string | null {
  const { content } = message;
  if (typeof content !== 'string') return pruneNote(message);
  const markAt = content.lastIndexOf(CUT_START);
  const mark = markAt < 0 ? null : CUT_MARK.exec(content.slice(markAt));
  const whole = mark === null ? content : content.slice(0, markAt);
  const head = whole.slice(0, kept).replace(/[\uD800-\uDBFF]$/, '');
  const left = whole.length - head.length + Number(mark?.groups?.['left'] ?? 0);
  return `${head}${CUT_START}${left} characters were left out, as the model’s context is full; call the tool for a smaller part]`;
}

function recentToolResults(messages: readonly Message[], keepRecent: number): number {
  return messages.slice(-keepRecent).filter(({ role }) => role === 'tool').length;
}

/**
 * Replaces tool results with a note of their name and length, all but the newest `keep`; existing notes stay.
 * `longer`: only results that are longer than their note.
 */
export function pruneToolResults(
  messages: readonly Message[],
  keep: number,
  which: 'every' | 'longer',
): { messages: readonly Message[]; shortened: number } {
  let left = keep;
  let shortened = 0;
  const pruned = messages.toReversed().map((message) => {
    if (message.role !== 'tool') return message;
    left -= 1;
    const note = left >= 0 ? null : pruneNote(message);
    if (note === null || (which === 'longer' && note.length >= charactersOf(message))) return message;
    shortened += 1;
    return { ...message, content: note };
  });
  return shortened === 0 ? { messages, shortened } : { messages: pruned.toReversed(), shortened };
}

/** Null: the result is such a note already. */
function pruneNote(message: ToolMessage): string | null {
  const { name, content } = message;
  if (typeof content === 'string' && content.startsWith(PRUNED_START)) return null;
  const characters = charactersOf(message);
  return `${PRUNED_START}${name ?? 'tool'} result — ${characters} chars, pruned to save context]`;
}

function charactersOf({ content }: ToolMessage): number {
  return typeof content === 'string' ? content.length : JSON.stringify(content).length;
}

/** Removes messages of assistant and tools first, oldest first; then those of the user, except the newest. */
function removeOldest(
  messages: readonly Message[],
  target: number,
  keepRecent: number,
): { messages: readonly Message[]; removed: number } {
  const groups = groupsOf(messages.filter((message) => !isNote(message)));
  const recentFrom = recentGroupIndex(groups, keepRecent);
  const lastUser = groups.findLastIndex((group) => roleOf(group) === 'user');
  const dropped = new Set<number>();
  let tokens = groups.reduce((sum, group) => sum + group.tokens, 0);
  const drop = (may: (group: Group) => boolean): void => {
    for (const [index, group] of groups.entries()) {
      if (tokens <= target || index >= recentFrom) return;
      if (dropped.has(index) || index === lastUser || !may(group)) continue;
      dropped.add(index);
      tokens -= group.tokens;
    }
  };
  drop((group) => roleOf(group) === 'assistant' || roleOf(group) === 'tool');
  drop((group) => roleOf(group) === 'user');
  return withNote(groups, dropped, earlierRemovals(messages));
}

/** The note takes the place of the first removed message; it also counts messages that were removed earlier. */
function withNote(
  groups: readonly Group[],
  dropped: ReadonlySet<number>,
  earlier: number,
): { messages: readonly Message[]; removed: number } {
  const removed = [...dropped].reduce((sum, index) => sum + (groups[index]?.messages.length ?? 0), 0);
  const noteAt =
    dropped.size > 0 ? Math.min(...dropped) : groups.findIndex((group) => roleOf(group) !== 'system');
  const total = removed + earlier;
  const messages: Message[] = [];
  for (const [index, group] of groups.entries()) {
    if (index === noteAt && total > 0) messages.push(note(total));
    if (!dropped.has(index)) messages.push(...group.messages);
  }
  return { messages, removed };
}

function note(removed: number): Message {
  const text = `${removed} earlier messages of this conversation were left out to save context.`;
  return { role: 'user', content: `${NOTE_START} ${text}` };
}

function isNote(message: Message): boolean {
  const { role, content } = message;
  return role === 'user' && typeof content === 'string' && content.startsWith(NOTE_START);
}

function earlierRemovals(messages: readonly Message[]): number {
  const counts = messages
    .filter(isNote)
    .map(({ content }) => Number(/\d+/.exec(JSON.stringify(content))?.[0] ?? 0));
  return counts.reduce((sum, removed) => sum + removed, 0);
}

function groupsOf(messages: readonly Message[]): Group[] {
  const groups: { messages: Message[]; tokens: number }[] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (message.role === 'tool' && last) {
      last.messages.push(message);
      last.tokens += messageTokens(message);
    } else {
      groups.push({ messages: [message], tokens: messageTokens(message) });
    }
  }
  return groups;
}

/** The first group with one of the newest `keepRecent` messages. */
function recentGroupIndex(groups: readonly Group[], keepRecent: number): number {
  let left = keepRecent;
  for (let index = groups.length - 1; index >= 0; index -= 1) {
    left -= groups[index]?.messages.length ?? 0;
    if (left <= 0) return index;
  }
  return 0;
}

function roleOf(group: Group): Message['role'] | undefined {
  return group.messages[0]?.role;
}

function totalTokens(messages: readonly Message[]): number {
  let tokens = 0;
  for (const message of messages) tokens += messageTokens(message);
  return tokens;
}
