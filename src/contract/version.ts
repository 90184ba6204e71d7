// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.1.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '1b88ff42b9c5a49b15fa9e69ca51d4ade035d5f8cc2a5a6673670dc6f8cc1de5';
