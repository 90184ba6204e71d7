// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '2775514c91bfd1326c469a48af52f4d8c135eb9635d4d6eb16f2fe9e2c63443c';
