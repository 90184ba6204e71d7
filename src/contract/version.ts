// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '2998fd7f18045db36ecc197bb4da93422f28abc6d032d74f6a5d9ec9a186a54d';
