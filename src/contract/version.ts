// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '7220cbe3b5979f2368e5634e41e646b9ec363ec5e2f9d131de1b15e72cbe6397';
