// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '3849a1adf77a2bd13d1efee188089e0f477291da093ca645abf4b0dbe1abbb5a';
