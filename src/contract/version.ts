// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'd9f36b4e74412347135c883a72c3f7b8d6d139a2b2a1ec6c4f05ed8869e678e3';
