// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.1.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'b7afa3cd66348760e8ba4eebfa3c481c6ae5c3881b3097206d13a37005c02ac9';
