// Removes from a provider's text what looks like a key: some providers repeat the key they refuse.
// Must never depend on knowing the key: it may be anyone's.
import { REDACTED } from '../contract/redaction.ts';

const SECRETS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_*.-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  // An unbounded look-behind over spaces would run again at each of them.
  /(?<=\bBearer\s{1,4})[^\s"']{6,}/gi,
  /(?<=\b(?:api[-_ ]?key|authorization|access[-_ ]?token|x-api-key)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',]{6,}/gi,
];

export function withoutSecrets(text: string): string {
  return SECRETS.reduce((cleaned, secret) => cleaned.replaceAll(secret, REDACTED), text);
}
