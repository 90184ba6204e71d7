// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'fe2d723991e42ffe94a9c10c29cdfef10c350f330e74a112ab2fcb735cc6b7bf';
