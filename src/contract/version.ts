// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '6528bfec94a3c62ab5d25fbecc5c7854aa5a965c89a08eebc0da47d2d55a6873';
