/** Refuses the legacy handshake while the probe for the modern protocol is unanswered.
 *  It must never refuse another message. A server takes the first message that it reads as the choice of a protocol:
 *  after a probe that is still unread, the handshake needs a fresh process. */
import { type JSONRPCMessage, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';

export interface ProbeWatch {
  /** null: the message may be sent. */
  refusal(message: JSONRPCMessage): SdkError | null;
  received(message: JSONRPCMessage): void;
}

export function createProbeWatch(): ProbeWatch {
  const unanswered = new Set<string | number>();
  return {
    refusal(message) {
      if (!('method' in message && 'id' in message)) return null;
      if (message.method === 'server/discover') unanswered.add(message.id);
      if (message.method !== 'initialize' || unanswered.size === 0) return null;
      return new SdkError(SdkErrorCode.EraNegotiationFailed, 'The server has not answered the probe');
    },
    received(message) {
      if (!('method' in message) && message.id !== undefined) unanswered.delete(message.id);
    },
  };
}
