// The data that a provider sends beside a part of its answer, and needs back with it. Never read here.
import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { ownMember, setOwnMember } from '../../contract/json/json-object.ts';

/** A provider's last data about a part replaces earlier data, but drops none of its keys. */
export function keepData(
  part: { providerData?: SharedV4ProviderMetadata },
  data: SharedV4ProviderMetadata | undefined,
): void {
  for (const [provider, members] of Object.entries(data ?? {})) {
    part.providerData ??= {};
    const before = ownMember(part.providerData, provider);
    setOwnMember(part.providerData, provider, { ...before, ...members });
  }
}
