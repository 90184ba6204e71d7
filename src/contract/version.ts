// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.1.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '760659215127e2530780e90f1d00d4a55586c109ecf58ff825c573c8226bd78d';
