// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '5c81d70cad5a9bb04364d47dbd08c07044ac74607b6e2b21b816651c69aedc8e';
