// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'd7d9791f3ed18710fb6dfc4e101a1f4a170df954fd944d6ffe0c57a202fbb772';
