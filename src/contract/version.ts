// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '6767e9fe6bc03ff5ff9c0458d57c54e1451ebce37b13c57b58a4aa13086532af';
