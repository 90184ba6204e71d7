// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '0194da4da0c21d4f4f646467f01866fb5c369ec0065b5c8ddf79fe8fbcbb0106';
