// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'e861be7e5aeeaa57d78ecfec71b7fb4b18d67d6874c8933c51094a63768e54f9';
